"""Large files of ring_allocation whose jobs the workers of a cluster read: every block of lines is a small instance file."""

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from itertools import chain

import numpy as np

from dlsched.allocation.blocks import JOBS
from dlsched.core.errors import InstanceError, SolverError
from dlsched.core.files import GZ, decoded, lines_of_list, path_of, read_bytes
from dlsched.core.instance import InstanceFile
from dlsched.core.limits import no_tick
from dlsched.families import LARGE, PARQUET, by_entries, instance_of, read, reading
from dlsched.processes.dask_blocks import Cluster
from dlsched.ring_allocation.blocks import InstanceAfar, RingBlock
from dlsched.ring_allocation.instance import Instance


@dataclass(frozen=True)
class Places:
    """Places of a file of this machine, as it was at its ``stamp``, whose text is an instance of some of the jobs."""

    path: str
    stamp: tuple[int, ...]
    places: tuple[tuple[int, int], ...]

    def __call__(self) -> Instance:
        """Read them; InstanceError: the file has changed since, or needs a closer look."""
        with open(self.path, "rb") as file:
            if stamp(self.path) != self.stamp:
                raise InstanceError("the file has changed")
            return instance_here(b"".join([os.pread(file.fileno(), end - begin, begin) for begin, end in self.places]))


def stamp(path: str) -> tuple[int, ...]:
    """Return what changes when a file does."""
    of_file = os.stat(path)
    return of_file.st_dev, of_file.st_ino, of_file.st_size, of_file.st_mtime_ns


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
    if path_of(path).endswith(PARQUET):
        yield read(path)
        return
    near = cluster.here and os.path.isfile(path) and not path.endswith(GZ)
    source = (os.path.abspath(path), stamp(path)) if near else None
    with ExitStack() as stack:
        if near and os.path.getsize(path) > LARGE:
            with suppress(SolverError):  # the bound then says what is wrong
                stack.enter_context(cluster.started())  # workers start while the file is read
        with reading():
            raw = read_bytes(path)
        yield _read_afar(raw, source, cluster, stack) or instance_of(raw, path)


def _read_afar(
    raw: bytes, source: tuple[str, tuple[int, ...]] | None, cluster: Cluster, stack: ExitStack
) -> InstanceAfar | None:
    """Have workers read a file, and hold it until the stack closes; None: they cannot, or a job needs a closer look.

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
        text = b"" if source else b"".join([raw[slice(*each)] for each in places])
        part = Places(*source, places) if source else partial(instance_here, text)
        return RingBlock(part, index * JOBS, number, none)

    try:
        head = instance_here(raw[:begin] + line + raw[end:])
        blocks = stack.enter_context(cluster.blocks(make, len(spans), no_tick))
        ids, minima, times_s = zip(*blocks.ask(RingBlock.facts), strict=True)
    except (InstanceError, SolverError, OverflowError):
        return None
    # the rules of all jobs together; a sum near the largest float is left to the usual reading
    counted, unique = list(map(len, ids)) == [each for each, _ in spans], len({*chain(*ids)}) == number
    if counted and unique and sum(times_s) < sys.float_info.max / 2:
        return InstanceAfar(head, blocks, sum(minima), partial(instance_of, raw, head.name))
    return None
