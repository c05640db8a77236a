"""Verifier of ring_embedding certificates: exact bounds from the instance's own numbers, without a solver.

Prices, all >= 0 (epochs e, classes c and rows q as in ``rings.rows``; L_e slots in epoch e):

===============================  =====================================================================================
row                              price
===============================  =====================================================================================
``total_<job>``                  pi_i of a worker-slot of job i
``pool_<t>_<row>_c<class>``      of a unit of a row of the servers of a class, in every slot of the epoch that begins with t
``capacity_<t>_<row>_<server>``  of a unit of a row of one server, in addition
``bandwidth_<t>_l<link>``        of a unit of bandwidth of a link, by its position (forests only)
===============================  =====================================================================================

Let z_i be the worker-slots of an embedding, y its rings, and on(t) the servers that have a worker in slot t. With
p_is = pi_i - e_i - sum_q l_i^q (prices of q at s),

    sum_i [mu_i(zeta_i z_i) - e_i z_i] - sum_t sum_(s in on(t)) e_s
      <= sum_i [mu_i(zeta_i z_i) - pi_i z_i] + sum_e sum_(t in e) [sum_i (pi_i - e_i) n_i(t) + sum_links price (B - use)
                                                + sum_(s in on(t)) (sum_q price (capacity - use) - e_s)]
      <= sum_i max_(z <= Z_i) [mu_i - pi_i z] + sum_e L_e [sum_i V_ie + sum_links price B + sum_s W_se]

    V_ie = max over rings of at most N_i workers, y_s <= what fits:  sum_s p_is y_s - b_i sum_(links crossed) price
    W_se = max(0, sum_q price capacity - e_s)

since capacity - use >= 0, n_i(t) = sum_s y_is[t], and a server that is off uses nothing; V_ie is 0 without a
ring. In a forest a ring crosses every link between two of its servers at least once in each direction, and
no link with B_e < b_i; so ``tree`` finds V_ie. If links have no prices, V_ie takes the cheapest servers
first, among those that links with B_e >= b_i connect; no job has more workers in a slot than these servers
hold.

*Duals of* ``slot``, where every job has one slot: without prices pi_i the utilities stay in the slot,

    sum_i max over rings of [mu_i(zeta_i n) - e_i n - sum_s (prices) - b_i sum_(links crossed) price] + sum_links + sum_s W_se.

*Duals of* ``aggregated`` name one price ``pool_<row>`` for all servers and slots: with pi_i = l_i price + e_i, e_i cut to the
largest mu_i, the V_ie vanish,

    sum_i max_(z <= Z_i) [mu_i(zeta_i z) - pi_i z] + (T - t_1 + 1) sum_s max(0, price C_s - e_s),   t_1 the first arrival.

*Objective* ``max_min``. Prices of worker-slots and rows prove sum_i pi_i z_i <= S of every embedding, S the terms above without
utilities. Where all mu_i >= v, z_i >= n_i(v), the least z with mu_i(zeta_i z) >= v; so the least utility is at most the largest
utility v of some job with sum_i pi_i n_i(v) <= S and v <= mu_i(zeta_i Z_i) for all i. No duals of ``slot``.

mu is rounded up; everything else is rational.
"""

import math
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property

import numpy as np

from dlsched.algorithms.utility_tables import Quotas
from dlsched.certificates import DualsCertificate, exact_sum, rounded_up
from dlsched.core.limits import Tick, no_tick
from dlsched.core.messages import separable_labels
from dlsched.core.result import Certificate
from dlsched.ring_embedding.instance import Instance
from dlsched.ring_embedding.objectives import objective_of
from dlsched.ring_embedding.rings.rows import Ceilings, epochs, loose

_LARGEST = Fraction(sys.float_info.max)
_ROW = re.compile(r"(pool|capacity|bandwidth)_([0-9]+)_(.+)", re.DOTALL)


def verify(instance: Instance, certificate: Certificate) -> Fraction:
    """Return the bound on the objective that the certificate proves.

    ValueError: the certificate is not one of this family, as a formulation or row is unknown, a price is negative or not finite,
    or prices are so high that no float holds what they prove.
    """
    if not isinstance(certificate, DualsCertificate):
        raise ValueError(f"there are no certificates of kind {certificate.as_data()['kind']!r} in this family")
    for name, price in certificate.rows.items():
        if not (math.isfinite(price) and price >= 0):
            raise ValueError(f"price {price} of row {name!r} is negative or not finite")
    if certificate.formulation not in ("aggregated", "horizon", "columns", "slot"):
        raise ValueError(f"there are no duals of a formulation {certificate.formulation!r}")
    if certificate.formulation == "slot" and not instance.one_slot:
        raise ValueError("duals of the formulation 'slot' are for jobs with one slot")
    if certificate.formulation == "slot" and not objective_of(instance).additive:
        raise ValueError("duals of the formulation 'slot' are for the objective sum")
    value = _value(Ceilings(instance), certificate.formulation, certificate.rows, no_tick)
    if value > _LARGEST:
        raise ValueError("the prices are so high that what they prove is more than any float")
    return value


