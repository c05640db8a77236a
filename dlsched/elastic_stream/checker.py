"""The meaning of elastic_stream: when the jobs of a stream end, what that costs, and which rules it breaks.

minimise sum_j omega_j (C_j - r_j) / sum_j omega_j, C_j the time at which job j has done its work; progress in a period of
w units is f_j(w) a second, after the first restart_j seconds of every period but the job's first; a job with no work ends
when it arrives.

``arrival``    no period of a job begins before r_j
``choice``     the units of a period are in W_j, and the job is one of the instance
``order``      periods of a job last longer than 0, do not overlap, do not touch with equal units
``work``       the periods of a job do its work, none begins when it is done, and the last ends then (or, with ticks, with the
               tick in which it is done)
``capacity``   at any time the units add up to at most C; units of a tick are held to its end
``tick``       periods begin and end at multiples of tick_s, or end with the job

Tolerances are relative to durations: a period may miss a time, or its job's end, by 1e-9 of what it lasts and the rounding of
the clock (8 units in the last place of the time), but by at most a quarter of itself. ``core.ticks`` subtracts times.
"""

import math
from collections.abc import Sequence
from itertools import chain, pairwise
from operator import mul

from dlsched.core.errors import UsageError
from dlsched.core.gap import FEASIBLE, rounding, tolerance
from dlsched.core.result import Violation
from dlsched.core.ticks import HAIR, left_after, slots_for, tick_at, ticks_between
from dlsched.elastic_stream.instance import Instance
from dlsched.elastic_stream.solution import Finished, Period, Stream


def first_excess(changes: Sequence[tuple[float, int, float]], capacity: int) -> tuple[int, float, float] | None:
    """Return peak, start and end of the first period with a use above ``capacity``; None: there is none.

    ``changes``, sorted: time, change (releases first), and the time to report.

    >>> first_excess([(0.0, 2, 0.0), (1.0, 1, 1.0), (3.0, -2, 3.0), (4.0, -1, 4.0)], 2)
    (3, 1.0, 3.0)
    """
    held, most, since_s = 0, 0, 0.0
    for _, change, time_s in changes:
        before, held = held, held + change
        if before <= capacity < held:
            since_s = time_s
        most = max(most, held)
        if held <= capacity < before:
            return most, since_s, time_s
    return None


_LATEST_S = 1e110
"""No instance leads there; sums of such times are finite."""


def infeasible(instance: Instance) -> str | None:
    """The reason, by counting, why no stream exists, or None."""
    for index, job in enumerate(instance.jobs):
        if job.work > 0 and not instance.counts(index):
            least = job.counts(instance.units)[0]
            return f"job {job.id!r} needs at least {least} units, the cluster has {instance.units}"
    return None


def objective(instance: Instance, stream: Stream) -> float:
    """Weighted mean of the flow times in seconds; of weights that are all alike the mean, to the bit.

    Raises
    ------
    UsageError
        A job does not do its work: then it has no flow time.
    """
    weights, flows = [job.weight for job in instance.jobs], flow_times(instance, stream)
    if min(weights) == max(weights):
        return math.fsum(flows) / len(flows)
    return math.fsum(map(mul, weights, flows)) / instance.total_weight


def flow_times(instance: Instance, stream: Stream) -> list[float]:
    """Seconds from arrival to end of every job, in the order of the file; UsageError for a job that never ends."""
    flows = []
    for job, ran in zip(instance.jobs, follow_all(instance, stream), strict=True):
        if ran.flow_s is None:
            raise UsageError(f"no objective: job {job.id!r} does not do its work")
        flows.append(ran.flow_s)
    return flows


def follow_all(instance: Instance, stream: Stream) -> Sequence[Finished]:
    """Follow every job, whose units must be allowed; the stream keeps the result."""
    if stream.followed is None or stream.followed[0] is not instance:
        get = stream.periods.get
        stream.keep(instance, [follow(instance, index, get(job.id, ())) for index, job in enumerate(instance.jobs)])
    assert stream.followed is not None
    return stream.followed[1]


