"""Small networks drawn from a seed: forests, graphs, and listed paths in them."""

from itertools import combinations, pairwise

import networkx as nx


def any_forest(rng, servers):
    """Racks, a line, a star, or any tree, whole or in two parts: what is no server, and the pairs linked."""
    kind = rng.choice(["racks", "line", "star", "any", "parts"])
    if kind == "racks":
        return ["r0", "r1", "core"], [(name, rng.choice(["r0", "r1"])) for name in servers] + [
            ("r0", "core"),
            ("core", "r1"),
        ]
    if kind == "line":
        return [], list(pairwise(servers))
    if kind == "star":
        return ["hub"], [("hub", name) for name in servers]
    nodes = [*servers, "n0"]
    rng.shuffle(nodes)
    pairs = [(nodes[index], rng.choice(nodes[:index])) for index in range(1, len(nodes))]
    if kind == "parts":
        del pairs[rng.randrange(len(pairs))]
    return ["n0"], pairs


def any_graph(rng, servers):
    """A cycle of the servers with chords, or any links with a node that is no server."""
    if rng.random() < 0.6:
        cycle = [tuple(sorted(pair)) for pair in zip(servers, [*servers[1:], servers[0]], strict=True)]
        return [], sorted({*cycle, *(pair for pair in combinations(servers, 2) if rng.random() < 0.4)})
    nodes = [*servers, "n0"]
    pairs = list(combinations(nodes, 2))
    return ["n0"], rng.sample(pairs, min(len(pairs), len(nodes) + 1))


def any_paths(rng, servers, pairs):
    """A path for most pairs of servers that have one, mostly the shortest, in either direction."""
    network = nx.Graph(pairs)
    network.add_nodes_from(servers)
    paths = []
    for pair in combinations(servers, 2):
        ends = pair if rng.random() < 0.5 else pair[::-1]
        ways = sorted(nx.all_simple_paths(network, *ends), key=lambda nodes: (len(nodes), nodes))
        if ways and rng.random() < 0.9:
            paths.append({"ends": ends, "nodes": ways[0] if rng.random() < 0.7 else rng.choice(ways)})
    return paths
