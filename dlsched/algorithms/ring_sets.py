"""Sets of units that a ring may take, at prices of units and links: closed walks in a network, and parts of a forest.

*Closed walks.* With E_m(s, s') the least price of a walk from s that collected m units and is about to stop at s', one
min-plus product by the prices of hops gives E_m from the walks of m units. A walk may return to a stop.

*Parts of a forest*: units on its nodes, joined by its links; the cheapest of every size, and all near it. f_v(k), the least
price of k units at and below node v, adds up over the subtrees of v, whose upward links are crossed where they have
units; the k units whose topmost node is v cost f_v(k). O(V K^2) for V nodes and K units.

If a whole costs at most the least plus a slack, its part of k units below v costs at most f_v(k) + slack:
otherwise the cheapest part in its place would give a whole cheaper than the least. So dearer parts are
dropped, node by node.

Each node comes after the node ``above`` it (-1 for a tree's top). A node has units if a host stands there:
``at`` is the host's number.
"""

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np

from dlsched.algorithms.utility_tables import Floats, Integers
from dlsched.core.limits import Tick, TooMany, no_tick


class ClosedWalks:
    """Closed walks over the stops with room; ``least``: least price by units, shape (most + 1,), inf without a walk.

    ``room`` and ``price`` of a unit by stop, shape (S,); ``hop``: price of the hop between stops, shape (S, S), inf without a
    way. Cost: O(most S^3).
    """

    def __init__(self, room: Integers, most: int, price: Floats, hop: Floats, tick: Tick = no_tick) -> None:
        self._places = np.flatnonzero(room)
        self._room, self._price = room[self._places], price[self._places]
        self._hop = hop[np.ix_(self._places, self._places)]
        np.fill_diagonal(self._hop, np.inf)
        count = len(self._places)
        ready = np.full((count, count), np.inf)  # [first stop, next stop]
        np.fill_diagonal(ready, 0.0)
        self._ready, self._collected = [ready], [np.full((count, count), np.inf)]
        self.least: Floats = np.full(most + 1, np.inf)
        for size in range(1, most + 1):
            # ``collected``: walks that have just collected at the last stop; ``ready``: the same after the hop to the next
            # stop.
            tick()
            collected = np.full((count, count), np.inf)
            for stay in range(1, size + 1):
                np.minimum(collected, self._ready[size - stay] + self._alone(stay), out=collected)
            ready = np.full((count, count), np.inf)
            for here in range(count):
                np.minimum(ready, collected[:, here, None] + self._hop[here], out=ready)
            self._collected.append(collected)
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
            here = int(np.argmin(self._collected[size][first] + self._hop[:, here]))
            stays = np.arange(1, min(size, int(self._room[here])) + 1)
            prices = [self._ready[size - stay][first, here] + stay * self._price[here] for stay in stays]
            stay = int(stays[int(np.argmin(prices))])
            stops.append((int(self._places[here]), stay))
            size -= stay
        return stops[::-1]


Part = tuple[float, tuple[tuple[int, int], ...]]
"""A price, and hosts with their units."""
_Step = tuple[Floats | None, Floats, int]


