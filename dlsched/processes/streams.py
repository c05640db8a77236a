"""What processes print: gathered as it comes, until they end, however much it is and whoever else holds their pipes."""

import os
import select
from collections.abc import Callable, Mapping

from dlsched.processes.messages import short

LARGEST_ANSWER = 64 << 20
"""Bytes of an answer, printed or returned, at most."""
LOOK_S = 0.02
"""Seconds between two looks whether a process has ended of which another one, that it left behind, holds a pipe open."""
_READ = 1 << 20
_TAIL = 4000


class Tail:
    """Takes a stream of any length, and keeps the end of it."""

    def __init__(self) -> None:
        self._end = b""

    def feed(self, arrived: bytes) -> None:
        """Take what arrived."""
        self._end = (self._end + arrived)[-_TAIL:]

    @property
    def last_line(self) -> str:
        """The last line that is not blank, on one line of printable text; empty where there is none."""
        lines = self._end.decode("utf-8", "replace").split("\n")
        return next((short(line.strip()) for line in reversed(lines) if line.strip()), "")


class Whole(Tail):
    """Takes a stream and keeps all of it.

    Raises
    ------
    ValueError
        It is longer than an answer may be.
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
    """Hand what arrives on pipes to their sinks until all are closed, or until ``over`` and what had arrived is taken."""
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
