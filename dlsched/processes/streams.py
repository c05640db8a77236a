"""Output of processes: read as it arrives until they end, of any length, even if others hold their pipes."""

import os
import select
from collections.abc import Callable, Mapping

from dlsched.processes.messages import short

LARGEST_ANSWER = 64 << 20
"""Largest size in bytes of a printed or returned answer."""
LOOK_S = 0.02
"""Seconds between two checks whether a process has ended; its own children may still hold its pipes open."""
_READ = 1 << 20
_TAIL = 4000


class Tail:
    """Reads a stream of any length, and keeps its end."""

    def __init__(self) -> None:
        self._end = b""

    def feed(self, arrived: bytes) -> None:
        """Take what arrived."""
        self._end = (self._end + arrived)[-_TAIL:]

    @property
    def last_line(self) -> str:
        """The last line that is not blank, as printable text; empty if there is none."""
        lines = self._end.decode("utf-8", "replace").split("\n")
        return next((short(line.strip()) for line in reversed(lines) if line.strip()), "")


class Whole(Tail):
    """Reads a stream and keeps all of it.

    Raises
    ------
    ValueError
        The stream is longer than an answer may be.
    """

    def __init__(self) -> None:
        super().__init__()
        self.content = bytearray()

    def feed(self, arrived: bytes) -> None:
        """Take what arrived."""
        super().feed(arrived)
        self.content += arrived
        if len(self.content) > LARGEST_ANSWER:
            raise ValueError(f"found more than {LARGEST_ANSWER >> 20} MiB, allowed: {LARGEST_ANSWER >> 20}")


def gather(sinks: Mapping[int, Callable[[bytes], object]], over: Callable[[], bool]) -> None:
    """Pass bytes from pipes to sinks until all pipes are closed, or ``over`` and nothing is left to read."""
    opened = list(sinks)
    while opened:
        last = over()
        for pipe in select.select(opened, [], [], 0.0 if last else LOOK_S)[0]:
            arrived = os.read(pipe, _READ)
            sinks[pipe](arrived)
            if not arrived:
                opened.remove(pipe)
        if last:
            return
