"""A network of servers and switches as an instance file holds it: nodes, full-duplex links, and listed paths or a forest."""

from collections.abc import Mapping, Sequence, Set
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Self

from pydantic import AfterValidator, Field, PlainSerializer, model_validator

from dlsched.core.frozen import FrozenMapping
from dlsched.core.instance import Name, NonNegative, Positive
from dlsched.core.messages import Refused
from dlsched.core.part import Part

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
