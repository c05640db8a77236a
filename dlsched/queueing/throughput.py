"""Throughput of a closed network with n = 1, 2, ... customers: exact mean value analysis, and bounds without it.

    Q_k(0) = 0;   R_k(n) = D_k (1 + Q_k(n - 1)),   X(n) = n / (Z + sum_k R_k(n)),   Q_k(n) = X(n) R_k(n)

==================  ==========================================================================================
symbol              what it is
==================  ==========================================================================================
Z, D_k              seconds of delay, and demand of station k, in a cycle
R_k(n)              seconds that a customer spends at station k in a cycle, waiting included
X(n)                cycles a second of all n customers; those of a job are mini-batches
Q_k(n)              mean number of customers at station k
==================  ==========================================================================================

The analysis is exact if the network has a product form: updates first come, first served with exponential times, or by
processor sharing; transfers by processor sharing with any distribution; and some time random with a density. Equal stations
have equal Q, so the recursion follows each kind once and counts it as often as it occurs.

X is increasing and concave in n (for such networks: Dowdy, Eager, Gordon, Saxton 1984; Shanthikumar and Yao 1988), hence
1 / X decreasing and convex: 1 / x is convex and decreasing where x > 0, so 1 / X(n) <= 1 / ((X(n-1) + X(n+1)) / 2) <=
(1 / X(n-1) + 1 / X(n+1)) / 2.

Source: Reiser and Lavenberg, J. ACM 27 (1980), for the recursion.

Bounds for n customers, D the sum of the demands D_k and D_max the largest:

- *asymptotic*: n / (Z + n D) <= X(n) <= min(n / (Z + D), 1 / D_max). A cycle is shortest for a customer
  alone and longest behind all others at every station, and no station serves more than all the time.
- *balanced job*: n / (Z + D + (n - 1) D_max / (1 + Z / (n D))) <= X(n) <= n / (Z + D + (n - 1) D_mean / (1 + Z / D)), D_mean the
  mean demand of the stations that have one: of all networks with these Z and D, one with equal demands is fastest.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from dlsched.core.arrays import BoolArray, FloatArray
from dlsched.core.errors import UsageError
from dlsched.core.limits import Tick, no_tick
from dlsched.queueing.network import Network, Networks, Station

MOST = 2**24  # customers that are added one after the other for one figure; takes several seconds
_BUSY = 1 - 2.0**-52  # utilisation of a station that is full to the last bits: more customers change nothing
_OFTEN = 2**14  # customers, after which a callback is called
_SOON = 64  # customers up to which a figure is not kept
_KEPT = 2**16
_figures: dict[tuple[Network, int], float] = {}  # the last figures: a result needs each several times


class MeanValues(NamedTuple):
    """Results of the analysis for n customers; the tuples hold the figures of one station of each kind."""

    throughput: float
    """Cycles a second."""
    residence_s: tuple[float, ...]
    """Seconds at the station in a cycle, waiting included."""
    queue: tuple[float, ...]
    """Mean number of customers there."""
    utilisation: tuple[float, ...]
    """Share of the time in which it serves."""


def iterate(network: Network) -> Iterator[float]:
    """Yield X(1), X(2), ... without end; O(kinds of stations) each.

    >>> from itertools import islice
    >>> [round(value, 3) for value in islice(iterate(Network(0.25, [(0.08, 2), (0.01, 1)])), 4)]
    [2.381, 4.437, 6.147, 7.511]
    """
    if len(network.stations) == 2:
        return _iterate_two(network.delay_s, *network.stations)
    return _iterate(network)


def _iterate_two(delay_s: float, first: Station, second: Station) -> Iterator[float]:
    """Take the same steps for two kinds of stations, which all jobs have, in half the time."""
    (demand, copies), (other_demand, other_copies) = first, second
    queue = other_queue = 0.0
    customers = 0
    while True:
        customers += 1
        residence, other_residence = demand * (1.0 + queue), other_demand * (1.0 + other_queue)
        value = customers / (delay_s + copies * residence + other_copies * other_residence)
        queue, other_queue = residence * value, other_residence * value
        yield value


def _iterate(network: Network) -> Iterator[float]:
    delay_s = network.delay_s
    demands = [station.demand_s for station in network.stations]
    copies = [float(station.copies) for station in network.stations]
    queues = [0.0] * len(demands)
    customers = 0
    while True:
        customers += 1
        total = delay_s
        # Arrival theorem: a customer meets the queues of one customer less; X = n / R, and Q = X R by Little's law.
        for kind, demand in enumerate(demands):
            residence = demand * (1.0 + queues[kind])
            queues[kind] = residence
            total += copies[kind] * residence
        value = customers / total
        for kind in range(len(demands)):
            queues[kind] *= value
        yield value


def mean_values(network: Network, customers: int) -> MeanValues:
    """Analyse a network with that many customers; UsageError: fewer than 1."""
    require_customers(customers)
    recursion = Recursion([network])
    for _ in range(customers - 1):
        recursion.step()
    residence = recursion.residence()
    value = float(recursion.step()[0])
    kinds = range(len(network.stations))
    return MeanValues(
        value,
        tuple(float(residence[kind, 0]) for kind in kinds),
        tuple(float(recursion.queues[kind, 0]) for kind in kinds),
        tuple(value * station.demand_s for station in network.stations),
    )


def throughput_of(network: Network, customers: int, *, name: str = "customers", tick: Tick = no_tick) -> float:
    """Return the cycles a second of that many customers; ends early when further customers change nothing.

    Among M equal stations none is busy for more than n / (n + M - 1) of the time (if there is nothing else), nor any for
    more than n D / (Z + sum D). ``name``: of the number of customers, for messages.

    UsageError: ``customers`` < 1, or more than ``MOST`` before the recursion may end early.
    """
    require_customers(customers)
    busiest_s = network.largest_s
    if busiest_s == 0:
        return customers / network.delay_s
    if (network, customers) in _figures:
        return _figures[network, customers]
    # Beyond MOST customers the recursion is begun only if a lone bottleneck may be saturated by then.
    busiest = sum(station.copies for station in network.stations if station.demand_s == busiest_s)
    known = customers <= MOST or (busiest == 1 and MOST * busiest_s >= _BUSY * network.cycle_s)
    for added, value in enumerate(iterate(network) if known else (), start=1):
        if added == customers or value * busiest_s >= _BUSY:
            if customers > _SOON:
                if len(_figures) >= _KEPT:
                    _figures.clear()
                _figures[network, customers] = value
            return value
        if added == MOST:
            break
        if added % _OFTEN == 0:
            tick()
    raise UsageError(where=name, found=customers, allowed=f"up to {MOST} of which each counts")


def throughputs(networks: Sequence[Network] | Networks, most: int) -> FloatArray:
    """X(1) .. X(most) of all networks together, shape (most, networks); the same figures as one at a time.

    As arrays (``networks_of``) 10,000 networks take a few milliseconds less than one by one takes to make them.

    UsageError: ``most`` < 1, or no network.
    """
    require_customers(most)
    recursion = Recursion(networks)
    values = np.empty((most, len(networks)))
    for row in values:
        recursion.step(row)
    return values


class Recursion:
    """The recursion on many networks: each ``step`` adds a customer to all; ``queues`` of shape (kinds, networks)."""

    def __init__(self, networks: Sequence[Network] | Networks) -> None:
        if not len(networks):
            raise UsageError(where="networks", found="none", allowed="at least one")
        self.networks = networks if isinstance(networks, Networks) else Networks.of(networks)
        self.queues = np.zeros_like(self.networks.demands)
        self.customers = 0
        self._make_room()

    def residence(self) -> FloatArray:
        """Seconds at each station in a cycle of the next customer; shape (kinds, networks)."""
        return self.networks.demands * (1.0 + self.queues)

    def step(self, values: FloatArray | None = None) -> FloatArray:
        """Add a customer; return X, shape (networks,), in ``values`` if given."""
        if values is None:
            values = np.empty_like(self._total)
        self.customers += 1
        np.add(self.queues, 1.0, out=self.queues)
        np.multiply(self.queues, self.networks.demands, out=self.queues)
        total = self.networks.delays
        for copies, residence in zip(self.networks.copies, self.queues, strict=True):
            np.multiply(copies, residence, out=self._part)
            total = np.add(total, self._part, out=self._total)
        np.divide(self.customers, total, out=values)
        np.multiply(self.queues, values, out=self.queues)
        return values

    def keep(self, which: BoolArray) -> None:
        """Go on with some of the networks only."""
        self.networks, self.queues = self.networks.keep(which), self.queues[:, which]
        self._make_room()

    def _make_room(self) -> None:
        self._part, self._total = np.empty_like(self.networks.delays), np.empty_like(self.networks.delays)


def require_customers(customers: int) -> None:
    """Refuse a number of customers below 1 (UsageError)."""
    if customers < 1:
        raise UsageError(where="customers", found=customers, allowed="an integer >= 1")


class Bounds(NamedTuple):
    """Lower and upper bound of the throughput, cycles a second."""

    lower: float
    upper: float


def asymptotic(network: Network, customers: int) -> Bounds:
    """Asymptotic bounds of the throughput; O(kinds of stations). UsageError: ``customers`` < 1.

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
