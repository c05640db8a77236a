"""Columns: the values of each field of many parts. The parts themselves are made when somebody asks for them.

For classes with ``agree``. Columns take a third of the memory of their parts, and a fraction of the time to make.
"""

from array import array
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from itertools import repeat
from operator import itemgetter, setitem
from typing import TYPE_CHECKING, Self, TypeAlias, TypeVar, cast

from pydantic import BaseModel
from pydantic_core import CoreConfig, CoreSchema, SchemaValidator

from dlsched.core.part import Part, shared_names

if TYPE_CHECKING:
    from dlsched.core.arrays import FloatArray

PartT = TypeVar("PartT", bound=Part)
Values: TypeAlias = "list[object] | array[float]"
"""Values of a field: those of a field of floats in an array."""
Given: TypeAlias = "tuple[str, ...]"
"""Names of the fields that a part was given; others have their defaults."""

_CHUNK = 100  # parts that are made at a time, so that they stay in the cache
_AROUND_FLOATS = ("function-after", "default")  # kinds of schemas that may surround that of floats


@lru_cache(maxsize=64)
def _fields(kind: type[Part]) -> dict[str, tuple[SchemaValidator, type]]:
    """By field: what validates a list of its values by the rules of the field, and the type that holds them."""
    schema: object = kind.__pydantic_core_schema__
    while isinstance(schema, dict) and "fields" not in schema:  # within what looks at several fields
        schema = schema["schema"]
    assert isinstance(schema, dict)
    strict, lists = CoreConfig(strict=True), {"type": "list", "fail_fast": True}
    found = dict[str, tuple[SchemaValidator, type]]()
    for name, each in schema["fields"].items():
        inside = rule = each["schema"]
        while inside["type"] in _AROUND_FLOATS:
            inside = inside["schema"]
        validator = SchemaValidator(cast(CoreSchema, lists | {"items_schema": rule}), strict)
        found[name] = validator, array if inside["type"] == "float" else list
    return found


def validated(kind: type[PartT], rows: Sequence[object]) -> list[PartT]:
    """Make parts of plain data of a file; ValueError, without a readable message: an entry is invalid."""
    if kind.agree is None:
        return list(map(kind.from_plain, rows))
    return cast(list[PartT], PartColumns.of_rows(kind, rows).parts())


@dataclass(frozen=True, slots=True, eq=False)
class PartColumns:
    """Valid values of all fields of ``kind``, by field, and the fields that each part was given.

    ``columns[1:3]`` are those of some parts.
    """

    kind: type[Part]
    values: Mapping[str, Values]
    given: list[Given]

    @classmethod
    def of_valid(
        cls, kind: type[Part], values: Mapping[str, "Sequence[object] | FloatArray"], given: list[Given]
    ) -> Self:
        """Columns of values that are valid; of a field that is not there all parts have the default."""
        columns = dict[str, Values]()
        for name, (_, holder) in _fields(kind).items():
            each = values[name] if name in values else [kind.model_fields[name].default] * len(given)
            floats = cast(Sequence[float], each.tobytes() if hasattr(each, "tobytes") else each)
            columns[name] = array("d", floats) if holder is array else list(each)
        return cls(kind, columns, given)

    @classmethod
    def of_values(cls, kind: type[Part], values: Mapping[str, Sequence[object]], given: list[Given]) -> Self:
        """Validate values of all fields; ValueError: one is invalid, a field unknown, or ``agree`` is not sure."""
        if not kind.model_fields.keys() >= {*values}.union(*dict.fromkeys(given)):
            raise ValueError("an unknown field")
        columns = {name: rule.validate_python(values[name]) for name, (rule, _) in _fields(kind).items()}
        if kind.agree is None or not kind.agree(columns):
            raise ValueError("fields that may not agree")
        return cls.of_valid(kind, columns, given)

    @classmethod
    def of_rows(cls, kind: type[Part], rows: Sequence[object]) -> Self:
        """Validate plain data of a file; ValueError, without a readable message: an entry is invalid."""
        fields = kind.model_fields
        if set(map(type, rows)) == {dict}:
            data, names = cast(Sequence[dict[str, object]], rows), dict[Given, Given]()
            given = [names.setdefault(each, each) for each in map(tuple, data)]
            columns = {name: _column(data, name, each.default) for name, each in fields.items()}
            with suppress(ValueError):  # a look at each decides
                return cls.of_values(kind, columns, given)
        parts = list(map(kind.from_plain, rows))
        own = list(map(vars, parts))
        given = [tuple(name for name in fields if name in part.model_fields_set) for part in parts]
        return cls.of_valid(kind, {name: list(map(itemgetter(name), own)) for name in fields}, given)

    @classmethod
    def joined(cls, blocks: Iterable[Self]) -> Self:
        """The columns of several blocks, one after another; there must be one."""
        each_block = iter(blocks)
        first = next(each_block)
        for each in each_block:
            for name, values in first.values.items():
                values.extend(each.values[name])  # type: ignore[arg-type]  # both lists, or both arrays
            first.given.extend(each.given)
        return first

    def __len__(self) -> int:
        return len(self.given)

    def __iter__(self) -> Iterator[Part]:
        return iter(self.parts())

    def __getitem__(self, some: slice) -> Self:
        return type(self)(self.kind, {name: values[some] for name, values in self.values.items()}, self.given[some])

    def lists(self) -> dict[str, list[object] | list[float]]:
        """The values of each field as a list."""
        return {name: values.tolist() if isinstance(values, array) else values for name, values in self.values.items()}

    def replaced(self, field: str, values: list[object]) -> Self:
        """These columns with other values of a field, not validated."""
        return type(self)(self.kind, {**self.values, field: values}, self.given)

    def parts(self) -> list[Part]:
        """Make the parts."""
        kind, given, parts = self.kind, self.given, list[Part]()
        names = {each: shared_names(each) for each in dict.fromkeys(given)}
        slots = {"fields_set": map(names.__getitem__, given), "extra": repeat(None), "private": repeat(None)}
        attributes = {name: iter(values) for name, values in self.values.items()}
        while block := list(map(kind.__new__, repeat(kind, min(_CHUNK, len(given) - len(parts))))):
            own = list(map(vars, block))
            # Attributes are set one by one, so that all parts share one table of names.
            for name, values in attributes.items():
                deque(map(setitem, own, repeat(name), values), 0)
            for name, each in slots.items():
                deque(map(getattr(BaseModel, f"__pydantic_{name}__").__set__, block, each), 0)
            parts += block
        return parts


def _column(rows: Sequence[dict[str, object]], name: str, default: object) -> list[object]:
    """Values of a field in plain data."""
    try:
        return list(map(itemgetter(name), rows))
    except KeyError:
        return [row.get(name, default) for row in rows]
