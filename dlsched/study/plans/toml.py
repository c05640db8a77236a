"""Writer of plain values as TOML, which the standard library can only read."""

import json
import re
from collections.abc import Mapping

from dlsched.core.errors import UsageError
from dlsched.core.files import Json
from dlsched.core.messages import shown


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
