"""Exact search over slots: for streams with ticks, all states that a stream can be in at a tick, as far as they matter.

States are those of ``layers``. From slot to slot, every state is followed by every division of the units among its
present jobs. What makes it end:

*Bound.* A state's flow times add up to at least cost + max(sum of the present jobs' shortest times left, sum of SPT
completions of their areas left on one machine of the cluster's speed) + the shortest flow times of jobs to come: present
jobs and each of the others are bounded apart. A state that cannot beat the best stream known is dropped. The least bound
of all states that are kept bounds the optimum, whenever the search stops.

*Dominance.* State A dominates B at the same tick if it has cost no more, and every job has no more left even if A then
loses one pause of it. A can give every job the units that B gives it from here on. It pays the pauses that B pays, and at
most one more of a job: one that it has started, and that in B either was never started, or holds other units now and does
not wait for a restart, which would cost B a pause too.

Numbers are double precision: an improvement within rounding is not looked for.
"""

from collections.abc import Callable, Iterator
from itertools import islice

import numpy as np

from dlsched.core.arrays import FloatArray, IntArray
from dlsched.elastic_stream.clock import HAIR
from dlsched.elastic_stream.instance import Instance
from dlsched.elastic_stream.layers import BoolArray, Layer, Trail, alike, joined, plan_of
from dlsched.elastic_stream.slotted import Plan, useful_times

LARGEST_LAYER = 30_000
"""States kept at one tick, and divisions of the units, beyond which the search gives up."""

_LARGEST_FOLLOWING = 50 * LARGEST_LAYER  # states before dominance
_LARGEST_CELLS = 8_000_000  # states before dominance times jobs, 25 bytes each, held up to three times
_LARGEST_TRAIL = 200_000_000  # bytes of what is kept of earlier ticks
_CHUNK = 400_000  # states times jobs that are made at a time
_EXACT = 1e-12


class TooLarge(Exception):  # noqa: N818  a signal, not an error
    """The search would need more states than it allows itself; the message says how many, and where."""


def search_slots(
    instance: Instance,
    best_s: float,
    *,
    found: Callable[[Plan], object],
    proven: Callable[[float], None],
    step: Callable[[int], None],
) -> None:
    """Find the stream of least total flow time, and prove it.

    Parameters
    ----------
    instance
        A feasible one with ticks and shorter restarts.
    best_s
        Total flow time of a known stream.
    found
        Called with units by slot of every job, of each better stream.
    proven
        Called with a growing lower bound on the total flow time; at the end it is that of the best stream.
    step
        Called with the states of every layer before they are followed; it may raise to stop.

    Raises
    ------
    TooLarge
        Too many states, or too many divisions of the units.
    """
    search = _Slots(instance)
    slot = search.next_slot(0, search.work > 0)
    layer, trail, size = search.first(), [], 0
    while True:
        search.arrive(layer, slot)
        step(len(layer.cost))
        trail.append(Trail.of(layer, slot))
        size += trail[-1].size
        if size > _LARGEST_TRAIL:
            raise TooLarge(f"what is kept of {len(trail)} slots takes more than {_LARGEST_TRAIL} bytes")
        pieces, bounds, states = [], [], 0
        for child in search.follow(layer, slot):
            over: BoolArray = np.logical_not((child.left > 0).any(axis=1))
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
            step(0)
        bound = np.concatenate(bounds)
        rows = np.flatnonzero(bound < best_s * (1 - _EXACT))
        if not len(rows):
            proven(best_s)
            return
        rows = rows[np.argsort(bound[rows], kind="stable")]  # so that, at equal cost, dominant states come first
        proven(float(bound[rows[0]]))
        following = joined(pieces)
        del pieces, bounds, child
        layer = search.undominated(following.take(rows), slot + 1, step)
        slot = search.next_slot(slot + 1, np.any(layer.left > 0, axis=0))


