"""Search spaces of worst instances: how a family's instances are drawn and changed, and where their numbers are.

Searches handle instances as the data of their files (``InstanceFile.as_data``), of which they change copies, and drop data
that are no valid instance. Paths such as ``jobs[].epoch_time_s{}`` name numbers and lists in these data.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeAlias, cast

import numpy as np

from dlsched.catalogue import families as listed
from dlsched.catalogue.families import Value, load
from dlsched.core.errors import UsageError
from dlsched.core.family import AnyFamily, AnyMethod
from dlsched.core.files import Json
from dlsched.core.ranges import Ranges
from dlsched.families import find_family

Data: TypeAlias = dict[str, Any]
"""An instance as its file holds it."""
Draw: TypeAlias = Callable[[np.random.Generator], Data]
DrawGenerated: TypeAlias = Callable[[np.random.Generator], Data | None]
"""As ``Draw``, from a preset; None if the drawn instance has no counterpart in the space."""


@dataclass(frozen=True, slots=True)
class Number:
    """A number of the instance that a search may change.

    ``path``: path of the number: fields joined with dots, ``[]`` for all entries of a list, ``{}`` for all values of a mapping,
    as in ``jobs[].epoch_time_s{}``. Entries without the field are skipped; ``low``, ``high``: range that is searched, both > 0;
    or ``low`` is 0, which is then a special value; ``whole``: whether it is a whole number.
    """

    path: str
    low: float
    high: float
    whole: bool = False

    @classmethod
    def searched(cls, ranges: Ranges, path: str, *, whole: bool = False) -> "Number":
        """Make the number of a path, in the range that its family searches if no preset is given."""
        return cls(path, *ranges[path].searched, whole=whole)

    @classmethod
    def of_presets(cls, ranges: Ranges, path: str, *, whole: bool = False) -> "Number":
        """Make the number of a path, in the range that is searched among the instances of a preset."""
        return cls(path, *ranges[path].of_presets, whole=whole)


@dataclass(frozen=True, kw_only=True)
class Space:
    """Instances of a family among which a search goes.

    ``family``: the family of the instances; ``draw``: draws an instance, for random sampling and for the start of a search;
    ``presets``: draws of instances in the space by preset of the generator; searches start from these too; ``words``,
    ``wider``: descriptions for people: which instances the space holds, and which options of the command widen it; ``numbers``:
    numbers that the moves of all families scale, set to an end of the range, or make equal to another of the same path;
    ``members``: lists whose entries moves add and remove: path (``jobs``) and the fewest and most entries. New entries are
    changed copies, or come from a new draw; ``repair``: brings changed data back into the space (a class of tables, ids that
    are unique, indices in range), or returns None. It never changes data that are in the space already; ``reference``,
    ``solver``: the method that judges by default, as a name or an object, and its solver; it must be quick, and prove its
    optimum on instances of this size.
    """

    family: AnyFamily
    draw: Draw
    numbers: Sequence[Number]
    presets: Mapping[str, DrawGenerated] = field(default_factory=dict)
    words: str = "a space of one's own"
    wider: Sequence[str] = ()
    members: Sequence[tuple[str, int, int]] = ()
    repair: Callable[[Data], Data | None] = lambda data: data
    reference: str | AnyMethod = "exact"
    solver: str | None = None


SpaceOf: TypeAlias = Callable[..., Space]
"""Makes the space of a family from ``jobs`` and ``gpus`` (None: its own sizes), ``preset`` (None: the space's own draw) and
the family's own options by name; raises ``UsageError`` for values out of range."""


Place: TypeAlias = tuple[list[Json], int] | tuple[dict[str, Json], str]
"""The list or mapping that holds a value, and the value's index or key in it."""


@cache
def _steps(path: str) -> tuple[str, ...]:
    return tuple(re.findall(r"\[\]|\{\}|[^.\[\]{}]+", path))


def places(data: Data, path: str) -> list[Place]:
    """Return the places of the values of a path, in the order of the data; skips entries without the field.

    >>> places({"jobs": [{"id": "a", "work": 3.0}, {"id": "b"}]}, "jobs[].work")
    [({'id': 'a', 'work': 3.0}, 'work')]
    """
    found: list[Place] = []
    # step by step: the places of one step hold the values in which the next step looks
    values: list[Json] = [data]
    for step in _steps(path):
        found = [place for value in values for place in _below(value, step)]
        values = [value_at(place) for place in found]
    return found


def _below(value: Json, step: str) -> list[Place]:
    if step == "[]":
        return [(value, index) for index in range(len(value))] if isinstance(value, list) else []
    if not isinstance(value, dict):
        return []
    return [(value, key) for key in value] if step == "{}" else [(value, step)] if step in value else []


def value_at(place: Place) -> Json:
    """Return the value at a place."""
    holder, key = place
    return cast(dict[str | int, Json], holder)[key]


def put(place: Place, value: Json) -> None:
    """Write a value to a place."""
    holder, key = place
    cast(dict[str | int, Json], holder)[key] = value


def numbers_at(data: Data, number: Number) -> list[tuple[Place, float]]:
    """Return the places of ``number``, each with its value; skips null and words."""
    found = ((place, value_at(place)) for place in places(data, number.path))
    return [(place, value) for place, value in found if isinstance(value, int | float) and not isinstance(value, bool)]


def lists_at(data: Data, path: str) -> list[list[Json]]:
    """Return the lists that a path leads to."""
    return [value for place in places(data, path) if isinstance(value := value_at(place), list)]


def copied(data: Data) -> Data:
    """Return a copy that shares nothing with the data."""
    return cast(Data, _copied(data))


def _copied(value: Json) -> Json:
    if isinstance(value, dict):
        return {key: _copied(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_copied(each) for each in value]
    return value


def within(number: Number, value: float) -> float:
    """Clip a value to the range of a number, and round it if the number is whole."""
    clipped = min(max(value, number.low), number.high)
    return min(max(round(clipped), int(-(-number.low // 1))), int(number.high)) if number.whole else float(clipped)


def rounded(value: float, digits: int) -> float:
    """Round to significant digits.

    >>> rounded(1234.5, 2), rounded(0.0, 1)
    (1200.0, 0.0)
    """
    return float(f"{value:.{digits - 1}e}")


def digits_of(value: float) -> int:
    """Return how many significant digits a number has; 0 has 1.

    >>> digits_of(1200.0), digits_of(0.305), digits_of(1e-3), digits_of(17)
    (2, 3, 1, 2)
    """
    # drops the exponent, the point and the sign
    text = re.sub(r"e.*|\D", "", repr(abs(float(value))))  # the shortest text that reads as the number
    return max(1, len(text.strip("0")))


SHARED = ("jobs", "gpus", "preset")


def space_of(family: str, **options: Value | None) -> Space:
    """Return the space of a family's worst instances; options that are None count as not given.

    UsageError: the family is unknown or has no space, or does not have an option; or a value is out of range.
    """
    name = find_family(family).name
    own = listed.space(name)
    if own is None:
        having = (other for other in listed.FAMILIES if listed.space(other) is not None)
        raise UsageError(where="family", found=repr(name), allowed=", ".join(having))
    arguments = {option: value for option, value in options.items() if value is not None}
    allowed = (*SHARED, *own)
    for option, value in arguments.items():
        if option not in allowed:
            raise UsageError(where=option, found=value, allowed=f"no such option for {name}")
    # imported by name: one family's space needs no other family
    maker: SpaceOf = load(f"dlsched.worst.spaces.{name}:space_of")
    return maker(**arguments)


def own_space(space: Space, family: str, arguments: Mapping[str, Value | None]) -> Space:
    """Return a space that the caller supplies, after checking that it is of the family and that no option is given.

    UsageError: the space is of another family, or an option is given in addition to it.
    """
    if not isinstance(space, Space):
        raise UsageError(where="space", found=type(space).__name__, allowed=f"a space of {family}")
    if space.family.name != family:
        raise UsageError(where="space", found=f"one of {space.family.name}", allowed=f"one of {family}")
    for option, value in arguments.items():
        if value is not None:
            raise UsageError(where=option, found=value, allowed="none beside a space of one's own")
    return space
