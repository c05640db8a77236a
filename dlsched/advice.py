"""One decision for a queue at one moment, as actions: jobs start, stay, change their GPUs, stop or wait."""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import Final, NamedTuple

from dlsched import elastic_stream
from dlsched.core.errors import UsageError
from dlsched.core.instance import InstanceFile
from dlsched.core.result import Solution
from dlsched.elastic_stream.solution import Stream
from dlsched.families import family_of
from dlsched.ring_allocation.solution import Allocation
from dlsched.solving import method_named, solve
from dlsched.srpt_mapping.dispatching import Begun
from dlsched.srpt_mapping.heuristics import POLICIES
from dlsched.srpt_mapping.instance import Instance, Server
from dlsched.srpt_mapping.solution import Schedule, Share, Start
from dlsched.traces.consolidation import shown_by_nodes
from dlsched.traces.gpu_counts import GPUS_OF_A_SERVER, gpus_of_cluster
from dlsched.traces.makers.ring_allocation import SCALING, Counts, allocation_at, counts_of
from dlsched.traces.makers.srpt_mapping import cluster
from dlsched.traces.queue import Queue, QueuedJob, counted
from dlsched.traces.recorded_schedule import Free, Rooms
from dlsched.traces.snapshot import Present, Snapshot, snapshot
from dlsched.traces.walls import pools_of


def solved(instance: InstanceFile, method: str) -> Solution:
    """The solution of a method, given by its name or as ``file.py:function``; UsageError: none, or it only bounds."""
    chosen = method_named(family_of(instance), method)
    if chosen.kind == "bound":
        raise UsageError(
            where="method", found=f"{method!r}, which bounds and does not decide", allowed="another method"
        )
    result = solve(instance, method=chosen)
    if result.solution is None:
        raise UsageError(
            where="method", found=f"{method!r}, which has no answer here ({result.status})", allowed="another method"
        )
    return result.solution


class ClusterState(NamedTuple):
    """Where running jobs stand, and audit sentences."""

    nodes: Mapping[str, int]  # GPUs by node
    placed: Mapping[str, Mapping[str, int]]  # GPUs by node of every running job, by id
    assumed: frozenset[str]  # nodes of which nothing is known
    homeless: frozenset[str]  # jobs whose nodes are unknown or full
    audit: tuple[str, ...]
    consolidated: bool = False  # jobs that start are on as few nodes as hold them when empty

    @property
    def free(self) -> dict[str, int]:
        """GPUs that no job holds, by node."""
        free = Counter(self.nodes)
        for nodes_of_job in self.placed.values():
            free.subtract(nodes_of_job)
        return dict(free)

    def known(self, room: Mapping[str, int]) -> dict[str, int]:
        """GPUs by node for an action; empty if a node has no name of its own."""
        return {} if self.assumed.intersection(room) else dict(room)

    def stays(self, job: str) -> dict[str, int]:
        """Known placement of a running job; empty if unknown."""
        return {} if job in self.homeless else self.known(self.placed[job])


def standing(queue: Queue, moment: Snapshot, gpus: int, gpus_of_node: int) -> ClusterState:
    """Place running and left-out jobs on their recorded nodes, with GPUs spread evenly over several nodes.

    Nodes are those that the source lists, or else those on which jobs are recorded, with ``gpus_of_node`` GPUs each. Nodes with
    running jobs come first, as many as hold ``gpus``; unnamed nodes are added if these are too few. A job whose nodes are
    unknown or full is placed on the emptiest nodes. Of nodes that take no jobs only what is held counts.
    """
    needed = moment.held_gpus
    if needed > gpus:
        raise UsageError(where="gpus", found=f"{gpus:,}", allowed=f"at least {needed:,}, which jobs that run hold")
    sizes, assumed, audit = _nodes(queue, moment, gpus, gpus_of_node)
    free = Free([Server(id=name, gpus=size) for name, size in sizes.items()])
    placed: dict[str, dict[str, int]] = {}
    closed = {node.id for node in queue.nodes if node.closed} & sizes.keys()
    homeless = []

    def stand(each: Present, rooms: Rooms) -> None:
        free.take(rooms, math.inf)
        placed[each.job.id] = {free.names[place]: count for place, count in rooms}

    # Jobs on recorded nodes first; the others take what these leave.
    for each in moment.holding:
        rooms = free.recorded(each.job.nodes, each.job.gpus)
        if rooms is None:
            homeless.append(each)
        else:
            stand(each, rooms)
    for each in homeless:
        emptiest = sorted(free.index, key=lambda name: (name in closed, -free.free[free.index[name]]))
        stand(each, free.filled([free.index[name] for name in emptiest], each.job.gpus))
    # of a node that takes no jobs there is what jobs hold
    nodes = {name: size - int(free.free[free.index[name]]) if name in closed else size for name, size in sizes.items()}
    audit += counted("Nodes that are down or drained, on which no job starts", len(closed))
    outside = sum(each in moment.outside for each in homeless)
    for words, number in (("Jobs that run", len(homeless) - outside), ("GPUs of jobs left out", outside)):
        audit += counted(
            f"{words} on nodes that are not listed or have no such room, assumed to stand on the emptiest", number
        )
    shown = [] if assumed else shown_by_nodes(queue.jobs, sizes.values())
    unknown = frozenset(each.job.id for each in homeless)
    return ClusterState(nodes, placed, frozenset(assumed), unknown, (*audit, *shown), bool(shown))


