"""The base of the families' instances: how one is validated, read from a DataFrame, written and hashed."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Protocol, Required, Self, TypedDict, cast, get_args

from pydantic import AfterValidator, BaseModel, Field, ValidationError, model_validator
from pydantic_core import ErrorDetails

from dlsched.core.display import Summarised, brief
from dlsched.core.errors import InstanceError
from dlsched.core.files import canonical_sha256
from dlsched.core.garbage import uncollected
from dlsched.core.messages import Refused, cut, printable, sentences
from dlsched.core.part import ENOUGH, Data, Part, sparing
from dlsched.core.part import STRICT as STRICT
from dlsched.core.part_columns import PartColumns
from dlsched.core.ranges import LARGEST_COUNT
from dlsched.core.status import Sense


class Frame(Protocol):
    """What a DataFrame has, whichever library it is of."""

    @property
    def columns(self) -> Iterable[object]:
        """Names of the columns."""

    def __getitem__(self, name: str, /) -> Iterable[object]:
        """Return a column."""


@dataclass(frozen=True)
class Rows:
    """The rows of a frame as plain data without absent values, and their names in error messages.

    ``labels`` are those of the frame where they differ, else positions; ``absent`` has what stands where a value is absent
    (None, NaN ...), by position and column.
    """

    field: str
    data: list[dict[str, object]]
    labels: Sequence[object]
    absent: Mapping[tuple[int, str], object]

    @classmethod
    def of(cls, field: str, frame: Frame, part: type[Part]) -> Self:
        """Read a frame whose rows are parts of that kind; InstanceError: no frame, or its columns are not the fields."""
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


_no_minus_zero = (0.0).__add__
Name = Annotated[str, Field(min_length=1)]
Count = Annotated[int, Field(ge=1, le=LARGEST_COUNT)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NonNegative = Annotated[float, Field(ge=0, allow_inf_nan=False), AfterValidator(_no_minus_zero)]
Finite = Annotated[float, Field(allow_inf_nan=False), AfterValidator(_no_minus_zero)]


_BLOCK = 2_000  # entries of a list that are plain data at a time
_IDS = 5
"""Names of jobs that a ``repr`` shows."""


def require_unique_ids(ids: Sequence[str], field: str) -> None:
    """Refuse an id that occurs twice in the list ``field``; the error names both indices."""
    if len(set(ids)) == len(ids):
        return
    first: dict[str, int] = {}
    for index, name in enumerate(ids):
        if first.setdefault(name, index) != index:
            raise Refused(f"{name[:60]!r}, the id of {field}[{first[name]}] too", "unique ids", field, index, "id")


class Known(Part):
    """The known optimum of an instance, or a ``lower`` and ``upper`` bound on it, and who proved it."""

    optimum: Finite | None = None
    lower: Finite | None = None
    upper: Finite | None = None
    proof: Name

    @model_validator(mode="after")
    def _one_of_two(self) -> Self:
        if (self.optimum is None) == (self.lower is None and self.upper is None):
            raise Refused("both or neither", "either optimum, or lower and upper")
        if self.optimum is None and (self.lower is None or self.upper is None):
            raise Refused("one of lower and upper", "both")
        if self.lower is not None and self.upper is not None and self.lower > self.upper:
            raise Refused(f"lower {self.lower} above upper {self.upper}", "lower <= upper")
        return self

    def answer(self, sense: Sense) -> float | None:
        """Objective of a known solution: the optimum, or the bound on its worse side."""
        return self.optimum if self.optimum is not None else self.upper if sense is Sense.MINIMIZE else self.lower

    def bound(self, sense: Sense) -> float | None:
        """Known bound: the optimum, or the bound on its better side."""
        return self.optimum if self.optimum is not None else self.lower if sense is Sense.MINIMIZE else self.upper


class Head(TypedDict, total=False):
    """What every instance is made from, beside the fields of its family."""

    name: Required[str]
    source: str | None
    known: Known | Data | None


def _told(rows: Sequence[Rows], sentence: str) -> str:
    """Return an error's sentence with rows and columns of frames."""
    for each in rows:
        sentence = each.located(sentence)
    return sentence


def _without(part: Part, field: str, value: object) -> Part:
    """The part, or a copy without the field if that has this value."""
    if getattr(part, field) != value:
        return part
    copied = BaseModel.__copy__(part)
    copied.__dict__[field] = None
    return copied


