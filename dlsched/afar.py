"""Large files of ring_allocation whose jobs the workers of a cluster read: some lines each."""

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from itertools import accumulate, chain

import numpy as np

from dlsched.core.errors import InstanceError, SolverError
from dlsched.core.files import GZ, entries_of, in_lines, read_bytes
from dlsched.core.garbage import uncollected
from dlsched.core.instance import InstanceFile
from dlsched.core.limits import no_tick
from dlsched.core.part_columns import validated
from dlsched.families import LARGE, PARQUET, instance_from, instance_of, read, reading
from dlsched.processes.dask_blocks import Cluster
from dlsched.ring_allocation.blocks import InstanceAfar, RingBlock
from dlsched.ring_allocation.instance import Instance, Job

SIZE = 2**23
"""Bytes of a block of lines."""


def stamp(path: str) -> tuple[int, int]:
    """Return what changes when a file does, and is the same on all machines that share it."""
    return os.path.getsize(path), os.stat(path).st_mtime_ns


def read_jobs(path: str, stamped: tuple[int, int], place: tuple[int, int], gpus: int) -> Instance:
    """Return an instance of the jobs at a place of a file alone; InstanceError: they need a closer look, or it has changed."""
    begin, end = place
    try:
        with open(path, "rb") as file:
            lines = os.pread(file.fileno(), end - begin, begin)
        if stamp(path) != stamped:
            raise InstanceError("the file has changed")
        with uncollected():
            return Instance.model_construct(name="", gpus=gpus, jobs=tuple(validated(Job, entries_of(lines))))
    except OSError as error:
        raise InstanceError(f"a worker cannot read the file: {error}") from None
    except (TypeError, ValueError):
        raise InstanceError("a block of jobs is not valid by itself") from None


@contextmanager
def read_in_blocks(path: str, cluster: Cluster) -> Iterator[InstanceFile | InstanceAfar]:
    """Have workers read a large file of tables; any other, and one that they refuse, is read as usual. Errors of both."""
    plain = os.path.isfile(path) and not path.endswith((GZ, PARQUET))
    with ExitStack() as stack:
        large = plain and os.path.getsize(path) > LARGE
        yield (_read_afar(path, cluster, stack) if large else None) or read(path)


def _read_afar(path: str, cluster: Cluster, stack: ExitStack) -> InstanceAfar | None:
    """Have workers read a file, and hold it until the stack closes; None: they cannot, or a job needs a closer look."""
    stamped, none = stamp(path), np.empty(0, dtype=np.int64)
    with suppress(SolverError):  # the bound then says what is wrong
        stack.enter_context(cluster.started())  # workers start while the file is searched for lines
    with reading():
        raw = read_bytes(path)
    data, lists = (None if b'"speed_law"' in raw else in_lines(raw, SIZE)) or ({}, {})
    if [*lists] != ["jobs"]:
        return None
    places = lists["jobs"]
    numbers = [raw.count(b"\n", *place) + 1 for place in places]
    firsts = [0, *accumulate(numbers)]
    try:
        first_line = raw[places[0][0] : raw.index(b"\n", places[0][0])].removesuffix(b",")
        head = instance_from(data | {"jobs": entries_of(first_line)}, path)
    except (InstanceError, TypeError, ValueError):
        return None
    if not isinstance(head, Instance):
        return None

    def make(index: int) -> RingBlock:
        jobs = partial(read_jobs, os.path.abspath(path), stamped, places[index], head.gpus)
        return RingBlock(jobs, firsts[index], firsts[-1], none)

    try:
        blocks = stack.enter_context(cluster.blocks(make, len(places), no_tick))
        ids, minima, times_s = zip(*blocks.ask(RingBlock.facts), strict=True)
    except (InstanceError, SolverError, OverflowError):
        return None
    # the rules of all jobs together; a sum near the largest float is left to the usual reading
    counted, unique = list(map(len, ids)) == numbers, len({*chain(*ids)}) == firsts[-1]
    if counted and unique and sum(times_s) < sys.float_info.max / 2:
        return InstanceAfar(head, blocks, sum(minima), partial(instance_of, raw, path))
    return None
