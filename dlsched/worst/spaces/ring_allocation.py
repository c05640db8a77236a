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
from dlsched.worst.space import Data, Draw, Number, Space
from dlsched.worst.spaces import (
    drawn,
    in_class,
    jobs_drawn,
    lettered,
    offered,
    require_tables,
    sizes_said,
    tabulated,
    wider_than,
    words_of,
)

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
    """Return the space of a cluster: tables of a class on the first of 1, 2, 4, ... or of all counts.

    A draw has ``jobs`` jobs (None: 2 to 4) on ``gpus`` GPUs (None: 17). Jobs of a ``preset`` of the generator keep their seconds
    on each count, on a scale on which the slowest takes 1000 s, brought into the class; without one tables are drawn from the
    class. ``tables`` and ``counts``: ``CLASSES`` and ``COUNTS`` of ``spaces``. UsageError: a number or a word is not allowed.
    """
    family = FAMILIES["ring_allocation"]
    require_tables(family, jobs=jobs, gpus=gpus, preset=preset, tables=tables, counts=counts)
    total = gpus or GPUS
    most, allowed = jobs_drawn(jobs, total)[-1], offered(counts, total)

    def repair(data: Data) -> Data | None:
        """Bring tables into their class and onto the first counts, and name jobs in order."""
        if not 1 <= len(data["jobs"]) <= most:
            return None
        changed = [in_class(tables, job, allowed, LOW_S, HIGH_S) for job in data["jobs"]]
        return {"format": "dlsched/ring_allocation/1", "name": "worst", "gpus": total, "jobs": lettered(changed)}

    def draw_of(kind: str | None) -> Draw:
        """Draw tables from the class, or jobs of a preset."""

        def draw(generator: np.random.Generator) -> Data:
            many = int(generator.choice(jobs_drawn(jobs, total)))
            if kind is None:
                found = [drawn(generator, tables, allowed, LOW_S, HIGH_S) for _ in range(many)]
            else:
                instance = family.generate(
                    preset=kind, jobs=many, gpus=total, max_gpus=total, seed=int(generator.integers(2**31))
                )
                found = tabulated(instance.jobs, allowed, HIGH_S)
            data = repair({"jobs": [{"epoch_time_s": table} for table in found]})
            assert data is not None
            return data

        return draw

    return Space(
        family=family,
        draw=draw_of(preset),
        presets={} if preset is not None else {name: draw_of(name) for name in family.presets},
        words=f"{sizes_said(most, total)}, {words_of(tables, counts, LOW_S, HIGH_S)}",
        wider=[*wider_than(tables, counts), "--jobs", "--gpus"],
        numbers=[Number.searched(RANGES, "jobs[].epoch_time_s{}")],
        members=[("jobs", 1, most)],
        repair=repair,
    )
