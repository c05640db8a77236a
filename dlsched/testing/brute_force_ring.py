"""The optimum of a tiny instance of ring_embedding by trying everything; it knows the checker only.

Two steps. *One slot*: every ring of every job, that is every number of workers on every server and every cyclic order of
these servers, with all that it takes of servers and directed links; then, for every combination of numbers of workers of
the jobs, rings that fit together, if there are any. Slots are alike, so this is done once for all jobs, and slots in which
some have not arrived use the combinations without them. *All slots*: of the worker-slots that jobs can have after each
slot, all are kept that the budgets allow.

Rings are routed here by networkx, sums are added up as the checker does, and its tolerance is applied to them.
"""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise, permutations, product
from typing import Any, NamedTuple

import networkx as nx

from dlsched.core.tolerance import tolerance
from dlsched.ring_embedding.checker import check, objective, worth
from dlsched.ring_embedding.instance import Instance, Job
from dlsched.ring_embedding.solution import Embedding

LARGEST = 100_000
"""Rings of one job, or combinations of numbers of workers, beyond which ``brute_force_ring`` refuses."""

Counts = tuple[int, ...]


class _Ring(NamedTuple):
    """Workers by server, the order, and what it takes: amounts by (server, resource) and by directed link."""

    workers: dict[str, int]
    order: tuple[str, ...]
    takes: dict[tuple[str, str], list[float]]


def brute_force_ring(instance: Instance) -> tuple[float, Embedding]:
    """Return the largest total utility and an embedding that attains it; there always is one.

    Raises
    ------
    ValueError
        More than ``LARGEST`` ways.
    """
    slot = _slot(instance)
    most = [_most(instance, job) for job in instance.jobs]
    layers: list[dict[Counts, tuple[Counts, Counts]]] = [{(0,) * len(most): ((), ())}]
    for number in range(1, instance.slots + 1):
        late = [place for place, job in enumerate(instance.jobs) if job.arrival_slot > number]
        ways = [counts for counts in slot if not any(counts[place] for place in late)]
        layer: dict[Counts, tuple[Counts, Counts]] = {}
        for held, counts in product(layers[-1], ways):
            total = tuple(map(sum, zip(held, counts, strict=True)))
            if total not in layer and all(z <= z_most for z, z_most in zip(total, most, strict=True)):
                layer[total] = held, counts
        layers.append(layer)
    table = [[worth(job, z) for z in range(z_most + 1)] for job, z_most in zip(instance.jobs, most, strict=True)]
    best = max(layers[-1], key=lambda total: math.fsum(values[z] for values, z in zip(table, total, strict=True)))
    slots = {}
    for number in range(instance.slots, 0, -1):
        best, counts = layers[number][best]
        rings = zip(instance.jobs, slot[counts], strict=True)
        slots[number] = {job.id: (ring.workers, ring.order) for job, ring in rings if ring is not None}
    embedding = Embedding(slots)
    assert not check(instance, embedding)
    return objective(instance, embedding), embedding


def _slot(instance: Instance) -> dict[Counts, tuple[_Ring | None, ...]]:
    """Numbers of workers that the jobs can have in one slot at the same time, with rings that do."""
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
    found = {counts: _together(counts, choices, limits, []) for counts in product(*choices)}
    return {counts: rings for counts, rings in found.items() if rings is not None}


def _together(
    counts: Counts,
    choices: Sequence[Mapping[int, list[_Ring | None]]],
    limits: Mapping[tuple[str, str], float],
    placed: list[_Ring | None],
) -> tuple[_Ring | None, ...] | None:
    """Rings with these numbers of workers that fit together, the first ones given; None when there are none."""
    if len(placed) == len(counts):
        return tuple(placed)
    for ring in choices[len(placed)][counts[len(placed)]]:
        if ring is None or _fits(ring.takes, [other.takes for other in placed if other is not None], limits):
            found = _together(counts, choices, limits, [*placed, ring])
            if found is not None:
                return found
    return None


def _fits(
    new: Mapping[tuple[str, str], list[float]],
    others: Sequence[Mapping[tuple[str, str], list[float]]],
    limits: Mapping[tuple[str, str], float],
) -> bool:
    """Whether all that the new ring takes a part of is large enough for the others' parts as well."""
    for key, amounts in new.items():
        total = math.fsum([*amounts, *(amount for other in others for amount in other.get(key, ()))])
        if _over(total, limits.get(key, 0.0)):
            return False
    return True


def _rings(instance: Instance, job: Job, routes: Mapping[tuple[str, str], list[str]]) -> Iterator[_Ring]:
    """Every ring of a job that has routes, but of those that take the same one only."""
    servers = [server.id for server in instance.servers]
    ways = math.comb(len(servers) + job.max_workers, job.max_workers) * math.factorial(len(servers))
    if ways > LARGEST:
        raise ValueError(f"more than {LARGEST} rings of job {job.id!r}: up to {ways} are too many to try")
    seen: set[Any] = set()
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
            takes: dict[tuple[str, str], list[float]] = defaultdict(list)
            for server, count in workers.items():
                for resource, amount in job.demand.items():
                    takes[server, "resource " + resource].append(amount * count)
            for hop in hops:
                for link in pairwise(routes[hop]):
                    takes[link[0], "link to " + link[1]].append(job.bandwidth_bytes_per_s)
            key = counts, frozenset((key, len(amounts)) for key, amounts in takes.items())
            if key not in seen:
                seen.add(key)
                yield _Ring(workers, order, dict(takes))


def _limits(instance: Instance) -> dict[tuple[str, str], float]:
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
    network: Any = nx.Graph()
    network.add_nodes_from(node.id for node in instance.nodes)
    network.add_edges_from(link.ends for link in instance.links)
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
