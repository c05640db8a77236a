"""Orders of the present jobs, sizes of jobs, and the policies that serve a queue by both.

Smaller keys come first, and ties go to the job that stands first in the file.

==============  =================================================================================================
order           key of a job
==============  =================================================================================================
``fifo``        its arrival
``srpt``        seconds to its nominal end at its size, pause included, over its weight (Smith 1956)
``sjf``         seconds of its whole nominal work at its size, over its weight
``las``         unit-seconds it has held, over its weight: 2D Tiresias (Gu et al., NSDI 2019) without its queues
``efficiency``  minus weight x efficiency of its size, e(n) = n0 tau(n0) / (n tau(n)), n0 its smallest count
==============  =================================================================================================

Between two events no order swaps two waiting jobs. Only ``las``, and ``srpt`` with weights, may swap two running jobs. In
``srpt`` running jobs only move forward, past waiting ones. Without weights all weights are 1.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from dlsched.algorithms.overtaking import Line
from dlsched.core.arrays import IntArray
from dlsched.core.errors import UsageError
from dlsched.elastic_stream.simulation.present_jobs import ATTAINED, FALLING, STATIC
from dlsched.elastic_stream.simulation.queue_stream import Rule
from dlsched.elastic_stream.simulation.view import Arrays, View

MANY = 32
"""Number of present jobs from which policies use arrays, with the same answer; fewer are quicker one by one."""

_BLOCK = 512  # sizes that are added up at once, each at most 2^53

Order = Callable[[View, int, int], float]
"""Function from the view, a job and its size to the job's key."""


def fifo(view: View, job: int, size: int) -> float:
    """First come, first served."""
    return view.arrival_s(job)


def srpt(view: View, job: int, size: int) -> float:
    """Shortest remaining processing time first."""
    return view.time_left_s(job, size) / view.weight(job)


def sjf(view: View, job: int, size: int) -> float:
    """Shortest job first."""
    return view.epochs(job) * view.epoch_time_s(job, size) / view.weight(job)


def las(view: View, job: int, size: int) -> float:
    """Least attained service first."""
    return view.attained(job) / view.weight(job)


def efficiency(view: View, job: int, size: int) -> float:
    """Largest weight x efficiency first."""
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


def key_kind(order: Order) -> int:
    """How a loop computes the order's keys."""
    return ATTAINED if order is las else FALLING if order is srpt else STATIC


def fitting(view: View, order: Order, sizes: Mapping[int, int]) -> list[int]:
    """Jobs whose sizes fit together, in order; a job that does not fit is skipped."""
    jobs, free = [], view.units
    for job in sorted(sizes, key=lambda job: (order(view, job, sizes[job]), job)):
        if sizes[job] <= free:
            free -= sizes[job]
            jobs.append(job)
            if not free:
                break
    return jobs


def ranked(view: View, order: Order, arrays: Arrays, sizes: IntArray) -> IntArray:
    """Rows of some arrays of the view in order, each at a size."""
    if order is fifo:
        return np.arange(len(sizes))
    jobs = arrays.jobs.tolist()
    return np.lexsort((jobs, [order(view, job, size) for job, size in zip(jobs, sizes.tolist(), strict=True)]))


def fitting_rows(sizes: IntArray, units: int) -> IntArray:
    """Positions of the sizes that fit together, in order; one that does not fit is skipped."""
    rows, free = np.flatnonzero(sizes <= units), units
    chosen = [rows[:0]]
    while free and len(rows):
        block = rows[:_BLOCK]
        total = np.cumsum(sizes[block])
        fit = int(np.searchsorted(total, free, side="right"))
        chosen.append(block[:fit])
        free -= int(total[fit - 1]) if fit else 0
        rows = rows[fit:]
        if fit < len(block):
            rows = rows[sizes[rows] <= free]
    return np.concatenate(chosen)


Size = Callable[[View, int], int]
"""Function from the view and a job to an allowed count of units; its answer for a job never changes."""


def largest_up_to(view: View, job: int, most: int) -> int:
    """Largest allowed count of at most ``most``, else the smallest."""
    allowed = view.allowed(job)
    return allowed[max(0, bisect_right(allowed, most) - 1)]


@dataclass(frozen=True, slots=True)
class Fixed:
    """The largest allowed count of at most ``units``, else the smallest; ``units`` < 1 is a ``UsageError``."""

    units: int = 8

    def __post_init__(self) -> None:
        if self.units < 1:
            raise UsageError(where="units", found=self.units, allowed="an integer >= 1")

    def __call__(self, view: View, job: int) -> int:
        """Return the size of the job."""
        return largest_up_to(view, job, self.units)


@dataclass(frozen=True, slots=True)
class Fastest:
    """The smallest count at which the job is fastest: more units are of no use to it."""

    def __call__(self, view: View, job: int) -> int:
        """Return the size of the job."""
        return view.fastest(job)


