"""Parts of instances, and Pydantic validators that stop after a few errors; Pydantic's own keep all, 2 GB for a million.

They leave a list or tuple at its first wrong entry, leave a long object after the first hundred entries that
contain an error, and look at only a few of the unknown fields of an object.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import lru_cache, partial
from itertools import islice
from typing import TYPE_CHECKING, ClassVar, Self, TypeAlias, cast

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import CoreSchema, SchemaValidator

from dlsched.core.display import Brief
from dlsched.core.errors import InstanceError
from dlsched.core.messages import sentences

ENOUGH = 10
"""Errors that a message shows."""

_CHUNK = 100  # entries of an object
_AFRESH = {"_use_prebuilt": False} if "_use_prebuilt" in (SchemaValidator.__text_signature__ or "") else {}
"""Without this option a model inside another keeps the validator of its class."""
_KEPT = ("metadata", "serialization", "default")  # keys of a schema below which nothing is validated


def sparing(model: type[BaseModel]) -> SchemaValidator:
    """Return a validator that accepts what the model accepts, and stops early on wrong data."""
    return SchemaValidator(cast(CoreSchema, _spare(model.__pydantic_core_schema__, model)), None, **_AFRESH)


def _spare(schema: object, model: type[BaseModel]) -> object:
    """Return the schema of a model with lists, objects, fields and parts that have rules of their own replaced."""
    if isinstance(schema, list):
        return [_spare(part, model) for part in schema]
    if not isinstance(schema, dict):
        return schema
    spared = {key: part if key in _KEPT else _spare(part, model) for key, part in schema.items()}
    match schema:
        case {"type": "list" | "tuple"}:
            return spared | {"fail_fast": True}
        case {"type": "dict"}:
            return _function("function-wrap", _by_chunks, spared)
        case {"type": "model-fields"}:
            return _function("function-before", partial(_few_unknown, frozenset(schema["fields"])), spared)
        case {"type": "function-after", "schema": {"type": "model", "cls": kind}} if kind is not model:
            ref = {"ref": spared.pop("ref")} if "ref" in spared else {}
            return _function("function-wrap", partial(_once, kind), spared) | ref
    return spared


def _function(kind: str, function: Callable[..., object], schema: dict[str, object]) -> dict[str, object]:
    return {"type": kind, "function": {"type": "no-info", "function": function}, "schema": schema}


def _once(kind: type[BaseModel], value: object, validate: Callable[[object], object]) -> object:
    """Return a part that has been validated; Pydantic would call the functions of its class once more."""
    return value if type(value) is kind else validate(value)


def _by_chunks(value: object, validate: Callable[[object], object]) -> object:
    if not isinstance(value, dict) or len(value) <= _CHUNK:
        return validate(value)
    entries, validated = iter(value.items()), dict[str, object]()
    while chunk := dict(islice(entries, _CHUNK)):
        validated |= cast(dict[str, object], validate(chunk))
    return validated


def _few_unknown(fields: Collection[str], value: object) -> object:
    if not isinstance(value, dict) or len(value) <= len(fields) + ENOUGH:
        return value
    unknown = islice((key for key in value if key not in fields), ENOUGH + 1)
    return {key: value[key] for key in fields if key in value} | {key: value[key] for key in unknown}


STRICT = ConfigDict(frozen=True, extra="forbid", strict=True)
Data: TypeAlias = Mapping[str, object]
"""A part as plain data: its fields by name, as in a file."""


Agree: TypeAlias = Callable[[Mapping[str, Sequence[object]]], bool]
"""Says of the values of each field whether they also keep the rules of several fields, for sure."""


_MANY = 10  # fields of a part, from which on a table of its own is large


@lru_cache(maxsize=1 << 16)
def shared(parts: tuple["Part", ...]) -> tuple["Part", ...]:
    """One object for equal parts: a million jobs have few different ones."""
    return parts


_GIVEN: dict[tuple[str, ...], set[str]] = {}


def shared_names(given: tuple[str, ...], names: set[str] | None = None) -> set[str]:
    """The one set of these names, for all parts that were given these fields: a set of its own takes up to 700 bytes a part."""
    return _GIVEN.setdefault(given, {*given} if names is None else names)


class Part(Brief, BaseModel):
    """Base of jobs, workers, laws and instances: immutable, strict, made from fields by name (InstanceError: one is wrong)."""

    model_config = STRICT
    unions: ClassVar[frozenset[str]] = frozenset()
    """Fields, at any depth, whose value is an object of one of several kinds."""

    agree: ClassVar[Agree | None] = None
    """Makes it possible to validate many parts field by field."""

    _validator: ClassVar[SchemaValidator]

    @classmethod
    def __pydantic_init_subclass__(cls, **options: object) -> None:
        cls._validator = cast(SchemaValidator, cls.__pydantic_validator__)

    def __init__(self, /, **data: object) -> None:
        try:
            self._validator.validate_python(data, self_instance=self)
        except ValidationError as error:
            self._validate_plain(data, error)

    def model_post_init(self, context: object, /) -> None:
        """Let all parts that were given the same fields share the set of their names, and large ones a table of attributes."""
        given, fields = self.__pydantic_fields_set__, self.__dict__
        object.__setattr__(self, "__pydantic_fields_set__", shared_names(tuple(given), given))
        if len(fields) > _MANY:
            # Python has one table of names for all parts of a class whose attributes are set one by one: half the memory.
            object.__delattr__(self, "__dict__")
            for name, value in fields.items():
                object.__setattr__(self, name, value)

    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]  # data within data are validated without this function

    @classmethod
    def model_construct(cls, _fields_set: set[str] | None = None, **values: object) -> Self:  # type: ignore[override]
        """Make a part of valid fields, without a look at them."""
        made = super().model_construct(_fields_set, **values)
        # before 2.13 Pydantic does not set this, and such a part cannot be pickled
        object.__setattr__(made, "__pydantic_private__", None)
        return made

    @classmethod
    def from_plain(cls, entry: object) -> Self:
        """Make a part of plain data of a file; ValueError, without a readable message: it is invalid."""
        return cast(Self, cls._validator.validate_python(entry))

    def _validate_plain(self, data: dict[str, object], error: ValidationError) -> None:
        """Validate once more with NumPy's numbers and arrays as Python's, if there are any; else raise the error."""
        data_of_part = plain(data)
        if data_of_part is not data:
            data = cast("dict[str, object]", data_of_part)
            try:
                self._validator.validate_python(data, self_instance=self)
            except ValidationError as another:
                error = another
            else:
                return
        first, *others = self._sentences(data, error)
        raise InstanceError(first, more=others) from None

    @classmethod
    def _sentences(cls, data: Data, error: ValidationError) -> list[str]:
        """Return at most ``ENOUGH`` sentences, one for each error; the first says how many more there are."""
        del data
        messages = list(dict.fromkeys(sentences(error.errors(include_url=False), cls.unions)))
        more = f" (and {len(messages) - 1} more)" if len(messages) > 1 else ""
        return [messages[0] + more, *messages[1:ENOUGH]]

    def model_copy(self, *, update: Mapping[str, object] | None = None, deep: bool = False) -> Self:
        """Return a copy with fields replaced, validated like any other."""
        del deep  # parts are immutable
        values = {name: getattr(self, name) for name in type(self).model_fields}
        return type(self)(**(values | dict(update or {})))

    def apart(self) -> Self:
        """Return a copy of it and its parts, not validated, for code that may change what is immutable."""
        copied = BaseModel.__copy__(self)
        copied.__dict__.update((name, _apart(value)) for name, value in self.__dict__.items())
        return copied

    if not TYPE_CHECKING:  # a type checker would take every assignment for allowed

        def __setattr__(self, name: str, value: object) -> None:
            raise InstanceError(
                f"{name}: {type(self).__name__} is immutable; model_copy(update={{{name!r}: ...}}) makes another"
            )

        def __delattr__(self, name: str) -> None:
            raise InstanceError(f"{name}: {type(self).__name__} is immutable")

    def __dir__(self) -> list[str]:
        """Fields and what dlsched defines, without the names of Pydantic."""
        own = {name for kind in type(self).__mro__ if kind not in BaseModel.__mro__ for name in vars(kind)}
        hidden = {*dir(BaseModel)} - {"model_copy"}
        return sorted(name for name in own | type(self).model_fields.keys() if name[0] != "_" and name not in hidden)

    def _shown(self) -> dict[str, object]:
        """Fields that are shown, by name: those that differ from their default."""
        fields = type(self).model_fields
        values = {name: getattr(self, name) for name in fields}
        defaults = {name: each.get_default(call_default_factory=True) for name, each in fields.items()}
        return {name: value for name, value in values.items() if fields[name].is_required() or value != defaults[name]}

    def __str__(self) -> str:
        return repr(self)


def _apart(value: object) -> object:
    if isinstance(value, Part):
        return value.apart()
    if isinstance(value, dict):
        return {key: _apart(each) for key, each in value.items()}
    # a tuple holds parts, or none
    return tuple(map(_apart, value)) if isinstance(value, tuple) and value and isinstance(value[0], Part) else value


def plain(value: object) -> object:
    """Return the value with NumPy's numbers and arrays, if there are any, as Python's."""
    try:
        return _plain(value) if _holds_numpy(value) else value
    except RecursionError:
        found = "lists or objects nested too deeply, or within themselves"
        raise InstanceError(found=found, allowed="the fields of the format") from None


def _holds_numpy(value: object) -> bool:
    """Whether a number or array of NumPy stands in lists and objects, as a value or as a key."""
    if isinstance(value, dict):
        return any(map(_holds_numpy, value)) or any(map(_holds_numpy, value.values()))
    if isinstance(value, list | tuple):
        return any(map(_holds_numpy, value))
    return type(value).__module__ == "numpy" and hasattr(value, "tolist")


def _plain(value: object) -> object:
    """Return the value with NumPy's numbers and arrays as Python's numbers and lists."""
    if isinstance(value, dict):
        return {_plain(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    return value.tolist() if type(value).__module__ == "numpy" and hasattr(value, "tolist") else value
