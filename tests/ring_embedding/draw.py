"""Instances of one slot from a seed, with servers so small and links so thin that rings compete for them."""

import random
from itertools import combinations

import networkx as nx

from dlsched.ring_embedding.instance import Instance


def one_slot(seed, *, forest):
    """Three to five servers, three or four jobs of up to four workers; a forest, or a graph with a path for most pairs."""
    rng = random.Random(seed)
    names = [f"s{place}" for place in range(rng.choice([4, 4, 5] if forest else [3, 4, 4]))]
    servers = [{"id": name, "capacity": {"gpu": rng.choice([1, 1, 1, 2])}} for name in names]
    pairs, others = _forest(rng, names) if forest else _graph(rng, names)
    links = [{"ends": pair, "bandwidth_bytes_per_s": rng.choice([1.0, 1.0, 1.5, 2.5])} for pair in pairs]
    return Instance(
        name=f"seed-{seed}",
        slots=1,
        nodes=servers + [{"id": name} for name in others],
        links=links,
        paths=None if forest else _paths(rng, names, pairs),
        jobs=[_job(rng, place) for place in range(rng.choice([3, 3, 4]))],
    )


def _forest(rng, names):
    kind = rng.choice(["racks", "racks", "any", "parts"])
    if kind == "racks":
        racks = ["rack0", "rack1"]
        return [(name, rng.choice(racks)) for name in names] + [(rack, "core") for rack in racks], [*racks, "core"]
    nodes = [*names, "n0"]
    rng.shuffle(nodes)
    pairs = [(nodes[place], rng.choice(nodes[:place])) for place in range(1, len(nodes))]
    if kind == "parts":
        del pairs[rng.randrange(len(pairs))]
    return pairs, ["n0"]


def _graph(rng, names):
    if rng.random() < 0.5:
        cycle = list(zip(names, [*names[1:], names[0]], strict=True))
        chords = [pair for pair in combinations(names, 2) if pair not in cycle and pair[::-1] not in cycle]
        return cycle + [pair for pair in chords if rng.random() < 0.5], []
    nodes = [*names, "n0", "n1"]
    pairs = list(combinations(nodes, 2))
    return rng.sample(pairs, rng.randint(len(nodes), len(nodes) + 2)), ["n0", "n1"]


def _paths(rng, names, pairs):
    network = nx.Graph(pairs)
    network.add_nodes_from(names)
    paths = []
    for pair in combinations(names, 2):
        ways = sorted(nx.all_simple_paths(network, *pair), key=lambda nodes: (len(nodes), nodes))
        if ways and rng.random() < 0.9:
            paths.append({"ends": pair, "nodes": ways[0] if rng.random() < 0.7 else rng.choice(ways)})
    return paths


def _job(rng, place):
    workers = rng.choice([2, 3, 4])
    height = rng.choice([1.0, 2.0, 5.0, round(rng.uniform(1, 9), 2)])
    utility = rng.choice(
        [
            {"kind": "sqrt", "scale": height},
            {"kind": "log", "scale": height},
            {"kind": "capped", "slope": height, "cap": 2.5 * height},
            {
                "kind": "sigmoid",
                "height": height,
                "steepness": rng.choice([1.0, 4.0]),
                "midpoint": rng.choice([0, 1, 2]),
            },
        ]
    )
    return {
        "id": f"j{place}",
        "max_workers": workers,
        "demand": {"gpu": rng.choice([1, 1, 0.5, 0.5, 0.7])},
        "bandwidth_bytes_per_s": rng.choice([0.0, 1.0, 1.0, 1.5, 0.8, round(rng.uniform(0.3, 2), 3)]),
        "rate": 1.0,
        "utility": utility,
    }
