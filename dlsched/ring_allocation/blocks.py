"""Blocks of the jobs of an instance: what a worker needs of them, and what it answers; see ``allocation.blocks``."""

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import chain

import numpy as np

from dlsched.allocation.blocks import JOBS, JobBlock
from dlsched.allocation.cost_table import CostTable
from dlsched.certificates.exact import condensed, exact_sum
from dlsched.core.arrays import IntArray
from dlsched.core.errors import InstanceError, SolverError
from dlsched.core.files import GZ, canonical, canonical_sha256, decoded, lines_of_list, path_of, read_bytes
from dlsched.core.instance import InstanceFile
from dlsched.core.limits import Tick, no_tick
from dlsched.families import LARGE, PARQUET, by_entries, instance_of, read, reading
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


@dataclass(frozen=True)
class Places:
    """Parts of a file of this machine, as it was at its ``stamp``."""

    path: str
    stamp: tuple[int, ...]
    places: tuple[tuple[int, int], ...]

    def text(self) -> bytes:
        """Read them, one after the other; InstanceError: the file has changed since."""
        with open(self.path, "rb") as file:
            if stamp(self.path) != self.stamp:
                raise InstanceError("the file has changed")
            return b"".join([os.pread(file.fileno(), end - begin, begin) for begin, end in self.places])


def stamp(path: str) -> tuple[int, ...]:
    """Return what changes when a file does."""
    of_file = os.stat(path)
    return of_file.st_dev, of_file.st_ino, of_file.st_size, of_file.st_mtime_ns


class RingBlock(JobBlock):
    """Jobs of a block: an instance of them alone, or the text of its file, or where that is, which a worker reads.

    ``all_jobs``: their number in the whole instance; ``reach``: useful counts of those with a law.
    """

    def __init__(self, part: Instance | Places | bytes, first: int, all_jobs: int, reach: IntArray) -> None:
        self._state = part, first, all_jobs, reach
        self.first = first

    def __reduce__(self) -> tuple[type["RingBlock"], tuple[Instance | Places | bytes, int, int, IntArray]]:
        return type(self), self._state

    @cached_property
    def _part(self) -> Instance:
        part = self._state[0]
        if isinstance(part, Instance):
            return part
        with reading():
            found = by_entries(decoded(part.text() if isinstance(part, Places) else part, "a block"))
        if not isinstance(found, Instance):
            raise InstanceError("a block of jobs is not valid by itself")
        return found

    def facts(self) -> tuple[list[str], int, float]:
        """Ids, smallest counts added up, and a bound on all times; InstanceError: the text needs a closer look."""
        return [job.id for job in self._part.jobs], self._part.minimum_gpus, self._part.at_most_s()

    def text(self) -> bytes:
        """Canonical JSON of the jobs, without brackets."""
        return canonical(self._part.canonical_data()["jobs"])[1:-1].encode()

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

    ``head`` is the instance of the first job alone. Whatever else is asked for is read from ``raw``, the file, as usual.
    """

    head: Instance
    blocks: Blocks[RingBlock]
    minimum_gpus: int
    raw: bytes

    @cached_property
    def whole(self) -> InstanceFile:
        """The instance with its jobs."""
        return instance_of(self.raw, self.head.name)

    @cached_property
    def sha256(self) -> str:
        """The hash of the instance, of the text that workers make of their jobs."""
        return canonical_sha256(self.head.canonical_data() | {"jobs": iter(self.blocks.ask(RingBlock.text))})

    def __getattr__(self, name: str) -> object:
        of_jobs = name not in ("family", "name", "known", "gpus", "capacity")
        return getattr(self.whole if of_jobs else self.head, name)


@contextmanager
def read_in_blocks(path: str, cluster: Cluster) -> Iterator[InstanceFile | InstanceAfar]:
    """Have workers read a large file of tables; any other, and one that they refuse, is read as usual. Errors of both."""
    if path_of(path).endswith(PARQUET):
        yield read(path)
        return
    near = cluster.here and os.path.isfile(path) and not path.endswith(GZ)
    source = (os.path.abspath(path), stamp(path)) if near else None
    with reading():
        raw = read_bytes(path)
    with ExitStack() as stack:
        yield _read_afar(raw, source, cluster, stack) or instance_of(raw, path)


def _read_afar(
    raw: bytes, source: tuple[str, tuple[int, ...]] | None, cluster: Cluster, stack: ExitStack
) -> InstanceAfar | None:
    """Have workers read a file, and hold them until the stack closes; None: they cannot, or a job needs a closer look.

    ``source``: path and stamp of the file, if workers find it there; else they are sent its text.
    """
    spans = lines_of_list(raw, "jobs", JOBS) if len(raw) > LARGE and b'"speed_law"' not in raw else []
    if not spans:
        return None
    number, (begin, end) = sum(each for each, _ in spans), (spans[0][1][0], spans[-1][1][1])
    line = raw[begin : raw.index(b"\n", begin)].removesuffix(b",")
    none = np.empty(0, dtype=np.int64)

    def make(index: int) -> RingBlock:
        places = (0, begin), spans[index][1], (end, len(raw))
        part = b"".join([raw[slice(*each)] for each in places]) if source is None else Places(*source, places)
        return RingBlock(part, index * JOBS, number, none)

    try:
        with reading():
            head = by_entries(decoded(raw[:begin] + line + raw[end:], "the head"))
        if not isinstance(head, Instance):
            return None
        blocks = stack.enter_context(cluster.blocks(make, len(spans), no_tick))
        facts = blocks.ask(RingBlock.facts)
    except (InstanceError, SolverError, OverflowError):
        stack.close()
        return None
    # the rules of all jobs together; a sum near the largest float is left to the usual reading
    ids, minima, times_s = zip(*facts, strict=True)
    counted, unique = list(map(len, ids)) == [each for each, _ in spans], len({*chain(*ids)}) == number
    if counted and unique and sum(times_s) < sys.float_info.max / 2:
        return InstanceAfar(head, blocks, sum(minima), raw)
    stack.close()
    return None
