"""Hypothesis strategies of ring_embedding: instances with what breaks embeddings, small enough for brute force.

Forests in one part and in several, servers that others are reached through, racks, one server alone; with listed paths:
cycles, thin chords, detours, pairs without a path. Links too thin for some rings or for two of them, rings that need no
bandwidth. One or two resources, demands that are fractions, zero, or more than some or all servers hold, servers without a
resource. Budgets that bind, budgets of 0, late arrivals, identical jobs. All utilities: steep and flat sigmoids, a midpoint
of 0 and one beyond reach, caps that bind.
"""

from itertools import combinations
from typing import Any

import networkx as nx
from hypothesis import strategies as st

from dlsched.ring_embedding.instance import Instance

Data = dict[str, Any]
Pairs = list[tuple[str, str]]

_ODD = st.floats(0.25, 8, allow_subnormal=False).map(lambda value: float(f"{value:.4g}"))
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
    servers = [
        f"s{place}" for place in range(draw(st.sampled_from([max_servers, max_servers, *range(1, max_servers)])))
    ]
    others, pairs = draw(_forests(servers) if tree else _graphs(servers))
    resources = draw(st.sampled_from([["gpu"], ["gpu"], ["gpu", "memory"]]))
    single = draw(st.booleans())  # servers that hold little more than a worker, so that rings need several
    alike = draw(st.booleans())
    first = draw(_capacities(resources, single))
    capacities = {name: first if alike else draw(_capacities(resources, single)) for name in servers}
    unit = draw(st.sampled_from([1.0, 1.0, 1.25e8, 2.0**-10]))
    thick = draw(st.one_of(st.none(), _BANDWIDTHS))
    links = [(pair, thick if thick is not None and draw(st.booleans()) else draw(_BANDWIDTHS)) for pair in pairs]
    paths = None if tree else draw(_paths(servers, pairs))
    slots = draw(st.integers(1, max_slots))
    job = _jobs(resources, slots, max_workers, single, unit, concave)
    number = draw(st.integers(1, min(2, max_jobs)) if single else st.sampled_from([max_jobs, *range(1, max_jobs + 1)]))
    identical = draw(st.integers(0, 5)) == 0
    jobs = [draw(job)] * number if identical else [draw(job) for _ in range(number)]
    if concave is False:
        jobs = [jobs[0] | {"utility": draw(_sigmoids(jobs[0]["rate"], slots * max_workers))}, *jobs[1:]]
    return Instance(
        name="drawn",
        slots=slots,
        nodes=[{"id": name, "capacity": capacities[name]} for name in servers] + [{"id": name} for name in others],
        links=[{"ends": pair, "bandwidth_bytes_per_s": amount * unit} for pair, amount in links],
        paths=paths,
        jobs=[{"id": f"j{place}", **each} for place, each in enumerate(jobs)],
    )


@st.composite
def _forests(draw: st.DrawFn, servers: list[str]) -> tuple[list[str], Pairs]:
    """Switches, and pairs of nodes that are linked."""
    kind = draw(st.sampled_from(["any", "any", "racks", "rack", "any", "racks", "none"]))
    if kind == "none":
        return [], []
    if kind == "rack":
        return ["rack"], [(name, "rack") for name in servers]
    if kind == "racks":
        racks = ["rack0", "rack1"]
        return [*racks, "core"], [(name, draw(st.sampled_from(racks))) for name in servers] + [
            (rack, "core") for rack in racks
        ]
    others = [f"n{place}" for place in range(draw(st.integers(0, 2)))]
    nodes = draw(st.permutations([*servers, *others]))
    pairs = []
    for place in range(1, len(nodes)):
        if draw(st.integers(0, 7)) != 5:
            pairs.append((nodes[place], nodes[draw(st.integers(0, place - 1))]))
    return others, pairs


@st.composite
def _graphs(draw: st.DrawFn, servers: list[str]) -> tuple[list[str], Pairs]:
    """A forest and further links, or a cycle of the servers with chords."""
    if len(servers) > 2 and draw(st.booleans()):
        cycle = list(zip(servers, [*servers[1:], servers[0]], strict=True))
        chords = [pair for pair in combinations(servers, 2) if pair not in cycle and pair[::-1] not in cycle]
        return [], cycle + [pair for pair in chords if draw(st.booleans())]
    others, pairs = draw(_forests(servers))
    linked = {frozenset(pair) for pair in pairs}
    free = [pair for pair in combinations([*servers, *others], 2) if frozenset(pair) not in linked]
    more = draw(st.lists(st.sampled_from(free), max_size=3, unique=True)) if free else []
    return others, [*pairs, *more]


@st.composite
def _paths(draw: st.DrawFn, servers: list[str], pairs: Pairs) -> list[Data]:
    """A path for most pairs of servers that have one, often the shortest, in either direction."""
    network: Any = nx.Graph(pairs)
    network.add_nodes_from(servers)
    missing = draw(st.booleans())
    paths = []
    for pair in combinations(servers, 2):
        ends = draw(st.sampled_from([pair, pair[::-1]]))
        ways = sorted(nx.all_simple_paths(network, *ends), key=lambda nodes: (len(nodes), nodes))
        if ways and not (missing and draw(st.sampled_from([False, False, True]))):
            nodes = draw(st.one_of(st.just(ways[0]), st.sampled_from(ways)))
            paths.append({"ends": ends, "nodes": nodes})
    return paths


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
    kinds = ["sqrt", "log", "capped", "flat"] + (["sigmoid"] * 4 if concave is None else [])
    kind = draw(st.sampled_from(kinds))
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
