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
from dlsched.srpt_mapping.instance import Job, Server, Stage
from dlsched.srpt_mapping.slices import SlicedServers, Spot
from dlsched.srpt_mapping.solution import Schedule, Share, begun_starts
from dlsched.traces.gpu_counts import equal_sizes
from dlsched.traces.queue import Example, Piece, Queue, Sentence, figure
from dlsched.traces.selection import Chosen, lasted_s

Rooms = list[tuple[int, int]]
"""GPUs by server, by its index."""


def servers_of(queue: Queue, chosen: Chosen, gpus_of_node: int) -> tuple[list[Server], str]:
    """Return the trace's nodes if they have that many GPUs, else servers of equal size, named as nodes that jobs used."""
    listed = [node for node in queue.nodes if node.gpus]
    if chosen.gpus == sum(node.gpus for node in listed):
        types = [job.gpu_type for job in chosen.jobs if job.gpu_type and queue.typed]
        pools = {
            node.gpu_type: [each for each in dict.fromkeys(types) if node.gpu_type in each.split("|")]
            for node in listed
        }
        servers = [Server(id=node.id, gpus=node.gpus, pools=pools[node.gpu_type]) for node in listed]
        said = ("; jobs that name types of GPUs run on nodes with one of these: ", figure(len(types))) if types else ()
        return servers, Sentence("Servers are the nodes of the trace", *said, ".")
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
            self._give(heapq.heappop(self.ends)[1])

    def _give(self, taken: Rooms) -> None:
        for server, count in taken:
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

    def first_fit(self, gpus: int, of: Sequence[bool] | None = None) -> Rooms:
        """GPUs by server: the first server that holds the job, else free GPUs from the first server on; ``of``: which of them."""
        free = self.free if of is None else self.free * of
        fitting = free >= gpus
        server = int(fitting.argmax())
        if fitting[server]:
            return [(server, gpus)]
        return self.filled(np.flatnonzero(free).tolist(), gpus)

    def filled(self, servers: Sequence[int], gpus: int) -> Rooms:
        """GPUs by server: what is free on each, in order, as far as is needed."""
        before = np.cumsum([0, *self.free[servers]])
        taken = [
            (server, min(int(self.free[server]), gpus - int(sofar)))
            for server, sofar in zip(servers, before, strict=False)
        ]
        return [(server, count) for server, count in taken if count > 0]


class Placer(Free):
    """Free GPUs over time as jobs of an instance take them: of cut servers by number, and slices by best fit."""

    def __init__(self, instance: GangInstance) -> None:
        super().__init__(instance.servers)
        cut = any(server.slicing != "none" for server in instance.servers)
        self._cut = SlicedServers(instance, "best-fit") if cut else None
        self._order = np.array(self._cut.servers if self._cut else [], dtype=np.int64)
        self._pools, self._begun = [server.pools for server in instance.servers], begun_starts(instance)

    def put(self, job: Job, nodes: Sequence[str], end_s: float) -> tuple[tuple[Share, ...] | None, bool]:
        """Take GPUs up to that time: where a job has begun, else on its recorded nodes, else first fit.

        Return the placement, None where there is no room, and whether it is on the recorded nodes.
        """
        if self._cut is not None and job.slice is None:
            self.free[self._order], self.total = self._cut.free, self._cut.total
        recorded = self._recorded(job, nodes)
        begun = self._begun.get(job.id)
        placement = self._placed(job, recorded) if begun is None else begun.placement
        if placement is None:
            return None, False
        on: Counter[int] = Counter()
        for share in placement:
            on[self.index[share.server]] += share.replicas
        known = recorded is not None and dict(recorded) == dict(on)
        if self._cut is None:
            self.take(list(on.items()), end_s)
            return placement, known
        if begun is None and job.slice is None:
            placement, taken = self._cut.start(self._cut.placed(job.graph, placement), job)
        else:
            taken = self._cut.hold(job, placement)
        heapq.heappush(self.ends, (round(end_s, 6), taken))
        return placement, known

    def _give(self, taken: Rooms) -> None:
        if self._cut is None:
            super()._give(taken)
        else:
            self._cut.give(taken)

    def _placed(self, job: Job, rooms: Rooms | None) -> tuple[Share, ...] | None:
        """The placement on those rooms, or else on what is free; None: there is no room."""
        if self._cut is not None and job.slice is not None:
            spot = min(self._spots(job, rooms), key=self._cut.free_after) if rooms else self._cut.best(job)
            if spot is None:
                return None
            return (Share(0, self._cut.names[spot.server], 1).on((spot.gpu,), spot.slot),)
        if rooms is None:
            of = None if job.pool is None else [job.pool in pools for pools in self._pools]
            if (self.total if of is None else (self.free * of).sum()) < job.gpus:
                return None
            rooms = self.first_fit(job.gpus, of)
        return shares_of(job.stages, rooms, self.names)

    def _recorded(self, job: Job, nodes: Sequence[str]) -> Rooms | None:
        """As ``recorded``, of a slice where a GPU of its node has room for it."""
        if job.slice is None or len(nodes) != 1 or nodes[0] not in self.index:
            return self.recorded(nodes, job.gpus) if job.slice is None else None
        rooms = [(self.index[nodes[0]], 1)]
        return rooms if self._spots(job, rooms) else None

    def _spots(self, job: Job, rooms: Rooms) -> list[Spot]:
        """Where the slice of a job fits on a server."""
        assert self._cut is not None
        return list(self._cut.spots(job, self._cut.servers.index(rooms[0][0])))


