"""The cheapest ring of n workers in a forest when servers and links have prices: a dynamic program over subtrees.

A link is crossed when some, but not all n, workers are below it. f_v(k), the least price of k
workers below node v, adds up over the subtrees of v; it is None where k do not fit. O(V n^2) for V nodes.
"""

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
        size: int,
        prices: Mapping[int, Fraction],
        closed: Set[int] = frozenset(),
    ) -> Fraction | None:
        """Return the least price of a ring of so many workers, None where no tree holds it.

        Parameters
        ----------
        paid, room
            For one worker on each server, and how many it holds.
        size
            Workers, >= 1.
        prices
            Of crossing a link, by its position.
        closed
            Links that the ring may not cross.
        """
        below: dict[int, list[Fraction | None]] = {}
        least: Fraction | None = None
        for node in self.order:
            server = self.server.get(node)
            held, each = (0, Fraction(0)) if server is None else (min(room[server], size), paid[server])
            below[node] = [k * each if k <= held else None for k in range(size + 1)]
        for node in reversed(self.order):
            above, values = self.above[node], below.pop(node)
            if above is None:
                found = values[size]
                if found is not None:
                    least = found if least is None else min(least, found)
                continue
            price = None if above[1] in closed else prices.get(above[1], Fraction(0))
            crossed = [
                value if k in (0, size) else None if value is None or price is None else value + price
                for k, value in enumerate(values)
            ]
            below[above[0]] = _together(below[above[0]], crossed)
        return least


def _together(first: Sequence[Fraction | None], second: Sequence[Fraction | None]) -> list[Fraction | None]:
    both: list[Fraction | None] = [None] * len(first)
    for a, one in enumerate(first):
        for b, other in enumerate(second[: len(first) - a]):
            if one is not None and other is not None:
                held = both[a + b]
                both[a + b] = one + other if held is None else min(held, one + other)
    return both
