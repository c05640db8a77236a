"""Topologies: nodes and links counted by hand, bandwidths added up, and every route a shortest one of NetworkX."""

import math
from collections import Counter
from itertools import combinations, pairwise

import networkx
import pytest

from dlsched.cluster.topologies import fat_tree, general, leaf_spine, racks, ring_of_switches, torus

TREES = {
    "racks": racks([2, 3, 0], 1.0, [4.0, 6.0, 1.0]),
    "one rack": racks([1], 1.0, 1.0),
    "fat tree": fat_tree(4, 1.0),
    "part of a fat tree": fat_tree(6, 2.0, servers=20),
}
ROUTED = {
    "leaf-spine": leaf_spine([2, 2, 1], 3, 1.0, 5.0),
    "one spine": leaf_spine([2, 2], 1, 1.0, 5.0),
    "ring of switches": ring_of_switches([2, 0, 1, 2, 1], 1.0, 2.0),
    "torus": torus(3, 4, 1.0),
    "grid": torus(2, 3, 1.0, periodic=False),
    "one server": torus(1, 1, 1.0),
    "fat tree": fat_tree(4, 1.0, bundled=False),
    "part of a fat tree": fat_tree(4, 1.0, servers=5, bundled=False),
}
every_tree = pytest.mark.parametrize("topology", TREES.values(), ids=TREES)
every_routed = pytest.mark.parametrize("topology", ROUTED.values(), ids=ROUTED)


def graph_of(topology):
    """The links as a NetworkX graph."""
    graph = networkx.Graph()
    graph.add_nodes_from(topology.nodes)
    graph.add_weighted_edges_from(topology.links, weight="bandwidth_bytes_per_s")
    return graph


def bandwidth(topology):
    """By pair of ends."""
    return {(first, second): held for first, second, held in topology.links}


def levels(topology):
    """How many links join which kinds of nodes, and their summed bandwidth."""
    count, total = Counter(), Counter()
    for first, second, held in topology.links:
        kind = first.rstrip("0123456789"), second.rstrip("0123456789")
        count[kind] += 1
        total[kind] += held
    return {kind: (count[kind], total[kind]) for kind in count}


def test_racks_by_hand():
    """Servers are numbered through; each link has the bandwidth of its list."""
    topology = racks([2, 1], [1.0, 2.0, 3.0], 10.0)
    assert topology.nodes == ("s0", "s1", "s2", "rack0", "rack1", "core")
    assert topology.servers == ("s0", "s1", "s2")
    assert topology.links == (
        ("s0", "rack0", 1.0),
        ("s1", "rack0", 2.0),
        ("s2", "rack1", 3.0),
        ("rack0", "core", 10.0),
        ("rack1", "core", 10.0),
    )
    assert topology.paths is None


def test_fat_tree_of_four_ports_by_hand():
    """16 servers, 8 edge switches, 4 pods; every level as a whole has 16 times the bandwidth of a link."""
    topology = fat_tree(4, 2.0)
    assert len(topology.servers) == 16 and len(topology.nodes) == 16 + 8 + 4 + 1
    assert levels(topology) == {("s", "edge"): (16, 32.0), ("edge", "pod"): (8, 32.0), ("pod", "core"): (4, 32.0)}
    assert bandwidth(topology)["edge5", "pod2"] == 4.0 and bandwidth(topology)["pod2", "core"] == 8.0
    assert topology.paths is None


def test_fat_tree_with_every_switch_by_hand():
    """20 switches of four ports; a route crosses 2, 4 or 6 links; the bundles hold what its links hold together."""
    topology, bundled = fat_tree(4, 2.0, bundled=False), fat_tree(4, 2.0)
    assert len(topology.nodes) == 16 + 8 + 8 + 4 and len(topology.links) == 48
    degree = graph_of(topology).degree
    assert {degree[node] for node in topology.nodes if node not in topology.servers} == {4}
    hops = {(path[0], path[-1]): len(path) - 1 for path in topology.paths}
    assert (hops["s0", "s1"], hops["s0", "s2"], hops["s0", "s4"]) == (2, 4, 6)
    sums = [[total for _, total in levels(each).values()] for each in (topology, bundled)]
    assert sums[0] == sums[1]


def test_part_of_a_fat_tree_by_hand():
    """Five servers of sixteen need three edge switches in two pods."""
    assert fat_tree(4, 1.0, servers=5).nodes == (
        *("s0", "s1", "s2", "s3", "s4"),
        *("edge0", "edge1", "edge2", "pod0", "pod1", "core"),
    )


