"""Local search by moves and swaps of single workers, on counts of types."""

from collections.abc import Callable

import numpy as np

from dlsched.matching_placement.arrays import Arrays, Counts, Floats

_GAIN = 1e-12  # relative; a smaller improvement is rounding


def improve(arrays: Arrays, counts: Counts, *, tick: Callable[[], None] | None = None) -> Counts:
    """Take the best of all steps until none lowers the sum of completion times; ``counts`` has shape (S, G).

    A step takes a worker of one type (or none) from a job and gives it one of another type (or none); what it gives up
    goes to the idle, or in exchange to the job that the new one came from. That is every move of a worker to another
    job, to or from the idle, and every swap of two workers of two jobs, or of a job and the idle.

    Cost of a step: O(S G^2), and O(G^2) times for each of the one or two jobs that changed.
    """
    counts = counts.copy()
    idle = arrays.stock - counts.sum(axis=0)
    change = np.array([_changes(arrays, job, counts[job]) for job in range(arrays.jobs)])
    while True:
        if tick is not None:
            tick()
        value, job, other, out, into = _best_step(change, idle)
        if not value < -_GAIN * arrays.total(counts):
            return counts
        _step(counts[job], out, into)
        if other >= 0:
            _step(counts[other], into, out)
            change[other] = _changes(arrays, other, counts[other])
        else:
            _step(idle, into, out)
        change[job] = _changes(arrays, job, counts[job])


def _step(counts: Counts, out: int, into: int) -> None:
    if out < len(counts):
        counts[out] -= 1
    if into < len(counts):
        counts[into] += 1


def _changes(arrays: Arrays, job: int, counts: Counts) -> Floats:
    """Change of the job's time when it gives up type h and gets type g, shape (G + 1, G + 1); the last means none."""
    kinds = arrays.types
    unit = np.vstack((np.eye(kinds, dtype=np.int64), np.zeros((1, kinds), dtype=np.int64)))
    trial = counts - unit[:, None, :] + unit[None, :, :]
    size = trial.sum(axis=2)
    able = (trial >= 0).all(axis=2) & ~((trial > 0) & (arrays.rates[job] == 0)).any(axis=2)
    able &= (size >= arrays.least[job]) & (size <= arrays.most[job])
    values = np.full(able.shape, np.inf)
    values[able] = arrays.times(job, trial[able]) - arrays.times(job, counts)
    return values


def _best_step(change: Floats, idle: Counts) -> tuple[float, int, int, int, int]:
    """Return the best step: its change, the job, the other job (-1: the idle), the type out, the type in."""
    jobs, kinds = len(change), change.shape[1] - 1
    alone = change.copy()
    alone[:, :, :kinds][:, :, idle <= 0] = np.inf
    place = np.unravel_index(int(np.argmin(alone)), alone.shape)
    best = float(alone[place]), int(place[0]), -1, int(place[1]), int(place[2])
    if jobs == 1:
        return best
    first = np.argmin(change, axis=0)
    rest = change.copy()
    np.put_along_axis(rest, first[None], np.inf, axis=0)
    second = np.argmin(rest, axis=0)
    least = np.take_along_axis(change, first[None], axis=0)[0]
    next_least = np.take_along_axis(rest, second[None], axis=0)[0]
    same = first == first.T
    together = np.where(same, np.minimum(least + next_least.T, next_least + least.T), least + least.T)
    out, into = np.unravel_index(int(np.argmin(together)), together.shape)
    if together[out, into] < best[0]:
        job, other = int(first[out, into]), int(first[into, out])
        if job == other:
            if least[out, into] + next_least[into, out] <= next_least[out, into] + least[into, out]:
                other = int(second[into, out])
            else:
                job = int(second[out, into])
        best = float(together[out, into]), job, other, int(out), int(into)
    return best
