"""The meaning of elastic_stream: when the jobs of a stream end, what that costs, and which rules it breaks.

minimise mean_j (C_j - r_j), C_j the time at which job j has done its work; progress in a period of w units is f_j(w) a
second, after the first restart_j seconds of every period but the job's first; a job with no work ends when it arrives.

``arrival``    no period of a job begins before r_j
``choice``     the units of a period are in W_j, and the job is one of the instance
``order``      periods of a job last longer than 0, do not overlap, do not touch with equal units
``work``       the periods of a job do its work, and none begins when it is done
``capacity``   at any time the units add up to at most C; units of a tick are held to its end
``tick``       periods begin and end at multiples of tick_s, or end with the job

Times are compared with a tolerance of 1e-9 max(1, |value|); what a period lacks of a job's work, with that of its length.
"""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from dlsched.core.errors import UsageError
from dlsched.core.violation import Violation
from dlsched.elastic_stream.instance import Instance, Job
from dlsched.elastic_stream.solution import Period, Stream

_TOLERANCE = 1e-9


class Finished(NamedTuple):
    """When a job ends, how many pauses it took, and how many unit-seconds it held; ``end_s`` is None if it never ends."""

    end_s: float | None
    restarts: int
    unit_seconds: float


def objective(instance: Instance, stream: Stream) -> float:
    """Mean flow time in seconds.

    Raises
    ------
    UsageError
        A job does not do its work: then it has no flow time.
    """
    return math.fsum(flow_times(instance, stream)) / len(instance.jobs)


def flow_times(instance: Instance, stream: Stream) -> list[float]:
    """Seconds from arrival to end of every job, in the order of the file; UsageError for a job that never ends."""
    flows = []
    for job in instance.jobs:
        end_s = follow(job, stream.periods.get(job.id, ())).end_s
        if end_s is None:
            raise UsageError(f"no objective: job {job.id!r} does not do its work")
        flows.append(end_s - job.arrival_s)
    return flows


def follow(job: Job, periods: Sequence[Period]) -> Finished:
    """Follow one job through its periods, whose units it must allow."""
    left, end_s, restarts, unit_seconds = job.work, None, 0, 0.0
    if left == 0.0:
        end_s = job.arrival_s
    for place, period in enumerate(periods):
        pause_s = job.restart_s if place else 0.0
        restarts += place > 0
        unit_seconds += period.units * (period.end_s - period.start_s)
        time_s = job.speed.epoch_time_s(period.units)
        running_s = max(0.0, period.end_s - period.start_s - pause_s)
        needed_s = left * time_s
        if end_s is None and needed_s <= running_s:
            end_s = period.start_s + pause_s + needed_s
        elif end_s is None and place == len(periods) - 1 and needed_s <= running_s + _slack(period):
            end_s = period.end_s
        left -= running_s / time_s
    return Finished(end_s, restarts, unit_seconds)


def check(instance: Instance, stream: Stream) -> list[Violation]:
    """Return every broken rule; an empty list means feasible."""
    violations = []
    for name in stream.periods:
        if name not in instance.index:
            violations.append(Violation("choice", name, message="there is no such job"))
    for place, job in enumerate(instance.jobs):
        violations += _check_job(instance, place, job, stream.periods.get(job.id, ()))
    return violations + _check_capacity(instance, stream)


def _check_job(instance: Instance, place: int, job: Job, periods: Sequence[Period]) -> list[Violation]:
    """Rules of one job on its own."""
    found: list[Violation] = []

    def broken(rule: str, message: str, amount: float | None = None) -> None:
        found.append(Violation(rule, job.id, amount, message))

    allowed = instance.counts(place)
    for period in periods:
        if period.units not in allowed:
            broken("choice", f"{period.units} units is no allowed count")
        if not period.start_s < period.end_s:
            broken("order", f"the period that begins at {period.start_s!r} s does not last")
        early = job.arrival_s - period.start_s
        if early > _tolerance(job.arrival_s):
            broken("arrival", f"a period begins at {period.start_s!r} s, it arrives at {job.arrival_s!r} s", early)
    for first, second in pairwise(periods):
        overlap = first.end_s - second.start_s
        if overlap > _tolerance(first.end_s):
            broken("order", f"the period that begins at {second.start_s!r} s overlaps the one before", overlap)
        elif overlap >= 0 and first.units == second.units:
            broken("order", f"the periods that touch at {second.start_s!r} s have equal units")
    if found:
        return found
    end_s = follow(job, periods).end_s
    if end_s is None:
        broken("work", f"its {len(periods)} periods do not do its {job.work!r} epochs")
    elif any(period.start_s > end_s + _tolerance(end_s) for period in periods) or (periods and job.work == 0):
        broken("work", f"a period begins when its work is done, at {end_s!r} s")
    for period in periods if instance.tick_s is not None else ():
        if not _on_tick(instance, period.start_s):
            broken("tick", f"a period begins at {period.start_s!r} s, no multiple of {instance.tick_s!r} s")
        done = end_s is not None and abs(period.end_s - end_s) <= _tolerance(end_s)
        if not done and not _on_tick(instance, period.end_s):
            broken("tick", f"a period ends at {period.end_s!r} s, no multiple of {instance.tick_s!r} s")
    return found


