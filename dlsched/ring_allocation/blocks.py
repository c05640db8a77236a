"""Blocks of the jobs of an instance: what a worker needs of them, and what it answers; see ``allocation.blocks``."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from dlsched.allocation.blocks import JOBS, JobBlock
from dlsched.allocation.cost_table import CostTable
from dlsched.certificates.exact import condensed, exact_sum
from dlsched.core.arrays import IntArray
from dlsched.core.files import canonical_sha256
from dlsched.core.instance import InstanceFile
from dlsched.core.limits import Tick, no_tick
from dlsched.core.texts import text_of
from dlsched.processes.dask_blocks import Blocks, Cluster
from dlsched.ring_allocation.certificate import least_terms
from dlsched.ring_allocation.costs import allowed_most, table_up_to, useful
from dlsched.ring_allocation.instance import Instance


@contextmanager
def in_blocks(instance: "Instance | InstanceAfar", cluster: Cluster, tick: Tick) -> Iterator[Blocks[JobBlock]]:
    """Have the workers of a cluster hold the jobs; errors as ``Cluster.blocks`` has them."""
    if isinstance(instance, InstanceAfar):
        instance.blocks.tick = tick
        yield instance.blocks
        return
    laws = reach = np.empty(0, dtype=np.int64)
    if any(job.epoch_time_s is None for job in instance.jobs):  # how far a law is useful depends on all
        arrays = instance.arrays
        laws, reach = arrays.laws, useful(instance, allowed_most(arrays, len(instance.jobs), instance.gpus))

    def make(number: int) -> RingBlock:
        first = number * JOBS
        part = Instance.model_construct(name="", gpus=instance.gpus, jobs=instance.jobs[first : first + JOBS])
        begin, end = np.searchsorted(laws, (first, first + JOBS))
        return RingBlock(part, first, len(instance.jobs), reach[begin:end])

    with cluster.blocks(make, -(-len(instance.jobs) // JOBS), tick) as blocks:
        yield blocks


class RingBlock(JobBlock):
    """Jobs of a block: an instance of them alone, or what a worker makes it by.

    ``all_jobs``: their number in the whole instance; ``reach``: useful counts of those with a law.
    """

    def __init__(self, part: Instance | Callable[[], Instance], first: int, all_jobs: int, reach: IntArray) -> None:
        self._state = part, first, all_jobs, reach
        self.first = first

    def __reduce__(self) -> tuple[type["RingBlock"], tuple[Instance | Callable[[], Instance], int, int, IntArray]]:
        return type(self), self._state

    @cached_property
    def _part(self) -> Instance:
        part = self._state[0]
        return part if isinstance(part, Instance) else part()

    def facts(self) -> tuple[list[str], int, float]:
        """Ids, smallest counts added up, and a bound on all times; InstanceError: as what makes the instance."""
        return [job.id for job in self._part.jobs], self._part.minimum_gpus, self._part.at_most_s()

    def text(self) -> bytes:
        """Canonical JSON of the jobs, without brackets."""
        return text_of(self._part.hashed().jobs, ",", canonical=True).encode()

    @cached_property
    def table(self) -> CostTable:
        """Costs of all counts that a best price may need."""
        arrays, (_, _, all_jobs, reach) = self._part.arrays, self._state
        return table_up_to(arrays, allowed_most(arrays, all_jobs, self._part.gpus), reach)

    def below(self, price: float) -> tuple[list[float], Fraction, int]:
        """Return the exact sum of the least costs, with the counts yet to be paid."""
        terms, rest, units = least_terms(self._part, price, no_tick)
        return condensed(terms), exact_sum(rest), units


@dataclass(frozen=True)
class InstanceAfar:
    """An instance whose jobs workers have read, and they alone: what its bound needs, and its hash while they hold the jobs.

    ``head`` is the instance of the first job alone. Whatever else is asked for is of the ``whole``, which is then made.
    """

    head: Instance
    blocks: Blocks[RingBlock]
    minimum_gpus: int
    make: Callable[[], InstanceFile]

    @cached_property
    def whole(self) -> InstanceFile:
        """The instance with its jobs."""
        return self.make()

    @cached_property
    def sha256(self) -> str:
        """The hash of the instance, of the text that workers make of their jobs."""
        return canonical_sha256(self.head.canonical_data() | {"jobs": iter(self.blocks.ask(RingBlock.text))})

    def __getattr__(self, name: str) -> object:
        of_jobs = name not in ("family", "name", "known", "gpus", "capacity")
        return getattr(self.whole if of_jobs else self.head, name)