def _nodes(
    queue: Queue, moment: Snapshot, gpus: int, gpus_of_node: int
) -> tuple[dict[str, int], dict[str, int], list[str]]:
    """GPUs by node, ``gpus`` in all; the nodes with invented names; and sentences about them."""
    listed = {node.id: node.gpus for node in queue.nodes if node.gpus}
    busy = [name for each in moment.holding for name in each.job.nodes]
    names = [*busy, *listed] if listed else [*busy, *(name for job in queue.jobs for name in job.nodes)]
    nodes: dict[str, int] = {}
    remaining = gpus
    # Nodes with running jobs come first, until the cluster is full.
    for name in dict.fromkeys(names):
        size = min(remaining, listed.get(name, 0) if listed else gpus_of_node)
        if size:
            nodes[name] = size
            remaining -= size
    audit = [] if listed or not nodes else [f"Nodes are those that jobs were on, of {gpus_of_node} GPUs each."]
    assumed: dict[str, int] = {}
    names_left = (f"s{index}" for index in count())
    while remaining:
        name = next(name for name in names_left if name not in nodes)
        assumed[name] = min(remaining, gpus_of_node)
        remaining -= assumed[name]
    audit += counted(f"GPUs on unlisted nodes, {gpus_of_node} each", sum(assumed.values()))
    return nodes | assumed, assumed, audit


# Policies whose order depends on ended jobs: their virtual machine runs since the first job of the file
LOOK_BACK: Final = frozenset(name for name in POLICIES if name.startswith("a-srpt"))

Starts = dict[str, tuple[float, Mapping[str, int]]]


def next_gangs(queue: Queue, moment: Snapshot, now: ClusterState, policy: str) -> tuple[Starts, list[str]]:
    """Each waiting job's seconds to its start if no other comes, its GPUs by node, and the audit.

    The jobs that start at the moment are the policy's decision: none of ``POLICIES`` looks ahead. Jobs that need more
    GPUs than the cluster has are left out.
    """
    total = sum(now.nodes.values())
    there = (*moment.holding, *moment.waiting)
    lengths_s = {each.job.id: (each.job, each.length_s) for each in there if each.job.gpus <= total}
    present = {each.job.id for each in (*there, *moment.held_back)}
    gone = [job for job in queue.jobs if job.id not in present and job.duration_s is not None and job.gpus <= total]
    past = [job for job in gone if job.submit_s <= moment.at_s] if policy in LOOK_BACK else []
    lengths_s |= {job.id: (job, job.duration_s or 0.0) for job in past}
    words = _words(moment, total)
    if past:
        words.append(f"The policy looks back on {len(past):,} jobs that have ended.")
    if not any(each.job.id in lengths_s for each in moment.waiting):
        return {}, words
    # Times on the clock of the policy, which begins with the first job that it sees.
    zero_s = min(job.submit_s for job, _ in lengths_s.values())
    instance = _instance(
        now, [_gang_record(job, length_s, job.submit_s - zero_s) for job, length_s in lengths_s.values()]
    )
    starts = {each.job.id: Start(moment.at_s - each.ran_s - zero_s, _shares(each, now)) for each in moment.holding}
    starts |= {job.id: Start(job.submit_s - zero_s, ()) for job in past}
    schedule = POLICIES[policy](instance, begun=Begun(moment.at_s - zero_s, starts))
    assert schedule is not None
    return _from_now(moment, schedule, moment.at_s - zero_s), words


