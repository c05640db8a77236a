"""One decision for a queue at one moment, as actions: jobs start, stay, change their GPUs, stop or wait."""

import math
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from dlsched import elastic_stream
from dlsched.advice.answer import solved
from dlsched.advice.cluster_nodes import ClusterState, standing
from dlsched.advice.gang_decision import next_gangs, planned_gangs
from dlsched.core.errors import UsageError
from dlsched.elastic_stream.solution import Stream
from dlsched.ring_allocation.solution import Allocation
from dlsched.srpt_mapping.named_policies import POLICIES
from dlsched.traces.gpu_counts import gpus_of_cluster
from dlsched.traces.makers.ring_allocation import SCALING, Counts, allocation_at, counts_of
from dlsched.traces.queue import GPUS_OF_A_SERVER, Queue
from dlsched.traces.snapshot import Present, Snapshot, snapshot

DEFAULTS: Final[Mapping[str, str]] = {
    "srpt_mapping": "work-backfill",
    "ring_allocation": "exact",
    "elastic_stream": "marginal",
}
"""Default method by family."""


class Action(NamedTuple):
    """The action for a job.

    Parameters
    ----------
    job
        Its id.
    action
        ``start``, ``keep``, ``resize``, ``stop``, ``wait``.
    gpus
        GPUs that it has afterwards: 0 if it stops; for a waiting job, the GPUs that it asks for.
    nodes
        GPUs by node; empty if the method does not place jobs, or the file does not name nodes.
    time_s
        Time on the clock of the queue: the moment of the decision; for a waiting job its expected start if
        no other job comes. None: unknown.
    """

    job: str
    action: str
    gpus: int
    nodes: Mapping[str, int]
    time_s: float | None


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
    """Make one decision for a queue.

    Parameters
    ----------
    queue
        The queue, read with its running and waiting jobs.
    family
        ``srpt_mapping``: jobs need exactly their GPUs; a policy starts and places them, and running jobs
        stay. ``ring_allocation``: counts of GPUs for this moment. ``elastic_stream``: counts that a policy
        or a planning method gives the present jobs.
    method
        A method of the family, or FILE.py:NAME; None: from ``DEFAULTS``. Policies of srpt_mapping know when
        jobs came.
    gpus, gpus_of_node
        GPUs of the cluster (None: as ``gpus_of_cluster``), and of a node for which the source gives none.
    at_s, estimates
        As ``snapshot``.
    movable, restart_s
        Whether running jobs may get other counts, and the seconds that a change costs; not in srpt_mapping.
    scaling, max_gpus
        As ``counts_of``, None: published; not in srpt_mapping.

    Raises
    ------
    UsageError
        An option out of range, or fewer GPUs than the running jobs hold.
    InputError
        There is no job.
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
                raise UsageError(
                    where=name,
                    found=f"{value} with srpt_mapping, whose jobs run to their end",
                    allowed="no such option",
                )
    method = DEFAULTS[family] if method is None else method
    found = snapshot(queue, at_s, estimates=estimates)
    total, said = gpus_of_cluster(queue, found.held_gpus, gpus)
    now = standing(queue, found, total, gpus_of_node)
    if family == "srpt_mapping":
        if movable:
            raise UsageError(
                where="movable", found="it with srpt_mapping, whose jobs run to their end", allowed="another family"
            )
        starts, words = (
            next_gangs(queue, found, now, method) if method in POLICIES else planned_gangs(found, now, method)
        )
        actions = [
            Action(each.job.id, "keep", each.job.gpus, now.stays(each.job.id), found.at_s)
            if each.running
            else _gang(each, starts.get(each.job.id), now, found.at_s)
            for each in found.everyone
        ]
    else:
        counts, later, words = _SHARED[family](
            found, total, method, movable, restart_s, counts_of(scaling or SCALING[0], max_gpus)
        )
        actions = [_changed(each, counts.get(each.job.id, 0), later, now, found.at_s) for each in found.everyone]
    audit = (*queue.audit, *found.audit, *said, *now.audit, *words)
    return Advice(found.at_s, family, method, total, sum(now.free.values()), tuple(actions), audit)


def _gang(each: Present, start: tuple[float, Mapping[str, int]] | None, now: ClusterState, at_s: float) -> Action:
    if start is None:
        return Action(each.job.id, "wait", each.job.gpus, {}, None)
    later_s, nodes = start
    if later_s == 0:
        return Action(each.job.id, "start", each.job.gpus, now.known(nodes), at_s)
    return Action(each.job.id, "wait", each.job.gpus, {}, at_s + later_s)


def _changed(each: Present, count: int, later: Mapping[str, float], now: ClusterState, at_s: float) -> Action:
    """Return the action that changes a job's GPUs to ``count``."""
    name, held = each.job.id, each.job.gpus if each.running else 0
    if count == held and held:
        return Action(name, "keep", held, now.stays(name), at_s)
    if count:
        return Action(name, "resize" if held else "start", count, {}, at_s)
    if held:
        return Action(name, "stop", 0, {}, at_s)
    return Action(name, "wait", each.job.gpus, {}, at_s + later[name] if name in later else None)


Shared = tuple[dict[str, int], dict[str, float], list[str]]
"""GPUs by job; expected starts of other jobs, in seconds from now; sentences of the audit."""


def _by_allocation(found: Snapshot, gpus: int, method: str, movable: bool, restart_s: float, counts: Counts) -> Shared:
    instance, _, said = allocation_at(found, gpus, counts, pinned=not movable, restart_s=restart_s)
    solution = solved(instance, method)
    assert isinstance(solution, Allocation)
    return dict(solution.gpus), {}, [*said, _pinned(movable, restart_s)]


def _by_stream(found: Snapshot, gpus: int, method: str, movable: bool, restart_s: float, counts: Counts) -> Shared:
    kept = {} if movable else {each.job.id: each.job.gpus for each in found.running}
    units = gpus - len(found.outside) - sum(kept.values())
    able = [each for each in found.jobs if each.job.id not in kept and min(counts(each)) <= units]
    if not able:
        return kept, {}, [_pinned(movable, restart_s)]
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
    first = {name: periods[0] for name, periods in solution.periods.items() if periods}
    given = {name: period.units for name, period in first.items() if period.start_s <= 0}
    later = {name: period.start_s for name, period in first.items() if period.start_s > 0}
    said = "The method sees the jobs as if they had just come; what a change costs is charged from a job's second period on."
    return kept | given, later, [_pinned(movable, restart_s), said]


_SHARED: Mapping[str, Callable[[Snapshot, int, str, bool, float, Counts], Shared]] = {
    "ring_allocation": _by_allocation,
    "elastic_stream": _by_stream,
}


def _pinned(movable: bool, restart_s: float) -> str:
    return (
        f"A change of its GPUs costs a job that runs {restart_s:g} s." if movable else "Jobs that run keep their GPUs."
    )
