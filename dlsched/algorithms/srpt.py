"""Preemptive SRPT on one machine: always serve the released job with the least work left."""

import heapq

import numpy as np

from dlsched.algorithms.cost_table import FloatArray


def srpt_completions(releases: FloatArray, sizes: FloatArray) -> FloatArray:
    """Completion time of every job on a machine of speed 1 that serves one job at a time; shape (J,).

    The sum is the least possible (Schrage 1968). Of jobs with equal work left the one that stands first is served.
    Cost: O(J log J).

    >>> srpt_completions(np.array([0.0, 1.0]), np.array([5.0, 1.0]))
    array([6., 2.])
    """
    order = np.argsort(releases, kind="stable")
    completions = np.empty(len(releases))
    waiting: list[tuple[float, int]] = []
    now = 0.0
    following = [*releases[order][1:].tolist(), np.inf]
    for job, release, size, until in zip(
        order.tolist(), releases[order].tolist(), sizes[order].tolist(), following, strict=True
    ):
        now = max(now, release)
        heapq.heappush(waiting, (size, job))
        while waiting and now < until:
            left, first = waiting[0]
            if now + left > until:
                heapq.heapreplace(waiting, (left - (until - now), first))
                now = until
            else:
                heapq.heappop(waiting)
                now += left
                completions[first] = now
    return completions
