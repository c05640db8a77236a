"""Hypothesis strategies of small networks: forests in one part and in several, racks, cycles with chords, listed paths."""

from itertools import combinations

import networkx as nx
from hypothesis import strategies as st

from dlsched.testing.drawing import Data

Pairs = list[tuple[str, str]]


@st.composite
def forests(draw: st.DrawFn, servers: list[str]) -> tuple[list[str], Pairs]:
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
    others = [f"n{index}" for index in range(draw(st.integers(0, 2)))]
    nodes = draw(st.permutations([*servers, *others]))
    pairs = []
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
