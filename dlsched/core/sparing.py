"""Pydantic validators that stop after a few errors; Pydantic's own keep all, 2 GB for a million.

They leave a list or tuple at its first wrong entry, leave a long object after the first hundred entries that
contain an error, and look at only a few of the unknown fields of an object.
"""

from collections.abc import Callable, Collection
from functools import partial
from itertools import islice
from typing import cast

from pydantic import BaseModel
from pydantic_core import CoreSchema, SchemaValidator

ENOUGH = 10
"""Errors that a message shows."""

_CHUNK = 100
_AFRESH = {"_use_prebuilt": False} if "_use_prebuilt" in (SchemaValidator.__text_signature__ or "") else {}
"""Without this option a model inside another keeps the validator of its class."""
_KEPT = ("metadata", "serialization", "default")  # keys of a schema below which nothing is validated


def sparing(model: type[BaseModel]) -> SchemaValidator:
    """Return a validator that accepts what the model accepts, and stops early on wrong data."""
    return SchemaValidator(cast(CoreSchema, _spare(model.__pydantic_core_schema__)), None, **_AFRESH)


def _spare(schema: object) -> object:
    """Return the schema with lists, objects and fields replaced."""
    if isinstance(schema, list):
        return [_spare(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    spared = {key: part if key in _KEPT else _spare(part) for key, part in schema.items()}
    match schema.get("type"):
        case "list" | "tuple":
            return spared | {"fail_fast": True}
        case "dict":
            return _function("function-wrap", _by_chunks, spared)
        case "model-fields":
            return _function("function-before", partial(_few_unknown, frozenset(schema["fields"])), spared)
    return spared


def _function(kind: str, function: Callable[..., object], schema: dict[str, object]) -> dict[str, object]:
    return {"type": kind, "function": {"type": "no-info", "function": function}, "schema": schema}


def _by_chunks(value: object, validate: Callable[[object], object]) -> object:
    if not isinstance(value, dict) or len(value) <= _CHUNK:
        return validate(value)
    entries, validated = iter(value.items()), dict[str, object]()
    while chunk := dict(islice(entries, _CHUNK)):
        validated |= cast(dict[str, object], validate(chunk))
    return validated


def _few_unknown(fields: Collection[str], value: object) -> object:
    if not isinstance(value, dict) or len(value) <= len(fields) + ENOUGH:
        return value
    unknown = islice((key for key in value if key not in fields), ENOUGH + 1)
    return {key: value[key] for key in fields if key in value} | {key: value[key] for key in unknown}
