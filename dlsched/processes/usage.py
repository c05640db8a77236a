"""Resource usage of a cell: seconds, processor seconds, and peak resident memory."""

import contextlib
import resource
import sys
import time
from collections.abc import Collection
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Usage:
    """Wall-clock seconds, processor seconds, and peak memory in MiB; None: unknown."""

    time_s: float | None = None
    cpu_s: float | None = None
    memory_mib: float | None = None


class Meter:
    """Measures usage from its creation on.

    Parameters
    ----------
    helping
        Processes that work for this one and outlive the measurement.
    """

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

    found = 0.0
    for pid in helping:
        with contextlib.suppress(psutil.NoSuchProcess):
            found += sum(psutil.Process(pid).cpu_times()[:4])  # user and system, its own and its children's
    return found


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
