"""What a certificate of ring_embedding proves, in exact arithmetic on the instance's own numbers, without a solver.

Prices, all >= 0 (epochs e, classes c and rows q as in ``rows``; L_e slots in epoch e):

===============================  =====================================================================================
row                              price
===============================  =====================================================================================
``total_<job>``                  pi_i of a worker-slot of job i
``pool_<t>_<row>_c<class>``      of a unit of a row of the servers of a class, in every slot of the epoch that begins with t
``capacity_<t>_<row>_<server>``  of a unit of a row of one server, in addition
``bandwidth_<t>_l<link>``        of a unit of bandwidth of a link, by its position (forests only)
===============================  =====================================================================================

Let z_i be the worker-slots of an embedding and y its rings. With p_is = pi_i - sum_q l_i^q (prices of q at s),

    sum_i mu_i(zeta_i z_i)
      <= sum_i [mu_i(zeta_i z_i) - pi_i z_i] + sum_e sum_(t in e) [sum_i pi_i n_i(t) + prices (capacity - use)]
      <= sum_i max_(z <= Z_i) [mu_i - pi_i z] + sum_e L_e [sum_i V_ie + sum prices capacity]

    V_ie = max over rings of at most N_i workers, y_s <= what fits:  sum_s p_is y_s - b_i sum_(links crossed) price

since capacity - use >= 0 and n_i(t) = sum_s y_is[t]; no ring: 0. In a forest a ring crosses every link between two of its
servers in each direction at least once, and none with B_e < b_i; so ``tree`` finds V_ie. Without prices of links it takes
the cheapest servers first that links with B_e >= b_i connect; and no job has more workers in a slot than those hold.

*Duals of* ``slot``, where every job has one slot: without prices pi_i the utilities stay in the slot,

    sum_i max over rings of [mu_i(zeta_i n) - sum_s (prices) - b_i sum_(links crossed) price] + sum prices capacity.

*Duals of* ``aggregated`` name one price ``pool_<row>`` for all servers and slots: with pi_i = l_i price the V_ie vanish,

    sum_i max_(z <= Z_i) [mu_i(zeta_i z) - l_i price z] + price (T - t_1 + 1) sum_s C_s,   t_1 the first arrival.

mu is rounded up (``worths``); everything else is rational.
"""

import math
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property

import numpy as np

from dlsched.certificates import DualsCertificate, exact_sum
from dlsched.core.labels import separable_labels
from dlsched.core.result import Certificate
from dlsched.ring_embedding.instance import Instance
from dlsched.ring_embedding.rings.tree import Tree
from dlsched.ring_embedding.rows import classes, epochs, fits, loose, most_worker_slots, rows
from dlsched.ring_embedding.utilities import Worth, worth_tables

Tick = Callable[[], None] | None
_LARGEST = Fraction(sys.float_info.max)
_ROW = re.compile(r"(pool|capacity|bandwidth)_([0-9]+)_(.+)", re.DOTALL)


def verify(instance: Instance, certificate: Certificate) -> Fraction:
    """Return the bound on the total utility that the certificate proves.

    Raises
    ------
    ValueError
        It is no certificate of this family: an unknown formulation or row, a price that is negative or not finite, or prices
        so high that they prove nothing that a float can hold.
    """
    if not isinstance(certificate, DualsCertificate):
        raise ValueError(f"there are no certificates of kind {certificate.as_data()['kind']!r} in this family")
    for name, price in certificate.rows.items():
        if not (math.isfinite(price) and price >= 0):
            raise ValueError(f"price {price} of row {name!r} is negative or not finite")
    if certificate.formulation == "aggregated":
        value = aggregated_value(instance, certificate.rows)
    elif certificate.formulation in ("horizon", "columns"):
        value = prices_value(instance, certificate.rows)
    elif certificate.formulation == "slot":
        value = prices_value(instance, certificate.rows, alone=True)
    else:
        raise ValueError(f"there are no duals of a formulation {certificate.formulation!r}")
    if value > _LARGEST:
        raise ValueError("the prices are so high that what they prove is more than any float")
    return value


