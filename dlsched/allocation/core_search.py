"""Search of a knapsack's core: which pairs are combined, in which order, until none better remains."""

import math
from collections.abc import Callable

import numpy as np

from dlsched.allocation.core_pairs import Core
from dlsched.allocation.core_sums import combine
from dlsched.allocation.lattice import ROUNDED
from dlsched.core.arrays import IntArray
from dlsched.core.budget import Tick

_FIRST_CORE = 48  # pairs of the first core; small enough to cost less than the passes before it
_GROWTH = 4
_STATES = 2**13  # with more states after a job, the search looks at some of them first
_SKETCHES = 4  # partial searches, as long as each finds a better choice
_LARGEST_SKETCH = 1000  # pairs of a partial search if the lattice tells which excesses are possible


def search(core: Core, step: Tick, tick: Tick, better: Callable[[IntArray], None]) -> None:
    """Search until ``core`` has the best choice: pairs by rising regret, or by the levels of its lattice.

    ``step`` is called for every combined job, ``tick`` repeatedly in between, ``better`` with every new incumbent.
    ``MemoryError``: too many states.
    """
    threshold, size = -1.0, _FIRST_CORE
    if core.period < math.inf:
        _rise(core, step, tick, better)
    while core.may_improve(threshold):
        # A choice with an excess up to the threshold uses only pairs with a regret up to it.
        proven, threshold = threshold, core.next_threshold(threshold, size)
        near = core.needed(threshold, threshold)
        few = len(near) <= _GROWTH * size
        if not (few and combine(core, near, step, tick, better, enough=_STATES, sides=1)):
            whole = _look(core, near, size, proven, step, tick, better)
            if not whole and core.may_improve(proven):
                combine(core, near, step, tick, better)
        size *= _GROWTH


def _rise(core: Core, step: Tick, tick: Tick, better: Callable[[IntArray], None]) -> None:
    """Search the choices of the least excess that the lattice allows, then of the next: the floor rises."""
    levels = 1
    while core.may_improve(0.0):
        # All choices of the first ``levels`` levels have regrets up to this cap; twice as many levels follow.
        reached = core.floor + (levels - 1) * core.period
        cap = reached + ROUNDED * core.period
        near, size, whole = core.needed(cap, core.best), _FIRST_CORE, False
        while not whole and size < _GROWTH * len(near) and size <= _LARGEST_SKETCH:
            whole = _look(core, near, size, 0.0, step, tick, better, cap)
            size *= _GROWTH
        if not whole and core.may_improve(0.0):
            combine(core, near, step, tick, better, cap=cap)
        core.floor = reached + core.period
        levels *= 2


def _look(
    core: Core,
    near: IntArray,
    size: int,
    proven: float,
    step: Tick,
    tick: Tick,
    better: Callable[[IntArray], None],
    cap: float = math.inf,
) -> bool:
    """Search some states of some pairs, as long as that helps; return whether the search was complete."""
    held = np.inf
    for lot in range(_SKETCHES):
        if not core.may_improve(proven) or core.best >= held:
            break
        held = core.best
        some = near if len(near) <= 2 * size else core.sketch(near, size, lot)
        if combine(core, some, step, tick, better, most=_STATES, cap=cap) and len(some) == len(near):
            return True
    return False
