"""Orders of the present jobs: smaller keys come first, and ties go to the job that stands first in the file.

==============  =================================================================================================
order           key of a job
==============  =================================================================================================
``fifo``        its arrival
``srpt``        seconds to its nominal end at its size, pause included, over its weight
``sjf``         seconds of its whole nominal work at its size, over its weight
``las``         unit-seconds it has held (least attained service), over its weight
``efficiency``  minus weight x efficiency of its size, e(n) = n0 tau(n0) / (n tau(n)), n0 its smallest count
==============  =================================================================================================

Between two events no order swaps two waiting jobs. Only ``las``, and ``srpt`` with weights, may swap two
running jobs. In ``srpt`` running jobs only move forward, past waiting ones. Without weights all weights are
1.
"""

from collections.abc import Callable, Mapping

import numpy as np

from dlsched.core.arrays import IntArray
from dlsched.core.errors import UsageError
from dlsched.elastic_stream.simulation.view import View

MANY = 32
"""Number of present jobs from which policies use arrays, with the same answer; fewer are quicker one by
one."""

_BLOCK = 512  # sizes that are added up at once, each at most 2^53

Order = Callable[[View, int, int], float]
"""Function from the view, a job and its size to the job's key."""


def fifo(view: View, job: int, size: int) -> float:
    """Key for first come, first served."""
    return view.arrival_s(job)


def srpt(view: View, job: int, size: int) -> float:
    """Key for shortest remaining processing time, divided by the weight (Smith 1956)."""
    return view.time_left_s(job, size) / view.weight(job)


def sjf(view: View, job: int, size: int) -> float:
    """Key for the shortest job: its time divided by its weight."""
    return view.epochs(job) * view.epoch_time_s(job, size) / view.weight(job)


def las(view: View, job: int, size: int) -> float:
    """Key for least attained service over weight: 2D Tiresias (Gu et al., NSDI 2019), without its queues."""
    return view.attained(job) / view.weight(job)


def efficiency(view: View, job: int, size: int) -> float:
    """Key for the largest weight x efficiency."""
    return -view.weight(job) * efficiency_of(view, job, size)


def efficiency_of(view: View, job: int, size: int) -> float:
    """e(n) = f(n) n0 / (f(n0) n): speed per unit against that at the smallest count; 1 at the smallest count."""
    least = view.allowed(job)[0]
    return least * view.epoch_time_s(job, least) / (size * view.epoch_time_s(job, size))


ORDERS: dict[str, Order] = {"fifo": fifo, "srpt": srpt, "sjf": sjf, "las": las, "efficiency": efficiency}


def order_named(name: str) -> Order:
    """An order by its name; UsageError for another name."""
    if name not in ORDERS:
        raise UsageError(where="order", found=repr(name), allowed=", ".join(ORDERS))
    return ORDERS[name]


def fitting(view: View, order: Order, sizes: Mapping[int, int]) -> list[int]:
    """Jobs whose sizes fit together, in order; a job that does not fit is skipped."""
    jobs, left = [], view.units
    for job in sorted(sizes, key=lambda job: (order(view, job, sizes[job]), job)):
        if sizes[job] <= left:
            left -= sizes[job]
            jobs.append(job)
            if not left:
                break
    return jobs


def fitting_rows(sizes: IntArray, units: int) -> IntArray:
    """Positions of the sizes that fit together, in order; one that does not fit is skipped."""
    rows, left = np.flatnonzero(sizes <= units), units
    chosen = [rows[:0]]
    while left and len(rows):
        block = rows[:_BLOCK]
        total = np.cumsum(sizes[block])
        fit = int(np.searchsorted(total, left, side="right"))
        chosen.append(block[:fit])
        left -= int(total[fit - 1]) if fit else 0
        rows = rows[fit:]
        if fit < len(block):
            rows = rows[sizes[rows] <= left]
    return np.concatenate(chosen)