def test_leaf_spine_by_hand():
    """Three leaves and two spines: six links among them, and no tree; the spines take turns."""
    topology = leaf_spine([2, 1, 1], 2, 1.0, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    assert len(topology.nodes) == 4 + 3 + 2 and len(topology.links) == 4 + 6
    assert bandwidth(topology)["leaf1", "spine0"] == 3.0
    assert topology.paths == (
        ("s0", "leaf0", "s1"),
        ("s0", "leaf0", "spine0", "leaf1", "s2"),
        ("s0", "leaf0", "spine1", "leaf2", "s3"),
        ("s1", "leaf0", "spine1", "leaf1", "s2"),
        ("s1", "leaf0", "spine0", "leaf2", "s3"),
        ("s2", "leaf1", "spine1", "leaf2", "s3"),
    )


def test_ring_of_switches_by_hand():
    """Four switches, one server each: opposite servers have two ways round, number (i + j) mod 2 is taken."""
    topology = ring_of_switches([1, 1, 1, 1], 1.0, [1.0, 2.0, 3.0, 4.0])
    assert bandwidth(topology)["switch0", "switch3"] == 4.0 and len(topology.links) == 8
    routes = {(path[0], path[-1]): path[1:-1] for path in topology.paths}
    assert routes["s0", "s1"] == ("switch0", "switch1")
    assert routes["s0", "s3"] == ("switch0", "switch3")
    assert routes["s0", "s2"] == ("switch0", "switch1", "switch2")
    assert routes["s1", "s3"] == ("switch1", "switch0", "switch3")


def test_torus_and_grid_by_hand():
    """3 x 4 servers: 24 links around the edges, 17 without; routes pass through servers."""
    around, flat = torus(3, 4, 1.0), torus(3, 4, 1.0, periodic=False)
    assert len(around.links) == 24 and len(flat.links) == 3 * 3 + 2 * 4
    assert around.nodes == around.servers and len(around.servers) == 12
    assert ("s0", "s3") in around.paths and ("s0", "s1", "s2", "s3") in flat.paths
    assert torus(2, 2, 1.0).links == torus(2, 2, 1.0, periodic=False).links


@every_tree
def test_trees_are_trees(topology):
    """Connected, one link fewer than nodes, every server a leaf, no list of routes."""
    graph = graph_of(topology)
    assert networkx.is_tree(graph) and len(graph) == len(topology.nodes)
    assert all(graph.degree[server] == 1 for server in topology.servers)
    assert topology.paths is None


@every_routed
def test_every_route_is_a_shortest_path(topology):
    """One for each pair of servers, over links, with as few hops as NetworkX finds."""
    graph = graph_of(topology)
    assert [(path[0], path[-1]) for path in topology.paths] == list(combinations(topology.servers, 2))
    for path in topology.paths:
        assert all(graph.has_edge(*hop) for hop in pairwise(path))
        assert len(path) - 1 == networkx.shortest_path_length(graph, path[0], path[-1])


def test_any_graph():
    """Names by str, both ways found where they lead on, servers that are not connected without a route."""
    graph = networkx.Graph()
    graph.add_nodes_from(range(6))
    graph.add_edges_from([(0, 1), (1, 3), (0, 2), (2, 3)], bandwidth_bytes_per_s=7)
    graph.add_edge(4, 5, bandwidth_bytes_per_s=1.5)
    topology = general(graph, [0, 3, 4, 5])
    assert topology.servers == ("0", "3", "4", "5")
    assert topology.links == (("0", "1", 7.0), ("0", "2", 7.0), ("1", "3", 7.0), ("2", "3", 7.0), ("4", "5", 1.5))
    assert topology.paths == (("0", "2", "3"), ("4", "5"))
    assert general(graph, [3, 4, 0]).paths == (("3", "1", "0"),)


def test_the_same_graph_gives_the_same_routes():
    """Nothing hangs on the order of edges."""
    first = fat_tree(4, 1.0, bundled=False)
    again = networkx.Graph()
    again.add_nodes_from(first.nodes)
    again.add_weighted_edges_from(reversed(first.links), weight="bandwidth_bytes_per_s")
    assert general(again, first.servers).paths == first.paths == fat_tree(4, 1.0, bundled=False).paths


def loop():
    graph = networkx.Graph()
    graph.add_edge("a", "a", bandwidth_bytes_per_s=1.0)
    return graph


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: racks([], 1.0, 1.0), "sizes: found \\[\\], allowed: at least one, all >= 0"),
        (lambda: racks([2, -1], 1.0, 1.0), "sizes: found \\[2, -1\\]"),
        (lambda: racks([2], [1.0], 1.0), "bandwidths: found 1, allowed: one, or one for each of 2 links"),
        (lambda: racks([2], 0.0, 1.0), "bandwidth: found 0.0, allowed: a number > 0"),
        (lambda: racks([2], 1.0, math.inf), "bandwidth: found inf"),
        (lambda: fat_tree(3, 1.0), "k: found 3, allowed: an even integer >= 2"),
        (lambda: fat_tree(4, 1.0, servers=17), "servers: found 17, allowed: an integer from 1 to 16"),
        (lambda: leaf_spine([1], 0, 1.0, 1.0), "spines: found 0, allowed: an integer >= 1"),
        (lambda: ring_of_switches([1, 1], 1.0, 1.0), "sizes: found 2 switches, allowed: at least 3"),
        (lambda: torus(0, 2, 1.0), "found 0 rows and 2 columns, allowed: integers >= 1"),
        (lambda: general(networkx.DiGraph(), []), "graph: found a directed graph or parallel edges"),
        (lambda: general(networkx.MultiGraph(), []), "graph: found a directed graph or parallel edges"),
        (lambda: general(loop(), []), "graph: found an edge from 'a' to itself"),
        (lambda: general(networkx.path_graph(2), [0]), "bandwidth: found 0.0, allowed: a number > 0"),
        (lambda: general(networkx.Graph(), ["a"]), "servers: found 'a', allowed: nodes of the graph"),
        (
            lambda: general(networkx.empty_graph([1]), [1, 1]),
            "servers: found 1, allowed: nodes of the graph, each once",
        ),
        (lambda: general(networkx.empty_graph([1, "1"]), [1]), "graph: found two nodes of the same name"),
    ],
)
def test_what_is_no_topology_is_refused(make, message):
    """ValueError says what was found and what is allowed."""
    with pytest.raises(ValueError, match=message):
        make()
