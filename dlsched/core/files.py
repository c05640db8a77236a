"""Reading and writing JSON: strict, with located messages, canonical bytes for the hash, files that appear whole or not."""

import hashlib
import json
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from dlsched.core.errors import InputError

_FOUND = 60  # characters of a found value that a message shows


class Refused(ValueError):  # noqa: N818  says what happened to the value
    """Raised by a validator: what was found and what is allowed, below the field that the validator belongs to."""

    def __init__(self, found: str, allowed: str, *where: str | int) -> None:
        super().__init__(f"found {found}, allowed: {allowed}")
        self.found, self.allowed, self.where = found, allowed, where


class _RepeatedKey(dict[str, Any]):
    """A JSON object in which ``key`` stood more than once."""

    key = ""


def read_json(path: str | os.PathLike[str]) -> Any:
    """Parse a JSON file (``-``: standard input); refuses duplicate keys.

    Raises
    ------
    InputError
        The file cannot be read, is not UTF-8 or not JSON, or an object repeats a key.
    """
    name = "standard input" if os.fspath(path) == "-" else os.fspath(path)
    repeated: list[str] = []

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) == len(pairs):
            return found
        marked = _RepeatedKey(found)
        times = Counter(key for key, _ in pairs)
        marked.key = next(key for key in found if times[key] > 1)
        repeated.append(marked.key)
        return marked

    try:
        raw = sys.stdin.buffer.read() if os.fspath(path) == "-" else Path(path).read_bytes()
        data = json.loads(raw.decode("utf-8"), object_pairs_hook=unique)
    except OSError as error:
        raise InputError(f"{name}: cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{name}: byte {error.start}: found no UTF-8, allowed: UTF-8 text") from None
    except json.JSONDecodeError as error:
        raise InputError(
            f"{name}: line {error.lineno} column {error.colno}: found no JSON ({error.msg}), allowed: JSON"
        ) from None
    except RecursionError:
        raise InputError(
            f"{name}: found lists or objects nested too deeply, allowed: the fields of the format"
        ) from None
    except ValueError as error:  # an integer of more digits than Python converts
        raise InputError(f"{name}: found a number that cannot be read ({error}), allowed: numbers in range") from None
    if repeated:
        raise InputError(f"{name}: {_repeated_path(data)}: found the key twice, allowed: once")
    return data


def _repeated_path(data: Any) -> str:
    """Path of the first repeated key, in the order of the file."""
    stack: list[tuple[tuple[str | int, ...], Any]] = [((), data)]
    while stack:
        where, value = stack.pop()
        if isinstance(value, _RepeatedKey):
            return field_path((*where, value.key))
        if isinstance(value, dict):
            stack.extend(((*where, key), item) for key, item in reversed(value.items()))
        elif isinstance(value, list):
            stack.extend(((*where, place), item) for place, item in reversed(list(enumerate(value))))
    return "an object"  # it stood under a key that was itself repeated and lost


def field_path(where: tuple[str | int, ...]) -> str:
    """Write a path as a person would.

    >>> field_path(("jobs", 3, "epochs"))
    'jobs[3].epochs'
    """
    path = ""
    for step in where:
        if isinstance(step, int):
            path += f"[{step}]"
        else:
            path += f".{printable(step[:_FOUND])}" if path else printable(step[:_FOUND])
    return path or "the file"


def printable(text: str) -> str:
    """Write text on one line, with what no terminal shows escaped."""
    return text if text.isprintable() else repr(text)[1:-1]


def located(error: ValidationError) -> str:
    """One sentence of a Pydantic error: the path of the first field, what was found, what is allowed; and how many more."""
    errors = error.errors(include_url=False)
    errors = [
        each for each in errors if each["type"] != "too_short"
    ] or errors  # a list is also short of its bad entries
    first = errors[0]
    where, found, allowed = first["loc"], shown(first["input"]), _allowed(first)
    cause = first.get("ctx", {}).get("error")
    if isinstance(cause, Refused):
        where, found, allowed = (*where, *cause.where), cause.found, cause.allowed
    if first["type"] == "missing":
        found = "nothing"
    if first["type"] == "extra_forbidden":
        found = "an unknown field"
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    return f"{field_path(where)}: found {found}, allowed: {allowed}{more}"


def shown(value: Any) -> str:
    """Write a found value for a message: short, on one line."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list | tuple):
        return "an empty list" if not value else "a list"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    text = json.dumps(printable(value), ensure_ascii=False) if isinstance(value, str) else _number_text(value)
    return text if len(text) <= _FOUND else text[: _FOUND - 3] + "..."


def _number_text(value: Any) -> str:
    try:
        return repr(value)
    except ValueError:  # an integer of too many digits to print
        return "an integer of thousands of digits"


_ALLOWED = {
    "missing": "this field is required",
    "extra_forbidden": "only the fields of the format",
    "greater_than": "a number > {gt:g}",
    "greater_than_equal": "a number >= {ge:g}",
    "less_than_equal": "a number <= {le:g}",
    "finite_number": "a finite number",
    "float_type": "a number",
    "int_type": "an integer",
    "int_from_float": "an integer",
    "string_type": "a string",
    "string_too_short": "a non-empty string",
    "string_unicode": "a string of valid Unicode",
    "too_short": "a list with at least {min_length} entries",
    "too_long": "a list with at most {max_length} entries",
    "tuple_type": "a list",
    "list_type": "a list",
    "dict_type": "an object",
    "mapping_type": "an object",
    "model_type": "an object",
    "model_attributes_type": "an object",
    "literal_error": "{expected}",
    "bool_type": "true or false",
}


def _allowed(error: Any) -> str:
    pattern = _ALLOWED.get(error["type"])
    return str(error["msg"]) if pattern is None else pattern.format(**error.get("ctx", {}))


def canonical_sha256(data: Mapping[str, Any]) -> str:
    """SHA-256 of the UTF-8 JSON with sorted keys, separators ``,`` and ``:``, floats as Python's repr."""
    text = json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def json_text(data: Mapping[str, Any]) -> str:
    """JSON that people can read and diff: a line for each field, and for each entry of a list of objects."""
    lines = []
    for key, value in data.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            entries = ",\n  ".join(_dump(entry) for entry in value)
            lines.append(f" {json.dumps(key)}: [\n  {entries}\n ]")
        else:
            lines.append(f" {json.dumps(key)}: {_dump(value)}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def require_writable(path: str | os.PathLike[str]) -> None:
    """Refuse a place that cannot be written before long work is done for it.

    Raises
    ------
    InputError
        Its folder does not exist or may not be written, or it is a folder itself.
    """
    if os.fspath(path) == "-":
        return
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise InputError(f"{path}: cannot be written: it is a folder")
    if not target.parent.is_dir():
        raise InputError(f"{path}: cannot be written: there is no folder {target.parent}")
    if not os.access(target if target.exists() and not target.is_file() else target.parent, os.W_OK):
        raise InputError(f"{path}: cannot be written: no permission")


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a file by way of a temporary one beside it, so that a reader never sees half of it (``-``: standard output).

    A link is followed; a device or pipe is written to as it is.

    Raises
    ------
    InputError
        The file cannot be written.
    """
    if os.fspath(path) == "-":
        sys.stdout.write(text)
        return
    target = Path(os.path.realpath(path))
    temporary: str | None = None
    try:
        if target.exists() and not target.is_file():
            target.write_text(text, encoding="utf-8")
            return
        handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(text)
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
        os.replace(temporary, target)
        temporary = None
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror or error}") from None
    finally:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)
