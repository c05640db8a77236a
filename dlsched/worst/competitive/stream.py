"""A policy's run on exact numbers: linear forms, whose comparisons a path decides, or numbers near a limit.

====================  =====================================================================================
code                  mathematics
====================  =====================================================================================
``Form``              sum_j c_j w_j + sum_k c_k d_k: works w_j and lengths d_k of intervals, all >= 0
``Quotient``          c / f, with a form f > 0
``Facts``             forms known to be > 0 on the path; comparisons that they decide
====================  =====================================================================================

A policy sees forms where it sees floats otherwise. It adds them, multiplies them by numbers and compares them.
A comparison that the facts leave open raises ``Undecided``, and the search splits on its form.

The policy is the one that the simulator runs. It is asked at arrivals and ends, as there without ticks.
Seconds per epoch are whole numbers L / s(m), so that quotients of speeds are exact in floats too.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from math import gcd, inf, lcm
from numbers import Rational
from typing import Self, cast

from dlsched.core.limits import no_tick
from dlsched.elastic_stream.simulation.view import Policy

Coefficients = tuple[Fraction, ...]
_SMALL = Fraction(1, 10**100)
"""Constants above 0 up to this count as infinitely small beside a form: an instance may be scaled."""


class Undecided(BaseException):
    """The sign of a form that the facts do not decide: no error, and policies that catch errors let it pass."""

    def __init__(self, form: Coefficients) -> None:
        super().__init__(form)
        self.form = form


class Facts:
    """Forms that are > 0 in the interior of a path's region; variables are too. ``undecided``: the first that they left open."""

    def __init__(self) -> None:
        self.positive: list[tuple[int, ...]] = []
        self.undecided: Undecided | None = None

    def sign(self, numbers: tuple[int, ...], below: int) -> int:
        """Return 1, 0 or -1 for the form numbers / below; raises ``Undecided`` where no fact decides."""
        if not any(numbers):
            return 0
        if min(numbers) >= 0:
            return 1
        if max(numbers) <= 0:
            return -1
        negated = tuple(-each for each in numbers)
        for fact in self.positive:
            if above(numbers, fact):
                return 1
            if above(negated, fact):
                return -1
        self.undecided = self.undecided or Undecided(tuple(Fraction(each, below) for each in numbers))
        raise self.undecided


def above(form: tuple[int, ...], fact: tuple[int, ...]) -> bool:
    """Whether form >= c fact for some c > 0, coefficient by coefficient."""
    # the range of c for which form - c fact has no negative coefficient, its ends as fractions
    low, low_below, high, high_below = 0, 1, 1, 0
    for mine, its in zip(form, fact, strict=True):
        if its > 0:
            if mine <= 0:
                return False
            if mine * high_below < high * its:
                high, high_below = mine, its
        elif mine < 0:
            if its == 0:
                return False
            if mine * low_below < low * its:
                low, low_below = -mine, -its
    return low * high_below <= high * low_below


class Number:
    """Arithmetic and comparisons, by sums, products with constants, and the sign of a difference."""

    __slots__ = ()

    def _against(self, other: object) -> int:
        """Sign of this number minus another."""
        raise NotImplementedError

    def __add__(self, other: object) -> Self:
        raise NotImplementedError

    def __mul__(self, other: object) -> Self:
        raise NotImplementedError

    def __lt__(self, other: object) -> bool:
        return self._against(other) < 0

    def __le__(self, other: object) -> bool:
        return self._against(other) <= 0

    def __gt__(self, other: object) -> bool:
        return self._against(other) > 0

    def __ge__(self, other: object) -> bool:
        return self._against(other) >= 0

    def __radd__(self, other: object) -> Self:
        return self + other

    def __rmul__(self, other: object) -> Self:
        return self * other

    def __neg__(self) -> Self:
        return self * -1

    def __truediv__(self, other: object) -> Self:
        return self * (1 / constant_of(other))

    def __sub__(self, other: object) -> Self:
        return self + (-other if isinstance(other, Number) else -constant_of(other))

    def __rsub__(self, other: object) -> Self:
        return -self + other

    def __abs__(self) -> Self:
        return self if self >= 0 else -self

    def __float__(self) -> float:
        raise TypeError("a float of a time: a proof knows sums and comparisons of times only")


