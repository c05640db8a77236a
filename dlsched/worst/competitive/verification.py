"""Verifier of certificates of suprema of policies: in rationals, without a solver, and without code of the search.

*Not more.* A class of jobs has a table of speeds and a weight. ``proof`` has a tree for every choice of classes for
the jobs, which are named in order of arrival. The
verifier plays the policy's own code along it, on linear forms of the works w_j and of the lengths d_k between
events. A node lists all events that may come next, or splits on the sign of a form; a decision has to follow
from the splits. Where all jobs have ended, a second tree lists the events of an optimal stream in the same
way. Its leaves have multipliers u >= 0 of the works, g of the arrivals and h >= 0 of the splits, with

    flow(policy) <= flow(policy) + h rows <= u works + g arrivals <= supremum flow(optimum):

the second inequality holds for each d_k, the third for each interval and each allocation in it; what follows
an order that is not whole costs at least its work over the largest speed.

*Not less.* The verifier plays the policy on the instance and measures the schedule: their quotient is the ratio
stated. If that is below the supremum, ``limit`` is an instance and a schedule in numbers a + b e, e > 0
infinitely small, whose quotient is the supremum but for multiples of e. A certificate with ``at_most`` in place of
the supremum has no limit.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import pairwise

from dlsched.core.instance import InstanceFile
from dlsched.families import instance_from
from dlsched.worst.certificates import Item, Verified, fraction, fractions, listed, mapped, require_ratio, whole
from dlsched.worst.competitive.claims import Claim, Class, claim_from
from dlsched.worst.competitive.own import OwnPolicy
from dlsched.worst.competitive.replay import Number, Replay, Vector
from dlsched.worst.competitive.table_verification import cover_concave
from dlsched.worst.competitive.tree_verification import cover

__all__ = ["Verified", "verify"]


def verify(data: Mapping[str, object], own: OwnPolicy | None = None) -> Verified:
    """Verify a certificate; one of a policy of the user's own runs the code of ``own``, never what the file names.

    InputError: the certificate cannot be read. ValueError: it does not prove what it states.
    """
    claim = claim_from(data, own)
    leaves = cover(claim) if claim.classes else cover_concave(claim)
    instance, ratio = instance_ratio(claim)
    require_ratio(claim.ratio, claim.supremum, ratio)
    if ratio != claim.supremum and claim.is_supremum:
        near = limit_ratio(claim)
        if near != claim.supremum:
            raise ValueError(f"limit: approaches {near}, not the supremum {claim.supremum}")
    elif claim.limit is not None:
        raise ValueError("limit: found one, but the instance attains the supremum, or none is stated")
    return Verified(claim.supremum, ratio, instance, leaves, interval=not claim.is_supremum)


def concave_table(times: Sequence[Fraction]) -> list[tuple[Fraction, ...]]:
    """Return the speeds of these times per epoch, alone in a list; none if they fall, or gains grow."""
    if min(times) <= 0:
        return []
    speeds = [Fraction(0), *(times[0] / each for each in times)]
    gains = [after - before for before, after in pairwise(speeds)]
    return [tuple(speeds[1:])] if gains == sorted(gains, reverse=True) and gains[-1] >= 0 else []


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
        if not job.keys() <= {"id", "arrival_s", "epochs", "epoch_time_s", "weight"}:
            raise ValueError(f"instance: job {job['id']!r} has more than an arrival, epochs, times and a weight")
    classes, works = list[Class](), list[Number]()
    for job in jobs:
        times = [
            Fraction(dict(zip(job.epoch_time_s.counts, job.epoch_time_s.times_s, strict=True)).get(k, -1))
            for k in range(1, claim.units + 1)
        ]
        given = claim.classes or (classes[:1] or [(row, Fraction(1)) for row in concave_table(times)])
        fitting = [
            (row, weight)
            for row, weight in given
            if weight == Fraction(job.weight)
            and all(t * s == times[0] * row[0] for t, s in zip(times, row, strict=True))
        ]
        if not fitting or len(job.epoch_time_s.counts) != claim.units or times[0] <= 0:
            raise ValueError(f"instance: job {job.id!r} has none of the speeds, or of the weights")
        classes.append(fitting[0])
        works.append(_number(Fraction(job.epochs) * times[0] * fitting[0][0][0]))
    arrivals = [_number(Fraction(job.arrival_s)) for job in jobs]
    pieces = []
    for piece in claim.schedule:
        seconds = _number(fraction(mapped(piece, "schedule").get("seconds"), "schedule.seconds"))
        pieces.append((seconds, _units(claim, piece)))
    policy, schedule = _flows(claim, classes, arrivals, works, pieces, "schedule")
    return instance, policy.times[0] / schedule.times[0]


def limit_ratio(claim: Claim) -> Fraction:
    """Return the ratio that the limit approaches; ValueError where it is no instance with a schedule."""
    if claim.limit is None:
        raise ValueError("limit: none, but the instance does not attain the supremum")
    chosen = listed(claim.limit.get("classes"), "limit.classes", claim.jobs)
    classes = [claim.classes[whole(each, "limit.classes", len(claim.classes) - 1, 0)] for each in chosen]

    def pairs(name: str) -> list[Number]:
        found = listed(claim.limit and claim.limit.get(name), f"limit.{name}", claim.jobs)
        return [_number(*fractions(each, f"limit.{name}", 2)) for each in found]

    pieces = []
    for piece in listed(claim.limit.get("schedule"), "limit.schedule"):
        seconds = fractions(mapped(piece, "limit.schedule").get("seconds"), "limit.schedule.seconds", 2)
        pieces.append((_number(*seconds), _units(claim, piece)))
    policy, schedule = _flows(claim, classes, pairs("arrivals"), pairs("works"), pieces, "limit")
    if schedule.times[0] <= 0:
        raise ValueError("limit: the flow time of its schedule is infinitely small")
    return Fraction(policy.times[0] / schedule.times[0])


def _units(claim: Claim, piece: dict[str, Item]) -> list[int]:
    units = [whole(each, "units", claim.units, 0) for each in listed(piece.get("units"), "units", claim.jobs)]
    if sum(units) > claim.units:
        raise ValueError(f"schedule: {sum(units)} units in a piece, there are {claim.units}")
    return units


def _flows(
    claim: Claim,
    classes: Sequence[Class],
    arrivals: Sequence[Number],
    works: Sequence[Number],
    pieces: Sequence[tuple[Number, list[int]]],
    where: str,
) -> tuple[Number, Number]:
    """Weighted flow times of the policy and of the schedule."""
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
            remaining[job] = before - seconds * classes[job][0][many - 1]
            # the job ends within this piece; counting its whole length never flatters the schedule
            if before > 0 and remaining[job] <= 0:
                flow = flow + (now + seconds - arrivals[job]) * classes[job][1]
        now = now + seconds
    if any(each > 0 for each in remaining):
        raise ValueError(f"{where}: some work is never done")
    return _policy_flow(claim, classes, arrivals, works), flow


def _policy_flow(claim: Claim, classes: Sequence[Class], arrivals: Sequence[Number], works: Sequence[Number]) -> Number:
    """Weighted flow time of the policy: at each moment all jobs end and arrive that are due, then it is asked once."""
    weighted = len({weight for _, weight in classes}) > 1
    replay = Replay(claim.policy(), claim.units, _number(Fraction(0)), weighted)
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
            replay.come(job, *classes[job], works[job])
        running = replay.ask()
    return replay.flow
