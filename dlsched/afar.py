"""Large files of ring_allocation whose jobs the workers of a cluster read: every block of lines is a small instance file."""

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from itertools import chain

import numpy as np

from dlsched.allocation.blocks import JOBS
from dlsched.core.errors import InstanceError, SolverError
from dlsched.core.files import GZ, decoded, lines_of_list, read_bytes
from dlsched.core.instance import InstanceFile
from dlsched.core.limits import no_tick
from dlsched.families import LARGE, PARQUET, by_entries, instance_of, read, reading
from dlsched.processes.dask_blocks import Cluster
from dlsched.ring_allocation.blocks import InstanceAfar, RingBlock
from dlsched.ring_allocation.instance import Instance


def stamp(path: str) -> tuple[int, int]:
    """Return what changes when a file does, and is the same on all machines that share it."""
    return os.path.getsize(path), os.stat(path).st_mtime_ns


def read_places(path: str, stamped: tuple[int, int], places: tuple[tuple[int, int], ...]) -> Instance:
    """Return the instance whose text is at these places; InstanceError: it needs a closer look, or the file has changed."""
    try:
        with open(path, "rb") as file:
            text = b"".join([os.pread(file.fileno(), end - begin, begin) for begin, end in places])
        if stamp(path) != stamped:
            raise InstanceError("the file has changed")
    except OSError as error:
        raise InstanceError(f"a worker cannot read the file: {error}") from None
    return instance_here(text)


def instance_here(text: bytes) -> Instance:
    """Return the instance of a text; InstanceError: it is not valid, or needs a closer look."""
    with reading():
        found = by_entries(decoded(text, "a block of jobs"))
    if not isinstance(found, Instance):
        raise InstanceError("a block of jobs is not valid by itself")
    return found


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
    spans = [] if b'"speed_law"' in raw else lines_of_list(raw, "jobs", JOBS)
    if not spans:
        return None
    number, (begin, end) = sum(each for each, _ in spans), (spans[0][1][0], spans[-1][1][1])
    line = raw[begin : raw.index(b"\n", begin)].removesuffix(b",")

    def make(index: int) -> RingBlock:
        places = (0, begin), spans[index][1], (end, len(raw))
        return RingBlock(partial(read_places, os.path.abspath(path), stamped, places), index * JOBS, number, none)

    try:
        head = instance_here(raw[:begin] + line + raw[end:])
        blocks = stack.enter_context(cluster.blocks(make, len(spans), no_tick))
        ids, minima, times_s = zip(*blocks.ask(RingBlock.facts), strict=True)
    except (InstanceError, SolverError, OverflowError):
        return None
    # the rules of all jobs together; a sum near the largest float is left to the usual reading
    counted, unique = list(map(len, ids)) == [each for each, _ in spans], len({*chain(*ids)}) == number
    if counted and unique and sum(times_s) < sys.float_info.max / 2:
        return InstanceAfar(head, blocks, sum(minima), partial(instance_of, raw, path))
    return None
