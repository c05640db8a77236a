"""Policies that solve ring_allocation's problem for the work left at every event; one that measures speeds first.

A job's cost on w units is its weight times the seconds it would still take if it kept them: the epochs it has left times
tau(w), plus the pause that a change costs. Jobs are admitted in order while their smallest counts fit; the others wait.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise, product
from typing import NamedTuple

import numpy as np

from dlsched.allocation.cost_table import CostTable
from dlsched.allocation.heuristics import climb, double_greedily, doubles, increase_greedily, increases
from dlsched.allocation.knapsack import solve_knapsack
from dlsched.core.arrays import FloatArray, IntArray
from dlsched.core.errors import UsageError
from dlsched.core.limits import Tick, no_tick
from dlsched.elastic_stream.policies.orders import MANY, Order, fifo, fitting, fitting_rows, order_named, ranked
from dlsched.elastic_stream.simulation.view import LARGEST_PAIRS, Arrays, View, too_many_pairs

VERY_MANY = 1024
"""Number of present jobs from which an event looks only at those whose units may change."""

_EVENTS, _BAND, _MOST_STEPS, _SLACK = (
    200,
    1.02,
    32,
    1e-12,
)  # until all jobs are looked at; how far gains may drift; rounding

Algorithm = Callable[[CostTable, int], IntArray | None]


def costs_of(view: View, job: int, counts: Iterable[int]) -> dict[int, float]:
    """Weight x seconds that the job would still take on each count."""
    remaining, weight, current = view.left(job), view.weight(job), view.held(job)
    pause_s, restart_s = view.pause_s(job, current), view.restart_s(job)
    return {
        count: weight * (remaining * view.epoch_time_s(job, count) + (pause_s if count == current else restart_s))
        for count in counts
    }


def allocate(costs: Mapping[int, Mapping[int, float]], units: int, algorithm: Algorithm) -> dict[int, int]:
    """Divide the units by costs by job and ascending count; the smallest counts must fit together."""
    if not costs:
        return {}
    counts = np.array([count for row in costs.values() for count in row], dtype=np.int64)
    flat = np.array([cost for row in costs.values() for cost in row.values()])
    starts = np.cumsum([0, *map(len, costs.values())], dtype=np.int64)
    chosen = algorithm(CostTable(starts, counts, flat), units)
    assert chosen is not None
    return dict(zip(costs, counts[chosen].tolist(), strict=True))


class _Division(NamedTuple):
    """Rows of the jobs with a choice, in order; owner, seconds per epoch of each pair; costs; where steps lead; pairs chosen."""

    rows: IntArray
    of: IntArray
    times_s: FloatArray
    table: CostTable
    following: IntArray
    chosen: IntArray

    def edges(self, least: FloatArray, most: FloatArray) -> tuple[FloatArray, FloatArray]:
        """By job: the least of ``least`` on its way to the pair chosen, and that of ``most`` on the way beyond it."""
        at = self.table.first.copy()
        taken, beyond = np.full(len(at), np.inf), np.full(len(at), np.inf)
        while len(going := np.flatnonzero(at != self.chosen)):
            pairs = at[going]
            taken[going] = np.minimum(taken[going], least[pairs])
            beyond[going] = np.minimum(beyond[going], most[pairs])
            at[going] = self.following[pairs]
        return taken, np.minimum(beyond, most[at])

    def gains(self, costs: FloatArray) -> FloatArray:
        """Saving per added unit of the step from each pair, -inf where none leads on."""
        units = np.where(self.following < 0, 1, self.table.counts[self.following] - self.table.counts)
        return np.where(self.following < 0, -np.inf, (costs - costs[self.following]) / units)


def _costs(
    some: Arrays, of: IntArray, counts: IntArray, times_s: FloatArray, left: FloatArray, pause_s: FloatArray
) -> FloatArray:
    """Weight x seconds that the jobs, the rows of ``some``, would still take on each count."""
    pauses_s = np.where(counts == some.held[of], pause_s[of], some.restart_s[of])
    return some.weight[of] * (left[of] * times_s + pauses_s)


class _Resizing:
    """Resizes the jobs at every event: one algorithm divides the units among the admitted jobs.

    Among very many jobs it looks, until ``_until_s``, only at those that come or change, and at those of which some step may
    come to gain from ``_low`` to ``_high``. Steps of the others gain more and are taken, or less and are not: as long as all
    units are given away by steps from ``_low`` on, and none above ``_high`` is refused, that is what looking at all comes to.
    (If units stay idle both are 0.)
    """

    clairvoyant = False
    _lead: Callable[[CostTable], IntArray] | None = None
    """Where the algorithm's steps lead; a job with a single count then just takes its units."""

    def __init__(self, order: Order, counts: Callable[[View, int], Sequence[int]], algorithm: Algorithm) -> None:
        self._order, self._counts, self._algorithm = order, counts, algorithm
        self._low = self._high = self._since_s = 0.0
        self._until_s, self._events = -1.0, 0

    def decide(self, view: View) -> dict[int, int]:
        """Allocate all units anew."""
        if len(view) >= MANY:
            return self._decide_arrays(view)
        jobs = fitting(view, self._order, {job: view.allowed(job)[0] for job in view})
        counts = {job: self._counts(view, job) for job in jobs}
        pairs = sum(map(len, counts.values()))
        if pairs > LARGEST_PAIRS:
            raise too_many_pairs(pairs, view.now_s)
        costs = {job: costs_of(view, job, row) for job, row in counts.items()}
        return dict.fromkeys(view, 0) | allocate(costs, view.units, self._algorithm)

    def _decide_arrays(self, view: View) -> dict[int, int]:
        """Decide on arrays."""
        arrays = view.arrays
        if not self._events:
            self._since_s = view.passed_s
        self._events += 1
        if view.passed_s <= self._until_s:
            units, rows = arrays.held.copy(), np.flatnonzero(arrays.near)
            free = view.units - int(units.sum() - units[rows].sum())
            rows = rows[ranked(view, self._order, arrays.take(rows), arrays.least[rows])]
            near = self._divide(view, rows, free, units, near=True)
            if near is not None and (units.sum() == view.units or not self._high):
                gains = near.gains(near.table.costs)
                taken, beyond = near.edges(gains, gains)
                if taken.min() >= self._low and beyond.max() <= self._high:
                    return arrays.changes(units)
        units, rows = np.zeros_like(arrays.held), ranked(view, self._order, arrays, arrays.least)
        rows = rows[fitting_rows(arrays.least[rows], view.units)]
        divided = self._divide(view, rows, view.units, units)
        self._until_s = -1.0
        if divided is not None and VERY_MANY <= len(rows) == len(units):
            self._settle(view, divided, bool(units.sum() == view.units))
        return arrays.changes(units)

    def _divide(self, view: View, rows: IntArray, free: int, units: IntArray, near: bool = False) -> _Division | None:
        """Divide free units among jobs, by row; None if there is nothing to choose."""
        arrays = view.arrays
        units[rows] = arrays.least[rows]
        free -= int(units[rows].sum())
        if self._lead is not None:
            rows = rows[arrays.choices[rows] > 1]
        if not len(rows) or free < 0:
            return None
        starts, counts, times_s = arrays.pairs(rows, self._counts)
        some, of = arrays.take(rows), np.repeat(np.arange(len(rows)), np.diff(starts))
        table = CostTable(starts, counts, _costs(some, of, counts, times_s, some.left, some.pause_s))
        free += int(units[rows].sum())
        following = table.first if self._lead is None else self._lead(table)
        chosen = climb(table, free, following) if near else self._algorithm(table, free)
        assert chosen is not None
        units[rows] = counts[chosen]
        return _Division(rows, of, times_s, table, following, chosen)

    def _settle(self, view: View, all_jobs: _Division, whole: bool) -> None:
        """Note which jobs' steps stay far from the last gain until so many events have passed."""
        arrays, table = view.arrays, all_jobs.table
        span_s = _EVENTS * (view.passed_s - self._since_s) / self._events
        if self._lead is None or table.pairs > _MOST_STEPS * table.jobs:
            return
        exact = all_jobs.gains(table.costs)
        taken, beyond = all_jobs.edges(exact, exact)
        low, high = sorted((float(taken.min()), float(beyond.max())))
        # With idle units all steps that gain are taken: those count whose gain may come to be another side of 0.
        self._low, self._high = (low / _BAND, high * _BAND) if whole else (0.0, 0.0)
        if not (low > 0 and high < math.inf if whole else beyond.max() <= 0):
            return
        # Pauses pass first, then work is done: between now and then a gain is largest and least at one of three moments.
        some = arrays.take(all_jobs.rows)
        left, pairs = some.left, (some, all_jobs.of, table.counts, all_jobs.times_s)
        some.ahead_s = span_s
        paused, later = (_costs(*pairs, moment, some.pause_s) for moment in (left, some.left))
        gains = [exact, all_jobs.gains(paused), all_jobs.gains(later)]
        slack = _SLACK * (table.costs + paused)
        slack += slack[all_jobs.following]
        taken, beyond = all_jobs.edges(np.min(gains, axis=0) - slack, np.max(gains, axis=0) + slack)
        arrays.near[:] = 0
        arrays.near[all_jobs.rows[(taken <= self._high) | (beyond >= self._low)]] = 1
        self._until_s = view.passed_s + span_s


