"""Verifier of certificates of suprema: computes in rationals, and shares no code with the search that finds them.

A certificate says that a method's ratio to the optimum has the supremum s on a class of tables of costs c_j(n) >= 0.

*Not more.* At the end of every run job j holds h_j, and t_j is the count of its next step, which does not
fit, or 0 if no step saves. Let w be an optimal allocation. Up to the names of the jobs there are finitely
many *ends* (h, t, w), and ``proof`` has a tree for each. A node stands for all runs whose last steps are
those on the path from the root to it. It has a child for every step that may have come before, or
multipliers y >= 0 of inequalities (row >= 0) that hold on all these runs, named as in ``docs/formats.md``,
for which  sum_j c_j(h_j) + y rows <= s sum_j c_j(w_j)  holds coefficient by coefficient. If costs do not
rise, the verifier assumes that w is full; if savings per unit do not rise along the counts, it may extend a
run by steps that save nothing, until no further step fits.

*Not less.* The verifier runs the method on the instance and computes its optimum: the ratio is the one
stated. If that is below s, ``limit`` and ``inside`` are two tables of the class. The verifier runs the
method on limit + e inside, with an infinitely small e > 0: it holds numbers a + b e as pairs, and compares a
first. The ratio is s up to multiples of e; if the allocation ``best`` costs a multiple of e, there is no
supremum.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import count as count_from
from itertools import pairwise

from dlsched import async_sgd, ring_allocation
from dlsched.core.errors import InputError
from dlsched.core.instance import InstanceFile
from dlsched.core.messages import several
from dlsched.families import instance_from
from dlsched.worst.certificates import Claim, End, Tree, Verified, claim_from, require_ratio

__all__ = ["Verified", "verify"]


Expression = dict[tuple[int, int], Fraction]
"""A linear expression in the costs: factors by job and count."""
LARGEST = 10**7
"""Largest number of ends of runs, complete or partial, that are examined: takes a minute."""


def cover(claim: Claim) -> int:
    """Verify that no run has a ratio above the supremum; return the number of leaves."""
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
    """Yield every end once: triples (count, target, best), sorted; ``InputError``: more than ``LARGEST`` to examine."""
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

    ``steps``: tuples (job, from, to, counts of all jobs before the step, their targets), the last step first; ``counts``,
    ``targets``: those of all jobs before these steps.
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
    high = _next_count(part, job, low)
    return None if high is None or not _falling(part.claim) else {(job, low): Fraction(1), (job, high): Fraction(-1)}


def _speed(part: Part, job: int, low: int) -> Expression | None:
    high = _next_count(part, job, low)
    if high is None or part.claim.tables not in ("sublinear", "convex"):
        return None
    return {(job, high): Fraction(high), (job, low): Fraction(-low)}


def _bends(part: Part, job: int, low: int) -> Expression | None:
    middle = _next_count(part, job, low)
    high = None if middle is None else _next_count(part, job, middle)
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


def _next_count(part: Part, job: int, count: int) -> int | None:
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
    if claim.supremum is None and claim.proof:
        raise ValueError("proof: found one, but no supremum that it could prove")
    leaves = cover(claim) if claim.supremum is not None else 0
    instance = instance_of(claim)
    ratio = ratio_of(claim, instance)
    require_ratio(claim.ratio, claim.supremum, ratio)
    if ratio != claim.supremum:
        approached(claim)
    elif claim.approach is not None:
        raise ValueError("limit: found one, but the instance attains the supremum")
    return Verified(claim.supremum, ratio, instance, leaves)


Small = tuple[Fraction, Fraction]
"""The number a + b e, with an infinitely small e > 0."""
NOTHING: Small = (Fraction(0), Fraction(0))
Costs = Sequence[Mapping[int, Fraction]]
"""Costs of every job, by count."""


def instance_of(claim: Claim) -> InstanceFile:
    """Read the instance of a certificate, and verify that it belongs to the certificate's setting."""
    instance = instance_from(dict(claim.instance), "instance")  # type: ignore[arg-type]
    if instance.family != claim.family:
        raise ValueError(f"instance: of family {instance.family}, the certificate speaks of {claim.family}")
    if isinstance(instance, async_sgd.Instance):
        if (instance.nodes, len(instance.jobs)) != (claim.gpus, claim.jobs):
            raise ValueError(f"instance: {several(len(instance.jobs), 'job')} on {instance.nodes} nodes")
        return instance
    assert isinstance(instance, ring_allocation.Instance)
    if (instance.gpus, len(instance.jobs)) != (claim.gpus, claim.jobs):
        raise ValueError(f"instance: {several(len(instance.jobs), 'job')} on {instance.gpus} GPUs")
    for job, costs in zip(instance.jobs, _costs(instance), strict=True):
        if job.current_gpus is not None or list(costs) != offered(claim, claim.gpus):
            raise ValueError(f"instance: job {job.id!r} has other counts, or a current one")
        require_class(claim.tables, costs, f"instance: job {job.id!r}")
    return instance


