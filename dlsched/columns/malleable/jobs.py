"""Malleable jobs as arrays for searches at prices: work is 1, speeds are fractions of it a second."""

from dataclasses import dataclass

import numpy as np

from dlsched.core.arrays import FloatArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Jobs:
    """Jobs that have work; some jobs of the instance may be left out.

    Parameters
    ----------
    index
        Positions in the instance, shape (J,).
    release_s, least_s
        Time at which each job can first hold units; seconds on its fastest count; shape (J,).
    restart_s
        Seconds of its pauses, 0 if they are not counted, shape (J,).
    weight
        Cost of a second of flow time, shape (J,).
    counts, speeds
        Units and speeds, shape (J, H), ascending; a job with fewer repeats its last. Without pauses only
        those on the upper hull.
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
