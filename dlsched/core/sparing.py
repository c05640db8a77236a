"""Validators that stop at errors enough to show: Pydantic's own hold all of them, of a file of a million wrong entries 2 GB.

A list or tuple is left at its first wrong entry, a long object at the first hundred entries with one, and of the fields
that an object may not have few are looked at.
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
"""Else a model inside another keeps the validator that its class has."""
_KEPT = ("metadata", "serialization", "default")  # keys of a schema below which nothing is validated


def sparing(model: type[BaseModel]) -> SchemaValidator:
    """Return a validator of the model that gives up early on what is wrong, and takes what the model takes."""
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
