"""Speeds of a ring all-reduce job: the speed law, and tables of measured seconds per epoch by count, without interpolation.

====================  ==============================================================
code                  mathematics
====================  ==============================================================
``theta``             theta0 .. theta3, all >= 0
``samples``           m, samples of one epoch
``model_bytes``       n, bytes of the model's gradients
``epoch_time_s(w)``   tau(w) = theta0 m/w + theta1 (w-1) + theta2 (w-1) n/w + theta3
====================  ==============================================================

Collecting the powers of w, tau(w) = hyperbolic / w + linear w + constant with hyperbolic = theta0 m - theta2 n,
linear = theta1 and constant = theta2 n + theta3 - theta1. So tau is convex when hyperbolic > 0 and non-decreasing
otherwise, and no count beyond sqrt(hyperbolic / linear), rounded up, is faster than all the smaller ones.
"""

import math
import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from numbers import Integral, Real
from struct import Struct
from typing import TYPE_CHECKING, Annotated, Self, TypeVar

from pydantic import Field, GetCoreSchemaHandler, GetJsonSchemaHandler, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from dlsched.core.display import brief
from dlsched.core.instance import NonNegative, Positive
from dlsched.core.messages import Refused, shown
from dlsched.core.part import Part
from dlsched.core.ranges import LARGEST_COUNT

if TYPE_CHECKING:
    from dlsched.core.arrays import FloatArray


class SpeedLaw(Part):
    """Seconds per epoch as a function of the number of GPUs; immutable.

    ``theta``: four coefficients >= 0: seconds per sample, seconds per further GPU, seconds per byte, seconds per epoch.
    ``samples``: of one epoch, > 0. ``model_bytes``: what one epoch's model term counts, >= 0. InstanceError: a coefficient is
    negative or not finite, or the time on one GPU is not positive.

    Source: the resource model for ring all-reduce jobs of Capes et al. 2018, arXiv 1908.08082 (abstract read only; the
    four terms are our reconstruction: compute, per-GPU overhead, transfer, and what does not depend on w).

    >>> SpeedLaw(theta=(0.001, 0.5, 0.0, 1.0), samples=50_000, model_bytes=1e8).epoch_time_s(10)
    10.5
    """

    theta: Annotated[tuple[NonNegative, NonNegative, NonNegative, NonNegative], Field(strict=False)]
    samples: Positive
    model_bytes: NonNegative

    if TYPE_CHECKING:

        def __init__(self, *, theta: Sequence[float], samples: float, model_bytes: float) -> None: ...

    @model_validator(mode="after")
    def _positive_times(self) -> Self:
        if not self.epoch_time_s(1) > 0 or not math.isfinite(self.epoch_time_s(1)):
            raise Refused("a law with no positive, finite time on one GPU", "theta with tau(1) > 0", "theta")
        return self

    def epoch_time_s(self, gpus: int) -> float:
        """Seconds per epoch on ``gpus`` >= 1 GPUs, in floating point."""
        theta0, theta1, theta2, theta3 = self.theta
        sent = (gpus - 1) / gpus * self.model_bytes
        return theta0 * self.samples / gpus + theta1 * (gpus - 1) + theta2 * sent + theta3

    def exact_epoch_time_s(self, gpus: int) -> Fraction:
        """Seconds per epoch on ``gpus`` GPUs, in rational arithmetic on the law's floats."""
        theta0, theta1, theta2, theta3 = map(Fraction, self.theta)
        samples, model_bytes = Fraction(self.samples), Fraction(self.model_bytes)
        return theta0 * samples / gpus + theta1 * (gpus - 1) + theta2 * (gpus - 1) * model_bytes / gpus + theta3

    def largest_useful_count(self, most: int) -> int:
        """Return the smallest count in 1 .. ``most`` that no larger one beats; it dominates those above it."""
        theta0, linear, theta2, _ = map(Fraction, self.theta)
        hyperbolic = theta0 * Fraction(self.samples) - theta2 * Fraction(self.model_bytes)
        return smallest_minimiser(hyperbolic, linear, most)

    def least_area_counts(self, most: int) -> tuple[int, ...]:
        """Return counts in 1 .. ``most`` among which w tau(w) is least.

        w tau(w) = hyperbolic + constant w + linear w^2 is convex: its least integer point is one of the two around
        -constant / (2 linear), or an end. A negative constant has linear > 0.
        """
        _, linear, theta2, theta3 = map(Fraction, self.theta)
        constant = theta2 * Fraction(self.model_bytes) + theta3 - linear
        if constant >= 0:
            return (1,)
        lowest = math.floor(-constant / (2 * linear))
        return tuple({min(most, max(1, count)) for count in (lowest, lowest + 1)})


