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
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property

import numpy as np

from dlsched.core.certificate import Certificate, DualsCertificate, exact_sum
from dlsched.core.labels import separable_labels
from dlsched.ring_embedding.instance import Instance
from dlsched.ring_embedding.rows import Row, classes, epochs, fits, loose, most_worker_slots, rows
from dlsched.ring_embedding.tree import Tree
from dlsched.ring_embedding.worths import worth_table


def verify(instance: Instance, certificate: Certificate) -> Fraction:
    """Return the bound on the total utility that the certificate proves.

    Raises
    ------
    ValueError
        It is no certificate of this family: an unknown formulation or row, or a price that is negative or not finite.
    """
    if not isinstance(certificate, DualsCertificate):
        raise ValueError(f"there are no certificates of kind {certificate.as_data()['kind']!r} in this family")
    for name, price in certificate.rows.items():
        if not (math.isfinite(price) and price >= 0):
            raise ValueError(f"price {price} of row {name!r} is negative or not finite")
    if certificate.formulation == "aggregated":
        return aggregated_value(instance, certificate.rows)
    if certificate.formulation in ("horizon", "columns"):
        return prices_value(instance, certificate.rows)
    if certificate.formulation == "slot":
        return prices_value(instance, certificate.rows, alone=True)
    raise ValueError(f"there are no duals of a formulation {certificate.formulation!r}")


def aggregated_value(instance: Instance, prices: Mapping[str, float]) -> Fraction:
    """Bound that one price for all slots and servers proves; errors as ``verify``."""
    demands = rows(instance)
    members, _ = classes(instance)
    limit = Most(instance, demands)
    slots = instance.slots - min(job.arrival_slot for job in instance.jobs) + 1
    known = {f"pool_{row.name}": row for row in demands}
    _require_rows(prices, known)
    totals = [Fraction(0)] * len(instance.jobs)
    parts: list[Fraction] = []
    for name, value in prices.items():
        row, price = known[name], Fraction(value)
        totals = [total + price * share for total, share in zip(totals, row.demand, strict=True)]
        pool = sum((capacity * len(held) for capacity, held in zip(row.capacity, members, strict=True)), Fraction(0))
        parts.append(price * slots * pool)
    return exact_sum(parts + [limit.best_total(job, total) for job, total in enumerate(totals)])


def prices_value(instance: Instance, prices: Mapping[str, float], *, alone: bool = False) -> Fraction:
    """Bound that prices by epoch prove; ``alone``: those of ``slot``; errors as ``verify``."""
    if alone and not instance.one_slot:
        raise ValueError("duals of the formulation 'slot' are for jobs with one slot")
    demands = rows(instance)
    members, _ = classes(instance)
    limit = Most(instance, demands)
    jobs = separable_labels([job.id for job in instance.jobs], "j")
    servers = separable_labels([server.id for server in instance.servers], "s")
    spans = epochs(instance)
    by_epoch: dict[int, _Prices] = {span.first: _Prices(instance, demands) for span in spans}
    totals = {} if alone else dict.fromkeys((f"total_{label}" for label in jobs), Fraction(0))
    where = {
        f"pool_{span.first}_{row.name}_c{number}": (span.first, q, held)
        for span in spans
        for q, row in enumerate(demands)
        for number, held in enumerate(members)
    } | {
        f"capacity_{span.first}_{row.name}_{servers[s]}": (span.first, q, [s])
        for span in spans
        for q, row in enumerate(demands)
        for s in range(len(servers))
    }
    links = {
        f"bandwidth_{span.first}_l{link}": (span.first, link)
        for span in spans
        for link in range(len(instance.links) if instance.paths is None else 0)
    }
    _require_rows(prices, {**totals, **where, **links})
    for name, value in prices.items():
        price = Fraction(value)
        if name in totals:
            totals[name] = price
        elif name in links:
            first, link = links[name]
            by_epoch[first].links[link] = price
        else:
            first, q, held = where[name]
            for server in held:
                by_epoch[first].at[server][q] += price
    pi = list(totals.values())
    parts = [limit.best_total(job, price) for job, price in enumerate(pi)]
    worths = {job: limit.worth(job, None if alone else pi[job]) for job in range(len(jobs))}
    for span in spans:
        held_prices = by_epoch[span.first]
        slot = [held_prices.paid()]
        slot += [
            held_prices.best_ring(job, worths[job], limit)
            for job, record in enumerate(instance.jobs)
            if record.arrival_slot <= span.first
        ]
        parts.append(span.slots * exact_sum(slot))
    return exact_sum(parts)