def certified(
    ceilings: Ceilings, formulation: str, prices: Mapping[str, float], tick: Tick = no_tick
) -> DualsCertificate:
    """The certificate of prices by row name, with the value that they prove; ``tick`` is called for every job."""
    return DualsCertificate(formulation, prices, rounded_up(_value(ceilings, formulation, prices, tick)))


def _value(ceilings: Ceilings, formulation: str, prices: Mapping[str, float], tick: Tick) -> Fraction:
    if formulation == "aggregated":
        pi, supply = _pool(ceilings, prices)
    else:
        pi, supply = _supply(ceilings, prices, formulation == "slot", tick)
    return objective_of(ceilings.instance).proven(ceilings, pi, supply, tick)


def total_proven(ceilings: Ceilings, pi: Sequence[Fraction], supply: Fraction, tick: Tick) -> Fraction:
    """Upper bound on total utility less energy: S plus the maxima over z."""
    return exact_sum([supply, *_best_totals(ceilings, pi, tick)])


def least_proven(ceilings: Ceilings, pi: Sequence[Fraction], supply: Fraction, tick: Tick) -> Fraction:
    """Upper bound on the least utility: the largest v whose quotas cost no more than S."""
    del tick
    return Fraction(Quotas(ceilings.tables).largest(pi, supply))


def _pool(ceilings: Ceilings, prices: Mapping[str, float]) -> tuple[list[Fraction], Fraction]:
    """Prices pi of worker-slots, and S, for one price that holds in all slots and on all servers."""
    instance = ceilings.instance
    slots = instance.slots - min(job.arrival_slot for job in instance.jobs) + 1
    known = {f"pool_{row.name}": row for row in ceilings.rows}
    # a larger e_i would cost digits, and prove no more
    most = [Fraction(float(table.upper[-1])) for table in ceilings.tables]
    totals = list(map(min, instance.worker_prices, most))
    paid = [Fraction(0)] * len(ceilings.members)
    for name, value in prices.items():
        if name not in known:
            raise _unknown(name)
        row, price = known[name], Fraction(value)
        totals = [total + price * share for total, share in zip(totals, row.demand, strict=True)]
        paid = [each + price * capacity for each, capacity in zip(paid, row.capacity, strict=True)]
    parts = [
        slots * len(servers) * max(Fraction(0), each - instance.on_prices[servers[0]])
        for each, servers in zip(paid, ceilings.members, strict=True)
    ]
    return totals, exact_sum(parts)


def _supply(
    ceilings: Ceilings, prices: Mapping[str, float], alone: bool, tick: Tick
) -> tuple[list[Fraction], Fraction]:
    """Prices pi of worker-slots, and S, for prices by epoch; ``alone``: those of ``slot``, without pi."""
    instance = ceilings.instance
    spans = epochs(instance)
    pi, by_epoch = _read(ceilings, prices, {span.first: _Prices(ceilings) for span in spans}, alone)
    parts = []
    for span in spans:
        at_prices = by_epoch[span.first]
        slot = [at_prices.paid()]
        for job, record in enumerate(instance.jobs):
            if record.arrival_slot <= span.first:
                tick()
                slot.append(at_prices.best_ring(job, None if alone else pi[job]))
        parts.append(span.slots * exact_sum(slot))
    return pi, exact_sum(parts)


def _read(
    ceilings: Ceilings, prices: Mapping[str, float], by_epoch: "dict[int, _Prices]", alone: bool
) -> "tuple[list[Fraction], dict[int, _Prices]]":
    """Read prices of worker-slots by job (none if ``alone``) and prices by epoch from row names."""
    instance = ceilings.instance
    labels = separable_labels([job.id for job in instance.jobs], "j")
    servers = separable_labels([server.id for server in instance.servers], "s")
    totals = {} if alone else dict.fromkeys((f"total_{label}" for label in labels), Fraction(0))
    # Server rows: one price for all servers of a class, and one for each server, which add up.
    where: dict[tuple[str, str], tuple[int, list[int]]] = {}
    for q, row in enumerate(ceilings.rows):
        where |= {("pool", f"{row.name}_c{number}"): (q, alike) for number, alike in enumerate(ceilings.members)}
        where |= {("capacity", f"{row.name}_{server}"): (q, [s]) for s, server in enumerate(servers)}
    links = {f"l{link}": link for link in range(len(instance.links) if instance.paths is None else 0)}
    for name, value in prices.items():
        price, parts = Fraction(value), _ROW.fullmatch(name)
        if name in totals:
            totals[name] = price
            continue
        if parts is None or str(int(parts[2])) != parts[2] or int(parts[2]) not in by_epoch:
            raise _unknown(name)
        held_prices = by_epoch[int(parts[2])]
        if parts[1] == "bandwidth" and parts[3] in links:
            held_prices.links[links[parts[3]]] = price
        elif (parts[1], parts[3]) in where:
            q, alike = where[parts[1], parts[3]]
            for server in alike:
                held_prices.at[server][q] += price
        else:
            raise _unknown(name)
    return list(totals.values()), by_epoch


