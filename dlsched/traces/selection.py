"""Selection of a queue's jobs for an instance: window, cluster, carried-over jobs, users' time limits, limits of arrays.

A missing time limit is the median of the limits in the job's partition, or of the file if the partition has none.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import NamedTuple

from dlsched.core.errors import InputError, UsageError
from dlsched.core.instance import InstanceFile
from dlsched.core.messages import cut, printable
from dlsched.core.result import Solution
from dlsched.traces.gpu_counts import cluster_gpus, most_in_use
from dlsched.traces.queue import Queue, QueuedJob, Sentence, Window, counted, figure, listed
from dlsched.traces.slicing import slices_said


def running_tasks(queue: Queue, at_s: float) -> Counter[str]:
    """Number of running tasks of each array at a moment, including tasks on slices."""
    return Counter(
        job.array
        for job in (*queue.jobs, *queue.slices)
        if job.array and job.start_s is not None and job.start_s <= at_s and (job.end_s is None or job.end_s > at_s)
    )


def held_back(waiting: Sequence[QueuedJob], most: Mapping[str, int], running: Mapping[str, int]) -> set[str]:
    """Ids of tasks that must wait for other tasks of their array; ``waiting`` is in the order of starts."""
    room = {array: max(0, count - running.get(array, 0)) for array, count in most.items()}
    held = set()
    for job in waiting:
        if job.array in room:
            if room[job.array]:
                room[job.array] -= 1
            else:
                held.add(job.id)
    return held


def in_words(most: Mapping[str, int], arrays: Iterable[str]) -> str:
    """Arrays and their limits on concurrent tasks.

    >>> in_words({"7": 2, "9": 1}, ["9", "7", "7"])
    '2 of 7, 1 of 9'
    """
    named = sorted(set(arrays))
    more = f" and of {len(named) - 3:,} more" if len(named) > 3 else ""
    return ", ".join(f"{most[array]:,} of {array}" for array in named[:3]) + more


class Limits(NamedTuple):
    """A queue whose jobs all have a limit; for ids of jobs without one, whether it is a partition's."""

    queue: Queue
    silent: Mapping[str, bool]

    def of(self, jobs: Iterable[QueuedJob]) -> frozenset[str]:
        """Ids of those of the jobs that had no limit."""
        return frozenset(job.id for job in jobs if job.id in self.silent)

    def sentences(self, jobs: Iterable[QueuedJob]) -> list[str]:
        """Audit sentences on those of the jobs that had no limit."""
        own = [self.silent[name] for name in self.of(jobs)]
        silent = "Jobs without a requested run time"
        return [
            *counted(f"{silent}, given the median of their partition", sum(own)),
            *counted(f"{silent}, nor has their partition any: given the median of the file", len(own) - sum(own)),
        ]


def limits_of(queue: Queue) -> Limits:
    """Fill in missing limits; if no job of the file has one, the queue stays as it is."""
    stated: dict[str, tuple[str, float]] = {}
    # Limits of all jobs of the file, each job once: those left out tell as much about what users state.
    for job in (*queue.jobs, *queue.slices, *queue.others):
        if job.limit_s is not None:
            stated.setdefault(job.id, (job.partition, job.limit_s))
    if not stated:
        return Limits(queue, {})
    by_partition: dict[str, list[float]] = {}
    for partition, limit_s in stated.values():
        if partition:
            by_partition.setdefault(partition, []).append(limit_s)
    # The median of the partition where it states any, else of the file.
    of_file = median(limit_s for _, limit_s in stated.values())
    medians = {partition: median(limits_s) for partition, limits_s in by_partition.items()}
    silent = {job.id: job.partition in medians for job in queue.jobs if job.limit_s is None}
    jobs = tuple(
        job._replace(limit_s=medians.get(job.partition, of_file)) if job.limit_s is None else job for job in queue.jobs
    )
    return Limits(replace(queue, jobs=jobs), silent)


