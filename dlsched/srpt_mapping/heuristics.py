"""The policies, A-SRPT and its baselines, and their guarantee. Each sees predicted iterations only.

=======================  =============================================================================================
policy                   order of the queue
=======================  =============================================================================================
``a_srpt``               predicted completion on the virtual machine of speed 1, which runs job i as n~_i g_i alpha_i / G
                         seconds by preemptive SRPT; jobs join when they complete there
``shortest_first``       predicted length n~_i alpha_i
``least_work_first``     predicted work n~_i g_i alpha_i
``fifo``                 release (least attained service is the same here, as nothing is preempted)
=======================  =============================================================================================

Each may let communication-heavy jobs wait for a better placement (``dispatching``), as A-SRPT does.

alpha_i: ``placed``, what ``compact`` reaches on the empty servers, never more than Heavy-Edge there; it stands for the
paper's alpha^min, the best placement there, and may be more. Or ``low``, the closed form alpha^low, with which A-SRPT has
its guarantee.

*Theorem* (approximation guarantee of A-SRPT).
Strict virtual order, no waiting for better placements, any placement rule that starts the head as soon as its
GPUs are free, virtual sizes n~_i g_i alpha^low_i / G; n_i <= eta1 n~_i and n~_i <= eta2 n_i. Then

    sum c_i <= (eta2 (1 + eta1 rho G / m) + rho max(0, 1 - g_min / m)) OPT,   rho = max_i alpha^max_i / alpha^low_i

with m = G - g_max + 1.

*Proof.* Job k joins at v_k, its virtual completion. From v_k to its start some job that joined no later waits at the head, so
at least m GPUs are busy, with other jobs that joined by v_k only. Their real GPU-seconds are at most n_j g_j alpha^max_j <=
eta1 rho G times their virtual sizes, which the virtual machine has served by v_k, and that of k too: at most eta1 rho G v_k -
rho n_k g_k alpha^low_k in all. So start_k <= v_k (1 + eta1 rho G / m) - rho n_k alpha^low_k g_k / m. SRPT is optimal on the
virtual machine, and sizes eta2 times as large make its sum at most eta2 times as large: sum v_k <= eta2 OPT, as OPT is at
least SRPT's sum with true sizes. Last, n_k alpha_k <= rho n_k alpha^low_k, and n_k alpha^low_k sum to at most OPT.
``worst.closed_forms.strict_family`` reaches the factor where the largest job takes all GPUs and the smallest one of them.

Where jobs have begun before the clock starts, nothing is claimed: they did not wait for their virtual completion.

*Theorem* (queues that never rest, ``BUSY``). Where some job runs whenever one waits, flow times sum to at most I rho times the
optimum: F_j <= sum n_i alpha_i <= rho sum n_i alpha^low_i <= rho OPT. ``worst.closed_forms.blocking_family`` tends to I.
"""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from dlsched.algorithms.one_machine import srpt_completions
from dlsched.catalogue.srpt_mapping import LISTED
from dlsched.core.errors import UsageError
from dlsched.core.family import Guarantee
from dlsched.core.gap import rounding
from dlsched.core.garbage import uncollected
from dlsched.core.limits import Tick, no_tick
from dlsched.srpt_mapping.checker import constant, infeasible
from dlsched.srpt_mapping.dispatching import PATIENT, Begun, Waiting, dispatch
from dlsched.srpt_mapping.instance import Instance, Job
from dlsched.srpt_mapping.placing import PLACES, Placed, Servers, compact, in_order, placed_s, require_placeable
from dlsched.srpt_mapping.slices import SLICE_RULES, servers_of
from dlsched.srpt_mapping.solution import Schedule, Share, Start, begun_starts, on_clock_of

SPEEDS = ("placed", "low")


