"""Streams with ticks: plans of units by slot, and the exact search over the states that the jobs can reach, tick by tick.

====================  ===============================================================================================
code                  mathematics
====================  ===============================================================================================
``left[i, j]``        epochs that job j has left in state i; 0: it has ended
``held[i, j]``        units it held in the last slot
``started[i, j]``     whether it has ever held units
``cost[i]``           weighted flow times so far: of ended jobs all, of present ones from arrival to the tick
====================  ===============================================================================================

From slot to slot every state is extended by divisions of the units among its present jobs. A job's part of the bound depends on
its own units alone, so dynamic programming finds the divisions that may beat the best stream. Three rules limit the states:

*Bound.* A state's flow times, each times its weight, add up to at least cost + max(sum of the present jobs' shortest times
left, sum of their completions when the areas left are done one by one on one machine of the cluster's speed, the least area
for its weight first: Smith 1956) + the shortest flow times of jobs to come: present jobs and each of the others are bounded
apart. (Done one by one in the order in which they end in a stream, all areas are done no later than there.) Prices by slot
(``lone_costs``) often say more: the largest counts. A state that cannot beat the best stream known is dropped.

*Beam.* At each tick only the states of least bound are followed. Those left out bound the optimum, too; unless they cannot
beat the best stream, a search with a wider beam follows.

*Dominance.* State A dominates B at the same tick if it has cost no more, and every job has no more left even if A then
loses one pause of it. A can give every job the units that B gives it from here on. It pays the pauses that B pays, and at
most one more of a job: one that it has started, and that in B either was never started, or holds other units now and does
not wait for a restart, which would cost B a pause too.

Numbers are double precision: an improvement within rounding is not looked for.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from dlsched.algorithms.layered_search import STEPS, Choices, Trail, alike, cheap_divisions
from dlsched.columns.slot_costs import FRESH, HELD, STOPPED, Costs, SlotPrices
from dlsched.core.arrays import BoolArray, FloatArray, IntArray, dot
from dlsched.core.limits import Budget, Tick
from dlsched.core.ticks import HAIR, end_in_slots, left_after, slots_for
from dlsched.elastic_stream.bounds.ticks import ticked_jobs
from dlsched.elastic_stream.instance import Instance
from dlsched.elastic_stream.solution import Stream

Plan = list[dict[int, int]]
"""Units of every job by slot."""

_MOST_COUNTS = 200_000  # over all jobs


def refusal(instance: Instance) -> str | None:
    """The reason why exact methods refuse a feasible instance, or None."""
    if instance.tick_s is None:
        return "tick_s: found null, allowed: a number of seconds, since decisions at any time have no slots"
    total = 0
    for index, job in enumerate(instance.jobs):
        if job.work == 0:
            continue
        if job.restart_s >= instance.tick_s:
            return f"jobs[{index}].restart_s: found {job.restart_s}, allowed: less than tick_s, {instance.tick_s}"
        total += len(job.useful_counts(instance.units))
        if total > _MOST_COUNTS:
            return f"jobs[{index}]: found more than {_MOST_COUNTS} useful counts, allowed: fewer (limit max_gpus)"
    return None


def useful_times_s(instance: Instance) -> list[dict[int, float]]:
    """Seconds per epoch of every job on the counts that no smaller one matches; empty for a job without work."""
    return [job.useful_times_s(instance.units) if job.work else {} for job in instance.jobs]


def stream_of(instance: Instance, decisions: Plan) -> Stream:
    """The stream of a plan; work left by rounding is done later, alone, on the job's last count."""
    tick_s = instance.tick_s
    assert tick_s is not None
    free_from = max((slot for slots in decisions for slot in slots), default=0) + 2  # not touching a period
    periods = {}
    for job, units in zip(instance.jobs, decisions, strict=True):
        remaining = job.work
        spans: list[tuple[float, float, int]] = []
        plan = sorted(units.items())
        while plan and remaining > 0:
            slot, count = plan.pop(0)
            # Neighbouring slots of one count are one period; it ends early if the work does.
            until = slot + 1
            while plan and plan[0] == (until, count):
                plan.pop(0)
                until += 1
            time_s = job.speed.epoch_time_s(count)
            pause_s = job.restart_s if spans else 0.0
            needed_s = pause_s + remaining * time_s
            slots = slots_for(needed_s, HAIR * (pause_s + job.work * time_s), tick_s)
            if slots <= until - slot:
                remaining, end_s = 0.0, end_in_slots(slot, slots, needed_s, tick_s)
            else:
                lasts_s, end_s = (until - slot) * tick_s, until * tick_s
                remaining = left_after(remaining, lasts_s - pause_s, time_s) if lasts_s > pause_s else remaining
            spans.append((slot * tick_s, end_s, count))
            if not plan and remaining > 0:
                plan = [(free_from, count)]
                free_from += 2  # not touching
        periods[job.id] = spans
    return Stream(periods)


