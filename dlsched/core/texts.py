"""Plain data and parts of instances as JSON: the text that ``json`` writes, in a fraction of the time."""

import json
from array import array
from collections.abc import Iterable, Mapping
from functools import lru_cache
from itertools import repeat
from json.encoder import encode_basestring
from operator import itemgetter
from typing import TYPE_CHECKING, Any, cast

from dlsched.core.part_columns import PartColumns

if TYPE_CHECKING:
    from pydantic import BaseModel

_dump = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode
_canonical = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode
_FEW = 1024  # keys of an object whose template is remembered
_FEW_VALUES = 64  # different values of a field, up to which each is turned into text once and looked up
_HASHED = {str, int, type(None)}  # types of values that are written equally if they are equal
_OF_FLOATS = b"0123456789.,-[]"
_REQUIRED = object()


def text_of(entries: Iterable[object], between: str, *, canonical: bool = False) -> str:
    """JSON of plain data and parts, joined; fields of parts that have their default are left out.

    ``canonical``: keys in order, and no blanks. ValueError: a number is not finite.
    """
    if isinstance(entries, PartColumns):
        return between.join(_of_columns(entries.lists(), _fields(cast(object, entries.kind)), canonical))
    return between.join(_texts(list(entries), canonical))


def _texts(values: list[Any], canonical: bool) -> list[str]:
    """JSON of each value: of values of one type at once, of others as a text with a gap for each float, and then all floats."""
    kinds = set(map(type, values))
    kind = kinds.pop() if len(kinds) == 1 else None
    if kind is float:
        return _of_floats(values)
    if kind is str:
        return list(map(encode_basestring, values))
    if kind is int:
        return list(map(str, values))
    if kind is not None and (fields := _fields(kind)):
        return _of_parts(values, fields, canonical)
    floats = array("d")
    text = "\n".join([_with_gaps(each, canonical, floats) for each in values])
    return (text % tuple(_of_floats(floats.tolist()))).split("\n")  # JSON has no line break in a string


def _of_floats(floats: list[float]) -> list[str]:
    """The floats as Python writes them."""
    from pydantic_core import to_json  # many commands write nothing

    written = to_json(floats)
    # but for small ones, exponents and what is not finite, Rust writes floats as Python does
    same = floats and not written.translate(None, _OF_FLOATS) and b"0.0000" not in written
    return written[1:-1].decode().split(",") if same else list(map(_dump, floats))


@lru_cache(maxsize=256)
def _fields(kind: object) -> tuple[tuple[str, object], ...]:
    """Fields of a class of parts and their defaults; none of a class that is no part, or is written in a way of its own."""
    part = cast("type[BaseModel]", kind)
    if not hasattr(part, "model_fields") or part.__pydantic_decorators__.model_serializers:
        return ()
    return tuple(
        (name, _REQUIRED if each.is_required() else each.get_default(call_default_factory=True))
        for name, each in part.model_fields.items()
    )


def _of_parts(parts: list[object], fields: Iterable[tuple[str, object]], canonical: bool) -> list[str]:
    """JSON of parts of one class, made field by field."""
    rows = list(map(vars, parts))
    return _of_columns({name: list(map(itemgetter(name), rows)) for name, _ in fields}, fields, canonical)


def _of_columns(
    values: Mapping[str, list[object] | list[float]], fields: Iterable[tuple[str, object]], canonical: bool
) -> list[str]:
    """JSON of parts with these values by field."""
    gap, comma = (":", ",") if canonical else (": ", ", ")
    columns = list[Iterable[str]]([repeat("", len(next(iter(values.values()))))])
    for name, default in sorted(fields, key=itemgetter(0)) if canonical else fields:
        column, key = values[name], f'{comma}"{name}"{gap}'
        if set(map(type, column)) <= _HASHED and len(different := set(column)) <= _FEW_VALUES:
            each_text = zip(different, _texts(list(different), canonical), strict=True)
            texts_of = {each: "" if each == default else key + text for each, text in each_text}
            columns += [map(texts_of.__getitem__, column)] if any(texts_of.values()) else []
            continue
        given = column if default is _REQUIRED else [each for each in column if each != default]
        texts = iter(_texts(given, canonical))
        if given and len(given) == len(column):
            columns += repeat(key), texts
        elif given:
            columns.append(["" if each == default else key + next(texts) for each in column])
    return [f"{{{row[len(comma) :]}}}" for row in map("".join, zip(*columns, strict=False))]  # ``repeat`` does not end


def _with_gaps(value: Any, canonical: bool, floats: "array[float]") -> str:
    """JSON of a value with ``%s`` for each float, which are appended in their order."""
    kind: object = type(value)
    if kind is float:
        floats.append(value)
        return "%s"
    if kind is str:
        text = encode_basestring(value)
        return text.replace("%", "%%") if "%" in text else text
    if kind is int:
        return str(value)
    if fields := _fields(kind):
        own = vars(value)
        value, kind = {name: own[name] for name, default in fields if own[name] != default}, dict
    if kind is dict and len(value) <= _FEW:
        template, order = _template(tuple(value), canonical)
        values: Iterable[object] = value.values() if order is None else map([*value.values()].__getitem__, order)
        return template % tuple([_with_gaps(each, canonical, floats) for each in values])
    if kind is list or kind is tuple:
        texts = [_with_gaps(each, canonical, floats) for each in value]
        return f"[{(',' if canonical else ', ').join(texts)}]"
    if hasattr(value, "packed"):  # a table of speeds, which needs no dictionary
        template, order = _template(value.counts, canonical)
        if order is None:
            floats.frombytes(value.packed)
        else:
            floats.extend(map(value.times_s.__getitem__, order))
        return template
    if hasattr(value, "model_dump"):
        return _with_gaps(value.model_dump(exclude_defaults=True), canonical, floats)
    if kind is not dict and isinstance(value, Mapping):
        return _with_gaps(dict(value), canonical, floats)
    return (_canonical if canonical else _dump)(value).replace("%", "%%")


@lru_cache(maxsize=256)
def _template(keys: tuple[object, ...], canonical: bool) -> tuple[str, list[int] | None]:
    """JSON of an object with a gap for each value, and the places of its keys if they are put in order."""
    names = list(map(str, keys))
    order = sorted(range(len(names)), key=names.__getitem__) if canonical else None
    # what fills the gaps has gaps itself, so the keys pass a formatting twice
    gap, comma = (":%s", ",") if canonical else (": %s", ", ")
    texts = [_dump(names[index]).replace("%", "%%%%") + gap for index in order or range(len(names))]
    return f"{{{comma.join(texts)}}}", order
