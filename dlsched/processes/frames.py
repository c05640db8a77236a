"""Frames on a pipe: a mark, a length, a checksum and as many bytes, so that whatever else is written there is noticed."""

import os
import struct
import zlib

_HEAD = struct.Struct(">4sII")
_MARK = b"dlsd"
LARGEST = 1 << 30
"""Bytes of a frame, at most."""


def framed(content: bytes) -> bytes:
    """Return the frame of some bytes.

    >>> list(Frames().feed(framed(b"one") + framed(b"two")))
    [b'one', b'two']
    """
    return _HEAD.pack(_MARK, len(content), zlib.crc32(content)) + content


class Frames:
    """Takes a stream of bytes apart into the contents of frames.

    Parameters
    ----------
    largest
        Bytes of a frame, at most.
    """

    def __init__(self, largest: int = LARGEST) -> None:
        self._largest = largest
        self._held = bytearray()

    def feed(self, arrived: bytes) -> list[bytes]:
        """Return the contents of the frames that are whole now.

        Raises
        ------
        ValueError
            What arrived is no frame.
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
    """Write the frame of some bytes to a pipe, whole."""
    left = memoryview(framed(content))
    while left:
        left = left[os.write(pipe, left) :]
