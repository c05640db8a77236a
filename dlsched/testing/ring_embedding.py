"""ring_embedding for tests: instances with edge cases of embeddings, and optima by brute force.

Among them are links too thin for some rings, demands of more than some or all servers hold, budgets that bind, all utilities from
flat to steep, and energy that is worth its price and that is not.

Brute force knows the checker only, and takes two steps. *One slot*: every ring of every job, that is every number of workers
on every server and every cyclic order of these servers, with all that it takes of servers and directed links; then, for every
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
from functools import partial
from itertools import accumulate, chain, combinations, pairwise, permutations, product
from operator import mul
from typing import Literal, NamedTuple, TypeAlias

import networkx as nx
from hypothesis import strategies as st

from dlsched.cluster.utility import AlphaFair
from dlsched.core.gap import tolerance
from dlsched.ring_embedding.checker import check, objective, utilities, worth
from dlsched.ring_embedding.instance import RANGES, Instance, Job
from dlsched.ring_embedding.solution import Embedding
from dlsched.testing.cases import Case, Data, named, several, values

Pairs = list[tuple[str, str]]


@st.composite
def forests(draw: st.DrawFn, servers: list[str]) -> tuple[list[str], Pairs]:
    """Switches, and pairs of nodes that are linked."""
    kind = draw(st.sampled_from(["any", "any", "racks", "rack", "any", "racks", "none"]))
    # No links at all, one rack, two racks under a core, or any forest of servers and switches.
    if kind == "none":
        return [], []
    if kind == "rack":
        return ["rack"], [(name, "rack") for name in servers]
    if kind == "racks":
        racks = ["rack0", "rack1"]
        return [*racks, "core"], [(name, draw(st.sampled_from(racks))) for name in servers] + [
            (rack, "core") for rack in racks
        ]
    others = [f"n{index}" for index in range(draw(st.integers(0, 2)))]
    nodes = draw(st.permutations([*servers, *others]))
    pairs = []
    # Each node hangs on an earlier one, or begins a tree of its own.
    for index in range(1, len(nodes)):
        if draw(st.integers(0, 7)) != 5:
            pairs.append((nodes[index], nodes[draw(st.integers(0, index - 1))]))
    return others, pairs


@st.composite
def graphs(draw: st.DrawFn, servers: list[str]) -> tuple[list[str], Pairs]:
    """A forest and further links, or a cycle of the servers with chords."""
    if len(servers) > 2 and draw(st.booleans()):
        cycle = list(zip(servers, [*servers[1:], servers[0]], strict=True))
        chords = [pair for pair in combinations(servers, 2) if pair not in cycle and pair[::-1] not in cycle]
        return [], cycle + [pair for pair in chords if draw(st.booleans())]
    others, pairs = draw(forests(servers))
    linked = {frozenset(pair) for pair in pairs}
    free = [pair for pair in combinations([*servers, *others], 2) if frozenset(pair) not in linked]
    more = draw(st.lists(st.sampled_from(free), max_size=3, unique=True)) if free else []
    return others, [*pairs, *more]


@st.composite
def paths(draw: st.DrawFn, servers: list[str], pairs: Pairs) -> list[Data]:
    """A path for most pairs of servers that have one, often the shortest, in either direction."""
    network = nx.Graph(pairs)
    network.add_nodes_from(servers)
    missing = draw(st.booleans())
    listed = []
    for pair in combinations(servers, 2):
        ends = draw(st.sampled_from([pair, pair[::-1]]))
        ways = sorted(nx.all_simple_paths(network, *ends), key=lambda nodes: (len(nodes), nodes))
        if ways and not (missing and draw(st.sampled_from([False, False, True]))):
            nodes = draw(st.one_of(st.just(ways[0]), st.sampled_from(ways)))
            listed.append({"ends": ends, "nodes": nodes})
    return listed


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

    With the objective ``max_min`` no other embedding has better sorted utilities, the least first. A ``ValueError`` says that
    there are more than ``LARGEST`` ways.
    """
    # Prices as integers of a common unit: sums are exact.
    unit = math.lcm(*(price.denominator for price in instance.on_prices))
    prices = [int(price * unit) for price in instance.on_prices]
    slot = _slot(instance, {server.id: price for server, price in zip(instance.servers, prices, strict=True)})
    most = [_most(instance, job) for job in instance.jobs]
    # By slot, for all totals of worker-slots by job, the cheapest way to reach them.
    layers = [{(0,) * len(most): _Slots(0, (), ())}]
    for number in range(1, instance.slots + 1):
        # Jobs that have not arrived have no workers.
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
    # Follow the ways back from the best total of the last slot.
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
    # By job and number of workers the rings that fit alone.
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
    # Every division of workers among servers, and every order of the servers on the ring up to rotation.
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
            # What the ring takes, summand by summand, as sums are compared with capacities in exact arithmetic.
            takes: dict[Resource, list[float]] = defaultdict(list)
            for server, count in workers.items():
                for resource, amount in job.demand.items():
                    takes[server, "resource " + resource].append(amount * count)
            for here, there in chain.from_iterable(pairwise(routes[hop]) for hop in hops):
                takes[here, "link to " + there].append(job.bandwidth_bytes_per_s)
            # Orders that take the same of every link are one ring.
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