class Doubling(_Resizing):
    """At every event: gives admitted jobs their smallest count, then doubles by time saved per added unit.

    Of the jobs for which 2w is allowed and fits, it doubles the one with the largest (cost_j(w) - cost_j(2w)) / w, as long as
    that is positive. Guarantee: ``guarantees``. Knows speeds and the nominal work. Cost: O(A log A) an event for A admitted jobs.

    Source: Capes et al. 2018, arXiv 1908.08082: jobs are stopped, resized and restarted. Only the abstract was available; the
    steps are our reconstruction.
    """

    def __init__(self) -> None:
        super().__init__(fifo, doubling_counts, double_greedily)
        self._lead = doubles


class Marginal(_Resizing):
    """At every event: gives admitted jobs their smallest count, then larger ones by gain per unit.

    Parameters
    ----------
    order
        Order in which jobs are admitted, a name of ``ORDERS``; a job's key is taken at its smallest count.

    Guarantee: ``guarantees``; at each event optimal for the time left if that is convex (Fox 1966). Knows speeds and the nominal
    work. Cost: O(P + S log A) an event for P pairs of admitted jobs and counts, S <= C steps.

    Source: Peng et al., Optimus, EuroSys 2018, section 4.1.
    """

    def __init__(self, order: str = "fifo") -> None:
        super().__init__(order_named(order), useful_counts, increase_greedily)
        self._lead = increases