def ratio_of(claim: Claim, instance: InstanceFile) -> Fraction:
    """Run the library's method, and divide the cost of its answer by the optimum, both exactly."""
    # no answer is better than the optimum: its ratio is known not to be less
    if isinstance(instance, async_sgd.Instance):
        async_sgd.marginal(instance)
        return Fraction(1)
    assert isinstance(instance, ring_allocation.Instance)
    methods: dict[str, Callable[[ring_allocation.Instance], ring_allocation.Allocation | None]] = {
        "doubling": ring_allocation.doubling,
        "marginal": ring_allocation.marginal,
        "hull": ring_allocation.hull,
    }
    allocation = methods[claim.method](instance)
    assert allocation is not None
    costs = _costs(instance)
    total = sum((row[allocation.gpus[job.id]] for row, job in zip(costs, instance.jobs, strict=True)), Fraction(0))
    least = _optimum(costs, instance.gpus)
    if least <= 0:
        raise ValueError("instance: its optimum is 0")
    return total / least


def approached(claim: Claim) -> None:
    """Verify that on ``limit`` + e ``inside`` the ratio is the supremum up to multiples of e, or unbounded."""
    if claim.approach is None:
        raise ValueError("limit: found none, but the instance does not attain the supremum")
    counts, best = fitting(claim), claim.approach.best
    for name, table in (("limit", claim.approach.limit), ("inside", claim.approach.inside)):
        if [len(row) for row in table] != [len(counts)] * claim.jobs:
            raise ValueError(f"{name}: not one cost for each of {claim.jobs} jobs and {len(counts)} counts")
        if any(cost < 0 or (name == "inside" and cost == 0) for row in table for cost in row):
            raise ValueError(f"{name}: a cost that is not positive")
        for job, row in enumerate(table):
            require_class(claim.tables, dict(zip(counts, row, strict=True)), f"{name}: job {job}")
    if len(best) != claim.jobs or not set(best) <= set(counts) or sum(best) > claim.gpus:
        raise ValueError(f"limit.best: {list(best)} is no allocation")
    costs = [
        dict(zip(counts, zip(large, small, strict=True), strict=True))
        for large, small in zip(claim.approach.limit, claim.approach.inside, strict=True)
    ]
    total = sum((row[count][0] for row, count in zip(costs, run(claim, costs), strict=True)), Fraction(0))
    least = sum((row[count][0] for row, count in zip(costs, best, strict=True)), Fraction(0))
    if not (total > 0 and total == claim.supremum * least if claim.supremum is not None else total > 0 and least == 0):
        raise ValueError(f"limit: the method ends with {total}, the best allocation costs {least}")


def run(claim: Claim, costs: Sequence[Mapping[int, Small]]) -> list[int]:
    """Run the method step by step: counts of the jobs at the end; ties go to the first job."""
    counts = [1] * len(costs)
    closed = [False] * len(costs)
    while True:
        steps = [
            (job, *_next(claim, costs[job], count))
            for job, count in enumerate(counts)
            if not closed[job] and steps_from(claim, count)
        ]
        steps = [(job, target, saving) for job, target, saving in steps if saving > NOTHING]
        if not steps:
            return counts
        # the largest saving per unit; the first job of several
        job, target, _ = max(steps, key=lambda step: (step[2], -step[0]))
        if sum(counts) - counts[job] + target > claim.gpus:
            closed[job] = True
        else:
            counts[job] = target


def _next(claim: Claim, costs: Mapping[int, Small], count: int) -> tuple[int, Small]:
    """Return a job's next target, the nearest with the largest saving per unit, and that saving."""

    def saving(target: int) -> Small:
        (a, b), (c, d), units = costs[count], costs[target], target - count
        return (a - c) / units, (b - d) / units

    target = max(steps_from(claim, count), key=lambda each: (saving(each), -each))
    return target, saving(target)


def _costs(instance: ring_allocation.Instance) -> list[dict[int, Fraction]]:
    """Costs weight x epochs x seconds of an epoch, exactly, by job and count."""
    return [
        {
            count: Fraction(job.weight) * Fraction(job.epochs) * Fraction(job.speed.epoch_time_s(count))
            for count in instance.counts(index)
        }
        for index, job in enumerate(instance.jobs)
    ]


def _optimum(costs: Costs, gpus: int) -> Fraction:
    """Return the least total cost, by dynamic programming over jobs and the units that the first jobs use."""
    least = {0: Fraction(0)}
    for row in costs:
        further: dict[int, Fraction] = {}
        for used, total in least.items():
            for count, cost in row.items():
                if used + count <= gpus and total + cost < further.get(used + count, total + cost + 1):
                    further[used + count] = total + cost
        least = further
    return min(least.values())


def require_class(tables: str, costs: Mapping[int, Fraction], where: str) -> None:
    """Refuse costs that are not in the class; the ValueError says where."""
    entries = list(costs.items())
    steps = [(n, m, c, d) for (n, c), (m, d) in pairwise(entries)]
    slopes = [(c - d) / (m - n) for n, m, c, d in steps]
    holds = {
        "any": True,
        "monotone": all(c >= d for _, _, c, d in steps),
        "sublinear": all(c >= d and m * d >= n * c for n, m, c, d in steps),
    }
    holds["convex"] = holds["sublinear"] and all(first >= second for first, second in pairwise(slopes))
    if not holds[tables]:
        raise ValueError(f"{where}: its costs are not {tables}")
