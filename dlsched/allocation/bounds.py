"""Lower bounds for allocations of one count to every job, each with its certificate.

*Lagrange.* For a price lambda >= 0 and any feasible w: sum_j cost_j(w_j) >= sum_j cost_j(w_j) + lambda (sum_j w_j - C)
>= sum_j min_v (cost_j(v) + lambda v) - lambda C. The best price gives the linear programming bound (strong duality of the
relaxed knapsack); any price can be verified in fractions.

*Linear programming.* The relaxation of ``choice_program`` by HiGHS; its duals are the certificate.
"""

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from dlsched.allocation.certificate import Proof, choice_rows
from dlsched.allocation.cost_table import CostTable
from dlsched.allocation.counts import CountedT
from dlsched.allocation.lagrange import best_price
from dlsched.certificates import DualsCertificate, PriceCertificate, rounded_down
from dlsched.core.errors import UsageError
from dlsched.core.limits import Budget, Limits, Tick, no_tick

_INFEASIBLE = "the instance is infeasible: every bound holds"


def price_certificate(
    instance: CountedT,
    proof: Proof[CountedT],
    tabulate: Callable[[], CostTable],
    price: float | None,
    tick: Tick = no_tick,
) -> PriceCertificate:
    """Lagrangian bound, rounded down, at the best price (UsageError: infeasible) or a given one (UsageError: out of range)."""
    if price is None:
        frontier = best_price(tabulate(), instance.capacity, tick=tick)
        if frontier is None:
            raise UsageError(_INFEASIBLE)
        price = frontier.price
    if not (math.isfinite(price) and price >= 0):
        raise UsageError(where="price", found=price, allowed="a number >= 0")
    return PriceCertificate(price, proof.price_below(instance, price, tick=tick))


def duals_certificate(
    instance: CountedT,
    proof: Proof[CountedT],
    tabulate: Callable[[], CostTable],
    *,
    most: float = np.inf,
    tolerance: float | None = None,
    time_s: float | None = None,
    tick: Tick = no_tick,
) -> DualsCertificate:
    """Linear programming bound of a table, rounded down; UsageError: infeasible. ``Stopped``: HiGHS overran the time.

    ``most`` bounds the variables, which the rows ``choice`` do anyway; ``tolerance`` as in ``solvers.lp.linear_program``.
    """
    from scipy.sparse import csr_array

    from dlsched.solvers.lp import linear_program

    budget = Budget(Limits(time_s=time_s))
    table = tabulate()
    if table.minimum_units > instance.capacity:
        raise UsageError(_INFEASIBLE)
    ones, pairs = np.ones(table.pairs), np.arange(table.pairs)
    answer = linear_program(
        table.costs,
        a_ub=csr_array(table.counts[np.newaxis, :].astype(np.float64)),
        b_ub=[float(instance.capacity)],
        a_eq=csr_array((ones, pairs, table.starts), shape=(table.jobs, table.pairs)),
        b_eq=np.ones(table.jobs),
        bounds=(0.0, most),
        tolerance=tolerance,
        time_s=budget.left.time_s,
    )
    # Zero multipliers prove nothing and would only lengthen the file.
    duals = {"capacity": float(answer.upper[0])} | dict(zip(choice_rows(instance), answer.equal.tolist(), strict=True))
    certificate = DualsCertificate("milp", {row: dual for row, dual in duals.items() if dual != 0.0}, 0.0)
    return replace(certificate, value=rounded_down(proof.duals_bound(instance, certificate, tick=tick)))
