"""The recorded schedule of a queue as a solution of its instance, and the servers on which gangs were placed.

Start times are in whole microseconds from the start of the instance, a job lasts as long as the instance says, and jobs
outside the instance hold nothing. The solution has passed the family's checker.
"""

import heapq
from collections import Counter
from collections.abc import Sequence
from itertools import islice

import numpy as np

from dlsched.core.gap import FEASIBLE
from dlsched.core.messages import printable
from dlsched.core.result import Violation
from dlsched.elastic_stream import checker as streams
from dlsched.elastic_stream.instance import Instance as StreamInstance
from dlsched.elastic_stream.solution import Stream
from dlsched.srpt_mapping import checker as gangs
from dlsched.srpt_mapping.instance import Instance as GangInstance
from dlsched.srpt_mapping.instance import Server, Stage
from dlsched.srpt_mapping.solution import Schedule, Share
from dlsched.traces.gpu_counts import equal_sizes
from dlsched.traces.queue import Example, Piece, Queue, Sentence, figure
from dlsched.traces.selection import Chosen, lasted_s

Rooms = list[tuple[int, int]]
"""GPUs by server, by its index."""


def servers_of(queue: Queue, chosen: Chosen, gpus_of_node: int) -> tuple[list[Server], str]:
    """Return the trace's nodes if they have that many GPUs, else servers of equal size, named as nodes that jobs used."""
    listed = [node for node in queue.nodes if node.gpus]
    if chosen.gpus == sum(node.gpus for node in listed):
        return [Server(id=node.id, gpus=node.gpus) for node in listed], "Servers are the nodes of the trace."
    # No list of nodes of this size: equal servers, the last one with the rest.
    sizes = equal_sizes(chosen.gpus, gpus_of_node)
    # Names of nodes that jobs were on, those of jobs that run at the start first, so that these find their servers.
    jobs = [] if listed else sorted(chosen.jobs, key=lambda job: job.id not in chosen.began)
    recorded = dict.fromkeys(name for job in jobs for name in job.nodes if name)
    unnamed = (f"s{index}" for index in range(len(sizes) + len(recorded)))
    names = islice((*recorded, *(name for name in unnamed if name not in recorded)), len(sizes))
    last = (", the last of ", figure(sizes[-1], "")) if sizes[-1] < gpus_of_node else ()
    named = min(len(sizes), len(recorded))
    on = " of them bear names of the ", figure(len(recorded)), " nodes that jobs were on"
    bear = ("; ", figure(named), *on) if named else ()
    return [Server(id=name, gpus=size) for name, size in zip(names, sizes, strict=True)], Sentence(
        "Servers of ", figure(gpus_of_node, ""), " GPUs", *last, *bear, "."
    )


def shares_of(stages: Sequence[Stage], rooms: Rooms, names: Sequence[str]) -> tuple[Share, ...]:
    """Fill the rooms with one stage after the other."""
    shares = []
    rooms_left = list(reversed(rooms))
    for number, stage in enumerate(stages):
        wanted = stage.replicas
        while wanted:
            server, room = rooms_left.pop()
            used = min(room, wanted)
            shares.append(Share(number, names[server], used))
            wanted -= used
            if room > used:
                rooms_left.append((server, room - used))
    return tuple(shares)


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

    def why_not(self, nodes: Sequence[str]) -> str:
        """Say why a job is not on the nodes of its record."""
        if not nodes:
            return "the record names no nodes"
        if not all(node in self.index for node in nodes):
            return "it names nodes that are no servers of the instance, as there are more of them or others"
        return "its nodes have no room, or not in equal parts"

    def first_fit(self, gpus: int) -> Rooms:
        """GPUs by server: the first server that holds the job, else free GPUs from the first server on."""
        fitting = self.free >= gpus
        server = int(fitting.argmax())
        if fitting[server]:
            return [(server, gpus)]
        return self.filled(np.flatnonzero(self.free).tolist(), gpus)

    def filled(self, servers: Sequence[int], gpus: int) -> Rooms:
        """GPUs by server: what is free on each, in order, as far as is needed."""
        before = np.cumsum([0, *self.free[servers]])
        taken = [
            (server, min(int(self.free[server]), gpus - int(sofar)))
            for server, sofar in zip(servers, before, strict=False)
        ]
        return [(server, count) for server, count in taken if count > 0]