def _on_tick(instance: Instance, time_s: float) -> bool:
    assert instance.tick_s is not None
    slots = time_s / instance.tick_s
    return math.isfinite(slots) and abs(time_s - round(slots) * instance.tick_s) <= _tolerance(time_s)


def _check_capacity(instance: Instance, stream: Stream) -> list[Violation]:
    """Sweep over the moments at which units change; an excess too short to be more than rounding is passed over."""
    changes: dict[float, int] = {}
    for periods in stream.periods.values():
        for period in periods:
            end_s = period.end_s
            if instance.tick_s is not None and end_s / instance.tick_s < 2**53 and not _on_tick(instance, end_s):
                end_s = math.ceil(end_s / instance.tick_s) * instance.tick_s
            changes[period.start_s] = changes.get(period.start_s, 0) + period.units
            changes[end_s] = changes.get(end_s, 0) - period.units
    held, most, since = 0, 0, 0.0
    for moment in sorted(changes):
        before, held = held, held + changes[moment]
        if before <= instance.units < held:
            most, since = held, moment
        most = max(most, held)
        if held <= instance.units < before and moment - since > _tolerance(moment):
            message = f"{most} units are held from {since!r} s to {moment!r} s, the cluster has {instance.units}"
            return [Violation("capacity", amount=float(most - instance.units), message=message)]
    return []


def _tolerance(value: float) -> float:
    return _TOLERANCE * max(1.0, abs(value))


def _slack(period: Period) -> float:
    """Tolerance of a duration within a period, and the rounding of the times that say when it was."""
    return _tolerance(period.end_s - period.start_s) + 2.0**-48 * abs(period.end_s)


def infeasible(instance: Instance) -> str | None:
    """Return a sentence that proves by counting that no stream exists, or None."""
    for place, job in enumerate(instance.jobs):
        if job.work > 0 and not instance.counts(place):
            least = job.counts(instance.units)[0]
            return f"job {job.id!r} needs at least {least} units, the cluster has {instance.units}"
    return None


def figures(instance: Instance, stream: Stream) -> dict[str, float]:
    """Further figures of a feasible stream, in which every job ends.

    ``max_flow_s``, ``p95_flow_s``, ``p99_flow_s``: of the flow times, percentiles interpolated; ``slowdown``: mean of
    flow time over the job's fastest run on the cluster, jobs without work left out; ``utilisation``: unit-seconds held
    over C times the seconds from the first arrival to the last end; ``restarts``: pauses of all jobs.
    """
    import numpy as np

    ran = [follow(job, stream.periods.get(job.id, ())) for job in instance.jobs]
    ends = [each.end_s for each in ran if each.end_s is not None]
    flows = np.array([end_s - job.arrival_s for end_s, job in zip(ends, instance.jobs, strict=True)])
    fastest = np.array([fastest_s(instance, place) for place in range(len(flows))])
    span_s = max(ends) - min(job.arrival_s for job in instance.jobs)
    held = math.fsum(each.unit_seconds for each in ran)
    working = fastest > 0
    return {
        "max_flow_s": float(flows.max()),
        "p95_flow_s": float(np.percentile(flows, 95)),
        "p99_flow_s": float(np.percentile(flows, 99)),
        "slowdown": float(np.mean(flows[working] / fastest[working])) if working.any() else 1.0,
        "utilisation": held / (instance.units * span_s) if span_s > 0 else 0.0,
        "restarts": float(sum(each.restarts for each in ran)),
    }


def fastest_s(instance: Instance, place: int) -> float:
    """Seconds of the job's work on its fastest count, without pauses."""
    job = instance.jobs[place]
    if job.work == 0:
        return 0.0
    counts = instance.useful_counts(place)
    if job.speed_law is not None:
        counts = counts[-1:]
    return job.work * min(job.speed.epoch_time_s(count) for count in counts)
