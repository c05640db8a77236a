"""The instance of ring_embedding: a network with servers, slots of time, and jobs that form rings in it.

==========================  =====================================================================================
code                        mathematics
==========================  =====================================================================================
``slots``                   T; slots are 1 .. T
``nodes``                   switches and servers; a server has a ``capacity`` = C_s^r of every resource r it has
``links``                   full duplex: ``bandwidth_bytes_per_s`` = B_e holds in each direction
``paths``                   routes between servers that may be neighbours in a ring, used in both directions;
                            None: the network is a forest, and every route its one path
``jobs``                    1 .. I; what stands of them in the mathematics, ``Job`` says
``slot_s``                  seconds of a slot, which matter to energy only
``energy_price_per_kwh``    what a kilowatt-hour costs, in the unit of utility
``on_prices``               e_s = price P_s slot_s / 3.6e6, of server s being on in a slot: P_s its ``power_on_w``
``worker_prices``           e_i, the same of a worker of job i in a slot, by its ``worker_power_w``
``objective``               ``sum``: sum_i mu_i less the price of energy; ``max_min``: the least mu_i, lexicographic
==========================  =====================================================================================
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Self, Unpack

from pydantic import Field, model_validator

from dlsched.cluster.network import Amount, Amounts, Link, Node, Path, Size, require_network
from dlsched.cluster.utility import RANGES as OF_UTILITIES
from dlsched.cluster.utility import Utility
from dlsched.core.instance import Count, Head, InstanceFile, Name, require_unique_ids
from dlsched.core.messages import Refused
from dlsched.core.part import Data, Part
from dlsched.core.ranges import Range, Ranges
from dlsched.core.result import FrozenMapping

_THIN = Range(usual=(3.75e8, 1e9), tested=(0.25, 8))
RANGES: Ranges = {
    "slot_s": Range(ties=(3600, 60, 1e5)),
    "energy_price_per_kwh": Range(ties=(1, 0.25, 0)),
    "nodes[].capacity{}": Range(choices=(1, 2), ties=(1, 2), edges=(0.9, 1.5, 3, 4), tested=(0.25, 8)),
    "nodes[].power_on_w": Range(usual=(300, 800), ties=(0.2, 0, 0.5, 1, 4), tested=(0.01, 2)),
    "links[].bandwidth_bytes_per_s": replace(_THIN, searched=(1e9, 1e9), ties=(1, 2), edges=(1, 0.3, 3, 4, 16)),
    "jobs[].max_workers": Range(usual=(3, 8), of_presets=(1, 8)),
    "jobs[].demand{}": Range(ties=(1,), edges=(1, 0.5, 0.3, 2, 3), tested=(0.25, 8)),
    "jobs[].budget{}": Range(ties=(2, 0, 0.9, 1, 2.5, 4), tested=(0.25, 8)),
    "jobs[].bandwidth_bytes_per_s": replace(
        _THIN, searched=(1e8, 1e9), of_presets=(2e8, 2e9), ties=(1,), edges=(1, 0, 0.1, 0.5, 2, 3)
    ),
    "jobs[].rate": Range(
        usual=(0.05, 0.5),
        searched=(0.1, 10.0),
        of_presets=(0.01, 1000),
        ties=(1,),
        edges=(0.5, 2, 100),
        tested=(0.25, 8),
    ),
    "jobs[].worker_power_w": Range(usual=(200, 400), ties=(0, 0, 0.1, 0.5), tested=(0.01, 1)),
    **{f"jobs[].utility.{name}": each for name, each in OF_UTILITIES.items()},
}

_LEAST, _MOST = Fraction(1, 10**100), Fraction(10**100)


class Job(Part):
    """A ring all-reduce job; it can be stopped and moved between slots at no cost.

    Parameters
    ----------
    id
        Its name, unique in the instance.
    arrival_slot
        a_i, the first slot in which it may run.
    max_workers
        N_i, the workers that it can use in one slot.
    demand
        l_i^r, what one worker takes of each resource; > 0 of at least one.
    budget
        F_i^r, what it may use of a resource over all slots, l_i^r a worker-slot; unlimited where nothing is said.
    bandwidth_bytes_per_s
        b_i, reserved from each server of its ring to the next.
    rate
        zeta_i, samples (or any unit of progress) that one worker adds in one slot, > 0.
    utility
        mu_i, the utility of the progress made in all slots.
    worker_power_w
        What one worker takes while it runs, watts.
    """

    unions: ClassVar[frozenset[str]] = frozenset({"utility"})

    id: Name
    arrival_slot: Count = 1
    max_workers: Count
    demand: Annotated[Amounts, Field(min_length=1)]
    budget: Amounts = Field(default_factory=lambda: FrozenMapping({}))
    bandwidth_bytes_per_s: Amount
    rate: Size
    utility: Utility
    worker_power_w: Amount = 0.0

    if TYPE_CHECKING:

        def __init__(
            self,
            *,
            id: str,
            arrival_slot: int = 1,
            max_workers: int,
            demand: Mapping[str, float],
            budget: Mapping[str, float] = FrozenMapping({}),
            bandwidth_bytes_per_s: float,
            rate: float,
            utility: Utility | Data,
            worker_power_w: float = 0.0,
        ) -> None: ...

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

    >>> from dlsched.ring_embedding import Node, Sqrt
    >>> job = Job(id="a", max_workers=2, demand={"gpu": 1}, bandwidth_bytes_per_s=1, rate=1, utility=Sqrt(scale=1))
    >>> Instance(name="one", slots=2, nodes=[Node(id="s0", capacity={"gpu": 4})], links=[], jobs=[job]).resources
    ('gpu',)
    """

    family: ClassVar[str] = "ring_embedding"
    unions: ClassVar[frozenset[str]] = Job.unions

    slots: Count
    nodes: Annotated[tuple[Node, ...], Field(strict=False, min_length=1)]
    links: Annotated[tuple[Link, ...], Field(strict=False)]
    paths: Annotated[tuple[Path, ...], Field(strict=False)] | None = None
    jobs: Annotated[tuple[Job, ...], Field(strict=False, min_length=1)]
    slot_s: Size = 3600.0
    energy_price_per_kwh: Amount = 0.0
    objective: Literal["sum", "max_min"] = "sum"

    if TYPE_CHECKING:

        def __init__(
            self,
            *,
            slots: int,
            nodes: Sequence[Node | Data],
            links: Sequence[Link | Data],
            paths: Sequence[Path | Data] | None = None,
            jobs: Sequence[Job | Data],
            slot_s: float = 3600.0,
            energy_price_per_kwh: float = 0.0,
            objective: Literal["sum", "max_min"] = "sum",
            **head: Unpack[Head],
        ) -> None: ...

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        require_unique_ids([node.id for node in self.nodes], "nodes")
        require_unique_ids([job.id for job in self.jobs], "jobs")
        if not self.servers:
            raise Refused("no node with a capacity", "at least one server", "nodes")
        require_network(self.nodes, self.links, self.paths)
        for index, job in enumerate(self.jobs):
            if job.arrival_slot > self.slots:
                raise Refused(f"{job.arrival_slot}", f"a slot from 1 to {self.slots}", "jobs", index, "arrival_slot")
        if self.objective == "max_min" and self.energy_price_per_kwh > 0:
            raise Refused(f"{self.energy_price_per_kwh}", "0 with the objective max_min", "energy_price_per_kwh")
        for index, price in enumerate(self.worker_prices):
            self._require_moderate(price, "jobs", index, "worker_power_w")
        for index, node in enumerate(self.nodes):
            self._require_moderate(self.price_of(node.power_on_w), "nodes", index, "power_on_w")
        return self

    @staticmethod
    def _require_moderate(price: Fraction, *where: str | int) -> None:
        if price and not _LEAST <= price <= _MOST:
            allowed = "energy of a slot that costs 0, or 1e-100 to 1e100"
            raise Refused(f"a price of {float(price) if price < _MOST else math.inf} a slot", allowed, *where)

    def price_of(self, power_w: float) -> Fraction:
        """What it costs to take this power for a slot, exactly: price x watts x seconds / 3.6e6."""
        return Fraction(self.energy_price_per_kwh) * Fraction(power_w) * Fraction(self.slot_s) / 3_600_000

    @cached_property
    def on_prices(self) -> tuple[Fraction, ...]:
        """e_s of every server, in the order of ``servers``."""
        return tuple(self.price_of(server.power_on_w) for server in self.servers)

    @cached_property
    def worker_prices(self) -> tuple[Fraction, ...]:
        """e_i of every job."""
        return tuple(self.price_of(job.worker_power_w) for job in self.jobs)

    @property
    def charges(self) -> bool:
        """Whether energy costs anything."""
        return any(self.on_prices) or any(self.worker_prices)

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
        return {server.id: index for index, server in enumerate(self.servers)}