def limit_notes(limits: Limits, jobs: Sequence[QueuedJob], ran_s: Iterable[float]) -> list[str]:
    """What the audit says where policies know limits only: of the jobs, which ran that long."""
    silent = limits.of(jobs)
    parts = [
        seconds / job.limit_s
        for job, seconds in zip(jobs, ran_s, strict=True)
        if job.limit_s is not None and job.id not in silent
    ]
    head = "Policies know the run times that users requested"
    if not parts:
        return [f"{head}.", *limits.sentences(jobs)]
    half = " jobs that say it ran for ", figure(100 * median(parts), ",.0f"), " % of that or less."
    return [Sentence(f"{head}; half of the ", figure(len(parts)), *half), *limits.sentences(jobs)]


WHOLE = Window(None, None)  # all arrivals
STATES_SHOWN = 8  # the most frequent ones: a file may name any number of states
LEAST_S = 1e-6  # times of instances are whole microseconds; nothing lasts less


class ImportedInstance(NamedTuple):
    """An instance of a queue, whose ``source`` holds the sentences of the audit too."""

    instance: InstanceFile
    audit: list[str]
    happened: Solution | None  # the recorded schedule, checked; None: it is unknown or does not fit, as the audit says
    jobs: tuple[QueuedJob, ...]  # as recorded, in the instance's order and with its ids; of a job carried over the rest
    outside: tuple[float, float] = (0.0, 0.0)
    """GPU-seconds to the last start of its jobs that jobs held which are not of it, parts of GPUs by their part, and those
    that the cluster has: what happened waited for them too."""
    slices: frozenset[str] = frozenset()  # ids of jobs on parts of GPUs that were left out of the instance
    tasks: frozenset[str] = frozenset()  # ids of tasks of arrays of which only so many might run at once
    silent: frozenset[str] = frozenset()  # ids of jobs without a stated limit, where policies know only that
    unknown: str = ""  # why the recorded schedule is unknown; empty: it is known, or the family has none


class Chosen(NamedTuple):
    """Jobs in order of arrival, and what was said and left outside; further fields as ``ImportedInstance`` has them."""

    jobs: tuple[QueuedJob, ...]
    start_s: float  # time 0 of the instance, on the clock of the queue
    gpus: int
    audit: list[str]
    outside: tuple[float, float]
    limits: Limits | None  # what policies are told instead of true running times
    began: Mapping[str, float]  # since when jobs run that run at the start, by id
    slices: frozenset[str]
    tasks: frozenset[str]

    def relative(self, time_s: float) -> float:
        """Seconds on the clock of the instance, in whole microseconds."""
        return round(time_s - self.start_s, 6)

    def lengths(self) -> list[str]:
        """Audit sentences on what policies are told of lengths."""
        if self.limits is None:
            return ["Policies know how long every job really ran."]
        return limit_notes(self.limits, self.jobs, map(lasted_s, self.jobs))


def lasted_s(job: QueuedJob) -> float:
    """Running time of an ended job, in whole microseconds."""
    return max(LEAST_S, round(job.length_s, 6))


def fewest(job: QueuedJob) -> int:
    """The fewest GPUs on which a job runs."""
    return job.gpus if job.least_gpus is None else job.least_gpus


