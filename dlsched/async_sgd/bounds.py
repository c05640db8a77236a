"""Bounds of async_sgd; see ``allocation.bounds``. As times are convex, the best price gives the optimum itself."""

from dlsched.allocation.bounds import duals_certificate, price_certificate
from dlsched.async_sgd.certificate import PROOF
from dlsched.async_sgd.costs import cost_table
from dlsched.async_sgd.instance import Instance
from dlsched.certificates import DualsCertificate, PriceCertificate
from dlsched.core.budget import Tick, no_tick

_TOLERANCE = 1e-9  # HiGHS', of reduced costs in parts of the largest cost


def lagrange(instance: Instance, *, price: float | None = None, tick: Tick = no_tick) -> PriceCertificate:
    """Lagrangian bound at the best price, or at a given one, computed in exact arithmetic and rounded down.

    Cost: the cost table, several tens of microseconds a job, and about ten for each node that is worth the price. ``tick`` is
    called now and then; it may raise to stop.

    Raises
    ------
    UsageError
        The instance is infeasible (no finite bound is best), or the price is negative or not finite.
    """
    return price_certificate(instance, PROOF, lambda: cost_table(instance, tick=tick), price, tick)


def relaxation(instance: Instance, *, time_s: float | None = None, tick: Tick = no_tick) -> DualsCertificate:
    """Linear programming bound of the formulation ``milp``, by HiGHS; its duals are the certificate.

    ``tick`` is called now and then; it may raise to stop.

    Raises
    ------
    UsageError
        The instance is infeasible.
    Stopped
        HiGHS overran ``time_s`` seconds.
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
