"""matching_placement worker by worker, as the paper writes it, in PuLP: the communication is made linear by choices.

=============================  =====================================================================================
name                           mathematics
=============================  =====================================================================================
``x_<worker>_<job>``           x_ik = 1 if worker k serves job i, binary; only where its type has a rate
``pi_<worker>_<job>``          pi_ik / Pi_i, the worker's part of the batch, in [0, 1]
``l_<job>``                    l_i R_i* / Pi_i, the slowest worker's time, at least 1; R_i*: the largest rate i can have
``z_<job>_<n>_<level>``        z_inb = 1 if job i has n workers and its ring counts as bandwidth level b, binary
objective                      minimise (1/S) sum_i T_i (Pi_i / R_i* l_i + sum_nb 2 (n - 1) D_i / (n r_b) z_inb)
``one_job_<worker>``           sum_i x_ik <= 1
``served_<job>``               sum_k x_ik = sum_nb n z_inb
``batch_<job>``                sum_k pi_ik = 1
``split_<worker>_<job>``       pi_ik <= x_ik
``slowest_<worker>_<job>``     R_i* / rho_ik pi_ik <= l_i
``size_<job>``                 sum_nb z_inb = 1
``bandwidth_<worker>_<job>``   x_ik <= sum of z_inb with r_b <= r_k
``fastest_<job>``              l_i >= sum_nb (R_i* / R_inb) z_inb, R_inb: the n largest rates of workers with r_k >= r_b
``largest_<job>``              ``max_rho`` only, whose objective is ``rho``: J_i, as above, <= J_i(equal share) U rho; U: unit
``order_<worker>_<job>``       sum_{j<=i} x_jm <= sum_{j<=i} x_jk for worker k and the next one of its type, m
=============================  =====================================================================================

Variables count parts of the batch and multiples of the least time, not samples and seconds, as solvers'
tolerances are absolute. Levels are the distinct bandwidths, 0 the slowest.
models/matching_placement/README.md proves that ``bandwidth`` is exact, and that ``fastest`` and ``order``
are valid. ``l`` is at most R_i* / min rho: with the best split Pi_i / R_i <= Pi_i / min rho.

*A known placement* of ``most_s`` seconds in all bounds every job's seconds, and thereby ``l`` and the z.
Then ``l`` counts ``units`` of at least a millionth of these seconds instead of least times. A worker is left
out of a job with min_i = 1 if it trains less than ``USELESS`` of the batch in that time (without it the
others take longer by no more than that part).
"""

import math
import operator
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from dlsched.core.arrays import dot
from dlsched.core.errors import UsageError
from dlsched.core.limits import Tick, no_tick
from dlsched.core.messages import plain_labels
from dlsched.matching_placement.arrays import Arrays, Counts, Floats, arrays, kind_of_workers
from dlsched.matching_placement.instance import Instance
from dlsched.matching_placement.objectives import require_served
from dlsched.matching_placement.solution import Placement
from dlsched.solvers.formulation import Decided, Formulation, Key, Variables, extendable

if TYPE_CHECKING:
    import pulp

LARGEST = 1_000_000
"""Largest number of coefficients; PuLP then needs several hundred megabytes."""
USELESS = 2.0**-40
STEEPEST = 2.0**20
"""Least coefficient of ``slowest`` by which the row is divided: pi_ik <= l_i / ratio."""
UNITS = 2.0**20
"""Largest number of units of ``l`` if a placement is known."""
TINY = 2.0**-10
"""Ratio below which ``rho`` is counted in units of about as much."""
NOTHING = 2.0**-10
"""Units of ``l`` below which rows leave them out: units are so few only if one is a millionth of
``most_s``."""


