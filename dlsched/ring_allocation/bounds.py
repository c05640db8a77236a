"""Bounds of ring_allocation, and how far its heuristics can be from them.

*Lagrange.* For a price lambda >= 0 and any feasible w: sum_j cost_j(w_j) >= sum_j cost_j(w_j) + lambda (sum_j w_j - C)
>= sum_j min_v (cost_j(v) + lambda v) - lambda C. The best price gives the linear programming bound (strong duality of
the relaxed knapsack), and any price can be verified in rational arithmetic.
"""

import math
import time
from collections.abc import Callable

import numpy as np

from dlsched.algorithms.dominance import hull
from dlsched.algorithms.lagrange import best_price
from dlsched.certificates import DualsCertificate, PriceCertificate, rounded_down
from dlsched.core.errors import UsageError
from dlsched.core.labels import plain_labels
from dlsched.ring_allocation.certificate import duals_bound, price_bound
from dlsched.ring_allocation.costs import cost_table, undominated_table
from dlsched.ring_allocation.instance import Instance


def lagrange(
    instance: Instance, *, price: float | None = None, tick: Callable[[], None] | None = None
) -> PriceCertificate:
    """Lagrangian bound at the best price, or at a given one, computed in exact arithmetic and rounded down.

    Cost: O(P) with a small factor, and about 50 us a job for the exact sum. ``tick`` is called now and then; it may raise to
    stop.

    Raises
    ------
    UsageError
        The instance is infeasible (no finite bound is best), or the price is negative or not finite.
    """
    if price is None:
        frontier = best_price(cost_table(instance, fitting=False, tick=tick), instance.gpus, tick=tick)
        if frontier is None:
            raise UsageError("the instance is infeasible: every bound holds")
        price = frontier.price
    if not (math.isfinite(price) and price >= 0):
        raise UsageError(f"price: found {price}, allowed: a number >= 0")
    return PriceCertificate(price, rounded_down(price_bound(instance, price, tick=tick)))


def relaxation(
    instance: Instance, *, time_s: float | None = None, tick: Callable[[], None] | None = None
) -> DualsCertificate:
    """Linear programming bound of the formulation ``milp``, by HiGHS; its duals are the certificate.

    Raises
    ------
    UsageError
        The instance is infeasible.
    Stopped
        HiGHS overran ``time_s`` seconds.
    """
    from scipy.sparse import csr_array

    from dlsched.solvers.lp import linear_program

    if instance.minimum_gpus > instance.gpus:
        raise UsageError("the instance is infeasible: every bound holds")
    began = time.perf_counter()
    table = undominated_table(instance, tick=tick)
    ones = np.ones(table.pairs)
    answer = linear_program(
        table.costs,
        a_ub=csr_array(table.counts[np.newaxis, :].astype(np.float64)),
        b_ub=[float(instance.gpus)],
        a_eq=csr_array((ones, np.arange(table.pairs), table.starts), shape=(table.jobs, table.pairs)),
        b_eq=np.ones(table.jobs),
        time_s=None if time_s is None else max(0.0, time_s - (time.perf_counter() - began)),
    )
    labels = plain_labels([job.id for job in instance.jobs], "j")
    rows = {"capacity": float(answer.upper[0])}
    rows |= {f"choice_{label}": choice for label, choice in zip(labels, answer.equal.tolist(), strict=True)}
    rows = {name: multiplier for name, multiplier in rows.items() if multiplier != 0.0}
    value = duals_bound(instance, DualsCertificate("milp", rows, 0.0), tick=tick)
    return DualsCertificate("milp", rows, rounded_down(value))


def largest_hull_step(instance: Instance) -> float:
    """Largest saving of one step along a lower convex hull: what ``hull`` can lose against the LP bound (0 without steps)."""
    table = cost_table(instance)
    vertices = np.flatnonzero(hull(table))
    job = np.searchsorted(table.starts, vertices, side="right")
    saved = (table.costs[vertices[:-1]] - table.costs[vertices[1:]])[job[:-1] == job[1:]]
    return float(saved.max(initial=0.0))