def aggregated_value(
    instance: Instance, prices: Mapping[str, float], *, limit: "Most | None" = None, tick: Tick = None
) -> Fraction:
    """Bound that one price for all slots and servers proves; errors as ``verify``.

    ``limit``: of the instance, where it is at hand; ``tick`` is called for every job, and may raise to stop.
    """
    limit = limit or Most(instance)
    slots = instance.slots - min(job.arrival_slot for job in instance.jobs) + 1
    known = {f"pool_{row.name}": row for row in limit.rows}
    totals = [Fraction(0)] * len(instance.jobs)
    parts: list[Fraction] = []
    for name, value in prices.items():
        if name not in known:
            raise _unknown(name)
        row, price = known[name], Fraction(value)
        totals = [total + price * share for total, share in zip(totals, row.demand, strict=True)]
        held = zip(row.capacity, limit.members, strict=True)
        parts.append(price * slots * sum((capacity * len(servers) for capacity, servers in held), Fraction(0)))
    for job, total in enumerate(totals):
        if tick is not None:
            tick()
        parts.append(limit.best_total(job, total))
    return exact_sum(parts)


def prices_value(
    instance: Instance,
    prices: Mapping[str, float],
    *,
    alone: bool = False,
    limit: "Most | None" = None,
    tick: Tick = None,
) -> Fraction:
    """Bound that prices by epoch prove; ``alone``: those of ``slot``; the rest as ``aggregated_value``."""
    if alone and not instance.one_slot:
        raise ValueError("duals of the formulation 'slot' are for jobs with one slot")
    limit = limit or Most(instance)
    spans = epochs(instance)
    pi, by_epoch = _read(limit, prices, {span.first: _Prices(limit) for span in spans}, alone)
    parts = []
    for job, price in enumerate(pi):
        if tick is not None:
            tick()
        parts.append(limit.best_total(job, price))
    for span in spans:
        held = by_epoch[span.first]
        slot = [held.paid()]
        for job, record in enumerate(instance.jobs):
            if record.arrival_slot <= span.first:
                if tick is not None:
                    tick()
                slot.append(held.best_ring(job, None if alone else pi[job]))
        parts.append(span.slots * exact_sum(slot))
    return exact_sum(parts)


def _read(
    limit: "Most", prices: Mapping[str, float], by_epoch: "dict[int, _Prices]", alone: bool
) -> "tuple[list[Fraction], dict[int, _Prices]]":
    """Prices of worker-slots by job, none where they are ``alone``, and prices by epoch, from the names of their rows."""
    instance = limit.instance
    labels = separable_labels([job.id for job in instance.jobs], "j")
    servers = separable_labels([server.id for server in instance.servers], "s")
    totals = {} if alone else dict.fromkeys((f"total_{label}" for label in labels), Fraction(0))
    where: dict[tuple[str, str], tuple[int, list[int]]] = {}
    for q, row in enumerate(limit.rows):
        where |= {("pool", f"{row.name}_c{number}"): (q, held) for number, held in enumerate(limit.members)}
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
            q, held = where[parts[1], parts[3]]
            for server in held:
                held_prices.at[server][q] += price
        else:
            raise _unknown(name)
    return list(totals.values()), by_epoch


def _unknown(name: str) -> ValueError:
    return ValueError(f"there is no row {name!r}")


class Most:
    """How many workers a job may have, on each server, in a slot and over all slots; ``rows``, and classes of servers."""

    def __init__(self, instance: Instance) -> None:
        self.instance, self.rows = instance, rows(instance)
        self.members, self.of = classes(instance)
        self.fits = []
        for job in range(len(instance.jobs)):
            by_class = [fits(instance, job, self.rows, number) for number in range(len(self.members))]
            self.fits.append([by_class[number] for number in self.of])
        self.tree = Tree(instance) if instance.paths is None else None
        self._widths = [loose(link.bandwidth_bytes_per_s) for link in instance.links] if self.tree is not None else []
        self.closed = [self._closed(job) for job in range(len(instance.jobs))]
        self._parts: dict[frozenset[int], list[list[int]]] = {}
        self.most = [self._most(job) for job in range(len(instance.jobs))]
        self.total = [most_worker_slots(instance, job, most) for job, most in enumerate(self.most)]
        self.most = [min(most, total) for most, total in zip(self.most, self.total, strict=True)]

    @cached_property
    def worths(self) -> list[Worth]:
        """Utilities of the most worker-slots; UsageError: they are too many for tables."""
        return worth_tables(self.instance.jobs, self.total)

    def parts(self, job: int) -> list[list[int]]:
        """Servers that a ring of the job can have together, by listed paths maybe more."""
        closed = self.closed[job]
        if closed not in self._parts:
            whole = [list(range(len(self.instance.servers)))]
            self._parts[closed] = whole if self.tree is None else self.tree.parts(closed)
        return self._parts[closed]

    def _closed(self, job: int) -> frozenset[int]:
        """Links of a forest too narrow for the job, by more than the checker tolerates and floats round."""
        load = self.instance.jobs[job].bandwidth_bytes_per_s
        return frozenset(link for link, width in enumerate(self._widths) if load > width)

    def _most(self, job: int) -> int:
        together = max(sum(self.fits[job][server] for server in part) for part in self.parts(job))
        return min(self.instance.jobs[job].max_workers, together)

    def best_total(self, job: int, price: Fraction) -> Fraction:
        """Maximum over z of mu(zeta z) - price z, at least: mu is rounded up, and the rounding of floats added."""
        upper = self.worths[job].upper
        if price * len(upper) > _LARGEST:
            raise ValueError(
                f"the price of a worker-slot of job {self.instance.jobs[job].id!r} is so high that all of them cost more "
                "than any float"
            )
        paid = float(price) * np.arange(len(upper))
        most = float(np.max(upper - paid))
        return Fraction(most) + Fraction(2.0**-50) * (Fraction(float(upper[-1])) + price * len(upper))


