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

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise

from dlsched import async_sgd, ring_allocation
from dlsched.core.instance import InstanceFile
from dlsched.core.messages import several
from dlsched.families import instance_from
from dlsched.worst.certificates import Verified, require_ratio
from dlsched.worst.proving.verification.covering import Claim, claim_from, cover, fitting, offered, steps_from

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
    """Read the instance of a certificate, and verify that it belongs to the certificate's setting.

    InstanceError: the data are not an instance; ValueError: the instance belongs to another setting.
    """
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
        _require_class(claim.tables, costs, f"instance: job {job.id!r}")
    return instance


def ratio_of(claim: Claim, instance: InstanceFile) -> Fraction:
    """Run the library's method, and divide the cost of its answer by the optimum, both exactly."""
    if isinstance(
        instance, async_sgd.Instance
    ):  # no answer is better than the optimum: its ratio is known not to be less
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
    """Verify that on ``limit`` + e ``inside`` the ratio is the supremum up to multiples of e, or unbounded.

    ValueError: the ratio is another one.
    """
    if claim.approach is None:
        raise ValueError("limit: found none, but the instance does not attain the supremum")
    counts, best = fitting(claim), claim.approach.best
    for name, table in (("limit", claim.approach.limit), ("inside", claim.approach.inside)):
        if [len(row) for row in table] != [len(counts)] * claim.jobs:
            raise ValueError(f"{name}: not one cost for each of {claim.jobs} jobs and {len(counts)} counts")
        if any(cost < 0 or (name == "inside" and cost == 0) for row in table for cost in row):
            raise ValueError(f"{name}: a cost that is not positive")
        for job, row in enumerate(table):
            _require_class(claim.tables, dict(zip(counts, row, strict=True)), f"{name}: job {job}")
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


def _require_class(tables: str, costs: Mapping[int, Fraction], where: str) -> None:
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
