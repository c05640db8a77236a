"""Brute force for the optimum of a small instance of ring_embedding.

It knows the checker only, and takes two steps. *One slot*: every ring of every job, that is every number of workers on every
server and every cyclic order of these servers, with all that it takes of servers and directed links; then, for every
combination of numbers of workers of the jobs, rings that fit together, if there are any, of those with the least price of
the servers that are on. Slots are alike, so this is done once for all jobs, and slots in which some have not arrived use the
combinations without them. *All slots*: of the worker-slots that jobs can have after each slot, all are kept that the budgets
allow, each with the least price of servers so far. Rings are routed by networkx, sums are added up as the checker does, and its
tolerance is applied to them. Prices of servers are added up as whole numbers, over the denominator that they share.
"""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import chain, pairwise, permutations, product
from operator import mul
from typing import NamedTuple, TypeAlias

import networkx as nx

from dlsched.core.tolerance import tolerance
from dlsched.ring_embedding.checker import check, objective, utilities, worth
from dlsched.ring_embedding.instance import Instance, Job
from dlsched.ring_embedding.solution import Embedding

LARGEST = 100_000
"""Rings of one job, or combinations of numbers of workers, beyond which ``brute_force_ring`` refuses."""

Counts: TypeAlias = tuple[int, ...]
Resource: TypeAlias = tuple[str, str]
Takes: TypeAlias = Mapping[Resource, list[float]]
Limits: TypeAlias = Mapping[Resource, float]


class _Ring(NamedTuple):
    """Workers by server, the order, and what it takes: amounts by (server, resource) and by directed link."""

    workers: dict[str, int]
    order: tuple[str, ...]
    takes: Takes


_Together: TypeAlias = tuple[int, tuple[_Ring | None, ...]]
"""The price of the servers that are on, and the ring of every job, if any."""


class _Slots(NamedTuple):
    """What jobs hold after some slots: the least price of servers, what they held before the last, and their workers in it."""

    price: int
    before: Counts
    workers: Counts


def brute_force_ring(instance: Instance) -> tuple[float, Embedding]:
    """Return the best objective and an embedding that attains it; there always is one.

    With the objective ``max_min`` no other embedding has better sorted utilities, the least first.

    Raises
    ------
    ValueError
        More than ``LARGEST`` ways.
    """
    unit = math.lcm(*(price.denominator for price in instance.on_prices))
    prices = [int(price * unit) for price in instance.on_prices]
    slot = _slot(instance, {server.id: price for server, price in zip(instance.servers, prices, strict=True)})
    most = [_most(instance, job) for job in instance.jobs]
    layers = [{(0,) * len(most): _Slots(0, (), ())}]
    for number in range(1, instance.slots + 1):
        late = [index for index, job in enumerate(instance.jobs) if job.arrival_slot > number]
        ways = [counts for counts in slot if not any(counts[index] for index in late)]
        layer: dict[Counts, _Slots] = {}
        for held, counts in product(layers[-1], ways):
            total = tuple(map(sum, zip(held, counts, strict=True)))
            price = layers[-1][held].price + slot[counts][0]
            better = total not in layer or price < layer[total].price
            if better and all(z <= z_most for z, z_most in zip(total, most, strict=True)):
                layer[total] = _Slots(price, held, counts)
        layers.append(layer)
    table = [[worth(job, z) for z in range(z_most + 1)] for job, z_most in zip(instance.jobs, most, strict=True)]

    def goodness(total: Counts) -> list[float]:
        earned = [values[z] for values, z in zip(table, total, strict=True)]
        if instance.objective == "max_min":
            return sorted(earned)
        price = Fraction(layers[-1][total].price, unit) + sum(map(mul, instance.worker_prices, total))
        return [math.fsum([*earned, -float(price)])]

    best = max(layers[-1], key=goodness)
    slots = {}
    for number in range(instance.slots, 0, -1):
        _, best, counts = layers[number][best]
        rings = zip(instance.jobs, slot[counts][1], strict=True)
        slots[number] = {job.id: (ring.workers, ring.order) for job, ring in rings if ring is not None}
    embedding = Embedding(slots)
    assert not check(instance, embedding)
    return objective(instance, embedding), embedding


def brute_force_max_min(instance: Instance) -> tuple[list[float], Embedding]:
    """Return the best utilities of the jobs, the least first, whatever the objective, and an embedding that attains them."""
    fair = {"objective": "max_min", "energy_price_per_kwh": 0.0}
    _, embedding = brute_force_ring(Instance(**{**instance.model_dump(exclude={"known"}), **fair}))
    return sorted(utilities(instance, embedding).values()), embedding


