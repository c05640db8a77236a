"""Data in stores: JSON, compressed where it may be long."""

import json
import os
import re
import zlib

from dlsched.core.errors import InputError
from dlsched.core.files import Json
from dlsched.core.messages import shown

LARGEST = 1 << 31
"""Largest size of JSON in bytes; dlsched writes nothing larger."""


def pack(data: Json, largest: int = LARGEST) -> bytes | None:
    """Compress data as JSON; return None for None, and for JSON of more than ``largest`` bytes."""
    if data is None:
        return None
    text = json.dumps(data).encode()
    return zlib.compress(text) if len(text) <= largest else None


def unpack(path: str | os.PathLike[str], packed: object) -> Json:
    """Return packed data; ``path``: the store's, for messages.

    Raises
    ------
    InputError
        It is damaged.
    """
    if packed is None:
        return None
    if not isinstance(packed, bytes):
        raise InputError(where=f"{path}: the store is damaged", found=type(packed).__name__, allowed="compressed JSON")
    try:
        opened = zlib.decompressobj()
        text = opened.decompress(packed, LARGEST)
        if not opened.eof:
            raise InputError(f"{path}: the store is damaged: found data cut short, or more than {LARGEST} bytes")
        data: Json = json.loads(text)
    except InputError:
        raise
    except (zlib.error, ValueError, RecursionError) as error:
        raise InputError(f"{path}: the store is damaged: found no compressed JSON ({error})") from None
    return data


def parsed(path: str | os.PathLike[str], text: object, what: str) -> dict[str, Json]:
    """Return the object in a column of JSON; ``path`` and ``what`` are for messages.

    Raises
    ------
    InputError
        It is damaged.
    """
    try:
        data = json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: the store is damaged: {what}: found no JSON ({error})") from None
    if not isinstance(data, dict):
        raise InputError(where=f"{path}: the store is damaged: {what}", found=shown(data), allowed="an object of JSON")
    return data


def kept_seed(seed: int | None) -> int | str | None:
    """Convert a seed for a column of 64-bit integers; larger seeds become hexadecimal text."""
    return seed if seed is None or seed < 1 << 63 else hex(seed)


def seed_from(path: str | os.PathLike[str], kept: object) -> int | None:
    """Read what ``kept_seed`` wrote; InputError: the store is damaged."""
    if isinstance(kept, str) and re.fullmatch("0x[0-9a-f]{16,}", kept):
        return int(kept, 16)
    if kept is None or (isinstance(kept, int) and not isinstance(kept, bool)):
        return kept
    said = shown(kept) if isinstance(kept, str | float) else type(kept).__name__
    raise InputError(where=f"{path}: the store is damaged: seed", found=said, allowed="an integer")
