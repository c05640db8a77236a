"""SRPT on one machine whose speed rises over time: by any time it has ended as many jobs as any schedule can."""

import heapq
import math
from collections.abc import Sequence


def srpt_ends(jobs: Sequence[tuple[float, float]], steps: Sequence[tuple[float, int]], speed: int) -> list[float]:
    """Return the ends in order of time.

    ``jobs``: release and work of at least one job, in order of release; ``steps``: times at which the speed rises, and
    by how much, in order of time; ``speed``: at the first release, >= 0, and > 0 after all steps.

    >>> srpt_ends([(0.0, 4.0), (1.0, 2.0)], [(2.0, 1)], 1)
    [2.5, 4.0]
    """
    waiting: list[float] = []
    ends: list[float] = []
    now, arrived, step = jobs[0][0], 0, 0
    while len(ends) < len(jobs):
        while arrived < len(jobs) and jobs[arrived][0] <= now:
            heapq.heappush(waiting, jobs[arrived][1])
            arrived += 1
        while step < len(steps) and steps[step][0] <= now:
            speed += steps[step][1]
            step += 1
        until = min(
            jobs[arrived][0] if arrived < len(jobs) else math.inf, steps[step][0] if step < len(steps) else math.inf
        )
        if not waiting or not speed:
            now = until
            continue
        least = waiting[0]
        if now + least / speed <= until:
            heapq.heappop(waiting)
            now += least / speed
            ends.append(now)
        else:
            heapq.heapreplace(waiting, least - (until - now) * speed)
            now = until
    return ends
