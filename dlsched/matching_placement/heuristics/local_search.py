"""Local search by moves and swaps of single workers, on counts of types."""

import numpy as np

from dlsched.core.budget import Tick, no_tick
from dlsched.matching_placement.arrays import Arrays, Counts, Floats, arrays, placement
from dlsched.matching_placement.feasibility import infeasible
from dlsched.matching_placement.heuristics.initial import initial
from dlsched.matching_placement.heuristics.marginal import greedy
from dlsched.matching_placement.instance import Instance
from dlsched.matching_placement.solution import Placement

_GAIN = 1e-12  # relative; a smaller improvement is rounding


def local_search(instance: Instance, *, tick: Tick = no_tick) -> Placement | None:
    """Take the best move or swap of single workers again and again until none helps, starting from ``marginal``.

    None means that no placement exists. ``tick`` is called at every step; it may raise to stop.
    Guarantee: none better than that of ``marginal``, which it never ends above. Cost: that of ``improve``.
    """
    if infeasible(instance) is not None:
        return None
    return placement(instance, best_local(arrays(instance), tick))


def best_local(data: Arrays, tick: Tick = no_tick) -> Counts:
    """Counts of ``local_search``, shape (S, G), for a feasible instance."""
    return improve(data, greedy(data, initial(data), tick), tick)


def improve(data: Arrays, counts: Counts, tick: Tick = no_tick) -> Counts:
    """Take the best of all steps until none lowers the sum of completion times; ``counts`` has shape (S, G).

    A step takes a worker of one type (or none) from a job and gives it one of another type (or none); what it gives up
    goes to the idle, or in exchange to the job that the new one came from. That is every move of a worker to another
    job, to or from the idle, and every swap of two workers of two jobs, or of a job and the idle.

    Cost of a step: O(G^2), and O(G) for each of the jobs that hold a type which one of the two changed jobs held or holds.
    Memory: O((K + S) G). ``tick`` is called before every job and every step; it may raise to stop.
    """
    counts = counts.copy()
    idle = data.stock - counts.sum(axis=0)
    steps = _Steps(data)
    for job in range(data.jobs):
        tick()
        steps.put(job, counts[job])
    while True:
        tick()
        value, job, other, out, into = steps.best(idle)
        if not value < -_GAIN * data.total(counts):
            return counts
        _step(counts[job], out, into)
        if other >= 0:
            _step(counts[other], into, out)
            steps.put(other, counts[other])
        else:
            _step(idle, into, out)
        steps.put(job, counts[job])


def _step(counts: Counts, out: int, into: int) -> None:
    if out < len(counts):
        counts[out] -= 1
    if into < len(counts):
        counts[into] += 1


class _Steps:
    """Change of every job's time when it gives up a type and gets one; type G means none.

    Kept by the type that is given up, for the jobs that hold it only: ``_changes[h]`` has a row for each of ``_jobs[h]``
    (-1: a row of infinities). ``_least`` and ``_second`` are the two least changes of each pair of types, ``_first_job`` and
    ``_second_job`` whose they are; all of shape (G + 1, G + 1), the type given up first.
    """

    def __init__(self, data: Arrays) -> None:
        kinds = data.types
        room = [*np.minimum(data.stock + 1, data.jobs).tolist(), data.jobs]  # + 1: a swap puts one job after the other
        self._data = data
        self._changes = [np.full((rows, kinds + 1), np.inf) for rows in room]
        self._jobs = [np.full(rows, -1, dtype=np.int64) for rows in room]
        self._held: list[dict[int, int]] = [{} for _ in range(data.jobs)]  # of each job, type to row
        self._free = [list(range(rows))[::-1] for rows in room]
        shape = (kinds + 1, kinds + 1)
        self._least, self._second = np.full(shape, np.inf), np.full(shape, np.inf)
        self._first_job, self._second_job = np.full(shape, -1, dtype=np.int64), np.full(shape, -1, dtype=np.int64)
        self._stale: set[int] = set()

    def put(self, job: int, counts: Counts) -> None:
        """Say what a job has now."""
        outs, changes = _changes(self._data, job, counts)
        held = self._held[job]
        for out in set(held).difference(outs):
            row = held.pop(out)
            self._changes[out][row], self._jobs[out][row] = np.inf, -1
            self._free[out].append(row)
            self._stale.add(out)
        for out, change in zip(outs, changes, strict=True):
            if out not in held:
                held[out] = self._free[out].pop()
                self._jobs[out][held[out]] = job
            self._changes[out][held[out]] = change
            self._stale.add(out)

    def best(self, idle: Counts) -> tuple[float, int, int, int, int]:
        """Return the best step: its change, the job, the other job (-1: the idle), the type out, the type in."""
        for out in self._stale:
            self._settle(out)
        self._stale.clear()
        kinds = len(idle)
        alone = self._least.copy()
        alone[:, :kinds][:, idle <= 0] = np.inf
        out, into = map(int, np.unravel_index(int(np.argmin(alone)), alone.shape))
        best = float(alone[out, into]), int(self._first_job[out, into]), -1, out, into
        same = self._first_job == self._first_job.T
        apart = np.minimum(self._least + self._second.T, self._second + self._least.T)
        together = np.where(same, apart, self._least + self._least.T)
        out, into = map(int, np.unravel_index(int(np.argmin(together)), together.shape))
        if together[out, into] < best[0]:
            job, other = int(self._first_job[out, into]), int(self._first_job[into, out])
            if job == other:
                if self._least[out, into] + self._second[into, out] <= self._second[out, into] + self._least[into, out]:
                    other = int(self._second_job[into, out])
                else:
                    job = int(self._second_job[out, into])
            best = float(together[out, into]), job, other, out, into
        return best

    def _settle(self, out: int) -> None:
        """Find the two least changes among the jobs that may give up one type, for each type that they may get."""
        changes, jobs = self._changes[out], self._jobs[out]
        every = np.arange(changes.shape[1])
        first = np.argmin(changes, axis=0)
        self._least[out], self._first_job[out] = changes[first, every], jobs[first]
        if len(changes) > 1:
            changes[first, every] = np.inf
            second = np.argmin(changes, axis=0)
            self._second[out], self._second_job[out] = changes[second, every], jobs[second]
            changes[first, every] = self._least[out]


def _changes(data: Arrays, job: int, counts: Counts) -> tuple[list[int], Floats]:
    """Types that a job may give up (G: none), and the change of its time when it gets each type, or none, instead."""
    kinds = data.types
    outs = [*np.flatnonzero(counts).tolist(), kinds]
    base = np.tile(counts, (len(outs), 1))
    base[np.arange(len(outs) - 1), outs[:-1]] -= 1
    changed = np.full((len(outs), kinds + 1), np.inf)
    able = data.able(job)
    changed[:, able] = data.times_with_more(job, base)[:, able]
    some = base.any(axis=1)
    changed[some, kinds] = data.times(job, base[some])
    size = base.sum(axis=1)[:, None] + np.append(np.ones(kinds, dtype=np.int64), 0)
    changed[(size < data.least[job]) | (size > data.most[job])] = np.inf
    changed -= data.times(job, counts)
    changed[-1, kinds] = np.inf  # nothing out, nothing in
    changed[np.arange(len(outs) - 1), outs[:-1]] = np.inf
    return outs, changed
