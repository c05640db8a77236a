"""Error messages on one line (path of the field, what was found, what is allowed), and labels that every LP reader accepts."""

import json
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from dlsched.core.errors import DlschedError

FOUND = 60
"""Characters of a name or a found value that a message shows."""


class Refused(ValueError):  # noqa: N818  says what happened to the value
    """Raised by a validator: what it found, what is allowed, and ``where`` below its own field."""

    def __init__(self, found: str, allowed: str, *where: str | int) -> None:
        super().__init__(f"found {found}, allowed: {allowed}")
        self.found, self.allowed, self.where = found, allowed, where


def field_path(where: tuple[str | int, ...]) -> str:
    """Write a path as a person would: ``jobs[3].epochs``."""
    path = ""
    for step in where:
        if isinstance(step, int):
            path += f"[{step}]"
        else:
            path += f".{printable(step[:FOUND])}" if path else printable(step[:FOUND])
    return path or "the file"


def printable(text: str) -> str:
    """Write text on one line; characters that cannot be printed are escaped."""
    return text if text.isprintable() else repr(text)[1:-1]


def several(count: int, one: str, many: str = "") -> str:
    """Write a count with its noun.

    >>> several(1, "job"), several(1200, "GPU"), several(2, "family", "families")
    ('1 job', '1,200 GPUs', '2 families')
    """
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def listed(words: Sequence[str], none: str = "none") -> str:
    """Join words with commas and an "and".

    >>> listed(["a", "b", "c"]), listed(["a"]), listed([])
    ('a, b and c', 'a', 'none')
    """
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1]))) if words else none


def cut(text: str, longest: int) -> str:
    """Cut text that is longer than ``longest`` in the middle.

    >>> cut("application-1506638472019-10025", 15)
    'applica…9-10025'
    """
    head = longest // 2
    return text if len(text) <= longest else f"{text[:head]}…{text[head + 1 - longest :]}"


def told_apart(labels: Mapping[str, str]) -> dict[str, str]:
    """Number labels that are equal, so that different names look different.

    >>> told_apart({"abcde": "ab…e", "abXde": "ab…e"})
    {'abcde': 'ab…e', 'abXde': 'ab…e (2)'}
    """
    seen: Counter[str] = Counter()
    chosen = {}
    for name, label in labels.items():
        seen[label] += 1
        chosen[name] = label if seen[label] == 1 else f"{label} ({seen[label]})"
    return chosen


def located(error: ValidationError, unions: Collection[str] = (), below: tuple[str, ...] = ()) -> str:
    """Write the first of Pydantic's errors as a sentence, with the number of further errors.

    ``unions``: fields whose value may be of several kinds; Pydantic adds the kind to the path after such a
    field. ``below``: path of the validated value within the file.
    """
    first, *others = sentences(error.errors(include_url=False), unions, below)
    return f"{first} (and {len(others)} more)" if others else first


def sentences(
    errors: Sequence[ErrorDetails], unions: Collection[str] = (), below: tuple[str | int, ...] = ()
) -> list[str]:
    """Write a sentence for each of Pydantic's errors."""
    inside = {each["loc"][:depth] for each in errors for depth in range(len(each["loc"]))}
    # Pydantic does not count wrong entries, so it may call the list too short as well: leave that error out
    return [
        _sentence(each, unions, below) for each in errors if each["type"] != "too_short" or each["loc"] not in inside
    ]


def _sentence(error: ErrorDetails, unions: Collection[str], below: tuple[str | int, ...]) -> str:
    where, found, allowed = error["loc"], shown(error["input"]), _allowed(error)
    cause = error.get("ctx", {}).get("error")
    if isinstance(cause, DlschedError):
        return f"{field_path((*below, *where))}: {cause.head}"
    if isinstance(cause, Refused):
        where, found, allowed = (*where, *cause.where), cause.found, cause.allowed
    where = tuple(step for index, step in enumerate(where) if index == 0 or where[index - 1] not in unions)
    if error["type"] in ("union_tag_invalid", "union_tag_not_found"):
        where = (*where, error["ctx"]["discriminator"].strip("'"))
        found = shown(error["ctx"]["tag"]) if "tag" in error["ctx"] else "nothing"
    if error["type"] == "missing":
        found = "nothing"
    if error["type"] == "extra_forbidden":
        found = "an unknown field"
    return f"{field_path((*below, *where))}: found {found}, allowed: {allowed}"


def shown(value: object) -> str:
    """Write a found value for a message: short, on one line."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list | tuple):
        return "an empty list" if not value else "a list"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    text = json.dumps(printable(value), ensure_ascii=False) if isinstance(value, str) else _number_text(value)
    return text if len(text) <= FOUND else text[: FOUND - 3] + "..."


def _number_text(value: object) -> str:
    try:
        return printable(repr(value))
    except ValueError:  # Python refuses to print integers of thousands of digits
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
    "literal_error": "{expected}",
    "bool_type": "true or false",
    "union_tag_invalid": "{expected_tags}",
    "union_tag_not_found": "this field is required",
    "model_attributes_type": "an object",
}


def _allowed(error: ErrorDetails) -> str:
    pattern = _ALLOWED.get(error["type"])
    if error["type"] == "too_short" and isinstance(error["input"], dict):
        pattern = "an object with at least {min_length} entries"
    return str(error["msg"]) if pattern is None else pattern.format(**error.get("ctx", {}))


_PLAIN = re.compile(r"[A-Za-z0-9_]{1,64}")


def plain_labels(ids: Sequence[str], letter: str) -> list[str]:
    """Return the ids where all are plain and differ in more than case, else ``letter`` and the position.

    >>> plain_labels(["a", "b"], "j"), plain_labels(["a b", "c"], "j")
    (['a', 'b'], ['j0', 'j1'])
    """
    if all(map(_PLAIN.fullmatch, ids)) and len({name.lower() for name in ids}) == len(ids):
        return list(ids)
    return [f"{letter}{index}" for index in range(len(ids))]


def separable_labels(ids: Sequence[str], letter: str) -> list[str]:
    """Return plain labels without underscores, so that names joined by them stay different.

    >>> separable_labels(["a", "b"], "j"), separable_labels(["a_b", "c"], "j")
    (['a', 'b'], ['j0', 'j1'])
    """
    labels = plain_labels(ids, letter)
    return [f"{letter}{index}" for index in range(len(labels))] if any("_" in label for label in labels) else labels
