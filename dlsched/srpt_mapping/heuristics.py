"""The policies: A-SRPT and its baselines. Each sees predicted iterations only; guarantees stand in ``guarantees``.

=======================  =============================================================================================
policy                   order of the queue
=======================  =============================================================================================
``a_srpt``               predicted completion on the virtual machine of speed 1, which runs job i as n~_i g_i alpha_i / G
                         seconds by preemptive SRPT; jobs join when they complete there
``shortest_first``       predicted length n~_i alpha_i
``least_work_first``     predicted work n~_i g_i alpha_i
``fifo``                 release (least attained service is the same here, as nothing is preempted)
=======================  =============================================================================================

Each may let communication-heavy jobs wait for a better placement (``dispatch.Waiting``), as A-SRPT does; ``PATIENT``, with
``compact``, is ours: at 10 times the length of a job waiting pays for almost every one.

alpha_i: ``placed``, what ``compact`` reaches on the empty servers, never more than Heavy-Edge there; it stands for the
paper's alpha^min, the best placement there, and may be more. Or ``low``, the closed form alpha^low, with which A-SRPT has
its guarantee.
"""

from collections.abc import Callable, Mapping

import numpy as np

from dlsched.algorithms.srpt import srpt_completions
from dlsched.cluster.job_graph import JobGraph
from dlsched.core.errors import UsageError
from dlsched.srpt_mapping.certificate import Tick, no_tick
from dlsched.srpt_mapping.checker import infeasible
from dlsched.srpt_mapping.clock import on_clock_of, on_own_clock
from dlsched.srpt_mapping.dispatching.dispatch import Waiting, dispatch
from dlsched.srpt_mapping.placing.heavy_edge import Rule, compact, heavy_edge, in_order
from dlsched.srpt_mapping.instance import Instance, Job
from dlsched.srpt_mapping.placing.servers import Servers, require_placeable
from dlsched.srpt_mapping.solution import Schedule

PLACES: Mapping[str, Rule] = {"heavy-edge": heavy_edge, "compact": compact}
SPEEDS = ("placed", "low")
PATIENT = Waiting(threshold=1.2, patience=10.0, quality=1.2)


def a_srpt(
    instance: Instance,
    *,
    waiting: Waiting | None = Waiting(),  # noqa: B008  frozen
    backfill: bool = False,
    speeds: str = "placed",
    place: str = "heavy-edge",
    tick: Tick = no_tick,
) -> Schedule | None:
    """A-SRPT (Luo et al. 2025; only the abstract was available, the steps are our reconstruction); None when infeasible.

    Step 1, virtual machine: job i has size n~_i g_i alpha_i / G and is released at r_i; preemptive SRPT runs it.
    Step 2, queue: jobs join in the order in which they complete there, at that time.
    Step 3, dispatch: the head starts when its GPUs are free, placed by ``place``.
    Step 4, waiting: see ``dispatch``; its three parameters, and their defaults, are ours.

    Parameters
    ----------
    instance
        Servers and jobs.
    waiting
        The waiting rule; None: no job waits for a better placement.
    backfill
        Whether jobs that have joined may pass a head that does not fit; not the paper's.
    speeds
        ``placed`` or ``low``: alpha_i of the virtual sizes; see the module.
    place
        ``heavy-edge`` or ``compact``.
    tick
        Called for every job that is looked at; it may raise to stop.

    Guarantee: with ``speeds="low"``, ``waiting=None`` and no backfilling that of ``guarantees``; otherwise none.
    Cost: as ``dispatch``.

    Raises
    ------
    UsageError
        An unknown word.
    """
    rule = _rule(place)
    if speeds not in SPEEDS:
        raise UsageError(f"speeds: found {speeds!r}, allowed: {', '.join(SPEEDS)}")
    if infeasible(instance) is not None:
        return None
    require_placeable(instance)
    own = on_own_clock(instance)
    alpha = placed_s(own, compact, tick=tick) if speeds == "placed" else lowest_s(own)
    sizes = [job.predicted * job.gpus * each / own.total_gpus for job, each in zip(own.jobs, alpha, strict=True)]
    releases = np.array([job.release_s for job in own.jobs])
    joins_s = srpt_completions(releases, np.array(sizes)).tolist()
    schedule = dispatch(
        own,
        joins_s=joins_s,
        keys=joins_s,
        place=rule,
        backfill=backfill,
        waiting=waiting,
        least_s=placed_s(own, rule, tick=tick) if waiting else (),
        tick=tick,
    )
    return Schedule(on_clock_of(instance, own, schedule))


