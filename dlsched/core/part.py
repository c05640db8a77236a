"""``Part``, the base of instances and of what they consist of: immutable data that refuse to exist when they are wrong."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, Self, TypeAlias, cast

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import SchemaValidator

from dlsched.core.display import Brief
from dlsched.core.errors import InstanceError
from dlsched.core.messages import sentences
from dlsched.core.sparing import ENOUGH

STRICT = ConfigDict(frozen=True, extra="forbid", strict=True)
Data: TypeAlias = Mapping[str, object]
"""A part as plain data: its fields by name, as in a file."""


class Part(Brief, BaseModel):
    """Base of jobs, workers, laws and instances: immutable, strict, made from fields by name.

    Raises
    ------
    InstanceError
        A field is missing, unknown, of the wrong type or out of range; or an assignment to a field.
    """

    model_config = STRICT
    unions: ClassVar[frozenset[str]] = frozenset()
    """Fields, at any depth, whose value is an object of one of several kinds."""

    _validator: ClassVar[SchemaValidator]

    @classmethod
    def __pydantic_init_subclass__(cls, **options: object) -> None:
        cls._validator = cast(SchemaValidator, cls.__pydantic_validator__)

    def __init__(self, /, **data: object) -> None:
        try:
            self._validator.validate_python(data, self_instance=self)
        except ValidationError as error:
            self._validate_plain(data, error)

    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]  # data within data are validated without this function

    def _validate_plain(self, data: dict[str, object], error: ValidationError) -> None:
        """Validate once more with NumPy's numbers and arrays as Python's, if there are any; else raise the error."""
        made = plain(data)
        if made is not data:
            data = cast("dict[str, object]", made)
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
        said = list(dict.fromkeys(sentences(error.errors(include_url=False), cls.unions)))
        more = f" (and {len(said) - 1} more)" if len(said) > 1 else ""
        return [said[0] + more, *said[1:ENOUGH]]

    def model_copy(self, *, update: Mapping[str, object] | None = None, deep: bool = False) -> Self:
        """Return a copy with fields replaced, validated like any other."""
        del deep  # parts are immutable
        given = {name: getattr(self, name) for name in type(self).model_fields}
        return type(self)(**(given | dict(update or {})))

    def apart(self) -> Self:
        """Return a copy of it and its parts, not validated, for code that may change what is immutable."""
        made = BaseModel.__copy__(self)
        made.__dict__.update((name, _apart(value)) for name, value in self.__dict__.items())
        return made

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
        given = {name: getattr(self, name) for name in fields}
        defaults = {name: each.get_default(call_default_factory=True) for name, each in fields.items()}
        return {name: value for name, value in given.items() if fields[name].is_required() or value != defaults[name]}

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
