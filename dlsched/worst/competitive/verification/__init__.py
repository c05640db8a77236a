"""Verifier of certificates of suprema of policies: in rationals, without a solver, and without code of the search.

*Not more.* ``proof`` has a tree for every choice of tables for the jobs, which are named in order of arrival. The
verifier plays the policy's own code along it, on linear forms of the works w_j and of the lengths d_k between
events. A node lists all events that may come next, or splits on the sign of a form; a decision has to follow
from the splits. Where all jobs have ended, a second tree lists the events of an optimal stream in the same
way. Its leaves have multipliers u >= 0 of the works, g of the arrivals and h >= 0 of the splits, with

    flow(policy) <= flow(policy) + h rows <= u works + g arrivals <= supremum flow(optimum):

the second inequality holds for each d_k, the third for each interval and each allocation in it; what follows
an order that is not whole costs at least its work over the largest speed.

*Not less.* The verifier plays the policy on the instance and measures the schedule: their quotient is the ratio
stated. If that is below the supremum, ``limit`` is an instance and a schedule in numbers a + b e, e > 0
infinitely small, whose quotient is the supremum but for multiples of e.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction

from dlsched.core.instance import InstanceFile
from dlsched.families import instance_from
from dlsched.worst.certificates import Item, Verified, fraction, fractions, listed, mapped, require_ratio, whole
from dlsched.worst.competitive.verification.covering import Claim, claim_from, cover
from dlsched.worst.competitive.verification.replay import Number, Replay, Vector

__all__ = ["Verified", "verify"]


def verify(data: Mapping[str, object]) -> Verified:
    """Verify a certificate.

    Raises
    ------
    InputError
        The certificate cannot be read.
    ValueError
        The certificate does not prove what it states.
    """
    claim = claim_from(data)
    leaves = cover(claim)
    instance, ratio = instance_ratio(claim)
    require_ratio(claim.ratio, claim.supremum, ratio)
    if ratio != claim.supremum:
        near = limit_ratio(claim)
        if near != claim.supremum:
            raise ValueError(f"limit: approaches {near}, not the supremum {claim.supremum}")
    elif claim.limit is not None:
        raise ValueError("limit: found one, but the instance attains the supremum")
    return Verified(claim.supremum, ratio, instance, leaves)


MOST_PIECES = 10_000


def _sign(number: Vector) -> int:
    """Sign of a + b e."""
    first = next((each for each in number if each), Fraction(0))
    return (first > 0) - (first < 0)


def _number(at: Fraction, toward: Fraction = Fraction(0)) -> Number:
    return Number((at, toward), _sign)


def instance_ratio(claim: Claim) -> tuple[InstanceFile, Fraction]:
    """Return the instance, and the policy's flow on it over the schedule's; ValueError where it is no such instance."""
    instance: Item = instance_from(dict(claim.instance), "instance")
    plain = instance.model_dump(exclude_defaults=True)
    jobs = instance.jobs
    if instance.units != claim.units or len(jobs) != claim.jobs or instance.tick_s is not None:
        raise ValueError("instance: has other units, another number of jobs, or ticks")
    for job in plain["jobs"]:
        if not job.keys() <= {"id", "arrival_s", "epochs", "epoch_time_s"}:
            raise ValueError(f"instance: job {job['id']!r} has more than an arrival, epochs and times")
    tables, works = [], []
    for job in jobs:
        times = [
            Fraction(dict(zip(job.epoch_time_s.counts, job.epoch_time_s.times_s, strict=True)).get(k, -1))
            for k in range(1, claim.units + 1)
        ]
        fitting = [
            row for row in claim.speeds if all(t * s == times[0] * row[0] for t, s in zip(times, row, strict=True))
        ]
        if not fitting or len(job.epoch_time_s.counts) != claim.units or times[0] <= 0:
            raise ValueError(f"instance: job {job.id!r} has none of the speeds")
        tables.append(fitting[0])
        works.append(_number(Fraction(job.epochs) * times[0] * fitting[0][0]))
    arrivals = [_number(Fraction(job.arrival_s)) for job in jobs]
    pieces = []
    for piece in claim.schedule:
        seconds = _number(fraction(mapped(piece, "schedule").get("seconds"), "schedule.seconds"))
        pieces.append((seconds, _units(claim, piece)))
    policy, schedule = _flows(claim, tables, arrivals, works, pieces, "schedule")
    return instance, policy.times[0] / schedule.times[0]


def limit_ratio(claim: Claim) -> Fraction:
    """Return the ratio that the limit approaches; ValueError where it is no instance with a schedule."""
    if claim.limit is None:
        raise ValueError("limit: none, but the instance does not attain the supremum")
    classes = listed(claim.limit.get("classes"), "limit.classes", claim.jobs)
    tables = [claim.speeds[whole(each, "limit.classes", len(claim.speeds) - 1, 0)] for each in classes]

    def pairs(name: str) -> list[Number]:
        found = listed(claim.limit and claim.limit.get(name), f"limit.{name}", claim.jobs)
        return [_number(*fractions(each, f"limit.{name}", 2)) for each in found]

    pieces = []
    for piece in listed(claim.limit.get("schedule"), "limit.schedule"):
        seconds = fractions(mapped(piece, "limit.schedule").get("seconds"), "limit.schedule.seconds", 2)
        pieces.append((_number(*seconds), _units(claim, piece)))
    policy, schedule = _flows(claim, tables, pairs("arrivals"), pairs("works"), pieces, "limit")
    if schedule.times[0] <= 0:
        raise ValueError("limit: the flow time of its schedule is infinitely small")
    return policy.times[0] / schedule.times[0]


def _units(claim: Claim, piece: dict[str, Item]) -> list[int]:
    units = [whole(each, "units", claim.units, 0) for each in listed(piece.get("units"), "units", claim.jobs)]
    if sum(units) > claim.units:
        raise ValueError(f"schedule: {sum(units)} units in a piece, there are {claim.units}")
    return units


def _flows(
    claim: Claim,
    tables: Sequence[Sequence[Fraction]],
    arrivals: Sequence[Number],
    works: Sequence[Number],
    pieces: Sequence[tuple[Number, list[int]]],
    where: str,
) -> tuple[Number, Number]:
    """Flow times of the policy and of the schedule."""
    zero = _number(Fraction(0))
    if any(not work > 0 for work in works) or any(arrival < 0 for arrival in arrivals):
        raise ValueError(f"{where}: a work is not above 0, or an arrival is below it")
    if len(pieces) > MOST_PIECES:
        raise ValueError(f"{where}: more than {MOST_PIECES} pieces")
    now = min(arrivals)
    remaining, flow = list(works), zero
    for seconds, units in pieces:
        if seconds < 0:
            raise ValueError(f"{where}: a piece of less than no time")
        for job, many in enumerate(units):
            if not many:
                continue
            # a schedule may not know jobs before they arrive
            if now < arrivals[job]:
                raise ValueError(f"{where}: job {job} works before it arrives")
            before = remaining[job]
            remaining[job] = before - seconds * tables[job][many - 1]
            # the job ends within this piece; counting its whole length never flatters the schedule
            if before > 0 and remaining[job] <= 0:
                flow = flow + (now + seconds - arrivals[job])
        now = now + seconds
    if any(each > 0 for each in remaining):
        raise ValueError(f"{where}: some work is never done")
    return _policy_flow(claim, tables, arrivals, works), flow


def _policy_flow(
    claim: Claim, tables: Sequence[Sequence[Fraction]], arrivals: Sequence[Number], works: Sequence[Number]
) -> Number:
    """Flow time of the policy: at each moment all jobs end and arrive that are due, then it is asked once."""
    replay = Replay(claim.policy(), claim.units, _number(Fraction(0)))
    coming = list(range(claim.jobs))
    coming.sort(key=lambda job: (arrivals[job], job))
    running: list[int] = []
    while coming or replay.jobs:
        due = [replay.now_s + job.remaining * job.times[job.units - 1] for job in replay.jobs.values() if job.units]
        if coming:
            due.append(arrivals[coming[0]])
        if not due:
            raise ValueError("the policy lets jobs wait for ever")
        replay.pass_by(min(due) - replay.now_s)
        for job in running:
            if not replay.jobs[job].remaining > 0:
                replay.go(job)
        while coming and arrivals[coming[0]] <= replay.now_s:
            job = coming.pop(0)
            replay.come(job, tables[job], works[job])
        running = replay.ask()
    return replay.flow
