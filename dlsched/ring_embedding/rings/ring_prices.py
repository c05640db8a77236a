"""Cheapest rings at prices: what a worker costs on a server, and what a byte per second costs on a directed link.

A ring here is a *mapping* of a job and a size k: a closed walk over servers, on which k workers are left. It leaves at
most as many workers at a stop as the empty server holds, and crosses no link that is too narrow for the job alone.

*Forest.* A walk in depth-first order crosses each link that separates its servers once in each direction, and no walk
over the same servers does with less. So the cheapest mapping is found by a dynamic program over subtrees: f_v(n), the
least price of n workers beneath node v, adds the price of v's upward link when 0 < n < k. Every server is one stop.

*Listed paths.* Walks from each server back to itself: with E_m(s, s') the least price of a walk from s that left m
workers and is about to stop at s', one min-plus product by the prices of routes gives E_m from the walks of m workers.
A walk may come back to a server, which a ring may not: finding the cheapest ring that does not is a travelling
salesman's problem. So these mappings relax rings, and one that comes back is straightened where an order can be found.
"""

from collections import Counter
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from dlsched.algorithms.utility_table import Floats, Integers
from dlsched.core.budget import Stopped
from dlsched.core.status import TerminationStatus
from dlsched.ring_embedding.rings.network import Network, Placed, Workers

LARGEST = 2**26
"""Prices that are held at a time: 512 MB."""
_STEPS = 2**27  # additions between two ticks, a quarter of a second
Step = tuple[Floats | None, Floats, int]


class ForestPrices:
    """Least prices of every size for several jobs in a forest.

    Parameters
    ----------
    jobs, most
        Jobs and the largest size of each, shape (J,).
    server, link
        Price of a worker on every server, shape (J, S), and of 1 B/s on every directed link, shape (D,).

    ``least``, shape (J, K + 1): least price by size, inf where there is no mapping. Cost: O(J V K^2) for V nodes.
    """

    def __init__(
        self, network: Network, jobs: Sequence[int], most: Sequence[int], server: Floats, link: Floats
    ) -> None:
        self._network = network
        sizes = np.arange(max(most) + 1)
        require_memory(3 * len(jobs) * len(sizes) * len(network.above), len(jobs) * len(sizes) ** 2)
        fits = np.minimum(network.fits[list(jobs)], np.array(most)[:, None])
        load = np.array([network.load[job] for job in jobs])
        self.least: Floats = np.full((len(jobs), len(sizes)), np.inf)
        self.exact = np.ones(len(jobs), dtype=np.bool_)
        self._top = np.zeros(self.least.shape, dtype=np.int64)
        self._steps: list[list[Step]] = [[] for _ in network.above]
        for node in range(len(network.above) - 1, -1, -1):
            network.tick()
            if node in network.hosted:
                host = network.hosted[node]
                own = np.where(sizes <= fits[:, host, None], sizes * server[:, host, None], np.inf)
                self._steps[node].append(_joined(self._steps[node], own, -1))
            if not self._steps[node]:
                continue
            held = _total(self._steps[node][-1])
            better = held < self.least
            self.least = np.where(better, held, self.least)
            self._top = np.where(better, node, self._top)
            above, upward = network.above[node], network.upward[node]
            if above >= 0:
                wide = load <= min(network.bandwidth[upward], network.bandwidth[upward ^ 1])
                crossing = np.where(wide, load * (link[upward] + link[upward ^ 1]), np.inf)
                given = held.copy()
                given[:, 1:] += crossing[:, None]
                self._steps[above].append(_joined(self._steps[above], given, node))

    def ring(self, row: int, size: int) -> Placed:
        """The mapping of ``least[row, size]``, in depth-first order."""
        network = self._network
        workers: Workers = {}
        waiting = [(int(self._top[row, size]), size)]
        while waiting:
            node, left = waiting.pop()
            for before, given, child in reversed(self._steps[node]):
                part = left
                if before is not None:
                    part = int(np.argmin(before[row, left::-1] + given[row, : left + 1]))
                if part and child < 0:
                    workers[network.hosted[node]] = part
                elif part:
                    waiting.append((child, part))
                left -= part
        return network.placed(workers)


def require_memory(numbers: int, steps: int) -> None:
    """Stop where that many prices would have to be held, or that many added up between two ticks."""
    if numbers > LARGEST or steps > _STEPS:
        raise Stopped(TerminationStatus.MEMORY_LIMIT)


def _joined(steps: Sequence[Step], given: Floats, child: int) -> Step:
    return (_total(steps[-1]) if steps else None), given, child


def _total(step: Step) -> Floats:
    """Min-plus convolution of what was there and what is given."""
    before, given, _ = step
    if before is None:
        return given
    total = before + given[:, :1]
    for size in range(1, given.shape[1]):
        np.minimum(total[:, size:], before[:, :-size] + given[:, size, None], out=total[:, size:])
    return total


