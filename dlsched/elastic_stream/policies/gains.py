"""Policies that solve ring_allocation's problem for the work left at every event; one that measures speeds first.

A job's cost on w units is its weight times the seconds it would still take if it kept them: the epochs it has left times
tau(w), plus the pause that a change costs. Jobs are admitted in order while their smallest counts fit; the others wait.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise, product

import numpy as np

from dlsched.allocation.cost_table import CostTable
from dlsched.allocation.heuristics import double_greedily, increase_greedily
from dlsched.allocation.knapsack import solve_knapsack
from dlsched.core.arrays import IntArray
from dlsched.core.errors import UsageError
from dlsched.core.limits import Tick, no_tick
from dlsched.elastic_stream.policies.orders import (
    MANY,
    Order,
    fifo,
    fitting,
    fitting_rows,
    key_kind,
    order_named,
    ranked,
)
from dlsched.elastic_stream.simulation.queue_stream import Rule
from dlsched.elastic_stream.simulation.view import LARGEST_PAIRS, View, too_many_pairs

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


class _Resizing:
    """Resizes the jobs at every event: one algorithm divides the units among the admitted jobs."""

    clairvoyant = False

    def __init__(self, order: Order, counts: Callable[[View, int], Sequence[int]], algorithm: Algorithm) -> None:
        self._order, self._counts, self._algorithm = order, counts, algorithm

    @property
    def rule(self) -> Rule | None:
        """What ``gain_loop`` or ``knapsack_loop`` needs to serve; None with other classes."""
        if type(self) not in (Doubling, Marginal, Myopic):
            return None
        rule = Rule(key_kind(self._order), _smallest, self._order, self._counts, isinstance(self, Doubling))
        return rule._replace(exactly=least_total) if isinstance(self, Myopic) else rule

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
        units, rows = np.zeros_like(arrays.held), ranked(view, self._order, arrays, arrays.least)
        rows = rows[fitting_rows(arrays.least[rows], view.units)]
        if len(rows):
            starts, counts, times_s = arrays.pairs(rows, self._counts)
            some, of = arrays.take(rows), np.repeat(np.arange(len(rows)), np.diff(starts))
            pauses_s = np.where(counts == some.held[of], some.pause_s[of], some.restart_s[of])
            costs = some.weight[of] * (some.left[of] * times_s + pauses_s)
            chosen = self._algorithm(CostTable(starts, counts, costs), view.units)
            assert chosen is not None
            units[rows] = counts[chosen]
        return arrays.changes(units)


def _smallest(view: View, job: int) -> int:
    return view.allowed(job)[0]


class Doubling(_Resizing):
    """At every event: gives admitted jobs their smallest count, then doubles by time saved per added unit.

    Of the jobs for which 2w is allowed and fits, it doubles the one with the largest (cost_j(w) - cost_j(2w)) / w, as long as
    that is positive. Guarantee: ``guarantees``. Knows speeds and the nominal work. Cost: O(A log A) an event for A admitted jobs.

    Source: Capes et al. 2018, arXiv 1908.08082: jobs are stopped, resized and restarted. Only the abstract was available; the
    steps are our reconstruction.
    """

    def __init__(self) -> None:
        super().__init__(fifo, doubling_counts, double_greedily)


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


class Myopic(_Resizing):
    """At every event: minimises the admitted jobs' total time left (ring_allocation's optimum).

    Exact for the moment, but blind to later ends and arrivals. Guarantee: none over time. Knows speeds and the nominal work. Cost
    of an event: that of ``allocation.knapsack``; ``knapsack_loop`` looks at few of the jobs present.
    """

    def __init__(self) -> None:
        super().__init__(fifo, useful_counts, self._exactly)
        self._tick: Tick = no_tick

    def decide(self, view: View) -> dict[int, int]:
        """Allocate all units anew."""
        self._tick = view.tick
        return super().decide(view)

    def _exactly(self, table: CostTable, units: int) -> IntArray | None:
        return least_total(table, units, self._tick)


def least_total(table: CostTable, units: int, tick: Tick) -> IntArray | None:
    """The pair of every job for the least total cost; None if even the smallest counts exceed the units."""
    if table.costs.dtype == object:
        return least_of_all(table, units)
    choice = solve_knapsack(table, units, step=tick)
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

    Guarantee: none. Knows the nominal work, and speeds once they are measured. Cost: O(n log n) an event; ``gain_loop`` looks at
    few of the n jobs present.

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

    @property
    def rule(self) -> Rule | None:
        """What ``gain_loop`` needs to serve without asking; None with other classes, and for a policy that has been asked."""
        if type(self) is not Exploratory or self._measured:
            return None
        return Rule(key_kind(fifo), _smallest, fifo, self._pairs, True, self._measure_s)

    def _explored(self, view: View, job: int) -> list[int]:
        """Counts that a job explores, ascending."""
        allowed = view.allowed(job)
        return [count for count in self._counts if count in allowed] or [allowed[0]]

    def _pairs(self, view: View, job: int) -> list[int]:
        """Counts of a job that has been measured at all its counts, ascending."""
        return sorted({_smallest(view, job), *self._explored(view, job)})

    def _measure_s(self, view: View, job: int, count: int) -> float:
        return self._step_s if count in self._explored(view, job) else 0.0

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
        costs = {job: costs_of(view, job, self._pairs(view, job)) for job in learnt}
        if self._steps:
            view.wake_at(min(until_s for _, until_s in self._steps.values()))
        return dict.fromkeys(view, 0) | allocation | allocate(costs, units, double_greedily)

    def _note(self, view: View) -> None:
        """Forget jobs that ended, plan the measurements of new jobs, and end steps whose time is over."""
        for job in view.ended:
            for memory in (self._to_measure, self._measured, self._steps):
                memory.pop(job, None)
        for job in view.arrived:
            self._to_measure[job] = self._explored(view, job)[::-1]
            self._measured[job] = []
        for job, (count, until_s) in list(self._steps.items()):
            if until_s <= view.now_s:
                self._measured[job].append(count)
                del self._steps[job]