_DIGITS = 4
_SLOTS_S, _ENERGY, _CAPACITIES, _ON, _BANDWIDTHS = (
    values(RANGES[path], _DIGITS)
    for path in (
        "slot_s",
        "energy_price_per_kwh",
        "nodes[].capacity{}",
        "nodes[].power_on_w",
        "links[].bandwidth_bytes_per_s",
    )
)
_DEMANDS, _BUDGETS, _LOADS, _RATES, _WORKERS = (
    values(RANGES[f"jobs[].{name}"], _DIGITS)
    for name in ("demand{}", "budget{}", "bandwidth_bytes_per_s", "rate", "worker_power_w")
)
_SCALES, _SLOPES, _STEEPNESS, _ALPHAS, _SHIFTS, _SPEEDS, _STARTS, _FLOORS = (
    values(RANGES[f"jobs[].utility.{name}"], _DIGITS)
    for name in ("scale", "worth[]", "steepness", "alpha", "shift", "curve.b0", "curve.b1", "curve.b2")
)
_WIDTHS = values(RANGES["jobs[].utility.progress[]"], 3)
_SINGLE = st.one_of(st.just(1.0), st.sampled_from([1.0, 1.2, 2.0]))
_PARTS = st.one_of(st.just(1.0), st.sampled_from([1.0, 0.5, 0.7, 1.1]))

_OF_SUMS = ("density", "gadget", "slot-greedy", "columns")


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
    objectives: Literal["plain", "sum", "any"] = "plain",
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
    objectives
        ``plain``: sums of the utilities ``sqrt``, ``log``, ``capped`` and ``sigmoid``; ``sum``: sums of all utilities, less the
        price of energy; ``any``: these, and the least utility.
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
    kinds = ["sqrt", "log", "capped", "flat"] + ([] if objectives == "plain" else ["alpha_fair", "loss", "table"] * 2)
    kinds += [] if concave is not None else ["sigmoid"] * 4 if objectives == "plain" else ["sigmoid", "table", "table"]
    jobs = several(draw, _jobs(resources, slots, max_workers, single, unit, kinds, concave is None), number)
    if concave is False:
        jobs = [jobs[0] | {"utility": draw(_sigmoids(jobs[0]["rate"], slots * max_workers))}, *jobs[1:]]
    nodes: list[Data] = [{"id": name, "capacity": capacities[name]} for name in servers]
    whole: Data = {}
    if objectives == "any" and draw(st.integers(0, 2)) == 2:
        whole = {"objective": "max_min"}
    elif objectives != "plain" and draw(st.booleans()):
        whole, nodes, jobs = draw(_powered(nodes, jobs))
    return Instance(
        name="drawn",
        slots=slots,
        nodes=nodes + [{"id": name} for name in others],
        links=[{"ends": pair, "bandwidth_bytes_per_s": amount * unit} for pair, amount in links],
        paths=listed,
        jobs=named(jobs),
        **whole,
    )