class Routes:
    """Routes between servers by listed paths: whether there is one, its narrowest link, its price at prices of links."""

    def __init__(self, network: Network) -> None:
        count = len(network.capacity)
        self.narrowest: Floats = np.zeros((count, count))
        pairs: list[tuple[int, int]] = []
        hops: list[tuple[int, int]] = []
        for here in range(count):
            network.tick()
            for there in range(count):
                path = network.path(here, there) if here != there else None
                if path is not None:
                    self.narrowest[here, there] = network.bandwidth[list(path)].min()
                    hops += [(len(pairs), link) for link in path]
                    pairs.append((here, there))
        self.exists: npt.NDArray[np.bool_] = self.narrowest > 0
        self._pairs = np.array(pairs, dtype=np.int64).reshape(-1, 2)
        self._hops = np.array(hops, dtype=np.int64).reshape(-1, 2)

    def prices(self, link: Floats) -> Floats:
        """Price of 1 B/s on the route of every pair of servers, 0 without one, shape (S, S)."""
        price = np.zeros(self.narrowest.shape)
        held = np.bincount(self._hops[:, 0], weights=link[self._hops[:, 1]], minlength=len(self._pairs))
        price[self._pairs[:, 0], self._pairs[:, 1]] = held
        return price


class WalkPrices:
    """Least prices of every size for several jobs on listed paths.

    As ``ForestPrices``; ``price`` is ``routes.prices(link)``. A job whose cheapest workers, were all routes free, do not
    stay below ``worthless``, shape (J, K + 1), in any size is not ``exact``: its ``least`` are those lower bounds, and it
    has no rings. Cost: O(J K S^3).
    """

    def __init__(
        self,
        network: Network,
        jobs: Sequence[int],
        most: Sequence[int],
        server: Floats,
        price: Floats,
        routes: Routes,
        worthless: Floats,
    ) -> None:
        self._network, self._jobs = network, list(jobs)
        require_memory(2 * len(jobs) * (max(most) + 1) * len(server.T) ** 2, max(most) * len(server.T) ** 2)
        self.least: Floats = np.full((len(jobs), max(most) + 1), np.inf)
        self.exact = np.zeros(len(jobs), dtype=np.bool_)
        self._walks: dict[int, _Walks] = {}
        for row, job in enumerate(jobs):
            network.tick()
            fits = np.minimum(network.fits[job], most[row])
            nearest = np.argsort(server[row], kind="stable")
            free = np.repeat(server[row][nearest], fits[nearest])[: most[row]].cumsum()
            self.least[row, 1 : len(free) + 1] = free
            self.exact[row] = (free < worthless[row, 1 : len(free) + 1]).any()
            if self.exact[row]:
                wide = routes.exists & (routes.narrowest >= network.load[job])
                hop = np.where(wide, network.load[job] * price, np.inf)
                walks = _Walks(network, fits, most[row], server[row], hop)
                self._walks[row] = walks
                self.least[row, : most[row] + 1] = walks.least

    def ring(self, row: int, size: int) -> Placed:
        """The mapping of ``least[row, size]``; its order names a server twice where no order without that was found."""
        stops = self._walks[row].stops(size)
        workers: Workers = {}
        for server, count in stops:
            workers[server] = workers.get(server, 0) + count
        placed = self._network.placed(workers, tuple(server for server, _ in stops))
        fits = self._network.fits[self._jobs[row]]
        if len(workers) < len(stops) and all(count <= fits[server] for server, count in workers.items()):
            crossed = Counter(placed[2])
            for other in self._network.orders(workers):
                found = self._network.crossed(other)
                if found is not None and Counter(found) <= crossed:
                    return workers, other, found
        return placed


class _Walks:
    """Closed walks of one job; servers without room for it are left out."""

    def __init__(self, network: Network, fits: Integers, most: int, server: Floats, hop: Floats) -> None:
        self._servers = np.flatnonzero(fits)
        self._fits, self._price = fits[self._servers], server[self._servers]
        self._hop = hop[np.ix_(self._servers, self._servers)]
        np.fill_diagonal(self._hop, np.inf)
        count = len(self._servers)
        ready = np.full((count, count), np.inf)  # [first server, server of the next stop]
        np.fill_diagonal(ready, 0.0)
        self._ready, self._left = [ready], [np.full((count, count), np.inf)]
        self.least: Floats = np.full(most + 1, np.inf)
        for size in range(1, most + 1):
            network.tick()
            left = np.full((count, count), np.inf)
            for stay in range(1, size + 1):
                np.minimum(left, self._ready[size - stay] + self._alone(stay), out=left)
            ready = np.full((count, count), np.inf)
            for here in range(count):
                np.minimum(ready, left[:, here, None] + self._hop[here], out=ready)
            self._left.append(left)
            self._ready.append(ready)
            if count:
                self.least[size] = min(self._alone(size).min(), ready.diagonal().min())

    def _alone(self, count: int) -> Floats:
        """Price of this many workers on every server."""
        return np.where(count <= self._fits, count * self._price, np.inf)

    def stops(self, size: int) -> list[tuple[int, int]]:
        """Servers and workers of the cheapest closed walk, in its order."""
        alone = self._alone(size)
        if alone.min() <= self.least[size]:
            return [(int(self._servers[np.argmin(alone)]), size)]
        first = int(np.argmin(self._ready[size].diagonal()))
        here, stops = first, []
        while size:
            here = int(np.argmin(self._left[size][first] + self._hop[:, here]))
            stays = np.arange(1, min(size, int(self._fits[here])) + 1)
            prices = [self._ready[size - stay][first, here] + stay * self._price[here] for stay in stays]
            stay = int(stays[int(np.argmin(prices))])
            stops.append((int(self._servers[here]), stay))
            size -= stay
        return stops[::-1]