def smallest_minimiser(hyperbolic: Fraction, linear: Fraction, most: int) -> int:
    """Smallest integer w in 1 .. ``most`` that minimises hyperbolic / w + linear w, exactly.

    From w to w + 1 it falls by hyperbolic / (w (w + 1)) - linear, less and less where hyperbolic > 0: the answer is the first w
    with w (w + 1) >= hyperbolic / linear.

    >>> smallest_minimiser(Fraction(100), Fraction(1), 64)
    10
    """
    if hyperbolic <= 0:
        return 1
    if linear <= 0:
        return most
    ratio = math.ceil(hyperbolic / linear)
    # The answer w lies between ratio^0.5 - 1 and ratio^0.5 + 1: four candidates are more than enough.
    below = max(1, math.isqrt(ratio) - 1)
    return min(most, next(w for w in range(below, below + 4) if w * (w + 1) >= ratio))


KeyT = TypeVar("KeyT")


class SpeedTable(Mapping[int, float]):
    """Immutable mapping from an allowed count of GPUs (ascending) to seconds per epoch.

    Refused: an empty table, a count that is not a plain integer from 1 to 2**53, a time that is not a positive finite number.

    >>> SpeedTable({1: 138.0, 2: 81.9})[2]
    81.9
    """

    __slots__ = ("counts", "packed", "sum_s")
    counts: tuple[int, ...]
    packed: bytes
    """The times packed as doubles, from which flat arrays are made: a quarter of the memory of Python's floats."""
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
        if [*map(type, times)].count(float) < len(times):
            times = tuple(_seconds(key, time) for key, time in zip(keys, times, strict=True))
        total = sum(times)
        if not (min(times) > 0 and math.isfinite(total)):  # only an overflowing sum passes the closer look
            for key, time in zip(keys, times, strict=True):
                if not 0 < time < math.inf:
                    raise Refused(repr(epoch_time_s[key]), "a number > 0", str(key))
        if order is not None:
            times = tuple(times[index] for index in order)
        object.__setattr__(self, "counts", counts)
        object.__setattr__(self, "packed", _doubles(len(times)).pack(*times))
        object.__setattr__(self, "sum_s", total)

    @classmethod
    def of_rows(cls, counts: tuple[int, ...], times_s: "FloatArray") -> "list[SpeedTable]":
        """Tables on the same ascending counts, one for each row of times in seconds, shape (J, W); ValueError: one is not > 0."""
        if not ((times_s > 0) & (times_s < math.inf)).all():
            raise ValueError("times_s: found one that is not positive and finite, allowed: numbers > 0")
        sums_s = times_s.cumsum(axis=1)[:, -1].tolist()
        packed, size = times_s.tobytes(), 8 * len(counts)
        return [cls._of(counts, packed[size * row : size * (row + 1)], sum_s) for row, sum_s in enumerate(sums_s)]

    @classmethod
    def _of(cls, counts: tuple[int, ...], packed: bytes, sum_s: float) -> "SpeedTable":
        table = cls.__new__(cls)
        for name, value in (("counts", counts), ("packed", packed), ("sum_s", sum_s)):
            object.__setattr__(table, name, value)
        return table

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("a SpeedTable is immutable")

    def __getitem__(self, gpus: int) -> float:
        index = bisect_left(self.counts, gpus)
        if index == len(self.counts) or self.counts[index] != gpus:
            raise KeyError(gpus)
        time_s: float = _DOUBLE(self.packed, 8 * index)[0]
        return time_s

    @property
    def times_s(self) -> tuple[float, ...]:
        """Seconds per epoch, in the order of the counts."""
        return _doubles(len(self.counts)).unpack(self.packed)

    def __iter__(self) -> Iterator[int]:
        return iter(self.counts)

    def __len__(self) -> int:
        return len(self.counts)

    def __hash__(self) -> int:
        return hash((self.counts, self.packed))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SpeedTable) and (self.counts, self.packed) == (other.counts, other.packed)

    def __repr__(self) -> str:
        return f"SpeedTable({brief(self)})"

    def __reduce__(self) -> tuple[Callable[..., "SpeedTable"], tuple[tuple[int, ...], bytes, float]]:
        return self._of, (self.counts, self.packed, self.sum_s)

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
                lambda table: dict(zip(_texts(table.counts), table.times_s, strict=True)), when_used="json"
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


_DOUBLE = Struct("d").unpack_from


@lru_cache(maxsize=1024)
def _doubles(length: int) -> Struct:
    """Return what packs ``length`` doubles; looking up the format would take longer than packing."""
    return Struct(f"{length}d")


@lru_cache(maxsize=1024)
def _texts(counts: tuple[int, ...]) -> tuple[str, ...]:
    """Counts as a file has them; cached, since jobs repeat them."""
    return tuple(map(str, counts))


_COUNTS: dict[str, int] = {}  # keys of tables that were read, and their counts: looked up faster than read again
_MOST = 2**16
_PLAIN = re.compile("[1-9][0-9]*")


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
    for key in keys:
        # the length first: Python refuses to read numbers of thousands of digits
        if not _PLAIN.fullmatch(key) or len(key) > len(str(LARGEST_COUNT)) or int(key) > LARGEST_COUNT:
            raise Refused(f"the count {key[:40]!r}", "counts that are integers from 1 to 2**53, written plainly", key)
    return list(map(int, keys))


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
