"""A table of speeds: seconds per epoch for each allowed number of GPUs, and nothing in between."""

import math
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, core_schema

from dlsched.core.files import Refused
from dlsched.core.instance import LARGEST_COUNT


class SpeedTable(Mapping[int, float]):
    """Immutable mapping from an allowed count of GPUs (>= 1, ascending) to seconds per epoch (> 0).

    Raises
    ------
    Refused
        An empty table, a count that is no plain integer from 1 to 2**53, a time that is no positive finite number.

    >>> SpeedTable({1: 138.0, 2: 81.9})[2]
    81.9
    """

    __slots__ = ("counts", "times_s")
    counts: tuple[int, ...]
    times_s: tuple[float, ...]

    def __init__(self, epoch_time_s: Mapping[int, float] | Mapping[str, float]) -> None:
        keys, times = list(epoch_time_s), list(epoch_time_s.values())
        if not keys:
            raise Refused("an empty object", "at least one count of GPUs")
        counts, order = _plain_counts(tuple(keys))
        kinds = set(map(type, times))
        if not kinds <= {float, int} or min(times) <= 0 or not all(map(math.isfinite, times)):
            key, time = next((key, time) for key, time in zip(keys, times, strict=True) if not _positive(time))
            raise Refused("null" if time is None else repr(time)[:40], "a number > 0", str(key))
        if order is not None:
            times = [times[place] for place in order]
        object.__setattr__(self, "counts", counts)
        object.__setattr__(self, "times_s", tuple(times) if kinds == {float} else tuple(map(float, times)))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("a SpeedTable is immutable")

    def __getitem__(self, gpus: int) -> float:
        place = bisect_left(self.counts, gpus)
        if place == len(self.counts) or self.counts[place] != gpus:
            raise KeyError(gpus)
        return self.times_s[place]

    def __iter__(self) -> Iterator[int]:
        return iter(self.counts)

    def __len__(self) -> int:
        return len(self.counts)

    def __hash__(self) -> int:
        return hash((self.counts, self.times_s))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SpeedTable) and (self.counts, self.times_s) == (other.counts, other.times_s)

    def __repr__(self) -> str:
        return f"SpeedTable({dict(self)})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (dict(self),)

    def epoch_time_s(self, gpus: int) -> float:
        """Seconds per epoch on an allowed count of GPUs; KeyError for any other."""
        return self[gpus]

    def exact_epoch_time_s(self, gpus: int) -> Fraction:
        """Seconds per epoch, as the exact value of the float."""
        return Fraction(self[gpus])

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(
            cls._validated,
            serialization=core_schema.plain_serializer_function_ser_schema(
                lambda table: {str(n): t for n, t in table.items()}
            ),
        )

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {
            "type": "object",
            "minProperties": 1,
            "propertyNames": {"pattern": "^[1-9][0-9]*$"},
            "additionalProperties": {"type": "number", "exclusiveMinimum": 0},
        }

    @classmethod
    def _validated(cls, value: Any) -> "SpeedTable":
        if isinstance(value, SpeedTable):
            return value
        if not isinstance(value, Mapping):
            raise Refused(
                "a list" if isinstance(value, list) else repr(value)[:40], "an object from counts of GPUs to seconds"
            )
        return cls(value)


@lru_cache(maxsize=1024)
def _plain_counts(keys: tuple[Any, ...]) -> tuple[tuple[int, ...], tuple[int, ...] | None]:
    """Convert keys to ascending counts, and say how to reorder what belongs to them; remembered, since jobs repeat them."""
    try:
        counts = list(map(int, keys))
    except (ValueError, TypeError):
        counts = []
    if list(map(str, counts)) != list(map(str, keys)) or min(counts) < 1 or max(counts) > LARGEST_COUNT:
        wrong = str(next(key for key in keys if not _plain(key)))[:40]
        raise Refused(f"the count {wrong!r}", "counts that are integers from 1 to 2**53, written plainly", wrong)
    order = sorted(range(len(counts)), key=counts.__getitem__)
    in_order = all(place == rank for place, rank in enumerate(order))
    return tuple(sorted(counts)), None if in_order else tuple(order)


def _plain(key: Any) -> bool:
    text = str(key)
    plain = text.isascii() and text.isdigit() and not text.startswith("0") and len(text) <= 16
    return plain and int(text) <= LARGEST_COUNT and not isinstance(key, bool)


def _positive(time: Any) -> bool:
    return isinstance(time, float | int) and not isinstance(time, bool) and 0 < time < math.inf
