"""Plain data as JSON: the text that ``json`` writes, in a third of the time where objects have the same keys."""

import json
from array import array
from collections.abc import Iterable
from functools import lru_cache
from json.encoder import encode_basestring
from typing import Any, cast

_dump = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode
_canonical = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode
_FEW = 1024  # keys of an object whose template is remembered
_OF_FLOATS = b"0123456789.,-[]"


def text_of(entries: Iterable[object], between: str, *, canonical: bool = False) -> str:
    """JSON of plain data, joined: a text with a gap for each float, and then all floats at once.

    ``canonical``: keys in order, and no blanks. ValueError: a number is not finite.
    """
    from pydantic_core import to_json  # many commands write nothing

    floats = array("d")
    text = between.join([_with_gaps(each, canonical, floats) for each in entries])
    written = to_json(floats.tolist())
    # but for small ones, exponents and what is not finite, Rust writes floats as Python does
    same = floats and not written.translate(None, _OF_FLOATS) and b"0.0000" not in written
    return text % tuple(written[1:-1].decode().split(",") if same else map(_dump, floats))


def _with_gaps(value: object, canonical: bool, floats: "array[float]") -> str:
    """JSON of a value with ``%s`` for each float, which are appended in their order."""
    kind = type(value)
    if kind is float:
        floats.append(cast(float, value))
        return "%s"
    if kind is str:
        text = encode_basestring(cast(str, value))
        return text.replace("%", "%%") if "%" in text else text
    if kind is int:
        return str(value)
    if kind is dict and len(cast(dict[object, object], value)) <= _FEW:
        entries = cast(dict[object, object], value)
        template, order = _template(tuple(entries), canonical)
        values: Iterable[object] = entries.values() if order is None else map([*entries.values()].__getitem__, order)
        return template % tuple([_with_gaps(each, canonical, floats) for each in values])
    if kind is list or kind is tuple:
        texts = [_with_gaps(each, canonical, floats) for each in cast(Iterable[object], value)]
        return f"[{(',' if canonical else ', ').join(texts)}]"
    if hasattr(value, "packed"):  # a table of speeds, which needs no dictionary
        columns = cast(Any, value)
        template, order = _template(columns.counts, canonical)
        if order is None:
            floats.frombytes(columns.packed)
        else:
            floats.extend(map(columns.times_s.__getitem__, order))
        return template
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
