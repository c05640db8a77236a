"""A queue at one moment: the jobs that run or wait then, what they have left, and the GPUs of the cluster."""

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from dlsched.core.errors import InputError, UsageError
from dlsched.core.instance import InstanceFile
from dlsched.core.messages import shown
from dlsched.traces.cells import Damaged, Moments
from dlsched.traces.gpu_counts import gpus_of_cluster, packed, unused
from dlsched.traces.queue import Audit, Queue, QueuedJob, counted
from dlsched.traces.selection import ImportedInstance, Limits, held_back, in_words, limits_of, running_tasks, sourced
from dlsched.traces.slicing import TAKEN_WHOLE

OVERDUE_S: Final = 60.0  # remaining seconds of a job that has used up its user's limit
UNKNOWN_S: Final = 3600.0  # seconds of a job without any information, in a file without ended jobs
SLICED: Final = "packed on few of them, and to hold these until the last of them ends"


class Present(NamedTuple):
    """A present job: whether it runs, since how many seconds, and its remaining seconds on its GPUs, > 0."""

    job: QueuedJob
    running: bool
    ran_s: float
    left_s: float

    @property
    def length_s(self) -> float:
        """Seconds of the whole job on its GPUs."""
        return self.ran_s + self.left_s


class Snapshot(NamedTuple):
    """The jobs that are present at a moment: those that hold GPUs or may start, running ones first.

    ``held_back``: those that wait for others of their array. ``outside``: GPUs that jobs hold which are left out, each as
    a job that runs on it, on one that slices share until the last ends.
    """

    at_s: float
    jobs: tuple[Present, ...]
    audit: tuple[str, ...]
    held_back: tuple[Present, ...] = ()
    outside: tuple[Present, ...] = ()

    @property
    def running(self) -> tuple[Present, ...]:
        """Jobs that run."""
        return tuple(each for each in self.jobs if each.running)

    @property
    def holding(self) -> tuple[Present, ...]:
        """Jobs that hold GPUs: running and left-out ones."""
        return (*self.running, *self.outside)

    @property
    def held_gpus(self) -> int:
        """Number of GPUs that these jobs hold."""
        return sum(each.job.gpus for each in self.holding)

    @property
    def waiting(self) -> tuple[Present, ...]:
        """Jobs that wait and may start."""
        return tuple(each for each in self.jobs if not each.running)

    @property
    def everyone(self) -> tuple[Present, ...]:
        """Running jobs, then all waiting jobs in order of arrival."""
        return (
            *self.running,
            *sorted((*self.waiting, *self.held_back), key=lambda each: (each.job.submit_s, each.job.line)),
        )


def moment_of(queue: Queue, text: str) -> float:
    """Read a moment in the queue's format, a date or time (UTC without a zone) or seconds; UsageError: it is no such."""
    allowed = "a date or time such as 2026-01-31T07:00:00" if queue.dated else "seconds of the trace's clock"
    moments = Moments()
    try:
        moment_s = moments.read(text, "at")
    except Damaged:
        moment_s = None
    if moment_s is None or moments.dated != queue.dated:
        raise UsageError(where="at", found=shown(text), allowed=allowed)
    return moment_s