class Most:
    """How many workers a job may have, on each server, in a slot and over all slots."""

    def __init__(self, instance: Instance, demands: Sequence[Row]) -> None:
        _, of = classes(instance)
        self.instance = instance
        self.fits = []
        for job in range(len(instance.jobs)):
            by_class = [fits(instance, job, list(demands), number) for number in range(max(of) + 1)]
            self.fits.append([by_class[number] for number in of])
        self.tree = Tree(instance) if instance.paths is None else None
        self.closed = [self._closed(job) for job in range(len(instance.jobs))]
        self._parts: dict[frozenset[int], list[list[int]]] = {}
        self.most = [self._most(job) for job in range(len(instance.jobs))]
        self.total = [most_worker_slots(instance, job, most) for job, most in enumerate(self.most)]
        self.most = [min(most, total) for most, total in zip(self.most, self.total, strict=True)]

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
        widths = [link.bandwidth_bytes_per_s for link in self.instance.links] if self.tree is not None else []
        return frozenset(link for link, width in enumerate(widths) if load > width + 2e-9 * max(1.0, width))

    def _most(self, job: int) -> int:
        together = max(sum(self.fits[job][server] for server in part) for part in self.parts(job))
        return min(self.instance.jobs[job].max_workers, together)

    def worth(self, job: int, price: Fraction | None) -> list[Fraction]:
        """Worth of the workers of a slot: at a price each, or their utility where there is no other slot."""
        if price is not None:
            return [n * price for n in range(self.most[job] + 1)]
        return [Fraction(value) for value in worth_table(self.instance.jobs[job], self.total[job]).upper.tolist()]

    def best_total(self, job: int, price: Fraction) -> Fraction:
        """Maximum over z of mu(zeta z) - price z, at least: mu is rounded up, and the rounding of floats added."""
        upper = worth_table(self.instance.jobs[job], self.total[job]).upper
        paid = float(price) * np.arange(len(upper))
        most = float(np.max(upper - paid))
        return Fraction(most) + Fraction(2.0**-50) * (Fraction(float(upper[-1])) + price * len(upper))


class _Prices:
    """Prices of one epoch: ``at`` by server and row, ``links`` by link."""

    def __init__(self, instance: Instance, demands: Sequence[Row]) -> None:
        self.instance, self.demands = instance, demands
        self.at = [[Fraction(0)] * len(demands) for _ in instance.servers]
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
        _, of = classes(self.instance)
        parts = [
            price * self.demands[q].capacity[of[server]]
            for server, held in enumerate(self.at)
            for q, price in enumerate(held)
            if price
        ]
        for link, price in self.links.items():
            parts.append(price * loose(self.instance.links[link].bandwidth_bytes_per_s))
        return exact_sum(parts)

    def best_ring(self, job: int, worth: Sequence[Fraction], limit: Most) -> Fraction:
        """What the best ring of the job is worth above the prices; ``worth`` of n workers, from 0 to the most."""
        alike = self._alike
        paid = {
            held: sum((row.demand[job] * each for row, each in zip(self.demands, held, strict=True)), Fraction(0))
            for held in alike
        }
        room = limit.fits[job]
        load = Fraction(self.instance.jobs[job].bandwidth_bytes_per_s)
        if limit.tree is None or not load or not any(self.links.values()):
            offers = [[(paid[held], sum(room[s] for s in servers)) for held, servers in alike.items()]]
            if len(limit.parts(job)) > 1:
                offers = [[(paid[tuple(self.at[s])], room[s]) for s in part] for part in limit.parts(job)]
            return max(value - price for each in offers for value, price in zip(worth, _cheapest(each), strict=False))
        by_server = [paid[tuple(held)] for held in self.at]
        crossed = {link: load * each for link, each in self.links.items()}
        return max(
            [worth[0]]
            + [
                worth[size] - price
                for size in range(1, len(worth))
                if (price := limit.tree.cheapest(by_server, room, size, crossed, limit.closed[job])) is not None
            ]
        )


def _cheapest(offers: Sequence[tuple[Fraction, int]]) -> Iterator[Fraction]:
    """Least prices of 0, 1, 2 ... workers on servers of which each kind asks a price for a number of workers."""
    total = Fraction(0)
    yield total
    for price, room in sorted(offers):
        for _ in range(room):
            total += price
            yield total


def _require_rows(prices: Mapping[str, float], known: Mapping[str, object]) -> None:
    for name in prices:
        if name not in known:
            raise ValueError(f"there is no row {name!r}")
