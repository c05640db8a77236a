"""Memory that processes hold, and a limit to it that is kept from outside: no code that runs can be trusted to keep it."""

import contextlib
import time

LOOK_S = 0.1
"""Seconds between two looks at the memory of a process; more where a look takes long, so that it costs a twentieth at most."""


def held(pid: int, *, shared: bool) -> int:
    """Bytes of memory of all that descends from a process; with what several of them share counted for each, or once."""
    import psutil

    found = 0
    with contextlib.suppress(psutil.NoSuchProcess):
        for process in psutil.Process(pid).children(recursive=True):
            found += resident(process.pid, shared=shared)
    return found


def resident(pid: int, *, shared: bool) -> int:
    """Bytes of memory of a process alone, with all or its part of what it shares with others; 0 where there is none."""
    import psutil

    found = 0
    with contextlib.suppress(psutil.NoSuchProcess, psutil.AccessDenied):
        process = psutil.Process(pid)
        found = process.memory_info().rss if shared or not psutil.LINUX else process.memory_full_info().pss
    return found


class MemoryLimit:
    """Looks now and then at what descends from a process.

    Parameters
    ----------
    pid
        Of that process.
    """

    def __init__(self, pid: int) -> None:
        self._pid, self._look_s = pid, LOOK_S
        self.begin()

    def begin(self) -> None:
        """Count the time to the next look from now."""
        self._looked = time.monotonic()

    @property
    def due(self) -> float:
        """When it wants to look next, on the monotonic clock."""
        return self._looked + self._look_s

    def exceeded(self, gib: float) -> bool:
        """Look, if it is time, whether they hold more than that."""
        began = time.monotonic()
        if began < self.due:
            return False
        limit = gib * (1 << 30)
        large = held(self._pid, shared=True) > limit and held(self._pid, shared=False) > limit
        self._looked, self._look_s = began, max(LOOK_S, 20 * (time.monotonic() - began))
        return large
