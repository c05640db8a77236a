"""The instance of ring_embedding: a network with servers, slots of time, and jobs that form rings in it.

==========================  =====================================================================================
code                        mathematics
==========================  =====================================================================================
``slots``                   T; slots are 1 .. T
``nodes``                   switches and servers; a server has a ``capacity`` = C_s^r of every resource r it has
``links``                   full duplex: ``bandwidth_bytes_per_s`` = B_e holds in each direction
``paths``                   routes between servers that may be neighbours in a ring, used in both directions;
                            None: the network is a forest, and every route its one path
``jobs``                    1 .. I
``arrival_slot``            a_i
``max_workers``             N_i, in one slot
``demand``, ``budget``      l_i^r of one worker, and F_i^r for l_i^r times all worker-slots; no budget: unlimited
``bandwidth_bytes_per_s``   b_i, between neighbours of the job's ring
``rate``                    zeta_i
``utility``                 mu_i of zeta_i times the job's worker-slots
==========================  =====================================================================================
"""

from collections.abc import Iterable, Mapping
from functools import cached_property
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    Field,
    PlainSerializer,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from dlsched.core.frozen import FrozenMapping
from dlsched.core.instance import STRICT, Count, InstanceFile, Name, NonNegative, Positive, require_unique_ids
from dlsched.core.messages import Refused

_LEAST, _MOST = 1e-100, 1e100
_ALLOWED = "0, or a number from 1e-100 to 1e100"


def _moderate(value: float) -> float:
    if value != 0 and not _LEAST <= value <= _MOST:
        raise Refused(f"{value}", _ALLOWED)
    return value


_Amount = Annotated[NonNegative, AfterValidator(_moderate)]
_Size = Annotated[Positive, AfterValidator(_moderate)]
_Amounts = Annotated[
    Mapping[Name, _Amount],
    AfterValidator(lambda amounts: FrozenMapping(amounts)),
    PlainSerializer(lambda amounts: dict(amounts)),
]
_Pair = Annotated[tuple[Name, Name], Field(strict=False)]


class Node(BaseModel):
    """A switch, or a server when it has a ``capacity``: how much of every resource; none of those it does not name."""

    model_config = STRICT

    id: Name
    capacity: Annotated[_Amounts, Field(min_length=1)] | None = None


class Link(BaseModel):
    """A full-duplex link between two nodes; its bandwidth, B/s, holds in each direction."""

    model_config = STRICT

    ends: _Pair
    bandwidth_bytes_per_s: _Size


class Path(BaseModel):
    """The route between two servers: its nodes from the first to the second; the way back is the same."""

    model_config = STRICT

    ends: _Pair
    nodes: Annotated[tuple[Name, ...], Field(strict=False, min_length=2)]


