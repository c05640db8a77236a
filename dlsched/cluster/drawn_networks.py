"""Random networks of the shapes of ``topologies``, and networks as plain data of instance files."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from dlsched.cluster.topologies import Topology, fat_tree, leaf_spine, racks, ring_of_switches
from dlsched.core.figures import four_digits
from dlsched.core.ranges import Ends

Shape = Literal["racks", "fat-tree", "general"]
"""Racks of 2 to 5 servers; a fat tree, bundled; leaves and spines or a ring of switches, which are no trees."""

_GBIT = 1.25e8  # B/s


def drawn_topology(
    generator: np.random.Generator, shape: Shape, servers: int, server_gbit: Ends, upper_gbit: Ends
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


def _groups(generator: np.random.Generator, servers: int, allowed: Sequence[int]) -> list[int]:
    """Draw how many servers each rack or leaf has, of the sizes allowed; no single server if avoidable."""
    sizes: list[int] = []
    while (left := servers - sum(sizes)) > 0:
        able = [size for size in allowed if size <= left and left - size != 1]
        sizes.append(int(generator.choice(able)) if able else left)
    return sizes


def network_data(
    topology: Topology, capacities: Sequence[Mapping[str, float]], power_on_w: Sequence[float] | None = None
) -> dict[str, Any]:
    """Nodes, links and paths as an instance holds them; capacities and watts in the servers' order."""
    watts = [0.0] * len(capacities) if power_on_w is None else power_on_w
    held: dict[str, dict[str, object]] = {
        server: {"capacity": capacity} | ({"power_on_w": power} if power else {})
        for server, capacity, power in zip(topology.servers, capacities, watts, strict=True)
    }
    paths = topology.paths
    found: dict[str, object] = {
        "nodes": [{"id": node, **held.get(node, {})} for node in topology.nodes],
        "links": [{"ends": [first, second], "bandwidth_bytes_per_s": each} for first, second, each in topology.links],
    }
    return found | (
        {} if paths is None else {"paths": [{"ends": [path[0], path[-1]], "nodes": list(path)} for path in paths]}
    )


def gbit(bandwidth: Ends) -> Ends:
    """Ends in Gbit/s of a range in B/s."""
    least, most = bandwidth
    return least / _GBIT, most / _GBIT


def drawn_bandwidth(generator: np.random.Generator, gbit: Ends) -> float:
    """B/s from a range of Gbit/s."""
    return four_digits(generator.uniform(*gbit) * _GBIT)
