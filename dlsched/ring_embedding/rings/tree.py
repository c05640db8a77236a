"""A forest for proofs: sets of connected servers, and cheapest rings in exact arithmetic."""

from collections.abc import Mapping, Sequence, Set
from fractions import Fraction

from dlsched.algorithms.ring_sets import exact_least
from dlsched.cluster.network import forest
from dlsched.ring_embedding.instance import Instance


class Tree:
    """A forest in depth-first order."""

    def __init__(self, instance: Instance) -> None:
        names = [node.id for node in instance.nodes]
        self._walked = forest(names, (link.ends for link in instance.links))
        index = instance.server_index
        self._hosts = {n: index[names[node]] for n, node in enumerate(self._walked.nodes) if names[node] in index}

    def parts(self, closed: Set[int] = frozenset()) -> list[list[int]]:
        """Servers of every tree of the forest without the links ``closed``."""
        top: list[int] = []
        found: dict[int, list[int]] = {}
        for node, (above, link) in enumerate(zip(self._walked.above, self._walked.upward, strict=True)):
            top.append(node if above < 0 or link // 2 in closed else top[above])
            if node in self._hosts:
                found.setdefault(top[node], []).append(self._hosts[node])
        return list(found.values())

    def cheapest(
        self,
        paid: Sequence[Fraction],
        room: Sequence[int],
        most: int,
        prices: Mapping[int, Fraction],
        closed: Set[int] = frozenset(),
    ) -> list[Fraction | None]:
        """Least prices of rings of 0 .. ``most`` workers; None where no tree holds that many.

        ``paid``, ``room``: price of a worker on each server, and how many it holds; ``prices``: of crossing a link, by its
        index; ``closed``: links that the ring may not cross.
        """
        links = [upward // 2 for upward in self._walked.upward]
        crossing = [None if link in closed else prices.get(link, Fraction(0)) for link in links]
        return exact_least(self._walked.above, self._hosts, room, paid, crossing, most)
