"""Blocks of the jobs of an instance: what a worker needs of them, and what it answers; see ``allocation.blocks``."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from dlsched.allocation.blocks import JOBS, JobBlock
from dlsched.allocation.cost_table import CostTable
from dlsched.certificates.exact import condensed, exact_sum
from dlsched.core.arrays import IntArray
from dlsched.core.limits import Tick, no_tick
from dlsched.processes.dask_blocks import Blocks, Cluster
from dlsched.ring_allocation.arrays import JobArrays
from dlsched.ring_allocation.certificate import least_terms
from dlsched.ring_allocation.costs import allowed_most, table_up_to, useful
from dlsched.ring_allocation.instance import Instance


@contextmanager
def in_blocks(instance: Instance, cluster: Cluster, tick: Tick) -> Iterator[Blocks[JobBlock]]:
    """Have the workers of a cluster hold the jobs; errors as ``Cluster.blocks`` has them."""
    laws = reach = np.empty(0, dtype=np.int64)
    if any(job.epoch_time_s is None for job in instance.jobs):  # how far a law is useful depends on all
        arrays = instance.arrays
        laws, reach = arrays.laws, useful(instance, allowed_most(arrays, len(instance.jobs), instance.gpus))

    def make(number: int) -> JobBlock:
        return RingBlock(instance, number, laws, reach)

    with cluster.blocks(make, -(-len(instance.jobs) // JOBS), tick) as blocks:
        yield blocks


class RingBlock(JobBlock):
    """Jobs of a block, by its number, as arrays; ``laws``: positions of all jobs with a law, ``reach``: their useful counts."""

    def __init__(self, instance: Instance, number: int, laws: IntArray, reach: IntArray) -> None:
        self.first = number * JOBS
        here = slice(self.first, self.first + JOBS)
        jobs = instance.jobs[here]
        self._arrays, self._gpus = replace(instance.arrays_of(jobs), ids=()), instance.gpus
        self._laws = {index: job for index, job in enumerate(jobs) if job.epoch_time_s is None}
        begin, end = np.searchsorted(laws, (here.start, here.stop))
        self._reach, self._all = reach[begin:end], len(instance.jobs)

    def __getstate__(self) -> dict[str, object]:
        """Counts travel in as few bytes as they need."""
        counts = self._arrays.counts
        narrow = counts.astype(np.min_scalar_type(int(counts.max(initial=0))))
        return {**self.__dict__, "_arrays": replace(self._arrays, counts=narrow)}

    def __setstate__(self, state: dict[str, object]) -> None:
        arrays = state["_arrays"]
        assert isinstance(arrays, JobArrays)
        self.__dict__ |= state | {"_arrays": replace(arrays, counts=arrays.counts.astype(np.int64))}

    @cached_property
    def table(self) -> CostTable:
        """Costs of all counts that a best price may need."""
        return table_up_to(self._arrays, allowed_most(self._arrays, self._all, self._gpus), self._reach)

    def below(self, price: float) -> tuple[list[float], Fraction, int]:
        """Return the exact sum of the least costs, with the counts yet to be paid."""
        terms, rest, units = least_terms(self._arrays, self._laws, self._gpus, price, no_tick)
        return condensed(terms), exact_sum(rest), units