class InstanceFile(Summarised, Part):
    """Base of the families' instances: immutable, strict, with name, source and what is known."""

    family: ClassVar[str]
    nullable: ClassVar[frozenset[str]] = frozenset()
    """Fields at the top of a file that may be null."""
    default_count: ClassVar[tuple[str, str]] = ("", "")
    """A field of jobs, and the instance's field that stands for it where a job has none."""

    name: Name
    source: str | None = None
    known: Known | None = None

    @classmethod
    def __pydantic_init_subclass__(cls, **options: object) -> None:
        cls._validator = sparing(cls)

    @classmethod
    def of_columns(cls, jobs: PartColumns, **fields: object) -> Self:
        """Make an instance whose jobs are in columns until ``jobs`` is asked for; InstanceError or ``Refused`` as usual."""
        made = cls(**fields, jobs=[{name: values[0] for name, values in jobs.values.items()}])
        del made.__dict__["jobs"]
        made.__dict__["_columns_of_jobs"] = jobs
        made.require_consistent()
        return made

    def require_consistent(self) -> None:
        """Refuse fields and jobs that do not agree with each other."""

    if not TYPE_CHECKING:  # a type checker would take every name for an attribute

        def __getattr__(self, name: str) -> object:
            columns = self.__dict__.get("_columns_of_jobs")
            if name == "jobs" and columns is not None:
                with uncollected():
                    self.__dict__.setdefault(name, tuple(columns.parts()))
                self.__dict__.pop("_columns_of_jobs", None)
            return self.__dict__[name] if name in self.__dict__ else super().__getattr__(name)

        def __iter__(self) -> Iterator[tuple[str, object]]:
            return super(InstanceFile, self._with_jobs()).__iter__()

        def model_dump(self, **options: object) -> dict[str, object]:
            """Return the fields as plain data; the jobs are made first, as Pydantic would leave them out."""
            return super(InstanceFile, self._with_jobs()).model_dump(**options)

        def model_dump_json(self, **options: object) -> str:
            """Return the fields as JSON; the jobs are made first."""
            return super(InstanceFile, self._with_jobs()).model_dump_json(**options)

    def _with_jobs(self) -> Self:
        """Make the jobs if they are in columns; return the instance."""
        getattr(self, "jobs", None)
        return self

    def apart(self) -> Self:
        """Return a copy of it and its parts, not validated, for code that may change what is immutable."""
        return super(InstanceFile, self._with_jobs()).apart()

    @property
    def job_columns(self) -> PartColumns | None:
        """The jobs, as long as they are in columns."""
        return self.__dict__.get("_columns_of_jobs")

    def job_values(self, field: str) -> Sequence[Any]:
        """A field's value of every job, in their order; makes no job."""
        columns = self.job_columns
        return list(map(itemgetter(field), map(vars, vars(self)["jobs"]))) if columns is None else columns.values[field]

    @classmethod
    def from_frame(cls, frame: Frame, name: str = "frame", **others: object) -> Self:
        """Make an instance whose jobs are the rows of a DataFrame of pandas or Polars.

        Parameters
        ----------
        frame
            Its columns are the fields of ``Job``. None, NaN and pandas' NA mean that a field is absent. Objects of several
            values, such as ``epoch_time_s``, stand in one cell, as a dictionary. An index that is named as a field is one.
        others
            The instance's further fields, such as ``gpus``; a list of objects, such as ``workers``, may be a frame, too.

        Raises
        ------
        InstanceError
            A column is missing or unknown, or a value is wrong; the message names row and column.
        """
        if "jobs" in others:
            raise InstanceError(where="jobs", found="some beside a frame of jobs", allowed="the frame alone")
        tables = {"jobs": frame} | {field: cast(Frame, value) for field, value in others.items() if is_frame(value)}
        rows = []
        for field, table_of_parts in tables.items():
            part = part_of(cls.model_fields[field].annotation) if field in cls.model_fields else None
            if part is None:
                fields = (
                    name for name, each in cls.model_fields.items() if part_of(each.annotation) not in (None, Known)
                )
                raise InstanceError(where=field, found="a frame", allowed=f"a frame only for {', '.join(fields)}")
            rows.append(Rows.of(field, table_of_parts, part))
        fields_of_file = {"name": name} | others | {each.field: each.data for each in rows}
        try:
            return cls(**fields_of_file)
        except InstanceError as error:
            first, *more = (_told(rows, sentence) for sentence in (error.head, *error.more))
            raise InstanceError(first, more=more) from None

    @classmethod
    def _sentences(cls, data: Mapping[str, object], error: ValidationError) -> list[str]:
        """Return at most ``ENOUGH`` sentences, one for each error; the first says how many more there are.

        The validator stops at the first wrong entry of a list, so the later entries are validated again.
        """
        frames = [field for field, value in data.items() if is_frame(value)]
        if frames:
            allowed = f"a list of objects; {cls.__name__}.from_frame takes frames"
            return [f"{field}: found a frame, allowed: {allowed}" for field in frames]
        errors = error.errors(include_url=False)
        for first in list(errors):
            match first["loc"]:
                case (str(field), int(index), *_) if isinstance(entries := data[field], list | tuple):
                    errors += cls._later_errors(entries, field, index + 1)
        messages = list(dict.fromkeys(sentences(errors, cls.unions)))
        counted = len(messages) <= ENOUGH and not any(
            isinstance(step, int) for each in errors for step in each["loc"][2:]
        )
        more = (
            f" (and {'' if counted else 'at least '}{min(len(messages) - 1, ENOUGH)} more)" if len(messages) > 1 else ""
        )
        return [messages[0] + more, *messages[1:ENOUGH]]

    @classmethod
    def _later_errors(cls, entries: Sequence[object], field: str, start: int) -> list[ErrorDetails]:
        """Errors of a list's entries from ``start`` on; stops at more than ``ENOUGH`` errors."""
        found: list[ErrorDetails] = []
        while len(found) <= ENOUGH and start < len(entries):
            errors: list[ErrorDetails] = []
            try:
                cls._validator.validate_python({field: entries[start:]}, self_instance=cls.__new__(cls))
            except ValidationError as error:
                errors = [each for each in error.errors(include_url=False) if each["loc"][:1] == (field,)]
            errors = [each for each in errors if len(each["loc"]) > 1]  # others: of the whole list
            if not errors:
                break
            index = start + int(errors[0]["loc"][1])
            found += [{**each, "loc": (field, index, *each["loc"][2:])} for each in errors]
            start = index + 1
        return found

    def _summary(self) -> dict[str, str]:
        """The facts that a person wants to know first."""
        facts = {"Instance": f"{printable(cut(self.name, 60))} ({self.family})"}
        for name, value in self._shown().items():
            if name in ("name", "source", "known"):
                continue
            ids = [getattr(each, "id", None) for each in value[:_IDS]] if isinstance(value, tuple) else []
            if isinstance(value, tuple):
                named = ", ".join(printable(cut(each, 20)) for each in ids if each is not None)
                facts[name] = f"{len(value):,}" + (f": {named}{', …' if len(value) > _IDS else ''}" if named else "")
            else:
                facts[name] = brief(value)
        if self.known is not None:
            facts["known"] = brief(self.known)
        return facts

    def __eq__(self, other: object) -> bool:
        """Whether all fields are equal; arrays that were computed from them since are not compared."""
        return type(other) is type(self) and all(
            getattr(self, name) == getattr(other, name) for name in type(self).model_fields
        )

    def as_data(self) -> dict[str, Any]:
        """Return the instance as its file holds it; fields at their default are left out."""
        return {"format": f"dlsched/{self.family}/1"} | self.model_dump(mode="json", exclude_defaults=True)

    def canonical_data(self) -> dict[str, Any]:
        """Return what the hash covers: ``as_data`` of ``hashed``."""
        return self.hashed().as_data()

    def hashed(self) -> Self:
        """Return a copy, not validated, without ``known``, ``source``, and counts that are ``default_count``."""
        copied = BaseModel.__copy__(self)
        copied.__dict__.update(known=None, source=None)
        count, capacity = self.default_count
        if count and (most := getattr(self, capacity)) in (counts := self.job_values(count)):
            if (columns := self.job_columns) is not None:
                others = columns.replaced(count, [None if each == most else each for each in counts])
                copied.__dict__["_columns_of_jobs"] = others
            else:
                copied.__dict__["jobs"] = tuple(_without(job, count, most) for job in vars(self)["jobs"])
        return copied

    @cached_property
    def index(self) -> dict[str, int]:
        """Position of every job by its id."""
        ids = self.job_values("id")
        return dict(zip(ids, range(len(ids)), strict=True))

    @cached_property
    def sha256(self) -> str:
        """SHA-256 of the canonical JSON, computed when first asked for."""
        return canonical_sha256(self.hashed().in_blocks())

    def in_blocks(self) -> dict[str, object]:
        """Return ``as_data``, with the longest list of parts as an iterator over blocks of these.

        As plain data, all entries at once take up to ten times the memory of the file.
        """
        columns = self.job_columns
        lists: dict[str, tuple[Part, ...] | PartColumns] = {} if columns is None else {"jobs": columns}
        for name in type(self).model_fields:
            value = vars(self).get(name)
            if isinstance(value, tuple) and value and isinstance(value[0], Part):
                lists[name] = value
        if not lists:
            return self.as_data()
        longest = max(lists, key=lambda name: len(lists[name]))
        parts, first = lists[longest], BaseModel.__copy__(self)
        first.__dict__[longest] = parts[:1] if isinstance(parts, tuple) else tuple(parts[:1].parts())
        return first.as_data() | {longest: (parts[start : start + _BLOCK] for start in range(0, len(parts), _BLOCK))}
