"""Data in stores: JSON, compressed where it may be long, and read into the forms that dlsched writes."""

import json
import os
import re
import zlib
from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from dlsched.core.errors import InputError
from dlsched.core.files import Json
from dlsched.core.messages import located, shown

LARGEST = 1 << 30
"""Largest size of JSON in bytes."""
_TIMES: Final = 32
"""Largest size of JSON over that of the bytes which hold it, so that a small store cannot take much memory."""
_SMALL: Final = 1 << 16
"""Size of JSON in bytes up to which it may be any number of times as large."""

Data: TypeAlias = dict[str, Any]
"""Data of a form, by name."""


def pack(data: Json, largest: int = LARGEST) -> bytes | None:
    """Compress data as JSON; return None for None, and for JSON of more than ``largest`` bytes."""
    if data is None:
        return None
    text = json.dumps(data).encode()
    packed = zlib.compress(text) if len(text) <= largest else None
    return packed if packed is None or len(text) <= _largest(packed) else zlib.compress(text, 0)


def _largest(packed: bytes) -> int:
    """Largest size of JSON that so many bytes may hold."""
    return min(LARGEST, max(_SMALL, _TIMES * len(packed)))


def unpack(path: str | os.PathLike[str], packed: object) -> Json:
    """Return packed data; ``path``: the store's, for messages.

    Raises
    ------
    InputError
        It is damaged, or larger than ``pack`` makes it.
    """
    if packed is None:
        return None
    try:
        if not isinstance(packed, bytes):
            raise TypeError(type(packed).__name__)
        opened, most = zlib.decompressobj(), _largest(packed)
        text = opened.decompress(packed, most)
        if not opened.eof:
            raise ValueError(f"data cut short, or of more than {most:,} bytes in {len(packed):,}")
        data: Json = json.loads(text)
    except (zlib.error, TypeError, ValueError, RecursionError) as error:
        raise InputError(f"{path}: the store is damaged: found no compressed JSON ({error})") from None
    return data


def form(name: str, columns: Mapping[str, object], optional: Mapping[str, object] | None = None) -> type[BaseModel]:
    """Make the form of data in a store: types by name, strictly, and of ``optional`` ones the default."""
    strict = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)
    known = {key: (kind, (optional or {}).get(key, ...)) for key, kind in columns.items()}
    found: type[BaseModel] = create_model(name, __config__=strict, **known)  # type: ignore[call-overload]
    return found


def read_as(path: str | os.PathLike[str], kind: type[BaseModel], data: object) -> Data:
    """Read data, or their JSON, by a form; InputError: the store is damaged, with what, found and allowed."""
    try:
        found = kind.model_validate(data) if isinstance(data, dict) else kind.model_validate_json(data)  # type: ignore[arg-type]
    except ValidationError as error:
        raise InputError(f"{path}: the store is damaged: {kind.__name__}: {located(error)}") from None
    return dict(found)


def kept_seed(seed: int | None) -> int | str | None:
    """Convert a seed for a column of 64-bit integers; larger seeds become hexadecimal text."""
    return seed if seed is None or seed < 1 << 63 else hex(seed)


def seed_from(path: str | os.PathLike[str], kept: object) -> int | None:
    """Read what ``kept_seed`` wrote; InputError: the store is damaged."""
    if isinstance(kept, str) and re.fullmatch("0x[0-9a-f]{16,}", kept):
        return int(kept, 16)
    if kept is None or isinstance(kept, int):
        return kept
    said = shown(kept) if isinstance(kept, str | float) else type(kept).__name__
    raise InputError(where=f"{path}: the store is damaged: seed", found=said, allowed="an integer")
