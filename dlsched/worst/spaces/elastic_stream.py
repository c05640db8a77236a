"""Search space of worst instances of elastic_stream: few jobs that arrive at ticks of 100 s, with tables of a class.

Each job has one epoch, so times are those of whole jobs: 100 to 600 s, so that no job is shorter than a
tick, for which it holds its units. Jobs have no weights and no early ends; they have restarts only if asked
for. With tables ``sublinear`` or ``convex`` ratios grow with the jobs and the units: in order of arrival J -
1 short jobs wait for a long one, and flow times sum to up to J times the least, approaching J as the range
of times grows; and a job that stays on one unit takes up to C times as long. With ``any`` and ``monotone``
tables a job that is T times as fast on more units than it is given takes T times the optimum.

The search over slots alone (``SLOTS_ALONE``) proves optima: on instances this small it takes a tenth of the
time of ``exact``, which first runs all policies and solves linear programs. It is meant for 3 jobs; 4 may
take seconds.
"""

import numpy as np

from dlsched.core.errors import UsageError
from dlsched.core.family import Method
from dlsched.core.search import Search
from dlsched.core.status import TerminationStatus
from dlsched.elastic_stream.exact import offer_quick, run_exact, slots_alone
from dlsched.elastic_stream.heuristics import POLICIES
from dlsched.elastic_stream.instance import RANGES, Instance
from dlsched.elastic_stream.slots import TooLarge
from dlsched.elastic_stream.solution import Stream
from dlsched.families import FAMILIES
from dlsched.worst import spaces
from dlsched.worst.spaces import Data, Number, Space

JOBS, UNITS = 3, 8
TICK_S, _ = RANGES["tick_s"].searched
LOW_S, HIGH_S = RANGES["jobs[].epoch_time_s{}"].searched
_, LATEST_S = RANGES["jobs[].arrival_s"].searched
"""Latest arrival, in seconds."""
_FIRST = ("srpt-marginal", "weighted")  # streams that are seldom bad


def run_slots(instance: Instance, search: Search[Stream]) -> TerminationStatus:
    """Run two policies, then the search over slots, or all of ``exact`` if that search is too large."""
    offer_quick(instance, search)
    for name in _FIRST:
        search.offer(POLICIES[name](instance, tick=search.tick), source=name)
    try:
        return slots_alone(instance, search)
    except TooLarge:
        return run_exact(instance, search)


SLOTS_ALONE = Method("exact", "exact", run_slots, warm=offer_quick)
"""``exact`` for small instances: the same optima sooner."""


def space_of(
    *,
    jobs: int | None = None,
    gpus: int | None = None,
    preset: str | None = None,
    tables: str = "sublinear",
    counts: str = "powers",
    restart: float = 0.0,
) -> Space:
    """Return the space of 2 or 3 jobs, or ``jobs``, on ``gpus`` units, with tables on the first of 1, 2, 4, ... or of all counts.

    Jobs of a ``preset`` keep their seconds on each count, scaled to at most 600 s, brought into the class, and their arrivals,
    scaled so that the last one is at 300 s. ``restart``: most seconds of a restart.
    """
    family = FAMILIES["elastic_stream"]
    spaces.require_tables(family, jobs=jobs, gpus=gpus, preset=preset, tables=tables, counts=counts)
    if not 0 <= restart < TICK_S:
        raise UsageError(where="restart", found=restart, allowed=f"seconds from 0 to less than {TICK_S:g}")
    total = gpus or UNITS
    drawn, allowed = spaces.jobs_drawn(jobs, JOBS), spaces.offered(counts, total)
    restarts = [Number("jobs[].restart_s", 0.0, restart)] if restart else []

    def repair_jobs(held: list[Data]) -> list[Data]:
        # arrivals on ticks, shifted so that the first is at 0
        ticks = [round(min(max(job["arrival_s"], 0.0), LATEST_S) / TICK_S) for job in held]
        changed = []
        for job, tick in zip(held, ticks, strict=True):
            fields = spaces.in_class(tables, job, allowed, LOW_S, HIGH_S) | {"arrival_s": (tick - min(ticks)) * TICK_S}
            changed.append(fields | ({"restart_s": min(max(job["restart_s"], 0.0), restart)} if restart else {}))
        return changed

    def draw_jobs(generator: np.random.Generator, many: int, kind: str | None) -> list[Data]:
        if kind is None:
            found = [spaces.drawn(generator, tables, allowed, LOW_S, HIGH_S) for _ in range(many)]
            arrivals_s = (TICK_S * generator.integers(0, round(LATEST_S / TICK_S) + 1, many)).tolist()
        else:
            seed = int(generator.integers(2**31))
            instance = family.generate(preset=kind, jobs=many, gpus=total, max_gpus=total, seed=seed)
            found = spaces.tabulated(instance.jobs, allowed, HIGH_S)
            # all arrivals at 0 stay there
            scale = LATEST_S / (max(job.arrival_s for job in instance.jobs) or LATEST_S)
            arrivals_s = [job.arrival_s * scale for job in instance.jobs]
        pauses_s = generator.uniform(0.0, restart, many).round(1).tolist()
        return [
            {"epoch_time_s": table, "arrival_s": arrival_s, "restart_s": pause_s}
            for table, arrival_s, pause_s in zip(found, arrivals_s, pauses_s, strict=True)
        ]

    return spaces.space_of_jobs(
        family,
        {"format": "dlsched/elastic_stream/1", "name": "worst", "units": total, "tick_s": TICK_S},
        jobs=drawn,
        preset=preset,
        draw_jobs=draw_jobs,
        repair_jobs=repair_jobs,
        words=f"{spaces.sizes_said(drawn[-1], total, 'unit')}, {spaces.words_of(tables, counts, LOW_S, HIGH_S)}, "
        f"arrivals at ticks of {TICK_S:g} s up to {LATEST_S:g} s, "
        + (f"restarts of up to {restart:g} s" if restart else "no restarts"),
        wider=[*spaces.wider_than(tables, counts), "--restart", "--jobs", "--gpus"],
        numbers=[*spaces.searched(RANGES, "jobs[].epoch_time_s{}", "jobs[].arrival_s"), *restarts],
        reference=SLOTS_ALONE,
    )
