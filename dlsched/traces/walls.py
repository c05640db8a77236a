"""Walls of a cluster as far as its record knows them: pools of nodes, limits that users set themselves, classes of jobs.

*Pools.* A partition is a pool if every job that ran names its nodes, or if the source says that the partitions share no GPUs;
partitions that ran jobs on common nodes are one. Where a partition held more GPUs than its quota, or a job has no partition that
the source knows, nothing is parted. A node has as many GPUs as were in use on it
at once, and at least as many as any other node of its pool with GPUs of the same type.

*Ready.* A job waits for GPUs from the moment on at which its user's own conditions (dependencies, begin times) let it start:
``Eligible`` where the record states it. Where it does not, a job that starts within ``SOON_S`` of the end of an earlier job of
its user is taken to have waited for that job, if GPUs enough for it were free in its pool for nearly all of its waiting, and no
job that came earlier waited for GPUs meanwhile.

*Arrays.* Of an array at most as many tasks run at once as it states. Where it states nothing, but the most that ran at once
ran nearly always when others waited though GPUs were free for them, this number is taken to be its limit.

*Classes.* The QOS of jobs, ranked by the mean of ``Priority`` where that is stated; else one is above another if its jobs
passed jobs of the other, that came before and need no more GPUs, several times as often as the other way round.
"""

import math
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import fmean

import numpy as np

from dlsched.core.arrays import BoolArray, FloatArray
from dlsched.traces.gpu_counts import most_held
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
    named = all(job.partition and (job.nodes or job.start_s is None) for job in jobs)
    if queue.nodes or not (named or _apart(queue, jobs)):
        return {"": replace(queue, pools={})}
    # partitions with a node in common are one pool
    root: dict[str, str] = {}

    def pool(partition: str) -> str:
        while root.setdefault(partition, partition) != partition:
            partition = root[partition]
        return partition

    owner: dict[str, str] = {}
    for job in jobs:
        for node in job.nodes:
            root[pool(owner.setdefault(node, job.partition))] = pool(job.partition)
    names: dict[str, list[str]] = defaultdict(list)
    for partition in sorted(root | {job.partition: "" for job in jobs}):
        names[pool(partition)].append(partition)
    if len({pool(job.partition) for job in queue.jobs}) < 2:
        return {"": replace(queue, pools={})}
    name_of = {partition: "+".join(each) for each in names.values() for partition in each}

    def within(members: Sequence[QueuedJob], name: str) -> tuple[QueuedJob, ...]:
        return tuple(job for job in members if name_of[job.partition] == name)

    found = {}
    for name in dict.fromkeys(name_of[job.partition] for job in queue.jobs):
        part = replace(
            queue,
            jobs=within(queue.jobs, name),
            others=within(queue.others, name),
            still=within(queue.still, name),
            slices=within(queue.slices, name),
        )
        quotas = [queue.pools.get(partition, 0) for partition in name_of if name_of[partition] == name]
        # a pool has a quota if all of its partitions have one
        quota = sum(quotas) if all(quotas) else 0
        words = counted("GPUs of the pool, by the quota that the file states", quota)
        found[name] = replace(
            part, nodes=tuple(_nodes(part)) if named else (), pools={name: quota}, audit=(*queue.audit, *words)
        )
    return found


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
    sizes: dict[str, int] = {type_: max(1, most_held([], on)) for type_, on in _alone(jobs, kind)}
    for job in jobs:
        # of several nodes one gives at least the mean
        on = kind[job.nodes[0]]
        sizes[on] = max(sizes.get(on, 1), math.ceil(job.parts / len(job.nodes) - 1e-9))
    # together they hold at least what was in use at once
    missing = most_held([], jobs) - sum(sizes[kind[node]] for node in kind)
    more = max(0, math.ceil(missing / max(1, len(kind))))  # a pool whose jobs all wait shows no node
    for node in sorted(kind):
        yield QueueNode(node, sizes[kind[node]] + more, kind[node])


def _alone(jobs: Sequence[QueuedJob], kind: Mapping[str, str]) -> Iterator[tuple[str, list[QueuedJob]]]:
    """For every node its type and the jobs that ran on it alone, the busiest node of a type last."""
    by_node: dict[str, list[QueuedJob]] = defaultdict(list)
    for job in jobs:
        if len(job.nodes) == 1:
            by_node[job.nodes[0]].append(job)
    yield from sorted(((kind[node], own) for node, own in by_node.items()), key=lambda each: most_held([], each[1]))


