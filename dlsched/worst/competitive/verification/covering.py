"""Certificates of suprema of policies, and whether their trees leave nothing out and prove the supremum at each leaf."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import count, product

from dlsched.core.errors import InputError
from dlsched.elastic_stream import policies
from dlsched.elastic_stream.heuristics import SIZINGS
from dlsched.elastic_stream.simulation.view import Policy
from dlsched.worst.certificates import Item, fraction, fractions, listed, mapped, whole
from dlsched.worst.competitive.verification.replay import Number, Replay, Vector

MOST_JOBS, MOST_UNITS = 6, 64
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
    """A certificate, read.

    ``policy``: makes a fresh policy; ``jobs``, ``units``, ``speeds``: sizes, and tables of speeds on 1, 2, ... units;
    ``supremum``, ``ratio``: the supremum, and the ratio of the instance; ``instance``, ``schedule``, ``limit``, ``proof``: as
    in the file.
    """

    policy: Callable[[], Policy]
    jobs: int
    units: int
    speeds: tuple[tuple[Fraction, ...], ...]
    supremum: Fraction
    ratio: Fraction
    instance: Mapping[str, Item]
    schedule: Sequence[Item]
    limit: Mapping[str, Item] | None
    proof: Sequence[Item]


def claim_from(data: Mapping[str, object]) -> Claim:
    """Read a certificate; InputError where it has another form."""
    if data.get("kind") != "competitive" or data.get("family") != "elastic_stream":
        raise InputError(where="kind", found=repr(data.get("kind")), allowed="competitive, of elastic_stream")
    jobs, units = whole(data.get("jobs"), "jobs", MOST_JOBS), whole(data.get("units"), "units", MOST_UNITS)
    speeds = tuple(fractions(row, "speeds", units) for row in listed(data.get("speeds"), "speeds"))
    if not speeds or any(row[0] <= 0 or list(row) != sorted(row) for row in speeds):
        raise InputError(where="speeds", found="other speeds", allowed="positive ones that do not fall")
    method, limit = data.get("method"), data.get("limit")
    if not isinstance(method, str):
        raise InputError(where="method", found=repr(method), allowed="the name of a policy")
    return Claim(
        _policy(method),
        jobs,
        units,
        speeds,
        fraction(data.get("supremum"), "supremum"),
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


class _Open(Exception):  # noqa: N818  caught where the decision is asked for
    """A sign that does not follow from the path."""


def cover(claim: Claim) -> int:
    """Check all trees; return the number of leaves. ValueError where one does not prove the supremum."""
    last, choices = len(claim.speeds) - 1, len(claim.speeds) ** claim.jobs
    if len(claim.proof) != choices:  # before the choices are listed: there may be many
        raise InputError(
            where="proof", found=f"{len(claim.proof):,} trees", allowed=f"{choices:,}, one for each choice of tables"
        )
    found = [mapped(each, "proof") for each in claim.proof]
    classes = [
        tuple(
            whole(each, "proof.classes", last, 0) for each in listed(entry.get("classes"), "proof.classes", claim.jobs)
        )
        for entry in found
    ]
    if sorted(classes) != list(product(range(last + 1), repeat=claim.jobs)):
        raise ValueError("proof: does not have one tree for each choice of tables")
    nodes = count(1)
    return sum(
        _Cover(claim, [claim.speeds[each] for each in row], nodes).run([], mapped(entry.get("tree"), "proof.tree"))
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
    """The trees of one choice of tables."""

    def __init__(self, claim: Claim, tables: Sequence[Sequence[Fraction]], nodes: Iterator[int]) -> None:
        self.claim, self.tables, self.jobs = claim, tables, claim.jobs
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

    def _replay(self, path: Sequence[str | Vector]) -> tuple[Replay, list[int], list[int], list[Vector], list[Vector]]:
        """Play the policy along a path; return its state, and the run as sums of lengths."""
        known: list[Vector] = []
        splits: list[Vector] = []

        def sign(form: Vector) -> int:
            if not any(form):
                return 0
            if positive(form, known):
                return 1
            if positive(tuple(-each for each in form), known):
                return -1
            raise _Open

        def unit(at: int) -> Number:
            return Number(tuple(Fraction(int(k == at)) for k in range(self.size)), sign)

        zero = Number((Fraction(0),) * self.size, sign)
        replay = Replay(self.claim.policy(), self.claim.units, zero)
        present, works, arrivals = list[int](), [zero.times] * self.jobs, list[Vector]()
        ends: list[int] = []
        events = [_NEXT, *path]
        for at, event in enumerate(events):
            if not isinstance(event, str):
                continue
            if at:
                present.append(len(replay.jobs))
                replay.pass_by(unit(self.jobs + len(present) - 1))
            if event == _NEXT:
                job = len(arrivals)
                arrivals.append(replay.now_s.times)
                replay.come(job, self.tables[job], unit(job))
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
            try:
                ends = replay.ask()
            except _Open:
                raise ValueError(f"proof: a decision does not follow from the splits after {event}") from None
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
        for k, many in enumerate(present):
            at = jobs + k
            left = many + sum(y * self._coefficient(row, at, works) for y, row in zip(h, rows, strict=True))
            right = sum(u[j] * works[j][at] + g[j] * arrivals[j][at] for j in range(jobs))
            if left > right:
                raise ValueError(f"multipliers: prove less than {ratio} in interval {k} of the policy")
        arrived, ended = 1, set[int]()
        for event in [*events[1:], None]:
            here = [job for job in range(arrived) if job not in ended]
            if event is None:
                break
            if self._best(u, here) + sum(g[arrived:]) > ratio * len(here):
                raise ValueError(f"multipliers: prove less than {ratio} in an interval of the optimum")
            if event == _NEXT:
                arrived += 1
            else:
                ended.add(int(event.removeprefix("end ")))
        for job in range(jobs):
            if job not in ended and u[job] * self.tables[job][-1] > ratio:
                raise ValueError(f"multipliers: prove less than {ratio} for the work of job {job} at the end")
            if job >= arrived and sum(g[job:]) > 0:
                raise ValueError(f"multipliers: prove less than {ratio} for the arrival of job {job} at the end")

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