def planned_gangs(moment: Snapshot, now: ClusterState, method: str) -> tuple[Starts, list[str]]:
    """Like ``next_gangs``, by any method, which sees waiting jobs as if they came now, in order; errors as ``solved``."""
    total = sum(now.nodes.values())
    words = [
        *_words(moment, total),
        "The method sees jobs that wait as if they had just come, in the order in which they did.",
    ]
    fit = [each for each in moment.waiting if each.job.gpus <= total]
    if not fit:
        return {}, words
    running = [
        _gang_record(each.job, each.left_s, 0.0) | {"begun": [share.as_data() for share in _shares(each, now)]}
        for each in moment.holding
    ]
    schedule = solved(_instance(now, [*running, *(_gang_record(each.job, each.left_s, 0.0) for each in fit)]), method)
    assert isinstance(schedule, Schedule)
    return _from_now(moment, schedule, 0.0), words


def _words(moment: Snapshot, total: int) -> list[str]:
    unfit = sum(each.job.gpus > total for each in moment.jobs)
    return [
        "Jobs that run stay where they are until they end, and those that start run to their end, wherever they are as fast.",
        *counted(f"Jobs that need more than the {total:,} GPUs of the cluster, which wait for ever", unfit),
    ]


def _shares(each: Present, now: ClusterState) -> tuple[Share, ...]:
    return tuple(Share(0, node, gpus) for node, gpus in now.placed[each.job.id].items())


def _instance(now: ClusterState, jobs: Sequence[Mapping[str, object]]) -> Instance:
    instance = cluster("now", None, [Server(id=name, gpus=gpus) for name, gpus in now.nodes.items()], jobs)
    return instance.consolidating() if now.consolidated else instance


def _from_now(moment: Snapshot, schedule: Schedule, now_s: float) -> Starts:
    """The starts of the waiting jobs; ``now_s`` is the moment on the clock of the schedule."""
    starts = {each.job.id: schedule.jobs[each.job.id] for each in moment.waiting if each.job.id in schedule.jobs}
    return {
        name: (max(0.0, start.start_s - now_s), {share.server: share.replicas for share in start.placement})
        for name, start in starts.items()
    }


def _gang_record(job: QueuedJob, length_s: float, release_s: float) -> dict[str, object]:
    """Make a gang with iterations of one second and no data exchange; a shorter gang has one iteration."""
    compute_s = min(1.0, length_s)
    return {
        "id": job.id,
        "release_s": release_s,
        "iterations": max(1.0, length_s),
        "stages": [{"replicas": job.gpus, "compute_s": compute_s, "output_bytes": 0.0, "parameter_bytes": 0.0}],
    }


# Method by family, if none is asked for
DEFAULTS: Final[Mapping[str, str]] = {
    "srpt_mapping": "work-backfill",
    "ring_allocation": "exact",
    "elastic_stream": "marginal",
}


class Action(NamedTuple):
    """The action for a job."""

    job: str
    action: str  # start, keep, resize, stop, wait
    gpus: int  # that it has afterwards: 0 if it stops; of a waiting job those that it asks for
    nodes: Mapping[str, int]  # GPUs by node; empty if the method does not place jobs, or the file names no nodes
    time_s: float | None
    """On the clock of the queue, the moment of the decision; of a waiting job its expected start if no other job comes."""


class Advice(NamedTuple):
    """The actions, running jobs first, and their basis; ``free``: GPUs that no job held before."""

    at_s: float
    family: str
    method: str
    gpus: int
    free: int
    actions: tuple[Action, ...]
    audit: tuple[str, ...]


