"""Places in the data of an instance, found by paths such as ``jobs[].epoch_time_s{}``; copies, and numbers of few digits."""

import re
from functools import cache
from typing import TypeAlias, cast

from dlsched.core.files import Json
from dlsched.worst.space import Data, Number

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
    text = re.sub(r"e.*|\D", "", repr(abs(float(value))))  # the shortest text that reads as the number
    return max(1, len(text.strip("0")))
