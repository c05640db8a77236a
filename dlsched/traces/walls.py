"""Walls of a cluster as far as its record knows them: pools of nodes, limits that users set themselves, classes of jobs.

*Pools.* A partition is a pool where the source lists the nodes of partitions; else if every job that ran names its nodes, or
the source says that the partitions share no GPUs. Partitions with common nodes are one. Where a partition held more GPUs than its
quota, or a job has no partition that the source knows, nothing is parted. A node that is not listed has as many GPUs as were in
use on it at once, and at least as many as any other node of its pool with GPUs of the same type.

*Ready.* A job waits for GPUs from the moment on at which its user's own conditions (dependencies, begin times) let it start:
``Eligible`` where the record states it. Where it does not, a job that starts within ``SOON_S`` of the end of an earlier job of
its user is taken to have waited for that job, if GPUs enough for it were free in its pool for nearly all of its waiting, and no
job that came earlier waited for GPUs meanwhile. Where it is stated, a job that is ready within ``SOON_S`` of such an end is
taken to depend on that job; what else it waits for is its begin time, or a hold.

*Arrays.* Of an array at most as many tasks run at once as it states. Where it states nothing, but the most that ran at once
ran nearly always when others waited though GPUs were free for them, this number is taken to be its limit.

*Classes.* The QOS of jobs, ranked by the mean of ``Priority`` where that is stated; else one is above another if its jobs
passed jobs of the other, that came before and need no more GPUs, several times as often as the other way round.
"""

import math
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from heapq import nlargest
from itertools import accumulate
from statistics import fmean

import numpy as np

from dlsched.core.arrays import FloatArray
from dlsched.traces.gpu_counts import ROUNDING, most_held
from dlsched.traces.queue import Queue, QueuedJob, QueueNode, Wall, counted

SOON_S = 60.0
"""Seconds in which a scheduler starts a job that may start; Slurm looks at its queue every 30 to 60 s by default."""
FREE = 0.9
"""Part of its waiting for which GPUs enough must have been free, to say that a job did not wait for GPUs."""
_MOSTLY = 0.6  # of the time in which tasks wait though GPUs are free, in which the array is at its limit
_CLEARLY = 4  # times as many passes one way as the other, between classes of which one is served first
_FEWEST = 3  # passes
_LOOKED = 2_000  # of the jobs ready before one, the last ones, that are looked at for being passed


def pools_of(queue: Queue) -> dict[str, Queue]:
    """Part a queue into its pools, by name; one without a name where the record does not tell partitions and nodes apart."""
    jobs = (*queue.jobs, *queue.others, *queue.slices)
    whole = {"": replace(queue, pools={})}
    of_node: dict[str, set[str]] = {node.id: {*node.pools} for node in queue.nodes}
    listed = frozenset[str]().union(*of_node.values())
    seen = any(job.nodes for job in jobs) and all(job.partition and (job.nodes or job.start_s is None) for job in jobs)
    if not listed and (queue.nodes or not (seen or _apart(queue, jobs))):
        return whole
    # a partition that no list names is where its jobs ran
    for job in jobs:
        for node in job.nodes:
            if job.partition not in listed and (node in of_node or not listed):
                of_node.setdefault(node, set()).add(job.partition)
    partitions = {job.partition for job in jobs}
    unknown = partitions - listed.union(*of_node.values()) if listed else ()
    if unknown:
        words = "Jobs in partitions without a listed node, so that the cluster is one pool"
        notes = counted(words, sum(job.partition in unknown for job in queue.jobs))
        return {"": replace(queue, pools={}, audit=(*queue.audit, *notes))}
    groups = _joined([*dict.fromkeys(map(frozenset, of_node.values())), *(frozenset({each}) for each in partitions)])
    name_of = {partition: "+".join(sorted(filter(None, group))) for group in groups for partition in group}
    names = dict.fromkeys(name_of[job.partition] for job in queue.jobs)
    found = {name: _pool(queue, name, name_of, seen=seen and not listed) for name in names}
    if listed and len(found) == 1:
        return dict.fromkeys([""], replace(found.popitem()[1], pools={}))
    return found if len(found) > 1 else whole


def _joined(groups: Iterable[frozenset[str]]) -> list[frozenset[str]]:
    """Join sets that have a member in common."""
    joined: list[frozenset[str]] = []
    for group in groups:
        meeting = [each for each in joined if each & group]
        joined = [*(each for each in joined if not each & group), group.union(*meeting)]
    return joined


