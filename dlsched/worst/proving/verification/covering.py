"""Certificates of suprema, and whether their trees cover all runs and their multipliers prove the supremum."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import count as count_from

from dlsched.core.errors import InputError
from dlsched.core.messages import shown
from dlsched.worst.certificates import fraction, fractions, listed, mapped, one_of, whole

End = tuple[tuple[int, int, int], ...]
Table = tuple[tuple[Fraction, ...], ...]
_FIELDS = ("kind", "family", "method", "jobs", "gpus", "tables", "counts", "supremum", "ratio", "instance", "proof")
_LIMIT = ("best", "limit", "inside")
_LARGEST = 4096
"""Most GPUs of a certificate that the verifier accepts."""
_MOST_JOBS = 100
"""Most jobs: ends of runs are listed job by job, by recursion."""


@dataclass(frozen=True)
class Tree:
    """Multipliers by name, or trees by (job, count before the step); never both."""

    multipliers: Mapping[str, Fraction] | None
    before: Mapping[tuple[int, int], "Tree"]


@dataclass(frozen=True)
class Approach:
    """Two tables by job and count, and the allocation that is best on them."""

    best: tuple[int, ...]
    limit: Table
    inside: Table


@dataclass(frozen=True)
class Claim:
    """Statements of a certificate; see ``docs/formats.md``."""

    family: str
    method: str
    jobs: int
    gpus: int
    tables: str
    counts: str
    supremum: Fraction | None
    ratio: Fraction
    instance: Mapping[str, object]
    proof: Mapping[End, Tree]
    approach: Approach | None


def claim_from(data: Mapping[str, object]) -> Claim:
    """Read a certificate.

    InputError: a field is missing, unknown or wrong.
    """
    fields = set(data)
    if not fields >= set(_FIELDS) or fields - {*_FIELDS, "limit"}:
        raise InputError(
            where="certificate", found=f"the fields {sorted(fields)}", allowed=f"{', '.join(_FIELDS)}, maybe limit"
        )
    limit = data.get("limit")
    jobs, gpus = whole(data["jobs"], "jobs"), whole(data["gpus"], "gpus")
    if not 1 <= jobs <= gpus <= _LARGEST:
        raise InputError(where=("jobs", "gpus"), found=f"{jobs} and {gpus}", allowed=f"1 <= jobs <= gpus <= {_LARGEST}")
    if jobs > _MOST_JOBS:
        raise InputError(where="jobs", found=jobs, allowed=f"at most {_MOST_JOBS}")
    allowed = ("ring_allocation", "async_sgd")
    family = one_of(data["family"], "family", allowed)
    methods = ("doubling", "marginal", "hull") if family == allowed[0] else ("marginal",)
    classes = ("any", "monotone", "sublinear", "convex") if family == allowed[0] else ("convex",)
    return Claim(
        family,
        one_of(data["method"], "method", methods),
        jobs,
        gpus,
        one_of(data["tables"], "tables", classes),
        one_of(data["counts"], "counts", ("powers", "all") if family == allowed[0] else ("all",)),
        None if data["supremum"] is None else fraction(data["supremum"], "supremum"),
        fraction(data["ratio"], "ratio"),
        mapped(data["instance"], "instance"),
        _proof(data["proof"]),
        None if limit is None else _approach(limit),
    )


def _proof(data: object) -> dict[End, Tree]:
    found: dict[End, Tree] = {}
    for index, entry in enumerate(listed(data, "proof")):
        where = f"proof[{index}]"
        if not isinstance(entry, dict) or "end" not in entry:
            raise InputError(where=where, found=shown(entry), allowed="an object with end and a tree")
        triples = [tuple(whole(x, where) for x in listed(triple, where)) for triple in listed(entry["end"], where)]
        if any(len(triple) != 3 for triple in triples):
            raise InputError(where=f"{where}.end", found=shown(entry["end"]), allowed="triples")
        end = tuple((count, target, best) for count, target, best in triples)
        if end in found:
            raise InputError(where=f"{where}.end", found=f"{shown(entry['end'])} twice", allowed="once")
        found[end] = _tree({key: value for key, value in entry.items() if key != "end"}, where)
    return found


def _tree(data: object, where: str) -> Tree:
    if not isinstance(data, dict) or set(data) not in ({"multipliers"}, {"before"}):
        raise InputError(where=where, found=shown(data), allowed="multipliers, or before")
    ((kind, entries),) = data.items()
    if not isinstance(entries, dict):
        raise InputError(where=f"{where}.{kind}", found=shown(entries), allowed="an object")
    if kind == "multipliers":
        return Tree({name: fraction(value, f"{where}.{shown(name)}") for name, value in entries.items()}, {})
    before = {}
    for step, tree in entries.items():
        if not re.fullmatch(r"[0-9]{1,4} [0-9]{1,5}", step):
            raise InputError(where=f"{where}.before", found=shown(step), allowed="a job and a count")
        job, count = map(int, step.split())
        before[job, count] = _tree(tree, f"{where} {step}")
    return Tree(None, before)


def _approach(data: object) -> Approach:
    if not isinstance(data, dict) or set(data) != set(_LIMIT):
        raise InputError(where="limit", found=shown(data), allowed=f"an object with {', '.join(_LIMIT)}")
    limit, inside = (tuple(fractions(row, name) for row in listed(data[name], name)) for name in _LIMIT[1:])
    return Approach(tuple(whole(count, "limit.best") for count in listed(data["best"], "limit.best")), limit, inside)


Expression = dict[tuple[int, int], Fraction]
"""A linear expression in the costs: factors by job and count."""
LARGEST = 10**7
"""Largest number of ends of runs, complete or partial, that are examined: takes a minute."""


def cover(claim: Claim) -> int:
    """Verify that no run has a ratio above the supremum; return the number of leaves.

    ValueError: a run is not covered, a name stands for no inequality there, or multipliers prove too little.
    """
    covered = set()
    for end in _ends(claim):
        if end not in claim.proof:
            raise ValueError(f"proof: the end {_said(end)} is not covered")
        covered.add(end)
    for end in claim.proof:
        if end not in covered:
            raise ValueError(f"proof: the end {_said(end)} is no end of a run")
    return sum(_verify(claim, Part(claim, end, (), *_columns(end)), claim.proof[end]) for end in sorted(claim.proof))


def offered(claim: Claim, most: int) -> list[int]:
    """Return the counts offered that are at most ``most``."""
    return [n for n in range(1, most + 1) if claim.counts == "all" or n & (n - 1) == 0]


def fitting(claim: Claim) -> list[int]:
    """Return the counts that are offered and fit beside one unit for every other job."""
    return offered(claim, claim.gpus - claim.jobs + 1)


def steps_from(claim: Claim, count: int) -> list[int]:
    """Return the counts to which one step of the method may lead."""
    later = [n for n in fitting(claim) if n > count]
    if claim.method == "doubling":
        return [n for n in later if n == 2 * count]
    return later if _leaps(claim) else later[:1]


def _leaps(claim: Claim) -> bool:
    """Whether a step may pass over counts: hull's on tables that are not convex, where all counts lie on the hull."""
    return claim.method == "hull" and claim.tables != "convex"