def with_walls(queue: Queue, gpus: int, ranks: Mapping[str, int]) -> Queue:
    """Add to every job of a pool of so many GPUs when it was ready, its array's limit and its rank, and to the audit how."""
    free = _Free((*queue.jobs, *queue.others, *queue.slices), gpus)
    ready, words = _ready_s(queue.jobs, free)
    limits, inferred = _limits(queue, free)
    walled = tuple(
        job._replace(wall=Wall(at_s, limits.get(job.array), ranks.get(job.qos, 0)))
        for job, at_s in zip(queue.jobs, ready, strict=True)
    )
    return replace(queue, jobs=walled, audit=(*queue.audit, *words, *inferred))


class _Free:
    """Free GPUs of a pool over time, as a step function."""

    def __init__(self, jobs: Sequence[QueuedJob], gpus: int) -> None:
        changes = [(job.start_s, job.parts) for job in jobs if job.start_s is not None]
        changes += [(job.end_s, -job.parts) for job in jobs if job.start_s is not None and job.end_s is not None]
        changes.sort()
        self._times = np.array([at_s for at_s, _ in changes])
        self._free = gpus - np.cumsum([count for _, count in changes])

    def during(self, from_s: float, to_s: float, gpus: int) -> tuple[FloatArray, Callable[[FloatArray], BoolArray]]:
        """The times at which the number of free GPUs changes, and whether as many are free at any times in between."""
        first, last = np.searchsorted(self._times, [from_s, to_s], side="right")

        def room(times: FloatArray) -> BoolArray:
            place = np.searchsorted(self._times, times, side="right") - 1
            return np.asarray((place < 0) | (self._free[place] >= gpus))

        return self._times[first:last], room

    def enough(self, gpus: int, from_s: float, to_s: float) -> bool:
        """Whether as many GPUs were free for nearly all of a time."""
        first, last = np.searchsorted(self._times, [from_s, to_s], side="right")
        steps = np.clip(np.append(self._times[max(first - 1, 0) : last], to_s), from_s, to_s)
        room = self._free[max(first - 1, 0) : last] >= gpus
        return bool((np.diff(steps)[room]).sum() >= FREE * (to_s - from_s))


def _ready_s(jobs: Sequence[QueuedJob], free: _Free) -> tuple[list[float], list[str]]:
    """When every job could start for its user, and sentences on how that is known."""
    stated = sum(job.eligible_s is not None for job in jobs)
    ready, inferred = [], 0
    ends: dict[str, list[tuple[float, float]]] = defaultdict(list)
    if not stated:
        for job in jobs:
            if job.user and job.end_s is not None:
                ends[job.user].append((job.end_s, job.submit_s))
        for own in ends.values():
            own.sort()
    blocked_s = _blocked_until(jobs, free) if not stated else {}
    for job in jobs:
        at_s = job.submit_s if job.eligible_s is None else max(job.submit_s, job.eligible_s)
        if job.start_s is not None:
            at_s = min(at_s, job.start_s)
            wait_s = job.start_s - job.submit_s
            waited = not stated and not job.array and wait_s > SOON_S
            waited = waited and blocked_s[job.id] <= job.submit_s + (1 - FREE) * wait_s
            if waited and _follows(ends[job.user], job) and free.enough(job.gpus, job.submit_s, job.start_s):
                at_s, inferred = job.start_s, inferred + 1
        ready.append(at_s)
    later = sum(at_s > job.submit_s for at_s, job in zip(ready, jobs, strict=True)) - inferred
    said = "Jobs that their users' own conditions let start only after they were sent, as the record says"
    taken = "Jobs taken to have waited for an earlier job of their user, at whose end they start though GPUs were free"
    return ready, [*counted(said, later), *counted(taken, inferred)]


def _blocked_until(jobs: Sequence[QueuedJob], free: _Free) -> dict[str, float]:
    """By id, until when jobs that came before waited for GPUs, which a strict queue lets all others wait for."""
    until_s, last_s = {}, -np.inf
    for job in sorted(jobs, key=lambda job: job.submit_s):
        until_s[job.id] = last_s
        waited = job.start_s is not None and job.start_s > job.submit_s + SOON_S
        if job.start_s is not None and waited and not free.enough(job.gpus, job.submit_s, job.start_s):
            last_s = max(last_s, job.start_s)
    return until_s


def _follows(ends: Sequence[tuple[float, float]], job: QueuedJob) -> bool:
    """Whether an earlier job of the user ended just before this one started."""
    assert job.start_s is not None
    first, last = bisect_left(ends, (job.start_s - SOON_S,)), bisect_right(ends, (job.start_s, np.inf))
    return any(submit_s <= job.submit_s and end_s > job.submit_s for end_s, submit_s in ends[first:last])