class Myopic(_Resizing):
    """At every event: minimises the admitted jobs' total time left (ring_allocation's optimum).

    Exact for the moment, but blind to later ends and arrivals. Guarantee: none over time. Knows speeds and the nominal work. Cost
    of an event: that of ``allocation.knapsack``.
    """

    def __init__(self) -> None:
        super().__init__(fifo, useful_counts, self._exactly)
        self._tick: Tick = no_tick

    def decide(self, view: View) -> dict[int, int]:
        """Allocate all units anew."""
        self._tick = view.tick
        return super().decide(view)

    def _exactly(self, table: CostTable, units: int) -> IntArray | None:
        if table.costs.dtype == object:
            return least_of_all(table, units)
        choice = solve_knapsack(table, units, step=self._tick)
        return None if choice is None else choice.pairs


def least_of_all(table: CostTable, units: int) -> IntArray | None:
    """Compare all choices, for exact numbers; the first of equals. Cost: exponential in the jobs."""
    pairs = [range(start, end) for start, end in pairwise(table.starts.tolist())]
    fitting = (np.array(chosen) for chosen in product(*pairs) if table.counts[list(chosen)].sum() <= units)
    return min(fitting, key=lambda chosen: table.costs[chosen].sum(), default=None)


def useful_counts(view: View, job: int) -> Sequence[int]:
    """Counts that may be useful to a job."""
    return view.useful(job)