def _slot(instance: Instance, prices: Mapping[str, int]) -> dict[Counts, _Together]:
    """Numbers of workers that the jobs can have in one slot at the same time, with the cheapest rings that do."""
    limits = _limits(instance)
    routes = _routes(instance)
    choices: list[dict[int, list[_Ring | None]]] = []
    for job in instance.jobs:
        rings: dict[int, list[_Ring | None]] = defaultdict(list, {0: [None]})
        for ring in _rings(instance, job, routes):
            if _fits(ring.takes, [], limits):
                rings[sum(ring.workers.values())].append(ring)
        choices.append(rings)
    if math.prod(map(len, choices)) > LARGEST:
        raise ValueError(f"more than {LARGEST} combinations of numbers of workers are too many to try")
    found = {
        counts: _together([rings[count] for rings, count in zip(choices, counts, strict=True)], limits, prices, [])
        for counts in product(*choices)
    }
    return {counts: together for counts, together in found.items() if together is not None}


def _together(
    choices: Sequence[Sequence[_Ring | None]], limits: Limits, prices: Mapping[str, int], placed: list[_Ring | None]
) -> _Together | None:
    """Return the first cheapest rings, one of every job, that fit together; None if none do."""
    rings = [ring for ring in placed if ring is not None]
    price = sum(prices[server] for server in {server for ring in rings for server in ring.workers})
    if len(placed) == len(choices):
        return price, tuple(placed)
    best: _Together | None = None
    for ring in choices[len(placed)]:
        if ring is None or _fits(ring.takes, [other.takes for other in rings], limits):
            found = _together(choices, limits, prices, [*placed, ring])
            if found is not None and (best is None or found[0] < best[0]):
                best = found
            if best is not None and best[0] == price:  # no ring is free of more than that
                break
    return best


def _fits(new: Takes, others: Sequence[Takes], limits: Limits) -> bool:
    """Whether every resource that the new ring uses has room for the other rings too."""
    return not any(
        _over(math.fsum([*amounts, *(a for other in others for a in other.get(key, ()))]), limits.get(key, 0.0))
        for key, amounts in new.items()
    )


def _rings(instance: Instance, job: Job, routes: Mapping[tuple[str, str], list[str]]) -> Iterator[_Ring]:
    """Yield every ring of a job that has routes, but only one of those that take the same resources."""
    servers = [server.id for server in instance.servers]
    ways = math.comb(len(servers) + job.max_workers, job.max_workers) * math.factorial(len(servers))
    if ways > LARGEST:
        raise ValueError(f"more than {LARGEST} rings of job {job.id!r}: up to {ways} are too many to try")
    seen: set[object] = set()
    for counts in product(range(job.max_workers + 1), repeat=len(servers)):
        if not 1 <= sum(counts) <= job.max_workers:
            continue
        workers = {server: count for server, count in zip(servers, counts, strict=True) if count}
        first, *rest = workers
        for others in permutations(rest):
            order = (first, *others)
            hops = list(pairwise((*order, first))) if rest else []
            if not all(hop in routes for hop in hops):
                continue
            takes: dict[Resource, list[float]] = defaultdict(list)
            for server, count in workers.items():
                for resource, amount in job.demand.items():
                    takes[server, "resource " + resource].append(amount * count)
            for here, there in chain.from_iterable(pairwise(routes[hop]) for hop in hops):
                takes[here, "link to " + there].append(job.bandwidth_bytes_per_s)
            key = counts, frozenset((key, len(amounts)) for key, amounts in takes.items())
            if key not in seen:
                seen.add(key)
                yield _Ring(workers, order, dict(takes))


def _limits(instance: Instance) -> Limits:
    """Capacities of servers by resource, and bandwidths of links by direction."""
    limits = {
        (server.id, "resource " + resource): amount
        for server in instance.servers
        for resource, amount in (server.capacity or {}).items()
    }
    for link in instance.links:
        for here, there in (link.ends, link.ends[::-1]):
            limits[here, "link to " + there] = link.bandwidth_bytes_per_s
    return limits


def _routes(instance: Instance) -> dict[tuple[str, str], list[str]]:
    """Nodes of the route between servers, in both directions: as listed, or the path of the forest."""
    if instance.paths is not None:
        listed = {path.ends: list(path.nodes) for path in instance.paths}
        return listed | {ends[::-1]: nodes[::-1] for ends, nodes in listed.items()}
    network = nx.Graph([link.ends for link in instance.links])
    network.add_nodes_from(node.id for node in instance.nodes)
    pairs = permutations([server.id for server in instance.servers], 2)
    return {pair: nx.shortest_path(network, *pair) for pair in pairs if nx.has_path(network, *pair)}


def _most(instance: Instance, job: Job) -> int:
    """The most worker-slots that slots and budgets allow."""
    most = job.max_workers * (instance.slots - job.arrival_slot + 1)
    while any(_over(job.demand.get(resource, 0.0) * most, budget) for resource, budget in job.budget.items()):
        most -= 1
    return most


def _over(used: float, allowed: float) -> bool:
    return used - allowed > tolerance(allowed)
