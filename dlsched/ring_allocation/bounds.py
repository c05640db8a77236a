"""Bounds of ring_allocation; see ``allocation.bounds``."""

from dlsched.allocation.bounds import duals_certificate, price_certificate
from dlsched.certificates import DualsCertificate, PriceCertificate
from dlsched.core.limits import Tick, no_tick
from dlsched.ring_allocation.certificate import PROOF
from dlsched.ring_allocation.costs import cost_table, undominated_table
from dlsched.ring_allocation.instance import Instance


def lagrange(instance: Instance, *, price: float | None = None, tick: Tick = no_tick) -> PriceCertificate:
    """Lagrangian bound at the best price, or at a given one, rounded down: the value is proven.

    Cost: O(P) with a small factor, and about 50 us for each law and each job with a tie. ``tick`` is called now and then; it
    may raise to stop.

    Raises
    ------
    UsageError
        The instance is infeasible (no finite bound is best), or the price is negative or not finite.
    """
    return price_certificate(instance, PROOF, lambda: cost_table(instance, fitting=False, tick=tick), price, tick)


def relaxation(instance: Instance, *, time_s: float | None = None, tick: Tick = no_tick) -> DualsCertificate:
    """Linear programming bound of the formulation ``milp``, by HiGHS; its duals are the certificate.

    Raises
    ------
    UsageError
        The instance is infeasible.
    Stopped
        HiGHS overran ``time_s`` seconds.
    """
    return duals_certificate(instance, PROOF, lambda: undominated_table(instance, tick=tick), time_s=time_s, tick=tick)
