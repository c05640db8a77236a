"""Exact branch-and-bound search for the least sum of flow times, which starts jobs in order of time; and its decomposition.

Every job runs once, without a pause, in one of its modes, each of which has a length and takes units of several resources.
Some may have begun when the clock starts: they start at 0, before all others, in their only mode. Sums are of flow times,
end less release, on a clock whose zero is the first release.

*Nodes.* The jobs that have started, in order of their starts. A child lets one more job start in one of its modes, at
the earliest time, not before the last start, at which its units are free beside the jobs that run. The
search reaches every schedule in which no job can start earlier while the others stay, and one of these is
optimal. A node is a row of arrays: for every unit the time from which it is free, for every job whether it waits.

*Cut: active.* Let E be the least end over all children. A child that starts at E or later and ends later has room for the
job that would end at E: moving it there is possible and ends it sooner. So such children are cut.

*Cut: bound.* That of ``start_prices``: first with the last start for all waiting jobs, then with the earliest start of each
beside the jobs that run; the least of these takes the place of the last start.

*Cut: dominated.* Of two nodes in which the same jobs wait, one with no larger sum, no later last start, and every unit free
no later can end every job no later than the other. It is compared with some of the nodes of less sum, not with all. The
search sorts resources of one kind, tries those in the same state in one order, and starts jobs that are alike in one order.

*Layers.* All nodes with equally many jobs started are expanded together. A pass retains the ``width`` nodes of least bound of
every layer; the least bound of those it drops, and of those retained, is a bound on all. A pass that drops none
proves its best sum; the next one is twice as wide.

*Parts* whose jobs cannot meet in any good schedule are decided apart. Let F be the sum of the flow times of a known schedule,
p_i the least length of job i, and E = F - sum p. In any schedule whose flow times sum to at most F, job i ends by
r_i + p_i + E, as no other job flows for less than its own p. If all jobs released before some time end by then, the later
ones never meet them. So the best schedules of the two parts together are the best schedule of all, and the F of a part
is smaller again. The releases of a part that cannot be split further lie within its number of jobs times F.
"""

import math
from collections.abc import Callable, Generator, Hashable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from dlsched.algorithms.start_prices import Charged, PriceTables, row_sums
from dlsched.core.arrays import BoolArray, FloatArray, IntArray
from dlsched.core.gap import FEASIBLE, rounding
from dlsched.core.limits import Tick, no_tick

Modes = Sequence[tuple[int, int]]
"""Jobs and their modes, in order of their starts."""
Prices = tuple[FloatArray, FloatArray, Sequence[Charged]]
"""Prices over time, for bounds: the times, rates and windows of ``PriceTables``."""

CLOSE = 1e-10
"""Relative distance of a node's bound from the best sum at which the node is closed."""
_FIRST_WIDTH = 250
_MEMORY = 2**30  # bytes that the nodes of a layer and their children may take
_CHUNK, _CELLS = 512, 1_000_000
"""Nodes expanded together, and numbers in one array at most."""
_COMPARED = 12
"""Nodes of least sum, and nodes of next smaller sum, that a node is compared with for dominance."""


class ModeJob(NamedTuple):
    """Release of a job, length and usage of its modes, a key that jobs alike share, and whether it has begun."""

    release_s: float
    modes: Sequence[tuple[float, Sequence[int]]]
    kind: Hashable
    begun: bool = False


class _Nodes(NamedTuple):
    """Nodes of one layer, N rows: jobs that wait, (N, J), and when units are free, (N, C); the rest has shape (N,).

    ``parent`` is the row of the layer before, ``mode`` the one chosen last, counted over all jobs.
    """

    waiting: BoolArray
    free_s: FloatArray
    last_s: FloatArray
    sum_s: FloatArray
    bound_s: FloatArray
    parent: IntArray
    mode: IntArray

    def take(self, rows: "IntArray | BoolArray | slice") -> "_Nodes":
        return _Nodes._make(column[rows] for column in self)

    @property
    def size(self) -> int:
        return len(self.sum_s)


