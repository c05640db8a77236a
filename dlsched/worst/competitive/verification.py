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

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from itertools import count, product

from dlsched.core.errors import InputError
from dlsched.core.instance import InstanceFile
from dlsched.core.messages import shown
from dlsched.elastic_stream import policies
from dlsched.elastic_stream.heuristics import SIZINGS
from dlsched.elastic_stream.simulation.view import Policy
from dlsched.families import instance_from
from dlsched.worst.certificates import Item, Verified, fraction, fractions, listed, mapped, require_ratio, whole
from dlsched.worst.competitive.own import OwnPolicy
from dlsched.worst.competitive.replay import Number, Replay, Vector

__all__ = ["Verified", "verify"]


MOST_JOBS, MOST_UNITS, MOST_WEIGHTS = 6, 64, 64
Class = tuple[tuple[Fraction, ...], Fraction]
"""Speeds on 1, 2, ... units, and the weight."""
_OTHERS: dict[str, Callable[[], Policy]] = {
    "equal": lambda: policies.EqualShare("fifo"),
    "fixed": lambda: policies.Queue("fifo", policies.Fixed()),
    "doubling": policies.Doubling,
    "marginal": policies.Marginal,
    "myopic": policies.Myopic,
    "weighted": policies.Weighted,
}


@dataclass(frozen=True)
class Claim:
    """A certificate, read; ``policy`` makes a fresh policy, and the last four fields are as in the file.

    ``supremum``: what no ratio exceeds; ``is_supremum``: whether it is stated to be one that is reached or approached.
    """

    policy: Callable[[], Policy]
    jobs: int
    units: int
    classes: tuple[Class, ...]
    supremum: Fraction
    is_supremum: bool
    ratio: Fraction
    instance: Mapping[str, Item]
    schedule: Sequence[Item]
    limit: Mapping[str, Item] | None
    proof: Sequence[Item]


def claim_from(data: Mapping[str, object], own: OwnPolicy | None = None) -> Claim:
    """Read a certificate; InputError where it has another form, or is of other code than that of ``own``."""
    if data.get("kind") != "competitive" or data.get("family") != "elastic_stream":
        raise InputError(where="kind", found=repr(data.get("kind")), allowed="competitive, of elastic_stream")
    jobs, units = whole(data.get("jobs"), "jobs", MOST_JOBS), whole(data.get("units"), "units", MOST_UNITS)
    speeds = tuple(fractions(row, "speeds", units) for row in listed(data.get("speeds"), "speeds"))
    if not speeds or any(row[0] <= 0 or list(row) != sorted(row) for row in speeds):
        raise InputError(where="speeds", found="other speeds", allowed="positive ones that do not fall")
    weights = fractions(data.get("weights", ["1"]), "weights")
    if not 1 <= len(weights) <= MOST_WEIGHTS or min(weights) <= 0:
        raise InputError(where="weights", found="other weights", allowed=f"1 to {MOST_WEIGHTS} positive ones")
    method, limit = data.get("method"), data.get("limit")
    if not isinstance(method, str):
        raise InputError(where="method", found=repr(method), allowed="the name of a policy")
    of_code = data.get("code_sha256")
    if of_code != (None if own is None else own.sha256):
        found = "none" if own is None else own.sha256
        raise InputError(where="the code of the policy (sha256)", found=found, allowed=shown(of_code))
    upper = "supremum" if "supremum" in data else "at_most"
    return Claim(
        own or _policy(method),
        jobs,
        units,
        tuple(product(speeds, weights)),
        fraction(data.get(upper), upper),
        upper == "supremum",
        fraction(data.get("ratio"), "ratio"),
        mapped(data.get("instance"), "instance"),
        listed(data.get("schedule"), "schedule"),
        None if limit is None else mapped(limit, "limit"),
        listed(data.get("proof"), "proof"),
    )


def _policy(method: str) -> Callable[[], Policy]:
    if method in _OTHERS:
        return _OTHERS[method]
    order, _, sizing = method.partition("-")
    if order not in policies.ORDERS or sizing not in SIZINGS:
        raise InputError(where="method", found=repr(method), allowed="a policy that can be proven")
    return lambda: SIZINGS[sizing](order)


MOST_NODES, MOST_SPLITS = 2_000_000, 200
_NEXT = "arrival"


class _Open(BaseException):
    """A sign that does not follow from the path; policies that catch errors let it pass."""


def cover(claim: Claim) -> int:
    """Check all trees; return the number of leaves. ValueError where one does not prove the supremum."""
    last, choices = len(claim.classes) - 1, len(claim.classes) ** claim.jobs
    if len(claim.proof) != choices:  # before the choices are listed: there may be many
        raise InputError(
            where="proof", found=f"{len(claim.proof):,} trees", allowed=f"{choices:,}, one for each choice of classes"
        )
    found = [mapped(each, "proof") for each in claim.proof]
    classes = [
        tuple(
            whole(each, "proof.classes", last, 0) for each in listed(entry.get("classes"), "proof.classes", claim.jobs)
        )
        for entry in found
    ]
    if sorted(classes) != list(product(range(last + 1), repeat=claim.jobs)):
        raise ValueError("proof: does not have one tree for each choice of classes")
    nodes = count(1)
    return sum(
        _Cover(claim, [claim.classes[each] for each in row], nodes).run([], mapped(entry.get("tree"), "proof.tree"))
        for row, entry in zip(classes, found, strict=True)
    )