def choose(
    queue: Queue,
    *,
    gpus: int | None,
    gpus_of_node: int,
    window: Window,
    carried: bool,
    answer: str,
    least: Callable[[QueuedJob], int],
    estimates: bool = False,
    typed: bool = False,
) -> Chosen:
    """Choose the jobs that have ended and arrive in the window and fit the cluster, and the cluster.

    ``gpus``: GPUs of the cluster; None: those of the nodes that the source lists, else the most in use at once, else
    the average demand. ``gpus_of_node``: GPUs of a server; the cluster is a multiple of it where it is not given.
    ``carried``: jobs that came earlier and had not ended take part: those that ran, by what was left of them, before
    those that waited. ``answer``: what a cluster too small for a job does not have. ``least``: the fewest GPUs on which
    a job runs in the family. ``estimates``: policies are told users' limits. ``typed``: on the nodes that the source lists, jobs
    run on GPUs of their types only.

    InputError: no job is left, or none has a limit. UsageError: GPUs below 1; jobs carried over no start of a window.
    """
    limits = limits_of(queue) if estimates else None
    if limits is not None:
        queue = limits.queue
        if all(job.limit_s is None for job in queue.jobs):
            found = "no job that says how long it takes at most"
            raise InputError(where=f"{queue.path}: estimates", found=found, allowed="some")
    for name, value in (("gpus", gpus), ("gpus_of_node", gpus_of_node)):
        if value is not None and value < 1:
            raise UsageError(where=name, found=value, allowed="an integer >= 1")
    if carried and window.start_s is None:
        raise UsageError(where="carried", found="no from", allowed="with a start of the window")
    ended = [job for job in queue.jobs if job.duration_s is not None]
    kept = sorted((job for job in ended if window.holds(job.submit_s)), key=lambda job: job.submit_s)
    audit = list(queue.audit)
    audit += counted("Jobs that have not ended, left out", len(queue.jobs) - len(ended))
    earlier, began = _carried(ended, window.start_s) if carried and window.start_s is not None else ([], {})
    audit += counted("Jobs that arrive outside the window, left out", len(ended) - len(kept) - len(earlier))
    rest = "Jobs submitted earlier that had not ended, assumed to arrive at the start with the work they had left"
    audit += counted(rest, len(earlier))
    kept = [*earlier, *kept]
    if not kept:
        raise InputError(where=queue.path, found="no job that runs and arrives in the window", allowed="at least one")
    total, note = _cluster(queue, ended, gpus, gpus_of_node)
    if note:
        audit.append(note)
    if total is not None:
        fitting = [job for job in kept if least(job) <= total]
        if len(fitting) < len(kept):
            words = "Jobs that need more than the ", figure(total), " GPUs of the cluster, left out: "
            audit.append(Sentence(*words, figure(len(kept) - len(fitting)), ".", warns=True))
        if not fitting:
            raise InputError(where=queue.path, found=f"no job that fits {total:,} GPUs", allowed="at least one")
        kept = fitting
    start_s, end_s = window.span(kept)
    together, gpu_s = sum(map(queue.takes, kept)), [queue.takes(job) * lasted_s(job) for job in kept]
    total, sentences = cluster_gpus(together, gpu_s, list(map(least, kept)), end_s - start_s, total, answer)
    ids, tasks = {job.id for job in kept}, [job for job in kept if job.array in queue.arrays and job.wall is None]
    # GPUs held by jobs outside the instance explain a part of the waiting that no other schedule repeats.
    others = [*(job for job in ended if job.id not in ids), *queue.others, *queue.slices]
    outside = _outside(others, kept, start_s, total)
    arrays = in_words(queue.arrays, [job.array for job in tasks])
    unlimited = f"Tasks of arrays of which only so many may run at once ({arrays}), a limit that is not in the model"
    audit += [
        *sentences,
        *_assumed(queue, kept, typed and total == sum(node.gpus for node in queue.nodes)),
        *counted(unlimited, len(tasks)),
    ]
    if outside[0] > 0:
        share = figure(100 * outside[0] / outside[1], ",.1f")
        waited = " % of its GPU time until its last job started; what happened waited for them too, and no other schedule does."
        audit.append(Sentence("Jobs outside the instance used ", share, waited))
    slices = [job for job in queue.slices if window.holds(job.submit_s)]
    if carried and window.start_s is not None:
        slices += _carried(queue.slices, window.start_s)[0]
    return Chosen(
        tuple(kept),
        start_s,
        total,
        audit,
        outside,
        limits,
        {job.id: began[job.id] for job in kept if job.id in began},
        frozenset(job.id for job in slices),
        frozenset(job.id for job in tasks),
    )


def _carried(ended: Sequence[QueuedJob], start_s: float) -> tuple[list[QueuedJob], dict[str, float]]:
    """Jobs from before the start that had not ended, running ones first, and when the running ones began."""
    running, waiting, began = [], [], {}
    for job in sorted(ended, key=lambda job: job.submit_s):
        if job.start_s is None or job.submit_s >= start_s:
            continue
        # A running job goes on for what is left of it; its limit shrinks as well, but never below a second.
        ran_s = start_s - job.start_s
        if ran_s <= 0:
            waiting.append(job._replace(submit_s=start_s))
        elif (left_s := round(lasted_s(job) - ran_s, 6)) >= LEAST_S:
            limit_s = None if job.limit_s is None else max(1.0, job.limit_s - ran_s)
            running.append(job._replace(submit_s=start_s, start_s=start_s, duration_s=left_s, limit_s=limit_s))
            began[job.id] = job.start_s
    return running + waiting, began