class Tree:
    """The search, which can be stopped and resumed; when it is ``done``, no schedule is better than ``best_s``.

    ``bound_s``: a lower bound on the sum until then; where memory is short the search is ``over`` before it is done.
    The first job is released at 0; each has a mode that fits; those that have begun are released at 0 and fit together.
    ``kinds``: equal numbers for resources that all jobs may exchange for each other; None: those of one capacity.
    ``priced``: number of resources, the first ones, which ``prices`` are for; None: all. Rates of a job are for the units of
    these that its least mode takes. ``best_s``: sum of flow times of a known schedule, or infinity; the caller may lower it.
    ``better`` is called for every lower sum; ``tick`` with the number of nodes about to be expanded, and may raise to stop.
    """

    def __init__(
        self,
        capacities: Sequence[int],
        jobs: Sequence[ModeJob],
        best_s: float,
        *,
        kinds: Sequence[int] | None = None,
        priced: int | None = None,
        prices: Sequence[Prices] = (),
        better: Callable[[Modes], None],
        tick: Callable[..., None],
    ) -> None:
        self.best_s, self.bound_s, self.looks, self.done, self.over = best_s, 0.0, 0, False, False
        self._jobs, self._better, self._tick = jobs, better, tick
        sizes, count = np.array(capacities, dtype=np.int64), len(capacities)
        # units side by side, those of a resource in order of the time from which they are free
        self._ends = np.cumsum(sizes)
        self._server = np.repeat(np.arange(count), sizes)
        self._rank = np.arange(len(self._server)) - (self._ends - sizes)[self._server]
        modes = [(job, *mode) for job, each in enumerate(jobs) for mode in each.modes]
        self._job = np.array([job for job, _, _ in modes])
        self._length_s = np.array([length_s for _, length_s, _ in modes], dtype=np.float64)
        self._usage = np.array([usage for _, _, usage in modes], dtype=np.int64)
        self._first = np.searchsorted(self._job, np.arange(len(jobs)))
        # of every distinct usage the unit of each resource that is free last; the column after all stands for none
        distinct, of_mode = np.unique(self._usage, axis=0, return_inverse=True)
        self._distinct = of_mode.ravel()
        self._last_unit = np.where(distinct > 0, self._ends - sizes + distinct - 1, len(self._server))
        kinds = capacities if kinds is None else kinds
        groups = [[m for m in range(count) if kinds[m] == kind] for kind in dict.fromkeys(kinds)]
        self._groups = [(group, capacities[group[0]]) for group in groups if len(group) > 1]
        pairs = [pair for group, _ in self._groups for pair in pairwise(group)]
        self._pairs = np.array(pairs, dtype=np.int64).reshape(-1, 2)
        self._crossed = self._usage[:, self._pairs[:, 0]] < self._usage[:, self._pairs[:, 1]]
        # of jobs alike each waits for the one before
        twin: list[int] = []
        alike: dict[Hashable, int] = {}
        for index, job in enumerate(jobs):
            twin.append(-1 if job.begun else alike.get((job.kind, job.release_s), -1))
            alike[job.kind, job.release_s] = index
        self._twins = [(index, before) for index, before in enumerate(twin) if before >= 0]
        self._release_s = np.array([job.release_s for job in jobs])
        self._priced = slice(0, int(sizes[:priced].sum()))
        shortest_s = np.minimum.reduceat(self._length_s, self._first)
        # the fewest of any mode: with these at least as many jobs fit together
        units = np.minimum.reduceat(self._usage[:, :priced].sum(axis=1), self._first)
        none: Prices = np.array([0.0, 1.0]), np.zeros((len(jobs), 1)), ()
        self._tables = [
            PriceTables(self._release_s, shortest_s, units, self._priced.stop, *each) for each in prices or [none]
        ]
        row_bytes = 8 * len(self._server) + len(jobs) + 40
        self._widest = max(_FIRST_WIDTH, _MEMORY // (12 * row_bytes))
        self._steps = self._search()

    def run(self, looks: float = math.inf) -> bool:
        """Go on until ``looks`` more children have been looked at, or memory ends the search; return ``done``."""
        until = self.looks + looks
        while not self.done and self.looks < until:
            nodes = next(self._steps, None)
            if nodes is None:
                self.over = True
                break
            self._tick(nodes)
        return self.done

    def _search(self) -> Generator[int, None, None]:
        """Passes of doubling width; yields the number of nodes about to be expanded."""
        width = _FIRST_WIDTH
        while not self.done and width <= self._widest:
            dropped_s = yield from self._pass(width)
            self.done = dropped_s >= self.best_s * (1 - CLOSE)
            self.bound_s = max(self.bound_s, min(dropped_s, self.best_s))
            width *= 2

    def _pass(self, width: int) -> Generator[int, None, float]:
        """One pass; the least bound of the nodes that it drops, infinity if it drops none."""
        nodes, dropped_s = self._lifted(self._root()[0]), math.inf
        trace: list[tuple[IntArray, IntArray]] = []
        while nodes.size and nodes.waiting[0].any():
            trace.append((nodes.parent, nodes.mode))
            grown, number = [nodes.take(slice(0, 0))], 0
            for part in self._chunks(nodes.size):
                yield part.stop - part.start
                for children in self._children(nodes, np.arange(part.start, part.stop)):
                    grown.append(children)
                    number += children.size
                if number > 6 * width:  # memory: the children so far, without those that will be dropped
                    some, least_s = _least(_nondominated(_joined(grown)), 3 * width)
                    grown, number, dropped_s = [some], some.size, min(dropped_s, least_s)
            nodes, least_s = _least(_nondominated(_joined(grown)), 3 * width)
            dropped_s = min(dropped_s, least_s)
            if nodes.size and nodes.waiting[0].any():
                nodes, least_s = _least(_nondominated(self._open(self._lifted(nodes))), width)
                dropped_s = min(dropped_s, least_s)
                self.bound_s = max(self.bound_s, min(dropped_s, self.best_s, nodes.bound_s.min(initial=math.inf)))
        if nodes.size:
            best = int(nodes.sum_s.argmin())
            if nodes.sum_s[best] < self.best_s:
                self.best_s = float(nodes.sum_s[best])
                self._better(self._picked(trace, int(nodes.parent[best]), int(nodes.mode[best])))
        return dropped_s

    def _root(self) -> tuple[_Nodes, IntArray]:
        """The node in which the jobs that have begun have started; and which resource is at which place in it."""
        free_s, sum_s = np.zeros((1, len(self._server))), 0.0
        waiting = np.array([[not job.begun for job in self._jobs]])
        for index in np.flatnonzero(~waiting[0]).tolist():
            ((length_s, usage),) = self._jobs[index].modes
            sum_s += length_s
            for server, count in enumerate(usage):
                units = free_s[0, self._units(server)]
                units[:count] = length_s  # units of which it takes none are free at 0, and come first
                units.sort()
        place = np.arange(len(self._ends))
        self._move(place, self._exchanged(free_s))
        zeros, none = np.zeros(1), np.full(1, -1)
        return _Nodes(waiting, free_s, zeros, np.array([sum_s]), zeros, none, none), place

    def _chunks(self, number: int) -> Iterator[slice]:
        """Rows in parts, so that arrays of all modes stay small."""
        step = max(1, min(_CHUNK, _CELLS // len(self._job)))
        return (slice(begin, min(begin + step, number)) for begin in range(0, number, step))

    def _starts(self, nodes: _Nodes) -> FloatArray:
        """The earliest start of every mode, not before the last start and the release, shape (N, modes)."""
        columns = np.concatenate([nodes.free_s, np.full((nodes.size, 1), -np.inf)], axis=1)
        ready_s = columns[:, self._last_unit[:, 0]]
        for server in range(1, self._last_unit.shape[1]):
            np.maximum(ready_s, columns[:, self._last_unit[:, server]], out=ready_s)
        from_s = np.maximum(nodes.last_s[:, None], self._release_s)
        return np.asarray(np.maximum(ready_s[:, self._distinct], from_s[:, self._job]))

    def _lifted(self, nodes: _Nodes) -> _Nodes:
        """Nodes with the earliest start of any waiting job as their last start, and a bound from that of each."""
        lifted = []
        for part in self._chunks(nodes.size):
            some = nodes.take(part)
            soonest_s = np.minimum.reduceat(self._starts(some), self._first, axis=1)
            last_s = np.where(some.waiting, soonest_s, np.inf).min(axis=1)
            last_s = np.where(some.waiting.any(axis=1), last_s, some.last_s)
            free_s = np.maximum(some.free_s, last_s[:, None])
            lifted.append(self._bounded(some._replace(last_s=last_s, free_s=free_s), soonest_s))
        return _joined(lifted)

    def _bounded(self, nodes: _Nodes, from_s: FloatArray) -> _Nodes:
        """Nodes with the best bound of any prices; jobs start at ``from_s``, shape (N, J) or (N, 1), or later."""
        bound_s = nodes.bound_s
        for table in self._tables:
            free_s = nodes.free_s[:, self._priced]
            owed_s = table.least(nodes.waiting, from_s) - table.unused(free_s)
            owed_s -= table.charged(nodes.waiting, nodes.last_s, free_s)
            bound_s = np.maximum(bound_s, nodes.sum_s + owed_s)
        return nodes._replace(bound_s=bound_s)

    def _open(self, nodes: _Nodes) -> _Nodes:
        """The nodes that the bound does not cut."""
        return nodes.take(~(nodes.bound_s >= self.best_s * (1 - CLOSE)))

    def _children(self, nodes: _Nodes, rows: IntArray) -> Iterator[_Nodes]:
        """The children of some rows that the cuts ``active`` and ``bound`` retain."""
        some = nodes.take(rows)
        starts_s = self._starts(some)
        ends_s = starts_s + self._length_s
        able = some.waiting.copy()
        for job, before in self._twins:
            able[:, job] &= ~some.waiting[:, before]
        able = able[:, self._job]
        soonest_s = np.where(able, ends_s, np.inf).min(axis=1)[:, None]
        which, modes = np.nonzero(able & ((starts_s < soonest_s) | (ends_s <= soonest_s)))
        # neighbours of one kind in the same state: the first gives no fewer units
        same = np.ones((some.size, len(self._pairs)), dtype=np.bool_)
        for pair, (one, other) in enumerate(self._pairs):
            same[:, pair] = (some.free_s[:, self._units(one)] == some.free_s[:, self._units(other)]).all(axis=1)
        distinct = ~(same[which] & self._crossed[modes]).any(axis=1)
        which, modes = which[distinct], modes[distinct]
        self.looks += len(modes)
        step = max(1, _CELLS // (len(self._jobs) + len(self._server)))
        for begin in range(0, len(modes), step):
            at, chosen = which[begin : begin + step], modes[begin : begin + step]
            children, _ = self._started(some, at, chosen, starts_s[at, chosen])
            yield self._open(self._bounded(children._replace(parent=rows[at]), children.last_s[:, None]))

    def _units(self, server: int) -> slice:
        return slice(int(self._ends[server - 1]) if server else 0, int(self._ends[server]))

    def _started(
        self, nodes: _Nodes, rows: IntArray, modes: IntArray, starts_s: FloatArray
    ) -> tuple[_Nodes, list[IntArray]]:
        """The nodes of some rows after starts; and for every group of one kind where its resources were, (N, group)."""
        ends_s = starts_s + self._length_s[modes]
        free_s = np.maximum(nodes.free_s[rows], starts_s[:, None])
        free_s = np.where(self._rank < self._usage[modes][:, self._server], ends_s[:, None], free_s)
        for server in range(len(self._ends)):
            free_s[:, self._units(server)].sort(axis=1)
        orders = self._exchanged(free_s)
        waiting = nodes.waiting[rows]
        waiting[np.arange(len(rows)), self._job[modes]] = False
        sums_s = nodes.sum_s[rows] + (ends_s - self._release_s[self._job[modes]])
        return _Nodes(waiting, free_s, starts_s, sums_s, nodes.bound_s[rows], rows, modes), orders

    def _exchanged(self, free_s: FloatArray) -> list[IntArray]:
        """Sort resources of one kind by the sum of their times, in place; for every kind where they were, (N, resources)."""
        orders = []
        for group, size in self._groups:
            units = np.concatenate([np.arange(self._ends[server] - size, self._ends[server]) for server in group])
            block = free_s[:, units].reshape(len(free_s), len(group), size)
            sums = row_sums(block.reshape(-1, size)).reshape(len(free_s), len(group))
            orders.append(np.argsort(sums, axis=1, kind="stable"))
            free_s[:, units] = np.take_along_axis(block, orders[-1][:, :, None], axis=1).reshape(len(free_s), -1)
        return orders

    def _move(self, place: IntArray, orders: Sequence[IntArray]) -> None:
        """Let resources change places as those of a single node did."""
        for (group, _), order in zip(self._groups, orders, strict=True):
            place[group] = place[np.array(group)[order[0]]]

    def _picked(self, trace: Sequence[tuple[IntArray, IntArray]], row: int, mode: int) -> Modes:
        """The jobs and modes that lead to a node, on the resources as they were given."""
        path = [mode] if trace else []
        for parents, modes in reversed(trace[1:]):
            path.append(int(modes[row]))
            row = int(parents[row])
        picked = [(index, 0) for index, job in enumerate(self._jobs) if job.begun]
        # started again one by one, as every start may exchange resources of one kind
        nodes, place = self._root()
        for chosen in reversed(path):
            usage, job = np.zeros(len(place), dtype=np.int64), int(self._job[chosen])
            usage[place] = self._usage[chosen]
            own = self._usage[self._first[job] : self._first[job] + len(self._jobs[job].modes)]
            picked.append((job, int(np.flatnonzero((own == usage).all(axis=1))[0])))
            starts_s = self._starts(nodes)[:, chosen]
            nodes, orders = self._started(nodes, np.zeros(1, dtype=np.int64), np.array([chosen]), starts_s)
            self._move(place, orders)
        return picked


def _least(nodes: _Nodes, width: int) -> tuple[_Nodes, float]:
    """The ``width`` nodes of least bound, in the order given, and the least bound of the others."""
    if nodes.size <= width:
        return nodes, math.inf
    order = np.argsort(nodes.bound_s, kind="stable")
    return nodes.take(np.sort(order[:width])), float(nodes.bound_s[order[width]])


def _joined(parts: Sequence[_Nodes]) -> _Nodes:
    return _Nodes._make(np.concatenate(columns) for columns in zip(*parts, strict=True))


def _nondominated(nodes: _Nodes) -> _Nodes:
    """Nodes without some that others dominate, sorted by the jobs that wait and the sum."""
    padded = np.pad(nodes.waiting, ((0, 0), (0, -nodes.waiting.shape[1] % 64)))
    keys = np.packbits(padded, axis=1).view(np.uint64)
    order = np.lexsort((nodes.sum_s, *keys.T))
    nodes, keys, every = nodes.take(order), keys[order], np.arange(len(order))
    alike = np.zeros(len(order), dtype=np.bool_)
    alike[1:] = (keys[1:] == keys[:-1]).all(axis=1)
    # of every node its place among those with the same jobs waiting, in order of the sum
    place = every - np.maximum.accumulate(np.where(alike, 0, every))
    open_ = np.ones(len(order), dtype=np.bool_)
    for back in range(1, _COMPARED + 1):
        # with the node so many places before, and with one of the first where that is another
        for least in (back, _COMPARED + back):
            rows = every[open_ & (place >= least)]
            others = rows - (back if least == back else place[rows] - back + 1)
            later = (nodes.free_s[rows] >= nodes.free_s[others]).all(axis=1)
            open_[rows[later & (nodes.last_s[rows] >= nodes.last_s[others])]] = False
    return nodes.take(open_)


def separated(
    releases: Sequence[float], shortest: Sequence[float], flows: Sequence[float], *, tick: Tick = no_tick
) -> list[list[int]]:
    """Return the jobs of every part, in order of release; ``flows``: flow times in the known schedule; all of shape (J,)."""
    whole, done = [sorted(range(len(releases)), key=releases.__getitem__)], []
    while whole:
        jobs = whole.pop()
        excess_s = max(0.0, math.fsum([*(flows[job] for job in jobs), *(-shortest[job] for job in jobs)]))
        parts: list[list[int]] = [[]]
        latest_s = -math.inf
        for job in jobs:
            tick()
            if parts[-1] and releases[job] >= latest_s:
                parts.append([])
            parts[-1].append(job)
            # Ends are rounded up, so that a tie never separates jobs that may meet.
            end_s = releases[job] + (shortest[job] + excess_s) * (1 + FEASIBLE)
            latest_s = max(latest_s, end_s + rounding(end_s))
        if len(parts) == 1:
            done.append(jobs)
        else:
            whole += parts
    return sorted(done, key=lambda jobs: releases[jobs[0]])
