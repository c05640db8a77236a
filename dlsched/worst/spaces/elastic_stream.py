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
from dlsched.elastic_stream import slots
from dlsched.elastic_stream.exact import SLOTS, offer_quick, run_exact
from dlsched.elastic_stream.heuristics import POLICIES
from dlsched.elastic_stream.instance import RANGES, Instance
from dlsched.elastic_stream.slots import TooLarge, search_slots
from dlsched.elastic_stream.solution import Stream
from dlsched.families import FAMILIES
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
    weight = instance.total_weight
    assert search.objective is not None
    try:
        search_slots(
            instance,
            search.objective * weight,
            found=lambda plan: search.offer(slots.stream_of(instance, plan), source=SLOTS),
            proven=lambda total_s: search.prove(total_s / weight, source=SLOTS),
            budget=search.budget,
        )
    except TooLarge:
        return run_exact(instance, search)
    if not search.proven:  # the stream held is worse than the search's value, because slots are rounded
        return TerminationStatus.FEASIBLE
    search.prove(search.objective, source=SLOTS)
    return TerminationStatus.OPTIMAL


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
    """Return the space of a cluster: jobs that arrive at ticks, with tables of a class on the first of 1, 2, 4, ... units.

    A draw has ``jobs`` jobs (None: 2 or 3) on ``gpus`` units (None: 8). Jobs of a ``preset`` of the generator keep their
    seconds on each count, on a scale on which the slowest takes 600 s, brought into the class, and their arrivals, on a scale on
    which the last one is at 300 s; without one tables are drawn from the class, and arrivals are uniform. ``tables`` and
    ``counts``: ``CLASSES`` and ``COUNTS`` of ``spaces``. ``restart``: most seconds of a restart, below 100. UsageError: a number
    or a word is not allowed.
    """
    family = FAMILIES["elastic_stream"]
    require_tables(family, jobs=jobs, gpus=gpus, preset=preset, tables=tables, counts=counts)
    if not 0 <= restart < TICK_S:
        raise UsageError(where="restart", found=restart, allowed=f"seconds from 0 to less than {TICK_S:g}")
    total = gpus or UNITS
    most, allowed = jobs_drawn(jobs, JOBS)[-1], offered(counts, total)
    restarts = [Number("jobs[].restart_s", 0.0, restart)] if restart else []

    def repair(data: Data) -> Data | None:
        """Bring tables into their class, move arrivals onto ticks, the first to 0, and name jobs in order."""
        if not 1 <= len(data["jobs"]) <= most:
            return None
        # arrivals on ticks, shifted so that the first is at 0
        ticks = [round(min(max(job["arrival_s"], 0.0), LATEST_S) / TICK_S) for job in data["jobs"]]
        changed = []
        for job, tick in zip(data["jobs"], ticks, strict=True):
            fields = in_class(tables, job, allowed, LOW_S, HIGH_S) | {"arrival_s": (tick - min(ticks)) * TICK_S}
            changed.append(fields | ({"restart_s": min(max(job["restart_s"], 0.0), restart)} if restart else {}))
        head = {"format": "dlsched/elastic_stream/1", "name": "worst", "units": total, "tick_s": TICK_S}
        return head | {"jobs": lettered(changed)}

    def draw_of(kind: str | None) -> Draw:
        """Draw tables from the class and arrivals, or jobs of a preset."""

        def draw(generator: np.random.Generator) -> Data:
            many = int(generator.choice(jobs_drawn(jobs, JOBS)))
            if kind is None:
                found = [drawn(generator, tables, allowed, LOW_S, HIGH_S) for _ in range(many)]
                arrivals_s = (TICK_S * generator.integers(0, round(LATEST_S / TICK_S) + 1, many)).tolist()
            else:
                instance = family.generate(
                    preset=kind, jobs=many, gpus=total, max_gpus=total, seed=int(generator.integers(2**31))
                )
                found = tabulated(instance.jobs, allowed, HIGH_S)
                # all arrivals at 0 stay there
                scale = LATEST_S / (max(job.arrival_s for job in instance.jobs) or LATEST_S)
                arrivals_s = [job.arrival_s * scale for job in instance.jobs]
            pauses_s = generator.uniform(0.0, restart, many).round(1).tolist()
            drawn_jobs = [
                {"epoch_time_s": table, "arrival_s": arrival_s, "restart_s": pause_s}
                for table, arrival_s, pause_s in zip(found, arrivals_s, pauses_s, strict=True)
            ]
            data = repair({"jobs": drawn_jobs})
            assert data is not None
            return data

        return draw

    return Space(
        family=family,
        draw=draw_of(preset),
        presets={} if preset is not None else {name: draw_of(name) for name in family.presets},
        words=f"{sizes_said(most, total, 'unit')}, {words_of(tables, counts, LOW_S, HIGH_S)}, "
        f"arrivals at ticks of {TICK_S:g} s up to {LATEST_S:g} s, "
        + (f"restarts of up to {restart:g} s" if restart else "no restarts"),
        wider=[*wider_than(tables, counts), "--restart", "--jobs", "--gpus"],
        numbers=[
            Number.searched(RANGES, "jobs[].epoch_time_s{}"),
            Number.searched(RANGES, "jobs[].arrival_s"),
            *restarts,
        ],
        members=[("jobs", 1, most)],
        repair=repair,
        reference=SLOTS_ALONE,
    )
