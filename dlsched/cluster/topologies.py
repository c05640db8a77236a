"""Networks of servers and switches as plain data: trees, graphs with a route for every pair of servers, and random ones.

Links are full duplex: a bandwidth, in B/s, holds in each direction. Servers are ``s0``, ``s1``, ...
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from dlsched.core.display import Brief
from dlsched.core.elementary import four_digits
from dlsched.core.ranges import Ends

if TYPE_CHECKING:
    import networkx


Bandwidths = float | Sequence[float]
"""B/s: one number for all links of a level, or one for each link."""
Link = tuple[str, str, float]


@dataclass(frozen=True, slots=True, repr=False)
class Topology(Brief):
    """A network; no two links join the same nodes.

    ``paths``: the nodes of one path for every connected pair of servers; None for a tree, which has only one.
    """

    nodes: tuple[str, ...]
    servers: tuple[str, ...]
    links: tuple[Link, ...]
    paths: tuple[tuple[str, ...], ...] | None = None


def racks(sizes: Sequence[int], server_bandwidth: Bandwidths, rack_bandwidth: Bandwidths) -> Topology:
    """Racks of ``sizes`` servers (>= 0) below one core; ``rack_bandwidth`` is that of links from racks to the core.

    ValueError: no rack, a negative size, a number of bandwidths other than 1 or that of the links, a bandwidth <= 0.

    >>> racks([2, 1], 1.25e9, [5e9, 2.5e9]).links[2:]
    (('s2', 'rack1', 1250000000.0), ('rack0', 'core', 5000000000.0), ('rack1', 'core', 2500000000.0))
    """
    servers, below = _below(sizes, "rack")
    tops = [f"rack{index}" for index in range(len(sizes))]
    links = _links(below, server_bandwidth) + _links([(top, "core") for top in tops], rack_bandwidth)
    return Topology((*servers, *tops, "core"), servers, tuple(links))


def fat_tree(k: int, bandwidth: float, *, servers: int | None = None, bundled: bool = True) -> Topology:
    """K pods of k/2 edge and k/2 aggregation switches, (k/2)^2 core switches, and k/2 servers at each edge switch.

    Bundled, it is a tree: one link of their summed bandwidth replaces the k/2 links from an edge switch up, and another the
    (k/2)^2 links from a pod to the core. What fits the links fits the bundles; the reverse holds if traffic can be split over
    links. Otherwise every switch and link stands by itself, with shortest paths. ``servers``: the first so many alone, with the
    switches above them; None: all k^3/4. ValueError: ``k`` is odd or < 2, or another argument is out of range.

    >>> fat_tree(4, 1e9).links[0], fat_tree(4, 1e9).links[16], fat_tree(4, 1e9).links[-1]
    (('s0', 'edge0', 1000000000.0), ('edge0', 'pod0', 2000000000.0), ('pod3', 'core', 4000000000.0))
    """
    if k < 2 or k % 2:
        raise ValueError(f"k: found {k}, allowed: an even integer >= 2")
    half = k // 2
    count = 2 * half**3 if servers is None else servers
    if not 1 <= count <= 2 * half**3:
        raise ValueError(f"servers: found {count}, allowed: an integer from 1 to {2 * half**3}")
    names, edges, pods = tuple(f"s{index}" for index in range(count)), -(-count // half), -(-count // half**2)
    below = [(name, f"edge{index // half}") for index, name in enumerate(names)]
    if bundled:
        levels = [
            (below, bandwidth),
            ([(f"edge{edge}", f"pod{edge // half}") for edge in range(edges)], half * bandwidth),
            ([(f"pod{pod}", "core") for pod in range(pods)], half**2 * bandwidth),
        ]
    else:
        middle = [
            (f"edge{edge}", f"aggregation{edge // half * half + index}")
            for edge in range(edges)
            for index in range(half)
        ]
        upper = [
            (f"aggregation{index}", f"core{index % half * half + core}")
            for index in range(pods * half)
            for core in range(half)
        ]
        levels = [(below, bandwidth), (middle, bandwidth), (upper, bandwidth)]
    links = [link for pairs, each in levels for link in _links(pairs, each)]
    nodes = tuple(dict.fromkeys([*names, *(end for pairs, _ in levels for _, end in pairs)]))
    return Topology(nodes, names, tuple(links)) if bundled else _routed(nodes, names, links)


def leaf_spine(
    sizes: Sequence[int], spines: int, server_bandwidth: Bandwidths, spine_bandwidth: Bandwidths
) -> Topology:
    """Leaf switches with ``sizes`` servers, each linked to every spine; no tree when there are several of both.

    Several ``spine_bandwidth`` are ordered by leaf, then by spine. ValueError: no spine, or as ``racks``.
    """
    if spines < 1:
        raise ValueError(f"spines: found {spines}, allowed: an integer >= 1")
    servers, below = _below(sizes, "leaf")
    leaves, tops = [f"leaf{index}" for index in range(len(sizes))], [f"spine{index}" for index in range(spines)]
    upper = _links([(leaf, spine) for leaf in leaves for spine in tops], spine_bandwidth)
    return _routed((*servers, *leaves, *tops), servers, _links(below, server_bandwidth) + upper)


def ring_of_switches(sizes: Sequence[int], server_bandwidth: Bandwidths, ring_bandwidth: Bandwidths) -> Topology:
    """Three or more switches with ``sizes`` servers, each linked to the next and the last to the first.

    ``ring_bandwidth`` is that of the link from each switch to the next. ValueError: fewer than three, or as ``racks``.
    """
    if len(sizes) < 3:
        raise ValueError(f"sizes: found {len(sizes)} switches, allowed: at least 3")
    servers, below = _below(sizes, "switch")
    switches = [f"switch{index}" for index in range(len(sizes))]
    around = _links(list(zip(switches, [*switches[1:], switches[0]], strict=True)), ring_bandwidth)
    return _routed((*servers, *switches), servers, _links(below, server_bandwidth) + around)


def torus(rows: int, columns: int, bandwidth: float, *, periodic: bool = True) -> Topology:
    """Servers row by row, each linked to its neighbours; routes pass through servers.

    Periodic: the last of a row or column of three or more is linked to the first. ValueError: a size < 1, a bandwidth
    <= 0.
    """
    if rows < 1 or columns < 1:
        raise ValueError(f"found {rows} rows and {columns} columns, allowed: integers >= 1")
    import networkx

    grid = networkx.grid_2d_graph(rows, columns, periodic=periodic)
    names = {cell: f"s{cell[0] * columns + cell[1]}" for cell in sorted(grid)}
    pairs = sorted(tuple(sorted(pair)) for pair in grid.edges)
    links = _links([(names[first], names[second]) for first, second in pairs], bandwidth)
    servers = tuple(names.values())
    return _routed(servers, servers, links)


def general(graph: "networkx.Graph", servers: Sequence[object]) -> Topology:
    """Return a topology with a fixed route of fewest hops for each connected pair of servers of any undirected graph.

    Edges have the attribute ``bandwidth_bytes_per_s``, B/s; ``str`` names the nodes. If several neighbours lead on,
    they take turns: the pair of servers i and j takes neighbour (i + j) modulo their number, in the order of the
    graph's nodes. So pairs spread over spines as they would by hashing. ValueError: directed, parallel or looping
    edges, an edge without a bandwidth > 0, two nodes of one name, or a server that is no node or is named twice.
    """
    if graph.is_directed() or graph.is_multigraph():
        raise ValueError("graph: found a directed graph or parallel edges, allowed: networkx.Graph")
    order = {node: index for index, node in enumerate(graph)}
    names = {node: str(node) for node in graph}
    if len(set(names.values())) < len(names):
        raise ValueError("graph: found two nodes of the same name, allowed: names that differ")
    for server in servers:
        if server not in order or list(servers).count(server) > 1:
            raise ValueError(f"servers: found {server!r}, allowed: nodes of the graph, each once")
    links = []
    for first, second, bandwidth in graph.edges(data="bandwidth_bytes_per_s"):
        if first == second:
            raise ValueError(f"graph: found an edge from {first!r} to itself, allowed: two ends")
        links += _links([(names[first], names[second])], 0.0 if bandwidth is None else bandwidth)
    paths = []
    hops = [_hops(graph, server) for server in servers]
    # Walk from each server to every later one along edges that lower the distance in hops.
    for i, j in combinations(range(len(servers)), 2):
        if servers[i] not in hops[j]:
            continue
        path = [servers[i]]
        while path[-1] != servers[j]:
            ahead = [node for node in graph[path[-1]] if hops[j][node] < hops[j][path[-1]]]
            ahead.sort(key=order.__getitem__)
            path.append(ahead[(i + j) % len(ahead)])
        paths.append(tuple(names[node] for node in path))
    return Topology(tuple(names.values()), tuple(names[server] for server in servers), tuple(links), tuple(paths))


def _hops(graph: "networkx.Graph", server: object) -> dict[object, int]:
    import networkx

    return dict(networkx.single_source_shortest_path_length(graph, server))


def _routed(nodes: Sequence[str], servers: Sequence[str], links: Sequence[Link]) -> Topology:
    import networkx

    graph = networkx.Graph()
    graph.add_nodes_from(nodes)
    graph.add_weighted_edges_from(links, weight="bandwidth_bytes_per_s")
    return general(graph, servers)


def _below(sizes: Sequence[int], switch: str) -> tuple[tuple[str, ...], list[tuple[str, str]]]:
    """Number the servers, and pair each with the switch above it."""
    if not sizes or min(sizes) < 0:
        raise ValueError(f"sizes: found {list(sizes)}, allowed: at least one, all >= 0")
    above = [f"{switch}{index}" for index, size in enumerate(sizes) for _ in range(size)]
    servers = tuple(f"s{index}" for index in range(len(above)))
    return servers, list(zip(servers, above, strict=True))


def _links(pairs: Sequence[tuple[str, str]], bandwidths: Bandwidths) -> list[Link]:
    each = list(bandwidths) if isinstance(bandwidths, Sequence) else [bandwidths] * len(pairs)
    if len(each) != len(pairs):
        raise ValueError(f"bandwidths: found {len(each)}, allowed: one, or one for each of {len(pairs)} links")
    for bandwidth in each:
        if not 0 < bandwidth < float("inf"):
            raise ValueError(f"bandwidth: found {bandwidth}, allowed: a number > 0")
    return [(first, second, float(bandwidth)) for (first, second), bandwidth in zip(pairs, each, strict=True)]


Shape = Literal["racks", "fat-tree", "general"]
"""Racks of 2 to 5 servers; a fat tree, bundled; leaves and spines or a ring of switches, which are no trees."""

_GBIT = 1.25e8  # B/s


def drawn_topology(
    generator: "np.random.Generator", shape: Shape, servers: int, server_gbit: Ends, upper_gbit: Ends
) -> Topology:
    """Draw a network; ``server_gbit`` and ``upper_gbit`` are ranges of bandwidth of servers' links and of those above them."""
    if shape == "fat-tree":
        # The smallest k-ary fat tree that holds all servers: k^3 / 4 of them, k even.
        ports = next(k for k in range(2, 2 * servers + 2, 2) if k**3 // 4 >= servers)
        return fat_tree(ports, drawn_bandwidth(generator, server_gbit), servers=servers)
    near = [drawn_bandwidth(generator, server_gbit) for _ in range(servers)]
    if shape == "racks":
        sizes = _groups(generator, servers, (2, 3, 4, 5))
        return racks(sizes, near, [drawn_bandwidth(generator, upper_gbit) for _ in sizes])
    # ``general`` is a leaf-spine network or a ring of switches, with even chances.
    if generator.random() < 0.5:
        sizes, spines = _groups(generator, servers, (2, 3)), int(generator.integers(2, 4))
        upper = [drawn_bandwidth(generator, upper_gbit) for _ in range(spines * len(sizes))]
        return leaf_spine(sizes, spines, near, upper)
    switches = max(3, servers // 2)
    sizes = [servers // switches + (switch < servers % switches) for switch in range(switches)]
    return ring_of_switches(sizes, near, [drawn_bandwidth(generator, upper_gbit) for _ in sizes])


def _groups(generator: "np.random.Generator", servers: int, allowed: Sequence[int]) -> list[int]:
    """Draw how many servers each rack or leaf has, of the sizes allowed; no single server if avoidable."""
    sizes: list[int] = []
    while (rest := servers - sum(sizes)) > 0:
        able = [size for size in allowed if size <= rest and rest - size != 1]
        sizes.append(int(generator.choice(able)) if able else rest)
    return sizes


def network_data(
    topology: Topology, capacities: Sequence[Mapping[str, float]], power_on_w: Sequence[float] | None = None
) -> dict[str, Any]:
    """Nodes, links and paths as an instance holds them; capacities and watts in the servers' order."""
    watts = [0.0] * len(capacities) if power_on_w is None else power_on_w
    fields: dict[str, dict[str, object]] = {
        server: {"capacity": capacity} | ({"power_on_w": power} if power else {})
        for server, capacity, power in zip(topology.servers, capacities, watts, strict=True)
    }
    paths = topology.paths
    found: dict[str, object] = {
        "nodes": [{"id": node, **fields.get(node, {})} for node in topology.nodes],
        "links": [{"ends": [first, second], "bandwidth_bytes_per_s": each} for first, second, each in topology.links],
    }
    return found | (
        {} if paths is None else {"paths": [{"ends": [path[0], path[-1]], "nodes": list(path)} for path in paths]}
    )


def gbit(bandwidth: Ends) -> Ends:
    """Ends in Gbit/s of a range in B/s."""
    least, most = bandwidth
    return least / _GBIT, most / _GBIT


def drawn_bandwidth(generator: "np.random.Generator", gbit: Ends) -> float:
    """B/s from a range of Gbit/s."""
    return four_digits(generator.uniform(*gbit) * _GBIT)