class Form(Number):
    """A linear form of works and lengths: whole numbers over a common denominator, in lowest terms."""

    __slots__ = ("below", "facts", "numbers")

    def __init__(self, numbers: tuple[int, ...], facts: Facts, below: int = 1) -> None:
        common_factor = gcd(below, *numbers)
        if common_factor != 1:
            numbers, below = tuple(each // common_factor for each in numbers), below // common_factor
        self.numbers, self.facts, self.below = numbers, facts, below

    @property
    def coefficients(self) -> Coefficients:
        """Coefficients as fractions."""
        return tuple(Fraction(each, self.below) for each in self.numbers)

    def _against(self, other: object) -> int:
        if isinstance(other, Form):
            difference = self - other
            return self.facts.sign(difference.numbers, difference.below)
        beside = sign_beside(other)
        return self.facts.sign(self.numbers, self.below) or beside

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Form) and (self.numbers, self.below) == (other.numbers, other.below)

    def __hash__(self) -> int:
        return hash((self.numbers, self.below))

    def __bool__(self) -> bool:
        return any(self.numbers)

    def __add__(self, other: object) -> "Form":
        if isinstance(other, Form):
            mine, its = other.below, self.below
            numbers = [a * mine + b * its for a, b in zip(self.numbers, other.numbers, strict=True)]
            return Form(tuple(numbers), self.facts, mine * its)
        if constant_of(other) == 0:
            return self
        raise TypeError(f"a time plus {other!r}, which is no multiple of a time")

    def __mul__(self, other: object) -> "Form":
        times, over = constant_of(other).as_integer_ratio()
        return Form(tuple([each * times for each in self.numbers]), self.facts, self.below * over)

    def __rtruediv__(self, other: object) -> "Quotient":
        return Quotient(constant_of(other), self)


class Quotient(Number):
    """A constant over a time that is > 0; sums are of quotients over the same time."""

    __slots__ = ("below", "factor")

    def __init__(self, factor: Fraction, below: "Form | Near") -> None:
        if not below > 0:
            raise TypeError("a quotient by what may be 0")
        self.factor, self.below = factor, below

    def _against(self, other: object) -> int:
        if isinstance(other, Quotient):
            difference = other.below * self.factor - self.below * other.factor
            return (difference > 0) - (difference < 0)
        if constant_of(other) == 0:
            return (self.factor > 0) - (self.factor < 0)
        raise TypeError(f"a comparison of a quotient with {other!r}")

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Quotient):
            return self.below * other.factor == other.below * self.factor
        return isinstance(other, int | float | Rational) and other == 0 == self.factor

    def __hash__(self) -> int:
        return hash((self.factor, self.below))

    def __bool__(self) -> bool:
        return self.factor != 0

    def __add__(self, other: object) -> "Quotient":
        if isinstance(other, Quotient) and other.below == self.below:
            return Quotient(self.factor + other.factor, self.below)
        if not isinstance(other, Quotient | Form) and constant_of(other) == 0:
            return self
        raise TypeError("a sum of quotients by different forms")

    def __mul__(self, other: object) -> "Quotient":
        return Quotient(self.factor * constant_of(other), self.below)


