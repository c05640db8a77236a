"""Bounds of ring_allocation, and how far its heuristics can be from them.

*Lagrange.* For a price lambda >= 0 and any feasible w: sum_j cost_j(w_j) >= sum_j cost_j(w_j) + lambda (sum_j w_j - C)
>= sum_j min_v (cost_j(v) + lambda v) - lambda C. The best price gives the linear programming bound (strong duality of
the relaxed knapsack), and any price can be verified in rational arithmetic.
"""

import math

import numpy as np

from dlsched.algorithms.cost_table import CostTable
from dlsched.algorithms.dominance import hull
from dlsched.algorithms.lagrange import best_price, dual_value
from dlsched.core.certificate import DualsCertificate, PriceCertificate, rounded_down
from dlsched.core.errors import UsageError
from dlsched.ring_allocation.certificate import duals_bound, price_bound
from dlsched.ring_allocation.costs import cost_table
from dlsched.ring_allocation.instance import Instance

_ERROR = 64 * np.finfo(np.float64).eps  # relative, of float costs, their pairwise sums and the product with C


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


def quick_certificate(instance: Instance, table: CostTable, price: float) -> PriceCertificate:
    """Certificate of the best price of ``cost_table(instance, fitting=False)``, its value by floats, rounded down by more.

    The counts that a law's table leaves out minimise at no price from the best one up, so the minima are over all.
    """
    value = dual_value(table, instance.gpus, price)
    return PriceCertificate(price, float(value - _ERROR * (abs(value) + 2 * price * instance.gpus)))


def relaxation(instance: Instance) -> DualsCertificate:
    """Linear programming bound of the formulation ``milp``, by HiGHS; its duals are the certificate.

    Raises
    ------
    UsageError
        The instance is infeasible.
    SolverMissingError
        SciPy is not installed.
    """
    from dlsched.ring_allocation.formulations.milp import build_milp
    from dlsched.solvers.highs import duals
    from dlsched.solvers.linear import from_pulp

    if instance.minimum_gpus > instance.gpus:
        raise UsageError("the instance is infeasible: every bound holds")
    problem, _ = build_milp(instance, fitting=False)
    rows = {name: value for name, value in duals(from_pulp(problem)).items() if value != 0.0}
    return DualsCertificate("milp", rows, rounded_down(duals_bound(instance, DualsCertificate("milp", rows, 0.0))))


def largest_hull_step(instance: Instance) -> float:
    """Largest saving of one step along a lower convex hull: what ``hull`` can lose against the LP bound (0 without steps)."""
    table = cost_table(instance)
    vertices = np.flatnonzero(hull(table))
    job = np.searchsorted(table.starts, vertices, side="right")
    saved = (table.costs[vertices[:-1]] - table.costs[vertices[1:]])[job[:-1] == job[1:]]
    return float(saved.max(initial=0.0))
