"""Search space of worst instances of ring_allocation: tables of a class, one epoch, no weights, no restarts.

Times are 1 to 1000 s. With tables ``any`` or ``monotone`` ratios grow with that range, so no instance is the
worst: a job that is as slow on its second count as on its first, and T times as fast on its third, stalls
``doubling`` and ``marginal`` at T times the optimum; a job that is T times as fast beyond the counts that
``fixed`` and ``equal`` give it does the same to them. With ``sublinear`` and ``convex`` tables no ratio
exceeds the number of GPUs, since no job is more than w times as fast on w of them; ratios grow with that
number. ``fixed`` has no answer if its counts do not fit, whatever the times.
"""

import numpy as np

from dlsched.families import FAMILIES
from dlsched.ring_allocation.instance import RANGES
from dlsched.worst import spaces
from dlsched.worst.spaces import Data, Space

LOW_S, HIGH_S = RANGES["jobs[].epoch_time_s{}"].searched
GPUS = 17


def space_of(
    *,
    jobs: int | None = None,
    gpus: int | None = None,
    preset: str | None = None,
    tables: str = "convex",
    counts: str = "powers",
) -> Space:
    """Return the space of 2 to 4 jobs, or ``jobs``, on ``gpus`` GPUs, with tables on the first of 1, 2, 4, ... or of all counts.

    Jobs of a ``preset`` keep their seconds on each count, scaled to at most 1000 s, brought into the class.
    """
    family = FAMILIES["ring_allocation"]
    spaces.require_tables(family, jobs=jobs, gpus=gpus, preset=preset, tables=tables, counts=counts)
    total = gpus or GPUS
    drawn, allowed = spaces.jobs_drawn(jobs, total), spaces.offered(counts, total)

    def draw_jobs(generator: np.random.Generator, many: int, kind: str | None) -> list[Data]:
        if kind is None:
            found = [spaces.drawn(generator, tables, allowed, LOW_S, HIGH_S) for _ in range(many)]
        else:
            seed = int(generator.integers(2**31))
            instance = family.generate(preset=kind, jobs=many, gpus=total, max_gpus=total, seed=seed)
            found = spaces.tabulated(instance.jobs, allowed, HIGH_S)
        return [{"epoch_time_s": table} for table in found]

    return spaces.space_of_jobs(
        family,
        {"format": "dlsched/ring_allocation/1", "name": "worst", "gpus": total},
        jobs=drawn,
        preset=preset,
        draw_jobs=draw_jobs,
        repair_jobs=lambda held: [spaces.in_class(tables, job, allowed, LOW_S, HIGH_S) for job in held],
        words=f"{spaces.sizes_said(drawn[-1], total)}, {spaces.words_of(tables, counts, LOW_S, HIGH_S)}",
        wider=[*spaces.wider_than(tables, counts), "--jobs", "--gpus"],
        numbers=spaces.searched(RANGES, "jobs[].epoch_time_s{}"),
    )
