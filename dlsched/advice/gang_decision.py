"""Decides which gangs of a queue start at a moment, and where, by policies and methods of srpt_mapping."""

from collections.abc import Mapping, Sequence
from typing import Final

from dlsched.advice.answer import solved
from dlsched.advice.cluster_nodes import ClusterState
from dlsched.srpt_mapping.dispatching.dispatch import Begun
from dlsched.srpt_mapping.instance import Instance, Server
from dlsched.srpt_mapping.named_policies import POLICIES
from dlsched.srpt_mapping.solution import Schedule, Share, Start
from dlsched.traces.gangs import INTRA_BANDWIDTH_BYTES_PER_S, NIC_BANDWIDTH_BYTES_PER_S
from dlsched.traces.queue import Queue, QueuedJob
from dlsched.traces.snapshot import Present, Snapshot

LOOK_BACK: Final = frozenset(name for name in POLICIES if name.startswith("a-srpt"))
"""Policies whose order depends on ended jobs: their virtual machine runs since the first job of the file."""

Starts = dict[str, tuple[float, Mapping[str, int]]]


def next_gangs(queue: Queue, found: Snapshot, now: ClusterState, policy: str) -> tuple[Starts, list[str]]:
    """Return each waiting job's seconds to its start if no other comes, its GPUs by node, and the audit.

    The jobs that start at the moment are the policy's decision: none of ``POLICIES`` looks ahead. Jobs that
    need more GPUs than the cluster has are left out. Jobs exchange no data, and their remaining time is that
    of the snapshot.
    """
    total = sum(now.nodes.values())
    there = (*found.holding, *found.waiting)
    lengths_s = {each.job.id: (each.job, each.length_s) for each in there if each.job.gpus <= total}
    present = {each.job.id for each in (*there, *found.held_back)}
    gone = [job for job in queue.jobs if job.id not in present and job.duration_s is not None and job.gpus <= total]
    past = [job for job in gone if job.submit_s <= found.at_s] if policy in LOOK_BACK else []
    lengths_s |= {job.id: (job, job.duration_s or 0.0) for job in past}
    words = _words(found, total)
    if past:
        words.append(f"The policy looks back on {len(past):,} jobs that have ended.")
    if not any(each.job.id in lengths_s for each in found.waiting):
        return {}, words
    zero_s = min(job.submit_s for job, _ in lengths_s.values())
    instance = _instance(now, [_gang(job, length_s, job.submit_s - zero_s) for job, length_s in lengths_s.values()])
    starts = {each.job.id: Start(found.at_s - each.ran_s - zero_s, _shares(each, now)) for each in found.holding}
    starts |= {job.id: Start(job.submit_s - zero_s, ()) for job in past}
    schedule = POLICIES[policy](instance, begun=Begun(found.at_s - zero_s, starts))
    assert schedule is not None
    return _from_now(found, schedule, found.at_s - zero_s), words


def planned_gangs(found: Snapshot, now: ClusterState, method: str) -> tuple[Starts, list[str]]:
    """Like ``next_gangs``, by any method, which sees waiting jobs as if they came now, in order of arrival.

    Raises
    ------
    UsageError
        As ``solved``.
    """
    total = sum(now.nodes.values())
    words = [
        *_words(found, total),
        "The method sees jobs that wait as if they had just come, in the order in which they did.",
    ]
    fit = [each for each in found.waiting if each.job.gpus <= total]
    if not fit:
        return {}, words
    running = [
        _gang(each.job, each.left_s, 0.0) | {"begun": [share._asdict() for share in _shares(each, now)]}
        for each in found.holding
    ]
    schedule = solved(_instance(now, [*running, *(_gang(each.job, each.left_s, 0.0) for each in fit)]), method)
    assert isinstance(schedule, Schedule)
    return _from_now(found, schedule, 0.0), words


def _words(found: Snapshot, total: int) -> list[str]:
    unfit = sum(each.job.gpus > total for each in found.jobs)
    return [
        "Jobs that run stay where they are until they end, and those that start run to their end, wherever they are as fast.",
        *(
            [f"Jobs that need more than the {total:,} GPUs of the cluster, which wait for ever: {unfit:,}."]
            if unfit
            else []
        ),
    ]


def _shares(each: Present, now: ClusterState) -> tuple[Share, ...]:
    return tuple(Share(0, node, gpus) for node, gpus in now.held[each.job.id].items())


def _instance(now: ClusterState, jobs: Sequence[Mapping[str, object]]) -> Instance:
    return Instance(
        name="now",
        intra_bandwidth_bytes_per_s=INTRA_BANDWIDTH_BYTES_PER_S,
        nic_bandwidth_bytes_per_s=NIC_BANDWIDTH_BYTES_PER_S,
        servers=[Server(id=name, gpus=gpus) for name, gpus in now.nodes.items()],
        jobs=jobs,
    )


def _from_now(found: Snapshot, schedule: Schedule, now_s: float) -> Starts:
    """Return the starts of the waiting jobs; ``now_s`` is the moment on the clock of the schedule."""
    starts = {each.job.id: schedule.jobs[each.job.id] for each in found.waiting if each.job.id in schedule.jobs}
    return {
        name: (max(0.0, start.start_s - now_s), {share.server: share.replicas for share in start.placement})
        for name, start in starts.items()
    }


def _gang(job: QueuedJob, length_s: float, release_s: float) -> dict[str, object]:
    """Make a gang with iterations of one second and no data exchange; a shorter gang has one iteration."""
    compute_s = min(1.0, length_s)
    return {
        "id": job.id,
        "release_s": release_s,
        "iterations": max(1.0, length_s),
        "stages": [{"replicas": job.gpus, "compute_s": compute_s, "output_bytes": 0.0, "parameter_bytes": 0.0}],
    }