@st.composite
def _powered(draw: st.DrawFn, nodes: list[Data], jobs: list[Data]) -> tuple[Data, list[Data], list[Data]]:
    """The price of energy, and servers and jobs with power: of servers that are worth their price when full, and of others."""
    whole = {"slot_s": draw(_SLOTS_S), "energy_price_per_kwh": draw(_ENERGY)}
    watts = 3.6e6 / whole["slot_s"] / (whole["energy_price_per_kwh"] or 1.0)  # of a price of 1 a slot
    same = draw(st.one_of(st.none(), st.just(0.0), _ON))
    nodes = [node | {"power_on_w": watts * (draw(_ON) if same is None else same)} for node in nodes]
    return whole, nodes, [job | {"worker_power_w": watts * draw(_WORKERS)} for job in jobs]


@st.composite
def _capacities(draw: st.DrawFn, resources: list[str], single: bool) -> Data:
    """Draw capacities of at least one resource, sometimes also of one that no job wants."""
    held = {name: draw(_SINGLE if single else _CAPACITIES) for name in resources if draw(st.integers(0, 15)) != 7}
    return held or {"other": 1.0}


@st.composite
def _jobs(
    draw: st.DrawFn,
    resources: list[str],
    slots: int,
    max_workers: int,
    single: bool,
    unit: float,
    kinds: list[str],
    any_shape: bool,
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
    kind, reach = draw(st.sampled_from(kinds)), slots * max_workers
    if kind == "sigmoid":
        job["utility"] = draw(_sigmoids(job["rate"], reach))
    elif kind == "table":
        job["utility"] = draw(_tables(job["rate"], any_shape))
    else:
        job["utility"] = draw(_concave(kind, job["rate"], reach))
    return job


@st.composite
def _concave(draw: st.DrawFn, kind: str, rate: float, reach: int) -> Data:
    scale = draw(_SCALES)
    if kind in ("sqrt", "log"):
        return {"kind": kind, "scale": scale}
    if kind == "capped":
        most = draw(st.sampled_from([1.0, 1.5, 2.0, 2.0 * reach]))
        return {"kind": kind, "slope": scale / rate, "cap": scale * most}
    if kind == "alpha_fair":  # the first worker-slot is worth scale
        alpha, shift = draw(_ALPHAS), draw(_SHIFTS) * rate
        shift = shift or (rate if alpha >= 1 else 0.0)
        first = AlphaFair(alpha=alpha, scale=1.0, shift=shift).at(rate)
        return {"kind": kind, "alpha": alpha, "scale": scale / first, "shift": shift}
    if kind == "loss":
        start = draw(_STARTS)
        curve = {"b0": draw(_SPEEDS) * start / rate, "b1": start, "b2": draw(_FLOORS)}
        return {"kind": kind, "scale": 2 * scale * start, "curve": curve}
    return {"kind": "sigmoid", "height": scale, "steepness": draw(_SCALES) / rate, "midpoint": 0.0}


@st.composite
def _tables(draw: st.DrawFn, rate: float, any_shape: bool) -> Data:
    """Up to five points, half a worker-slot apart or more; slopes of any order, or each half of the one before."""
    widths = draw(st.lists(_WIDTHS, max_size=4))
    first = draw(_SCALES)
    slopes = [first * 0.5**index for index in range(len(widths))]
    if any_shape:
        slopes = [draw(_SLOPES) for _ in widths]
    progress = [width * rate for width in accumulate(widths, initial=0.0)]
    rises = (slope * width for slope, width in zip(slopes, widths, strict=True))
    return {
        "kind": "table",
        "progress": progress,
        "worth": list(accumulate(rises, initial=draw(st.sampled_from([0.0, 1.5])))),
    }


@st.composite
def _sigmoids(draw: st.DrawFn, rate: float, reach: int) -> Data:
    """A midpoint after some worker-slots, now and then more than there can be; a slope from flat to a jump."""
    steepness = draw(_STEEPNESS)
    midpoint = draw(st.one_of(st.integers(1, reach), st.floats(0.5, 2.0 * reach))) * rate
    return {"kind": "sigmoid", "height": draw(_SCALES), "steepness": steepness / rate, "midpoint": midpoint}


CASE = Case(
    instances=partial(ring_embedding_instances, objectives="any"),
    brute_force=brute_force_ring,
    refuses=lambda method, instance: instance.objective == "max_min" and method in _OF_SUMS,
)
