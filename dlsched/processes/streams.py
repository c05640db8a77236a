"""Output of processes: frames on a pipe, printed text read until they end, and messages cut to the length of a row."""

import os
import select
import struct
import zlib
from collections.abc import Callable, Mapping

from dlsched.core.messages import printable

LONGEST_MESSAGE = 2000
"""Largest number of characters of a message."""


def short(words: str) -> str:
    """Cut a message to that length, on one line, with unprintable characters escaped."""
    return printable(words[:LONGEST_MESSAGE])[:LONGEST_MESSAGE]


def words_of(error: BaseException) -> str:
    """Return the text of an exception; even converting it to text may fail."""
    try:
        return short(str(error))
    except BaseException as another:
        return f"its text cannot be had: {type(another).__name__}"


_HEAD = struct.Struct(">4sII")
_MARK = b"dlsd"
LARGEST = 1 << 30
"""Largest size of a frame in bytes."""


def framed(content: bytes) -> bytes:
    """Return the frame of some bytes.

    >>> list(Frames().feed(framed(b"one") + framed(b"two")))
    [b'one', b'two']
    """
    return _head(content) + content


def _head(content: bytes) -> bytes:
    return _HEAD.pack(_MARK, len(content), zlib.crc32(content))


class Frames:
    """Splits a stream of bytes into the contents of frames, of ``largest`` bytes at most."""

    def __init__(self, largest: int = LARGEST) -> None:
        self._largest = largest
        self._buffer = bytearray()

    def feed(self, arrived: bytes) -> list[bytes]:
        """Return the contents of the frames that are complete now; ``ValueError``: the bytes are not a frame."""
        self._buffer += arrived
        contents = []
        # A frame is cut out once it is whole; what cannot be the head of one is refused as soon as it is there.
        while len(self._buffer) >= _HEAD.size:
            mark, size, checksum = _HEAD.unpack_from(self._buffer)
            if mark != _MARK:
                raise ValueError("found bytes that are no frame")
            if size > self._largest:
                raise ValueError(f"found {size / (1 << 20):.0f} MiB, allowed: {self._largest >> 20}")
            end = _HEAD.size + size
            if len(self._buffer) < end:
                break
            with memoryview(self._buffer) as buffer:
                content = bytes(buffer[_HEAD.size : end])
            if zlib.crc32(content) != checksum:
                raise ValueError("found a frame whose checksum is wrong")
            contents.append(content)
            del self._buffer[:end]
        return contents


def write_frame(pipe: int, content: bytes) -> None:
    """Write all bytes of a frame to a pipe."""
    for part in (_head(content), content):
        unsent = memoryview(part)
        while unsent:
            unsent = unsent[os.write(pipe, unsent) :]


LARGEST_ANSWER = 64 << 20
"""Largest size in bytes of a printed or returned answer."""
LOOK_S = 0.02
"""Seconds between two checks whether a process has ended; its own children may still hold its pipes open."""
_READ = 1 << 20
_TAIL = 4000
"""Bytes of the end of a stream that are kept: more than a message may be long."""


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
    """Reads a stream and keeps all of it; ``ValueError`` if it is longer than an answer may be."""

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
