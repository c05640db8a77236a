"""matching_placement as the paper writes it, a non-linear mixed-integer program in Pyomo.

======================  =============================================================================================
name                    mathematics
======================  =============================================================================================
``x[i,k]``              1 if worker k serves job i; only where its type has a rate
``pi[i,k]``             pi_ik / Pi_i, the worker's part of the batch, in [0, 1]
``l[i]``                l_i R_i* / Pi_i, the slowest worker's time, at least 1; R_i*: the largest rate i can have
``n[i]``                n_i, in [min_i, max_i]
``r[i]``                r_i / max_k r_k, what the ring carries; only for jobs that may exchange something
objective               minimise (1/S) sum_i T_i (Pi_i / R_i* l_i + 2 (n_i - 1) D_i / (n_i r_i)), in units of ``unit_s``
``one_job``             sum_i x_ik <= 1
``served``              n_i = sum_k x_ik
``batch``               sum_k pi_ik = 1
``split``               pi_ik <= x_ik
``slowest``             R_i* / rho_ik pi_ik <= l_i
``bandwidth``           r_i <= r_k + (max r - r_k) (1 - x_ik), max r over the workers that can serve i
``rate``                l_i sum_k rho_ik / R_i* x_ik >= 1
``order``               sum_{j<=i} x_jm <= sum_{j<=i} x_jk for workers k, then m, of one type, next to each other
======================  =============================================================================================

*Valid*: ``rate`` is theorem A, l_i >= Pi_i / R_i. ``order``: workers of one type may change places, so they may stand in
order of the jobs that they serve, the idle ones last. Both help SCIP only.

Source: Liu, Wang, Huang, Pan (TPDS 2024). Only the abstract was available; the program is our reconstruction. Parts of the
batch, multiples of least times and ``unit_s`` keep SCIP's absolute tolerances meaningful: the optimum is at least 1.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dlsched.matching_placement.arrays import arrays
from dlsched.matching_placement.instance import Instance
from dlsched.matching_placement.solution import Placement

Decode = Callable[[Mapping[str, float]], Placement]


def build_minlp(instance: Instance, *, tick: Callable[[], None] | None = None) -> tuple[Any, Decode, float]:
    """Build the Pyomo model, its decoder, and the number of seconds that its objective counts as one.

    ``unit_s`` is the mean time of jobs that each have the fastest workers to themselves and exchange nothing. ``tick`` is
    called before every job; it may raise to stop.
    """
    import pyomo.environ as pyo

    held = arrays(instance)
    column = {kind: place for place, kind in enumerate(instance.types)}
    kinds = [column[worker.type] for worker in instance.workers]
    rates, bandwidth = held.rates[:, kinds], held.bandwidth[kinds] / held.bandwidth.max()
    best = [float(np.sort(row)[::-1][:most].sum()) or 1.0 for row, most in zip(rates, held.most.tolist(), strict=True)]
    least_s = held.work / best / held.jobs
    unit_s = float(least_s.sum())
    pairs = [(int(i), int(k)) for i, k in np.argwhere(rates > 0)]
    able = [[k for j, k in pairs if j == i] for i in range(held.jobs)]
    rings = np.flatnonzero((held.traffic > 0) & (held.most > 1)).tolist()

    model = pyo.ConcreteModel("matching_placement")
    model.x = pyo.Var(pairs, domain=pyo.Binary)
    model.pi = pyo.Var(pairs, bounds=(0, 1))
    model.l = pyo.Var(range(held.jobs), bounds=(1, None))
    model.n = pyo.Var(range(held.jobs), domain=pyo.Integers)
    model.r = pyo.Var(rings)
    for rows in ("one_job", "served", "batch", "split", "slowest", "bandwidth", "rate", "order"):
        model.add_component(rows, pyo.ConstraintList())
    terms = []
    for i, served in enumerate(able):
        if tick is not None:
            tick()
        model.l[i].setub(best[i] / min((float(rates[i, k]) for k in served), default=best[i]))
        model.n[i].setlb(int(held.least[i]))
        model.n[i].setub(int(max(held.least[i], held.most[i])))
        model.served.add(model.n[i] == pyo.quicksum(model.x[i, k] for k in served))
        if served:
            model.batch.add(pyo.quicksum(model.pi[i, k] for k in served) == 1)
            rate = pyo.quicksum(float(rates[i, k]) / best[i] * model.x[i, k] for k in served)
            model.rate.add(model.l[i] * rate >= 1)
        for k in served:
            model.split.add(model.pi[i, k] <= model.x[i, k])
            model.slowest.add(best[i] / float(rates[i, k]) * model.pi[i, k] <= model.l[i])
        terms.append(float(least_s[i]) / unit_s * model.l[i])
        if i in rings:
            carried = [float(bandwidth[k]) for k in served]
            model.r[i].setlb(min(carried))
            model.r[i].setub(max(carried))
            for k, has in zip(served, carried, strict=True):
                model.bandwidth.add(model.r[i] <= has + (max(carried) - has) * (1 - model.x[i, k]))
            sent = float(held.traffic[i] / held.bandwidth.max()) / held.jobs / unit_s
            terms.append(sent * (1 - 1 / model.n[i]) / (model.r[i] if min(carried) < max(carried) else carried[0]))
    for k in range(len(kinds)):
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

    return model, decode, unit_s