def follow(instance: Instance, index: int, periods: Sequence[Period]) -> Finished:
    """Follow one job through its periods, whose units must be allowed."""
    job, tick_s = instance.jobs[index], instance.tick_s
    speed = job.speed
    remaining, unit_seconds, last = job.work, 0.0, len(periods) - 1
    if remaining == 0.0:
        return Finished(0.0, -1, 0.0, max(0, last), math.fsum(p.units * (p.end_s - p.start_s) for p in periods))
    for number, period in enumerate(periods):
        pause_s = job.restart_s if number else 0.0
        time_s = speed.epoch_time_s(period.units)
        # The last period may fall short by the tolerance of its end; the job still takes the whole time.
        needed_s = pause_s + remaining * time_s
        lasts_s = period.end_s - period.start_s if tick_s is None else _lasts_s(period, tick_s)
        lacks_s = needed_s - lasts_s
        hair_s = 0.0 if tick_s is None else HAIR * (pause_s + job.work * time_s)
        if lasts_s >= needed_s - hair_s or (number == last and lacks_s <= _slack_s(period)):
            if tick_s is None:
                waited_s = period.start_s - job.arrival_s
            else:
                slots = round(period.start_s / tick_s) - instance.first_slot(index)
                waited_s = float(instance.wait_s(index)) + slots * tick_s
            near = abs(lacks_s) <= FEASIBLE * lasts_s or abs(lacks_s) <= _slack_s(period)
            held_s = needed_s if near else lasts_s
            return Finished(waited_s + needed_s, number, needed_s, last, unit_seconds + period.units * held_s)
        unit_seconds += period.units * lasts_s
        if lasts_s > pause_s:
            remaining = left_after(remaining, lasts_s - pause_s, time_s)
    return Finished(None, last, 0.0, max(0, last), unit_seconds)


def check(instance: Instance, stream: Stream) -> list[Violation]:
    """Return every broken rule; an empty list means feasible."""
    unknown = [name for name in stream.periods if name not in instance.index]
    violations = [Violation("choice", name, message="there is no such job") for name in unknown]
    for start_s, end_s, _ in chain.from_iterable(stream.periods.values()):
        if not (-_LATEST_S <= start_s <= _LATEST_S and -_LATEST_S <= end_s <= _LATEST_S):
            message = f"found a period from {start_s!r} s to {end_s!r} s, allowed: up to 1e110 s"
            return [Violation("order", message=message)]
    followed: list[Finished] = []
    get = stream.periods.get
    for index, job in enumerate(instance.jobs):
        violations += _check_job(instance, index, get(job.id, ()), followed)
    if len(followed) == len(instance.jobs):
        stream.keep(instance, followed)
    return violations + _check_capacity(instance, stream)


def _check_job(instance: Instance, index: int, periods: Sequence[Period], followed: list[Finished]) -> list[Violation]:
    """Rules of a single job; ``followed`` receives its ``Finished`` if its periods are in order."""
    job, tick_s = instance.jobs[index], instance.tick_s
    found: list[Violation] = []

    def broken(rule: str, message: str, amount: float | None = None) -> None:
        found.append(Violation(rule, job.id, amount, message))

    allowed = instance.counts(index)
    for period in periods:
        if period.units not in allowed:
            broken("choice", f"{period.units} units is no allowed count")
        if not period.start_s < period.end_s:
            broken("order", f"the period that begins at {period.start_s!r} s does not last")
        early_s = job.arrival_s - period.start_s
        slot = None if tick_s is None else tick_at(period.start_s, tick_s)
        if slot < instance.first_slot(index) if slot is not None else early_s > 0 and early_s > _slack_s(period):
            broken("arrival", f"a period begins at {period.start_s!r} s, it arrives at {job.arrival_s!r} s", early_s)
    for first, second in pairwise(periods):
        overlap_s = first.end_s - second.start_s
        if overlap_s > 0 and overlap_s > min(_slack_s(first), _slack_s(second)):
            broken("order", f"the period that begins at {second.start_s!r} s overlaps the one before", overlap_s)
        elif overlap_s >= 0 and first.units == second.units:
            broken("order", f"the periods that touch at {second.start_s!r} s have equal units")
    if found:
        return found
    ran = follow(instance, index, periods)
    followed.append(ran)
    if ran.flow_s is None:
        broken("work", f"its {len(periods)} periods do not do its {job.work!r} epochs")
    elif ran.number < len(periods) - 1:
        broken("work", f"a period begins when its work is done, at {job.arrival_s + ran.flow_s!r} s")
    elif periods and (excess_s := _excess_s(instance, index, ran, periods[-1])) > 0:
        ends_s = job.arrival_s + ran.flow_s
        broken("work", f"its units are held to {periods[-1].end_s!r} s, it is done at {ends_s!r} s", excess_s)
    if tick_s is not None:
        ends = len(periods) if found else ran.number
        for number, period in enumerate(periods):
            if tick_at(period.start_s, tick_s) is None:
                broken("tick", f"a period begins at {period.start_s!r} s, not a multiple of {tick_s!r} s")
            if number != ends and tick_at(period.end_s, tick_s) is None:
                broken("tick", f"a period ends at {period.end_s!r} s, not a multiple of {tick_s!r} s")
    return found