def _limits(queue: Queue, free: _Free) -> tuple[dict[str, int], list[str]]:
    """How many tasks of an array may run at once, by array, and sentences on how that is known."""
    limits, inferred = dict(queue.arrays), 0
    tasks: dict[str, list[QueuedJob]] = defaultdict(list)
    for job in queue.jobs:
        if job.array and job.start_s is not None:
            tasks[job.array].append(job)
    for array, own in tasks.items():
        changes = [(job.start_s, 1) for job in own] + [(job.end_s, -1) for job in own if job.end_s is not None]
        most = int(np.cumsum([count for _, count in sorted(changes)]).max())
        if array in limits:
            limits[array] = max(limits[array], most)
            continue
        if most < len(own) and _stopped_by(own, most, free):
            limits[array], inferred = most, inferred + 1
    words = "Arrays taken to have a limit on tasks that run at once, the number at which others waited though GPUs were free"
    return limits, [
        *counted("Arrays that say how many of their tasks may run at once", len(queue.arrays)),
        *counted(words, inferred),
    ]


def _stopped_by(tasks: Sequence[QueuedJob], most: int, free: _Free) -> bool:
    """Whether so many tasks of an array ran nearly always when others waited though GPUs were free for them."""
    ready = np.sort([job.submit_s if job.eligible_s is None else job.eligible_s for job in tasks])
    starts = np.sort([job.start_s or 0.0 for job in tasks])
    ends = np.sort([np.inf if job.end_s is None else job.end_s for job in tasks])
    times, room = free.during(ready[0], starts[-1], max(job.gpus for job in tasks))
    times = np.unique(np.concatenate([times, ready, starts, ends[ends < starts[-1]]]))
    times = times[(times >= ready[0]) & (times <= starts[-1])]
    begun, ended = np.searchsorted(starts, times, side="right"), np.searchsorted(ends, times, side="right")
    waits = np.searchsorted(ready, times, side="right") > begun
    idle = waits[:-1] & room(times[:-1])
    seconds = np.diff(times)
    total_s = float(seconds[idle].sum())
    return total_s > SOON_S and float(seconds[idle & (begun - ended >= most)[:-1]].sum()) >= _MOSTLY * total_s


def ranks_of(pools: Sequence[Queue]) -> tuple[Mapping[str, int], str]:
    """The rank of every QOS over all pools, larger first, and a sentence on it; none where no class is served first."""
    jobs = [job for pool in pools for job in pool.jobs]
    names = sorted({job.qos for job in jobs})
    stated = {name: [job.priority for job in jobs if job.qos == name and job.priority is not None] for name in names}
    if all(stated.values()):
        means = {name: fmean(stated[name]) for name in names}
        above = {name: sum(means[other] < means[name] for other in names) for name in names}
        how = "the mean of Priority"
    else:
        wins = sum((_passes(pool.jobs) for pool in pools), Counter())
        above = {
            name: sum(wins[name, other] >= max(_FEWEST, _CLEARLY * wins[other, name]) for other in names)
            for name in names
        }
        how = "whose jobs passed whose"
    if not any(above.values()):
        return {}, ""
    order = " < ".join(name or "(none)" for name in sorted(names, key=above.__getitem__))
    return above, f"Classes of jobs (QOS) by {how}, the first served last in this list: {order}."


def _passes(jobs: Sequence[QueuedJob]) -> Counter[tuple[str, str]]:
    """How often a job of one class passed one of another that came before, needs no more GPUs and no longer by its limit."""
    # tasks of arrays may wait for each other
    started = [job for job in jobs if job.start_s is not None and not job.array]
    ready_s = np.array([job.submit_s if job.eligible_s is None else job.eligible_s for job in started])
    start_s, gpus, limit_s = (
        np.array([getattr(job, name) or 0.0 for job in started]) for name in ("start_s", "gpus", "limit_s")
    )
    wins: Counter[tuple[str, str]] = Counter()
    order = np.argsort(ready_s, kind="stable")
    sorted_s = ready_s[order]
    for index, job in enumerate(started):
        before = order[: np.searchsorted(sorted_s, ready_s[index])][-_LOOKED:]
        easier = (gpus[before] <= gpus[index]) & (limit_s[before] <= limit_s[index])
        for other in {started[place].qos for place in before[(start_s[before] > start_s[index] + SOON_S) & easier]}:
            if other != job.qos:
                wins[job.qos, other] += 1
    return wins
