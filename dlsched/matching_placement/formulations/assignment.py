"""matching_placement worker by worker: ``assignment`` in PuLP, with the communication made linear, and ``minlp`` in Pyomo.

``assignment``:

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
Then ``l`` counts ``units`` of at least a millionth of these seconds instead of least times. A worker is omitted
from a job with min_i = 1 if it trains less than ``USELESS`` of the batch in that time (without it the
others take longer by no more than that part).

``minlp``, as the paper writes it; ``x[i,k]``, ``pi[i,k]``, ``l[i]``, ``one_job``, ``batch``, ``split``, ``slowest`` and ``order``
as above:

======================  =============================================================================================
name                    mathematics
======================  =============================================================================================
``n[i]``                n_i, in [min_i, max_i]
``e[i]``                e_i = min_k r_k / r_i, how slowly the ring carries; only for jobs that may exchange something
objective               minimise (1/S) sum_i T_i (Pi_i / R_i* l_i + 2 D_i (1 - 1 / n_i) e_i / min_k r_k), in units of ``unit_s``
``served``              n_i = sum_k x_ik
``bandwidth``           e_i >= min_k r_k / r_k x_ik, over the workers that can serve i
``rate``                l_i sum_k rho_ik / R_i* x_ik >= 1
======================  =============================================================================================

``rate`` and ``order`` help SCIP and cut off no placement, up to the names of workers
(models/matching_placement/README.md); the quotients of ``rate`` are at least 2^-20, which SCIP does not take
for 0.

Source: Liu, Wang, Huang, Pan (TPDS 2024). Only the abstract was available; the program is our reconstruction. Parts of the
batch, multiples of least times and ``unit_s`` keep SCIP's absolute tolerances meaningful: the optimum is at least 1.

*A known placement* bounds ``l`` and omits workers as in ``assignment``. A worker counts with at least the bandwidth
at which a ring of two alone takes that long. Rows that say less than ``NOTHING`` are omitted too, and rings that take
less than ``_SHORTEST_RING`` of ``most_s``.
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
    import pyomo.environ as pyo


LARGEST = 1_000_000
"""Largest number of coefficients, as estimated before the model is built."""
USELESS = 2.0**-40
"""Part of the batch below which a worker is omitted: far below solvers' tolerances."""
STEEPEST = 2.0**20
"""Least coefficient of ``slowest`` by which the row is divided: pi_ik <= l_i / ratio."""
UNITS = 2.0**20
"""Largest number of units of ``l`` if a placement is known."""
TINY = 2.0**-10
"""Ratio below which ``rho`` is counted in units of about as much."""
NOTHING = 2.0**-10
"""Units of ``l`` below which rows omit them: units are so few only if one is a millionth of ``most_s``."""