def _unknown(name: str) -> ValueError:
    return ValueError(f"there is no row {name!r}")


def _best_totals(ceilings: Ceilings, prices: Sequence[Fraction], tick: Tick) -> list[Fraction]:
    """Upper bounds on max over z of mu(zeta z) - price z: mu is rounded up, rounding errors added."""
    found = []
    for job, price in enumerate(prices):
        tick()
        upper = ceilings.tables[job].upper
        if price * len(upper) > _LARGEST:
            name = ceilings.instance.jobs[job].id
            raise ValueError(
                f"the price of a worker-slot of job {name!r} is so high that all of them cost more than any float"
            )
        # The greatest float of the differences, plus what rounding may have taken from it.
        most = float(np.max(upper - float(price) * np.arange(len(upper))))
        found.append(Fraction(most) + Fraction(2.0**-50) * (Fraction(float(upper[-1])) + price * len(upper)))
    return found


class _Prices:
    """Prices of one epoch: ``at`` by server and row, ``links`` by link."""

    def __init__(self, ceilings: Ceilings) -> None:
        self.ceilings = ceilings
        self.at = [[Fraction(0)] * len(ceilings.rows) for _ in ceilings.instance.servers]
        self.links: dict[int, Fraction] = {}

    @cached_property
    def _alike(self) -> dict[tuple[Fraction, ...], list[int]]:
        """Servers by their prices; valid only once all prices are set."""
        alike: dict[tuple[Fraction, ...], list[int]] = {}
        for server, prices in enumerate(self.at):
            alike.setdefault(tuple(prices), []).append(server)
        return alike

    def paid(self) -> Fraction:
        """Prices times capacities of one slot; of a server only the part above the price of its power."""
        ceilings, links, parts = self.ceilings, self.ceilings.instance.links, []
        for server, (prices, on) in enumerate(zip(self.at, ceilings.instance.on_prices, strict=True)):
            capacity = [row.capacity[ceilings.of[server]] for row in ceilings.rows]
            paid = [price * each for price, each in zip(prices, capacity, strict=True) if price]
            parts += [max(Fraction(0), sum(paid) - on)] if on else paid
        return exact_sum(parts + [price * loose(links[e].bandwidth_bytes_per_s) for e, price in self.links.items()])

    def best_ring(self, job: int, pi: Fraction | None) -> Fraction:
        """Largest worth of a ring of the job above its prices and energy.

        A worker is worth ``pi``; None: its utility.
        """
        ceilings, room = self.ceilings, self.ceilings.fits[job]
        energy = ceilings.instance.worker_prices[job]
        paid = {
            at: sum((row.demand[job] * each for row, each in zip(ceilings.rows, at, strict=True)), energy)
            for at in self._alike
        }
        # Without links in the price the cheapest servers are best, among those that links wide enough connect.
        offers = [[(paid[at], sum(room[s] for s in servers)) for at, servers in self._alike.items()]]
        if len(ceilings.parts(job)) > 1:
            offers = [[(paid[tuple(self.at[s])], room[s]) for s in part] for part in ceilings.parts(job)]
        load = Fraction(ceilings.instance.jobs[job].bandwidth_bytes_per_s)
        crossed = ceilings.tree is not None and load and any(self.links.values())
        if pi is not None:
            most = max(_margin(each, pi, ceilings.most[job]) for each in offers)
            if not most or not crossed:
                return most
            utility = [n * pi for n in range(ceilings.most[job] + 1)]
        else:
            utility = [Fraction(value) for value in ceilings.tables[job].upper.tolist()]
        if ceilings.tree is None or not crossed:
            return max(value - price for each in offers for value, price in zip(utility, _cheapest(each), strict=False))
        # Links have prices: the best set of servers is a matter of the tree.
        by_server = [paid[tuple(at)] for at in self.at]
        prices = {link: load * each for link, each in self.links.items()}
        least = ceilings.tree.cheapest(by_server, room, len(utility) - 1, prices, ceilings.closed[job])
        return max(value - price for value, price in zip(utility, least, strict=True) if price is not None)


def _margin(offers: Sequence[tuple[Fraction, int]], pi: Fraction, most: int) -> Fraction:
    """Worth of up to ``most`` workers at ``pi`` each, above the prices of the cheapest servers."""
    total = Fraction(0)
    for price, room in sorted(offers):
        if price >= pi or not most:
            break
        total += (pi - price) * min(room, most)
        most -= min(room, most)
    return total


def _cheapest(offers: Sequence[tuple[Fraction, int]]) -> Iterator[Fraction]:
    """Least prices of 0, 1, 2 ... workers; an offer is a price per worker and a number of workers."""
    total = Fraction(0)
    yield total
    for price, room in sorted(offers):
        for _ in range(room):
            total += price
            yield total