class _Prices:
    """Prices of one epoch: ``at`` by server and row, ``links`` by link."""

    def __init__(self, limit: Most) -> None:
        self.limit = limit
        self.at = [[Fraction(0)] * len(limit.rows) for _ in limit.instance.servers]
        self.links: dict[int, Fraction] = {}

    @cached_property
    def _alike(self) -> dict[tuple[Fraction, ...], list[int]]:
        """Servers by their prices; asked for when all prices are set."""
        alike: dict[tuple[Fraction, ...], list[int]] = {}
        for server, held in enumerate(self.at):
            alike.setdefault(tuple(held), []).append(server)
        return alike

    def paid(self) -> Fraction:
        """Prices times capacities of one slot."""
        limit = self.limit
        parts = [
            price * limit.rows[q].capacity[limit.of[server]]
            for server, held in enumerate(self.at)
            for q, price in enumerate(held)
            if price
        ]
        for link, price in self.links.items():
            parts.append(price * loose(limit.instance.links[link].bandwidth_bytes_per_s))
        return exact_sum(parts)

    def best_ring(self, job: int, pi: Fraction | None) -> Fraction:
        """What the best ring of the job is worth above the prices.

        Its workers are worth ``pi`` each or, when that is None, their utility.
        """
        limit, room = self.limit, self.limit.fits[job]
        paid = {
            held: sum((row.demand[job] * each for row, each in zip(limit.rows, held, strict=True)), Fraction(0))
            for held in self._alike
        }
        offers = [[(paid[held], sum(room[s] for s in servers)) for held, servers in self._alike.items()]]
        if len(limit.parts(job)) > 1:
            offers = [[(paid[tuple(self.at[s])], room[s]) for s in part] for part in limit.parts(job)]
        load = Fraction(limit.instance.jobs[job].bandwidth_bytes_per_s)
        crossed = limit.tree is not None and load and any(self.links.values())
        if pi is not None:
            most = max(_margin(each, pi, limit.most[job]) for each in offers)
            if not most or not crossed:
                return most
            worth = [n * pi for n in range(limit.most[job] + 1)]
        else:
            worth = [Fraction(value) for value in limit.worths[job].upper.tolist()]
        if limit.tree is None or not crossed:
            return max(value - price for each in offers for value, price in zip(worth, _cheapest(each), strict=False))
        by_server = [paid[tuple(held)] for held in self.at]
        prices = {link: load * each for link, each in self.links.items()}
        least = limit.tree.cheapest(by_server, room, len(worth) - 1, prices, limit.closed[job])
        return max(value - price for value, price in zip(worth, least, strict=True) if price is not None)


def _margin(offers: Sequence[tuple[Fraction, int]], pi: Fraction, most: int) -> Fraction:
    """What up to ``most`` workers worth ``pi`` each are worth above the prices of the cheapest servers."""
    total = Fraction(0)
    for price, room in sorted(offers):
        if price >= pi or not most:
            break
        total += (pi - price) * min(room, most)
        most -= min(room, most)
    return total


def _cheapest(offers: Sequence[tuple[Fraction, int]]) -> Iterator[Fraction]:
    """Least prices of 0, 1, 2 ... workers on servers of which each kind asks a price for a number of workers."""
    total = Fraction(0)
    yield total
    for price, room in sorted(offers):
        for _ in range(room):
            total += price
            yield total