@extendable("assignment")
def build_assignment(
    instance: Instance, *, complete: bool = False, most_s: float | Floats = np.inf, tick: Tick = no_tick
) -> "Formulation[pulp.LpProblem, Placement]":
    """Build the model; ``variables.workers[job, worker]`` is 1 if the worker serves the job.

    ``complete`` keeps every placement: no rows ``order``, which leave one of those that differ by the names of equal workers.
    ``most_s``: the total seconds of a known placement, or one bound for each job, shape (S,); only placements whose jobs take
    no longer need be points of the model. The unit is 1 unless the known ratio is ``TINY``; then it is a power of two near
    that, which the model's name states. UsageError: more than ``LARGEST`` coefficients, or alpha_fair, whose utilities are
    not linear here; or ``complete`` and ``most_s``.
    """
    import pulp

    if complete and np.min(most_s) < np.inf:
        raise UsageError("complete keeps all placements, most_s excludes some: use one of them")

    require_assignment(instance)
    data = arrays(instance)
    most = np.broadcast_to(most_s, data.jobs).tolist()
    rho, unit_of_rho = pulp.LpVariable("rho", 0), _unit(data, most) if data.bottleneck else 1.0
    kinds = kind_of_workers(instance)
    bandwidths, levels = np.unique(data.bandwidth[kinds], return_inverse=True)
    workers = _labels(instance)
    jobs = plain_labels([job.id for job in instance.jobs], "j")
    named = "" if unit_of_rho == 1 else f"_in_units_of_2_to_the_minus_{1 - math.frexp(unit_of_rho)[1]}"
    problem = pulp.LpProblem(f"matching_placement{named}", pulp.LpMinimize)
    objective: list[tuple[pulp.LpVariable, float]] = []
    pair_of: dict[str, tuple[int, int]] = {}
    decisions: dict[Key, pulp.LpVariable] = {}
    one_job: list[list[pulp.LpVariable]] = [[] for _ in workers]
    # a worker and the next one of its type
    following = {k: m for members in instance.types.values() for k, m in pairwise(members)}

    def add(name: str, terms: Sequence[tuple["pulp.LpVariable", float]], sense: int, right: float) -> None:
        problem.addConstraint(pulp.LpConstraint(pulp.LpAffineExpression(terms), sense, name, right))

    for index, job in enumerate(jobs):
        # the fastest set the job can have, then the units of l and its range; useless workers have no variables
        rates = data.rates[index, kinds]
        best = float(np.sort(rates)[::-1][: data.most[index]].sum()) or 1.0
        unit, least, longest = units(float(data.work[index]), best, most[index])
        if data.least[index] == 1:
            rates = np.where(rates < USELESS * best * (least / longest), 0.0, rates)
        able = np.flatnonzero(rates).tolist()
        slow = least * best / min((float(rates[k]) for k in able), default=best)
        longest = min(longest, 2 * slow)  # 2: room for solvers
        slowest = pulp.LpVariable(f"l_{job}", least if least > NOTHING else 0.0, longest)
        # pairs of size and bandwidth level; those that alone take longer than the known placement have no z
        rings = _rings(rates, levels, int(data.least[index]), int(data.most[index]), sends=data.traffic[index] > 0)
        sent = {(n, level): float(data.traffic[index] * ((n - 1) / n) / bandwidths[level]) for n, level in rings}
        rings = {ring: r for ring, r in rings.items() if sent[ring] <= most[index] and least * best / r <= 2 * longest}
        z = {ring: pulp.LpVariable(f"z_{job}_{ring[0]}_{ring[1]}", 0, 1, pulp.LpInteger) for ring in rings}
        x = {k: pulp.LpVariable(f"x_{workers[k]}_{job}", 0, 1, pulp.LpInteger) for k in able}
        pi = {k: pulp.LpVariable(f"pi_{workers[k]}_{job}", 0, 1) for k in able}
        # the job's completion time, in the objective or against the largest ratio
        part = float(data.costs.divisors[index])
        terms = [(slowest, unit / part), *((chosen, sent[ring] / part) for ring, chosen in z.items())]
        objective += terms
        if data.bottleneck:
            add(f"largest_{job}", [*terms, (rho, -unit_of_rho)], pulp.LpConstraintLE, 0)
        # rows of the job, then those of its workers
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
            pair_of[x[k].name] = index, k
            decisions[instance.jobs[index].id, instance.workers[k].id] = x[k]
            one_job[k].append(x[k])
        for k in () if complete else filter(following.__contains__, able):
            later = [(chosen, 1) for chosen in one_job[following[k]]]
            earlier = [(chosen, -1) for chosen in one_job[k]]
            add(f"order_{workers[k]}_{job}", [*later, *earlier], pulp.LpConstraintLE, 0)
    for worker, choices in zip(workers, one_job, strict=True):
        if choices:
            add(f"one_job_{worker}", [(chosen, 1) for chosen in choices], pulp.LpConstraintLE, 1)
    problem.setObjective(pulp.LpAffineExpression([(rho, 1)] if data.bottleneck else objective))

    def decode(values: Mapping[str, float]) -> Placement:
        ids: dict[str, list[str]] = {job.id: [] for job in instance.jobs}
        for name, (index, k) in pair_of.items():
            if values.get(name, 0.0) > 0.5:
                ids[instance.jobs[index].id].append(instance.workers[k].id)
        return Placement(ids)

    def chosen(solution: Placement) -> Decided:
        return {"workers": {(job, worker): 1.0 for job, ids in solution.workers.items() for worker in ids}}

    return Formulation(problem, decode, unit_of_rho, variables=Variables(workers=decisions), chosen=chosen)


