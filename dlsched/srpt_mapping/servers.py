"""What stands in an instance of srpt_mapping beside its jobs: servers and how their GPUs are cut, groups, and where jobs run."""

from collections import defaultdict
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Self

from pydantic import Discriminator, Field, Tag, model_validator

from dlsched.cluster.slicing import GEOMETRIES, Geometry, Profile
from dlsched.core.instance import Count, Name, require_unique_ids
from dlsched.core.messages import FOUND, Refused
from dlsched.core.part import Data, Part

_MOST_SLOTS = 64  # of a GPU
_MILLI = 1000  # thousandths of a GPU
_Number = Annotated[int, Field(ge=0)]


class SlotProfile(Part):
    """A kind of slice: its name, how many slots it takes one after another, and at which it may begin, counted from 0."""

    id: Name
    size: Annotated[int, Field(ge=1, le=_MOST_SLOTS)]
    starts: Annotated[tuple[Annotated[int, Field(ge=0, lt=_MOST_SLOTS)], ...], Field(strict=False, min_length=1)]


class Slots(Part):
    """A geometry of one's own: slots of a GPU, and the profiles that slices may have."""

    slots: Annotated[int, Field(ge=1, le=_MOST_SLOTS)]
    profiles: Annotated[tuple[SlotProfile, ...], Field(strict=False, min_length=1)]

    @model_validator(mode="after")
    def _fit(self) -> Self:
        require_unique_ids([profile.id for profile in self.profiles], "profiles")
        for index, profile in enumerate(self.profiles):
            if max(profile.starts) + profile.size > self.slots:
                found = f"slots up to {max(profile.starts) + profile.size - 1}"
                raise Refused(found, f"0 to {self.slots - 1}", "profiles", index, "starts")
        return self


def _kind(value: object) -> str:
    """Whether a slicing is given by its name or by its slots."""
    return "name" if isinstance(value, str) else "slots"


Slicing = Annotated[Annotated[Name, Tag("name")] | Annotated[Slots, Tag("slots")], Discriminator(_kind)]


class Server(Part):
    """A server: its name, unique in the instance, how many GPUs it has, and the pools (partitions, queues) that may use it.

    ``slicing``: whether jobs may have slices of its GPUs: ``none``; ``shares``: any ``gpu_share``, as time slices and MPS give;
    a name of ``dlsched.cluster.slicing.GEOMETRIES``, or slots of one's own: profiles, as MIG gives.
    """

    id: Name
    gpus: Count
    pools: Annotated[tuple[Name, ...], Field(strict=False)] = ()
    slicing: Slicing = "none"

    if TYPE_CHECKING:

        def __init__(
            self, *, id: str, gpus: int, pools: Sequence[str] = (), slicing: "str | Slots | Data" = "none"
        ) -> None: ...

    @model_validator(mode="after")
    def _known_slicing(self) -> Self:
        if isinstance(self.slicing, str) and self.slicing not in ("none", "shares", *GEOMETRIES):
            allowed = f"none, shares, slots and profiles, or one of {', '.join(GEOMETRIES)}"
            raise Refused(f"{self.slicing[:FOUND]!r}", allowed, "slicing")
        return self

    @cached_property
    def geometry(self) -> Geometry | None:
        """The slots of a GPU; None: its GPUs are not cut into slots."""
        if isinstance(self.slicing, str):
            return GEOMETRIES.get(self.slicing)
        own = {profile.id: Profile(profile.size, profile.starts) for profile in self.slicing.profiles}
        return Geometry(self.slicing.slots, own)

    def has_slice(self, part: int | str | None) -> bool:
        """Whether its GPUs have such a slice, thousandths of a GPU or a profile; None: whole GPUs, which all have."""
        if isinstance(part, str):
            return self.geometry is not None and part in self.geometry.profiles
        return part is None or self.slicing == "shares"


class Group(Part):
    """A group of jobs, such as the tasks of an array, of which at most ``limit`` run at once."""

    id: Name
    limit: Count


class Held(Part):
    """Replicas of a stage, counted from 0, that run on a server, by its id.

    ``gpu``, or several ``gpus``, and ``slot``: where some job takes a slice, as solutions have them; else they mean nothing.
    """

    stage: _Number
    server: Name
    replicas: Count
    gpu: _Number | None = None
    gpus: Annotated[tuple[_Number, ...], Field(strict=False)] = ()
    slot: _Number | None = None

    @property
    def numbers(self) -> tuple[int, ...]:
        """Numbers of the GPUs; empty where they are not named."""
        return self.gpus if self.gpu is None else (self.gpu, *self.gpus)


class Room:
    """What jobs that have begun leave free; ``sliced``: whether GPUs of servers with slices are counted one by one."""

    def __init__(self, servers: Sequence[Server], *, sliced: bool) -> None:
        self._servers, self._sliced = {server.id: server for server in servers}, sliced
        self._free = {server.id: server.gpus for server in servers}
        self._used: defaultdict[tuple[str, int], int] = defaultdict(int)  # thousandths of GPUs, or masks of slots

    def take(self, part: Held, pool: str | None, need: int | str | None, *where: str | int) -> None:
        """Take what replicas of a job hold, whose slice is ``need``; Refused: an unknown server, or more than is free."""
        server, name = self._servers.get(part.server), f"{part.server[:FOUND]!r}"
        if server is None:
            raise Refused(name, "the id of a server", *where, "server")
        if pool is not None and pool not in server.pools:
            raise Refused(name, f"a server of pool {pool!r}", *where, "server")
        if self._sliced:
            self._take_gpus(part, server, need, *where)
        self._free[server.id] -= part.replicas if need is None else 0
        if self._free[server.id] < 0:
            found = f"{server.gpus - self._free[server.id]} GPUs of {name} held by jobs that have begun"
            raise Refused(found, f"the {server.gpus} that it has", *where, "replicas")

    def _take_gpus(self, part: Held, server: Server, need: int | str | None, *where: str | int) -> None:
        """Take the parts of GPUs by number; Refused as ``take``."""
        shape, name = server.geometry, f"{server.id[:FOUND]!r}"
        if not server.has_slice(need):
            raise Refused(f"{name}, which has no such slices", "a server that has them", *where, "server")
        count = 0 if server.slicing == "none" else part.replicas
        if len(part.numbers) != count:
            raise Refused(f"{len(part.numbers)} GPUs of {name} by number", f"{count}", *where)
        starts = shape.profiles[need].starts if shape and isinstance(need, str) else ()
        if part.slot not in (starts or (None,)):
            raise Refused(f"slot {part.slot}", ", ".join(map(str, sorted(starts))) or "none", *where, "slot")
        for gpu in part.numbers:
            if gpu >= server.gpus:
                raise Refused(f"GPU {gpu} of {name}", f"0 to {server.gpus - 1}", *where)
            before = self._used[server.id, gpu]
            if shape is None:
                after = before + (need if isinstance(need, int) else _MILLI)
                full = after > _MILLI
            else:
                size = shape.profiles[need].size if isinstance(need, str) else shape.slots
                mask = ((1 << size) - 1) << (part.slot or 0)
                after, full = before | mask, bool(before & mask)
            if full:
                raise Refused(f"GPU {gpu} of {name} taken by others that have begun", "what is free of it", *where)
            self._used[server.id, gpu] = after
