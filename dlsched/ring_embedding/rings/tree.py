"""The cheapest ring of n workers in a forest when servers and links have prices: a dynamic program over subtrees.

f_v(k), the least price of k workers at and below node v, adds up over the subtrees of v, whose upward links are crossed
where they hold workers; the ring of n workers whose topmost node is v costs f_v(n). O(V n^2) for V nodes, in whole numbers
of a unit that divides all prices.
"""

import math
from collections.abc import Mapping, Sequence, Set
from fractions import Fraction

from dlsched.ring_embedding.instance import Instance


class Tree:
    """A forest as nodes in breadth-first order, with the link above each and the server at it."""

    def __init__(self, instance: Instance) -> None:
        place = {node.id: number for number, node in enumerate(instance.nodes)}
        neighbours: list[list[tuple[int, int]]] = [[] for _ in instance.nodes]
        for number, link in enumerate(instance.links):
            first, second = (place[end] for end in link.ends)
            neighbours[first].append((second, number))
            neighbours[second].append((first, number))
        self.order: list[int] = []
        self.above: dict[int, tuple[int, int] | None] = {}  # the node above, and the link to it
        for top in range(len(neighbours)):
            waiting = [] if top in self.above else [top]
            self.above.setdefault(top, None)
            for here in waiting:
                self.order.append(here)
                for there, over in neighbours[here]:
                    if there not in self.above:
                        self.above[there] = here, over
                        waiting.append(there)
        self.server = {place[server.id]: number for number, server in enumerate(instance.servers)}

    def parts(self, closed: Set[int] = frozenset()) -> list[list[int]]:
        """Servers of every tree, when these links are taken away."""
        top: dict[int, int] = {}
        found: dict[int, list[int]] = {}
        for node in self.order:
            above = self.above[node]
            top[node] = node if above is None or above[1] in closed else top[above[0]]
            if node in self.server:
                found.setdefault(top[node], []).append(self.server[node])
        return list(found.values())

    def cheapest(
        self,
        paid: Sequence[Fraction],
        room: Sequence[int],
        most: int,
        prices: Mapping[int, Fraction],
        closed: Set[int] = frozenset(),
    ) -> list[Fraction | None]:
        """Return the least prices of rings of 0 .. ``most`` workers, None where no tree holds so many.

        Parameters
        ----------
        paid, room
            For one worker on each server, and how many it holds.
        prices
            Of crossing a link, by its position.
        closed
            Links that the ring may not cross.
        """
        unit = math.lcm(*(price.denominator for price in (*paid, *prices.values())))
        least: list[int | None] = [0] + [None] * most
        below: dict[int, list[int]] = {}
        for node in reversed(self.order):
            held = below.pop(node, [0])
            server = self.server.get(node)
            if server is not None:
                each = int(paid[server] * unit)
                held = _together(held, [k * each for k in range(min(room[server], most) + 1)], most)
            for k, price in enumerate(held):
                known = least[k]
                least[k] = price if known is None else min(price, known)
            above = self.above[node]
            if above is not None and above[1] not in closed and len(held) > 1:
                crossing = int(prices.get(above[1], Fraction(0)) * unit)
                given = [0, *(price + crossing for price in held[1:])]
                below[above[0]] = _together(below[above[0]], given, most) if above[0] in below else given
        return [None if price is None else Fraction(price, unit) for price in least]


def _together(first: Sequence[int], second: Sequence[int], most: int) -> list[int]:
    """Least sums of prices of k workers in two places; every number of workers up to the last fits in each."""
    return [
        min(first[a] + second[k - a] for a in range(max(0, k - len(second) + 1), min(k, len(first) - 1) + 1))
        for k in range(min(most, len(first) + len(second) - 2) + 1)
    ]