@dataclass(frozen=True, slots=True)
class Knee:
    """The largest count with an efficiency e(n) = f(n) n0 / (f(n0) n) of at least ``theta``, n0 the smallest count.

    A ``theta`` outside (0, 1] is a ``UsageError``: no count, or every count, might reach it.
    """

    theta: float = 0.5

    def __post_init__(self) -> None:
        if not 0 < self.theta <= 1:
            raise UsageError(where="theta", found=self.theta, allowed="a number in (0, 1]")

    def __call__(self, view: View, job: int) -> int:
        """Return the size of the job."""
        useful = view.useful(job)
        if isinstance(useful, range):  # n tau(n) of a law is convex, so the first counts reach theta
            return useful[bisect_left(useful, True, key=lambda count: efficiency_of(view, job, count) < self.theta) - 1]
        return max(count for count in useful if efficiency_of(view, job, count) >= self.theta)


class Queue:
    """Serves jobs in an order, each on a size independent of the other jobs: fixed, fastest or knee.

    A job may overtake one that does not fit, and may be stopped again to make room for it.

    Parameters
    ----------
    order, size
        A name of ``ORDERS``, and a rule for sizes: ``Fixed``, ``Fastest``, ``Knee``, or a function of view and job.

    Guarantee: ``guarantees``. Knows speeds and the nominal work. Cost: that of ``algorithms.overtaking``; ``las`` sorts again
    at every event, and ``srpt`` with weights at the running jobs whenever one of them may be stopped.
    """

    clairvoyant = False

    def __init__(self, order: str, size: Size) -> None:
        self._order, self._size = order_named(order), size
        self.timeless = self._order is not las
        self._falls = self._order is srpt  # keys of running jobs fall with time, equally if unweighted
        self._line: Line | None = None

    @property
    def rule(self) -> Rule | None:
        """What the simulator needs to serve without asking; None once asked, or with other classes."""
        if self._line is not None or type(self) is not Queue or type(self._size) not in (Fixed, Fastest, Knee):
            return None
        return Rule(key_kind(self._order), self._size, self._order)

    def decide(self, view: View) -> dict[int, int]:
        """Admit the jobs that fit, in order; stop running jobs that no longer fit behind them."""
        if self._line is None:
            self._line = Line(view.units)
        line = self._line
        line.begin(view.passed_s if self._falls and not view.weighted else 0.0)
        gain = line.end(view.ended)
        if self._order is las:
            line.sort_again(lambda job, size: las(view, job, size))
            gain = view.units
        elif self._falls and view.weighted:
            line.falling = lambda job, size: srpt(view, job, size)
        line.fill(gain)
        for job in view.arrived:
            size = self._size(view, job)
            line.arrive((self._order(view, job, size), job, size))
        for _, job, size in line.stopped:
            left_s = view.time_left_stopped_s(job, size)
            line.wait((left_s / view.weight(job) if self._falls else self._order(view, job, size), job, size))
        return line.changes


class EqualShare:
    """Gives each of n present jobs its largest count up to C / n, else its smallest; in order as they fit.

    Parameters
    ----------
    order
        Order in which jobs are served if not all fit, a name of ``ORDERS``.

    Guarantee: ``guarantees``. Knows the number of jobs; speeds and work only if the order uses them. Cost: O(1) for each job that
    comes or goes while all fit and the share stays; otherwise O(n) an event, and O(n log n) if some wait in another order.
    """

    clairvoyant = False

    def __init__(self, order: str = "fifo") -> None:
        self._order = order_named(order)
        self.timeless = self._order is not las
        self._share, self._used = 0, 0  # at the last event; a share of 0: some had to wait

    def decide(self, view: View) -> dict[int, int]:
        """Divide the units into equal shares."""
        share = max(1, view.units // max(1, len(view)))
        if share == self._share:  # whoever was there holds its size, and goes on with it if all fit
            fresh = {job: largest_up_to(view, job, share) for job in view.arrived}
            self._used += sum(fresh.values()) - sum(largest_up_to(view, job, share) for job in view.ended)
            if self._used <= view.units:
                return fresh
        if len(view) >= MANY:
            sizes = self._sizes(view, share)
            self._used = sum(sizes.tolist())
            if self._used > view.units:
                rows = ranked(view, self._order, view.arrays, sizes)
                sizes[np.delete(rows, fitting_rows(sizes[rows], view.units))] = 0
            answer = view.arrays.changes(sizes)
        else:
            of = {job: largest_up_to(view, job, share) for job in view}
            self._used = sum(of.values())
            answer = dict.fromkeys(view, 0) | {job: of[job] for job in fitting(view, self._order, of)}
        self._share = share if self._used <= view.units else 0
        return answer

    def _sizes(self, view: View, share: int) -> IntArray:
        """Largest allowed counts up to the share, on arrays."""
        arrays = view.arrays
        least, most = arrays.least, arrays.most
        sizes = np.where(most <= share, most, least)
        between = (least < share) & (share < most)
        whole = arrays.choices == most - least + 1
        sizes[between & whole] = share
        if len(rows := np.flatnonzero(between & ~whole)):
            starts, counts, _ = arrays.pairs(rows, View.allowed, limit=None)
            sizes[rows] = counts[starts[:-1] + np.add.reduceat(counts <= share, starts[:-1], dtype=np.int64) - 1]
        return sizes
