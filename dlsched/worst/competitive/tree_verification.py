"""Verifier of the trees of certificates: of all runs of a policy, and of the optimum's events, for one choice of classes.

What a tree proves stands in ``verification``.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from itertools import count, product

from dlsched.core.errors import InputError
from dlsched.worst.certificates import Item, fraction, fractions, listed, mapped, whole
from dlsched.worst.competitive.claims import Claim, Class
from dlsched.worst.competitive.replay import Number, Replay, Vector

MOST_NODES, MOST_SPLITS = 2_000_000, 200
_NEXT = "arrival"


class Open(BaseException):
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
        Cover(claim, [claim.classes[each] for each in row], nodes).run([], mapped(entry.get("tree"), "proof.tree"))
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


class Signs:
    """Signs of forms by those that are known to be > 0; ``undecided``: whether they did not suffice."""

    def __init__(self, known: list[Vector]) -> None:
        self.known, self.undecided = known, False

    def __call__(self, form: Vector) -> int:
        """Return 1, 0 or -1; raises ``Open`` where the sign does not follow."""
        if not any(form):
            return 0
        if positive(form, self.known):
            return 1
        if positive(tuple(-each for each in form), self.known):
            return -1
        self.undecided = True
        raise Open


class Cover:
    """The trees of one choice of classes."""

    def __init__(self, claim: Claim, classes: Sequence[Class], nodes: Iterator[int]) -> None:
        self.claim, self.jobs = claim, claim.jobs
        self.tables, self.weights = zip(*classes, strict=True)
        self.corners = [self.tables]  # the optimum's rows hold for all tables between these
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
            form = tuple(self.coefficient(coefficients.get(name, "0")) for name in self.names)
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

    def signs(self) -> Signs:
        """Signs for one run."""
        return Signs([])

    def coefficient(self, value: Item) -> Item:
        """Read a coefficient of a split."""
        return fraction(value, "split")

    def exceeds(self, left: Item, right: Item) -> bool:
        """Whether a row is broken."""
        return bool(left > right)

    def _count(self) -> None:
        if next(self.nodes) > MOST_NODES:
            raise InputError(where="proof", found="more nodes", allowed=f"at most {MOST_NODES:,} in all trees")

    def _replay(
        self, path: Sequence[str | Vector]
    ) -> tuple[Replay, list[int], list[Fraction], list[Vector], list[Vector]]:
        """Play the policy along a path; return its state, and the run as sums of lengths."""
        splits: list[Vector] = []
        sign = self.signs()
        known = sign.known

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
            with suppress(Open):
                ends = replay.ask()
            if sign.undecided:  # a policy may have caught it
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
            if self.exceeds(left, right):
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
            if job not in ended and any(u[job] * each[job][-1] > ratio * self.weights[job] for each in self.corners):
                raise ValueError(f"multipliers: prove less than {ratio} for the work of job {job} at the end")
            if job >= arrived and sum(g[job:]) > 0:
                raise ValueError(f"multipliers: prove less than {ratio} for the arrival of job {job} at the end")

    def _weight(self, jobs: Iterable[int]) -> Fraction:
        return sum((self.weights[job] for job in jobs), Fraction(0))

    def _coefficient(self, row: Vector, at: int, works: Sequence[Vector]) -> Item:
        """Coefficient of a length in a row whose works are replaced by their sums of lengths."""
        return row[at] + sum((row[j] * works[j][at] for j in range(self.jobs)), Fraction(0))

    def _best(self, u: Sequence[Fraction], here: Sequence[int]) -> Fraction:
        """Largest sum of u_j s_j(v_j) over all divisions of the units among some jobs."""
        return max(self._best_at(tables, u, here) for tables in self.corners)

    def _best_at(self, tables: Sequence[Sequence[Fraction]], u: Sequence[Fraction], here: Sequence[int]) -> Fraction:
        best = [Fraction(0)] * (self.claim.units + 1)
        for job in here:
            worth = [Fraction(0), *(u[job] * each for each in tables[job])]
            best = [max(best[used - v] + worth[v] for v in range(used + 1)) for used in range(len(best))]
        return best[-1]