class _Slots:
    """The numbers of an instance, as arrays over its jobs."""

    def __init__(self, instance: Instance) -> None:
        assert instance.tick_s is not None
        self.tick_s, self.units = instance.tick_s, instance.units
        jobs = instance.jobs
        self.options = [useful_times(instance, place) for place in range(len(jobs))]
        self.work = np.array([job.work for job in jobs])
        self.wait_s = np.array([instance.wait_s(place) for place in range(len(jobs))])
        self.restart_s = np.array([job.restart_s for job in jobs])
        self.fastest_s = np.array([min(time.values(), default=0.0) for time in self.options])
        self.area_s = np.array([min((n * t for n, t in time.items()), default=0.0) for time in self.options])
        self.first_slot = np.array([instance.first_slot(place) for place in range(len(jobs))])
        self._divisions: dict[tuple[int, ...], tuple[IntArray, FloatArray]] = {}

    def first(self) -> Layer:
        """Return the one state before any job is present."""
        jobs = len(self.work)
        nothing = np.zeros((1, jobs), dtype=np.int64)
        return Layer(
            self.work[None].copy(),
            nothing,
            nothing.astype(bool),
            np.zeros(1),
            np.zeros(1, dtype=np.int64),
            nothing,
        )

    def next_slot(self, slot: int, unfinished: BoolArray) -> int:
        """Slot to go on at: this one, or if no unfinished job is present yet, the first in which one is."""
        return max(slot, int(self.first_slot[unfinished].min()))

    def arrive(self, layer: Layer, slot: int) -> None:
        """Charge the jobs that become present now for the time since they arrived."""
        new = (self.first_slot == slot) & (self.work > 0)
        layer.cost += float(self.wait_s[new].sum())

    def follow(self, layer: Layer, slot: int) -> Iterator[Layer]:
        """Every state that can follow, in pieces."""
        present = (layer.left > 0) & (self.first_slot <= slot)
        for jobs, rows in alike(present):
            divisions, time_s = self._divide(tuple(jobs.tolist()))
            size = max(1, _CHUNK // (len(divisions) * len(self.work)))
            for begin in range(0, len(rows), size):
                yield self._follow(layer, rows[begin : begin + size], jobs, divisions, time_s)

    def _divide(self, jobs: tuple[int, ...]) -> tuple[IntArray, FloatArray]:
        """All ways to give the jobs useful counts or nothing, within the units, and seconds per epoch; shape (ways, jobs)."""
        if jobs not in self._divisions:
            most = min(LARGEST_LAYER, _LARGEST_CELLS // 4 // len(self.work))
            ways: list[tuple[tuple[int, ...], int]] = [((), self.units)]
            for job in jobs:
                counts = (0, *self.options[job])
                longer = (((*way, n), left - n) for way, left in ways for n in counts if n <= left)
                ways = list(islice(longer, most + 1))
                if len(ways) > most:
                    raise TooLarge(f"more than {most} ways to divide {self.units} units among {len(jobs)} jobs")
            times = [[self.options[job].get(n, np.inf) for job, n in zip(jobs, way, strict=True)] for way, _ in ways]
            if sum(known.size for known, _ in self._divisions.values()) > _LARGEST_CELLS:
                self._divisions.clear()
            self._divisions[jobs] = np.array([way for way, _ in ways], dtype=np.int64), np.array(times)
        return self._divisions[jobs]

    def _follow(self, layer: Layer, rows: IntArray, jobs: IntArray, divisions: IntArray, time_s: FloatArray) -> Layer:
        """States after one slot, from some states of one set of present jobs, by all divisions."""
        n, ways = len(rows), len(divisions)
        left, held, started = (
            layer.left[rows][:, None, jobs],
            layer.held[rows][:, None, jobs],
            layer.started[rows][:, None, jobs],
        )
        given = divisions[None]
        runs = given > 0
        pause_s = np.where(runs & started & (given != held), self.restart_s[jobs], 0.0)
        running_s = np.where(runs, time_s, 0.0)
        needed_s = np.where(runs, left * running_s + pause_s, np.inf)
        ends = needed_s - HAIR * (self.work[jobs] * running_s + pause_s) <= self.tick_s
        after = np.where(ends, 0.0, np.maximum(left - (self.tick_s - pause_s) / time_s, left * _EXACT))
        spent = np.where(ends, needed_s, self.tick_s).sum(axis=2)
        child = Layer(
            np.repeat(layer.left[rows], ways, axis=0),
            np.zeros((n * ways, len(self.work)), dtype=np.int64),
            np.repeat(layer.started[rows], ways, axis=0),
            (layer.cost[rows][:, None] + spent).ravel(),
            np.repeat(rows, ways),
            np.zeros((n * ways, len(self.work)), dtype=np.int64),
        )
        flat = (n * ways, len(jobs))
        child.left[:, jobs] = after.reshape(flat)
        child.given[:, jobs] = np.broadcast_to(given, (n, ways, len(jobs))).reshape(flat)
        child.held[:, jobs] = np.where(after.reshape(flat) > 0, child.given[:, jobs], 0)
        child.started[:, jobs] |= child.given[:, jobs] > 0
        return child

    def bound(self, layer: Layer, slot: int) -> FloatArray:
        """Least total flow time that each state at the start of a slot leaves possible."""
        present = self.first_slot < slot
        left = np.where(present, layer.left, 0.0)
        shortest = left @ self.fastest_s
        areas = np.sort(left * self.area_s, axis=1)[:, ::-1] / self.units
        spt = areas @ np.arange(1, areas.shape[1] + 1)
        to_come = ~present & (self.work > 0)
        later = (self.wait_s + self.work * self.fastest_s)[to_come].sum()
        total: FloatArray = layer.cost + np.maximum(shortest, spt) + float(later)
        return total

    def undominated(self, layer: Layer, slot: int, step: Callable[[int], None]) -> Layer:
        """Drop states that another one dominates; TooLarge when too many are left."""
        kept: list[IntArray] = []
        for jobs, rows in alike(layer.left > 0):
            step(0)
            rows = rows[np.argsort(layer.cost[rows], kind="stable")]
            kept.append(rows[self._undominated(layer, rows, jobs, step)])
            if sum(map(len, kept)) > LARGEST_LAYER:
                raise TooLarge(f"more than {LARGEST_LAYER} states at slot {slot}")
        return layer.take(np.sort(np.concatenate(kept)))

    def _undominated(self, layer: Layer, rows: IntArray, jobs: IntArray, step: Callable[[int], None]) -> BoolArray:
        """Mark, among rows of one set of jobs by ascending cost, those that no kept one before dominates."""
        columns = np.ix_(rows, jobs)
        left, held, started = layer.left[columns], layer.held[columns], layer.started[columns]
        lost, slack = self.restart_s[jobs] / self.fastest_s[jobs], _EXACT * self.work[jobs]
        waits = started & (held == 0)
        marked = np.zeros(len(rows), dtype=bool)
        kept = [np.empty_like(array[: LARGEST_LAYER + 1]) for array in (left, held, started)]
        number = 0
        for place in range(len(rows)):
            if place % 16 == 15:
                step(0)
            if number > LARGEST_LAYER:
                break  # too large
            left_before, held_before, started_before = (array[:number] for array in kept)
            pays = started_before & ((held_before != held[place]) | ~started[place]) & ~waits[place]
            if ((left_before + pays * lost > left[place] + slack).any(axis=1)).all():
                marked[place] = True
                for array, values in zip(kept, (left, held, started), strict=True):
                    array[number] = values[place]
                number += 1
        return marked