@dataclass(slots=True, eq=False)
class Layer:
    """States at one tick; ``parent`` and ``allocated``: the state each came from, and the units of the slot between.

    ``bound``: total weighted flow times that each leaves possible at least.
    """

    remaining: FloatArray
    units: IntArray
    started: BoolArray
    cost: FloatArray
    bound: FloatArray
    parent: IntArray
    allocated: IntArray

    def take(self, rows: IntArray | BoolArray) -> "Layer":
        """Some of the states."""
        return Layer(*(getattr(self, name)[rows] for name in self.__slots__))

    def least(self, most: int) -> tuple["Layer", float]:
        """The ``most`` states of least bound, in the order of their bounds, and the least bound of the others."""
        order = np.argsort(self.bound, kind="stable")
        beyond = float(self.bound[order[most]]) if len(order) > most else np.inf
        return self.take(order[:most]), beyond


def joined(layers: list[Layer]) -> Layer:
    """The states of all layers."""
    return Layer(*(np.concatenate([getattr(layer, name) for layer in layers]) for name in Layer.__slots__))


def plan_of(trail: Trail, child: Layer, row: int) -> Plan:
    """The plan to a state, a successor of the last layer, traced back to the first slot."""
    plan: Plan = [{} for _ in range(child.remaining.shape[1])]
    units = child.allocated[row]
    for slot, before in trail.back(int(child.parent[row])):
        for job in np.flatnonzero(units).tolist():
            plan[job][slot] = int(units[job])
        units = before
    return plan


_LARGEST = 2**23
"""Most entries that the cost tables of all jobs together may have."""
_CELLS = 4096


@dataclass(frozen=True, slots=True, eq=False)
class LoneCosts:
    """Costs of single jobs at prices by slot, from every slot on, for all work left and units held."""

    prices: SlotPrices
    costs: dict[int, Costs]
    per_cell: FloatArray
    to_come_s: FloatArray
    brings: FloatArray

    def later_s(self, come: BoolArray, slot: int) -> float:
        """Least flow times of the jobs that are not marked, minus the worth of all units from the slot on."""
        ends = np.maximum(0, self.prices.slots[1:] - np.maximum(self.prices.slots[:-1], slot))
        return float(self.to_come_s[~come].sum()) - float(dot(ends, self.brings))

    def present_s(self, job: int, slot: int, remaining: FloatArray, units: IntArray, started: BoolArray) -> FloatArray:
        """Least cost of a job from the start of a slot on, by epochs left and units held."""
        costs = self.costs[job]
        row = np.where(started, _rows(costs, units), FRESH)
        cell = (remaining * self.per_cell[job]).astype(np.int64)
        psi = costs.psi[min(slot - costs.first, len(costs.paid_s))]
        return costs.kind.weight * np.where(remaining > 0, psi[row, cell], 0.0)


def _rows(costs: Costs, units: IntArray) -> IntArray:
    """Row of psi, by the units held, of a job that has begun."""
    if costs.kind.rows == 1:
        return np.zeros_like(units)
    return np.where(units > 0, HELD + np.searchsorted(costs.kind.counts, units), STOPPED)