@extendable("assignment")
def build_assignment(
    instance: Instance, *, complete: bool = False, most_s: float | Floats = np.inf, tick: Tick = no_tick
) -> "Formulation[pulp.LpProblem, Placement]":
    """Build the model; ``variables.workers[job, worker]`` is 1 if the worker serves the job.

    Its unit is 1 unless the ratio that is known is ``TINY``; then it is a power of two near that, which the model's name states.

    Parameters
    ----------
    instance
        A valid instance but of ``alpha_fair``, whose utilities are not linear here.
    complete
        Keep every placement: no rows ``order``, which leave one of those that differ by the names of equal workers.
        A worker whose type has no rate for a job has no variable there.
    most_s
        Upper bound on the seconds of each job in a better placement, one for all jobs or one for each, shape
        (S,): the total seconds of a known placement. Only placements that take no longer need be points of
        the model.
    tick
        Called for every worker of every job; it may raise to stop.

    Raises
    ------
    UsageError
        More than ``LARGEST`` coefficients, or alpha_fair; or ``complete`` and ``most_s``.
    """
    import pulp

    if complete and np.min(most_s) < np.inf:
        raise UsageError("complete and most_s are given, which leaves out placements")

    require_assignment(instance)
    held = arrays(instance)
    most = np.broadcast_to(most_s, held.jobs).tolist()
    rho, unit_of_rho = pulp.LpVariable("rho", 0), _unit(held, most) if held.bottleneck else 1.0
    kinds = kind_of_workers(instance)
    bandwidths, levels = np.unique(held.bandwidth[kinds], return_inverse=True)
    workers = _labels(instance)
    jobs = plain_labels([job.id for job in instance.jobs], "j")
    named = "" if unit_of_rho == 1 else f"_in_units_of_2_to_the_minus_{1 - math.frexp(unit_of_rho)[1]}"
    problem = pulp.LpProblem(f"matching_placement{named}", pulp.LpMinimize)
    objective: list[tuple[pulp.LpVariable, float]] = []
    serves: dict[str, tuple[int, int]] = {}
    decided: dict[Key, pulp.LpVariable] = {}
    one_job: list[list[pulp.LpVariable]] = [[] for _ in workers]
    following = {k: m for held_by in instance.types.values() for k, m in pairwise(held_by)}

    def add(name: str, terms: Sequence[tuple["pulp.LpVariable", float]], sense: int, right: float) -> None:
        problem.addConstraint(pulp.LpConstraint(pulp.LpAffineExpression(terms), sense, name, right))

    for index, job in enumerate(jobs):
        rates = held.rates[index, kinds]
        best = float(np.sort(rates)[::-1][: held.most[index]].sum()) or 1.0
        unit, least, longest = units(float(held.work[index]), best, most[index])
        if held.least[index] == 1:
            rates = np.where(rates < USELESS * best * (least / longest), 0.0, rates)
        able = np.flatnonzero(rates).tolist()
        slow = least * best / min((float(rates[k]) for k in able), default=best)
        longest = min(longest, 2 * slow)  # 2: room for solvers
        slowest = pulp.LpVariable(f"l_{job}", least if least > NOTHING else 0.0, longest)
        rings = _rings(rates, levels, int(held.least[index]), int(held.most[index]), sends=held.traffic[index] > 0)
        sent = {(n, level): float(held.traffic[index] * ((n - 1) / n) / bandwidths[level]) for n, level in rings}
        rings = {ring: r for ring, r in rings.items() if sent[ring] <= most[index] and least * best / r <= 2 * longest}
        z = {ring: pulp.LpVariable(f"z_{job}_{ring[0]}_{ring[1]}", 0, 1, pulp.LpInteger) for ring in rings}
        x = {k: pulp.LpVariable(f"x_{workers[k]}_{job}", 0, 1, pulp.LpInteger) for k in able}
        pi = {k: pulp.LpVariable(f"pi_{workers[k]}_{job}", 0, 1) for k in able}
        part = float(held.costs.divisors[index])
        terms = [(slowest, unit / part), *((chosen, sent[ring] / part) for ring, chosen in z.items())]
        objective += terms
        if held.bottleneck:
            add(f"largest_{job}", [*terms, (rho, -unit_of_rho)], pulp.LpConstraintLE, 0)
        add(f"size_{job}", [(chosen, 1) for chosen in z.values()], pulp.LpConstraintEQ, 1)
        sizes = [(chosen, -n) for (n, _), chosen in z.items()]
        add(f"served_{job}", [*((x[k], 1) for k in able), *sizes], pulp.LpConstraintEQ, 0)
        add(f"batch_{job}", [(pi[k], 1) for k in able], pulp.LpConstraintEQ, 1)
        fastest = [(z[ring], -least * best / rate) for ring, rate in rings.items() if least * best / rate > NOTHING]
        add(f"fastest_{job}", [(slowest, 1), *fastest], pulp.LpConstraintGE, 0)
        for k in able:
            tick()
            pair = f"{workers[k]}_{job}"
            add(f"split_{pair}", [(pi[k], 1), (x[k], -1)], pulp.LpConstraintLE, 0)
            ratio = least * best / float(rates[k])
            part = 1.0 if ratio <= STEEPEST else 1 / ratio
            if ratio > NOTHING:
                add(f"slowest_{pair}", [(pi[k], ratio * part), (slowest, -part)], pulp.LpConstraintLE, 0)
            slower = [(chosen, -1) for (_, level), chosen in z.items() if level <= levels[k]]
            add(f"bandwidth_{pair}", [(x[k], 1), *slower], pulp.LpConstraintLE, 0)
            serves[x[k].name] = index, k
            decided[instance.jobs[index].id, instance.workers[k].id] = x[k]
            one_job[k].append(x[k])
        for k in () if complete else filter(following.__contains__, able):
            later = [(chosen, 1) for chosen in one_job[following[k]]]
            earlier = [(chosen, -1) for chosen in one_job[k]]
            add(f"order_{workers[k]}_{job}", [*later, *earlier], pulp.LpConstraintLE, 0)
    for worker, given in zip(workers, one_job, strict=True):
        if given:
            add(f"one_job_{worker}", [(chosen, 1) for chosen in given], pulp.LpConstraintLE, 1)
    problem.setObjective(pulp.LpAffineExpression([(rho, 1)] if held.bottleneck else objective))

    def decode(values: Mapping[str, float]) -> Placement:
        found: dict[str, list[str]] = {job.id: [] for job in instance.jobs}
        for name, (index, k) in serves.items():
            if values.get(name, 0.0) > 0.5:
                found[instance.jobs[index].id].append(instance.workers[k].id)
        return Placement(found)

    def chosen(found: Placement) -> Decided:
        return {"workers": {(job, worker): 1.0 for job, given in found.workers.items() for worker in given}}

    return Formulation(problem, decode, unit_of_rho, variables=Variables(workers=decided), chosen=chosen)