def snapshot(queue: Queue, at_s: float | None = None, *, estimates: bool = False) -> Snapshot:
    """Return the jobs that run and wait at a moment (None: the latest time of the file), with their remaining time.

    A job runs from its start until its end, which belongs to neither. What it has left is what the file says it took
    later, else what is left of its user's limit; with ``estimates`` the other way round, and a limit that is missing is that
    of ``limits_of``. Where neither is known, it is the median of the jobs that had ended by then and had lasted longer than
    this one has; where none has, as long again as it has run. InputError: there is no job.
    """
    if at_s is None:
        times = [
            time_s for job in queue.jobs for time_s in (job.submit_s, job.start_s, job.end_s) if time_s is not None
        ]
        at_s = max(times) if queue.latest_s is None else queue.latest_s
    audit, present = Audit(), list[Present]()
    limits = limits_of(queue) if estimates else Limits(queue, {})
    queue = limits.queue
    ended_s = sorted(
        job.duration_s
        for job in queue.jobs
        if job.duration_s is not None and job.end_s is not None and job.end_s <= at_s
    )
    # Present are the jobs that have come and not ended; those with a length and no end ran at an unknown time.
    for job in queue.jobs:
        if job.end_s is None and job.duration_s is not None:
            audit.note("jobs with a duration but no start or end, assumed to have ended", job.line)
        elif job.submit_s <= at_s and (job.end_s is None or job.end_s > at_s):
            present.append(_present(job, at_s, ended_s, audit, estimates=estimates))
    if not present:
        if all(job.end_s is None for job in queue.jobs):
            raise InputError(where=queue.path, found="no job that says when it ran", allowed="a file that says it")
        first_s, last_s = (pick(job.submit_s for job in queue.jobs) for pick in (min, max))
        found_none = f"no job{' on whole GPUs' if queue.slices else ''} that runs or waits at {queue.moment(at_s)}"
        came = f"{queue.moment(first_s)} to {queue.moment(last_s)}"
        allowed = f"a moment such as the one at which its jobs came, {came}"
        raise InputError(where=queue.path, found=found_none, allowed=allowed)
    present.sort(key=lambda each: (not each.running, -each.ran_s if each.running else each.job.submit_s))
    running = sum(each.running for each in present)
    sliced, whole = _outside(queue, at_s, ended_s, audit, estimates=estimates)
    throttled = held_back([each.job for each in present if not each.running], queue.arrays, running_tasks(queue, at_s))
    back = tuple(each for each in present if each.job.id in throttled)
    notes = [f"Jobs running at that moment: {running:,}; waiting: {len(present) - running:,}.", *audit.sentences()]
    notes += limits.sentences(each.job for each in present)
    arrays = in_words(queue.arrays, (each.job.array for each in back))
    counts = (
        (
            f"Array tasks held back by their array's concurrency limit ({arrays}), with unknown release times; "
            "they do not count in the expected starts of other jobs",
            len(back),
        ),
        (TAKEN_WHOLE, sum(each.job.share < 1 for each in present)),
        (f"GPUs on which jobs on parts of GPUs run, which are assumed to be {SLICED}", len(sliced)),
        ("GPUs of jobs that are left out, occupied until these jobs end", len(whole)),
    )
    notes += [f"{words}: {count:,}." for words, count in counts if count]
    return Snapshot(
        at_s, tuple(each for each in present if each.job.id not in throttled), tuple(notes), back, (*sliced, *whole)
    )


def at_moment(queue: Queue, at: str | None, gpus: int | None, *, estimates: bool) -> tuple[Snapshot, int, list[str]]:
    """Who is present at a moment (None: the latest of the file), the GPUs of the cluster, and the audit so far."""
    present = snapshot(queue, None if at is None else moment_of(queue, at), estimates=estimates)
    total, notes = gpus_of_cluster(queue, present.held_gpus, gpus)
    return present, total, [*queue.audit, *present.audit, *notes]


