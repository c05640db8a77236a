"""A network of servers and switches as an instance file holds it: nodes, full-duplex links, and listed paths or a forest.

Forests are numbered in depth-first order, each tree from its middle, which gives algorithms their paths and subtrees.
``Router`` is for checkers: a plain search by names of nodes, which algorithms do not use.
"""

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Self

from pydantic import AfterValidator, Field, PlainSerializer, model_validator

from dlsched.core.instance import Name, NonNegative, Positive
from dlsched.core.messages import Refused
from dlsched.core.part import Part
from dlsched.core.result import FrozenMapping


@dataclass(frozen=True, slots=True)
class Forest:
    """Nodes in depth-first order, so that each comes after the one above it; ``nodes``: indices in the input list.

    By position in the order: ``above``, the position of the node above (-1 at a tree's top); ``upward``, the directed link to it
    (-1 at a top; link e is 2e from its first end to its second, 2e + 1 back); ``part``, the number of the node's tree.
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


# The range in which products of amounts neither overflow nor underflow.
_LEAST, _MOST = 1e-100, 1e100


def _moderate(value: float) -> float:
    if value != 0 and not _LEAST <= value <= _MOST:
        raise Refused(f"{value}", "0, or a number from 1e-100 to 1e100")
    return value


Amount = Annotated[NonNegative, AfterValidator(_moderate)]
Size = Annotated[Positive, AfterValidator(_moderate)]
Amounts = Annotated[
    Mapping[Name, Amount],
    AfterValidator(lambda amounts: FrozenMapping(amounts)),
    PlainSerializer(lambda amounts: dict(amounts)),
]
_Pair = Annotated[tuple[Name, Name], Field(strict=False)]


class Node(Part):
    """A switch, or a server if it has a ``capacity``: its amount of each resource, 0 of resources omitted.

    ``power_on_w``: watts of a server that is on, beyond those of its workers.
    """

    id: Name
    capacity: Annotated[Amounts, Field(min_length=1)] | None = None
    power_on_w: Amount = 0.0

    @model_validator(mode="after")
    def _server_only(self) -> Self:
        if self.power_on_w and self.capacity is None:
            raise Refused(f"{self.power_on_w}", "0 for a node without a capacity", "power_on_w")
        return self

    def holds(self, resource: str) -> float:
        """Return the capacity of a resource, 0 for one that the node does not name."""
        return (self.capacity or {}).get(resource, 0.0)


class Link(Part):
    """A full-duplex link between two nodes; its bandwidth, B/s, holds in each direction."""

    ends: _Pair
    bandwidth_bytes_per_s: Size

    if TYPE_CHECKING:

        def __init__(self, *, ends: Sequence[str], bandwidth_bytes_per_s: float) -> None: ...


class Path(Part):
    """The route between two servers: its nodes from the first to the second; the way back is the same."""

    ends: _Pair
    nodes: Annotated[tuple[Name, ...], Field(strict=False, min_length=2)]

    if TYPE_CHECKING:

        def __init__(self, *, ends: Sequence[str], nodes: Sequence[str]) -> None: ...


def require_network(nodes: Sequence[Node], links: Sequence[Link], paths: Sequence[Path] | None) -> None:
    """Refuse unknown ends, duplicate links, invalid paths and (without paths) a cycle; ``Refused`` names the field."""
    known = {node.id for node in nodes}
    seen: dict[frozenset[str], int] = {}
    for index, link in enumerate(links):
        _require_ends("links", index, link.ends, known, seen, "node", "ends")
    if paths is None:
        _require_forest(known, links)
        return
    servers, seen = {node.id for node in nodes if node.capacity is not None}, {}
    linked = {link.ends for link in links} | {link.ends[::-1] for link in links}
    for index, path in enumerate(paths):
        _require_ends("paths", index, path.ends, servers, seen, "server", "servers")
        if (path.nodes[0], path.nodes[-1]) != path.ends:
            allowed = "the nodes from the first of ends to the second"
            raise Refused("other nodes at its ends", allowed, "paths", index, "nodes")
        if len(set(path.nodes)) < len(path.nodes):
            raise Refused("a node twice", "every node once", "paths", index, "nodes")
        for step, (here, there) in enumerate(pairwise(path.nodes), start=1):
            if (here, there) not in linked:
                raise Refused(f"{there[:60]!r}", f"a node linked to {here[:60]!r}", "paths", index, "nodes", step)


def _require_ends(
    field: str,
    index: int,
    ends: tuple[str, str],
    known: Set[str],
    seen: dict[frozenset[str], int],
    kind: str,
    kinds: str,
) -> None:
    """Refuse ends that are equal or unknown, or a pair of ends that an earlier entry has too."""
    entry = field[:-1]
    for end in ends:
        if end not in known:
            raise Refused(f"{end[:60]!r}", f"the id of a {kind}", field, index, "ends")
    if ends[0] == ends[1]:
        raise Refused(f"a {entry} from a {kind} to itself", f"two different {kinds}", field, index, "ends")
    first = seen.setdefault(frozenset(ends), index)
    if first != index:
        raise Refused(f"the ends of {field}[{first}] too", f"one {entry} between two {kind}s", field, index, "ends")


def _require_forest(nodes: Set[str], links: Sequence[Link]) -> None:
    # Union-find with path halving: a link inside one component closes a cycle.
    root = {name: name for name in nodes}

    def top(name: str) -> str:
        while root[name] != name:
            root[name] = root[root[name]]
            name = root[name]
        return name

    for index, link in enumerate(links):
        first, second = map(top, link.ends)
        if first == second:
            raise Refused("a cycle of links", "a forest, or the field paths", "links", index)
        root[first] = second


Route = tuple[str, ...]


class Router:
    """Routes between servers: the listed paths, or the unique path of a forest."""

    def __init__(self, nodes: Iterable[Node], links: Iterable[Link], paths: Iterable[Path] | None) -> None:
        self.known: dict[tuple[str, str], Route | None] = {}
        self.above: dict[str, str | None] = {}
        for path in paths or ():
            self.known |= {path.ends: path.nodes, path.ends[::-1]: path.nodes[::-1]}
        if paths is None:
            self._climb(nodes, links)

    def _climb(self, nodes: Iterable[Node], links: Iterable[Link]) -> None:
        """Set ``above`` of every node; None at a tree's top."""
        neighbours: dict[str, list[str]] = {node.id: [] for node in nodes}
        for first, second in (link.ends for link in links):
            neighbours[first].append(second)
            neighbours[second].append(first)
        for top in neighbours:
            waiting: list[tuple[str, str | None]] = [] if top in self.above else [(top, None)]
            while waiting:
                here, above = waiting.pop()
                self.above[here] = above
                waiting += [(there, here) for there in neighbours[here] if there != above]

    def __call__(self, here: str, there: str) -> Route | None:
        """Return the nodes from one server to another, None without a route."""
        if self.above and (here, there) not in self.known:
            self.known[here, there] = self._through_the_tree(here, there)
        return self.known.get((here, there))

    def _through_the_tree(self, here: str, there: str) -> Route | None:
        up, down = self._to_the_top(here), self._to_the_top(there)
        if up[-1] != down[-1]:
            return None
        # Drop the common part above the meeting node, which stays last in both.
        while len(up) > 1 and len(down) > 1 and up[-2] == down[-2]:
            up.pop()
            down.pop()
        return (*up, *reversed(down[:-1]))

    def _to_the_top(self, name: str) -> list[str]:
        path = [name]
        while (above := self.above[path[-1]]) is not None:
            path.append(above)
        return path