def _pool(queue: Queue, name: str, name_of: Mapping[str, str], *, seen: bool) -> Queue:
    """The jobs of a pool, its nodes, listed or as jobs show them (``seen``), and its quota if all of its partitions have one."""
    quotas = [queue.pools.get(partition, 0) for partition in name_of if name_of[partition] == name]
    quota = sum(quotas) if all(quotas) else 0
    words = counted("GPUs of the pool, by the quota that the file states", quota)
    nodes = tuple(node for node in queue.nodes if any(name_of[partition] == name for partition in node.pools))
    own = queue.with_jobs(lambda jobs: (job for job in jobs if name_of[job.partition] == name))
    part = replace(own, nodes=nodes, pools={name: quota}, audit=(*queue.audit, *words))
    return replace(part, nodes=tuple(_nodes(part))) if seen else part


def _apart(queue: Queue, jobs: Sequence[QueuedJob]) -> bool:
    """Whether the source knows the partition of every job, and none held more than its quota, as one that borrows does."""
    held: dict[str, list[QueuedJob]] = defaultdict(list)
    for job in jobs:
        held[job.partition].append(job)
    return all(
        name in queue.pools and (not queue.pools[name] or most_held([], own) <= queue.pools[name])
        for name, own in held.items()
    )


def _nodes(queue: Queue) -> Iterator[QueueNode]:
    """The nodes that jobs ran on, with their GPUs."""
    jobs = [job for job in (*queue.jobs, *queue.others, *queue.slices) if job.nodes]
    kind = {node: job.gpu_type for job in jobs for node in job.nodes}
    alone: dict[str, list[QueuedJob]] = defaultdict(list)
    sizes = dict.fromkeys(kind.values(), 1)
    # of several nodes one gives at least the mean; on one there is what was in use at once
    for job in jobs:
        on = kind[job.nodes[0]]
        sizes[on] = max(sizes[on], math.ceil(job.parts / len(job.nodes) - 1e-9))
        if len(job.nodes) == 1:
            alone[job.nodes[0]].append(job)
    for node, own in alone.items():
        sizes[kind[node]] = max(sizes[kind[node]], most_held([], own))
    # together they hold at least what was in use at once
    missing = most_held([], jobs) - sum(sizes[kind[node]] for node in kind)
    more = max(0, math.ceil(missing / max(1, len(kind))))  # a pool whose jobs all wait shows no node
    for node in sorted(kind):
        yield QueueNode(node, sizes[kind[node]] + more, kind[node])


def with_walls(queue: Queue, gpus: int, ranks: Mapping[str, int], servers: Mapping[str, int] | None = None) -> Queue:
    """Add to every job of a pool of so many GPUs when it was ready, its array's limit and its rank, and to the audit how.

    ``servers``: GPUs by name where jobs are consolidated: those free for a job are on as few servers as hold it when empty.
    """
    free = _Free((*queue.jobs, *queue.others, *queue.slices), gpus, servers or {})
    ends = _ends((*queue.jobs, *queue.others, *queue.slices))
    ready, words = _ready_s(queue.jobs, free, _ends(queue.jobs))
    limits, inferred = _limits(queue, free)
    walled = tuple(
        job._replace(wall=Wall(at_s, limits.get(job.array), ranks.get(job.qos, 0), _depends(job, at_s, ends)))
        for job, at_s in zip(queue.jobs, ready, strict=True)
    )
    return replace(queue, jobs=walled, audit=(*queue.audit, *words, *inferred))


def _held(jobs: Iterable[QueuedJob]) -> list[tuple[float, float]]:
    """When jobs take GPUs, and give them back, below 0."""
    ran = [(job, job.start_s) for job in jobs if job.start_s is not None]
    changes = [(start_s, job.parts) for job, start_s in ran]
    return changes + [(job.end_s, -job.parts) for job, _ in ran if job.end_s is not None]


class _Steps:
    """A number that changes over time, as the sum of changes at times."""

    def __init__(self, changes: Iterable[tuple[float, float]]) -> None:
        ordered = sorted(changes)
        self.times_s = np.array([at_s for at_s, _ in ordered])
        self.values = np.cumsum([0.0, *(change for _, change in ordered)])

    def at(self, times_s: FloatArray) -> FloatArray:
        """The number after the changes up to each time."""
        return np.asarray(self.values[np.searchsorted(self.times_s, times_s, side="right")])

    def within(self, from_s: float, to_s: float) -> FloatArray:
        """When it changes after one time, up to another."""
        first, last = np.searchsorted(self.times_s, [from_s, to_s], side="right")
        return self.times_s[first:last]