def _unit(data: Arrays, most: Sequence[float]) -> float:
    """Ratio that ``rho`` counts as one: about the known one if that is ``TINY``."""
    known = max(map(operator.truediv, most, data.costs.divisors))
    return 1.0 if not 0 < known < TINY else math.ldexp(1.0, math.frexp(known)[1] - 1)


def units(work: float, best: float, most_s: float) -> tuple[float, float, float]:
    """Seconds of one unit of a job's ``l`` (its least time, at least a millionth of ``most_s``), and its range."""
    if most_s == np.inf:
        return work / best, 1.0, np.inf
    unit = max(work / best, most_s / UNITS)
    return unit, work / best / unit, max(1.0, most_s / unit)


def require_assignment(instance: Instance) -> None:
    """Refuse instances that the model cannot hold, with the errors of ``build_assignment``."""
    require_served(instance, "assignment")
    if (size := _coefficients(arrays(instance))) > LARGEST:
        raise UsageError(f"the model has about {size:.2g} coefficients, allowed: up to {LARGEST}; use exact")


def _coefficients(data: Arrays) -> float:
    """Estimated number of coefficients; ``bandwidth`` has all z for each worker, ``order`` earlier jobs."""
    usable = dot(data.rates > 0, data.stock)
    rings = data.most * len(np.unique(data.bandwidth))
    return float((usable * (8.0 + rings / 2)).sum()) + float(usable.max(initial=0)) * data.jobs**2


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


_LARGEST_OBJECTIVE = 2.0**10  # of a known placement in ``unit_s``: SCIP's tolerances are absolute
_SHORTEST_RING = 2.0**-30  # part of ``most_s`` below which a ring does not count
LARGEST_TERMS = 200_000
"""Largest number of terms of the rows, as estimated before the model is built."""


def require_minlp(instance: Instance) -> None:
    """Refuse instances that the model cannot hold, with the errors of ``build_minlp``."""
    require_served(instance, "minlp")
    data = arrays(instance)
    usable = dot(data.rates > 0, data.stock)
    if (size := 8.0 * float(usable.sum()) + float(usable.max(initial=0)) * data.jobs**2) > LARGEST_TERMS:
        raise UsageError(f"the model has about {size:.2g} terms, allowed: up to {LARGEST_TERMS}; use exact")


