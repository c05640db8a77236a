"""Bounds of async_sgd: on the throughput of a network without solving it, and on the objective of an instance.

On throughput, for n customers of a network of delay Z and demands D_k, D their sum and D_max the largest:

- *asymptotic*: n / (Z + n D) <= X(n) <= min(n / (Z + D), 1 / D_max). No cycle is shorter than alone nor longer than behind
  all others everywhere, and no station serves more than all the time.
- *balanced job*: n / (Z + D + (n - 1) D_max / (1 + Z / (n D))) <= X(n) <= n / (Z + D + (n - 1) D_mean / (1 + Z / D)), D_mean the
  mean demand of the stations that have one: of all networks with these Z and D, one with equal demands is fastest.

On the objective: for a price lambda >= 0 and any feasible n, sum_j time_j(n_j) >= sum_j time_j(n_j) + lambda (sum_j n_j - N)
>= sum_j min_v (time_j(v) + lambda v) - lambda N. As times are convex, the best price gives the optimum itself.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from dlsched.algorithms.lagrange import best_price
from dlsched.async_sgd.certificate import duals_bound, price_bound
from dlsched.async_sgd.checker import infeasible
from dlsched.async_sgd.costs import cost_table
from dlsched.async_sgd.instance import Instance
from dlsched.async_sgd.network import Network
from dlsched.async_sgd.throughput import require_customers
from dlsched.certificates import DualsCertificate, PriceCertificate, rounded_down
from dlsched.core.errors import UsageError
from dlsched.core.labels import plain_labels
from dlsched.solvers.lp import linear_program

_TOLERANCE = 1e-9  # HiGHS', of reduced costs in parts of the largest cost


class Bounds(NamedTuple):
    """Between which two numbers the throughput lies, cycles a second."""

    lower: float
    upper: float


def asymptotic(network: Network, customers: int) -> Bounds:
    """Asymptotic bounds of the throughput; O(kinds of stations).

    Raises
    ------
    UsageError
        ``customers`` < 1.

    Source: Muntz and Wong 1974; Denning and Buzen, ACM Computing Surveys 10 (1978).

    >>> asymptotic(Network(0.25, [(0.08, 2), (0.01, 1)]), 32)
    Bounds(lower=5.623901581722319, upper=12.5)
    """
    require_customers(customers)
    delay_s, total_s = network.delay_s, network.total_s
    upper = customers / (delay_s + total_s)
    if network.largest_s > 0:
        upper = min(upper, 1 / network.largest_s)
    return Bounds(customers / (delay_s + customers * total_s), upper)


def balanced_job(network: Network, customers: int) -> Bounds:
    """Balanced-job bounds of the throughput, with the asymptotic ones where these are closer; O(kinds of stations).

    Source: Zahorjan, Sevcik, Eager, Galler, CACM 25 (1982); with a delay as in Lazowska, Zahorjan, Graham, Sevcik,
    Quantitative System Performance (1984), section 5.4. Errors as ``asymptotic``.
    """
    simple = asymptotic(network, customers)
    delay_s, total_s = network.delay_s, network.total_s
    if total_s == 0:
        return simple
    busy = sum(station.copies for station in network.stations if station.demand_s > 0)
    cycle_s, others = delay_s + total_s, customers - 1
    lower = customers / (cycle_s + others * network.largest_s / (1 + delay_s / (customers * total_s)))
    upper = customers / (cycle_s + others * (total_s / busy) / (1 + delay_s / total_s))
    return Bounds(max(lower, simple.lower), min(upper, simple.upper))


def lagrange(
    instance: Instance, *, price: float | None = None, tick: Callable[[], None] | None = None
) -> PriceCertificate:
    """Lagrangian bound at the best price, or at a given one, computed in exact arithmetic and rounded down.

    Cost: the cost table, some tens of microseconds a job, and about ten for each node that is worth the price. ``tick`` is
    called now and then; it may raise to stop.

    Raises
    ------
    UsageError
        The instance is infeasible (no finite bound is best), or the price is negative or not finite.
    """
    if price is None:
        _require_feasible(instance)
        frontier = best_price(cost_table(instance, tick=tick), instance.nodes)
        assert frontier is not None
        price = frontier.price
    if not (math.isfinite(price) and price >= 0):
        raise UsageError(f"price: found {price}, allowed: a number >= 0")
    return PriceCertificate(price, rounded_down(price_bound(instance, price, tick=tick)))


def relaxation(
    instance: Instance, *, time_s: float | None = None, tick: Callable[[], None] | None = None
) -> DualsCertificate:
    """Linear programming bound of the formulation ``milp``, by HiGHS; its duals are the certificate.

    ``tick`` is called now and then; it may raise to stop.

    Raises
    ------
    UsageError
        The instance is infeasible.
    Stopped
        HiGHS overran ``time_s`` seconds.
    """
    from scipy.sparse import csr_array

    _require_feasible(instance)
    table = cost_table(instance, tick=tick)
    pairs = np.arange(table.pairs)
    answer = linear_program(
        table.costs,
        a_ub=csr_array((table.counts.astype(np.float64), (np.zeros_like(pairs), pairs)), shape=(1, len(pairs))),
        b_ub=[instance.nodes],
        a_eq=csr_array((np.ones(len(pairs)), pairs, table.starts), shape=(table.jobs, len(pairs))),
        b_eq=np.ones(table.jobs),
        bounds=(0.0, 1.0),
        tolerance=_TOLERANCE,
        time_s=time_s,
    )
    names = [f"choice_{label}" for label in plain_labels([job.id for job in instance.jobs], "j")]
    duals = {"capacity": float(answer.upper[0])} | dict(zip(names, answer.equal.tolist(), strict=True))
    rows = {name: value for name, value in duals.items() if value != 0.0}
    return DualsCertificate("milp", rows, rounded_down(duals_bound(instance, DualsCertificate("milp", rows, 0.0))))


def _require_feasible(instance: Instance) -> None:
    if infeasible(instance) is not None:
        raise UsageError("the instance is infeasible: every bound holds")
