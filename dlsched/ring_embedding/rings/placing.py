"""Placement of rings in one slot: free capacity of servers and links, and the rule that places a ring.

A job's ring of n workers goes where it does least harm: on the one server with the least room that holds it, else on as
few servers as hold it: those of the lowest subtree of a forest, or by listed paths the nearest ones, with room and
bandwidth to spare. If servers that are on cost something, the ring goes on servers that are on already, if
they hold it; among the others, those that cost the least for their capacity come first.
"""

import copy
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from dlsched.algorithms.utility_tables import Floats, Integers
from dlsched.ring_embedding.rings.network import Gains, Network, Placed, Workers
from dlsched.ring_embedding.solution import Embedding

_TRIES = 300  # steps of a search for one tour
_LEAST = 1e-100


class Slot:
    """What is free in a slot, and the rings placed in it by job.

    ``used``, shape (S,): workers on servers; ``price``, shape (S,): what servers cost while they are on.
    """

    def __init__(self, network: Network) -> None:
        self.network = network
        self.free: Floats = network.capacity.copy()
        self.spare: Floats = network.bandwidth.copy()
        self.rings: dict[int, Placed] = {}
        self.price = network.on_price
        self._charged = bool(network.on_price.any())
        self._held = holding(network)
        self._rooms: dict[int, tuple[Floats, Integers]] = {}
        self.used: Integers = np.zeros(len(network.capacity), dtype=np.int64)

    def copy(self) -> "Slot":
        """Another slot with the same rings."""
        other = copy.copy(self)
        other.free, other.spare, other.used = self.free.copy(), self.spare.copy(), self.used.copy()
        other.rings, other._rooms = dict(self.rings), {}
        return other

    def count(self, job: int) -> int:
        """Workers of the job in this slot."""
        return sum(self.rings[job][0].values()) if job in self.rings else 0

    @property
    def on(self) -> set[int]:
        """Servers that have a worker."""
        return set(np.flatnonzero(self.used).tolist())

    @property
    def on_price(self) -> float:
        """Price of the power of the servers that are on."""
        return float(self.price[self.used > 0].sum()) if self._charged else 0.0

    def worth(self, gains: Gains) -> float:
        """Gains of the slot's rings, less the price of the servers that are on."""
        return sum(float(gains[job][self.count(job)]) for job in self.rings) - self.on_price

    def put(self, job: int, placed: Placed) -> None:
        """Place a ring; the job has none here."""
        assert job not in self.rings
        self.rings[job] = placed
        self._take(job, placed, 1)

    def fit(self, job: int, placed: Placed) -> bool:
        """Place a ring if that overuses nothing; else change nothing and return False."""
        free, spare = self.free, self.spare
        self.free, self.spare = free.copy(), spare.copy()
        self.put(job, placed)
        fits = bool((self.free >= 0).all() and (self.spare >= 0).all())
        if not fits:  # adding back what was taken would leave a rounding error
            del self.rings[job]
            self.free, self.spare = free, spare
            for server, count in placed[0].items():
                self.used[server] -= count
        return fits

    def _take(self, job: int, placed: Placed, sign: int) -> None:
        workers, _, links = placed
        for server, count in workers.items():
            self.used[server] += sign * count
            self.free[server] -= sign * count * self.network.demand[job]
        for link in links:
            self.spare[link] -= sign * self.network.load[job]

    def resize(self, job: int, count: int) -> bool:
        """Give the job ``count`` workers, placing its ring anew if needed; False: no place, and no change."""
        before, found = self.rings.pop(job, None), None
        if before is not None:
            self._take(job, before, -1)
        try:
            found = self.find(job, count) if count else None
        finally:
            if found is not None:
                self.put(job, found)
            elif before is not None and count:
                self.put(job, before)
        return found is not None or not count

    def grow(self, job: int, count: int, worth: float) -> bool:
        """As ``resize``, if ``worth`` exceeds the price of servers switched on; False: no change."""
        before, paid = self.rings.get(job), self.on_price
        if worth <= 0 or not self.resize(job, count):
            return False
        if self.on_price - paid < worth:
            return True
        self.clear(job)
        if before is not None:
            self.put(job, before)
        return False

    def clear(self, job: int) -> None:
        """Remove the job's ring."""
        self._take(job, self.rings.pop(job), -1)

    def find(self, job: int, count: int) -> Placed | None:
        """A place for a ring of ``count`` workers; None if this rule sees none."""
        self.network.tick()
        # First on servers that are on already; only if none of these hold the ring, on others too.
        room = self._room(job)
        found = self._placed(job, count, np.where(self._dear, 0, room)) if self._charged else None
        return found or self._placed(job, count, room)

    def _room(self, job: int) -> Integers:
        """Workers of a job that each server has room for, at most N_i, shape (S,); follows ``free``."""
        network = self.network
        # ``free`` of a kind is compared with the copy at the last call: only changed servers are computed anew.
        kind, limit = network.kinds[job], network.limit[job]
        if kind not in self._rooms:
            self._rooms[kind] = self.free.copy(), network.room(kind, self.free)
        free, room = self._rooms[kind]
        changed = np.flatnonzero((free != self.free).any(axis=1))
        if len(changed):
            free[changed] = self.free[changed]
            room[changed] = network.room(kind, free[changed])
        return np.minimum(room, limit)

    @property
    def _dear(self) -> Floats:
        """Additional price of using each server, shape (S,)."""
        return np.where(self.used == 0, self.price, 0.0)

    @property
    def _rate(self) -> Floats:
        """Additional price of each server divided by its capacity, shape (S,)."""
        return self._dear / self._held

    def _placed(self, job: int, count: int, room: Integers) -> Placed | None:
        """A place for a ring, given the room on each server, shape (S,)."""
        server = tightest(room, count, self._rate if self._charged else None)
        if server is not None:
            return {server: count}, (server,), []
        if room.sum() < count or count < 2:
            return None
        return self._in_forest(job, count, room) if self.network.forest else self._by_paths(job, count, room)

    def _in_forest(self, job: int, count: int, room: Integers) -> Placed | None:
        """The lowest subtree that holds the ring over links with bandwidth to spare; of several the fullest."""
        network, load = self.network, self.network.load[job]
        usable = (np.minimum(self.spare[0::2], self.spare[1::2]) >= load).tolist()
        at = np.zeros(len(network.tree.above), dtype=np.int64)
        at[network.position] = room
        # From the leaves up: a subtree that holds the ring ends there, any other adds its room to the node above.
        below, above, upward = at.tolist(), network.tree.above, network.tree.upward
        best: tuple[int, int] | None = None
        for node in range(len(below) - 1, -1, -1):
            workers = below[node]
            if workers >= count:
                if best is None or workers < best[0]:
                    best = workers, node
            elif workers and above[node] >= 0 and usable[upward[node] // 2]:
                below[above[node]] += workers
        if best is None:
            return None
        reached = network.tree.beneath(best[1], usable)
        hosted = [network.hosted[node] for node in reached if node in network.hosted]
        rate = self._rate.tolist()
        with_room = [server for server in hosted if room[server]]
        near = sorted(with_room, key=lambda server: (rate[server], -int(room[server]), int(network.position[server])))
        return network.placed(_filled(near, room, count))

    def _by_paths(self, job: int, count: int, room: Integers) -> Placed | None:
        """The place that costs and crosses least, around each server in orders worth trying; else a tour."""
        best: Placed | None = None
        least = (np.inf, np.inf)
        seen = set()
        for start in np.flatnonzero(room).tolist():
            self.network.tick()
            workers = _filled([start, *self._reached(job, start, room, back=True)], room, count)
            if sum(workers.values()) < count or frozenset(workers) in seen:
                continue
            seen.add(frozenset(workers))
            dear = float(self._dear[list(workers)].sum())
            for order in self.network.orders(workers):
                links = self.network.crossed(order)
                if links is not None and self._crosses(job, links) and (dear, len(links)) < least:
                    best, least = (workers, order, links), (dear, len(links))
        if best is None:
            found = (self._tour(job, start, room, count) for start in np.flatnonzero(room).tolist())
            best = next((ring for ring in found if ring is not None), None)
        return best

    def _tour(self, job: int, start: int, room: Integers, count: int) -> Placed | None:
        """A place by depth-first search: on to the nearest server with room and bandwidth, or back."""
        tries = _TRIES
        near: dict[int, list[int]] = {}

        def beyond(order: list[int], missing: int) -> Placed | None:
            nonlocal tries
            tries -= 1
            self.network.tick()
            if missing <= 0:
                links = self.network.crossed(order)
                if links is not None and self._crosses(job, links):
                    return _filled(order, room, count), tuple(order), links
                return None
            for server in near.setdefault(order[-1], self._reached(job, order[-1], room)):
                if tries > 0 and server not in order:
                    found = beyond([*order, server], missing - int(room[server]))
                    if found is not None:
                        return found
            return None

        return beyond([start], count - int(room[start]))

    def _reached(self, job: int, here: int, room: Integers, *, back: bool = False) -> list[int]:
        """Other servers with room to which the route has bandwidth to spare (``back``: both ways), nearest first."""
        found = []
        for server in np.flatnonzero(room).tolist():
            there = self.network.path(here, server) if server != here else None
            again = self.network.path(server, here) if back and there is not None else ()
            if there is not None and again is not None and self._crosses(job, (*there, *again)):
                found.append((len(there), -int(room[server]), server))
        return [server for _, _, server in sorted(found)]

    def _crosses(self, job: int, links: Sequence[int]) -> bool:
        load = self.network.load[job]
        return not load or all(self.spare[link] >= times * load for link, times in Counter(links).items())


def holding(network: Network) -> Floats:
    """Capacity of every server: its parts of all servers' resources, added up; shape (S,), > 0."""
    parts: Floats = (network.capacity / np.maximum(network.capacity.sum(axis=0), _LEAST)).sum(axis=1)
    return np.maximum(parts, _LEAST)


def tightest(room: Integers, count: int, rate: Floats | None = None) -> int | None:
    """Among the servers of least rate that hold all workers, the one with the least room."""
    holding = np.flatnonzero(room >= count)
    if rate is not None and len(holding):
        holding = holding[rate[holding] == rate[holding].min()]
    return int(holding[np.argmin(room[holding])]) if len(holding) else None


def _filled(near: Sequence[int], room: Integers, count: int) -> Workers:
    """Workers on servers in this order until ``count`` are placed."""
    workers: Workers = {}
    for server in near:
        workers[server] = min(count, int(room[server]))
        count -= workers[server]
        if count == 0:
            break
    return workers


def embedding(network: Network, slots: Mapping[int, Slot]) -> Embedding:
    """The embedding of these slots, with jobs and servers by name."""
    jobs, servers = network.instance.jobs, [server.id for server in network.instance.servers]

    def named(placed: Placed) -> tuple[dict[str, int], list[str]]:
        workers, order, _ = placed
        return {servers[server]: count for server, count in workers.items()}, [servers[server] for server in order]

    known: dict[int, dict[str, tuple[dict[str, int], list[str]]]] = {}  # one slot may stand under several numbers
    for slot in slots.values():
        if id(slot) not in known:
            known[id(slot)] = {jobs[job].id: named(placed) for job, placed in sorted(slot.rings.items())}
    return Embedding({number: known[id(slot)] for number, slot in sorted(slots.items())})
