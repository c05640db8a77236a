"""Readers of the entries of a result's solution: objects with known fields, finite and whole numbers."""

import math
from collections.abc import Mapping
from typing import Any

from dlsched.core.errors import InputError
from dlsched.core.files import Json
from dlsched.core.messages import field_path, shown
from dlsched.core.ranges import LARGEST_COUNT

Where = tuple[str | int, ...]


def read_object(data: object, fields: set[str], where: Where) -> dict[str, Json]:
    """Return an object that has only these fields; the readers of its fields refuse missing ones.

    Raises
    ------
    InputError
        It is not an object, or has another field.
    """
    if not isinstance(data, dict):
        raise InputError(where=field_path(where), found=shown(data), allowed="an object")
    other = next((key for key in data if key not in fields), None)
    if other is not None:
        allowed = ", ".join(sorted(fields))
        raise InputError(where=field_path((*where, other)), found="an unknown field", allowed=f"only {allowed}")
    return data


def read_list(entry: Mapping[str, object], field: str, where: Where) -> list[Any]:
    """Return a list; InputError for anything else."""
    value = entry.get(field)
    if not isinstance(value, list):
        raise InputError(where=field_path((*where, field)), found=shown(value), allowed="a list")
    return value


def read_number(entry: Mapping[str, object], field: str, where: Where) -> float:
    """Return a finite number; InputError for anything else."""
    value = entry.get(field)
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            if math.isfinite(value):
                return float(value)
        except OverflowError:
            pass
    raise InputError(where=field_path((*where, field)), found=shown(value), allowed="a finite number")


def read_integer(entry: Mapping[str, object], field: str, where: Where) -> int:
    """Return an integer of any size; InputError for anything else."""
    value = entry.get(field)
    if not isinstance(value, int) or isinstance(value, bool):
        raise InputError(where=field_path((*where, field)), found=shown(value), allowed="an integer")
    return value


def read_whole(entry: Mapping[str, object], field: str, where: Where) -> int:
    """Return an integer of at most 2**53 in size; InputError for anything else."""
    value = read_integer(entry, field, where)
    if abs(value) > LARGEST_COUNT:
        raise InputError(where=field_path((*where, field)), found=shown(value), allowed="an integer up to 2**53")
    return value


def read_name(entry: Mapping[str, object], field: str, where: Where) -> str:
    """Return a string; InputError for anything else."""
    value = entry.get(field)
    if not isinstance(value, str):
        raise InputError(where=field_path((*where, field)), found=shown(value), allowed="a string")
    return value
