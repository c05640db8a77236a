"""Networks of small servers in one or two racks: their form in instances, a move, and simplifications."""

import copy
from collections.abc import Sequence
from itertools import chain

import numpy as np

from dlsched.ring_embedding.instance import RANGES
from dlsched.worst.space import Data

LINK, _ = RANGES["links[].bandwidth_bytes_per_s"].searched
"""B/s of all links."""

Racks = list[list[float]]
"""GPUs of the servers of each rack; the servers of a rack share a switch."""


def network_of(racks: Racks) -> Data:
    """Return nodes and links of servers in racks; a single server needs no switch, a single rack no core."""
    racks = [rack for rack in racks if rack]
    names = ["switch"] if len(racks) == 1 else [f"rack{index}" for index in range(len(racks))]
    placed = [(gpus, name) for rack, name in zip(racks, names, strict=True) for gpus in rack]
    nodes: list[Data] = [{"id": f"s{index}", "capacity": {"gpu": gpus}} for index, (gpus, _) in enumerate(placed)]
    ends = [[f"s{index}", name] for index, (_, name) in enumerate(placed)] + ([names] if len(names) == 2 else [])
    if len(nodes) == 1:
        return {"nodes": nodes, "links": []}
    links = [{"ends": each, "bandwidth_bytes_per_s": LINK} for each in ends]
    return {"nodes": [*nodes, *({"id": name} for name in names)], "links": links}


def racks_of(data: Data) -> Racks:
    """Return the racks from which ``network_of`` made a network."""
    above = {link["ends"][0]: link["ends"][1] for link in data["links"]}
    racks: dict[str, list[float]] = {}
    for node in data["nodes"]:
        if "capacity" in node:
            racks.setdefault(above.get(node["id"], ""), []).append(node["capacity"]["gpu"])
    return list(racks.values())


def change_network(data: Data, rng: np.random.Generator, gpus: int, servers: int) -> Data | None:
    """Add or take a server or a GPU, or place a server in the other rack."""
    racks = [list(rack) for rack in racks_of(data)] + [[]]
    rack = racks[rng.integers(2)]
    match rng.integers(4):
        case 0:
            rack.append(1.0)
        case 1 if rack:
            rack.pop(rng.integers(len(rack)))
        case 2 if rack:
            server = rng.integers(len(rack))
            rack[server] = 3.0 - rack[server]
        case 3 if rack:
            (racks[1] if rack is racks[0] else racks[0]).append(rack.pop(rng.integers(len(rack))))
    sizes = list(chain.from_iterable(racks))
    if racks[:2] == racks_of(data) or not 1 <= len(sizes) <= servers or sum(sizes) > gpus:
        return None
    return copy.deepcopy(data) | network_of(racks)


def smaller_networks(data: Data) -> Sequence[Data]:
    """Return networks with all servers at one switch, with a server less, or with a GPU less."""
    racks = racks_of(data)
    found = [[list(chain.from_iterable(racks))]] if len(racks) > 1 else []
    places = [(r, s) for r, rack in enumerate(racks) for s in range(len(rack))]
    for r, s in places if len(places) > 1 else []:
        found.append([rack[:s] + rack[s + 1 :] if index == r else rack for index, rack in enumerate(racks)])
    for r, s in places:
        if racks[r][s] > 1:
            found.append([[*rack[:s], 1.0, *rack[s + 1 :]] if index == r else rack for index, rack in enumerate(racks)])
    return [copy.deepcopy(data) | network_of(smaller) for smaller in found]