def positive(form: Vector, known: Sequence[Vector]) -> bool:
    """Whether a form is > 0: it is c times a known one, c > 0, or 0, plus a form without negative coefficients."""
    if any(form) and min(form) >= 0:
        return True
    for row in known:
        # the range of c for which form - c row has no negative coefficient
        least, most = Fraction(0), None
        for f, r in zip(form, row, strict=True):
            if r == 0 and f < 0:
                break
            if r > 0:
                most = f / r if most is None else min(most, f / r)
            elif r < 0:
                least = max(least, f / r)
        else:
            if most is None or (most > 0 and least <= most):
                return True
    return False


class _Cover:
    """The trees of one choice of classes."""

    def __init__(self, claim: Claim, classes: Sequence[Class], nodes: Iterator[int]) -> None:
        self.claim, self.jobs = claim, claim.jobs
        self.tables, self.weights = zip(*classes, strict=True)
        self.size = 3 * claim.jobs - 1
        self.names = [*(f"w{j}" for j in range(self.jobs)), *(f"d{k}" for k in range(2 * self.jobs - 1))]
        self.nodes = nodes  # of all trees together

    def run(self, path: list[str | Vector], node: Mapping[str, Item]) -> int:
        """Check a node of the policy's tree; a path has events by name, and rows of splits."""
        self._count()
        if "split" in node:
            if sum(not isinstance(each, str) for each in path) > MOST_SPLITS:
                raise ValueError("proof: too many splits")
            coefficients = mapped(node["split"], "split")
            if not coefficients.keys() <= set(self.names):
                raise ValueError(f"split: unknown names in {sorted(coefficients)}")
            form = tuple(fraction(coefficients.get(name, "0"), "split") for name in self.names)
            negated = tuple(-each for each in form)
            return self.run([*path, form], mapped(node.get("positive"), "positive")) + self.run(
                [*path, negated], mapped(node.get("negative"), "negative")
            )
        arrived = 1 + path.count(_NEXT)
        replay, ends, present, works, arrivals = self._replay(path)
        if arrived == self.jobs and not replay.jobs:
            rows = [row for row in path if not isinstance(row, str)]
            return self._optimum((present, works, arrivals, rows), [_NEXT], mapped(node.get("optimum"), "optimum"))
        events = [*([_NEXT] if arrived < self.jobs else []), *(f"end {job}" for job in ends)]
        children = mapped(node.get("events"), "events")
        if set(children) != set(events) or not events:
            raise ValueError(f"events: found {sorted(children)}, but {sorted(events)} may come next")
        return sum(self.run([*path, event], mapped(child, event)) for event, child in children.items())

    def _count(self) -> None:
        if next(self.nodes) > MOST_NODES:
            raise InputError(where="proof", found="more nodes", allowed=f"at most {MOST_NODES:,} in all trees")

    def _replay(
        self, path: Sequence[str | Vector]
    ) -> tuple[Replay, list[int], list[Fraction], list[Vector], list[Vector]]:
        """Play the policy along a path; return its state, and the run as sums of lengths."""
        known: list[Vector] = []
        splits: list[Vector] = []

        undecided: list[Vector] = []

        def sign(form: Vector) -> int:
            if not any(form):
                return 0
            if positive(form, known):
                return 1
            if positive(tuple(-each for each in form), known):
                return -1
            undecided.append(form)
            raise _Open

        def unit(at: int) -> Number:
            return Number(tuple(Fraction(int(k == at)) for k in range(self.size)), sign)

        zero = Number((Fraction(0),) * self.size, sign)
        replay = Replay(self.claim.policy(), self.claim.units, zero, len(set(self.weights)) > 1)
        present, works, arrivals = list[Fraction](), [zero.times] * self.jobs, list[Vector]()
        ends: list[int] = []
        events = [_NEXT, *path]
        for at, event in enumerate(events):
            if not isinstance(event, str):
                continue
            if at:
                present.append(self._weight(replay.jobs))
                replay.pass_by(unit(self.jobs + len(present) - 1))
            if event == _NEXT:
                job = len(arrivals)
                arrivals.append(replay.now_s.times)
                replay.come(job, self.tables[job], self.weights[job], unit(job))
            else:
                job = int(event.removeprefix("end "))
                gone = replay.go(job)
                scale = gone.times[0] * self.tables[job][0]
                works[job] = tuple(
                    scale * (a - b) for a, b in zip(gone.epochs.times, gone.remaining.times, strict=True)
                )
            for following in events[at + 1 :]:
                if isinstance(following, str):
                    break
                splits.append(following)
            # positive on the path: its splits, and what every present job has left
            known[:] = [*splits, *(job.remaining.times for job in replay.jobs.values())]
            with suppress(_Open):
                ends = replay.ask()
            if undecided:  # a policy may have caught it
                raise ValueError(f"proof: a decision does not follow from the splits after {event}")
        return replay, ends, present, works, arrivals

    def _optimum(self, run: Item, events: list[str], node: Mapping[str, Item]) -> int:
        """Check a node of the optimum's tree."""
        self._count()
        if "work" in node:
            self._leaf(run, events, node)
            return 1
        arrived = events.count(_NEXT)
        open_ = [job for job in range(arrived) if f"end {job}" not in events]
        expected = {*([_NEXT] if arrived < self.jobs else []), *(f"end {job}" for job in open_)}
        children = mapped(node.get("events"), "events")
        if set(children) != expected or not expected:
            raise ValueError(f"events: found {sorted(children)}, but {sorted(expected)} may come next in the optimum")
        return sum(self._optimum(run, [*events, event], mapped(child, event)) for event, child in children.items())

    def _leaf(self, run: Item, events: Sequence[str], node: Mapping[str, Item]) -> None:
        """Check multipliers against a run and the optimum's events; ValueError where they prove less."""
        present, works, arrivals, rows = run
        jobs, ratio = self.jobs, self.claim.supremum
        u, g = (fractions(node.get(name), name, jobs) for name in ("work", "arrival"))
        h = fractions(node.get("rows"), "rows", len(rows))
        if min((*u, *h), default=Fraction(0)) < 0:
            raise ValueError("multipliers: below 0")
        for k, weight in enumerate(present):
            at = jobs + k
            left = weight + sum(y * self._coefficient(row, at, works) for y, row in zip(h, rows, strict=True))
            right = sum(u[j] * works[j][at] + g[j] * arrivals[j][at] for j in range(jobs))
            if left > right:
                raise ValueError(f"multipliers: prove less than {ratio} in interval {k} of the policy")
        arrived, ended = 1, set[int]()
        for event in [*events[1:], None]:
            here = [job for job in range(arrived) if job not in ended]
            if event is None:
                break
            if self._best(u, here) + sum(g[arrived:]) > ratio * self._weight(here):
                raise ValueError(f"multipliers: prove less than {ratio} in an interval of the optimum")
            if event == _NEXT:
                arrived += 1
            else:
                ended.add(int(event.removeprefix("end ")))
        for job in range(jobs):
            if job not in ended and u[job] * self.tables[job][-1] > ratio * self.weights[job]:
                raise ValueError(f"multipliers: prove less than {ratio} for the work of job {job} at the end")
            if job >= arrived and sum(g[job:]) > 0:
                raise ValueError(f"multipliers: prove less than {ratio} for the arrival of job {job} at the end")

    def _weight(self, jobs: Iterable[int]) -> Fraction:
        return sum((self.weights[job] for job in jobs), Fraction(0))

    def _coefficient(self, row: Vector, at: int, works: Sequence[Vector]) -> Fraction:
        """Coefficient of a length in a row whose works are replaced by their sums of lengths."""
        return row[at] + sum((row[j] * works[j][at] for j in range(self.jobs)), Fraction(0))

    def _best(self, u: Sequence[Fraction], here: Sequence[int]) -> Fraction:
        """Largest sum of u_j s_j(v_j) over all divisions of the units among some jobs."""
        best = [Fraction(0)] * (self.claim.units + 1)
        for job in here:
            worth = [Fraction(0), *(u[job] * each for each in self.tables[job])]
            best = [max(best[used - v] + worth[v] for v in range(used + 1)) for used in range(len(best))]
        return best[-1]


def verify(data: Mapping[str, object], own: OwnPolicy | None = None) -> Verified:
    """Verify a certificate; one of a policy of the user's own runs the code of ``own``, never what the file names.

    Raises
    ------
    InputError
        The certificate cannot be read.
    ValueError
        The certificate does not prove what it states.
    """
    claim = claim_from(data, own)
    leaves = cover(claim)
    instance, ratio = instance_ratio(claim)
    require_ratio(claim.ratio, claim.supremum, ratio)
    if ratio != claim.supremum and claim.is_supremum:
        near = limit_ratio(claim)
        if near != claim.supremum:
            raise ValueError(f"limit: approaches {near}, not the supremum {claim.supremum}")
    elif claim.limit is not None:
        raise ValueError("limit: found one, but the instance attains the supremum, or none is stated")
    return Verified(claim.supremum, ratio, instance, leaves, interval=not claim.is_supremum)


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
    classes, works = [], []
    for job in jobs:
        times = [
            Fraction(dict(zip(job.epoch_time_s.counts, job.epoch_time_s.times_s, strict=True)).get(k, -1))
            for k in range(1, claim.units + 1)
        ]
        fitting = [
            (row, weight)
            for row, weight in claim.classes
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
    return policy.times[0] / schedule.times[0]


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
