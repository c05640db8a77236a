"""Bounds of async_sgd; see ``allocation.bounds``. As times are convex, the best price gives the optimum itself."""

from dataclasses import replace
from functools import partial

from dlsched.allocation.bounds import duals_certificate, price_certificate
from dlsched.allocation.cost_table import CostTable
from dlsched.async_sgd.certificate import PROOF, price_below
from dlsched.async_sgd.costs import cost_table
from dlsched.async_sgd.instance import Instance
from dlsched.certificates import DualsCertificate, PriceCertificate
from dlsched.core.limits import Tick, no_tick

_EXACT = 1000  # pairs of job and count
_TOLERANCE = 1e-9  # HiGHS', of reduced costs in parts of the largest cost


def lagrange(
    instance: Instance, *, price: float | None = None, table: CostTable | None = None, tick: Tick = no_tick
) -> PriceCertificate:
    """Lagrangian bound at the best price, or at a given one, rounded down: the value is proven.

    ``table``: the instance's cost table, if it is there; it is made where no price is given. ``tick`` may raise to stop.

    Cost: the cost table. Where that has at most a thousand pairs, or a price is given without it, the value is computed in
    exact arithmetic: about a hundred microseconds a job, and ten for each node that is worth the price. Else it is computed in
    floats with a proven error (``float_value``), which lowers it by a few parts in 10^14 for each node of a job.

    Raises
    ------
    UsageError
        The instance is infeasible (no finite bound is best), or the price is negative or not finite.
    """
    if table is None and price is None:
        table = cost_table(instance, tick=tick)
    proof = PROOF if table is None or table.pairs <= _EXACT else replace(PROOF, below=partial(price_below, table))

    def tabulated() -> CostTable:
        return table or cost_table(instance, tick=tick)

    return price_certificate(instance, proof, tabulated, price, tick)


def relaxation(instance: Instance, *, time_s: float | None = None, tick: Tick = no_tick) -> DualsCertificate:
    """Linear programming bound of the formulation ``milp``, by HiGHS; its duals are the certificate.

    ``tick`` may raise to stop. UsageError: the instance is infeasible. Stopped: HiGHS overran ``time_s`` seconds.
    """
    return duals_certificate(
        instance,
        PROOF,
        lambda: cost_table(instance, tick=tick),
        most=1.0,
        tolerance=_TOLERANCE,
        time_s=time_s,
        tick=tick,
    )