def a_srpt(
    instance: Instance,
    *,
    waiting: Waiting | None = Waiting(),  # noqa: B008  frozen
    backfill: bool = False,
    speeds: str = "placed",
    place: str = "heavy-edge",
    begun: Begun | None = None,
    tick: Tick = no_tick,
) -> Schedule | None:
    """A-SRPT (Luo et al. 2025; only the abstract was available, the steps are our reconstruction); None when infeasible.

    Step 1, virtual machine: job i has size n~_i g_i alpha_i / G and is released at r_i; preemptive SRPT runs it.
    Step 2, queue: jobs join in the order in which they complete there, at that time.
    Step 3, dispatch: the head starts when its GPUs are free, placed by ``place``.
    Step 4, waiting: see ``Waiting``; its three parameters, and their defaults, are ours.

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
    begun
        Further jobs that have begun, for a decision in the middle of a queue: see ``dispatch``. All policies take it.
    tick
        Called for every job that is looked at; it may raise to stop.

    Guarantee: with ``speeds="low"``, ``waiting=None`` and no backfilling that of ``guarantees``; otherwise none.
    Cost: as ``dispatch``. UsageError: an unknown word.
    """
    if speeds not in SPEEDS:
        raise UsageError(where="speeds", found=repr(speeds), allowed=", ".join(SPEEDS))

    def completions(own: Instance) -> _Ordered:
        low = speeds == "low"
        alpha = [job.graph.uniform_s(own.fastest) for job in own.jobs] if low else placed_s(own, compact, tick=tick)
        ends_s = np.empty(len(own.jobs))
        # pools that share no servers have virtual machines of their own
        for jobs, servers in own.parts:
            units = sum(own.servers[index].gpus for index in servers) * own.units
            sizes = [own.jobs[index].predicted * own.units_of(own.jobs[index]) * alpha[index] / units for index in jobs]
            ends_s[jobs] = srpt_completions(np.array([own.jobs[index].release_s for index in jobs]), np.array(sizes))
        return ends_s.tolist(), ends_s.tolist(), () if low else alpha

    return _queued(instance, completions, backfill, place, waiting, begun, tick)


def shortest_first(
    instance: Instance,
    *,
    backfill: bool = False,
    place: str = "heavy-edge",
    waiting: Waiting | None = None,
    begun: Begun | None = None,
    tick: Tick = no_tick,
) -> Schedule | None:
    """Start the job of the least predicted length first; None when infeasible. Guarantee: ``BUSY``; cost as ``dispatch``."""
    order = _at_release(lambda job, units, least_s: job.predicted * least_s, tick)
    return _queued(instance, order, backfill, place, waiting, begun, tick)


def least_work_first(
    instance: Instance,
    *,
    backfill: bool = False,
    place: str = "heavy-edge",
    waiting: Waiting | None = None,
    begun: Begun | None = None,
    tick: Tick = no_tick,
) -> Schedule | None:
    """Start the job of the least predicted GPU-seconds first; None when infeasible. Guarantee: ``BUSY``; cost as ``dispatch``.

    With a waiting rule there is none.
    """
    order = _at_release(lambda job, units, least_s: job.predicted * units * least_s, tick)
    return _queued(instance, order, backfill, place, waiting, begun, tick)


def fifo(
    instance: Instance,
    *,
    backfill: bool = False,
    place: str = "heavy-edge",
    waiting: Waiting | None = None,
    begun: Begun | None = None,
    slices: str = "best-fit",
    tick: Tick = no_tick,
) -> Schedule | None:
    """Start jobs in the order of their release; None when infeasible. Guarantee: ``BUSY``; cost as ``dispatch``.

    ``slices``: of ``SLICE_RULES``, which places jobs on slices of GPUs.
    """

    def order(own: Instance) -> _Ordered:
        return (releases_s := [job.release_s for job in own.jobs]), releases_s, ()

    return _queued(instance, order, backfill, place, waiting, begun, tick, slices)


def one_by_one(instance: Instance) -> Schedule | None:
    """Run one job after another, alone, the least predicted length first; None when infeasible. Cost: O(I log I + I M S)."""
    if infeasible(instance) is not None:
        return None
    require_placeable(instance)
    empty = servers_of(instance)
    kinds = {(job.graph, job.pool) for job in instance.jobs}
    placed = {(graph, pool): in_order(graph, empty.within(pool)) for graph, pool in kinds}
    length_s = {kind: empty.iteration_s(kind[0], placement) for kind, placement in placed.items()}
    starts = begun_starts(instance)
    # all others start after the last release and the end of those that have begun
    last_s, elapsed_s = max(job.release_s for job in instance.jobs), 0.0
    for job in (instance.jobs[instance.index[name]] for name in starts):
        runs_s = empty.iteration_s(job.graph, empty.placed(job.graph, starts[job.id].placement))
        last_s = max(last_s, job.release_s + job.iterations * runs_s)
    waiting = [job for job in instance.jobs if job.id not in starts]
    for job in sorted(waiting, key=lambda job: job.predicted * length_s[job.graph, job.pool]):
        starts[job.id] = Start(last_s + elapsed_s, _alone(empty, job, placed[job.graph, job.pool]))
        elapsed_s += job.iterations * length_s[job.graph, job.pool]
    return Schedule(starts)


def _alone(empty: Servers, job: Job, placed: Placed) -> tuple[Share, ...]:
    """The shares of a job that runs alone."""
    shares, taken = empty.start(empty.place(lambda graph, servers: placed, job), job)
    empty.give(taken)
    return shares


