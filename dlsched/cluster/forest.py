"""Depth-first order of a forest, each tree from its middle, with paths and subtrees."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Forest:
    """Nodes in depth-first order, so that each comes after the one above it.

    ``nodes``: indices in the input list. By position in the order: ``above``, the position of the node above (-1 at a
    tree's top); ``upward``, the directed link to it (-1 at a top): link e is 2e from its first end to its second, 2e +
    1 back; ``part``, the number of the node's tree (ascending, with gaps).
    """

    nodes: tuple[int, ...]
    above: tuple[int, ...]
    upward: tuple[int, ...]
    part: tuple[int, ...]

    def path(self, here: int, there: int) -> tuple[int, ...] | None:
        """Directed links from one position of the order to another; None without a route."""
        if self.part[here] != self.part[there]:
            return None
        first: list[int] = []
        second: list[int] = []
        # The later position is never above the earlier one: climb from the later until both meet.
        while here != there:
            if here > there:
                first.append(self.upward[here])
                here = self.above[here]
            else:
                second.append(self.upward[there] ^ 1)
                there = self.above[there]
        return (*first, *reversed(second))

    def beneath(self, position: int, usable: Sequence[bool]) -> list[int]:
        """Ascending positions of the subtree at ``position``, over usable links."""
        reached = [position]
        known = {position}
        # In depth-first order a subtree is a run of positions, which ends at the first node linked above its top.
        for below in range(position + 1, len(self.above)):
            if self.above[below] < position:
                break
            if self.above[below] in known and usable[self.upward[below] // 2]:
                known.add(below)
                reached.append(below)
        return reached


def forest(nodes: Sequence[str], links: Iterable[tuple[str, str]]) -> Forest:
    """Walk the forest of these nodes and links.

    >>> walked = forest(["a", "b", "c"], [("a", "b"), ("b", "c")])
    >>> walked.nodes, walked.above, walked.upward
    ((1, 0, 2), (-1, 0, 0), (-1, 0, 3))
    """
    index = {name: number for number, name in enumerate(nodes)}
    neighbours: list[list[tuple[int, int]]] = [[] for _ in nodes]
    for number, ends in enumerate(links):
        first, second = (index[end] for end in ends)
        neighbours[first].append((second, 2 * number + 1))
        neighbours[second].append((first, 2 * number))
    # Depth-first walk with a stack; a ``top`` that another tree's walk reached before starts no tree of its own.
    position: dict[int, int] = {}
    found: list[tuple[int, int, int, int]] = []
    for part, top in enumerate(_from_the_middle(neighbours)):
        waiting = [] if top in position else [(top, -1, -1)]
        while waiting:
            here, above, over = waiting.pop()
            found.append((here, position.get(above, -1), over, part))
            position[here] = len(position)
            waiting += [(there, here, link) for there, link in reversed(neighbours[here]) if there != above]
    return Forest(*map(tuple, zip(*found, strict=True)))


def _from_the_middle(neighbours: Sequence[Sequence[tuple[int, int]]]) -> list[int]:
    """Order nodes of a forest: first those that remain longest if leaves are removed layer by layer."""
    degree = [len(linked) for linked in neighbours]
    leaves = [node for node, count in enumerate(degree) if count <= 1]
    order: list[int] = []
    gone: set[int] = set()
    # Peel leaves layer by layer; reversed, the order starts with the middle.
    while leaves:
        order += leaves
        gone |= set(leaves)
        later: list[int] = []
        for node in leaves:
            for there, _ in neighbours[node]:
                degree[there] -= 1
                if degree[there] == 1 and there not in gone:
                    later.append(there)
        leaves = later
    return order[::-1]
