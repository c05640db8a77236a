"""Values of plans as files hold them, and a writer of TOML, which the standard library can only read."""

import json
import operator
import os
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from typing import SupportsIndex

from dlsched.core.errors import UsageError
from dlsched.core.files import Json
from dlsched.core.messages import field_path, shown
from dlsched.study.plans.refusals import MOST_CELLS
from dlsched.study.plans.session_code import is_of_session


def toml_text(data: Mapping[str, Json]) -> str:
    """Write tables: values first, then tables and lists of tables, each below its head; None is left out."""
    heads, lines = [], []
    for key, value in data.items():
        if isinstance(value, dict):
            heads.append((f"[{_key(key)}]", value))
        elif isinstance(value, list) and value and all(isinstance(each, dict) for each in value):
            heads += [(f"[[{_key(key)}]]", each) for each in value if isinstance(each, dict)]
        else:
            lines += _lines({key: value})
    for head, entries in heads:
        lines += ["", head, *_lines(entries)]
    return "\n".join(lines) + "\n"


def _lines(data: Mapping[str, Json]) -> list[str]:
    return [f"{_key(key)} = {_value(value)}" for key, value in data.items() if value is not None]


def _key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _value(key)


def _value(value: Json) -> str:
    if isinstance(value, dict):
        return f"{{{', '.join(_lines(value))}}}"
    if isinstance(value, list):
        return f"[{', '.join(_value(each) for each in value)}]"
    # a JSON string is a TOML string, except for the character 127
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def writable(number: int) -> int:
    """Return an integer; UsageError for one with so many digits that Python does not write it."""
    try:
        str(number)
    except ValueError:
        raise UsageError(f"found {shown(number)}, allowed in a plan: integers that Python writes") from None
    return number


def plain_value(value: object, *where: str | int) -> Json:
    """Convert a value to the one that a file holds; ``where``: its path in the plan, for messages."""
    if value is None or isinstance(value, bool | str | float):
        return value
    if callable(value):
        return _importable(value, where)
    if isinstance(value, SupportsIndex):
        return writable(operator.index(value))
    if isinstance(value, os.PathLike):
        return str(os.fspath(value))
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {
            str(key): plain_value(_seeds(each) if key == "seeds" else each, *where, str(key))
            for key, each in value.items()
            if each is not None
        }
    if isinstance(value, Sequence):
        if len(value) > MOST_CELLS:
            raise UsageError(f"found a list of {len(value):,} values, allowed in a plan: at most {MOST_CELLS:,}")
        return [plain_value(each, *where, index) for index, each in enumerate(value)]
    raise UsageError(f"found {value!r}, allowed in a plan: numbers, texts, lists, tables and functions")


def _seeds(value: object) -> object:
    """Write a range of seeds as text, as in files, since it may be long."""
    if not isinstance(value, range) or value.start < 0 or value.stop < 0 or value.step < 1:
        return value
    return f"{value.start}:{value.stop}" + (f":{value.step}" if value.step > 1 else "")


def _importable(thing: Callable[..., object], where: tuple[str | int, ...]) -> str:
    """Return the name of a function as in files; UsageError if other processes could not import it."""
    module, name = getattr(thing, "__module__", None), getattr(thing, "__qualname__", repr(thing))
    if is_of_session(thing):
        raise UsageError(
            where=field_path(where),
            found=f"{name} of {module}",
            allowed="a function or class at the top of a module, which other processes can import; or path.py:function",
        )
    return f"{module}:{name}"
