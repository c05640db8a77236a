"""DataFrames as lists of objects: a row is an object, its columns are the fields, and missing values are omitted.

Every object serves that has ``columns`` and gives a column for ``frame[name]``, as those of pandas and Polars do.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, Self, get_args

from dlsched.core.errors import InstanceError
from dlsched.core.messages import cut, printable
from dlsched.core.part import ENOUGH, Part


class Frame(Protocol):
    """What a DataFrame has, whichever library it is of."""

    @property
    def columns(self) -> Iterable[object]:
        """Names of the columns."""
        ...

    def __getitem__(self, name: str, /) -> Iterable[object]:
        """Return a column."""
        ...


@dataclass(frozen=True)
class Rows:
    """The rows of a frame as plain data without absent values, and their names in error messages.

    ``field`` is the field of the instance that they are; ``labels`` are those of the frame where they differ, else
    positions; ``absent`` has what stands where a value is absent (None, NaN ...), by position and column.
    """

    field: str
    data: list[dict[str, object]]
    labels: Sequence[object]
    absent: Mapping[tuple[int, str], object]

    @classmethod
    def of(cls, field: str, frame: Frame, part: type[Part]) -> Self:
        """Read a frame whose rows are parts of that kind.

        ``InstanceError``: it is no frame, or lacks a column of a required field, has one twice or one that is no field.
        """
        if not is_frame(frame):
            kind = f"a {type(frame).__name__}"
            raise InstanceError(where="frame", found=kind, allowed="a DataFrame, such as one of pandas or Polars")
        index = getattr(frame, "index", None)
        names = list(frame.columns)
        columns: dict[str, Iterable[object]] = {}
        if index is not None and index.name in part.model_fields and index.name not in names:
            columns[index.name] = index
        _require_columns(field, [*columns, *names], part)
        columns |= {str(name): frame[str(name)] for name in names}
        whole = {name for name, each in part.model_fields.items() if _of_integers(each.annotation)}
        absent: dict[tuple[int, str], object] = {}
        rows: list[dict[str, object]] = []
        # Column by column, since frames give columns; absent values are remembered for messages only.
        for name, column in columns.items():
            for number, value in enumerate(column):
                if number == len(rows):
                    rows.append({})
                if _absent(value):
                    absent[number, name] = value
                elif name in whole and isinstance(value, float) and value.is_integer():
                    rows[number][name] = int(value)  # a column of integers with gaps is one of floats
                else:
                    rows[number][name] = value
        labels = list(range(len(rows))) if index is None or not index.is_unique else list(index)
        return cls(field, rows, labels, absent)

    def located(self, sentence: str) -> str:
        """Return an error's sentence, with row and column where it begins with a place in the list."""
        match = re.match(rf"{self.field}\[(\d+)\](?:\.(\w+))?", sentence)
        if match is None:
            return sentence
        number, column = int(match[1]), match[2]
        rest = sentence[match.end() :]
        if rest.startswith(": found nothing") and (number, column) in self.absent:
            rest = rest.replace("nothing", str(self.absent[number, column]), 1)
        row = f"row {printable(cut(str(self.labels[number]), 60))}"
        of = "" if self.field == "jobs" else f" of {self.field}"
        return f"{row}{of}{f', {column}' if column else ''}{rest}"


def is_frame(value: object) -> bool:
    """Whether a value is a DataFrame: columns by name."""
    return hasattr(value, "columns") and hasattr(value, "__getitem__")


def part_of(annotation: object) -> type[Part] | None:
    """Return the class of the parts in a field that holds a list of them, None for any other field."""
    if isinstance(annotation, type) and issubclass(annotation, Part):
        return annotation
    parts = (part_of(each) for each in get_args(annotation))
    return next((each for each in parts if each is not None), None)


def _require_columns(field: str, names: Sequence[object], part: type[Part]) -> None:
    """Refuse columns that are missing, unknown or there twice."""
    wrong = []
    for name, each in part.model_fields.items():
        if each.is_required() and name not in names:
            wrong.append(f"column {name}: found nothing, allowed: this column is required")
    for column in dict.fromkeys(names):
        if column not in part.model_fields:
            name = printable(cut(str(column), 60))
            wrong.append(f"column {name}: found an unknown field, allowed: {', '.join(part.model_fields)}")
        elif names.count(column) > 1:
            wrong.append(f"column {column}: found {names.count(column)} columns of this name, allowed: one")
    if wrong:
        of = "" if field == "jobs" else f"{field}: "
        more = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
        raise InstanceError(of + wrong[0] + more, more=[of + each for each in wrong[1:ENOUGH]])


def _of_integers(annotation: object) -> bool:
    """Whether a field holds an integer, or an integer or nothing."""
    return annotation is int or any(map(_of_integers, get_args(annotation)))


def _absent(value: object) -> bool:
    """Whether nothing stands there: None, NaN, or what pandas has for no value and no time."""
    return (
        value is None or (isinstance(value, float) and value != value) or type(value).__name__ in ("NAType", "NaTType")
    )
