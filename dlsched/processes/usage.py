"""Resources of processes: seconds and memory that were used, and a limit on memory that is enforced from outside."""

import contextlib
import resource
import sys
import time
from collections.abc import Collection
from dataclasses import dataclass

LOOK_S = 0.1
"""Seconds between two measurements of a process's memory; longer if measuring is slow, which may take a
twentieth of the time at most."""


def resident(pid: int, *, shared: bool) -> int:
    """Memory in bytes of one process, with all or its part of shared memory; 0 for no such process."""
    import psutil

    with contextlib.suppress(psutil.NoSuchProcess, psutil.AccessDenied):
        process = psutil.Process(pid)
        return int(process.memory_info().rss if shared or not psutil.LINUX else process.memory_full_info().pss)
    return 0


class MemoryLimit:
    """Measures the memory of the descendants of a process now and then."""

    def __init__(self, pid: int) -> None:
        self._pid, self._look_s = pid, LOOK_S
        self.begin()

    def begin(self) -> None:
        """Restart the time until the next measurement."""
        self._looked = time.monotonic()

    @property
    def due(self) -> float:
        """Time of the next measurement, on the monotonic clock."""
        return self._looked + self._look_s

    def exceeded(self, gib: float) -> bool:
        """Measure, if it is time, and return whether they hold more than ``gib``."""
        began = time.monotonic()
        if began < self.due:
            return False
        limit = gib * (1 << 30)
        # Shared memory counts for each process in the quick estimate, and once in the exact one, which takes longer.
        large = self._descendants(shared=True) > limit and self._descendants(shared=False) > limit
        # Measuring takes a twentieth of the time at most, however many processes there are.
        self._looked, self._look_s = began, max(LOOK_S, 20 * (time.monotonic() - began))
        return large

    def _descendants(self, *, shared: bool) -> int:
        import psutil

        with contextlib.suppress(psutil.NoSuchProcess):
            return sum(resident(each.pid, shared=shared) for each in psutil.Process(self._pid).children(recursive=True))
        return 0


@dataclass(frozen=True, slots=True)
class Usage:
    """Wall-clock seconds, processor seconds, and peak memory in MiB; None: unknown."""

    time_s: float | None = None
    cpu_s: float | None = None
    memory_mib: float | None = None


class Meter:
    """Measures usage from its creation on; ``helping``: processes that work for this one and outlive the measurement."""

    def __init__(self, helping: Collection[int] = ()) -> None:
        self._helping = frozenset(helping)
        for process in ("self", *map(str, self._helping)):
            _reset_peak(process)
        self._cpu_s = _cpu_s() + _cpu_s_of(self._helping)
        self._began = time.perf_counter()

    def usage(self, helping: Collection[int] = ()) -> Usage:
        """Return the usage since then; ``helping``: the processes that work for this one now."""
        time_s = time.perf_counter() - self._began
        cpu_s = _cpu_s() + _cpu_s_of(helping) - self._cpu_s
        return Usage(time_s, max(0.0, cpu_s), sum(map(_peak_mib, ("self", *map(str, helping)))))


def _cpu_s() -> float:
    """Processor seconds of this process and of its children that have ended."""
    mine, theirs = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return mine.ru_utime + mine.ru_stime + theirs.ru_utime + theirs.ru_stime


def _cpu_s_of(helping: Collection[int]) -> float:
    if not helping:
        return 0.0
    import psutil

    seconds = 0.0
    for pid in helping:
        with contextlib.suppress(psutil.NoSuchProcess):
            seconds += sum(psutil.Process(pid).cpu_times()[:4])  # user and system, its own and its children's
    return seconds


def _reset_peak(process: str) -> None:
    """Reset the peak of resident memory, where the system supports it (Linux)."""
    with contextlib.suppress(OSError), open(f"/proc/{process}/clear_refs", "wb", buffering=0) as file:
        file.write(b"5")


def _peak_mib(process: str) -> float:
    """Peak resident memory of a process: on Linux since the reset, else since its start, 0 for others."""
    with contextlib.suppress(OSError), open(f"/proc/{process}/status", "rb") as file:
        for line in file:
            if line.startswith(b"VmHWM:"):
                return int(line.split()[1]) / 1024
    if process != "self":
        return 0.0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1 << 20 if sys.platform == "darwin" else 1 << 10)