class _Free:
    """GPUs that were free for jobs over time: all in the pool or, of ``servers`` by name, those of the freest few."""

    def __init__(self, jobs: Sequence[QueuedJob], gpus: int, servers: Mapping[str, int]) -> None:
        self._jobs, self._servers, self._steps = jobs, servers, dict[int, _Steps]()
        self._held = list(accumulate(sorted(servers.values(), reverse=True)))
        self._all = _Steps([(-math.inf, gpus), *((at_s, -parts) for at_s, parts in _held(jobs))])

    def of(self, gpus: int) -> "_Steps":
        """Those free for a job of so many GPUs."""
        if not self._servers:
            return self._all
        most = bisect_left(self._held, gpus) + 1
        return self._steps.get(most) or self._steps.setdefault(most, self._freest(most))

    def _freest(self, most: int) -> "_Steps":
        """Those free on so many servers, the freest at every time; jobs take as many of each of their nodes."""
        on = [(each, node) for each in self._jobs for node in each.nodes if node in self._servers]
        changes = [(at_s, node, parts / len(each.nodes)) for each, node in on for at_s, parts in _held([each])]
        free, sums = dict[str, float](self._servers), [0.0, float(sum(nlargest(most, self._servers.values())))]
        for _, node, parts in (changes := sorted(changes)):
            free[node] -= parts
            sums.append(sum(nlargest(most, free.values())))
        return _Steps(zip([-math.inf, *(at_s for at_s, _, _ in changes)], np.diff(sums).tolist(), strict=True))


def _cut(from_s: float, to_s: float, *steps: _Steps) -> tuple[FloatArray, FloatArray]:
    """Cut a time where any of the numbers changes: the beginnings of its parts, and their seconds."""
    times_s = np.unique(np.concatenate([[from_s], *(each.within(from_s, to_s) for each in steps)]))
    return times_s, np.diff(times_s, append=to_s)


def _enough(free: _Free, job: QueuedJob, to_s: float) -> bool:
    """Whether GPUs enough for a job were free for nearly all of its waiting."""
    there = free.of(job.gpus)
    times_s, seconds = _cut(job.submit_s, to_s, there)
    room = there.at(times_s) >= job.gpus - ROUNDING
    return bool(seconds[room].sum() >= FREE * (to_s - job.submit_s))


def _stated_s(job: QueuedJob) -> float:
    """When a job could start for its user by what is stated."""
    return job.submit_s if job.eligible_s is None else max(job.submit_s, job.eligible_s)


_Ends = Mapping[str, Sequence[tuple[float, float]]]
"""When the jobs of every user ended, in order, and when each was sent."""


def _ends(jobs: Iterable[QueuedJob]) -> _Ends:
    ends: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for job in jobs:
        if job.user and job.end_s is not None:
            ends[job.user].append((job.end_s, job.submit_s))
    return {user: sorted(own) for user, own in ends.items()}


def _depends(job: QueuedJob, ready_s: float, ends: _Ends) -> bool:
    """Whether a job was ready, later than it came, just when a job of its user ended that had come no later."""
    own = ends.get(job.user, ())
    just_ended = own[bisect_left(own, (ready_s - SOON_S,)) : bisect_right(own, (ready_s, math.inf))]
    return ready_s > job.submit_s and any(submit_s <= job.submit_s < end_s for end_s, submit_s in just_ended)


def _ready_s(jobs: Sequence[QueuedJob], free: _Free, ends: _Ends) -> tuple[list[float], list[str]]:
    """When every job could start for its user, and sentences on how that is known."""
    if any(job.eligible_s is not None for job in jobs):
        ready = [_stated_s(job) if job.start_s is None else min(_stated_s(job), job.start_s) for job in jobs]
        later = sum(at_s > job.submit_s for at_s, job in zip(ready, jobs, strict=True))
        words = "Jobs that their users' own conditions let start only after they were sent, as the record says"
        return ready, counted(words, later)
    starts_s = _followers(jobs, free, ends)
    words = (
        "Jobs assumed to have waited for an earlier job of their user, at whose end they start although GPUs were free"
    )
    return [starts_s.get(job.id, job.submit_s) for job in jobs], counted(words, len(starts_s))


def _followers(jobs: Sequence[QueuedJob], free: _Free, ends: _Ends) -> dict[str, float]:
    """The starts of jobs that waited for an earlier job of their user and not for GPUs, by id."""
    found, blocked_s = {}, -math.inf
    for job in sorted(jobs, key=lambda job: job.submit_s):
        if job.start_s is None or job.start_s <= job.submit_s + SOON_S:
            continue
        if not _enough(free, job, job.start_s):
            # a strict queue lets all that come later wait as long
            blocked_s = max(blocked_s, job.start_s)
        elif (
            not job.array
            and blocked_s <= job.submit_s + (1 - FREE) * (job.start_s - job.submit_s)
            and _depends(job, job.start_s, ends)
        ):
            found[job.id] = job.start_s
    return found


