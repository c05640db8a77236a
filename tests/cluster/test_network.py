"""A network of servers and switches as an instance file holds it, and depth-first orders of forests."""

import networkx as nx
import numpy as np
import pytest

from dlsched.cluster.network import Link, Node, Router, forest


def drawn(seed):
    """Names and links of a forest, in any order and direction."""
    rng = np.random.default_rng(seed)
    names = [f"n{number}" for number in range(int(rng.integers(1, 12)))]
    links = [(names[rng.integers(above)], names[above]) for above in range(1, len(names)) if rng.random() < 0.8]
    return names, [ends[:: rng.choice([-1, 1])] for ends in rng.permutation(links).tolist()]


@pytest.mark.parametrize("seed", range(40))
def test_paths(seed):
    """By the names of nodes, of every pair; a directed link is one and the one back its neighbour."""
    names, links = drawn(seed)
    walked = forest(names, links)
    order = [names[node] for node in walked.nodes]
    router = Router(
        [Node(id=name) for name in names], [Link(ends=tuple(ends), bandwidth_bytes_per_s=1.0) for ends in links], None
    )
    assert sorted(order) == sorted(names)
    assert all(above < index for index, above in enumerate(walked.above))
    for here, first in enumerate(order):
        for there, last in enumerate(order):
            path, route = walked.path(here, there), router(first, last)
            assert (path is None) == (route is None)
            if path is not None:
                ends = [tuple(links[link // 2][:: -1 if link % 2 else 1]) for link in path]
                assert tuple(route) == (first, *(after for _, after in ends))


@pytest.mark.parametrize("seed", range(20))
def test_beneath(seed):
    """What a node reaches over usable links without the one above it."""
    names, links = drawn(seed)
    walked = forest(names, links)
    usable = (np.random.default_rng(seed).random(len(links)) < 0.7).tolist()
    for index, upward in enumerate(walked.upward):
        graph = nx.Graph([ends for link, ends in enumerate(links) if usable[link] and link != upward // 2])
        graph.add_nodes_from(names)
        reached = {names[walked.nodes[each]] for each in walked.beneath(index, usable)}
        assert reached == nx.node_connected_component(graph, names[walked.nodes[index]])
