"""Separation of an instance into parts whose jobs cannot meet in any good schedule, to be decided apart.

Let F be the sum of the flow times (end less release) of a known schedule, p_i the least length of job i, and
E = F - sum p. In any schedule whose flow times sum to at most F, job i ends by r_i + p_i + E, as no other
job flows for less than its own p. If all jobs released before some time end by then, the later ones never
meet them. So the best schedules of the two parts together are the best schedule of all, and the F of a part
is smaller again. The releases of a part that cannot be split further lie within its number of jobs times F.
"""

import math
from collections.abc import Sequence

from dlsched.core.budget import Tick, no_tick
from dlsched.core.tolerance import FEASIBLE, rounding


def separated(
    releases: Sequence[float], shortest: Sequence[float], flows: Sequence[float], *, tick: Tick = no_tick
) -> list[list[int]]:
    """Return the jobs of every part, in order of release.

    ``releases``, ``shortest`` (least lengths) and ``flows`` (flow times in the known schedule) have shape (J,);
    ``tick`` is called for every job and may raise to stop.

    >>> separated([0.0, 1.0, 9.0], [2.0, 2.0, 2.0], [2.0, 3.0, 2.0])
    [[0, 1], [2]]
    """
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
