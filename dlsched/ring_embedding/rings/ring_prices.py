"""Cheapest rings at given prices of a worker on a server and of a byte per second on a directed link.

A ring here is a *mapping* of a job and a size k: a closed walk over servers, on which k workers are left. It leaves at
most as many workers at a stop as the empty server holds, and crosses no link that is too narrow for the job alone.

*Forest.* A walk in depth-first order crosses each link that separates its servers once in each direction, and no walk over
the same servers does with less. So the cheapest mapping is found over subtrees (``algorithms.ring_sets``). Every server
is one stop.

*Listed paths.* ``algorithms.ring_sets`` from each server back to itself. A walk may come back to a server, which a ring
may not: finding the cheapest ring that does not is a travelling salesman's problem. So these mappings relax rings, and one
that comes back is straightened where an order can be found.
"""

from collections import Counter
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from dlsched.algorithms.ring_sets import ClosedWalks, ForestParts
from dlsched.algorithms.utility_tables import Floats
from dlsched.core.limits import Stopped, TooMany
from dlsched.core.status import TerminationStatus
from dlsched.ring_embedding.rings.network import Network, Placed, Workers

LARGEST = 2**26
"""Largest number of prices held at a time: 512 MB."""
_STEPS = 2**27  # additions between two ticks, a quarter of a second


class ForestPrices:
    """Least prices by size, for several jobs in a forest; ``least``, shape (J, K + 1): inf where there is no mapping.

    ``most``: largest size of each job; ``server``, shape (J, S): price of a worker; ``link``, shape (D,): of 1 B/s.
    Cost: O(J V K^2) for V nodes.
    """

    def __init__(
        self, network: Network, jobs: Sequence[int], most: Sequence[int], server: Floats, link: Floats
    ) -> None:
        self._network = network
        sizes = max(most) + 1
        require_memory(3 * len(jobs) * sizes * len(network.tree.above), len(jobs) * sizes**2)
        load = np.array([network.load[job] for job in jobs])

        def crossing(upward: int) -> Floats:
            wide = load <= min(network.bandwidth[upward], network.bandwidth[upward ^ 1])
            return np.where(wide, load * (link[upward] + link[upward ^ 1]), np.inf)

        prices = [crossing(upward) if upward >= 0 else load for upward in network.tree.upward]
        fits = np.minimum(network.fits[list(jobs)], np.array(most)[:, None])
        self._parts = ForestParts(network.tree.above, network.hosted, fits, server, prices, sizes - 1, network.tick)
        self.least = self._parts.least
        self.exact = np.ones(len(jobs), dtype=np.bool_)

    def ring(self, row: int, size: int) -> Placed:
        """The mapping of ``least[row, size]``, in depth-first order."""
        return self._network.placed(self._parts.part(row, size))

    def near(self, row: int, most: Sequence[float], limit: int) -> list[tuple[float, Workers]]:
        """Prices and workers of all rings of n >= 1 workers that cost at most ``most[n]``; -inf: none of that size.

        ``TooMany``: some node has more parts than ``limit``, or there are more rings.
        """
        found: list[tuple[float, Workers]] = []
        for size in range(1, len(most)):
            slack = most[size] - float(self.least[row, size])
            if np.isfinite(most[size]) and slack >= 0:
                parts = self._parts.near(row, size, slack, limit)
                found += [(price, dict(part)) for price, part in parts if price <= most[size]]
                if len(found) > limit:
                    raise TooMany
        return found


def require_memory(numbers: int, steps: int) -> None:
    """Stop if too many prices would be in memory, or be added up between two ticks."""
    if numbers > LARGEST or steps > _STEPS:
        raise Stopped(TerminationStatus.MEMORY_LIMIT)


class Routes:
    """Listed routes between servers: whether one exists, its narrowest link, its price at prices of links."""

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
        """Price of 1 B/s on the route of every pair of servers, shape (S, S); 0 without a route."""
        price = np.zeros(self.narrowest.shape)
        held = np.bincount(self._hops[:, 0], weights=link[self._hops[:, 1]], minlength=len(self._pairs))
        price[self._pairs[:, 0], self._pairs[:, 1]] = held
        return price


class WalkPrices:
    """Least prices by size, for several jobs on listed paths; as ``ForestPrices``. Cost: O(J K S^3).

    A job is not ``exact``, has lower bounds as ``least`` and no rings, if these reach ``worthless``, shape (J, K + 1), in all
    sizes: the cheapest workers with all routes free.
    """

    def __init__(
        self,
        network: Network,
        routes: Routes,
        jobs: Sequence[int],
        most: Sequence[int],
        server: Floats,
        link: Floats,
        worthless: Floats,
    ) -> None:
        self._network, self._jobs, price = network, list(jobs), routes.prices(link)
        require_memory(2 * len(jobs) * (max(most) + 1) * len(server.T) ** 2, max(most) * len(server.T) ** 2)
        self.least: Floats = np.full((len(jobs), max(most) + 1), np.inf)
        self.exact = np.zeros(len(jobs), dtype=np.bool_)
        self._walks: dict[int, ClosedWalks] = {}
        for row, job in enumerate(jobs):
            network.tick()
            fits = np.minimum(network.fits[job], most[row])
            # The cheapest workers, all routes free: if even they cost too much in every size, no walk has to be computed.
            nearest = np.argsort(server[row], kind="stable")
            free = np.repeat(server[row][nearest], fits[nearest])[: most[row]].cumsum()
            self.least[row, 1 : len(free) + 1] = free
            self.exact[row] = (free < worthless[row, 1 : len(free) + 1]).any()
            if self.exact[row]:
                wide = routes.exists & (routes.narrowest >= network.load[job])
                hop = np.where(wide, network.load[job] * price, np.inf)
                self._walks[row] = ClosedWalks(fits, most[row], server[row], hop, network.tick)
                self.least[row, : most[row] + 1] = self._walks[row].least

    def ring(self, row: int, size: int) -> Placed:
        """The mapping of ``least[row, size]``; its order may name a server twice if no other order is as cheap."""
        stops = self._walks[row].stops(size)
        workers: Workers = {}
        for server, count in stops:
            workers[server] = workers.get(server, 0) + count
        placed = self._network.placed(workers, tuple(server for server, _ in stops))
        fits = self._network.fits[self._jobs[row]]
        # The walk comes back to a server: look for an order that does not, and crosses no link more often.
        if len(workers) < len(stops) and all(count <= fits[server] for server, count in workers.items()):
            crossed = Counter(placed[2])
            for other in self._network.orders(workers):
                found = self._network.crossed(other)
                if found is not None and Counter(found) <= crossed:
                    return workers, other, found
        return placed
