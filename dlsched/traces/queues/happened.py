"""What really happened, as a solution of the instance that was made of a queue, where the instance allows it.

Times are those of the record, in whole microseconds from the start of the instance on; a job lasts what the instance says.
Jobs that are not of the instance hold nothing. What is returned has passed the family's checker.
"""

import heapq
from collections.abc import Sequence

import numpy as np

from dlsched.core.messages import printable
from dlsched.core.violation import Violation
from dlsched.elastic_stream import checker as streams
from dlsched.elastic_stream.instance import Instance as StreamInstance
from dlsched.elastic_stream.solution import Stream
from dlsched.srpt_mapping import checker as gangs
from dlsched.srpt_mapping.instance import Instance as GangInstance
from dlsched.srpt_mapping.instance import Job as Gang
from dlsched.srpt_mapping.solution import Schedule, Share
from dlsched.traces.queues.selecting import Chosen, lasted_s

UNKNOWN = "What happened is not known:"


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
    """Every job from its start on, on the nodes of the record where they are servers with room, else first fit."""
    starts_s, missing = _starts_s(chosen)
    if missing:
        return None, missing
    free = _Free(instance)
    schedule: dict[str, tuple[float, tuple[Share, ...]]] = {}
    known = 0
    order = sorted(range(len(chosen.jobs)), key=starts_s.__getitem__)
    for index in order:
        record, job, start_s = chosen.jobs[index], instance.jobs[index], starts_s[index]
        free.until(start_s)
        if free.total < job.gpus:
            return None, [
                f"{UNKNOWN} {start_s:,.0f} s after the start, {instance.total_gpus - free.total + job.gpus:,} GPUs were in "
                f"use, the cluster has {instance.total_gpus:,}."
            ]
        rooms = free.recorded(record.nodes, job.gpus)
        known += rooms is not None
        rooms = free.first_fit(job.gpus) if rooms is None else rooms
        placement = _shares(job, rooms, free.names)
        free.take(rooms, start_s + job.iterations * gangs.iteration_time(instance, job, placement))
        schedule[job.id] = start_s, placement
    solution = Schedule({job.id: schedule[job.id] for job in instance.jobs})
    broken = gangs.check(instance, solution)
    if broken:
        return None, _broken(broken)
    elsewhere = len(order) - known
    where = "What happened: the trace does not say where jobs ran, or on nodes that are not the servers of the instance"
    return solution, [f"{where}, for {elsewhere:,} of {len(order):,} jobs, placed first fit."] if elsewhere else []


def _starts_s(chosen: Chosen) -> tuple[list[float], list[str]]:
    found = [chosen.relative(job.start_s) for job in chosen.jobs if job.start_s is not None]
    missing = len(chosen.jobs) - len(found)
    return found, [
        f"{UNKNOWN} {missing:,} of {len(chosen.jobs):,} jobs do not say when they started."
    ] if missing else []


def _broken(broken: Sequence[Violation]) -> list[str]:
    return [f"{UNKNOWN} what was recorded does not fit the instance: {printable(str(broken[0]))}"]


def _shares(job: Gang, rooms: Sequence[tuple[int, int]], names: Sequence[str]) -> tuple[Share, ...]:
    """Fill the rooms, GPUs by server, with one stage after the other."""
    shares = []
    left = list(reversed(rooms))
    for number, stage in enumerate(job.stages):
        wanted = stage.replicas
        while wanted:
            server, room = left.pop()
            used = min(room, wanted)
            shares.append(Share(number, names[server], used))
            wanted -= used
            if room > used:
                left.append((server, room - used))
    return tuple(shares)


class _Free:
    """Free GPUs of servers as time goes on."""

    def __init__(self, instance: GangInstance) -> None:
        self.names = [server.id for server in instance.servers]
        self.index = instance.server_index
        self.free = np.array([server.gpus for server in instance.servers])
        self.total = instance.total_gpus
        self.ends: list[tuple[float, list[tuple[int, int]]]] = []

    def until(self, now_s: float) -> None:
        """Give back the GPUs of jobs that have ended."""
        while self.ends and self.ends[0][0] <= now_s:
            for server, count in heapq.heappop(self.ends)[1]:
                self.free[server] += count
                self.total += count

    def take(self, rooms: list[tuple[int, int]], end_s: float) -> None:
        """Take GPUs by server up to that time."""
        for server, count in rooms:
            self.free[server] -= count
            self.total -= count
        heapq.heappush(self.ends, (round(end_s, 6), rooms))

    def recorded(self, nodes: Sequence[str], gpus: int) -> list[tuple[int, int]] | None:
        """GPUs by server, evenly over the nodes of the record; None: they are no servers, or have no such room."""
        servers = [self.index[node] for node in nodes if node in self.index]
        if not servers or len(set(servers)) < len(nodes) or len(servers) > gpus:
            return None
        each, more = divmod(gpus, len(servers))
        rooms = [(server, each + (place < more)) for place, server in enumerate(servers)]
        return rooms if all(count <= self.free[server] for server, count in rooms) else None

    def first_fit(self, gpus: int) -> list[tuple[int, int]]:
        """GPUs by server: the first that holds the job, else all that is free from the first server on."""
        fitting = self.free >= gpus
        server = int(fitting.argmax())
        if fitting[server]:
            return [(server, gpus)]
        servers = np.flatnonzero(self.free)
        together = np.cumsum(self.free[servers])
        last = int(np.searchsorted(together, gpus))
        rooms = [(int(server), int(self.free[server])) for server in servers[:last]]
        return [*rooms, (int(servers[last]), gpus - sum(room for _, room in rooms))]