def _cluster(queue: Queue, ended: Sequence[QueuedJob], gpus: int | None, gpus_of_node: int) -> tuple[int | None, str]:
    """GPUs of the cluster, or None if the demand decides, and a sentence on where the number comes from."""
    if gpus is not None:
        return gpus, ""
    if queue.nodes:
        total = sum(node.gpus for node in queue.nodes)
        nodes = figure(len(queue.nodes)), " nodes with ", figure(total), " GPUs."
        return total, Sentence("The cluster is that of the trace: ", *nodes)
    if any(job.start_s is None for job in ended):
        return None, ""
    most = most_in_use(queue, ended)
    total = gpus_of_node * math.ceil(most / gpus_of_node)
    used = f" were in use at once by the jobs that were read, rounded up to a multiple of {gpus_of_node}."
    return total, Sentence("The cluster is given ", figure(total), " GPUs: ", figure(most), used)


def _outside(others: Sequence[QueuedJob], kept: Sequence[QueuedJob], start_s: float, gpus: int) -> tuple[float, float]:
    """GPU-seconds that others held, and that the cluster has, from the start on to the last start of the jobs kept."""
    # A job that does not say when it started did so no earlier than it came.
    last_s = max(job.submit_s if job.start_s is None else job.start_s for job in kept)
    held = 0.0
    for job in others:
        if job.start_s is not None:
            seconds = min(last_s, job.start_s + lasted_s(job)) - max(start_s, job.start_s)
            held += job.parts * max(0.0, seconds)
    return held, gpus * max(0.0, last_s - start_s)


def _assumed(queue: Queue, kept: Sequence[QueuedJob], typed: bool) -> list[str]:
    """Assumptions on the jobs; ``typed``: types of GPUs are told apart."""
    audit: list[str] = []
    states = Counter(job.state for job in kept if job.state).most_common()
    if states:
        words = listed((cut(printable(state), 40), count, "") for state, count in states[:STATES_SHOWN])
        more = (" and ", figure(len(states) - STATES_SHOWN), " more") if len(states) > STATES_SHOWN else ()
        audit.append(Sentence("States of the jobs: ", *words, *more, "; each counts as done after its duration."))
    audit += slices_said(kept, sliced=queue.sliced)
    kinds = {job.gpu_type for job in kept if job.gpu_type}
    if len(kinds) > 1 and not typed:
        audit.append(Sentence("GPU types are treated alike: the jobs name ", figure(len(kinds)), "."))
    return audit


def sourced(queue: Queue, instance: InstanceFile, audit: Sequence[str]) -> InstanceFile:
    """The instance with its file, and all that is said of it, as ``source``."""
    source = f"imported from {Path(queue.path).name}, a file of {queue.source}. Audit: {' '.join(audit)}"
    fields = {name: getattr(instance, name) for name in type(instance).model_fields}
    # Without validation, which would look at all jobs once more
    return type(instance).model_construct(**fields | {"source": source})


def finished(
    queue: Queue,
    chosen: Chosen,
    instance: InstanceFile,
    audit: Sequence[str],
    happened: Solution | None = None,
    notes: Sequence[str] = (),
) -> ImportedInstance:
    """The instance of chosen jobs; ``notes``: what was assumed of what happened, or why it is unknown."""
    audit = [*audit, *notes]
    return ImportedInstance(
        sourced(queue, instance, audit),
        audit,
        happened,
        chosen.jobs,
        chosen.outside,
        chosen.slices,
        chosen.tasks,
        frozenset() if chosen.limits is None else chosen.limits.of(chosen.jobs),
        notes[0] if notes and happened is None else "",
    )