def decide(
    queue: Queue,
    *,
    family: str = "srpt_mapping",
    method: str | None = None,
    gpus: int | None = None,
    gpus_of_node: int = GPUS_OF_A_SERVER,
    at_s: float | None = None,
    estimates: bool = False,
    movable: bool = False,
    restart_s: float = 0.0,
    scaling: str | None = None,
    max_gpus: int | None = None,
) -> Advice:
    """Make one decision for a queue, read with its running and waiting jobs.

    ``family``: ``srpt_mapping``: jobs need exactly their GPUs; a policy starts and places them, and running jobs stay.
    ``ring_allocation``: counts of GPUs for this moment. ``elastic_stream``: counts that a policy or a planning method
    gives the present jobs. ``method``: a method of the family, or FILE.py:NAME; None: from ``DEFAULTS``. Policies of
    srpt_mapping know when jobs came. ``gpus``, ``gpus_of_node``: GPUs of the cluster (None: as ``gpus_of_cluster``), and
    of a node for which the source gives none. ``at_s``, ``estimates``: as ``snapshot``. ``movable``, ``restart_s``:
    whether running jobs may get other counts, and the seconds that a change costs. ``scaling``, ``max_gpus``: as
    ``counts_of``, None: published.

    UsageError: an option out of range, or fewer GPUs than the running jobs hold. InputError: there is no job.
    """
    if family not in DEFAULTS:
        raise UsageError(where="family", found=repr(family), allowed=", ".join(DEFAULTS))
    if not 0 <= restart_s < math.inf:
        raise UsageError(where="restart", found=restart_s, allowed="a number >= 0")
    if gpus_of_node < 1:
        raise UsageError(where="gpus_of_node", found=gpus_of_node, allowed="an integer >= 1")
    if family == "srpt_mapping":
        for name, value in (("movable", movable), ("restart", restart_s), ("scaling", scaling), ("max_gpus", max_gpus)):
            if value:
                found = f"{value} with srpt_mapping, whose jobs run to their end"
                raise UsageError(where=name, found=found, allowed="no such option")
    if queue.sliced:
        raise UsageError(where="slices", found="parts", allowed="leave-out or whole for one decision")
    method = DEFAULTS[family] if method is None else method
    several = [job for job in queue.jobs if job.start_s is None and "," in job.partition]
    notes = counted("Jobs that wait for any of several partitions, assumed to wait for the first", len(several))
    if several:
        jobs = (
            job._replace(partition=job.partition.split(",")[0]) if job.start_s is None else job for job in queue.jobs
        )
        queue = replace(queue, jobs=tuple(jobs))
    moment = snapshot(queue, at_s, estimates=estimates)
    pools = pools_of(queue) if family == "srpt_mapping" else {"": queue}
    # pools without nodes cannot say where a job starts
    if not any(part.nodes for part in pools.values()):
        pools = {"": queue}
    alone = len(pools) == 1
    states, words_of, action_of = [], list[tuple[str, list[str]]](), dict[str, Action]()
    # each pool decides by itself, on its nodes as they are
    for name, part in pools.items():
        own = moment if alone else _within(moment, part)
        # GPUs that slices share may need more whole ones than the record shows in use
        total, size_notes = max(sum(node.gpus for node in part.nodes), own.held_gpus), list[str]()
        if alone:
            total, size_notes = gpus_of_cluster(part, own.held_gpus, gpus)
        now = standing(part, own, total, gpus_of_node)
        total = sum(now.nodes.values())
        if family == "srpt_mapping":
            actions, words = _gangs(part, own, now, method)
        else:
            counts, later, words = _SHARED[family](
                own, total, method, movable, restart_s, counts_of(scaling or SCALING[0], max_gpus)
            )
            actions = [_changed(each, counts.get(each.job.id, 0), later, now, own.at_s) for each in own.everyone]
        states.append(now)
        words_of.append((name, [*size_notes, *now.audit, *words]))
        action_of |= {each.job: each for each in actions}
    doubts, read = _doubts(moment, states), [*(part.audit if alone else queue.audit), *moment.audit]
    total = sum(sum(now.nodes.values()) for now in states)
    if not alone:
        sizes = ", ".join(f"{name} ({sum(now.nodes.values()):,} GPUs)" for name, now in zip(pools, states, strict=True))
        shown = "listed" if queue.nodes else "the record shows"
        read += [*notes, f"Jobs start only on nodes of their partitions, of as many GPUs as {shown}: {sizes}."]
        if gpus not in (None, total):
            asked = f"Warning: {gpus:,} GPUs are asked for, but the pools of the record have {total:,}, which are used."
            doubts.append(asked)
    common = [text for text in words_of[0][1] if all(text in words for _, words in words_of)]
    said = [f"Pool {name}: {text}" for name, words in words_of for text in words if text not in common]
    return Advice(
        moment.at_s,
        family,
        method,
        total,
        sum(sum(now.free.values()) for now in states),
        tuple(action_of[each.job.id] for each in moment.everyone),
        (*doubts, *read, *common, *said),
    )


def _within(moment: Snapshot, part: Queue) -> Snapshot:
    """Those that are present in a pool."""
    partitions = {job.partition for job in (*part.jobs, *part.others, *part.still, *part.slices)}
    jobs, back, outside = (
        tuple(each for each in group if each.job.partition in partitions)
        for group in (moment.jobs, moment.held_back, moment.outside)
    )
    return moment._replace(jobs=jobs, held_back=back, outside=outside)


