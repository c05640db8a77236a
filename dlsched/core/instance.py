"""The head that every instance file shares, and how an instance is validated, written and hashed."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Annotated, Any, ClassVar, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from dlsched.core.errors import InstanceError
from dlsched.core.files import canonical_sha256
from dlsched.core.messages import Refused, located
from dlsched.core.status import Sense

LARGEST_COUNT = 2**53
"""Counts up to here are exact in every JSON reader and in double precision."""


def _no_minus_zero(value: float) -> float:
    return value + 0.0


Name = Annotated[str, Field(min_length=1)]
Count = Annotated[int, Field(ge=1, le=LARGEST_COUNT)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NonNegative = Annotated[float, Field(ge=0, allow_inf_nan=False), AfterValidator(_no_minus_zero)]
Finite = Annotated[float, Field(allow_inf_nan=False), AfterValidator(_no_minus_zero)]

STRICT = ConfigDict(frozen=True, extra="forbid", strict=True)


def require_unique_ids(ids: Sequence[str], field: str) -> None:
    """Refuse an id that stands twice in the list ``field``, naming both places."""
    if len(set(ids)) == len(ids):
        return
    first: dict[str, int] = {}
    for place, name in enumerate(ids):
        if first.setdefault(name, place) != place:
            raise Refused(f"{name[:60]!r}, the id of {field}[{first[name]}] too", "unique ids", field, place, "id")


class Known(BaseModel):
    """What is known of the optimum: ``optimum``, or ``lower`` and ``upper``; and who proved it."""

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
        """Objective of a solution that is known: the optimum, or what is on its worse side."""
        return self.optimum if self.optimum is not None else self.upper if sense is Sense.MINIMIZE else self.lower

    def bound(self, sense: Sense) -> float | None:
        """Bound that is known: the optimum, or what is on its better side."""
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

    def __init__(self, /, **data: Any) -> None:
        try:
            super().__init__(**data)
        except ValidationError as error:
            raise InstanceError(located(error, self.unions)) from None

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Return a copy with fields replaced, validated like any other instance."""
        del deep  # nothing in it can change
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