def doubling_counts(view: View, job: int) -> Sequence[int]:
    """Counts that doubling may visit: those of a table, or powers of two up to twice a law's fastest."""
    useful = view.useful(job)
    if not isinstance(useful, range):
        return useful
    most = min(view.allowed(job)[-1], 2 * useful[-1])
    return [2**power for power in range(most.bit_length())]


class Exploratory:
    """Doubling for schedulers that do not know speeds: the policy measures every speed before it uses it.

    1. A step of exploration that has begun goes on until its time is over.
    2. In order of arrival, every other job is given its smallest count where it fits.
    3. In order of arrival, a job that has not been measured at all counts to explore begins the next one, ascending, if
       it fits. A job stays at its smallest count until then.
    4. What is left is given by doubling to the jobs that are measured at all their counts, at these counts only.

    Parameters
    ----------
    counts
        Counts to explore, ascending. A job explores those that it allows, or its smallest if it allows none of them.
    step_s
        Seconds for which a job holds each of these counts, including the pause.

    Guarantee: none. Knows the nominal work, and speeds once they are measured. Cost: O(n log n) an event.

    Source: Capes et al. 2018, arXiv 1908.08082. Only the abstract was available: what the policy does when units are short, and
    that it never uses further counts, is our reconstruction.
    """

    clairvoyant = False

    def __init__(self, counts: tuple[int, ...] = (1, 2, 4, 8), step_s: float = 150.0) -> None:
        if not counts or list(counts) != sorted(set(counts)) or counts[0] < 1:
            raise UsageError(where="counts", found=counts, allowed="integers >= 1, ascending")
        if not step_s > 0:
            raise UsageError(where="step_s", found=step_s, allowed="a number > 0")
        self._counts, self._step_s = counts, step_s
        self._to_measure: dict[int, list[int]] = {}  # by job, next one last
        self._measured: dict[int, list[int]] = {}
        self._steps: dict[int, tuple[int, float]] = {}  # by job: count of the current step, and its end

    def decide(self, view: View) -> dict[int, int]:
        """Continue current steps, admit jobs, begin new steps, and double the measured jobs."""
        self._note(view)
        allocation = {job: count for job, (count, _) in self._steps.items()}
        free = view.units - sum(allocation.values())
        for job in view:
            least = view.allowed(job)[0]
            if job not in allocation and least <= free:
                allocation[job] = least
                free -= least
        for job in view:
            todo = self._to_measure[job]
            if todo and job in allocation and job not in self._steps and todo[-1] - allocation[job] <= free:
                free -= todo[-1] - allocation[job]
                allocation[job] = todo.pop()
                self._steps[job] = allocation[job], view.now_s + self._step_s
        learnt = [job for job in allocation if job not in self._steps and not self._to_measure[job]]
        units = free + sum(allocation[job] for job in learnt)
        costs = {job: costs_of(view, job, sorted({view.allowed(job)[0], *self._measured[job]})) for job in learnt}
        if self._steps:
            view.wake_at(min(until_s for _, until_s in self._steps.values()))
        return dict.fromkeys(view, 0) | allocation | allocate(costs, units, double_greedily)

    def _note(self, view: View) -> None:
        """Forget jobs that ended, plan the measurements of new jobs, and end steps whose time is over."""
        for job in view.ended:
            for memory in (self._to_measure, self._measured, self._steps):
                memory.pop(job, None)
        for job in view.arrived:
            allowed = view.allowed(job)
            self._to_measure[job] = [count for count in self._counts if count in allowed][::-1] or [allowed[0]]
            self._measured[job] = []
        for job, (count, until_s) in list(self._steps.items()):
            if until_s <= view.now_s:
                self._measured[job].append(count)
                del self._steps[job]