def lone_costs(instance: Instance, prices: SlotPrices, tick: Tick) -> LoneCosts | None:
    """The costs of the jobs at prices; None if there are too many to store."""
    jobs = ticked_jobs(instance, tick)
    for run in jobs.runs:
        run.span = max(1, prices.end - run.members[-1].first)
    if jobs.cells * jobs.size > _LARGEST:
        return None
    jobs.refine(_CELLS, _LARGEST)
    costs: dict[int, Costs] = {}
    to_come_s = np.zeros(len(instance.jobs))
    for found, members in jobs.priced(prices, whole=True):
        for member in members:
            costs[member.job] = found
            to_come_s[member.job] = found.kind.weight * (member.wait_s + found.least_s(member.first))
    brings = dot(np.array([instance.units // size for size in prices.sizes]), prices.prices) * jobs.tick_s
    per_cell = np.array([jobs.cells / job.work if job.work else 0.0 for job in instance.jobs])
    return LoneCosts(prices, costs, per_cell, to_come_s, brings)


LARGEST_LAYER = 200_000
"""States of one tick that are followed, beyond which the search gives up."""

_LARGEST_CELLS = 8_000_000  # states before dominance, times jobs; takes 33 bytes each, up to five times
_LARGEST_TRAIL = 200_000_000  # bytes kept about earlier ticks
_CHUNK = 400_000  # entries of the tables of costs that are made at once
_EXACT = 1e-12
_BEAM, _WIDER = 200, 8
"""States of one tick that the first search follows, and how many times as many each further one."""
_COMPARED = 5_000  # states with which the others of the same jobs are compared
_FIRST, _BLOCK = 100, 128  # of these the first, with which blocks of states are compared at a time
_WORD = 64  # bits
_BEFORE = 10  # times as many before dominance, and as many ways again to divide the units of some states


class TooLarge(Exception):  # noqa: N818  a signal, not an error
    """The search would exceed its limit on states; the message says how many it needs, and at which tick."""


def search_slots(
    instance: Instance,
    best_s: float,
    *,
    found: Callable[[Plan], bool],
    proven: Callable[[float], None],
    budget: Budget,
    prices: LoneCosts | None = None,
) -> None:
    """Minimise the total weighted flow time below ``best_s``, and prove the optimum; TooLarge: too many states.

    ``found`` gets every better plan, ``proven`` growing lower bounds of the total, at last the optimum. A node is a state.
    """
    search = _Slots(instance, budget, prices)
    largest = max(1, min(LARGEST_LAYER, _LARGEST_CELLS // len(search.work)))
    beam, complete = min(_BEAM, largest), False
    while not complete:
        best_s, complete = _through(search, best_s, found, proven, beam)
        if not complete and beam == largest:
            raise TooLarge(f"more than {largest} states at a tick")
        beam = min(_WIDER * beam, largest)
    proven(best_s)


def _through(
    search: "_Slots", best_s: float, found: Callable[[Plan], bool], proven: Callable[[float], None], beam: int
) -> tuple[float, bool]:
    """Follow at most ``beam`` states from tick to tick; return the best total, and whether it is the optimum."""
    slot, budget = search.next_slot(0, search.work > 0), search.budget
    layer, trail = search.first(), Trail()
    most = max(beam, min(_BEFORE * beam, _LARGEST_CELLS // len(search.work)))
    missing = np.inf  # least bound of all states left out that could have beaten the best
    while len(layer.cost):
        search.arrive(layer, slot)
        budget.tick(len(layer.cost))
        trail.add(slot, layer.parent, layer.allocated)
        if trail.size > _LARGEST_TRAIL:
            raise TooLarge(f"what is kept of {len(trail.steps)} slots takes more than {_LARGEST_TRAIL} bytes")
        pieces, beyond = [layer.take(np.zeros(0, dtype=np.int64))], np.inf
        for jobs, rows in search.pieces(layer, slot):
            cutoff = min(best_s * (1 - _EXACT), beyond)
            child, unseen = search.follow(layer, rows, jobs, slot, cutoff, _BEFORE * most)
            missing = min(missing, unseen)
            # Complete states (all jobs ended) are streams; of the others those stay that can still beat the best.
            over: BoolArray = np.logical_not((child.remaining > 0).any(axis=1))
            if over.any():
                row = int(np.argmin(np.where(over, child.cost, np.inf)))
                if child.cost[row] < best_s * (1 - _EXACT):
                    best_s = float(child.cost[row])
                    found(plan_of(trail, child, row))
            pieces.append(child.take(~over & (child.bound < cutoff)))
            if sum(len(piece.cost) for piece in pieces) > 2 * most:
                following = joined(pieces)
                if most < _BEFORE * beam:  # memory alone limits them
                    following = search.undominated(following)
                following, beyond = following.least(most)
                pieces, missing = [following], min(missing, beyond)
            budget.tick()
        # So few that dominance is quick; then the beam.
        following = joined(pieces)
        following, beyond = following.take(following.bound < best_s * (1 - _EXACT)).least(most)
        layer, narrow = search.undominated(following).least(beam)
        missing = min(missing, beyond, narrow)
        proven(min(best_s, missing, float(layer.bound.min(initial=np.inf))) * (1 - _EXACT))
        if len(layer.cost):
            slot = search.next_slot(slot + 1, np.any(layer.remaining > 0, axis=0))
    return best_s, missing >= best_s * (1 - _EXACT)


@dataclass(frozen=True, slots=True, eq=False)
class _Outcomes:
    """Of a job, by state and count: epochs left after a slot, weighted seconds in it, and those with the least to come."""

    counts: IntArray
    after: FloatArray
    spent: FloatArray
    least: FloatArray


class _Slots:
    """The numbers of an instance, as arrays over its jobs."""

    def __init__(self, instance: Instance, budget: Budget, prices: LoneCosts | None) -> None:
        assert instance.tick_s is not None
        self.prices = prices
        self.tick_s, self.units, self.budget = instance.tick_s, instance.units, budget
        jobs, indices = instance.jobs, range(len(instance.jobs))
        self.options = useful_times_s(instance)
        self.work = np.array([job.work for job in jobs])
        self.weight, self.weighted = np.array([job.weight for job in jobs]), instance.weighted
        self.wait_s = np.array([float(instance.wait_s(index)) for index in indices])
        self.restart_s = np.array([job.restart_s for job in jobs])
        self.fastest_s = np.array([min(time.values(), default=0.0) for time in self.options])
        self.area_s = np.array([min((n * t for n, t in time.items()), default=0.0) for time in self.options])
        self.first_slot = np.array([instance.first_slot(index) for index in indices])
        kinds: dict[object, int] = {}
        alike_in = zip(self.options, self.work, self.restart_s, self.weight, strict=True)
        self.kind = np.array([kinds.setdefault((*time.items(), *rest), len(kinds)) for time, *rest in alike_in])

    def first(self) -> Layer:
        """The one state before any job is present."""
        nothing = np.zeros((1, len(self.work)), dtype=np.int64)
        zero, parent = np.zeros(1), np.zeros(1, dtype=np.int64)
        return Layer(self.work[None].copy(), nothing, nothing.astype(bool), zero, zero.copy(), parent, nothing)

    def next_slot(self, slot: int, unfinished: BoolArray) -> int:
        """The slot at which to continue: the same, or the first in which an unfinished job is present."""
        return max(slot, int(self.first_slot[unfinished].min()))

    def arrive(self, layer: Layer, slot: int) -> None:
        """Add to the costs the waiting times of the jobs that become present now."""
        new = (self.first_slot == slot) & (self.work > 0)
        layer.cost += float((self.weight * self.wait_s)[new].sum())

    def pieces(self, layer: Layer, slot: int) -> Iterator[tuple[IntArray, IntArray]]:
        """Yield sets of present jobs, each with some of the states that have exactly these present."""
        present = (layer.remaining > 0) & (self.first_slot <= slot)
        for jobs, rows in alike(present):
            entries = sum(len(self.options[job]) + 2 * STEPS for job in jobs.tolist()) + 1
            size = max(1, _CHUNK // entries)
            for begin in range(0, len(rows), size):
                yield jobs, rows[begin : begin + size]

    def follow(
        self, layer: Layer, rows: IntArray, jobs: IntArray, slot: int, cutoff: float, most: int
    ) -> tuple[Layer, float]:
        """States after one slot, from some states of one set of present jobs; the least bound of those left out.

        Of states whose bound is not below ``cutoff`` nothing is said; about ``most`` are made.
        """
        come = self.first_slot <= slot
        outcomes = [self._outcomes(layer, rows, job, slot) for job in jobs.tolist()]
        choices = [
            Choices(each.counts, each.least, *self._twin(layer, rows, jobs, place))
            for place, each in enumerate(outcomes)
        ]
        base = layer.cost[rows] + self._later_s(come, slot + 1)
        ways = cheap_divisions(base, choices, self.units, cutoff, most)
        parent = rows[ways.state]
        idle = np.zeros((len(parent), len(self.work)), dtype=np.int64)
        child = Layer(
            layer.remaining[parent],
            idle,
            layer.started[parent],
            layer.cost[parent],
            ways.total,
            parent,
            allocated=idle.copy(),
        )
        for place, (job, each) in enumerate(zip(jobs.tolist(), outcomes, strict=True)):
            chosen = ways.chosen[:, place]
            units, after = each.counts[chosen], each.after[ways.state, chosen]
            child.remaining[:, job], child.allocated[:, job] = after, units
            child.units[:, job] = np.where(after > 0, units, 0)
            child.started[:, job] |= units > 0
            child.cost += each.spent[ways.state, chosen]
        child.bound = np.maximum(child.bound, self.bound(child, slot + 1))
        return child, ways.missing

    def _outcomes(self, layer: Layer, rows: IntArray, job: int, slot: int) -> "_Outcomes":
        """What each count for one slot makes of a job that is present in some states."""
        counts = np.array([0, *self.options[job]])
        time_s = np.array([np.inf, *self.options[job].values()])
        remaining, units, started = (
            array[rows, job][:, None] for array in (layer.remaining, layer.units, layer.started)
        )
        # A job pauses if it changes its units after it has started.
        runs = counts > 0
        pause_s = np.where(runs & started & (counts != units), self.restart_s[job], 0.0)
        running_s = np.where(runs, time_s, 0.0)
        needed_s = np.where(runs, remaining * running_s + pause_s, np.inf)
        # A job that ends pays only until then; one that goes on keeps a hair of work, so that rounding never ends it.
        ends = needed_s - HAIR * (self.work[job] * running_s + pause_s) <= self.tick_s
        after = np.where(ends, 0.0, np.maximum(remaining - (self.tick_s - pause_s) / time_s, remaining * _EXACT))
        spent = np.where(ends, needed_s, self.tick_s) * self.weight[job]
        if self.prices is None:
            least = spent + after * (self.weight[job] * self.fastest_s[job])
        else:
            least = spent + self.prices.present_s(job, slot + 1, after, counts * (after > 0), started | runs)
        return _Outcomes(counts, after, spent, least)

    def _twin(self, layer: Layer, rows: IntArray, jobs: IntArray, place: int) -> tuple[int, BoolArray] | tuple[()]:
        """The last job of the same kind before one, and the states in which both are in the same state."""
        job = jobs[place]
        before = np.flatnonzero(self.kind[jobs[:place]] == self.kind[job])
        if not len(before):
            return ()
        twin = int(before[-1])
        pairs = [(array[rows, jobs[twin]], array[rows, job]) for array in (layer.remaining, layer.units, layer.started)]
        same: BoolArray = np.logical_and.reduce([one == other for one, other in pairs])
        return twin, same

    def _later_s(self, come: BoolArray, slot: int) -> float:
        """Least flow times of the jobs to come, by prices less what the units bring."""
        if self.prices is not None:
            return self.prices.later_s(come, slot)
        return float((self.weight * (self.wait_s + self.work * self.fastest_s))[~come & (self.work > 0)].sum())

    def bound(self, layer: Layer, slot: int) -> FloatArray:
        """Least total flow time that each state at the start of a slot leaves possible."""
        present = self.first_slot < slot
        remaining = np.where(present, layer.remaining, 0.0)
        shortest = dot(remaining, self.weight * self.fastest_s)
        alone = self.weight * (self.wait_s + self.work * self.fastest_s)
        later = float(alone[~present & (self.work > 0)].sum())
        to_come: FloatArray = np.maximum(shortest, self._one_by_one(remaining * self.area_s / self.units)) + later
        return layer.cost + to_come

    def _one_by_one(self, sizes: FloatArray) -> FloatArray:
        """Least sums of weighted completions of jobs on one machine, by Smith's rule; ``sizes`` has shape (states, jobs)."""
        if self.weighted:
            # the last job first: it delays itself, the one before both
            order = np.argsort(-sizes / self.weight, axis=1)
            behind = np.cumsum(self.weight[order], axis=1)
            total: FloatArray = (np.take_along_axis(sizes, order, axis=1) * behind).sum(axis=1)
        else:
            total = dot(np.sort(sizes, axis=1)[:, ::-1], np.arange(1, sizes.shape[1] + 1))
        return total

    def undominated(self, layer: Layer) -> Layer:
        """The states that no other one, of the first ones of the same jobs by cost, dominates."""
        surviving: list[IntArray] = [np.zeros(0, dtype=np.int64)]
        for jobs, rows in alike(layer.remaining > 0) if len(layer.cost) else ():
            self.budget.tick()
            rows = rows[np.argsort(layer.cost[rows], kind="stable")]
            surviving.append(rows[self._undominated(layer, rows, jobs)])
        return layer.take(np.sort(np.concatenate(surviving)))

    def _undominated(self, layer: Layer, rows: IntArray, jobs: IntArray) -> BoolArray:
        """Mark, among rows of one set of jobs by ascending cost, those that no marked one before dominates."""
        columns = np.ix_(rows, jobs)
        remaining, units, started = layer.remaining[columns], layer.units[columns], layer.started[columns]
        # Epochs that a pause costs; the dominating state may lose one pause of a job where ``pays`` says so.
        lost, most = self.restart_s[jobs] / self.fastest_s[jobs], remaining + _EXACT * self.work[jobs]
        waits = started & (units == 0)

        def dominated(by: IntArray, some: IntArray) -> BoolArray:
            one, other = by[:, None], some[None]
            pays = started[one] & ((units[one] != units[other]) | ~started[other]) & ~waits[other]
            over: BoolArray = (remaining[one] + pays * lost <= most[other]).all(axis=2).any(axis=0)
            return over

        words, excluded = _levels(remaining, remaining), ~_levels(remaining, most)
        marked = np.zeros(len(rows), dtype=bool)
        best = np.zeros(min(_COMPARED, len(rows)), dtype=np.int64)
        number = 0
        # The first marked states dominate most of the others: these are compared with them many at a time.
        for begin in range(0, len(rows), _BLOCK):
            self.budget.tick()
            block = np.arange(begin, min(begin + _BLOCK, len(rows)))
            for row in block[~dominated(best[: min(number, _FIRST)], block)].tolist():
                known = best[:number]
                near = known[words[known] & excluded[row] == 0]
                if not dominated(near, np.array([row]))[0]:
                    marked[row] = True
                    if number < len(best):
                        best[number] = row
                        number += 1
        return marked


def _levels(left: FloatArray, values: FloatArray) -> "np.typing.NDArray[np.uint64]":
    """Words in which each job has a bit for each of some levels of what is left that its value exceeds; shape (states,)."""
    words = np.zeros(len(values), dtype=np.uint64)
    each = min(16, max(1, _WORD // values.shape[1]))
    levels = np.sort(left, axis=0)[np.linspace(0, len(left) - 1, each).astype(np.int64)]
    for job in range(min(_WORD, values.shape[1])):
        exceeded = np.searchsorted(levels[:, job], values[:, job]).astype(np.uint64)
        words = words << np.uint64(each) | (np.uint64(1) << exceeded) - np.uint64(1)
    return words