def build_minlp(
    instance: Instance, *, most_s: float = np.inf, tick: Tick = no_tick
) -> "Formulation[pyo.ConcreteModel, Placement]":
    """Build the Pyomo model; UsageError: more than ``LARGEST_TERMS`` terms, or another objective than the mean.

    Its unit, ``unit_s``, is the mean time of jobs that each have the fastest workers to themselves and exchange nothing.
    ``most_s``: total seconds of a known placement; only placements that take no longer need be points of the model.
    """
    import pyomo.environ as pyo

    require_minlp(instance)
    data = arrays(instance)
    kinds = kind_of_workers(instance)
    rates, bandwidth = data.rates[:, kinds], data.bandwidth[kinds]
    best = [float(np.sort(row)[::-1][:most].sum()) or 1.0 for row, most in zip(rates, data.most.tolist(), strict=True)]
    each_s, least, longest = np.array([units(*job, most_s) for job in zip(data.work, best, strict=True)]).T
    unit_s = float((data.work / best).sum()) / data.jobs
    if most_s < np.inf:
        unit_s = max(unit_s, most_s / data.jobs / _LARGEST_OBJECTIVE)
    # workers that train next to nothing in the known time have no variables
    useless = rates < (USELESS * np.array(best) * (least / longest))[:, None]
    rates = np.where(useless & (data.least == 1)[:, None], 0.0, rates)
    pairs = [(int(i), int(k)) for i, k in np.argwhere(rates > 0)]
    able = [[k for j, k in pairs if j == i] for i in range(data.jobs)]
    slowest = np.min(np.where(rates > 0, bandwidth, np.inf), axis=1)
    # seconds of a ring through the slowest worker that can serve the job, and the jobs for which it counts
    ring_s = np.minimum(data.traffic / slowest, 2 * most_s)
    sends = ring_s > (_SHORTEST_RING * most_s if most_s < np.inf else 0.0)
    rings = np.flatnonzero(sends & (data.most > 1)).tolist()

    model = pyo.ConcreteModel("matching_placement")
    model.x = pyo.Var(pairs, domain=pyo.Binary)
    model.pi = pyo.Var(pairs, bounds=(0, 1))
    model.l = pyo.Var(range(data.jobs), bounds=(0, None))
    model.n = pyo.Var(range(data.jobs), domain=pyo.Integers)
    model.e = pyo.Var(rings, bounds=(0, 1))
    for rows in ("one_job", "served", "batch", "split", "slowest", "bandwidth", "rate", "order"):
        model.add_component(rows, pyo.ConstraintList())
    terms = []
    for i, served in enumerate(able):
        slow = least[i] * best[i] / min((float(rates[i, k]) for k in served), default=best[i])
        model.l[i].setlb(float(least[i]) if least[i] > NOTHING else 0.0)
        # factor 2: SCIP fails on bounds that are nearer than its tolerances
        model.l[i].setub(2 * float(min(longest[i], slow)))
        model.n[i].setlb(int(data.least[i]))
        model.n[i].setub(int(max(data.least[i], data.most[i])))
        model.served.add(model.n[i] == pyo.quicksum(model.x[i, k] for k in served))
        if served:
            model.batch.add(pyo.quicksum(model.pi[i, k] for k in served) == 1)
            rate = pyo.quicksum(max(float(rates[i, k]) / best[i], 1 / STEEPEST) * model.x[i, k] for k in served)
            if least[i] > NOTHING:
                model.rate.add(model.l[i] * rate >= float(least[i]))
        for k in served:
            tick()
            model.split.add(model.pi[i, k] <= model.x[i, k])
            ratio = float(least[i]) * best[i] / float(rates[i, k])
            part = 1.0 if ratio <= STEEPEST else 1 / ratio
            if ratio > NOTHING:
                model.slowest.add(ratio * part * model.pi[i, k] <= part * model.l[i])
        terms.append(float(each_s[i]) / data.jobs / unit_s * model.l[i])
        # the ring's seconds, in parts of those through the slowest worker
        if i in rings:
            parts = [min(1.0, float(data.traffic[i] / bandwidth[k] / ring_s[i])) for k in served]
            model.e[i].setlb(min(parts))
            for k, part in zip(served, parts, strict=True):
                if part > min(parts):
                    model.bandwidth.add(model.e[i] >= part * model.x[i, k])
            sent = float(ring_s[i]) / data.jobs / unit_s
            terms.append(sent * (1 - 1 / model.n[i]) * (model.e[i] if min(parts) < 1 else 1.0))
    for k in range(len(kinds)):
        tick()
        choices = [model.x[i, k] for i in range(data.jobs) if (i, k) in model.x]
        if choices:
            model.one_job.add(pyo.quicksum(choices) <= 1)
        after = next((m for m in range(k + 1, len(kinds)) if kinds[m] == kinds[k]), None)
        for i in range(data.jobs):
            if after is not None and (i, k) in model.x:
                before = [j for j in range(i + 1) if (j, k) in model.x]
                model.order.add(
                    pyo.quicksum(model.x[j, after] for j in before) <= pyo.quicksum(model.x[j, k] for j in before)
                )
    model.mean_time = pyo.Objective(expr=sum(terms), sense=pyo.minimize)

    def decode(values: Mapping[str, float]) -> Placement:
        return Placement(
            {
                job.id: [instance.workers[k].id for k in able[i] if values[f"x[{i},{k}]"] > 0.5]
                for i, job in enumerate(instance.jobs)
            }
        )

    return Formulation(model, decode, unit_s)
