"""ring_embedding for tests: instances with what breaks embeddings, and the optimum by trying all.

Forests in one part and in several, servers that others are reached through, racks, one server alone; with listed paths:
cycles, thin chords, detours, pairs without a path. Links too thin for some rings or for two of them, rings that need no
bandwidth. One or two resources, demands that are fractions, zero, or more than some or all servers hold, servers without a
resource. Budgets that bind, budgets of 0, late arrivals, identical jobs. All utilities: steep and flat sigmoids, a midpoint
of 0 and one beyond reach, caps that bind.

Brute force knows the checker only, and takes two steps. *One slot*: every ring of every job, that is every number of
workers on every server and every cyclic order of these servers, with all that it takes of servers and directed links; then,
for every combination of numbers of workers of the jobs, rings that fit together, if there are any. Slots are alike, so this
is done once for all jobs, and slots in which some have not arrived use the combinations without them. *All slots*: of the
worker-slots that jobs can have after each slot, all are kept that the budgets allow. Rings are routed by networkx, sums are
added up as the checker does, and its tolerance is applied to them.
"""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, pairwise, permutations, product
from typing import NamedTuple, TypeAlias

import networkx as nx
from hypothesis import strategies as st

from dlsched.core.tolerance import tolerance
from dlsched.ring_embedding.checker import check, objective, worth
from dlsched.ring_embedding.instance import Instance, Job
from dlsched.ring_embedding.solution import Embedding
from dlsched.testing.cases import Case
from dlsched.testing.drawing import Data, named, odd, several
from dlsched.testing.topologies import forests, graphs, paths

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
        late = [index for index, job in enumerate(instance.jobs) if job.arrival_slot > number]
        ways = [counts for counts in slot if not any(counts[index] for index in late)]
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
    counts: Counts, choices: Sequence[Mapping[int, list[_Ring | None]]], limits: Limits, placed: list[_Ring | None]
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


def _fits(new: Takes, others: Sequence[Takes], limits: Limits) -> bool:
    """Whether all that the new ring takes a part of is large enough for the others' parts as well."""
    return not any(
        _over(math.fsum([*amounts, *(a for other in others for a in other.get(key, ()))]), limits.get(key, 0.0))
        for key, amounts in new.items()
    )


def _rings(instance: Instance, job: Job, routes: Mapping[tuple[str, str], list[str]]) -> Iterator[_Ring]:
    """Every ring of a job that has routes, but of those that take the same one only."""
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


_ODD = odd(0.25, 8, 4)
_DEMANDS = st.one_of(st.just(1.0), st.sampled_from([1.0, 0.5, 0.3, 2.0, 3.0]), _ODD)
_CAPACITIES = st.one_of(st.sampled_from([1.0, 2.0]), st.sampled_from([0.9, 1.5, 3.0, 4.0]), _ODD)
_SINGLE = st.one_of(st.just(1.0), st.sampled_from([1.0, 1.2, 2.0]))
_PARTS = st.one_of(st.just(1.0), st.sampled_from([1.0, 0.5, 0.7, 1.1]))
_LOADS = st.one_of(st.just(1.0), st.sampled_from([1.0, 0.0, 0.1, 0.5, 2.0, 3.0]), _ODD)
_BANDWIDTHS = st.one_of(st.sampled_from([1.0, 2.0]), st.sampled_from([1.0, 0.3, 3.0, 4.0, 16.0]), _ODD)
_RATES = st.one_of(st.just(1.0), st.sampled_from([0.5, 2.0, 100.0]), _ODD)
_BUDGETS = st.one_of(st.sampled_from([2.0, 0.0, 0.9, 1.0, 2.5, 4.0]), _ODD)
_SCALES = st.one_of(st.sampled_from([1.0, 8.0]), _ODD)


