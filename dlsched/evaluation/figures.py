"""Measures of a schedule: waiting, flow, slowdown, utilisation, fragmentation.

=================  ================================================================================================
figure             definition
=================  ================================================================================================
waiting time       start - submission
flow time          end - submission
bounded slowdown   max(1, flow / max(run, 10 s)), run: what the job ran in the trace; Feitelson and Rudolph, "Metrics
                   and Benchmarking for Parallel Job Scheduling" (JSSPP 1998)
utilisation        GPU-seconds held / (GPUs x seconds from the first submission to the last end)
fragmentation      of the GPU-seconds that were free in that time, the part on nodes of which another GPU was in use
=================  ================================================================================================

Times are seconds, arrays of shape (I,) have an entry a job.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dlsched.core.arrays import FloatArray, IntArray
from dlsched.statistics.estimate import Estimate
from dlsched.statistics.intervals import bootstrap_mean

THRESHOLD_S = 10.0
"""Shorter jobs count as this long, so that their slowdowns do not dominate the mean."""


class Held(NamedTuple):
    """GPUs held from a time to a time: arrays of one shape; ``node``: index of the node, -1 for none."""

    start_s: FloatArray
    end_s: FloatArray
    gpus: IntArray
    node: IntArray


class Part(NamedTuple):
    """A part of a whole, such as GPU-seconds held of those available; parts of several stretches add up."""

    part: float
    whole: float

    @property
    def share(self) -> float | None:
        """The part over the whole; None of nothing."""
        return self.part / self.whole if self.whole > 0 else None


def together(parts: Sequence[Part]) -> Part:
    """Add up parts and wholes.

    >>> together([Part(1.0, 2.0), Part(0.0, 2.0)]).share
    0.25
    """
    return Part(sum(each.part for each in parts), sum(each.whole for each in parts))


def bounded_slowdown(flow_s: FloatArray, run_s: FloatArray, threshold_s: float = THRESHOLD_S) -> FloatArray:
    """Flow time over running time, the latter at least the threshold, and no less than 1.

    >>> bounded_slowdown(np.array([30.0, 30.0, 4.0]), np.array([15.0, 1.0, 4.0])).tolist()
    [2.0, 3.0, 1.0]
    """
    return np.maximum(1.0, flow_s / np.maximum(run_s, threshold_s))


def utilisation(held: Held, gpus: int, first_s: float, last_s: float) -> Part:
    """GPU-seconds held of all there were from ``first_s`` to ``last_s``.

    >>> one = Held(np.array([0.0]), np.array([5.0]), np.array([2]), np.array([0]))
    >>> utilisation(one, gpus=4, first_s=0.0, last_s=10.0).share
    0.25
    """
    return Part(float(((held.end_s - held.start_s) * held.gpus).sum()), gpus * (last_s - first_s))


def fragmentation(held: Held, sizes: Sequence[int], first_s: float, last_s: float) -> Part:
    """Free GPU-seconds on nodes partly in use, of all that were free from ``first_s`` to ``last_s``.

    A node of which no GPU is in use has room for any job that fits on a node; one partly in use may not.

    Parameters
    ----------
    held
        All of it within that time.
    sizes
        GPUs of the nodes.

    >>> one = Held(np.array([0.0]), np.array([5.0]), np.array([3]), np.array([0]))
    >>> fragmentation(one, sizes=[4, 4], first_s=0.0, last_s=10.0)  # 1 GPU for 5 s, of 5 x 5 + 8 x 5
    Part(part=5.0, whole=65.0)
    """
    used = [0] * len(sizes)
    times = np.concatenate([held.end_s, held.start_s])
    ends = np.repeat([0, 1], len(held.gpus))  # GPUs of a job that ends are free for a job that begins then
    changes = np.concatenate([-held.gpus, held.gpus]).tolist()
    nodes = np.tile(held.node, 2).tolist()
    partly, free, now_s, on_partly_s, free_s = 0, sum(sizes), first_s, 0.0, 0.0
    for index in np.lexsort((ends, times)).tolist():
        lasted_s = float(times[index]) - now_s
        on_partly_s, free_s, now_s = on_partly_s + partly * lasted_s, free_s + free * lasted_s, now_s + lasted_s
        node, change = nodes[index], changes[index]
        before, used[node] = used[node], used[node] + change
        partly += _left(used[node], sizes[node]) - _left(before, sizes[node])
        free -= change
    return Part(on_partly_s + partly * (last_s - now_s), free_s + free * (last_s - now_s))


def _left(used: int, size: int) -> int:
    """Free GPUs of a node that is partly in use, else 0."""
    return size - used if 0 < used < size else 0


def means_by(values: FloatArray, group: IntArray, groups: int) -> FloatArray:
    """Mean of the values of every group, shape (groups,); nan of groups without any.

    >>> means_by(np.array([1.0, 3.0, 5.0]), np.array([0, 0, 1]), 2).tolist()
    [2.0, 5.0]
    """
    counts = np.bincount(group, minlength=groups)
    sums = np.bincount(group, weights=values, minlength=groups)
    return np.asarray(np.divide(sums, counts, out=np.full(groups, np.nan), where=counts > 0))


def mean_of_jobs(values: FloatArray, unit: IntArray) -> Estimate:
    """Mean over all jobs, with its 95 % interval by bootstrap over units, such as windows of time; none of fewer than 6.

    Jobs of a unit are not independent, so the bootstrap draws units. As these hold unequal numbers of jobs,
    the mean is a ratio of sums, S / N; the bootstrap draws its linear part, S / N + W / N (s_w - S / N n_w)
    of each of W units (Cochran, *Sampling Techniques*, section 6.3, a ratio of means).

    Parameters
    ----------
    values
        One a job, not empty.
    unit
        Index of its unit.

    >>> mean_of_jobs(np.array([1.0, 1.0, 4.0]), np.array([0, 0, 1]))
    Estimate(value=2.0, low=None, high=None)
    """
    mean = float(values.mean())
    _, index, counts = np.unique(unit, return_inverse=True, return_counts=True)
    sums = np.bincount(index, weights=values)
    found = bootstrap_mean((mean + len(counts) / len(values) * (sums - mean * counts)).tolist())
    assert found is not None  # there are values
    return Estimate(mean, found.low, found.high)


def stretches(count: int, most: int = 20, fewest: int = 5) -> IntArray:
    """Cut jobs in order of submission into stretches of equal numbers, ``most`` at most, of at least ``fewest``; shape (count,).

    >>> stretches(12, fewest=5).tolist()
    [0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1]
    """
    pieces = max(1, min(most, count // fewest))
    return np.asarray(np.arange(count) * pieces // max(count, 1))