def _unit(held: Arrays, most: Sequence[float]) -> float:
    """Ratio that ``rho`` counts as one: about the known one if that is ``TINY``."""
    known = max(map(operator.truediv, most, held.costs.divisors))
    return 1.0 if not 0 < known < TINY else math.ldexp(1.0, math.frexp(known)[1] - 1)


def units(work: float, best: float, most_s: float) -> tuple[float, float, float]:
    """Seconds that ``l`` of a job counts as one, and the least and the largest ``l``: at most ``UNITS`` is the latter.

    One is the job's least time, unless a placement is known in all of whose ``most_s`` seconds that is next to nothing.
    """
    if most_s == np.inf:
        return work / best, 1.0, np.inf
    unit = max(work / best, most_s / UNITS)
    return unit, work / best / unit, max(1.0, most_s / unit)


def require_assignment(instance: Instance) -> None:
    """Refuse instances that the model cannot hold, with the errors of ``build_assignment``."""
    require_served(instance, "assignment")
    if (size := _coefficients(arrays(instance))) > LARGEST:
        raise UsageError(f"the model has about {size:.2g} coefficients, allowed: up to {LARGEST}; use exact")


def _coefficients(held: Arrays) -> float:
    """Estimated number of coefficients; ``bandwidth`` has all z for each worker, ``order`` earlier jobs."""
    usable = dot(held.rates > 0, held.stock)
    rings = held.most * len(np.unique(held.bandwidth))
    return float((usable * (8.0 + rings / 2)).sum()) + float(usable.max(initial=0)) * held.jobs**2


def _rings(rates: Floats, levels: Counts, least: int, most: int, *, sends: bool) -> dict[tuple[int, int], float]:
    """Sizes and bandwidth levels that a job's ring can have, and the largest rate R_inb of each."""
    rings = {}
    able = rates > 0
    for level in sorted({0, *levels[able].tolist()}):
        rate = np.cumsum(np.sort(rates[able & (levels >= level)])[::-1])
        for n in range(least, min(most, len(rate)) + 1):
            if level == 0 or (sends and n > 1):
                rings[n, level] = float(rate[n - 1])
    return rings


def _labels(instance: Instance) -> list[str]:
    """Plain names of the workers; positions where an underscore would make ``x_<worker>_<job>`` ambiguous."""
    labels = plain_labels([worker.id for worker in instance.workers], "w")
    return [f"w{index}" for index in range(len(labels))] if any("_" in label for label in labels) else labels