def _reached(claim: Claim) -> list[int]:
    """Return the counts that the method may hold."""
    return [n for n in fitting(claim) if claim.method != "doubling" or n & (n - 1) == 0]


def _falling(claim: Claim) -> bool:
    """Whether costs do not rise; hull and the optimum use only counts that cost less than every smaller count."""
    return claim.tables != "any" or claim.method == "hull"


def _said(end: End) -> list[list[int]]:
    return [list(triple) for triple in end]


def _columns(end: End) -> tuple[tuple[int, ...], tuple[int, ...]]:
    return tuple(count for count, _, _ in end), tuple(target for _, target, _ in end)


def _ends(claim: Claim) -> Iterator[End]:
    """Yield every end once: triples (count, target, best), sorted by job in non-decreasing order.

    InputError: there are more than ``LARGEST`` ends to examine.
    """
    bests = fitting(claim)
    looked_at = count_from(1)

    def full(best: int, spare: int) -> bool:
        return not _falling(claim) or not any(0 < n - best <= spare for n in bests)

    def over(count: int, target: int, free: int) -> bool:
        if target:
            return target - count > free
        further = steps_from(claim, count)
        if not further or claim.tables == "convex":
            return not further
        return _leaps(claim) or further[0] - count <= free

    # what a job may hold at the end, and its next step (0: none that saves)
    states = [(count, target) for count in _reached(claim) for target in (0, *steps_from(claim, count))]

    def grow(chosen: End, free: int, spare: int) -> Iterator[End]:
        if next(looked_at) > LARGEST:
            raise InputError(
                where=("jobs", "gpus"), found=f"{claim.jobs} and {claim.gpus}", allowed="fewer, this has too many ends"
            )
        if len(chosen) == claim.jobs:
            if all(over(count, target, free) and full(best, spare) for count, target, best in chosen):
                yield chosen
            return
        others = claim.jobs - len(chosen) - 1
        for count, target in states:
            for best in bests if count + others <= free else ():
                triple = (count, target, best)
                if best + others <= spare and (not chosen or chosen[-1] <= triple):
                    yield from grow((*chosen, triple), free - count, spare - best)

    return grow((), claim.gpus, claim.gpus)


