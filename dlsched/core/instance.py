"""The head that every instance file shares, and how an instance is validated, written and hashed."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Annotated, Any, ClassVar, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import ErrorDetails, SchemaValidator

from dlsched.core.errors import InstanceError
from dlsched.core.files import canonical_sha256
from dlsched.core.messages import Refused, sentences
from dlsched.core.ranges import LARGEST_COUNT
from dlsched.core.sparing import ENOUGH, sparing
from dlsched.core.status import Sense


def _no_minus_zero(value: float) -> float:
    return value + 0.0


Name = Annotated[str, Field(min_length=1)]
Count = Annotated[int, Field(ge=1, le=LARGEST_COUNT)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NonNegative = Annotated[float, Field(ge=0, allow_inf_nan=False), AfterValidator(_no_minus_zero)]
Finite = Annotated[float, Field(allow_inf_nan=False), AfterValidator(_no_minus_zero)]

STRICT = ConfigDict(frozen=True, extra="forbid", strict=True)


def require_unique_ids(ids: Sequence[str], field: str) -> None:
    """Refuse an id that occurs twice in the list ``field``; the error names both indices."""
    if len(set(ids)) == len(ids):
        return
    first: dict[str, int] = {}
    for index, name in enumerate(ids):
        if first.setdefault(name, index) != index:
            raise Refused(f"{name[:60]!r}, the id of {field}[{first[name]}] too", "unique ids", field, index, "id")


class Known(BaseModel):
    """The known optimum of an instance, or a ``lower`` and ``upper`` bound on it, and who proved it."""

    model_config = STRICT

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


class InstanceFile(BaseModel):
    """Base of the families' instances: immutable, strict, with name, source and what is known.

    Raises
    ------
    InstanceError
        A field is missing, unknown, of the wrong type or out of range; the message names its path.
    """

    model_config = STRICT
    family: ClassVar[str]
    nullable: ClassVar[frozenset[str]] = frozenset()
    """Fields at the top of a file that may be null."""
    unions: ClassVar[frozenset[str]] = frozenset()
    """Fields, anywhere, whose value is an object of one of several kinds."""

    name: Name
    source: str | None = None
    known: Known | None = None

    _validator: ClassVar[SchemaValidator]

    @classmethod
    def __pydantic_init_subclass__(cls, **options: object) -> None:
        cls._validator = sparing(cls)

    def __init__(self, /, **data: object) -> None:
        try:
            self._validator.validate_python(data, self_instance=self)
        except ValidationError as error:
            first, *others = self._sentences(data, error)
            raise InstanceError(first, more=others) from None

    @classmethod
    def _sentences(cls, data: Mapping[str, object], error: ValidationError) -> list[str]:
        """Return at most ``ENOUGH`` sentences, one for each error; the first says how many more there are.

        The validator stops at the first wrong entry of a list, so the entries after it are validated again
        on their own.
        """
        errors = error.errors(include_url=False)
        for first in list(errors):
            match first["loc"]:
                case (str(field), int(index), *_) if isinstance(entries := data[field], list | tuple):
                    errors += cls._later_errors(entries, field, index + 1)
        said = list(dict.fromkeys(sentences(errors, cls.unions)))
        counted = len(said) <= ENOUGH and not any(isinstance(step, int) for each in errors for step in each["loc"][2:])
        more = f" (and {'' if counted else 'at least '}{min(len(said) - 1, ENOUGH)} more)" if len(said) > 1 else ""
        return [said[0] + more, *said[1:ENOUGH]]

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

    def model_copy(self, *, update: Mapping[str, object] | None = None, deep: bool = False) -> Self:
        """Return a copy with fields replaced, validated like any other instance."""
        del deep  # instances are immutable
        fields = {name: getattr(self, name) for name in type(self).model_fields}
        return type(self)(**(fields | dict(update or {})))

    def as_data(self) -> dict[str, Any]:
        """Return the instance as its file holds it; fields at their default are left out."""
        return {"format": f"dlsched/{self.family}/1"} | self.model_dump(mode="json", exclude_defaults=True)

    def canonical_data(self) -> dict[str, Any]:
        """Return what the hash covers: ``as_data`` without ``known`` and ``source``."""
        data = self.as_data()
        return {key: value for key, value in data.items() if key not in ("known", "source")}

    @cached_property
    def sha256(self) -> str:
        """SHA-256 of the canonical JSON, computed when first asked for."""
        return canonical_sha256(self.canonical_data())
