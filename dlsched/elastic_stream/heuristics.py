"""The policies of elastic_stream as plain functions, from an instance to the stream they make of it.

None means that a job needs more units than there are, which proves infeasibility. Each knows the present only. With
``tick_s`` they decide at ticks alone. Ties go to the job that stands first in the file. Guarantees: ``policies.guarantees``;
costs and sources stand with the policies. ``step`` is called now and then with how far the simulation has come, ``tick``
at every event; both may raise to stop it.
"""

import math
from bisect import bisect_right
from collections.abc import Callable
from heapq import heappop, heappush

from dlsched.catalogue.elastic_stream import LISTED
from dlsched.core.errors import UsageError
from dlsched.core.limits import Tick, no_tick
from dlsched.core.ticks import HAIR, end_after, end_in_slots, end_slot
from dlsched.elastic_stream import policies
from dlsched.elastic_stream.checker import infeasible
from dlsched.elastic_stream.instance import Instance
from dlsched.elastic_stream.simulation.simulator import Step, no_step, simulate
from dlsched.elastic_stream.simulation.view import Policy
from dlsched.elastic_stream.solution import Stream

SIZINGS: dict[str, Callable[[str], Policy]] = {
    "fixed": lambda order: policies.Queue(order, policies.Fixed()),
    "fastest": lambda order: policies.Queue(order, policies.Fastest()),
    "knee": lambda order: policies.Queue(order, policies.Knee()),
    "equal": policies.EqualShare,
    "marginal": policies.Marginal,
}
"""Sizing to a policy of any order: 8 units, all useful units, efficiency of at least one half, C / n each, marginal gain."""


def doubling(instance: Instance, *, step: Step = no_step, tick: Tick = no_tick) -> Stream | None:
    """Redistribute all units by the doubling heuristic at every event: ``policies.Doubling``."""
    return _play(instance, policies.Doubling(), step, tick)


def marginal(instance: Instance, *, order: str = "fifo", step: Step = no_step, tick: Tick = no_tick) -> Stream | None:
    """Redistribute all units by marginal gain at every event: ``policies.Marginal``."""
    return _play(instance, policies.Marginal(order), step, tick)


def fixed(
    instance: Instance, *, units_per_job: int = 8, order: str = "fifo", step: Step = no_step, tick: Tick = no_tick
) -> Stream | None:
    """Give every job that runs its largest count of at most ``units_per_job`` (>= 1), else its smallest: ``policies.Queue``."""
    return _play(instance, policies.Queue(order, policies.Fixed(units_per_job)), step, tick)


def equal(instance: Instance, *, order: str = "fifo", step: Step = no_step, tick: Tick = no_tick) -> Stream | None:
    """Give every job present its largest allowed count of at most C / n: ``policies.EqualShare``."""
    return _play(instance, policies.EqualShare(order), step, tick)


def exploratory(
    instance: Instance,
    *,
    counts: tuple[int, ...] = (1, 2, 4, 8),
    step_s: float = 150.0,
    step: Step = no_step,
    tick: Tick = no_tick,
) -> Stream | None:
    """Measure every job on a few counts for 2.5 minutes each, then double: ``policies.Exploratory``."""
    return _play(instance, policies.Exploratory(counts, step_s), step, tick)


def myopic(instance: Instance, *, step: Step = no_step, tick: Tick = no_tick) -> Stream | None:
    """Take the optimal allocation of the moment at every event: ``policies.Myopic``."""
    return _play(instance, policies.Myopic(), step, tick)


def weighted(instance: Instance, *, step: Step = no_step, tick: Tick = no_tick) -> Stream | None:
    """Give units by gain in speed per unit and epoch left at every event: ``policies.Weighted``."""
    return _play(instance, policies.Weighted(), step, tick)


def priced(instance: Instance, *, step: Step = no_step, tick: Tick = no_tick) -> Stream | None:
    """Give units by gain in speed per unit, weighed at the prices to come, at every event: ``policies.Priced``."""
    return _play(instance, policies.Priced(), step, tick)


def ordered(
    instance: Instance, order: str, sizing: str, *, step: Step = no_step, tick: Tick = no_tick
) -> Stream | None:
    """Serve jobs in an order of ``policies.orders``, each at the units that a key of ``SIZINGS`` gives it: the grid of Lin et al.

    Raises
    ------
    UsageError
        An unknown order or sizing.
    """
    if sizing not in SIZINGS:
        raise UsageError(where="sizing", found=repr(sizing), allowed=", ".join(SIZINGS))
    return _play(instance, SIZINGS[sizing](order), step, tick)


def _play(instance: Instance, policy: Policy, step: Step, tick: Tick) -> Stream | None:
    return None if infeasible(instance) is not None else simulate(instance.even, policy, step=step, tick=tick)


def in_turn(instance: Instance) -> Stream | None:
    """The quickest stream, O(J log J): jobs start in order of arrival, on their fixed size, and never stop; None: infeasible."""
    if infeasible(instance) is not None:
        return None
    tick_s, free, now = instance.tick_s, instance.units, -math.inf
    ends: list[tuple[float, int]] = []
    periods = {}
    for index in sorted(range(len(instance.jobs)), key=[job.arrival_s for job in instance.jobs].__getitem__):
        job = instance.jobs[index]
        if job.work == 0:
            continue
        counts = instance.counts(index)
        units = counts[max(0, bisect_right(counts, policies.Fixed().units) - 1)]
        now = max(now, job.arrival_s if tick_s is None else instance.first_slot(index))
        while free < units or (ends and ends[0][0] <= now):
            end, count = heappop(ends)
            now, free = max(now, end), free + count
        free -= units
        needed_s = job.work * job.speed.epoch_time_s(units)
        if tick_s is None:
            end = end_s = end_after(now, needed_s)
            periods[job.id] = [(now, end_s, units)]
        else:
            end = end_slot(now, needed_s, HAIR * needed_s, tick_s)
            periods[job.id] = [(now * tick_s, end_in_slots(int(now), int(end - now), needed_s, tick_s), units)]
        heappush(ends, (end, units))
    return Stream(periods)


POLICIES: dict[str, Callable[..., Stream | None]] = dict(LISTED.functions("heuristic"))
"""From an instance to a stream."""