@st.composite
def ring_embedding_instances(
    draw: st.DrawFn,
    *,
    max_jobs: int = 3,
    max_servers: int = 3,
    max_slots: int = 3,
    max_workers: int = 3,
    forest: bool | None = None,
    concave: bool | None = None,
) -> Instance:
    """Instances of ring_embedding of every awkward kind.

    Parameters
    ----------
    max_jobs, max_servers, max_slots, max_workers
        The most jobs, servers, slots, and workers of a job in one slot.
    forest
        Whether the network is a forest without listed paths; None: either.
    concave
        Whether all utilities are concave; False: at least one is S-shaped; None: either.
    """
    if min(max_jobs, max_servers, max_slots, max_workers) < 1:
        raise ValueError("max_jobs, max_servers, max_slots and max_workers must be at least 1")
    tree = draw(st.integers(0, 2)) > 0 if forest is None else forest
    size = draw(st.sampled_from([max_servers, max_servers, *range(1, max_servers)]))
    servers = [f"s{index}" for index in range(size)]
    others, pairs = draw(forests(servers) if tree else graphs(servers))
    resources = draw(st.sampled_from([["gpu"], ["gpu"], ["gpu", "memory"]]))
    single = draw(st.booleans())  # servers that hold little more than a worker, so that rings need several
    alike = draw(st.booleans())
    first = draw(_capacities(resources, single))
    capacities = {name: first if alike else draw(_capacities(resources, single)) for name in servers}
    unit = draw(st.sampled_from([1.0, 1.0, 1.25e8, 2.0**-10]))
    thick = draw(st.one_of(st.none(), _BANDWIDTHS))
    links = [(pair, thick if thick is not None and draw(st.booleans()) else draw(_BANDWIDTHS)) for pair in pairs]
    listed = None if tree else draw(paths(servers, pairs))
    slots = draw(st.integers(1, max_slots))
    number = draw(st.integers(1, min(2, max_jobs)) if single else st.sampled_from([max_jobs, *range(1, max_jobs + 1)]))
    jobs = several(draw, _jobs(resources, slots, max_workers, single, unit, concave), number)
    if concave is False:
        jobs = [jobs[0] | {"utility": draw(_sigmoids(jobs[0]["rate"], slots * max_workers))}, *jobs[1:]]
    return Instance(
        name="drawn",
        slots=slots,
        nodes=[{"id": name, "capacity": capacities[name]} for name in servers] + [{"id": name} for name in others],
        links=[{"ends": pair, "bandwidth_bytes_per_s": amount * unit} for pair, amount in links],
        paths=listed,
        jobs=named(jobs),
    )


@st.composite
def _capacities(draw: st.DrawFn, resources: list[str], single: bool) -> Data:
    """Of one resource at least, and now and then of one that nobody wants."""
    held = {name: draw(_SINGLE if single else _CAPACITIES) for name in resources if draw(st.integers(0, 15)) != 7}
    return held or {"other": 1.0}


@st.composite
def _jobs(
    draw: st.DrawFn, resources: list[str], slots: int, max_workers: int, single: bool, unit: float, concave: bool | None
) -> Data:
    demand = {name: draw(_PARTS if single else _DEMANDS) for name in resources}
    if len(resources) > 1 and draw(st.integers(0, 3)) == 0:
        demand[draw(st.sampled_from(resources))] = 0.0
    job: Data = {
        "max_workers": draw(st.sampled_from([max_workers, max_workers, max_workers, *range(1, max_workers)])),
        "demand": demand,
        "bandwidth_bytes_per_s": draw(_LOADS) * unit,
        "rate": draw(_RATES),
    }
    if draw(st.integers(0, 3)) == 2:
        job["arrival_slot"] = draw(st.integers(1, slots))
    if draw(st.integers(0, 3)) == 2:
        job["budget"] = {draw(st.sampled_from(resources)): draw(_BUDGETS)}
    kind = draw(st.sampled_from(["sqrt", "log", "capped", "flat"] + (["sigmoid"] * 4 if concave is None else [])))
    reach = slots * max_workers
    job["utility"] = draw(_sigmoids(job["rate"], reach)) if kind == "sigmoid" else draw(_concave(kind, job, reach))
    return job


@st.composite
def _concave(draw: st.DrawFn, kind: str, job: Data, reach: int) -> Data:
    scale = draw(_SCALES)
    if kind in ("sqrt", "log"):
        return {"kind": kind, "scale": scale}
    if kind == "capped":
        most = draw(st.sampled_from([1.0, 1.5, 2.0, 2.0 * reach]))
        return {"kind": kind, "slope": scale / job["rate"], "cap": scale * most}
    return {"kind": "sigmoid", "height": scale, "steepness": draw(_SCALES) / job["rate"], "midpoint": 0.0}


@st.composite
def _sigmoids(draw: st.DrawFn, rate: float, reach: int) -> Data:
    """A midpoint after some worker-slots, now and then more than there can be; a slope from flat to a jump."""
    steepness = draw(st.sampled_from([0.5, 1.0, 3.0, 50.0, 2000.0]))
    midpoint = draw(st.one_of(st.integers(1, reach), st.floats(0.5, 2.0 * reach))) * rate
    return {"kind": "sigmoid", "height": draw(_SCALES), "steepness": steepness / rate, "midpoint": midpoint}


CASE = Case(instances=ring_embedding_instances, brute_force=brute_force_ring)