class ForestParts:
    """Least prices for several jobs at once; ``least``, shape (J, most + 1), is inf where there is no such part.

    ``room`` and ``price``: units that hosts hold, and the price of one, shape (J, S). ``crossing``: for every node the price of
    the link upward, shape (J,), inf if it may not be crossed.
    """

    def __init__(
        self,
        above: Sequence[int],
        at: Mapping[int, int],
        room: Integers,
        price: Floats,
        crossing: Sequence[Floats],
        most: int,
        tick: Tick = no_tick,
    ) -> None:
        self._above, self._at, self._room, self._price, self._crossing = above, at, room, price, crossing
        self._tick = tick
        sizes = np.arange(most + 1)
        self.least: Floats = np.full((len(room), most + 1), np.inf)
        self._top = np.zeros(self.least.shape, dtype=np.int64)
        self._steps: list[list[_Step]] = [[] for _ in above]
        # From the leaves up: a node's own host first, then one step for every subtree with units.
        for node in range(len(above) - 1, -1, -1):
            tick()
            if node in at:
                host = at[node]
                own = np.where(sizes <= room[:, host, None], sizes * price[:, host, None], np.inf)
                self._steps[node].append(_step(self._steps[node], own, -1))
            if not self._steps[node]:
                continue
            total = _total(self._steps[node][-1])
            better = total < self.least
            self.least = np.where(better, total, self.least)
            self._top = np.where(better, node, self._top)
            if above[node] >= 0:
                added = total.copy()
                added[:, 1:] += crossing[node][:, None]
                self._steps[above[node]].append(_step(self._steps[above[node]], added, node))

    def part(self, row: int, size: int) -> dict[int, int]:
        """Units by host of ``least[row, size]``."""
        units: dict[int, int] = {}
        # Backwards through the steps of each node: how many units came with its last subtree.
        waiting = [(int(self._top[row, size]), size)]
        while waiting:
            node, rest_size = waiting.pop()
            for before, added, child in reversed(self._steps[node]):
                here = rest_size
                if before is not None:
                    here = int(np.argmin(before[row, rest_size::-1] + added[row, : rest_size + 1]))
                if here and child < 0:
                    units[self._at[node]] = here
                elif here:
                    waiting.append((child, here))
                rest_size -= here
        return units

    def near(self, row: int, size: int, slack: float, limit: int) -> list[Part]:
        """Every part of that many units within the slack of the least, and some beyond it; ``TooMany`` above ``limit`` a node."""
        below: list[list[list[Part]] | None] = [None] * len(self._above)
        found: list[Part] = []
        for node in range(len(below) - 1, -1, -1):
            self._tick()
            parts, host = below[node], self._at.get(node)
            if host is not None:
                price, room = float(self._price[row, host]), int(self._room[row, host])
                own: list[list[Part]] = [[(0.0, ())]]
                own += [[(k * price, ((host, k),))] if k <= room else [] for k in range(1, size + 1)]
                parts = own if parts is None else self._joined(parts, own, slack, limit)
            below[node] = None
            if parts is None:
                continue
            found += parts[size]
            above = self._above[node]
            crossing = float(self._crossing[node][row]) if above >= 0 else math.inf
            if crossing < math.inf:
                added = [[(price + (crossing if k else 0.0), part) for price, part in parts[k]] for k in range(size)]
                beside = below[above]
                below[above] = [*added, []] if beside is None else self._joined(beside, [*added, []], slack, limit)
        return found

    def _joined(self, first: list[list[Part]], second: list[list[Part]], slack: float, limit: int) -> list[list[Part]]:
        """Parts of both together, within the slack."""
        together: list[list[Part]] = []
        for k in range(len(first)):
            pairs = [(first[a], second[k - a]) for a in range(k + 1) if first[a] and second[k - a]]
            bar = min((some[0][0] + others[0][0] for some, others in pairs), default=0.0) + slack
            near = []
            for some, others in pairs:
                self._tick()
                # Both lists ascend by price, so the first pair above the bar ends its row.
                for price, part in some:
                    if price + others[0][0] > bar:
                        break
                    for other, rest in others:
                        if price + other > bar:
                            break
                        near.append((price + other, part + rest))
                if len(near) > limit:
                    raise TooMany
            together.append(sorted(near))
        return together


def _step(steps: Sequence[_Step], added: Floats, child: int) -> _Step:
    return (_total(steps[-1]) if steps else None), added, child


def _total(step: _Step) -> Floats:
    """Min-plus convolution of the prices before a step and those that it adds."""
    before, added, _ = step
    if before is None:
        return added
    total = before + added[:, :1]
    for size in range(1, added.shape[1]):
        np.minimum(total[:, size:], before[:, :-size] + added[:, size, None], out=total[:, size:])
    return total


def exact_least(
    above: Sequence[int],
    at: Mapping[int, int],
    room: Sequence[int],
    price: Sequence[Fraction],
    crossing: Sequence[Fraction | None],
    most: int,
) -> list[Fraction | None]:
    """Least prices of 0 .. ``most`` units for one job, in whole numbers of a unit that divides all prices; None: no such part.

    ``crossing``: None where a link may not be crossed.
    """
    unit = math.lcm(*(each.denominator for each in (*price, *(each for each in crossing if each is not None))))
    least: list[int | None] = [0] + [None] * most
    below: dict[int, list[int]] = {}
    for node in range(len(above) - 1, -1, -1):
        prices, host, over = below.pop(node, [0]), at.get(node), crossing[node]
        if host is not None:
            each = int(price[host] * unit)
            prices = _together(prices, [k * each for k in range(min(room[host], most) + 1)], most)
        for k, paid in enumerate(prices):
            known = least[k]
            least[k] = paid if known is None else min(paid, known)
        top = above[node]
        if top >= 0 and over is not None and len(prices) > 1:
            crossed = [0, *(paid + int(over * unit) for paid in prices[1:])]
            below[top] = _together(below[top], crossed, most) if top in below else crossed
    return [None if paid is None else Fraction(paid, unit) for paid in least]


def _together(first: Sequence[int], second: Sequence[int], most: int) -> list[int]:
    """Least sums of prices of k units split over two sides; each side holds every number of units up to its last."""
    return [
        min(first[a] + second[k - a] for a in range(max(0, k - len(second) + 1), min(k, len(first) - 1) + 1))
        for k in range(min(most, len(first) + len(second) - 2) + 1)
    ]
