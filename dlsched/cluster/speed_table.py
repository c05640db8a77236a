"""Speed table: seconds per epoch for each allowed number of GPUs, without interpolation."""

import math
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from functools import lru_cache
from numbers import Integral, Real
from struct import Struct
from typing import TypeVar

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from dlsched.core.display import brief
from dlsched.core.messages import Refused, shown
from dlsched.core.ranges import LARGEST_COUNT

KeyT = TypeVar("KeyT")


class SpeedTable(Mapping[int, float]):
    """Immutable mapping from an allowed count of GPUs (>= 1, ascending) to seconds per epoch (> 0).

    Raises
    ------
    Refused
        An empty table, a count that is not a plain integer from 1 to 2**53, a time that is not a positive finite number.

    >>> SpeedTable({1: 138.0, 2: 81.9})[2]
    81.9
    """

    __slots__ = ("counts", "packed", "sum_s", "times_s")
    counts: tuple[int, ...]
    times_s: tuple[float, ...]
    packed: bytes
    """The times packed as doubles, from which flat arrays are made."""
    sum_s: float
    """Sum of the times, or infinity; no time is larger."""

    def __init__(self, epoch_time_s: Mapping[KeyT, float]) -> None:
        # Operations on whole tuples pass the usual tables; only a wrong entry needs a loop.
        keys, times = tuple(epoch_time_s), tuple(epoch_time_s.values())
        if not keys:
            raise Refused("an empty object", "at least one count of GPUs")
        try:
            counts, order = _plain_counts(keys)
        except TypeError:  # keys that are not text
            counts, order = _plain_counts(_count_texts(keys))
        if not _all(times, float):
            times = tuple(_seconds(key, time) for key, time in zip(keys, times, strict=True))
        total = sum(times)
        if not (min(times) > 0 and math.isfinite(total)):  # only an overflowing sum passes the closer look
            for key, time in zip(keys, times, strict=True):
                if not 0 < time < math.inf:
                    raise Refused(repr(epoch_time_s[key]), "a number > 0", str(key))
        if order is not None:
            times = tuple(times[index] for index in order)
        object.__setattr__(self, "counts", counts)
        object.__setattr__(self, "times_s", times)
        object.__setattr__(self, "packed", _packer(len(times))(*times))
        object.__setattr__(self, "sum_s", total)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("a SpeedTable is immutable")

    def __getitem__(self, gpus: int) -> float:
        index = bisect_left(self.counts, gpus)
        if index == len(self.counts) or self.counts[index] != gpus:
            raise KeyError(gpus)
        return self.times_s[index]

    def __iter__(self) -> Iterator[int]:
        return iter(self.counts)

    def __len__(self) -> int:
        return len(self.counts)

    def __hash__(self) -> int:
        return hash((self.counts, self.times_s))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SpeedTable) and (self.counts, self.times_s) == (other.counts, other.times_s)

    def __repr__(self) -> str:
        return f"SpeedTable({brief(self)})"

    def __reduce__(self) -> "tuple[type[SpeedTable], tuple[dict[int, float]]]":
        return type(self), (dict(self),)

    def epoch_time_s(self, gpus: int) -> float:
        """Seconds per epoch on an allowed count of GPUs; KeyError for any other."""
        return self[gpus]

    def exact_epoch_time_s(self, gpus: int) -> Fraction:
        """Seconds per epoch, as the exact value of the float."""
        return Fraction(self[gpus])

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(
            cls._validated,
            serialization=core_schema.plain_serializer_function_ser_schema(
                lambda table: {str(n): t for n, t in table.items()}
            ),
        )

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {
            "type": "object",
            "minProperties": 1,
            "propertyNames": {"pattern": "^[1-9][0-9]*$"},
            "additionalProperties": {"type": "number", "exclusiveMinimum": 0},
        }

    @classmethod
    def _validated(cls, value: object) -> "SpeedTable":
        if isinstance(value, SpeedTable):
            return value
        if not isinstance(value, Mapping):
            raise Refused(
                "a list" if isinstance(value, list) else repr(value)[:40], "an object from counts of GPUs to seconds"
            )
        return cls(value)


def _all(values: tuple[object, ...], kind: type) -> bool:
    """Whether all values are of exactly that type."""
    return [*map(type, values)].count(kind) == len(values)


@lru_cache(maxsize=1024)
def _packer(length: int) -> Callable[..., bytes]:
    """Return a packer of ``length`` doubles; looking up the format would take longer than packing."""
    return Struct(f"{length}d").pack


_COUNTS: dict[
    str, int
] = {}  # keys of tables that were read, and their counts: reading a number takes three times as long as looking it up
_MOST = 2**16


@lru_cache(maxsize=1024)
def _plain_counts(keys: tuple[str, ...]) -> tuple[tuple[int, ...], tuple[int, ...] | None]:
    """Convert keys to ascending counts, with the order of their values; cached, since jobs repeat keys."""
    try:
        counts = list(map(_COUNTS.__getitem__, keys))
    except KeyError:
        counts = _read_counts(keys)
        if len(_COUNTS) < _MOST:
            _COUNTS.update(zip(keys, counts, strict=True))
    ascending = sorted(counts)
    order = None if ascending == counts else tuple(sorted(range(len(counts)), key=counts.__getitem__))
    return tuple(ascending), order


def _read_counts(keys: tuple[str, ...]) -> list[int]:
    text = ",".join(keys)
    plain = text.isascii() and text.replace(",", "").isdigit() and not text.startswith("0") and ",0" not in text
    try:
        counts = list(map(int, keys)) if plain else []
    except ValueError:  # an empty count, a comma, or too many digits
        counts = []
    if not counts:
        wrong = next(key for key in keys if not _plain(key))
        raise Refused(f"the count {wrong[:40]!r}", "counts that are integers from 1 to 2**53, written plainly", wrong)
    if max(counts) > LARGEST_COUNT:
        wrong = str(max(counts))
        raise Refused(f"the count {wrong[:40]!r}", "counts that are integers from 1 to 2**53, written plainly", wrong)
    return counts


def _plain(key: str) -> bool:
    return key.isascii() and key.isdigit() and not key.startswith("0") and len(key) <= 4000


def _count_texts(keys: tuple[object, ...]) -> tuple[str, ...]:
    """Write the keys of a Python mapping as a file would: text as it is, integers (NumPy's too) in digits."""
    texts: dict[str, None] = {}
    for key in keys:
        if not isinstance(key, str | Integral) or isinstance(key, bool):
            raise Refused(f"the count {key!r}"[:60], "counts that are integers from 1 to 2**53", str(key))
        text = key if isinstance(key, str) else str(int(key))
        if text in texts:
            raise Refused(f"the count {text} twice", "every count once", text)
        texts[text] = None
    return tuple(texts)


def _seconds(key: object, time: object) -> float:
    """Convert a time to a float where it is a real number."""
    if isinstance(time, Real) and not isinstance(time, bool):
        try:
            return float(time)
        except OverflowError:
            raise Refused(shown(time), "a number > 0 that a float can hold", str(key)) from None
    raise Refused(shown(time), "a number > 0", str(key))
