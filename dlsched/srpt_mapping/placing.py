"""Placement of jobs: free GPUs of the servers, and rules that place one job.

*Rules* place one job on the free GPUs of the servers: the paper's Heavy-Edge, and a tighter one of ours. Both choose
servers first, then share out the replicas. ``slices`` has those that place jobs on slices of GPUs.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from itertools import islice

from dlsched.cluster.job_graph import JobGraph
from dlsched.cluster.spreading import chained, spreads_for
from dlsched.core.errors import UsageError
from dlsched.core.limits import Tick, no_tick
from dlsched.srpt_mapping.instance import Instance, Job
from dlsched.srpt_mapping.solution import Share

Placed = list[tuple[int, tuple[int, ...]]]
"""Pairs of a server's index and the replicas of every stage that it gets."""

MOST_STAGE_SERVERS = 300_000
"""Stages of a job times the servers that it may use, beyond which heuristics refuse to place it."""
_REMEMBERED = 2_000  # the same, of placements whose seconds are remembered
_MOST_KNOWN = 20_000  # of these; more would be looked up no faster than computed


def require_placeable(instance: Instance) -> None:
    """Refuse jobs whose placements are too large to be written down (UsageError)."""
    for job in instance.jobs:
        servers = min(len(instance.servers), job.gpus)
        if servers * len(job.stages) > MOST_STAGE_SERVERS:
            found = f"{len(job.stages):,} stages on up to {servers:,} servers"
            raise UsageError(
                where=f"job {job.id!r}", found=found, allowed=f"stages times servers up to {MOST_STAGE_SERVERS:,}"
            )


def named(names: Sequence[str], rows: Iterable[tuple[int, tuple[int, ...]]]) -> list[Share]:
    """A placement as shares; ``rows`` pairs a server's index with its replicas by stage."""
    return [Share(stage, names[server], count) for server, row in rows for stage, count in enumerate(row) if count]


Rooms = dict[int, int]
"""By number of free GPUs, > 0, the positions of the servers that have so many, as the bits of an integer."""


_NEAR = (1 << 240) - 1