UNKNOWN = "What really happened is unknown:"
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
    free = Placer(instance)
    schedule: dict[str, tuple[float, tuple[Share, ...]]] = {}
    off: list[float] = []  # relative, from the record
    elsewhere: Counter[str] = Counter()
    order = sorted(range(len(chosen.jobs)), key=lambda index: (starts_s[index], instance.jobs[index].begun is None))
    # In order of start, so that the free GPUs are those of the moment; jobs that have begun come before others.
    for index in order:
        record, job, start_s = chosen.jobs[index], instance.jobs[index], starts_s[index]
        free.until(start_s)
        placement, known = free.put(job, record.nodes, start_s + lasted_s(record))
        if placement is None:
            when, used = (figure(start_s, ",.0f"), " s after the start, "), " GPUs were in use"
            if job.slice is not None:
                where = ", as slices were placed by best fit."
                return None, _unknown(
                    *when, "no GPU had room for a slice, ", Example(job.profile or f"{job.gpu_share:g} of a GPU"), where
                )
            if not instance.sliced and any(each.share < 1 for each in chosen.jobs):
                used += ", with one for every part of a GPU"
            needed = figure(instance.total_gpus - free.total + job.gpus), f"{used}, the cluster has "
            return None, _unknown(*when, *needed, figure(instance.total_gpus), ".")
        if not known:
            elsewhere[free.why_not(record.nodes)] += 1
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
    by = "first fit, slices by best fit" if instance.sliced else "first fit"
    of_all = " of ", figure(len(order)), f" jobs, placed {by}."
    return solution, [
        Sentence(f"What happened: {why}, for ", figure(count), *of_all) for why, count in sorted(elsewhere.items())
    ]


def _starts_s(chosen: Chosen) -> tuple[list[float], list[str]]:
    found = [chosen.relative(job.start_s) for job in chosen.jobs if job.start_s is not None]
    missing = len(chosen.jobs) - len(found)
    words = " jobs have no start."
    return found, _unknown(figure(missing), " of ", figure(len(chosen.jobs)), words) if missing else []


def _broken(broken: Sequence[Violation]) -> list[str]:
    return _unknown("the recorded schedule does not fit the instance: ", Example(printable(str(broken[0]))))


def _unknown(*why: Piece) -> list[str]:
    """Write why the recorded schedule is unknown."""
    return [Sentence(f"{UNKNOWN} ", *why, warns=True)]