def _limits(queue: Queue, free: _Free) -> tuple[dict[str, int], list[str]]:
    """How many tasks of an array may run at once, by array, and sentences on how that is known."""
    limits, inferred = dict(queue.arrays), 0
    tasks: dict[str, list[QueuedJob]] = defaultdict(list)
    for job in queue.jobs:
        if job.array and job.start_s is not None:
            tasks[job.array].append(job)
    for array, own in tasks.items():
        running = _Steps(_held(job._replace(gpus=1, share=1.0) for job in own))
        most = int(running.values.max())
        if array in limits:
            limits[array] = max(limits[array], most)
        elif most < len(own) and _stopped_by(own, running, most, free):
            limits[array], inferred = most, inferred + 1
    words = "Arrays assumed to have a concurrency limit: the tasks that ran while others waited although GPUs were free"
    return limits, [
        *counted("Arrays with a stated concurrency limit", len(queue.arrays)),
        *counted(words, inferred),
    ]


def _stopped_by(tasks: Sequence[QueuedJob], running: _Steps, most: int, free: _Free) -> bool:
    """Whether so many tasks of an array ran nearly always when others waited though GPUs were free for them."""
    starts_s = [job.start_s for job in tasks if job.start_s is not None]
    ready_s = list(map(_stated_s, tasks))
    waiting = _Steps([*((at_s, 1) for at_s in ready_s), *((at_s, -1) for at_s in starts_s)])
    largest = max(job.gpus for job in tasks)
    there = free.of(largest)
    times_s, seconds = _cut(min(ready_s), max(starts_s), there, running, waiting)
    room = there.at(times_s) >= largest - ROUNDING
    seconds = np.where(room & (waiting.at(times_s) > 0), seconds, 0.0)
    waited_s, full_s = float(seconds.sum()), float(seconds[running.at(times_s) >= most].sum())
    return waited_s > SOON_S and full_s >= _MOSTLY * waited_s


def ranks_of(pools: Sequence[Queue]) -> tuple[Mapping[str, int], str]:
    """The rank of every QOS over all pools, larger first, and a sentence on it; none where no class is served first."""
    jobs = [job for pool in pools for job in pool.jobs]
    names = sorted({job.qos for job in jobs})
    stated = {name: [job.priority for job in jobs if job.qos == name and job.priority is not None] for name in names}
    if all(stated.values()):
        means, how = {name: fmean(stated[name]) for name in names}, "the mean of Priority"
        above = {name: sum(means[other] < means[name] for other in names) for name in names}
    else:
        wins, how = sum((_passes(pool.jobs) for pool in pools), Counter()), "whose jobs passed whose"
        above = {
            name: sum(wins[name, other] >= max(_FEWEST, _CLEARLY * wins[other, name]) for other in names)
            for name in names
        }
    if not any(above.values()):
        listed = ", ".join(name or "(none)" for name in names)
        return {}, f"Classes of jobs (QOS) are served alike, as none is seen to be served first: {listed}." * (
            len(names) > 1
        )
    order = " < ".join(name or "(none)" for name in sorted(names, key=above.__getitem__))
    return above, f"Classes of jobs (QOS) by {how}, the first served last in this list: {order}."


def _passes(jobs: Sequence[QueuedJob]) -> Counter[tuple[str, str]]:
    """How often a job of one class passed one of another that came before, needs no more GPUs and no longer by its limit."""
    # tasks of arrays may wait for each other
    started = [(_stated_s(job), job.start_s, job) for job in jobs if job.start_s is not None and not job.array]
    started.sort(key=lambda each: each[:2])
    start_s = np.array([at_s for _, at_s, _ in started])
    gpus, limit_s = (np.array([getattr(job, name) or 0.0 for *_, job in started]) for name in ("gpus", "limit_s"))
    wins: Counter[tuple[str, str]] = Counter()
    for index, (_, at_s, job) in enumerate(started):
        before = slice(max(0, index - _LOOKED), index)
        passed = (start_s[before] > at_s + SOON_S) & (gpus[before] <= gpus[index]) & (limit_s[before] <= limit_s[index])
        others = {started[before.start + place][2].qos for place in np.flatnonzero(passed)}
        wins.update((job.qos, other) for other in others - {job.qos})
    return wins