class _Utility(BaseModel):
    model_config = STRICT
    kind: str

    @model_serializer(mode="wrap")
    def _with_kind(self, fields: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {"kind": self.kind} | dict(fields(self))


class Sqrt(_Utility):
    """scale * sqrt(x)."""

    kind: Literal["sqrt"] = "sqrt"
    scale: _Size


class Log(_Utility):
    """scale * ln(1 + x)."""

    kind: Literal["log"] = "log"
    scale: _Size


class Capped(_Utility):
    """min(slope * x, cap)."""

    kind: Literal["capped"] = "capped"
    slope: _Size
    cap: _Size


class Sigmoid(_Utility):
    """height / (1 + exp(-steepness (x - midpoint))): convex up to the midpoint, concave from there."""

    kind: Literal["sigmoid"] = "sigmoid"
    height: _Size
    steepness: _Size
    midpoint: _Amount


Utility = Annotated[Sqrt | Log | Capped | Sigmoid, Field(discriminator="kind")]


class Job(BaseModel):
    """A ring all-reduce job; it can be stopped and moved between slots at no cost.

    Parameters
    ----------
    id
        Its name, unique in the instance.
    arrival_slot
        The first slot in which it may run.
    max_workers
        Workers that it can use in one slot.
    demand
        What one worker takes of each resource; > 0 of at least one.
    budget
        What it may use of a resource over all slots; unlimited where nothing is said.
    bandwidth_bytes_per_s
        Reserved from each server of its ring to the next.
    rate
        Samples (or any unit of progress) that one worker adds in one slot, > 0.
    utility
        Worth of the progress made in all slots.
    """

    model_config = STRICT

    id: Name
    arrival_slot: Count = 1
    max_workers: Count
    demand: Annotated[_Amounts, Field(min_length=1)]
    budget: _Amounts = Field(default_factory=lambda: FrozenMapping({}))
    bandwidth_bytes_per_s: _Amount
    rate: _Size
    utility: Utility

    @model_validator(mode="after")
    def _takes_something(self) -> Self:
        if not any(self.demand.values()):
            raise Refused("no resource with a demand > 0", "at least one", "demand")
        return self


class Instance(InstanceFile):
    """A network, slots, and jobs.

    Raises
    ------
    InstanceError
        Names the field, what was found and what is allowed.

    >>> job = Job(id="a", max_workers=2, demand={"gpu": 1}, bandwidth_bytes_per_s=1, rate=1, utility=Sqrt(scale=1))
    >>> Instance(name="one", slots=2, nodes=[Node(id="s0", capacity={"gpu": 4})], links=[], jobs=[job]).resources
    ('gpu',)
    """

    family: ClassVar[str] = "ring_embedding"
    unions: ClassVar[frozenset[str]] = frozenset({"utility"})

    slots: Count
    nodes: Annotated[tuple[Node, ...], Field(strict=False, min_length=1)]
    links: Annotated[tuple[Link, ...], Field(strict=False)]
    paths: Annotated[tuple[Path, ...], Field(strict=False)] | None = None
    jobs: Annotated[tuple[Job, ...], Field(strict=False, min_length=1)]

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        require_unique_ids([node.id for node in self.nodes], "nodes")
        require_unique_ids([job.id for job in self.jobs], "jobs")
        if not self.servers:
            raise Refused("no node with a capacity", "at least one server", "nodes")
        self._require_links()
        if self.paths is None:
            self._require_forest()
        else:
            self._require_paths(self.paths)
        for place, job in enumerate(self.jobs):
            if job.arrival_slot > self.slots:
                raise Refused(f"{job.arrival_slot}", f"a slot from 1 to {self.slots}", "jobs", place, "arrival_slot")
        return self

    def _require_links(self) -> None:
        known = {node.id for node in self.nodes}
        seen: dict[frozenset[str], int] = {}
        for place, link in enumerate(self.links):
            for end in link.ends:
                if end not in known:
                    raise Refused(f"{end[:60]!r}", "the id of a node", "links", place, "ends")
            if link.ends[0] == link.ends[1]:
                raise Refused("a link from a node to itself", "two different ends", "links", place, "ends")
            first = seen.setdefault(frozenset(link.ends), place)
            if first != place:
                raise Refused(f"the ends of links[{first}] too", "one link between two nodes", "links", place, "ends")

    def _require_forest(self) -> None:
        root = {node.id: node.id for node in self.nodes}

        def top(name: str) -> str:
            while root[name] != name:
                root[name] = root[root[name]]
                name = root[name]
            return name

        for place, link in enumerate(self.links):
            first, second = map(top, link.ends)
            if first == second:
                raise Refused("a cycle of links", "a forest, or the field paths", "links", place)
            root[first] = second

    def _require_paths(self, paths: Iterable[Path]) -> None:
        servers = {server.id for server in self.servers}
        linked = {link.ends for link in self.links} | {link.ends[::-1] for link in self.links}
        seen: dict[frozenset[str], int] = {}
        for place, path in enumerate(paths):
            for end in path.ends:
                if end not in servers:
                    raise Refused(f"{end[:60]!r}", "the id of a server", "paths", place, "ends")
            if path.ends[0] == path.ends[1]:
                raise Refused("a path from a server to itself", "two different servers", "paths", place, "ends")
            first = seen.setdefault(frozenset(path.ends), place)
            if first != place:
                raise Refused(f"the ends of paths[{first}] too", "one path between two servers", "paths", place, "ends")
            if (path.nodes[0], path.nodes[-1]) != path.ends:
                raise Refused(
                    "other nodes at its ends", "the nodes from the first of ends to the second", "paths", place, "nodes"
                )
            if len(set(path.nodes)) < len(path.nodes):
                raise Refused("a node twice", "every node once", "paths", place, "nodes")
            for step, hop in enumerate(pairwise(path.nodes)):
                if hop not in linked:
                    raise Refused(
                        f"{hop[1][:60]!r}", f"a node linked to {hop[0][:60]!r}", "paths", place, "nodes", step + 1
                    )

    @cached_property
    def servers(self) -> tuple[Node, ...]:
        """Nodes with a capacity, in the order of the file."""
        return tuple(node for node in self.nodes if node.capacity is not None)

    @cached_property
    def resources(self) -> tuple[str, ...]:
        """Resources that some job demands, in the order in which they appear."""
        return tuple(dict.fromkeys(name for job in self.jobs for name, amount in job.demand.items() if amount > 0))

    @property
    def one_slot(self) -> bool:
        """Whether every job arrives in the last slot, so that it has no other."""
        return all(job.arrival_slot == self.slots for job in self.jobs)

    @cached_property
    def server_index(self) -> dict[str, int]:
        """Position of every server in ``servers`` by its id."""
        return {server.id: place for place, server in enumerate(self.servers)}

    @cached_property
    def index(self) -> dict[str, int]:
        """Position of every job by its id."""
        return {job.id: place for place, job in enumerate(self.jobs)}
