"""Errors of a plan, collected and raised together; and readers of values in plans."""

import contextlib
import math
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from typing import TypeVar

from dlsched.core.errors import InputError, UsageError
from dlsched.core.files import Json
from dlsched.core.messages import FOUND, Refused, field_path, printable, shown

T = TypeVar("T")

MOST_CELLS = 10_000_000
"""Largest number of cells of a study."""

ENOUGH = 10
"""Largest number of errors that a message lists."""

Table = Mapping[str, object]


class TooLarge(UsageError):  # noqa: N818  says what the plan is
    """The plan has more cells than a study may have."""


def too_large(cells: int, of: str) -> TooLarge:
    """Return the error for a plan with too many cells; the reader of the plan adds its name."""
    return TooLarge(
        where="the plan", found=f"{cells:,} cells of {of}", allowed=f"at most {MOST_CELLS:,} cells in a study"
    )


def refused(error: UsageError, keys: Collection[str], beside: str = "") -> Exception:
    """Turn an error about an argument into a ``Refused`` of that key of the plan; return other errors as is.

    ``beside``: text that follows the value that was found.
    """
    if error.allowed is None or len(error.where) != 1 or error.where[0] not in keys:
        return error
    return Refused(f"{error.found}{beside}", error.allowed, error.where[0])


class Refusals:
    """Collects the errors of a plan, one sentence for each."""

    def __init__(self, name: str) -> None:
        self.name, self._said = name, list[str]()

    @contextlib.contextmanager
    def at(self, *where: str | int) -> Iterator[None]:
        """Collect the first error within the block, as one below a field of the plan."""
        try:
            yield
        except TooLarge as error:
            raise TooLarge(where=self.name, found=error.found, allowed=error.allowed) from None
        except Refused as error:
            self._said.append(f"{field_path((*where, *error.where))}: {error}")
        except (InputError, UsageError) as error:
            self._said.append(f"{field_path(where)}: {error.head}")

    def raise_any(self) -> None:
        """Raise an `InputError` that lists the collected errors, if there are any."""
        if self._said:
            first, *others = self._said
            more = f" (and {len(others)} more)" if others else ""
            raise InputError(f"{first}{more}", where=self.name, more=others[: ENOUGH - 1])


def quoted(name: str) -> str:
    """Write a found name for a message."""
    return shown(name[:FOUND])


def table(value: object, *where: str | int) -> Table:
    """Return a table; `Refused` for anything else, like all readers here."""
    if not isinstance(value, Mapping):
        raise Refused(shown(value), "a table of keys and values", *where)
    return value


def tables(value: object) -> list[object]:
    """Return the entries of a list with at least one."""
    if isinstance(value, list) and value:
        return value
    raise Refused("nothing" if value is None else shown(value), "a list with at least one table")


def only(entry: Table, keys: Collection[str]) -> None:
    """Refuse a key that is not among ``keys``."""
    for key in entry:
        if key not in keys:
            raise Refused("an unknown key", f"only {', '.join(keys)}", key)


def text(value: object, *where: str | int) -> str:
    """Return a non-empty text."""
    if not isinstance(value, str) or not value:
        raise Refused("nothing" if value is None else shown(value), "a text that is not empty", *where)
    return value


def one_of(value: object, allowed: Collection[str], *where: str | int) -> str:
    """Return a text that has to be one of the allowed ones."""
    if not isinstance(value, str) or value not in allowed:
        raise Refused(shown(value), ", ".join(allowed), *where)
    return value


def integer(value: object, least: int, *where: str | int) -> int:
    """Return an integer that is not less than ``least``."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise Refused(shown(value), f"an integer >= {least}", *where)
    return value


def positive(value: object, *where: str | int) -> float:
    """Return a finite number > 0."""
    return _number(value, False, where)


def not_negative(value: object, *where: str | int) -> float:
    """Return a finite number >= 0."""
    return _number(value, True, where)


def _number(value: object, zero: bool, where: tuple[str | int, ...]) -> float:
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            number = float(value)
            if 0 < number < math.inf or (zero and number == 0):
                return number
    except OverflowError:
        pass
    raise Refused(shown(value), "a number >= 0" if zero else "a number > 0", *where)


def grid(value: object, key: str) -> list[tuple[tuple[str | int, ...], object]]:
    """Return the values of a grid, one or a list of different ones, each with its path."""
    if not isinstance(value, list):
        return [((key,), value)]
    if not value:
        raise Refused("an empty list", "at least one value", key)
    seen = set[object]()
    for index, each in enumerate(value):
        known = each if isinstance(each, Hashable) else repr(each)
        if known in seen:
            raise Refused(f"{shown(each)} again", "every value once", key, index)
        seen.add(known)
    return [((key, index), each) for index, each in enumerate(value)]


def plain(value: object, *where: str | int) -> Json:
    """Return a value that JSON can hold."""
    if isinstance(value, float) and not math.isfinite(value):
        raise Refused(shown(value), "a finite number", *where)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list):
        return [plain(each, *where, index) for index, each in enumerate(value)]
    if isinstance(value, dict):
        return {str(key): plain(each, *where, str(key)) for key, each in value.items()}
    raise Refused(printable(str(value))[:FOUND], "a number, a text, true, false, a list or a table", *where)


def listed(given: Iterable[T], where: str) -> list[T]:
    """Return what a user gave as a list; UsageError: it is none."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise UsageError(where=where, found=repr(given), allowed="a list")
    return list(given)
