"""The cheapest ring of n workers in a forest when servers and links have prices: a dynamic program over subtrees.

f_v(k), the least price of k workers at and below node v, adds up over the subtrees of v, whose upward links are crossed
where they hold workers; the ring of n workers whose topmost node is v costs f_v(n). O(V n^2) for V nodes, in whole numbers
of a unit that divides all prices.
"""

import math
from collections.abc import Mapping, Sequence, Set
from fractions import Fraction

from dlsched.cluster.forest import forest
from dlsched.ring_embedding.instance import Instance


class Tree:
    """A forest in depth-first order, with the link above each node and the server at it."""

    def __init__(self, instance: Instance) -> None:
        names = [node.id for node in instance.nodes]
        self._walked = forest(names, (link.ends for link in instance.links))
        index = {server.id: number for number, server in enumerate(instance.servers)}
        self._server = [index.get(names[node]) for node in self._walked.nodes]

    def parts(self, closed: Set[int] = frozenset()) -> list[list[int]]:
        """Servers of every tree, when these links are taken away."""
        top: list[int] = []
        found: dict[int, list[int]] = {}
        for node, (above, link) in enumerate(zip(self._walked.above, self._walked.upward, strict=True)):
            top.append(node if above < 0 or link in closed else top[above])
            server = self._server[node]
            if server is not None:
                found.setdefault(top[node], []).append(server)
        return list(found.values())

    def cheapest(
        self,
        paid: Sequence[Fraction],
        room: Sequence[int],
        most: int,
        prices: Mapping[int, Fraction],
        closed: Set[int] = frozenset(),
    ) -> list[Fraction | None]:
        """Return the least prices of rings of 0 .. ``most`` workers, None where no tree holds that many.

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
        for node in range(len(self._server) - 1, -1, -1):
            held = below.pop(node, [0])
            server = self._server[node]
            if server is not None:
                each = int(paid[server] * unit)
                held = _together(held, [k * each for k in range(min(room[server], most) + 1)], most)
            for k, price in enumerate(held):
                known = least[k]
                least[k] = price if known is None else min(price, known)
            above, link = self._walked.above[node], self._walked.upward[node]
            if above >= 0 and link not in closed and len(held) > 1:
                crossing = int(prices.get(link, Fraction(0)) * unit)
                given = [0, *(price + crossing for price in held[1:])]
                below[above] = _together(below[above], given, most) if above in below else given
        return [None if price is None else Fraction(price, unit) for price in least]


def _together(first: Sequence[int], second: Sequence[int], most: int) -> list[int]:
    """Least sums of prices of k workers in two places; every number of workers up to the last fits in each."""
    return [
        min(first[a] + second[k - a] for a in range(max(0, k - len(second) + 1), min(k, len(first) - 1) + 1))
        for k in range(min(most, len(first) + len(second) - 2) + 1)
    ]