def shortest_first(
    instance: Instance,
    *,
    backfill: bool = False,
    place: str = "heavy-edge",
    waiting: Waiting | None = None,
    tick: Tick = no_tick,
) -> Schedule | None:
    """Start the job of the least predicted length first; None when infeasible. No guarantee; cost as ``dispatch``."""
    return _ordered(instance, lambda job, least_s: job.predicted * least_s, backfill, place, waiting, tick)


def least_work_first(
    instance: Instance,
    *,
    backfill: bool = False,
    place: str = "heavy-edge",
    waiting: Waiting | None = None,
    tick: Tick = no_tick,
) -> Schedule | None:
    """Start the job of the least predicted GPU-seconds first; None when infeasible. No guarantee; cost as ``dispatch``."""
    return _ordered(instance, lambda job, least_s: job.predicted * job.gpus * least_s, backfill, place, waiting, tick)


def fifo(
    instance: Instance,
    *,
    backfill: bool = False,
    place: str = "heavy-edge",
    waiting: Waiting | None = None,
    tick: Tick = no_tick,
) -> Schedule | None:
    """Start jobs in the order of their release; None when infeasible. No guarantee; cost as ``dispatch``."""
    return _ordered(instance, lambda job, least_s: job.release_s, backfill, place, waiting, tick)


def one_by_one(instance: Instance) -> Schedule | None:
    """Run one job after another, alone, those of the least predicted length first; None when infeasible.

    What is held when the policies are stopped. Guarantee: none. Cost: O(I log I + M S) for every different job graph.
    """
    if infeasible(instance) is not None:
        return None
    require_placeable(instance)
    empty = Servers(instance)
    placed = {graph: in_order(graph, empty) for graph in {job.graph for job in instance.jobs}}
    length_s = {graph: empty.iteration_s(graph, held) for graph, held in placed.items()}
    last_s, elapsed_s = max(job.release_s for job in instance.jobs), 0.0
    starts = {}
    for job in sorted(instance.jobs, key=lambda job: job.predicted * length_s[job.graph]):
        starts[job.id] = last_s + elapsed_s, empty.named(placed[job.graph])
        elapsed_s += job.iterations * length_s[job.graph]
    return Schedule(starts)


def placed_s(instance: Instance, rule: Rule, *, tick: Tick = no_tick) -> list[float]:
    """Seconds of an iteration of every job, which a rule reaches on the empty servers; they hold every job."""
    empty = Servers(instance)
    known: dict[JobGraph, float] = {}
    for job in instance.jobs:
        if job.graph not in known:
            tick()
            known[job.graph] = empty.iteration_s(job.graph, rule(job.graph, empty))
    return [known[job.graph] for job in instance.jobs]


def lowest_s(instance: Instance) -> list[float]:
    """Seconds of an iteration of every job by the closed form alpha^low."""
    fastest = max(instance.intra_bandwidth_bytes_per_s, *instance.shares)
    known = {graph: graph.uniform_s(fastest) for graph in {job.graph for job in instance.jobs}}
    return [known[job.graph] for job in instance.jobs]


def _ordered(
    instance: Instance,
    key: Callable[[Job, float], float],
    backfill: bool,
    place: str,
    waiting: Waiting | None,
    tick: Tick,
) -> Schedule | None:
    rule = _rule(place)
    if infeasible(instance) is not None:
        return None
    require_placeable(instance)
    own = on_own_clock(instance)
    alpha = placed_s(own, compact, tick=tick)
    schedule = dispatch(
        own,
        joins_s=[job.release_s for job in own.jobs],
        keys=[key(job, seconds) for job, seconds in zip(own.jobs, alpha, strict=True)],
        place=rule,
        backfill=backfill,
        waiting=waiting,
        least_s=placed_s(own, rule, tick=tick) if waiting else (),
        tick=tick,
    )
    return Schedule(on_clock_of(instance, own, schedule))


def _rule(place: str) -> Rule:
    if place not in PLACES:
        raise UsageError(f"place: found {place!r}, allowed: {', '.join(PLACES)}")
    return PLACES[place]