a_srpt_strict = partial(a_srpt, waiting=None, speeds="low")
a_srpt_backfill = partial(a_srpt, waiting=None, backfill=True)
a_srpt_compact = partial(a_srpt, waiting=None, backfill=True, place="compact")
shortest_backfill = partial(shortest_first, backfill=True)
work_backfill = partial(least_work_first, backfill=True)
work_compact = partial(least_work_first, backfill=True, place="compact")
work_patient = partial(least_work_first, place="compact", waiting=PATIENT)
fifo_backfill = partial(fifo, backfill=True)


WARM = "work-compact"
"""The policy whose answer is the first incumbent of exact methods."""

_Ordered = tuple[Sequence[float], Sequence[float], Sequence[float]]
_Order = Callable[[Instance], _Ordered]
"""From an instance on its own clock to when jobs join the queue, their keys, and what ``compact`` reaches, if known."""


def _at_release(key: Callable[[Job, int, float], float], tick: Tick) -> _Order:
    """Jobs join at their release; keys from a job, the units that it takes, and its alpha_i."""

    def order(own: Instance) -> _Ordered:
        alpha = placed_s(own, compact, tick=tick)
        keys = [key(job, own.units_of(job), each) for job, each in zip(own.jobs, alpha, strict=True)]
        return [job.release_s for job in own.jobs], keys, alpha

    return order


@uncollected()
def _queued(
    instance: Instance,
    order: _Order,
    backfill: bool,
    place: str,
    waiting: Waiting | None,
    begun: Begun | None,
    tick: Tick,
    slices: str = "best-fit",
) -> Schedule | None:
    """Run a policy on the instance's own clock; UsageError for an unknown rule of placement."""
    for where, name, allowed in (("place", place, PLACES.keys()), ("slices", slices, SLICE_RULES.keys())):
        if name not in allowed:
            raise UsageError(where=where, found=repr(name), allowed=", ".join(allowed))
    if infeasible(instance) is not None:
        return None
    require_placeable(instance)
    # late clocks are coarse: the queue runs from 0 on, and its schedule is put back
    own, rule = instance.on_own_clock(), PLACES[place]
    joins_s, keys, compact_s = order(own)
    least_s = (place == "compact" and compact_s) or (placed_s(own, rule, tick=tick) if waiting else ())
    schedule = dispatch(
        own,
        joins_s=joins_s,
        keys=keys,
        place=rule,
        backfill=backfill,
        waiting=waiting,
        least_s=least_s,
        begun=None if begun is None else begun.since(min(job.release_s for job in instance.jobs)),
        slices=slices,
        tick=tick,
    )
    return Schedule(on_clock_of(instance, own, schedule) | ({} if begun is None else dict(begun.starts)))


_ROUNDING = 1e-9  # of the factor and the sums, far above what floats are off


def _rho(instance: Instance) -> float:
    return max(job.graph.uniform_s(instance.slowest) / job.graph.uniform_s(instance.fastest) for job in instance.jobs)


def factor(instance: Instance) -> float:
    """The theorem's factor for an instance."""
    rho = _rho(instance)
    eta1 = max(1.0, *(job.iterations / job.predicted for job in instance.jobs))
    eta2 = max(1.0, *(job.predicted / job.iterations for job in instance.jobs))
    gpus = [job.gpus for job in instance.jobs]
    busy = instance.total_gpus - max(gpus) + 1
    return eta2 * (1 + eta1 * rho * instance.total_gpus / busy) + rho * max(0.0, 1 - min(gpus) / busy)


STRICT = Guarantee[Instance](
    "at most eta2 (1 + eta1 rho G / m) + rho max(0, 1 - g_min / m) times the optimum, m = G - g_max + 1 (tight for a job "
    "of all GPUs); at most 1 + 3 rho with true predictions and jobs of at most half the GPUs",
    lambda instance: (
        infeasible(instance) is None
        and not instance.consolidated
        and not instance.sliced
        and all(
            job.begun is None and job.pool is None and not job.priority and not any(instance.slots(job))
            for job in instance.jobs
        )
    ),
    lambda instance, optimum: factor(instance) * optimum * (1 + _ROUNDING),
)


def _busy(instance: Instance, optimum: float) -> float:
    """The worst sum of completion times; late clocks round it."""
    common = constant(instance)
    flow = optimum - common + rounding(optimum, common)
    return common + len(instance.jobs) * _rho(instance) * flow * (1 + _ROUNDING)


BUSY = Guarantee[Instance](
    "at most I rho times the optimal sum of flow times, I jobs (no smaller factor where rho = 1)",
    lambda instance: infeasible(instance) is None,
    _busy,
)

POLICIES: dict[str, Callable[..., Schedule | None]] = dict(LISTED.functions("heuristic"))
"""From an instance to a schedule; ``tick`` is called while they run."""