def _gangs(queue: Queue, moment: Snapshot, now: ClusterState, method: str) -> tuple[list[Action], list[str]]:
    """The actions for jobs that run to their end, and the audit."""
    known = method in POLICIES
    starts, words = next_gangs(queue, moment, now, method) if known else planned_gangs(moment, now, method)
    return [
        Action(each.job.id, "keep", each.job.gpus, now.stays(each.job.id), moment.at_s)
        if each.running
        else _gang_action(each, starts.get(each.job.id), now, moment.at_s)
        for each in moment.everyone
    ], words


def _doubts(moment: Snapshot, states: Sequence[ClusterState]) -> list[str]:
    """Warnings of what the record tells wrongly of the moment."""
    homeless = frozenset[str]().union(*(now.homeless for now in states))
    named = [each for each in moment.holding if each.job.id in homeless and each.job.nodes]
    twice = sum(len(set(each.job.nodes)) < len(each.job.nodes) for each in named)
    future = sum(each.job.start_s is not None and each.job.end_s is None for each in moment.waiting)
    return [
        *counted("Warning: running jobs whose record names a node twice", twice),
        *counted(
            "Warning: jobs that run on nodes on which others hold the GPUs that they would need", len(named) - twice
        ),
        *counted("Warning: jobs whose start is after that moment, assumed to wait", future),
    ]


def _gang_action(
    each: Present, start: tuple[float, Mapping[str, int]] | None, now: ClusterState, at_s: float
) -> Action:
    if start is None:
        return Action(each.job.id, "wait", each.job.gpus, {}, None)
    later_s, nodes = start
    if later_s == 0:
        return Action(each.job.id, "start", each.job.gpus, now.known(nodes), at_s)
    return Action(each.job.id, "wait", each.job.gpus, {}, at_s + later_s)


def _changed(each: Present, count: int, later: Mapping[str, float], now: ClusterState, at_s: float) -> Action:
    """Return the action that changes a job's GPUs to ``count``."""
    name, current = each.job.id, each.job.gpus if each.running else 0
    if count == current and current:
        return Action(name, "keep", current, now.stays(name), at_s)
    if count:
        return Action(name, "resize" if current else "start", count, {}, at_s)
    if current:
        return Action(name, "stop", 0, {}, at_s)
    return Action(name, "wait", each.job.gpus, {}, at_s + later[name] if name in later else None)


Shared = tuple[dict[str, int], dict[str, float], list[str]]
"""GPUs by job; expected starts of other jobs, in seconds from now; sentences of the audit."""


def _by_allocation(moment: Snapshot, gpus: int, method: str, movable: bool, restart_s: float, counts: Counts) -> Shared:
    instance, _, notes = allocation_at(moment, gpus, counts, pinned=not movable, restart_s=restart_s)
    solution = solved(instance, method)
    assert isinstance(solution, Allocation)
    return dict(solution.gpus), {}, [*notes, _pinned(movable, restart_s)]


def _by_stream(moment: Snapshot, gpus: int, method: str, movable: bool, restart_s: float, counts: Counts) -> Shared:
    pinned = {} if movable else {each.job.id: each.job.gpus for each in moment.running}
    units = gpus - len(moment.outside) - sum(pinned.values())
    able = [each for each in moment.jobs if each.job.id not in pinned and min(counts(each)) <= units]
    if not able:
        return pinned, {}, [_pinned(movable, restart_s)]
    jobs = [
        {
            "id": each.job.id,
            "arrival_s": 0.0,
            "epochs": each.left_s,
            "epoch_time_s": counts(each),
            "restart_s": restart_s,
        }
        for each in able
    ]
    solution = solved(elastic_stream.Instance(name="now", units=units, jobs=jobs), method)
    assert isinstance(solution, Stream)
    # Only the first period of each job is advice: the rest is decided when it comes.
    first = {name: periods[0] for name, periods in solution.periods.items() if periods}
    allocation = {name: period.units for name, period in first.items() if period.start_s <= 0}
    later = {name: period.start_s for name, period in first.items() if period.start_s > 0}
    note = "The method sees the jobs as if they had just come; what a change costs is charged from a job's second period on."
    return pinned | allocation, later, [_pinned(movable, restart_s), note]


_SHARED: Mapping[str, Callable[[Snapshot, int, str, bool, float, Counts], Shared]] = {
    "ring_allocation": _by_allocation,
    "elastic_stream": _by_stream,
}


def _pinned(movable: bool, restart_s: float) -> str:
    return (
        f"A change of its GPUs costs a job that runs {restart_s:g} s." if movable else "Running jobs keep their GPUs."
    )
