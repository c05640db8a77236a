"""Event loop of one replication, with a heap for each station; equal bit for bit to ``lockstep`` on arrays.

An event costs O(stations + log customers). Interpreted, several events take less time than one step of
``lockstep``; compiled (``core.compiled``), the loop is faster at any number of replications
(``benchmarks/simulation.py``).
"""

from collections.abc import Callable, Sequence
from heapq import heappop, heappush

import numpy as np

from dlsched.core.arrays import BoolArray, FloatArray, IntArray


def advance(
    units: Sequence[float],
    work: Sequence[int],
    scale: Sequence[float],
    station: Sequence[int],
    queues: Sequence[float],
    own: Sequence[bool],
    shared: Sequence[bool],
    workers: int,
    clock: list[float],
    busy: list[float],
    stage: list[int],
    tag: list[float],
) -> None:
    """End a service for every three units; arguments are lists or arrays, and the last four are changed.

    Parameters
    ----------
    units
        Units of one step after the other, in the order of the works.
    work, scale, station, queues, own
        By stage: its work, the seconds of a unit, its station, 1 where it has one server or every worker one, else 0, and
        whether it is a worker's own.
    shared
        By station: whether those that are there share its speed.
    workers
        Customer i is worker i modulo ``workers``.
    clock, busy, stage, tag
        As in ``LockStep``, of this replication; ``tag`` by customer, at its station.
    """
    stations, stages, works = len(clock), len(scale), 3
    present = [[(0.0, 0) for _ in range(0)] for _ in range(stations)]  # heaps of (tag, customer); Numba sees the type
    for customer in range(len(stage)):
        heappush(present[station[stage[customer]]], (tag[customer], customer))
    first = [np.inf for _ in range(stations)]
    pace = [1.0 for _ in range(stations)]
    for here in range(stations):
        if len(present[here]) > 0:
            first[here] = present[here][0][0]
            if shared[here]:
                pace[here] = float(len(present[here]))
    for begin in range(0, len(units), works):
        # The next to end: at station ``here``, in ``soonest`` seconds. Rounding must not turn time back.
        soonest, here = np.inf, 0
        for index in range(stations):
            left = (first[index] - clock[index]) * pace[index]
            if left < soonest:
                soonest, here = left, index
        soonest = max(soonest, 0.0)
        for index in range(stations):
            clock[index] += soonest / pace[index]
        # The customer leaves.
        there = present[here]
        customer = heappop(there)[1]
        first[here] = there[0][0] if len(there) > 0 else np.inf
        if shared[here]:
            pace[here] = float(max(len(there), 1))
        # The customer comes to its next station.
        at = stage[customer] + 1
        if at == stages:
            at = 0
        stage[customer] = at
        here = station[at]
        server = stations + customer % workers if own[at] else here
        end = max(clock[here], busy[server])
        end += units[begin + work[at]] * scale[at]
        busy[server] = end * queues[at]
        tag[customer] = end
        there = present[here]
        heappush(there, (end, customer))
        first[here] = min(first[here], end)
        if shared[here]:
            pace[here] = float(len(there))


def interpreted(units: FloatArray, *others: IntArray | FloatArray | BoolArray | int) -> None:
    """Call ``advance`` for arrays by way of lists, with which the interpreter is several times faster."""
    lists = [array if isinstance(array, int) else array.tolist() for array in others]
    run: Callable[..., None] = advance
    run(units.tolist(), *lists)
    for array, changed in zip(others[-4:], lists[-4:], strict=True):
        assert not isinstance(array, int)
        array[:] = changed