UNKNOWN = "What happened is not known:"
NEAR = 1e-5
"""Relative difference up to which a length counts as the recorded one, as iterations have six digits."""


def periods_of(instance: StreamInstance, chosen: Chosen) -> tuple[Stream | None, list[str]]:
    """Every job from its start to its end on the GPUs that it held, and what was assumed or why there is no such stream."""
    starts_s, missing = _starts_s(chosen)
    if missing:
        return None, missing
    stream = Stream(
        {
            job.id: [(start_s, round(start_s + lasted_s(job), 6), job.gpus)]
            for job, start_s in zip(chosen.jobs, starts_s, strict=True)
        }
    )
    broken = streams.check(instance, stream)
    return (None, _broken(broken)) if broken else (stream, [])


def starts_of(instance: GangInstance, chosen: Chosen) -> tuple[Schedule | None, list[str]]:
    """Every job from its start on, where it had begun, on the nodes of the record if they have room, else first fit."""
    starts_s, missing = _starts_s(chosen)
    if missing:
        return None, missing
    free = Free(instance.servers)
    schedule: dict[str, tuple[float, tuple[Share, ...]]] = {}
    off: list[float] = []  # relative, from the record
    elsewhere: Counter[str] = Counter()
    order = sorted(range(len(chosen.jobs)), key=lambda index: (starts_s[index], instance.jobs[index].begun is None))
    # In order of start, so that the free GPUs are those of the moment; jobs that have begun come before others.
    for index in order:
        record, job, start_s = chosen.jobs[index], instance.jobs[index], starts_s[index]
        free.until(start_s)
        if free.total < job.gpus:
            sliced = any(each.share < 1 for each in chosen.jobs)
            used = " GPUs were in use, with one for every part of a GPU" if sliced else " GPUs were in use"
            needed = figure(instance.total_gpus - free.total + job.gpus), f"{used}, the cluster has "
            return None, _unknown(
                figure(start_s, ",.0f"), " s after the start, ", *needed, figure(instance.total_gpus), "."
            )
        recorded = free.recorded(record.nodes, job.gpus)
        if job.begun is None:
            rooms = recorded or free.first_fit(job.gpus)
            placement = shares_of(job.stages, rooms, free.names)
        else:
            placement = tuple(Share(held.stage, held.server, held.replicas) for held in job.begun)
            by_server: Counter[int] = Counter()
            for share in placement:
                by_server[free.index[share.server]] += share.replicas
            rooms = list(by_server.items())
        if recorded is None or dict(recorded) != dict(rooms):
            elsewhere[free.why_not(record.nodes)] += 1
        free.take(rooms, start_s + lasted_s(record))
        off.append(abs(job.iterations * gangs.iteration_time(instance, job, placement) / lasted_s(record) - 1))
        schedule[job.id] = start_s, placement
    solution = Schedule({job.id: schedule[job.id] for job in instance.jobs})
    broken = gangs.check(instance, solution)
    otherwise = sum(each > (FEASIBLE if broken else NEAR) for each in off)
    if otherwise:
        words = " jobs would not last as recorded where they ran, so no schedule of the instance is what happened."
        return None, _unknown("with the stages given to them, ", figure(otherwise), " of ", figure(len(order)), words)
    if broken:
        return None, _broken(broken)
    of_all = " of ", figure(len(order)), " jobs, placed first fit."
    return solution, [
        Sentence(f"What happened: {why}, for ", figure(count), *of_all) for why, count in sorted(elsewhere.items())
    ]


def _starts_s(chosen: Chosen) -> tuple[list[float], list[str]]:
    found = [chosen.relative(job.start_s) for job in chosen.jobs if job.start_s is not None]
    missing = len(chosen.jobs) - len(found)
    words = " jobs do not say when they started."
    return found, _unknown(figure(missing), " of ", figure(len(chosen.jobs)), words) if missing else []


def _broken(broken: Sequence[Violation]) -> list[str]:
    return _unknown("what was recorded does not fit the instance: ", Example(printable(str(broken[0]))))


def _unknown(*why: Piece) -> list[str]:
    """Write why the recorded schedule is unknown."""
    return [Sentence(f"{UNKNOWN} ", *why, warns=True)]
