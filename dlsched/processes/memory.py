"""Memory of processes, and a limit on it that is enforced from outside, since their code is not trusted."""

import contextlib
import time

LOOK_S = 0.1
"""Seconds between two measurements of a process's memory; longer if measuring is slow, which may take a
twentieth of the time at most."""


def held(pid: int, *, shared: bool) -> int:
    """Memory in bytes of all descendants of a process; shared memory counts for each of them, or once."""
    import psutil

    found = 0
    with contextlib.suppress(psutil.NoSuchProcess):
        for process in psutil.Process(pid).children(recursive=True):
            found += resident(process.pid, shared=shared)
    return found


def resident(pid: int, *, shared: bool) -> int:
    """Memory in bytes of one process, with all or its part of shared memory; 0 for no such process."""
    import psutil

    found = 0
    with contextlib.suppress(psutil.NoSuchProcess, psutil.AccessDenied):
        process = psutil.Process(pid)
        found = process.memory_info().rss if shared or not psutil.LINUX else process.memory_full_info().pss
    return found


class MemoryLimit:
    """Measures the descendants of a process now and then.

    Parameters
    ----------
    pid
        Process id.
    """

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
        large = held(self._pid, shared=True) > limit and held(self._pid, shared=False) > limit
        self._looked, self._look_s = began, max(LOOK_S, 20 * (time.monotonic() - began))
        return large