def _excess_s(instance: Instance, index: int, ran: Finished, period: Period) -> float:
    """Seconds of a job's last period after its work (with ticks: after the tick of its end); 0 within tolerance."""
    excess_s = period.end_s - period.start_s - ran.needed_s
    if excess_s <= FEASIBLE * ran.needed_s or excess_s <= tolerance(ran.needed_s) + rounding(period.start_s):
        return 0.0
    tick_s = instance.tick_s
    if tick_s is None or (slots := ticks_between(period.start_s, period.end_s, tick_s)) is None:
        return excess_s
    job = instance.jobs[index]
    hair_s = HAIR * ((job.restart_s if ran.number else 0.0) + job.work * job.speed.epoch_time_s(period.units))
    return max(0, slots - slots_for(ran.needed_s, hair_s, tick_s)) * tick_s


def _lasts_s(period: Period, tick_s: float) -> float:
    """Seconds of a period that begins at a tick: whole ticks if it ends at a later one."""
    slots = ticks_between(period.start_s, period.end_s, tick_s) or 0
    return slots * tick_s if slots > 0 else period.end_s - period.start_s


def _slack_s(period: Period) -> float:
    """Seconds by which a period may miss a time: part of its length and the clock's last digits, at most a quarter."""
    lasts_s = period.end_s - period.start_s
    return min(FEASIBLE * lasts_s + rounding(period.end_s), lasts_s / 4)


def _check_capacity(instance: Instance, stream: Stream) -> list[Violation]:
    """Sweep over the changes of units; an excess that vanishes when periods are shorter by their slack is none."""
    excess = None
    for exactly in (True, False):
        excess = first_excess(_changes(instance, stream, exactly=exactly), instance.units)
        if excess is None:
            return []
    assert excess is not None
    most, since_s, until_s = excess
    message = f"{most} units are held from {since_s!r} s to {until_s!r} s, the cluster has {instance.units}"
    return [Violation("capacity", amount=float(most - instance.units), message=message)]


def _changes(instance: Instance, stream: Stream, *, exactly: bool) -> list[tuple[float, int, float]]:
    """Changes of units by time: clock, units, seconds; unless ``exactly``, of periods shorter by their slack."""
    tick_s = instance.tick_s
    changes: list[tuple[float, int, float]] = []
    for period in chain.from_iterable(stream.periods.values()):
        start_s, end_s, units = period
        slack_s = 0.0 if exactly or not start_s < end_s else _slack_s(period)
        start, end = start_s + slack_s, end_s - slack_s
        if tick_s is not None:
            first, last = tick_at(start_s, tick_s), tick_at(end_s, tick_s)
            start = math.floor(start_s / tick_s) if first is None else first
            end = math.ceil(end_s / tick_s) if last is None else max(last, start + 1)
            start_s, end_s = start * tick_s, end * tick_s
        changes += ((start, units, start_s), (end, -units, end_s))
    return sorted(changes)