class Near(Number):
    """a + b e, with an infinitely small e > 0: for instances as close to a limit as one likes."""

    __slots__ = ("at", "toward")

    def __init__(self, at: Fraction | int, toward: Fraction | int = 0) -> None:
        self.at, self.toward = Fraction(at), Fraction(toward)

    def __eq__(self, other: object) -> bool:
        if other == inf:
            return False
        near = _near(other)
        return (self.at, self.toward) == (near.at, near.toward)

    def _against(self, other: object) -> int:
        near = _near(other)
        small = not isinstance(other, Near) and abs(near.at) <= _SMALL  # smaller than any multiple of e
        mine, its = (self.at, self.toward, 0), (0, 0, near.at) if small else (near.at, near.toward, 0)
        return (mine > its) - (mine < its)

    def __hash__(self) -> int:
        return hash((self.at, self.toward))

    def __bool__(self) -> bool:
        return bool(self.at or self.toward)

    def __add__(self, other: object) -> "Near":
        near = _near(other)
        return Near(self.at + near.at, self.toward + near.toward)

    def __mul__(self, other: object) -> "Near":
        factor = constant_of(other)
        return Near(self.at * factor, self.toward * factor)

    def __rtruediv__(self, other: object) -> "Quotient":
        return Quotient(constant_of(other), self)


def _near(other: object) -> Near:
    return other if isinstance(other, Near) else Near(constant_of(other))


def sign_beside(other: object) -> int:
    """Sign of 0 minus a constant, infinitely small beside a form; TypeError for others."""
    constant = constant_of(other)
    if abs(constant) > _SMALL:
        raise TypeError(f"a comparison with {other!r}, which is no multiple of a time")
    return (constant < 0) - (constant > 0)


def constant_of(other: object) -> Fraction:
    """A number as a fraction; TypeError: it is none."""
    if isinstance(other, Fraction):
        return other
    if isinstance(other, Rational | float):
        return Fraction(other)
    item = getattr(other, "item", None)  # a number of NumPy
    if item is not None:
        return Fraction(item())
    if isinstance(other, Number):
        raise TypeError("a product or quotient of two times, which is not linear")
    raise TypeError(f"{other!r} is no number")


Speeds = tuple[Fraction, ...]
Time = Form | Near


@cache
def common(speeds: Speeds) -> int:
    """Least common multiple L of the numerators of the speeds: an epoch is L units of work."""
    return lcm(*(speed.numerator for speed in speeds))


def epoch_times(speeds: Speeds) -> dict[int, Fraction]:
    """Seconds per epoch by count: L / s(m), whole numbers."""
    return {units: common(speeds) / speed for units, speed in enumerate(speeds, 1)}


@dataclass(slots=True)
class Present:
    """A job that has arrived and not ended: times per epoch, weight, arrival, epochs, epochs left, units and service."""

    times: Mapping[int, Fraction]
    weight: Fraction
    arrival: Time
    epochs: Time
    remaining: Time
    attained: Time
    units: int = 0


class ExactView:
    """What a policy sees of a run on exact numbers; names and meanings as those of ``simulation.view.View``."""

    cached, wake_s, tick = None, None, staticmethod(no_tick)

    def __init__(self, units: int, zero: Time, weights: Sequence[int]) -> None:
        self.units, self.now_s, self.passed_s = units, zero, zero
        self.weighted = len(set(weights)) > 1
        self.present: dict[int, Present] = {}
        self.arrived: list[int] = []
        self.ended: list[int] = []

    def __iter__(self) -> Iterator[int]:
        return iter(self.present)

    def __len__(self) -> int:
        return len(self.present)

    def __getattr__(self, name: str) -> object:
        raise AttributeError(f"a proof has no view.{name}")

    def held(self, job: int) -> int:
        """Units that the job holds."""
        return self.present[job].units

    def left(self, job: int) -> Time:
        """Epochs that the job has left."""
        return self.present[job].remaining

    def allowed(self, job: int) -> Sequence[int]:
        """Counts that it may hold."""
        return range(1, self.units + 1)

    def useful(self, job: int) -> Sequence[int]:
        """Counts that may be of use to it."""
        return list(self.present[job].times)

    def fastest(self, job: int) -> int:
        """Smallest count at which it is fastest."""
        times = self.present[job].times
        return min(times, key=lambda units: (times[units], units))

    def arrival_s(self, job: int) -> Time:
        """When it arrived."""
        return self.present[job].arrival

    def epochs(self, job: int) -> Time:
        """Epochs of the whole job."""
        return self.present[job].epochs

    def weight(self, job: int) -> Fraction:
        """Weight of the job's flow time, 1 where all jobs weigh the same."""
        return self.present[job].weight if self.weighted else Fraction(1)

    def restart_s(self, job: int) -> Fraction:
        """0: changes cost nothing."""
        return Fraction(0)

    def pause_s(self, job: int, units: int) -> Fraction:
        """0: changes cost nothing."""
        return Fraction(0)

    def epoch_time_s(self, job: int, units: int) -> Fraction:
        """Seconds per epoch."""
        return self.present[job].times[units]

    def time_left_s(self, job: int, units: int) -> Time:
        """Seconds to its end on these units."""
        return self.left(job) * self.epoch_time_s(job, units)

    time_left_stopped_s = time_left_s

    def attained(self, job: int) -> Time:
        """Unit-seconds that it has held."""
        return self.present[job].attained