@dataclass(frozen=True)
class Part:
    """All runs whose last steps are those on the path to a node.

    ``claim``: the claim to verify; ``end``: the end of these runs; ``steps``: tuples (job, from, to, counts of all jobs before
    the step, their targets), the last step first; ``counts``, ``targets``: counts and targets of all jobs before these steps.
    """

    claim: Claim
    end: End
    steps: tuple[tuple[int, int, int, tuple[int, ...], tuple[int, ...]], ...]
    counts: tuple[int, ...]
    targets: tuple[int, ...]

    def earlier(self, job: int, count: int) -> "Part":
        """Return those of the runs whose step before these was one of the job from that count."""
        target = self.counts[job]
        counts = (*self.counts[:job], count, *self.counts[job + 1 :])
        targets = (*self.targets[:job], target, *self.targets[job + 1 :])
        return Part(self.claim, self.end, (*self.steps, (job, count, target, counts, targets)), counts, targets)

    def inequality(self, name: str) -> Expression:
        """Return the expression of that name, which is >= 0 on all these runs; ValueError if there is none."""
        kind, *texts = name.split(" ")
        numbers = [int(text) for text in texts if text.isascii() and text.isdigit() and len(text) < 6]
        maker, length = _INEQUALITIES.get(kind, (_turn, -1))
        found = maker(self, *numbers) if len(numbers) == len(texts) == length else None
        if found is None:
            raise ValueError(f"proof: {name!r} is no inequality at the end {_said(self.end)}")
        return found

    def steps_known(self) -> set[tuple[int, int, int]]:
        """Return the steps (job, from, to) that are steepest for their job: those taken, and the next at the end."""
        ended = {(job, count, target) for job, (count, target, _) in enumerate(self.end) if target}
        return {step[:3] for step in self.steps} | (ended if _leaps(self.claim) else set())


def _verify(claim: Claim, part: Part, tree: Tree) -> int:
    """Verify a node; return the number of its leaves."""
    if tree.multipliers is not None:
        _prove(claim, part, tree.multipliers)
        return 1
    # every step that may have come just before the path
    expected = {
        (job, earlier)
        for job, count in enumerate(part.counts)
        for earlier in _reached(claim)
        if earlier < count and count in steps_from(claim, earlier)
    }
    if not expected or set(tree.before) != expected:
        raise ValueError(
            f"proof: at the end {_said(part.end)} after {len(part.steps)} steps back "
            f"the steps before are {sorted(tree.before)}, allowed: {sorted(expected)}"
        )
    return sum(_verify(claim, part.earlier(*step), tree.before[step]) for step in sorted(expected))


