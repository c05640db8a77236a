"""Bounds of ring_allocation; see ``allocation.bounds``."""

from dataclasses import replace
from typing import TYPE_CHECKING

from dlsched.allocation.blocks import best_price, value_below
from dlsched.allocation.bounds import duals_certificate, price_certificate
from dlsched.certificates import DualsCertificate, PriceCertificate
from dlsched.core.limits import Tick, no_tick
from dlsched.ring_allocation.certificate import PROOF
from dlsched.ring_allocation.costs import cost_table, undominated_table
from dlsched.ring_allocation.instance import Instance

if TYPE_CHECKING:
    from dlsched.processes.dask_blocks import Cluster


def lagrange(
    instance: Instance, *, price: float | None = None, tick: Tick = no_tick, cluster: "Cluster | None" = None
) -> PriceCertificate:
    """Lagrangian bound at the best price, or at a given one, rounded down: the value is proven.

    Cost: O(P) with a small factor, and about 50 us for each law and each job with a tie. ``tick`` is called now and then; it
    may raise to stop. ``cluster``: its workers hold the jobs in blocks, and find the same price and value to the bit.

    Raises
    ------
    UsageError
        The instance is infeasible (no finite bound is best), or the price is negative or not finite.
    InputError, SolverError
        No scheduler answers, or the cluster is lost.
    """
    if cluster is not None and instance.minimum_gpus <= instance.gpus:
        from dlsched.ring_allocation.blocks import in_blocks

        with in_blocks(instance, cluster, tick) as blocks:
            best = best_price(blocks, instance.gpus, tick) if price is None else price
            proof = replace(PROOF, below=lambda instance, price, tick: value_below(blocks, price, instance.gpus))
            return price_certificate(instance, proof, lambda: cost_table(instance), best, tick)
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
