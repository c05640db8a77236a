"""Servers for the gangs of a queue, their free GPUs over time, and recorded placements of gangs."""

import heapq
from collections.abc import Mapping, Sequence
from itertools import islice

import numpy as np

from dlsched.srpt_mapping.instance import Server, Stage
from dlsched.srpt_mapping.solution import Share
from dlsched.traces.queue.queue import Queue
from dlsched.traces.queue.selection import Chosen
from dlsched.traces.sentences import Sentence, figure

Rooms = list[tuple[int, int]]
"""GPUs by server, by its index."""


def servers_of(queue: Queue, chosen: Chosen, gpus_of_node: int) -> tuple[list[Server], str]:
    """Return the trace's nodes if they have that many GPUs, else servers of equal size, the last smaller.

    If the source lists no nodes, servers get the names of nodes that jobs used, first those of jobs running
    at the start.
    """
    listed = [node for node in queue.nodes if node.gpus]
    if chosen.gpus == sum(node.gpus for node in listed):
        return [Server(id=node.id, gpus=node.gpus) for node in listed], "Servers are the nodes of the trace."
    whole, rest = divmod(chosen.gpus, gpus_of_node)
    sizes = [gpus_of_node] * whole + ([rest] if rest else [])
    jobs = [] if listed else sorted(chosen.jobs, key=lambda job: job.id not in chosen.began)
    recorded = dict.fromkeys(name for job in jobs for name in job.nodes if name)
    unnamed = (f"s{index}" for index in range(len(sizes) + len(recorded)))
    names = islice((*recorded, *(name for name in unnamed if name not in recorded)), len(sizes))
    last = (", the last of ", figure(rest, "")) if rest else ()
    named = min(len(sizes), len(recorded))
    on = " of them bear names of the ", figure(len(recorded)), " nodes that jobs were on"
    bear = ("; ", figure(named), *on) if named else ()
    return [Server(id=name, gpus=size) for name, size in zip(names, sizes, strict=True)], Sentence(
        "Servers of ", figure(gpus_of_node, ""), " GPUs", *last, *bear, "."
    )


def shares_of(stages: Sequence[Stage], rooms: Rooms, names: Sequence[str]) -> tuple[Share, ...]:
    """Fill the rooms with one stage after the other."""
    shares = []
    left = list(reversed(rooms))
    for number, stage in enumerate(stages):
        wanted = stage.replicas
        while wanted:
            server, room = left.pop()
            used = min(room, wanted)
            shares.append(Share(number, names[server], used))
            wanted -= used
            if room > used:
                left.append((server, room - used))
    return tuple(shares)


def gpus_by_server(placement: Sequence[Share], index: Mapping[str, int]) -> dict[int, int]:
    """GPUs of a placement by the index of the server."""
    held: dict[int, int] = {}
    for share in placement:
        held[index[share.server]] = held.get(index[share.server], 0) + share.replicas
    return held


class Free:
    """Free GPUs of servers over time."""

    def __init__(self, servers: Sequence[Server]) -> None:
        self.names = [server.id for server in servers]
        self.index = {name: index for index, name in enumerate(self.names)}
        self.free = np.array([server.gpus for server in servers])
        self.total = int(self.free.sum())
        self.ends: list[tuple[float, Rooms]] = []

    def until(self, now_s: float) -> None:
        """Release the GPUs of jobs that ended by ``now_s``."""
        while self.ends and self.ends[0][0] <= now_s:
            for server, count in heapq.heappop(self.ends)[1]:
                self.free[server] += count
                self.total += count

    def take(self, rooms: Rooms, end_s: float) -> None:
        """Take GPUs by server up to that time."""
        for server, count in rooms:
            self.free[server] -= count
            self.total -= count
        heapq.heappush(self.ends, (round(end_s, 6), rooms))

    def recorded(self, nodes: Sequence[str], gpus: int) -> Rooms | None:
        """GPUs by server, spread evenly over recorded nodes; None: these are no servers, or are too full."""
        servers = [self.index[node] for node in nodes if node in self.index]
        if not servers or len(set(servers)) < len(nodes) or len(servers) > gpus:
            return None
        each, more = divmod(gpus, len(servers))
        rooms = [(server, each + (place < more)) for place, server in enumerate(servers)]
        return rooms if all(count <= self.free[server] for server, count in rooms) else None

    def first_fit(self, gpus: int) -> Rooms:
        """GPUs by server: the first server that holds the job, else free GPUs from the first server on."""
        fitting = self.free >= gpus
        server = int(fitting.argmax())
        if fitting[server]:
            return [(server, gpus)]
        servers = np.flatnonzero(self.free)
        together = np.cumsum(self.free[servers])
        last = int(np.searchsorted(together, gpus))
        rooms = [(int(server), int(self.free[server])) for server in servers[:last]]
        return [*rooms, (int(servers[last]), gpus - sum(room for _, room in rooms))]
