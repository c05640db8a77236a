"""Asymptotic and balanced-job bounds on the throughput of a closed queueing network, without solving it.

For n customers of a network of delay Z and demands D_k, D their sum and D_max the largest:

- *asymptotic*: n / (Z + n D) <= X(n) <= min(n / (Z + D), 1 / D_max). A cycle is shortest for a customer
alone and
  longest behind all others at every station, and no station serves more than all the time.
- *balanced job*: n / (Z + D + (n - 1) D_max / (1 + Z / (n D))) <= X(n) <= n / (Z + D + (n - 1) D_mean / (1 + Z / D)), D_mean the
  mean demand of the stations that have one: of all networks with these Z and D, one with equal demands is fastest.
"""

from typing import NamedTuple

from dlsched.queueing.network import Network
from dlsched.queueing.throughput import require_customers


class Bounds(NamedTuple):
    """Lower and upper bound of the throughput, cycles a second."""

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
