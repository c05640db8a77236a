"""Whether jobs are consolidated, each on as few servers as it can have: as a record shows it, or as policies reproduce it.

*Shown*: every job on several GPUs was on as few of the servers as hold it when they are empty, and there are at least
``FEWEST`` such jobs. *Inferred*, where the record names no nodes: the waiting under even the closest first-come policy is off
what happened by more than a twentieth, and with consolidated placement the closest is off by at most half of that.
"""

import math
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import accumulate

from dlsched.srpt_mapping import Instance, Schedule, check
from dlsched.srpt_mapping.heuristics import POLICIES
from dlsched.traces.queue import QueuedJob, Sentence, counted, figure
from dlsched.traces.selection import ImportedInstance

FEWEST = 20
"""Least number of jobs on several GPUs of which it can be said that all were consolidated."""
_SHOWN = "Placement is consolidated, as all jobs on several GPUs were on as few servers as hold them when empty"
_MOST_JOBS = 20_000  # of which policies are run to infer it
_OFF = 0.05  # part of the waiting from which a policy is off what happened
_CLOSER = 0.5  # part of that which consolidation may leave


def servers_of(made: ImportedInstance) -> dict[str, int]:
    """GPUs of the servers by name; none where the record names no nodes."""
    known = isinstance(made.instance, Instance) and any(job.nodes for job in made.jobs)
    return {server.id: server.gpus for server in getattr(made.instance, "servers", ())} if known else {}


def why_consolidated(windows: Sequence[ImportedInstance], first_come: Sequence[str]) -> list[str]:
    """Return a sentence on why the placement in all windows of a pool is taken to be consolidated; none: it is not.

    ``first_come``: policies of which the usual one is, those that may have to reproduce what happened.
    """
    pairs = [
        (each.instance, each.happened)
        for each in windows
        if isinstance(each.instance, Instance) and isinstance(each.happened, Schedule)
    ]
    if len(pairs) < len(windows):
        return []
    if any(job.nodes for each in windows for job in each.jobs):
        return _shown(windows, pairs)
    if sum(len(instance.jobs) for instance, _ in pairs) > _MOST_JOBS:
        return []
    happened_s = math.fsum(_waiting_s(instance, happened) for instance, happened in pairs)

    def off_by_s(instances: Sequence[Instance]) -> float:
        """How far the first-come policy that comes closest is off what happened."""
        off_s = []
        for name in first_come:
            waited_s = math.fsum(_waiting_s(each, POLICIES[name](each)) for each in instances)
            off_s.append(abs(waited_s - happened_s))
            if waited_s == 0:  # each job starts when it comes, and so it does under the others, which place alike
                break
        return min(off_s, default=0.0)

    off_s = off_by_s([instance for instance, _ in pairs])
    if off_s <= _OFF * happened_s:
        return []
    closer_s = off_by_s([instance.consolidating() for instance, _ in pairs])
    if closer_s > _CLOSER * off_s:
        return []
    text = "Placement is assumed to be consolidated, as the first-come policy that comes closest to what happened is then off by "
    parts = (figure(100 * off / happened_s, ",.1f") for off in (closer_s, off_s))
    return [Sentence(text, next(parts), " % of the waiting, else by ", next(parts), " %; the record names no nodes.")]


def _shown(windows: Sequence[ImportedInstance], pairs: Sequence[tuple[Instance, Schedule]]) -> list[str]:
    """The sentence where the nodes of all jobs on several GPUs show it."""
    count = 0
    for each, (instance, happened) in zip(windows, pairs, strict=True):
        for job, record in zip(instance.jobs, each.jobs, strict=True):
            if job.begun is None and job.gpus > 1:
                count += 1
                if {share.server for share in happened.jobs[job.id].placement} != set(record.nodes):
                    return []
        if check(instance.consolidating(), happened):
            return []
    return counted(_SHOWN, count) if count >= FEWEST else []


def shown_by_nodes(jobs: Iterable[QueuedJob], gpus_of_nodes: Iterable[int]) -> list[str]:
    """Return the sentence where so many nodes as each job had show it, whatever its share of their GPUs; none: they do not."""
    held = list(accumulate(sorted(gpus_of_nodes, reverse=True)))
    several = [job for job in jobs if job.nodes and job.start_s is not None and 1 < job.gpus <= held[-1]]
    if any(len(set(job.nodes)) > bisect_left(held, job.gpus) + 1 for job in several):
        return []
    return counted(_SHOWN, len(several)) if len(several) >= FEWEST else []


def _waiting_s(instance: Instance, schedule: Schedule | None) -> float:
    assert schedule is not None  # what happened fits, so every job does
    return math.fsum(schedule.jobs[job.id].start_s - job.release_s for job in instance.jobs)