def _bits(positions: Iterable[int], size: int) -> int:
    """Positions below ``size`` as bits."""
    held = bytearray(size // 8 + 1)
    for position in positions:
        held[position >> 3] |= 1 << (position & 7)
    return int.from_bytes(held, "little")


def _rooms(free: Sequence[int]) -> Rooms:
    """Servers by what they have free."""
    positions: defaultdict[int, list[int]] = defaultdict(list)
    for server, room in enumerate(free):
        positions[room].append(server)
    return {room: _bits(servers, len(free)) for room, servers in positions.items() if room > 0}


def _first(bits: int) -> int:
    """The lowest bit of an integer > 0."""
    return (bits & -bits).bit_length() - 1


def _positions(bits: int) -> Iterator[int]:
    """Yield the bits of an integer, ascending: those near the lowest one from a short integer."""
    base = 0
    while bits:
        empty = _first(bits)
        bits, base = bits >> empty, base + empty
        near = bits & _NEAR
        while near:
            lowest = near & -near
            yield base + lowest.bit_length() - 1
            near ^= lowest
        bits, base = bits >> _NEAR.bit_length(), base + _NEAR.bit_length()


class Servers:
    """The free GPUs, and the seconds that placements take. Servers with fewer GPUs, whose shares are larger, come first."""

    def __init__(self, instance: Instance) -> None:
        self.servers = sorted(range(len(instance.servers)), key=lambda index: instance.servers[index].gpus)
        self.names = [instance.servers[index].id for index in self.servers]
        self._free: list[int] | None = [instance.servers[index].gpus for index in self.servers]
        self.rooms = _rooms(self.free)
        self.spreads = spreads_for(len(instance.jobs))
        self.shares = [instance.shares[index] for index in self.servers]
        self.inside = instance.intra_bandwidth_bytes_per_s
        self.total = sum(self.free)
        self.consolidated, self._most = instance.consolidated, instance.most_servers
        # free GPUs of every pool, and the pools of every server
        self._pools = [instance.servers[index].pools for index in self.servers]
        sizes = list(zip(self.free, self._pools, strict=True))
        self._free_of = {pool: sum(room for room, pools in sizes if pool in pools) for pool in instance.pool_names}
        self._bits_of = {
            pool: _bits((server for server, (_, pools) in enumerate(sizes) if pool in pools), len(sizes))
            for pool in instance.pool_names
        }
        self._index = {name: server for server, name in enumerate(self.names)}
        # the latest placement and its seconds, the same for copies; seconds and shares of placements seen before
        self._latest: list[tuple[Placed, float]] = [([], 0.0)]
        self._known: dict[tuple[object, ...], float] = {}
        self._shares: dict[tuple[int, tuple[int, ...]], tuple[Share, ...]] = {}

    @property
    def free(self) -> list[int]:
        """Free GPUs of every server, by its position."""
        if self._free is None:
            self._free = [0] * len(self.names)
            for room, bits in self.rooms.items():
                for server, bit in enumerate(f"{bits:b}"[::-1]):
                    if bit == "1":
                        self._free[server] = room
        return self._free

    def allowed(self, pool: str | None) -> list[int]:
        """1 for every server on which jobs of a pool may run, else 0."""
        return [int(pool is None or pool in pools) for pools in self._pools]

    def free_of(self, pool: str | None) -> int:
        """Free GPUs of a pool; None: of all servers."""
        return self.total if pool is None else self._free_of[pool]

    def fits(self, gpus: int, pool: str | None) -> bool:
        """Whether the servers that a job of the pool may use have so many free GPUs, on as few of them as it may use."""
        if gpus > self.free_of(pool) or not self.consolidated:
            return gpus <= self.free_of(pool)
        servers = self._most(gpus, pool)
        allowed = -1 if pool is None else self._bits_of[pool]
        for room in sorted(self.rooms, reverse=True):
            used = min(servers, -(-gpus // room), (self.rooms[room] & allowed).bit_count())
            servers, gpus = servers - used, gpus - used * room
            if gpus <= 0 or not servers:
                break
        return gpus <= 0

    def largest_rooms(self) -> tuple[int, int]:
        """Free GPUs of the two servers that have most, 0 for one that is not there."""
        second, first = sorted([0, 0, *self.rooms])[-2:]
        return first, first if first and self.rooms[first].bit_count() > 1 else second

    def fits_slice(self, job: Job) -> bool:
        """Whether the slice that a job takes is free somewhere; here all jobs take whole GPUs."""
        return self.fits(job.gpus, job.pool)

    def within(self, pool: str | None) -> "Servers":
        """The same servers, of which those outside the pool have nothing free; to place a job, not to take GPUs."""
        if pool is None:
            return self
        other, allowed = copy(self), self._bits_of[pool]
        other.rooms = {room: bits & allowed for room, bits in self.rooms.items() if bits & allowed}
        other._free, other.total = None, self._free_of[pool]
        return other

    def with_free(self, free: list[int]) -> "Servers":
        """The same servers with other free GPUs, to place a job."""
        other = copy(self)
        other._free, other.rooms, other.total = free, _rooms(free), sum(free)
        return other

    def with_seconds(self, placed: Placed, iteration_s: float) -> Placed:
        """Return a placement, and remember its seconds until the next one."""
        self._latest[0] = placed, iteration_s
        return placed

    def iteration_s(self, graph: JobGraph, placed: Placed) -> float:
        """Alpha of a placement; remembered, as clusters have few kinds of servers."""
        if placed is self._latest[0][0]:
            return self._latest[0][1]
        if len(placed) == 1:
            return graph.iteration_s([placed[0][1]], [self.shares[placed[0][0]]], self.inside)
        counts = tuple([row for _, row in placed])
        shares = tuple([self.shares[index] for index, _ in placed])
        key = graph, counts, shares
        known_s = self._known.get(key)
        if known_s is None:
            known_s = graph.iteration_s(counts, shares, self.inside)
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            if len(placed) * len(graph.replicas) <= _REMEMBERED:
                self._known[key] = known_s
        return known_s

    def named(self, placed: Placed) -> list[Share]:
        """A placement as shares."""
        return named(self.names, placed)

    def placement(self, placed: Placed) -> tuple[Share, ...]:
        """The same, immutable; one object for equal placements on one server."""
        if len(placed) > 1:
            return tuple(self.named(placed))
        (each,) = placed
        known = self._shares.get(each)
        if known is None:
            known = self._shares[each] = tuple(self.named(placed))
        return known

    def placed(self, graph: JobGraph, placement: Iterable[Share]) -> Placed:
        """A placement, as rules return it."""
        rows: dict[int, list[int]] = {}
        for share in placement:
            rows.setdefault(self._index[share.server], [0] * len(graph.replicas))[share.stage] += share.replicas
        return [(server, tuple(row)) for server, row in rows.items()]

    def place(self, rule: "Rule", job: Job) -> Placed:
        """Where the rule places a job that fits."""
        return rule(job.graph, self.within(job.pool))

    def start(self, placed: Placed, job: Job) -> tuple[tuple[Share, ...], list[tuple[int, int]]]:
        """Take the GPUs of a job's placement; return its shares, and what to give back."""
        del job
        return self.placement(placed), self.take(placed)

    def hold(self, job: Job, placement: Sequence[Share]) -> list[tuple[int, int]]:
        """Take the GPUs of a job that runs already; return what to give back."""
        return self.take(self.placed(job.graph, placement))

    def take(self, placed: Placed) -> list[tuple[int, int]]:
        """Take the GPUs of a placement; return what to give back."""
        return self.take_room(taken_of(placed))

    def take_room(self, taken: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
        """Take GPUs, by the index of the server; return what to give back."""
        self._change(taken, -1)
        return list(taken)

    def give(self, taken: list[tuple[int, int]]) -> None:
        """Give GPUs back."""
        self._change(taken, 1)

    def _change(self, taken: Sequence[tuple[int, int]], sign: int) -> None:
        """Give back (1) or take (-1)."""
        free, rooms = self.free, self.rooms
        for index, count in taken:
            bit, more, before = 1 << index, sign * count, free[index]
            free[index] = after = before + more
            if before > 0:
                if others := rooms[before] ^ bit:
                    rooms[before] = others
                else:
                    del rooms[before]
            if after > 0:
                rooms[after] = rooms.get(after, 0) | bit
            self.total += more
            for pool in self._pools[index]:
                self._free_of[pool] += more


Rule = Callable[[JobGraph, Servers], Placed]
"""From a job and servers whose free GPUs hold it to where it runs."""


def heavy_edge(graph: JobGraph, servers: Servers) -> Placed:
    """Place a job by Heavy-Edge (Luo et al. 2025; our reconstruction, see the module).

    Step 1: servers with the most free GPUs first (ties: the order given), until they hold the job. Where placement is
    consolidated, those of ``compact``: else jobs on one GPU would keep large ones off every server.
    Step 2: server by server, the ends of heavy edges together, see ``dlsched.cluster.spreading.Spreads.grouped``.

    Guarantee: none; more servers than needed are never used. Cost: O(M log M) for M servers, and step 2.
    """
    chosen = _chosen(graph.gpus, servers)
    if len(chosen) == 1:
        return [(chosen[0][0], graph.replicas)]
    rooms = tuple([room for _, room in chosen])
    shares = tuple([servers.shares[server] for server, _ in chosen])
    rows, iteration_s = servers.spreads.grouped(graph, rooms, shares, servers.inside)
    return servers.with_seconds([(server, row) for (server, _), row in zip(chosen, rows, strict=True)], iteration_s)


def compact(graph: JobGraph, servers: Servers) -> Placed:
    """Place a job more tightly than Heavy-Edge, and share its replicas out better; ours.

    Step 1: servers with the most free GPUs first, but the last one is that on which the rest fits most tightly (so a job
    that fits on one server leaves the larger holes to others).
    Step 2: Heavy-Edge's, or in the order of the chain, and swaps, see ``dlsched.cluster.spreading.Spreads.improved``.
    Step 3: if it is faster, whole stages packed by best fit instead, heavy edges together, see
    ``dlsched.cluster.spreading``; that may use more servers, and is not taken then where placement is consolidated.

    Guarantee: none. Cost: as ``heavy_edge``, and the swaps once for every different job and set of rooms.
    """
    chosen = _tightest(graph.gpus, servers.rooms)
    if len(chosen) == 1:
        return [(chosen[0][0], graph.replicas)]
    rooms = tuple(room for _, room in chosen)
    shares = tuple(servers.shares[server] for server, _ in chosen)
    rows, iteration_s = servers.spreads.improved(graph, rooms, shares, servers.inside)
    placed = servers.with_seconds([(server, row) for (server, _), row in zip(chosen, rows, strict=True)], iteration_s)
    if len(graph.replicas) == 1 and servers.shares[0] == servers.shares[-1]:
        return placed  # a ring is as fast on any servers
    packed, packed_s = servers.spreads.best_fit(
        graph, _for_stages(graph, servers.rooms), servers.shares, servers.inside
    )
    if packed_s >= iteration_s or (servers.consolidated and len(packed) > len(placed)):
        return placed
    return servers.with_seconds(packed, packed_s)


def taken_of(placed: Placed) -> list[tuple[int, int]]:
    """Return the GPUs that a placement takes, by the index of the server."""
    return [(index, sum(row)) for index, row in placed]


def _chosen(gpus: int, servers: Servers) -> list[tuple[int, int]]:
    """Servers and what they give to a job of so many GPUs, by the first step of ``heavy_edge``."""
    return (_tightest if servers.consolidated else _most_free)(gpus, servers.rooms)


PLACES: Mapping[str, Rule] = {"heavy-edge": heavy_edge, "compact": compact}


def in_order(graph: JobGraph, servers: Servers) -> Placed:
    """Place a job in the order of its chain, on the servers with the most free GPUs first. Fast; guarantee: none."""
    chosen = _most_free(graph.gpus, servers.rooms)
    rows = chained(graph, tuple(room for _, room in chosen))
    return [(server, row) for (server, _), row in zip(chosen, rows, strict=True)]


def placed_s(instance: Instance, rule: Rule, *, tick: Tick = no_tick) -> list[float]:
    """Seconds of an iteration of every job, which a rule reaches on the empty servers; they hold every job."""
    empty = Servers(instance)
    largest = {pool: max(empty.within(pool).rooms) for pool in {job.pool for job in instance.jobs}}
    known_s: dict[tuple[JobGraph, str | None], float] = {}
    seconds, alike = [], rule in PLACES.values()
    for job in instance.jobs:
        key = graph, pool = job.graph, job.pool
        # all rules place a job that fits there on one server, and its graph knows its seconds
        if alike and graph.gpus <= largest[pool]:
            seconds.append(empty.iteration_s(graph, [(0, graph.replicas)]))
            continue
        if key not in known_s:
            tick()
            known_s[key] = empty.iteration_s(graph, rule(graph, empty.within(pool)))
        seconds.append(known_s[key])
    return seconds


def _most_free(gpus: int, rooms: Rooms) -> list[tuple[int, int]]:
    """Pairs of a server and what it gives: the most free ones first, as few as hold the job."""
    if gpus <= (most := max(rooms)):
        return [(_first(rooms[most]), gpus)]
    chosen = []
    for free in sorted(rooms, reverse=True):
        for server in _positions(rooms[free]):
            chosen.append((server, min(gpus, free)))
            gpus -= chosen[-1][1]
            if not gpus:
                return chosen
    raise ValueError("the servers do not hold the job")


def _tightest(gpus: int, rooms: Rooms) -> list[tuple[int, int]]:
    """The most free servers as long as none holds the rest, then the tightest one that does."""
    if fitting_rooms := [room for room in rooms if room >= gpus]:
        return [(_first(rooms[min(fitting_rooms)]), gpus)]
    chosen = _most_free(gpus, rooms)[:-1]
    remaining, taken = gpus - sum(room for _, room in chosen), {server for server, _ in chosen}
    fitting = (server for room in sorted(rooms) if room >= remaining for server in _positions(rooms[room]))
    return [*chosen, (next(server for server in fitting if server not in taken), remaining)]


def _for_stages(graph: JobGraph, rooms: Rooms) -> list[tuple[int, int]]:
    """Free GPUs and servers, ascending, without servers that ``best_fit`` would not choose among equal ones."""
    # Each of the S blocks goes on the first of equal servers. A stage that no server holds fills the last ones of most room: it
    # comes to those of a room once it has taken ``above`` GPUs of the roomier ones, ``larger`` in number, which then have as much
    stages, larger, above, before = len(graph.replicas), 0, 0, 0
    choices: list[list[tuple[int, int]]] = []
    for room in sorted(rooms, reverse=True):
        bits, count, above = rooms[room], rooms[room].bit_count(), above + larger * (before - room)
        last = max(1, (graph.gpus - above) // room)
        few = count <= stages + last
        servers = list(islice(_positions(bits), None if few else stages))
        for _ in range(0 if few else last):
            servers.append(bits.bit_length() - 1)
            bits ^= 1 << servers[-1]
        choices.append([(room, server) for server in sorted(servers)])
        larger, before = larger + count, room
    return [choice for each in reversed(choices) for choice in each]
