"""Cheapest closed walks over stops that leave 1, 2, ... units in all, at prices of units and of hops.

With E_m(s, s') the least price of a walk from s that left m units and is about to stop at s', one min-plus product by the
prices of hops gives E_m from the walks of m units. A walk may return to a stop.
"""

import numpy as np

from dlsched.algorithms.utility_table import Floats, Integers
from dlsched.core.budget import Tick, no_tick


class ClosedWalks:
    """Closed walks over the stops with room; ``least``: least price by units, shape (most + 1,), inf without a walk.

    ``room`` and ``price`` by stop: most units, and price of one, shape (S,); ``most``: largest number of units;
    ``hop``: price of the hop between stops, shape (S, S), inf without a way. Cost: O(most S^3).
    """

    def __init__(self, room: Integers, most: int, price: Floats, hop: Floats, tick: Tick = no_tick) -> None:
        self._places = np.flatnonzero(room)
        self._room, self._price = room[self._places], price[self._places]
        self._hop = hop[np.ix_(self._places, self._places)]
        np.fill_diagonal(self._hop, np.inf)
        count = len(self._places)
        ready = np.full((count, count), np.inf)  # [first stop, next stop]
        np.fill_diagonal(ready, 0.0)
        self._ready, self._left = [ready], [np.full((count, count), np.inf)]
        self.least: Floats = np.full(most + 1, np.inf)
        for size in range(1, most + 1):
            # ``left``: walks that have just collected at the last stop; ``ready``: the same after the hop to the next
            # stop.
            tick()
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
        """Price of a walk with a single stop."""
        return np.where(count <= self._room, count * self._price, np.inf)

    def stops(self, size: int) -> list[tuple[int, int]]:
        """Stops and units of the cheapest closed walk, in its order."""
        alone = self._alone(size)
        if alone.min() <= self.least[size]:
            return [(int(self._places[np.argmin(alone)]), size)]
        # Backwards from the cheapest closed walk: which stop came before, and how many units it gave.
        first = int(np.argmin(self._ready[size].diagonal()))
        here, stops = first, []
        while size:
            here = int(np.argmin(self._left[size][first] + self._hop[:, here]))
            stays = np.arange(1, min(size, int(self._room[here])) + 1)
            prices = [self._ready[size - stay][first, here] + stay * self._price[here] for stay in stays]
            stay = int(stays[int(np.argmin(prices))])
            stops.append((int(self._places[here]), stay))
            size -= stay
        return stops[::-1]
