"""Frames on a pipe: mark, length, checksum and content, so that anything else on the pipe is detected."""

import os
import struct
import zlib

_HEAD = struct.Struct(">4sII")
_MARK = b"dlsd"
LARGEST = 1 << 30
"""Largest size of a frame in bytes."""


def framed(content: bytes) -> bytes:
    """Return the frame of some bytes.

    >>> list(Frames().feed(framed(b"one") + framed(b"two")))
    [b'one', b'two']
    """
    return _HEAD.pack(_MARK, len(content), zlib.crc32(content)) + content


class Frames:
    """Splits a stream of bytes into the contents of frames.

    Parameters
    ----------
    largest
        Largest size of a frame in bytes.
    """

    def __init__(self, largest: int = LARGEST) -> None:
        self._largest = largest
        self._held = bytearray()

    def feed(self, arrived: bytes) -> list[bytes]:
        """Return the contents of the frames that are complete now.

        Raises
        ------
        ValueError
            The bytes are not a frame.
        """
        self._held += arrived
        found = []
        while len(self._held) >= _HEAD.size:
            mark, size, checksum = _HEAD.unpack_from(self._held)
            if mark != _MARK:
                raise ValueError("found bytes that are no frame")
            if size > self._largest:
                raise ValueError(f"found {size / (1 << 20):.0f} MiB, allowed: {self._largest >> 20}")
            end = _HEAD.size + size
            if len(self._held) < end:
                break
            with memoryview(self._held) as held:
                content = bytes(held[_HEAD.size : end])
            if zlib.crc32(content) != checksum:
                raise ValueError("found a frame whose checksum is wrong")
            found.append(content)
            del self._held[:end]
        return found


def write_frame(pipe: int, content: bytes) -> None:
    """Write all bytes of a frame to a pipe."""
    left = memoryview(framed(content))
    while left:
        left = left[os.write(pipe, left) :]
