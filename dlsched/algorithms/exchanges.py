"""The best exchange of one unit between two jobs, or between a job and the idle units.

Every job says by how much its cost changes when it gives up a unit of one kind and gets one of another; kind G means none.
The table keeps, for each pair of kinds, the two jobs of least change, from which the best exchange of all is read.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from dlsched.algorithms.count_vectors import Counts

Floats = npt.NDArray[np.float64]


class Exchanges:
    """Changes by job, kind given up and kind received, for ``jobs`` jobs and ``stock`` units of each kind, shape (G,).

    ``_changes[h]`` has a row for each of ``_jobs[h]``, the jobs that hold kind h (-1: a row of infinities). ``_least``
    and ``_second`` are the two least changes of each pair of kinds, ``_first_job`` and ``_second_job`` their jobs; all
    have shape (G + 1, G + 1), the kind given up first. Memory: O((units + S) G).
    """

    def __init__(self, stock: Counts, jobs: int) -> None:
        kinds = len(stock)
        room = [*np.minimum(stock + 1, jobs).tolist(), jobs]  # + 1: an exchange puts one job after the other
        self._changes = [np.full((rows, kinds + 1), np.inf) for rows in room]
        self._jobs = [np.full(rows, -1, dtype=np.int64) for rows in room]
        self._held: list[dict[int, int]] = [{} for _ in range(jobs)]  # of each job, kind to row
        self._free = [list(range(rows))[::-1] for rows in room]
        shape = (kinds + 1, kinds + 1)
        self._least, self._second = np.full(shape, np.inf), np.full(shape, np.inf)
        self._first_job, self._second_job = np.full(shape, -1, dtype=np.int64), np.full(shape, -1, dtype=np.int64)
        self._stale: set[int] = set()

    def put(self, job: int, outs: Sequence[int], changes: Floats) -> None:
        """Set the kinds that a job may give up, and its changes by kind received; shape (len(outs), G + 1)."""
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
        """Return the best exchange: its change, the job, the other job (-1: the idle), the kind out, the kind in."""
        for out in self._stale:
            self._settle(out)
        self._stale.clear()
        kinds = len(idle)
        # A job alone: it swaps one of its units for an idle one (or for none).
        alone = self._least.copy()
        alone[:, :kinds][:, idle <= 0] = np.inf
        out, into = map(int, np.unravel_index(int(np.argmin(alone)), alone.shape))
        best = float(alone[out, into]), int(self._first_job[out, into]), -1, out, into
        # Two jobs: where both least changes are of one job, one of them is replaced by the second least.
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
        """Compute the two least changes among the jobs that may give up one kind, for each kind that they may receive."""
        changes, jobs = self._changes[out], self._jobs[out]
        every = np.arange(changes.shape[1])
        first = np.argmin(changes, axis=0)
        self._least[out], self._first_job[out] = changes[first, every], jobs[first]
        if len(changes) > 1:
            changes[first, every] = np.inf
            second = np.argmin(changes, axis=0)
            self._second[out], self._second_job[out] = changes[second, every], jobs[second]
            changes[first, every] = self._least[out]
