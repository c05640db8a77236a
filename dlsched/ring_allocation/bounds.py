"""Bounds of ring_allocation, and how far its heuristics can be from them.

*Lagrange.* For a price lambda >= 0 and any feasible w: sum_j cost_j(w_j) >= sum_j cost_j(w_j) + lambda (sum_j w_j - C)
>= sum_j min_v (cost_j(v) + lambda v) - lambda C. The best price gives the linear programming bound (strong duality of
the relaxed knapsack), and any price can be verified in rational arithmetic.
"""

import math
from collections.abc import Callable

import numpy as np

from dlsched.algorithms.dominance import hull
from dlsched.algorithms.lagrange import best_price
from dlsched.core.certificate import DualsCertificate, PriceCertificate, rounded_down
from dlsched.core.errors import UsageError
from dlsched.ring_allocation.certificate import duals_bound, price_bound
from dlsched.ring_allocation.costs import cost_table
from dlsched.ring_allocation.instance import Instance


def lagrange(instance: Instance, *, price: float | None = None) -> PriceCertificate:
    """Lagrangian bound at the best price, or at a given one, computed in exact arithmetic and rounded down.

    Cost: O(P) with a small factor, and about 50 us a job for the exact sum.

    Raises
    ------
    UsageError
        The instance is infeasible (no finite bound is best), or the price is negative or not finite.
    """
    if price is None:
        frontier = best_price(cost_table(instance, fitting=False), instance.gpus)
        if frontier is None:
            raise UsageError("the instance is infeasible: every bound holds")
        price = frontier.price
    if not (math.isfinite(price) and price >= 0):
        raise UsageError(f"price: found {price}, allowed: a number >= 0")
    return PriceCertificate(price, rounded_down(price_bound(instance, price)))


def relaxation(
    instance: Instance, *, time_s: float | None = None, tick: Callable[[], None] | None = None
) -> DualsCertificate:
    """Linear programming bound of the formulation ``milp``, by HiGHS; its duals are the certificate.

    Raises
    ------
    UsageError
        The instance is infeasible.
    OutOfTime
        HiGHS overran ``time_s`` seconds.
    """
    from dlsched.ring_allocation.formulations.milp import build_milp
    from dlsched.solvers import child
    from dlsched.solvers.linear import from_pulp

    if instance.minimum_gpus > instance.gpus:
        raise UsageError("the instance is infeasible: every bound holds")
    problem, _ = build_milp(instance, tick=tick)
    duals = child.call("dlsched.solvers.highs:duals", from_pulp(problem), time_s=time_s)
    rows = {name: value for name, value in duals.items() if value != 0.0}
    return DualsCertificate("milp", rows, rounded_down(duals_bound(instance, DualsCertificate("milp", rows, 0.0))))


def largest_hull_step(instance: Instance) -> float:
    """Largest saving of one step along a lower convex hull: what ``hull`` can lose against the LP bound (0 without steps)."""
    table = cost_table(instance)
    vertices = np.flatnonzero(hull(table))
    job = np.searchsorted(table.starts, vertices, side="right")
    saved = (table.costs[vertices[:-1]] - table.costs[vertices[1:]])[job[:-1] == job[1:]]
    return float(saved.max(initial=0.0))