@dataclass(eq=False)
class Run:
    """The state of a run, after the last decision of its policy, which begins fresh."""

    policy: Policy
    view: ExactView
    flow: Time
    ends: dict[int, Time] = field(default_factory=dict)

    def admit(self, job: int, times: Mapping[int, Fraction], weight: int, work: Time) -> None:
        """Let a job with these seconds per epoch, by units, and these epochs arrive now."""
        now, none = self.view.now_s, self.flow * 0
        self.view.present[job] = Present(times, Fraction(weight), now, work, work, attained=none)
        self.view.arrived.append(job)

    def end(self, job: int) -> None:
        """Let a job end now."""
        self.ends[job] = self.view.now_s
        gone = self.view.present.pop(job)
        self.flow = self.flow + (self.view.now_s - gone.arrival) * gone.weight
        self.view.ended.append(job)

    def decide(self) -> dict[int, int]:
        """Ask the policy; return the units of the jobs that hold some."""
        view = self.view
        # jobs that the policy does not name keep their units
        for job, units in self.policy.decide(view).items():  # type: ignore[arg-type]
            view.present[job].units = int(units)
        view.arrived.clear()
        view.ended.clear()
        allocation = {job: each.units for job, each in view.present.items() if each.units}
        if sum(allocation.values()) > view.units:
            raise ValueError(f"{sum(allocation.values())} of {view.units} units are held")
        return allocation

    def wait(self, length: Time) -> None:
        """Let time pass."""
        self.view.now_s = self.view.passed_s = self.view.now_s + length
        for each in self.view.present.values():
            if each.units:
                each.remaining = each.remaining - length * (1 / each.times[each.units])
                each.attained = each.attained + length * each.units


def play(
    policy: Policy, tables: Sequence[Speeds], weights: Sequence[int], arrivals: Sequence[Near], works: Sequence[Near]
) -> tuple[Near, list[Near]]:
    """Run a fresh policy on jobs in the order of the file; return its total weighted flow time, and the ends."""
    zero = Near(0)
    units = len(tables[0])
    run = Run(policy, ExactView(units, zero, weights), zero)
    coming = sorted(range(len(works)), key=lambda job: (arrivals[job], job))[::-1]
    while coming or run.view.present:
        running = {job: each for job, each in run.view.present.items() if each.units}
        moments = [run.view.now_s + each.remaining * each.times[each.units] for each in running.values()]
        # the next event: an end or an arrival
        now = min([*moments, *([arrivals[coming[-1]]] if coming else [])])
        run.wait(now - run.view.now_s)
        for job, each in running.items():
            if not each.remaining:
                run.end(job)
        while coming and arrivals[coming[-1]] <= now:
            job = coming.pop()
            run.admit(job, epoch_times(tables[job]), weights[job], works[job] * Fraction(1, common(tables[job])))
        run.decide()
    return cast("Near", run.flow), [cast("Near", run.ends[job]) for job in range(len(works))]