def _prove(claim: Claim, part: Part, multipliers: Mapping[str, Fraction]) -> None:
    """Verify that multipliers prove the supremum; ValueError if not."""
    total: Expression = {(job, count): Fraction(1) for job, (count, _, _) in enumerate(part.end)}
    for name, multiplier in multipliers.items():
        if multiplier < 0:
            raise ValueError(f"proof: the multiplier {multiplier} of {name!r} is negative")
        for place, factor in part.inequality(name).items():
            total[place] = total.get(place, Fraction(0)) + multiplier * factor
    assert claim.supremum is not None
    # only the best allocation's costs are on the right-hand side
    best = {(job, count) for job, (_, _, count) in enumerate(part.end)}
    for place, factor in total.items():
        if factor > (claim.supremum if place in best else 0):
            raise ValueError(
                f"proof: at the end {_said(part.end)} the multipliers leave "
                f"{factor} of the cost of job {place[0]} with {place[1]}"
            )


def _falls(part: Part, job: int, low: int) -> Expression | None:
    high = _next(part, job, low)
    return None if high is None or not _falling(part.claim) else {(job, low): Fraction(1), (job, high): Fraction(-1)}


def _speed(part: Part, job: int, low: int) -> Expression | None:
    high = _next(part, job, low)
    if high is None or part.claim.tables not in ("sublinear", "convex"):
        return None
    return {(job, high): Fraction(high), (job, low): Fraction(-low)}


def _bends(part: Part, job: int, low: int) -> Expression | None:
    middle = _next(part, job, low)
    high = None if middle is None else _next(part, job, middle)
    if middle is None or high is None or part.claim.tables != "convex":
        return None
    return _steeper((job, low, middle), (job, middle, high))


def _saves(part: Part, job: int, low: int, high: int) -> Expression | None:
    return {(job, low): Fraction(1), (job, high): Fraction(-1)} if (job, low, high) in part.steps_known() else None


def _steep(part: Part, job: int, low: int, high: int, other: int) -> Expression | None:
    if not _leaps(part.claim) or (job, low, high) not in part.steps_known():
        return None
    further = other in steps_from(part.claim, low) and other != high
    return _steeper((job, low, high), (job, low, other)) if further else None


def _stuck(part: Part, job: int, low: int, high: int) -> Expression | None:
    ended = job < len(part.end) and part.end[job][:2] == (low, 0) and high in steps_from(part.claim, low)
    return {(job, high): Fraction(1), (job, low): Fraction(-1)} if ended else None


def _turn(part: Part, number: int, other: int) -> Expression | None:
    """Step ``number`` (the last is 1) saves no less per unit than a step of another job that fitted."""
    if not (1 <= number <= len(part.steps) and other < part.claim.jobs):
        return None
    job, low, high, counts, targets = part.steps[number - 1]
    units = targets[other] - counts[other]
    if other == job or targets[other] == 0 or sum(counts) + units > part.claim.gpus:
        return None
    return _steeper((job, low, high), (other, counts[other], targets[other]))


_INEQUALITIES: dict[str, tuple[Callable[..., Expression | None], int]] = {
    "falls": (_falls, 2),
    "speed": (_speed, 2),
    "bends": (_bends, 2),
    "saves": (_saves, 3),
    "steep": (_steep, 4),
    "stuck": (_stuck, 3),
    "turn": (_turn, 2),
}
"""Kinds of inequalities, and how many numbers follow their names."""


def _next(part: Part, job: int, count: int) -> int | None:
    """The next larger count of a table."""
    counts = fitting(part.claim)
    known = job < part.claim.jobs and count in counts[:-1]
    return counts[counts.index(count) + 1] if known else None


def _steeper(first: tuple[int, int, int], second: tuple[int, int, int]) -> Expression:
    """Saving per unit of the first step (job, from, to) minus that of the second, times the lengths of both."""
    (i, a, b), (j, c, d) = first, second
    terms = [((i, a), d - c), ((i, b), c - d), ((j, c), a - b), ((j, d), b - a)]
    total: Expression = {}
    for place, factor in terms:
        total[place] = total.get(place, Fraction(0)) + factor
    return total
