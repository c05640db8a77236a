"""Plays a policy's own code on exact numbers: vectors compared by a rule.

A number is a vector of rationals: coefficients of a linear form, or the parts a and b of a + b e. ``sign`` tells
its sign; a vector divided into a constant is kept as such.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import lcm
from operator import add
from typing import cast

from dlsched.core.limits import no_tick
from dlsched.elastic_stream.simulation.view import Policy
from dlsched.worst.certificates import Item

Vector = tuple[Item, ...]
"""Of Fractions; of ``OfTable``, too, where the table is not given."""
Sign = Callable[[Vector], int]
"""With an attribute ``zero``, whether a vector is 0, where that is not seen from its numbers."""
_TINY = Fraction(1, 10**100)


class _Ordered:
    """Comparisons by the sign of a difference."""

    def _against(self, other: Item) -> int:
        raise NotImplementedError

    def __lt__(self, other: Item) -> bool:
        return self._against(other) < 0

    def __gt__(self, other: Item) -> bool:
        return self._against(other) > 0

    def __le__(self, other: Item) -> bool:
        return self._against(other) <= 0

    def __ge__(self, other: Item) -> bool:
        return self._against(other) >= 0


class OfTable(_Ordered):
    """A number that depends on the table: coefficients by exponents of its speeds and of further variables.

    ``tables`` has the number of both, and tells signs. A speed has the numerator 1: an epoch is one unit of work.
    """

    numerator = 1

    def __init__(self, terms: dict[tuple[int, ...], Fraction], tables: Item) -> None:
        self.terms, self.tables = {at: each for at, each in terms.items() if each}, tables

    def _of(self, other: Item) -> "OfTable":
        return other if isinstance(other, OfTable) else OfTable({(0,) * self.tables.width: _plain(other)}, self.tables)

    def __add__(self, other: Item) -> "OfTable":
        terms = dict(self.terms)
        for at, each in self._of(other).terms.items():
            terms[at] = terms.get(at, Fraction(0)) + each
        return OfTable(terms, self.tables)

    def __mul__(self, other: Item) -> Item:
        if isinstance(other, Number):
            return NotImplemented
        terms: dict[tuple[int, ...], Fraction] = {}
        for (one, a), (two, b) in product(self.terms.items(), self._of(other).terms.items()):
            at = tuple(map(add, one, two))
            terms[at] = terms.get(at, Fraction(0)) + a * b
        return OfTable(terms, self.tables)

    def __neg__(self) -> "OfTable":
        return OfTable({at: -each for at, each in self.terms.items()}, self.tables)

    def __sub__(self, other: Item) -> Item:
        return self + -other

    def __rsub__(self, other: Item) -> Item:
        return -self + other

    def __truediv__(self, other: Item) -> "OfTable":
        found: OfTable = self * (1 / other if isinstance(other, OfTable) else 1 / _plain(other))
        return found

    def __rtruediv__(self, other: Item) -> Item:
        if isinstance(other, Number):
            return NotImplemented
        if len(self.terms) != 1:
            raise ValueError("the policy divides by a sum of speeds")
        ((at, factor),) = self.terms.items()
        return OfTable({tuple(-each for each in at): _plain(other) / factor}, self.tables)

    def _against(self, other: Item) -> int:
        sign: int = self.tables.sign(self - other)
        return sign

    def __eq__(self, other: object) -> bool:
        return not isinstance(other, Number) and self._against(other) == 0

    # what is equal depends on the path of the run, so there is no hash
    __hash__ = None  # type: ignore[assignment]
    __radd__, __rmul__ = __add__, __mul__

    def __bool__(self) -> bool:
        return bool(self.terms)


def _plain(value: object) -> Item:
    if isinstance(value, OfTable):
        return value
    if isinstance(value, bool) or not hasattr(value, "__float__") or isinstance(value, Number):
        raise ValueError(f"the policy computes with {value!r}")
    return value if isinstance(value, Fraction) else Fraction(cast("float", getattr(value, "item", lambda: value)()))


class Number(_Ordered):
    """times / over: ``times`` a vector, or a constant if ``over`` is a vector > 0."""

    def __init__(self, times: Vector, sign: Sign, over: Vector | None = None) -> None:
        self.times, self.sign, self.over = times, sign, over

    def _against(self, other: object) -> int:
        if not isinstance(other, Number):
            value = _plain(other)
            if isinstance(value, OfTable) or abs(value) > _TINY or (value and self.over is not None):
                raise ValueError(f"the policy compares a time with {value}")
            return self.sign(self.times) or (value < 0) - (value > 0)
        if (self.over is None) != (other.over is None):
            raise ValueError("the policy compares a time with one over a time")
        if self.over is None or other.over is None:
            return self.sign(tuple(a - b for a, b in zip(self.times, other.times, strict=True)))
        mine, its = self.times[0], other.times[0]  # constants: c / f against c' / f' is c f' against c' f
        return self.sign(tuple(mine * b - its * a for a, b in zip(self.over, other.over, strict=True)))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Number):
            if self.over is None or other.over is None:
                difference = tuple(a - b for a, b in zip(self.times, other.times, strict=True))
                return self.over is other.over and self._zero(difference)
            return all(self.times[0] * b == other.times[0] * a for a, b in zip(self.over, other.over, strict=True))
        return other == 0 and self._zero(self.times)

    # what is equal depends on the path of the run, so there is no hash
    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> bool:
        return not self._zero(self.times)

    def _zero(self, form: Vector) -> bool:
        zero: Callable[[Vector], bool] | None = getattr(self.sign, "zero", None)
        return not any(form) if zero is None else zero(form)

    def _scaled(self, factor: Fraction) -> "Number":
        return Number(tuple(each * factor for each in self.times), self.sign, self.over)

    def __add__(self, other: object) -> "Number":
        if not isinstance(other, Number):
            if _plain(other):
                raise ValueError("the policy adds a number to a time")
            return self
        if self.over != other.over:
            raise ValueError("the policy adds what has no common denominator")
        return Number(tuple(a + b for a, b in zip(self.times, other.times, strict=True)), self.sign, self.over)

    def __neg__(self) -> "Number":
        return self._scaled(Fraction(-1))

    def __sub__(self, other: object) -> "Number":
        return self + (-other if isinstance(other, Number) else other)

    def __rsub__(self, other: object) -> "Number":
        return -self + other

    def __abs__(self) -> "Number":
        return self if self >= 0 else -self

    def __mul__(self, other: object) -> "Number":
        return self._scaled(_plain(other))

    def __truediv__(self, other: object) -> "Number":
        return self._scaled(1 / _plain(other))

    def __rtruediv__(self, other: object) -> "Number":
        if self.over is not None or self.sign(self.times) <= 0:
            raise ValueError("the policy divides by what may be 0")
        return Number((_plain(other),), self.sign, self.times)

    __radd__, __rmul__ = __add__, __mul__


@dataclass
class Job:
    """A job present: seconds per epoch on 1, 2, ... units, weight, arrival, epochs in all and left, service and units."""

    times: tuple[Fraction, ...]
    weight: Fraction
    came: Number
    epochs: Number
    remaining: Number
    served: Number
    units: int = 0


class Replay:
    """A policy at work; also the view that it gets, with the names of ``simulation.view.View``."""

    wake_s = None

    def __init__(self, policy: Policy, units: int, zero: Number, weighted: bool) -> None:
        self.policy, self.units, self.zero, self.weighted = policy, units, zero, weighted
        self.now_s = self.passed_s = zero
        self.jobs: dict[int, Job] = {}
        self.arrived: list[int] = []
        self.ended: list[int] = []
        self.flow = zero

    tick = staticmethod(no_tick)

    def come(self, job: int, speeds: Sequence[Fraction], weight: Fraction, work: Number) -> None:
        """Let a job arrive."""
        # units of work of an epoch: the least number that makes all seconds per epoch whole
        scale = lcm(*(each.numerator for each in speeds))
        epochs = work / scale
        self.jobs[job] = Job(tuple(scale / each for each in speeds), weight, self.now_s, epochs, epochs, self.zero)
        self.arrived.append(job)

    def go(self, job: int) -> Job:
        """Let a job end."""
        gone = self.jobs.pop(job)
        self.flow = self.flow + (self.now_s - gone.came) * gone.weight
        self.ended.append(job)
        return gone

    def pass_by(self, seconds: Number) -> None:
        """Let time pass."""
        self.now_s = self.passed_s = self.now_s + seconds
        for job in self.jobs.values():
            if job.units:
                job.remaining = job.remaining - seconds / job.times[job.units - 1]
                job.served = job.served + seconds * job.units

    def ask(self) -> list[int]:
        """Ask the policy; return the jobs that hold units."""
        for job, units in dict(self.policy.decide(self)).items():  # type: ignore[arg-type]
            self.jobs[job].units = int(units)
        self.arrived, self.ended = [], []
        if sum(job.units for job in self.jobs.values()) > self.units or any(j.units < 0 for j in self.jobs.values()):
            raise ValueError("the policy gives more units than there are")
        return [name for name, job in self.jobs.items() if job.units]

    def __iter__(self) -> Iterator[int]:
        return iter(self.jobs)

    def __len__(self) -> int:
        return len(self.jobs)

    def held(self, job: int) -> int:
        """Units that the job holds."""
        return self.jobs[job].units

    def left(self, job: int) -> Number:
        """Epochs that the job has left."""
        return self.jobs[job].remaining

    def allowed(self, job: int) -> list[int]:
        """Counts that it may hold."""
        return list(range(1, self.units + 1))

    useful = allowed

    def fastest(self, job: int) -> int:
        """Smallest count at which it is fastest."""
        times = self.jobs[job].times
        return 1 + times.index(min(times))

    def arrival_s(self, job: int) -> Number:
        """When it arrived."""
        return self.jobs[job].came

    def epochs(self, job: int) -> Number:
        """Epochs of the whole job."""
        return self.jobs[job].epochs

    def weight(self, job: int) -> Fraction:
        """Weight of its flow time; 1 if all jobs weigh the same."""
        return self.jobs[job].weight if self.weighted else Fraction(1)

    def restart_s(self, job: int) -> int:
        """0: changes cost nothing."""
        return 0

    def pause_s(self, job: int, units: int) -> int:
        """0: changes cost nothing."""
        return 0

    def epoch_time_s(self, job: int, units: int) -> Fraction:
        """Seconds per epoch."""
        return self.jobs[job].times[units - 1]

    def time_left_s(self, job: int, units: int) -> Number:
        """Seconds to its end on these units."""
        return self.jobs[job].remaining * self.jobs[job].times[units - 1]

    time_left_stopped_s = time_left_s

    def attained(self, job: int) -> Number:
        """Unit-seconds that it has held."""
        return self.jobs[job].served
