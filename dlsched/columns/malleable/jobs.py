"""Malleable jobs as arrays for searches at prices: work is 1, speeds are fractions of it a second."""

from dataclasses import dataclass

import numpy as np

from dlsched.core.arrays import FloatArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Jobs:
    """Jobs that have work, perhaps not all of the instance; arrays of shape (J,), ``counts`` and ``speeds`` (J, H).

    ``index``: positions in the instance; ``release_s``: when each job can first use units; ``least_s``: seconds on its
    fastest count; ``restart_s``: seconds of its pauses, 0 if they are not counted; ``weight``: cost of a second of flow
    time. Counts and speeds ascend, and a job with fewer repeats its last; without pauses only those on the upper hull.
    """

    index: IntArray
    release_s: FloatArray
    least_s: FloatArray
    restart_s: FloatArray
    weight: FloatArray
    counts: FloatArray
    speeds: FloatArray

    def take(self, rows: IntArray) -> "Jobs":
        """Return some of the jobs, with no more columns than they need."""
        counts, speeds = self.counts[rows], self.speeds[rows]
        most = int((np.diff(counts, axis=1, prepend=0.0) > 0).sum(axis=1).max(initial=1))
        release_s, least_s, restart_s, weight = (
            each[rows] for each in (self.release_s, self.least_s, self.restart_s, self.weight)
        )
        return Jobs(self.index[rows], release_s, least_s, restart_s, weight, counts[:, :most], speeds[:, :most])