def _outside(
    queue: Queue, at_s: float, ended_s: Sequence[float], audit: Audit, *, estimates: bool
) -> tuple[list[Present], list[Present]]:
    """Return the GPUs that left-out jobs hold, shared by slices or whole, by node if known."""
    by_node: dict[str, list[tuple[float, Present]]] = {}
    whole: list[tuple[str, Present]] = []
    # Slices are collected by node, to be packed below; a GPU of a whole job is an entry of its own.
    still = {(job.id, job.start_s) for job in queue.still}  # without an assumed end
    others = (job for job in queue.others if (job.id, job.start_s) not in still)
    for job in (*queue.slices, *queue.still, *others):
        if job.start_s is not None and job.start_s <= at_s and (job.end_s is None or job.end_s > at_s):
            each = _present(job, at_s, ended_s, audit, estimates=estimates)
            for place in range(job.gpus):
                node = job.nodes[place * len(job.nodes) // job.gpus] if job.nodes else ""
                if job.share < 1:
                    by_node.setdefault(node, []).append((job.share, each))
                else:
                    whole.append((node, each))
    names = {job.id for job in queue.jobs}

    def on_a_gpu(name: str, node: str, jobs: Sequence[Present]) -> Present:
        """A job that runs on a GPU from the first of the given jobs to the last."""
        job, began_s = jobs[0].job, at_s - jobs[0].ran_s
        job = job._replace(id=unused(name, names), gpus=1, share=1.0, nodes=(node,) if node else (), least_gpus=None)
        job = job._replace(submit_s=job.submit_s if job.submit_s <= began_s else began_s)  # also where nothing is said
        return Present(job, True, max(each.ran_s for each in jobs), max(each.left_s for each in jobs))

    gpus = [
        (node, [on_it[index][1] for index in gpu])
        for node, on_it in by_node.items()
        for gpu in packed([part for part, _ in on_it])
    ]
    return (
        [on_a_gpu(f"slices {number}", node, on_it) for number, (node, on_it) in enumerate(gpus, 1)],
        [on_a_gpu(f"left out {number}", node, [each]) for number, (node, each) in enumerate(whole, 1)],
    )


def _present(job: QueuedJob, at_s: float, ended_s: Sequence[float], audit: Audit, *, estimates: bool) -> Present:
    # Elapsed and remaining seconds by the record, where the file knows the end or the length.
    running = job.start_s is not None and job.start_s <= at_s
    ran_s = at_s - job.start_s if running and job.start_s is not None else 0.0
    recorded_s = job.end_s - at_s if running and job.end_s is not None else job.duration_s
    if job.limit_s is not None and (estimates or recorded_s is None):
        # The limit counts where policies see estimates, or where nothing is recorded.
        left_s = job.limit_s - ran_s
        if left_s <= 0:
            audit.note(
                f"jobs that have run longer than their users requested, assumed to end in {OVERDUE_S:g} s", job.line
            )
            left_s = OVERDUE_S
        elif not estimates:
            audit.note(
                "jobs that had not ended when the file ends, assumed to run as long as their users requested", job.line
            )
    elif recorded_s is not None:
        left_s = recorded_s
        if estimates:
            audit.note("jobs without a requested run time, assumed to run as long as they really did", job.line)
    else:
        # Nothing is known: as long as ended jobs took that outlasted this one.
        longer = bool(ended_s) and ended_s[-1] > ran_s
        others, alone = "as the median of completed jobs that ran longer", "twice as long as they have run"
        assumed = others if longer else alone if ran_s > 0 else f"{UNKNOWN_S:g} s"
        audit.note(f"jobs of unknown length, assumed to last {assumed}", job.line)
        left_s = typical_s(ended_s, ran_s) - ran_s
    return Present(job, running, ran_s, left_s)


def typical_s(ended_s: Sequence[float], ran_s: float) -> float:
    """The median of the sorted lengths above what a job has run, or else twice what it has run."""
    # Of an even number the mean of the middle two: 40 of 10, 20 and 60 after 15; 30 of 10 alone; 3600 of none after 0.
    longer = ended_s[bisect_right(ended_s, ran_s) :]
    if longer:
        return (longer[(len(longer) - 1) // 2] + longer[len(longer) // 2]) / 2
    return 2 * ran_s if ran_s > 0 else UNKNOWN_S


def admitted(present: Snapshot, gpus: int, least: Callable[[Present], int]) -> tuple[list[Present], list[str]]:
    """Return the jobs that get GPUs, and audit sentences; UsageError: too few GPUs."""
    # Running jobs stay; those that wait are admitted in order of arrival while their smallest count fits.
    free = gpus - len(present.outside) - sum(least(each) for each in present.running)
    if free < 0:
        raise UsageError(where="gpus", found=f"{gpus:,}", allowed=f"at least {gpus - free:,}, which jobs that run hold")
    inside, outside = list(present.running), []
    for each in present.waiting:
        if least(each) <= free:
            free -= least(each)
            inside.append(each)
        else:
            outside.append(each)
    if not inside:
        smallest = gpus - free + min(map(least, outside), default=math.inf)
        beside = ", beside the GPUs of those left out" if present.outside else ""
        allowed = f"at least {smallest:,}, the smallest count of any job{beside}"
        raise UsageError(where="gpus", found=f"{gpus:,}", allowed=allowed)
    words = "Jobs left out (first come, first served), as their smallest count no longer fits"
    return inside, counted(words, len(outside))


def made_of(queue: Queue, instance: InstanceFile, jobs: Sequence[Present], audit: Sequence[str]) -> ImportedInstance:
    """The instance of jobs that are present, in its order."""
    return ImportedInstance(sourced(queue, instance, audit), list(audit), None, tuple(each.job for each in jobs))
