"""matching_placement as the paper writes it, a non-linear mixed-integer program in Pyomo.

======================  =============================================================================================
name                    mathematics
======================  =============================================================================================
``x[i,k]``              1 if worker k serves job i; only where its type has a rate
``pi[i,k]``             pi_ik / Pi_i, the worker's part of the batch, in [0, 1]
``l[i]``                l_i R_i* / Pi_i, the slowest worker's time, at least 1; R_i*: the largest rate i can have
``n[i]``                n_i, in [min_i, max_i]
``e[i]``                e_i = min_k r_k / r_i, how slowly the ring carries; only for jobs that may exchange something
objective               minimise (1/S) sum_i T_i (Pi_i / R_i* l_i + 2 D_i (1 - 1 / n_i) e_i / min_k r_k), in units of ``unit_s``
``one_job``             sum_i x_ik <= 1
``served``              n_i = sum_k x_ik
``batch``               sum_k pi_ik = 1
``split``               pi_ik <= x_ik
``slowest``             R_i* / rho_ik pi_ik <= l_i
``bandwidth``           e_i >= min_k r_k / r_k x_ik, over the workers that can serve i
``rate``                l_i sum_k rho_ik / R_i* x_ik >= 1
``order``               sum_{j<=i} x_jm <= sum_{j<=i} x_jk for workers k, then m, of one type, next to each other
======================  =============================================================================================

``rate`` and ``order`` help SCIP and cut off no placement, up to the names of workers
(models/matching_placement/README.md); the quotients of ``rate`` are at least 2^-20, which SCIP does not take
for 0.

Source: Liu, Wang, Huang, Pan (TPDS 2024). Only the abstract was available; the program is our reconstruction. Parts of the
batch, multiples of least times and ``unit_s`` keep SCIP's absolute tolerances meaningful: the optimum is at least 1.

*A known placement* of ``most_s`` seconds in all bounds every job's seconds, and thereby ``l``, which counts
``units`` as in ``assignment``. A worker counts with at least the bandwidth at which a ring of two alone
takes that long. A worker is left out of a job with min_i = 1 if it trains less than ``USELESS`` of the batch
in that time (without it the others take longer by no more than that part). Rows that say less than
``NOTHING`` are left out too, and rings that take less than ``_NOTHING`` of ``most_s``.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from dlsched.core.arrays import dot
from dlsched.core.errors import UsageError
from dlsched.core.limits import Tick, no_tick
from dlsched.matching_placement.arrays import arrays, kind_of_workers
from dlsched.matching_placement.formulations.assignment import NOTHING, STEEPEST, USELESS, units
from dlsched.matching_placement.instance import Instance
from dlsched.matching_placement.objectives import require_served
from dlsched.matching_placement.solution import Placement
from dlsched.solvers.formulation import Formulation

if TYPE_CHECKING:
    import pyomo.environ as pyo

_LARGEST = 2.0**10  # largest objective
_NOTHING = 2.0**-30
LARGEST = 200_000
"""Terms of the rows; with this number Pyomo needs several seconds and several hundred megabytes."""


def require_minlp(instance: Instance) -> None:
    """Refuse instances that the model cannot hold, with the errors of ``build_minlp``."""
    require_served(instance, "minlp")
    held = arrays(instance)
    usable = dot(held.rates > 0, held.stock)
    if (size := 8.0 * float(usable.sum()) + float(usable.max(initial=0)) * held.jobs**2) > LARGEST:
        raise UsageError(f"the model has about {size:.2g} terms, allowed: up to {LARGEST}; use exact")


def build_minlp(
    instance: Instance, *, most_s: float = np.inf, tick: Tick = no_tick
) -> "Formulation[pyo.ConcreteModel, Placement]":
    """Build the Pyomo model.

    Its unit, ``unit_s``, is the mean time of jobs that each have the fastest workers to themselves and exchange nothing.
    ``most_s``: total seconds of a known placement; only placements that take no longer need be points of the
    model. ``tick`` is called for every worker of every job; it may raise to stop.

    Raises
    ------
    UsageError
        More than ``LARGEST`` terms, or another objective than the mean.
    """
    import pyomo.environ as pyo

    require_minlp(instance)
    held = arrays(instance)
    kinds = kind_of_workers(instance)
    rates, bandwidth = held.rates[:, kinds], held.bandwidth[kinds]
    best = [float(np.sort(row)[::-1][:most].sum()) or 1.0 for row, most in zip(rates, held.most.tolist(), strict=True)]
    each_s, least, longest = np.array([units(*job, most_s) for job in zip(held.work, best, strict=True)]).T
    unit_s = float((held.work / best).sum()) / held.jobs
    if most_s < np.inf:
        unit_s = max(unit_s, most_s / held.jobs / _LARGEST)
    useless = rates < (USELESS * np.array(best) * (least / longest))[:, None]
    rates = np.where(useless & (held.least == 1)[:, None], 0.0, rates)
    pairs = [(int(i), int(k)) for i, k in np.argwhere(rates > 0)]
    able = [[k for j, k in pairs if j == i] for i in range(held.jobs)]
    slowest = np.min(np.where(rates > 0, bandwidth, np.inf), axis=1)
    ring_s = np.minimum(held.traffic / slowest, 2 * most_s)
    sends = ring_s > (_NOTHING * most_s if most_s < np.inf else 0.0)
    rings = np.flatnonzero(sends & (held.most > 1)).tolist()

    model = pyo.ConcreteModel("matching_placement")
    model.x = pyo.Var(pairs, domain=pyo.Binary)
    model.pi = pyo.Var(pairs, bounds=(0, 1))
    model.l = pyo.Var(range(held.jobs), bounds=(0, None))
    model.n = pyo.Var(range(held.jobs), domain=pyo.Integers)
    model.e = pyo.Var(rings, bounds=(0, 1))
    for rows in ("one_job", "served", "batch", "split", "slowest", "bandwidth", "rate", "order"):
        model.add_component(rows, pyo.ConstraintList())
    terms = []
    for i, served in enumerate(able):
        slow = least[i] * best[i] / min((float(rates[i, k]) for k in served), default=best[i])
        model.l[i].setlb(float(least[i]) if least[i] > NOTHING else 0.0)
        # room: SCIP loses itself in bounds nearer than its tolerances
        model.l[i].setub(2 * float(min(longest[i], slow)))
        model.n[i].setlb(int(held.least[i]))
        model.n[i].setub(int(max(held.least[i], held.most[i])))
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
        terms.append(float(each_s[i]) / held.jobs / unit_s * model.l[i])
        if i in rings:
            parts = [min(1.0, float(held.traffic[i] / bandwidth[k] / ring_s[i])) for k in served]
            model.e[i].setlb(min(parts))
            for k, part in zip(served, parts, strict=True):
                if part > min(parts):
                    model.bandwidth.add(model.e[i] >= part * model.x[i, k])
            sent = float(ring_s[i]) / held.jobs / unit_s
            terms.append(sent * (1 - 1 / model.n[i]) * (model.e[i] if min(parts) < 1 else 1.0))
    for k in range(len(kinds)):
        tick()
        given = [model.x[i, k] for i in range(held.jobs) if (i, k) in model.x]
        if given:
            model.one_job.add(pyo.quicksum(given) <= 1)
        after = next((m for m in range(k + 1, len(kinds)) if kinds[m] == kinds[k]), None)
        for i in range(held.jobs):
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
