"""Streams with ticks: plans of units by slot, and the exact search over the states that the jobs can reach, tick by tick.

====================  ===============================================================================================
code                  mathematics
====================  ===============================================================================================
``left[i, j]``        epochs that job j has left in state i; 0: it has ended
``held[i, j]``        units it held in the last slot
``started[i, j]``     whether it has ever held units
``cost[i]``           weighted flow times so far: of ended jobs all, of present ones from arrival to the tick
====================  ===============================================================================================

From slot to slot every state is extended by every division of the units among its present jobs. Three rules limit the states:

*Bound.* A state's flow times, each times its weight, add up to at least cost + max(sum of the present jobs' shortest times
left, sum of their completions when the areas left are done one by one on one machine of the cluster's speed, the least area
for its weight first: Smith 1956) + the shortest flow times of jobs to come: present jobs and each of the others are bounded
apart. (Done one by one in the order in which they end in a stream, all areas are done no later than there.) Prices by slot
(``lone_costs``) often say more: the largest counts. A state that cannot beat the best stream known is dropped. The least
bound of all states that are kept bounds the optimum, whenever the search stops.

*Beam.* Searches that keep only the states of least bound at each tick come first: they find good streams, and prove nothing.

*Dominance.* State A dominates B at the same tick if it has cost no more, and every job has no more left even if A then
loses one pause of it. A can give every job the units that B gives it from here on. It pays the pauses that B pays, and at
most one more of a job: one that it has started, and that in B either was never started, or holds other units now and does
not wait for a restart, which would cost B a pause too.

Numbers are double precision: an improvement within rounding is not looked for.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from dlsched.algorithms.layered_search import Trail, alike, divisions
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
    """States at one tick; ``parent`` and ``allocated``: the state each came from, and the units of the slot between."""

    remaining: FloatArray
    units: IntArray
    started: BoolArray
    cost: FloatArray
    parent: IntArray
    allocated: IntArray

    def take(self, rows: IntArray | BoolArray) -> "Layer":
        """Some of the states."""
        return Layer(*(getattr(self, name)[rows] for name in self.__slots__))


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
    """Costs of single jobs at prices by slot, from every slot on, for all work left and units held.

    The flow times to come are at least those of the present jobs and of later ones, minus the worth of the units.
    """

    prices: SlotPrices
    costs: dict[int, Costs]
    per_cell: FloatArray
    to_come_s: FloatArray
    brings: FloatArray

    def least(self, layer: Layer, come: BoolArray, slot: int) -> FloatArray:
        """Least flow times to come of states at the start of a slot; ``come`` marks the jobs that arrived before it."""
        ends = np.maximum(0, self.prices.slots[1:] - np.maximum(self.prices.slots[:-1], slot))
        total = np.full(len(layer.cost), float(self.to_come_s[~come].sum()) - float(dot(ends, self.brings)))
        for job in np.flatnonzero(come & (self.per_cell > 0)).tolist():
            costs, remaining = self.costs[job], layer.remaining[:, job]
            psi = costs.psi[min(slot - costs.first, len(costs.paid_s))]
            row = np.where(layer.started[:, job], _rows(costs, layer.units[:, job]), FRESH)
            total += costs.kind.weight * np.where(
                remaining > 0, psi[row, (remaining * self.per_cell[job]).astype(np.int64)], 0.0
            )
        return total


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


LARGEST_LAYER = 30_000
"""States kept at one tick, and divisions of the units, beyond which the search gives up."""

_LARGEST_FOLLOWING = 50 * LARGEST_LAYER  # states before dominance
_LARGEST_CELLS = 8_000_000  # states before dominance, times jobs; takes 25 bytes each, up to three times
_LARGEST_TRAIL = 200_000_000  # bytes kept about earlier ticks
_CHUNK = 400_000  # states times jobs that are made at once
_EXACT = 1e-12
_BEAM = 200
"""States kept at one tick by the search for good streams."""
_BEFORE = 10  # times as many before dominance


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
    """Minimise the total weighted flow time below ``best_s``, and prove the optimum; TooLarge: too many states, or divisions.

    ``found`` gets every better plan, ``proven`` growing lower bounds of the total, at last the optimum. A node is a state.
    """
    search = _Slots(instance, budget, prices)
    if prices is not None:
        best_s = _through(search, best_s, found, lambda total_s: None, _BEAM)
    _through(search, best_s, found, proven, None)


def _through(
    search: "_Slots",
    best_s: float,
    found: Callable[[Plan], bool],
    proven: Callable[[float], None],
    beam: int | None,
) -> float:
    """Follow the states from the first slot to the last, at each tick at most ``beam`` of them; return the best total."""
    slot, budget = search.next_slot(0, search.work > 0), search.budget
    layer, trail = search.first(), Trail()
    while True:
        search.arrive(layer, slot)
        budget.tick(len(layer.cost))
        trail.add(slot, layer.parent, layer.allocated)
        if trail.size > _LARGEST_TRAIL:
            raise TooLarge(f"what is kept of {len(trail.steps)} slots takes more than {_LARGEST_TRAIL} bytes")
        pieces, bounds, states = [], [], 0
        for child in search.follow(layer, slot):
            # Complete states (all jobs ended) are streams; of the others those stay that can still beat the best.
            over: BoolArray = np.logical_not((child.remaining > 0).any(axis=1))
            row = int(np.argmin(np.where(over, child.cost, np.inf)))
            if bool(over[row]) and child.cost[row] < best_s * (1 - _EXACT):
                best_s = float(child.cost[row])
                found(plan_of(trail, child, row))
            bound = search.bound(child, slot + 1)
            keep = (bound < best_s * (1 - _EXACT)) & ~over
            pieces.append(child.take(keep))
            bounds.append(bound[keep])
            states += len(bounds[-1])
            if states > min(_LARGEST_FOLLOWING, _LARGEST_CELLS // len(search.work)):
                raise TooLarge(f"{states} states at slot {slot + 1} before any is left out")
            budget.tick()
        bound = np.concatenate(bounds)
        rows = np.flatnonzero(bound < best_s * (1 - _EXACT))
        if not len(rows):
            proven(best_s)
            return best_s
        rows = rows[np.argsort(bound[rows], kind="stable")]  # so that, at equal cost, dominant states come first
        proven(float(bound[rows[0]]))
        columns = ([getattr(piece, name) for piece in pieces] for name in Layer.__slots__)
        following = Layer(*map(np.concatenate, columns))
        del pieces, bounds, child
        if beam is not None:
            rows = rows[: _BEFORE * beam]
        layer = search.undominated(following.take(rows), slot + 1)
        if beam is not None and len(layer.cost) > beam:
            layer = layer.take(np.sort(np.argsort(search.bound(layer, slot + 1), kind="stable")[:beam]))
        slot = search.next_slot(slot + 1, np.any(layer.remaining > 0, axis=0))


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
        self._divisions: dict[tuple[int, ...], tuple[IntArray, FloatArray]] = {}

    def first(self) -> Layer:
        """The one state before any job is present."""
        nothing = np.zeros((1, len(self.work)), dtype=np.int64)
        one = np.zeros(1, dtype=np.int64)
        return Layer(self.work[None].copy(), nothing, nothing.astype(bool), one.astype(float), one, nothing)

    def next_slot(self, slot: int, unfinished: BoolArray) -> int:
        """The slot at which to continue: the same, or the first in which an unfinished job is present."""
        return max(slot, int(self.first_slot[unfinished].min()))

    def arrive(self, layer: Layer, slot: int) -> None:
        """Add to the costs the waiting times of the jobs that become present now."""
        new = (self.first_slot == slot) & (self.work > 0)
        layer.cost += float((self.weight * self.wait_s)[new].sum())

    def follow(self, layer: Layer, slot: int) -> Iterator[Layer]:
        """Yield all successors of the states, in pieces."""
        present = (layer.remaining > 0) & (self.first_slot <= slot)
        for jobs, rows in alike(present):
            ways, time_s = self._divide(tuple(jobs.tolist()))
            size = max(1, _CHUNK // (len(ways) * len(self.work)))
            for begin in range(0, len(rows), size):
                yield self._follow(layer, rows[begin : begin + size], jobs, ways, time_s)

    def _divide(self, jobs: tuple[int, ...]) -> tuple[IntArray, FloatArray]:
        """All ways to give the jobs useful counts or nothing, within the units, and seconds per epoch; shape (ways, jobs)."""
        if jobs not in self._divisions:
            options = [self.options[job] for job in jobs]
            most = min(LARGEST_LAYER, _LARGEST_CELLS // 4 // len(self.work))
            ways = divisions(options, self.units, most)
            if ways is None:
                raise TooLarge(f"more than {most} ways to divide {self.units} units among {len(jobs)} jobs")
            times = [[time.get(n, np.inf) for time, n in zip(options, way, strict=True)] for way in ways.tolist()]
            if sum(known.size for known, _ in self._divisions.values()) > _LARGEST_CELLS:
                self._divisions.clear()
            self._divisions[jobs] = ways, np.array(times)
        return self._divisions[jobs]

    def _follow(self, layer: Layer, rows: IntArray, jobs: IntArray, ways: IntArray, time_s: FloatArray) -> Layer:
        """States after one slot, from some states of one set of present jobs, by all ways; shape (rows, ways, jobs)."""
        columns = np.ix_(rows, jobs)
        # Axes: states, ways, jobs. A job pauses if it changes its units after it has started.
        remaining, units = layer.remaining[columns][:, None], layer.units[columns][:, None]
        started = layer.started[columns][:, None]
        runs = ways > 0
        pause_s = np.where(runs & started & (ways != units), self.restart_s[jobs], 0.0)
        running_s = np.where(runs, time_s, 0.0)
        needed_s = np.where(runs, remaining * running_s + pause_s, np.inf)
        # A job that ends pays only until then; one that goes on keeps a hair of work, so that rounding never ends it.
        ends = needed_s - HAIR * (self.work[jobs] * running_s + pause_s) <= self.tick_s
        after = np.where(ends, 0.0, np.maximum(remaining - (self.tick_s - pause_s) / time_s, remaining * _EXACT))
        spent = (np.where(ends, needed_s, self.tick_s) * self.weight[jobs]).sum(axis=2).ravel()
        allocated = np.tile(ways, (len(rows), 1))
        parent = np.repeat(rows, len(ways))
        after = after.reshape(len(parent), len(jobs))
        idle = np.zeros((len(parent), len(self.work)), dtype=np.int64)
        child = Layer(
            layer.remaining[parent],
            idle,
            layer.started[parent],
            layer.cost[parent] + spent,
            parent,
            allocated=idle.copy(),
        )
        child.remaining[:, jobs] = after
        child.allocated[:, jobs] = allocated
        child.units[:, jobs] = np.where(after > 0, allocated, 0)
        child.started[:, jobs] |= allocated > 0
        return child

    def bound(self, layer: Layer, slot: int) -> FloatArray:
        """Least total flow time that each state at the start of a slot leaves possible."""
        present = self.first_slot < slot
        remaining = np.where(present, layer.remaining, 0.0)
        shortest = dot(remaining, self.weight * self.fastest_s)
        alone = self.weight * (self.wait_s + self.work * self.fastest_s)
        later = float(alone[~present & (self.work > 0)].sum())
        to_come: FloatArray = np.maximum(shortest, self._one_by_one(remaining * self.area_s / self.units)) + later
        if self.prices is not None:
            to_come = np.maximum(to_come, self.prices.least(layer, present, slot))
        return layer.cost + to_come

    def _one_by_one(self, sizes: FloatArray) -> FloatArray:
        """Least sums of weighted completions of jobs on one machine, by Smith's rule; ``sizes`` has shape (states, jobs)."""
        if self.weighted:
            order = np.argsort(
                -sizes / self.weight, axis=1
            )  # the last job first: it delays itself, the one before both
            behind = np.cumsum(self.weight[order], axis=1)
            total: FloatArray = (np.take_along_axis(sizes, order, axis=1) * behind).sum(axis=1)
        else:
            total = dot(np.sort(sizes, axis=1)[:, ::-1], np.arange(1, sizes.shape[1] + 1))
        return total

    def undominated(self, layer: Layer, slot: int) -> Layer:
        """The states that no other one dominates; TooLarge if they are too many."""
        surviving: list[IntArray] = []
        for jobs, rows in alike(layer.remaining > 0):
            self.budget.tick()
            rows = rows[np.argsort(layer.cost[rows], kind="stable")]
            surviving.append(rows[self._undominated(layer, rows, jobs)])
            if sum(map(len, surviving)) > LARGEST_LAYER:
                raise TooLarge(f"more than {LARGEST_LAYER} states at slot {slot}")
        return layer.take(np.sort(np.concatenate(surviving)))

    def _undominated(self, layer: Layer, rows: IntArray, jobs: IntArray) -> BoolArray:
        """Mark, among rows of one set of jobs by ascending cost, those that no marked one before dominates."""
        columns = np.ix_(rows, jobs)
        remaining, units, started = layer.remaining[columns], layer.units[columns], layer.started[columns]
        # Epochs that a pause costs; the dominating state may lose one pause of a job where ``pays`` says so.
        lost, slack = self.restart_s[jobs] / self.fastest_s[jobs], _EXACT * self.work[jobs]
        waits = started & (units == 0)
        marked = np.zeros(len(rows), dtype=bool)
        best = [np.empty_like(array[: LARGEST_LAYER + 1]) for array in (remaining, units, started)]
        number = 0
        for row in range(len(rows)):
            if row % 16 == 15:
                self.budget.tick()
            if number > LARGEST_LAYER:
                break  # too large
            left_before, held_before, started_before = (array[:number] for array in best)
            pays = started_before & ((held_before != units[row]) | ~started[row]) & ~waits[row]
            if ((left_before + pays * lost > remaining[row] + slack).any(axis=1)).all():
                marked[row] = True
                for array, values in zip(best, (remaining, units, started), strict=True):
                    array[number] = values[row]
                number += 1
        return marked
