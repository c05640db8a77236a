"""Certificates of bounds: data that anyone can verify in exact arithmetic, without a solver.

==============================  ======================================================================================
certificate                     what it proves
==============================  ======================================================================================
``PriceCertificate``            min sum_j cost_j(w_j), sum_j w_j <= C: for every price lambda >= 0 the optimum is at
                                least sum_j min_w (cost_j(w) + lambda w) - lambda C
``DualsCertificate``            min c x, rows A x {<=, =, >=} b, l <= x <= u: for every y with y <= 0 on <= rows and
                                y >= 0 on >= rows the optimum is at least y b + sum_k min(d_k l_k, d_k u_k), d = c - y A
``SrptCertificate``             min of a sum of completion times: SRPT of jobs with these sizes (seconds on one machine
                                that serves one job at a time) from their releases ends no later in sum than any schedule
``LengthsCertificate``          no job ends sooner after its release than these seconds
==============================  ======================================================================================

Proof of the first two: for a feasible x the terms with y (or lambda) add up to no more than 0, so subtracting them lowers c x;
what is left is minimised column by column. Numbers are the exact values of the floats given; a sum is rounded down to a
float once, at the end. ``value`` is what the certificate proves on its own.
"""

import heapq
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

Number = int | Fraction


@dataclass(frozen=True, slots=True)
class PriceCertificate:
    """A price per unit of the shared resource, and the bound it proves."""

    price: float
    value: float

    def as_data(self) -> dict[str, Any]:
        """Return the certificate as result files hold it."""
        return {"kind": "price", "price": self.price, "value": self.value}


@dataclass(frozen=True, slots=True)
class DualsCertificate:
    """Multipliers of the rows of a named formulation's linear relaxation, and the bound they prove."""

    formulation: str
    rows: Mapping[str, float] = field(hash=False)
    value: float

    def as_data(self) -> dict[str, Any]:
        """Return the certificate as result files hold it."""
        return {"kind": "duals", "formulation": self.formulation, "rows": dict(self.rows), "value": self.value}


@dataclass(frozen=True, slots=True)
class SrptCertificate:
    """Seconds that each job would need on one machine, maybe also at least by itself, and the bound that they prove."""

    sizes: Mapping[str, float] = field(hash=False)
    value: float
    lengths: Mapping[str, float] = field(default_factory=dict, hash=False)

    def as_data(self) -> dict[str, Any]:
        """Return the certificate as result files hold it."""
        lengths = {"lengths": dict(self.lengths)} if self.lengths else {}
        return {"kind": "srpt", "sizes": dict(self.sizes)} | lengths | {"value": self.value}


@dataclass(frozen=True, slots=True)
class LengthsCertificate:
    """Seconds that each job needs at least from its release to its end, and the bound they prove."""

    lengths: Mapping[str, float] = field(hash=False)
    value: float

    def as_data(self) -> dict[str, Any]:
        """Return the certificate as result files hold it."""
        return {"kind": "lengths", "lengths": dict(self.lengths), "value": self.value}


Certificate = PriceCertificate | DualsCertificate | SrptCertificate | LengthsCertificate


@dataclass(frozen=True, slots=True)
class Row:
    """A constraint: its sense and right-hand side, exactly."""

    sense: Literal["<=", "=", ">="]
    right: Number


@dataclass(frozen=True, slots=True)
class Column:
    """A bounded variable: cost, lower and upper bound, and its coefficient in each row it stands in, exactly."""

    cost: Number
    lower: Number
    upper: Number
    coefficients: Mapping[str, Number]


def price_value(price: float, capacity: int, minima: Iterable[Number]) -> Fraction:
    """Bound that a price proves, exactly; ``minima`` are min_w (cost_j(w) + price w) of every job.

    Raises
    ------
    ValueError
        The price is negative or not finite.
    """
    if not (math.isfinite(price) and price >= 0):
        raise ValueError(f"price {price} is no number >= 0")
    return exact_sum(minima) - Fraction(price) * capacity


def duals_value(multipliers: Mapping[str, float], rows: Mapping[str, Row], columns: Iterable[Column]) -> Fraction:
    """Bound that row multipliers prove, exactly; rows that are not named have multiplier 0.

    Raises
    ------
    ValueError
        A row that does not exist, or a multiplier that is not finite or has the wrong sign.
    """
    exact = exact_multipliers(multipliers, rows)
    parts = [exact[name] * rows[name].right for name in exact]
    for column in columns:
        reduced = Fraction(column.cost) - sum(
            (exact[row] * value for row, value in column.coefficients.items() if row in exact), Fraction(0)
        )
        parts.append(reduced * (column.lower if reduced > 0 else column.upper))
    return exact_sum(parts)


def exact_multipliers(multipliers: Mapping[str, float], rows: Mapping[str, Row]) -> dict[str, Fraction]:
    """Return multipliers as rational numbers; ValueError as ``duals_value``."""
    exact: dict[str, Fraction] = {}
    for name, multiplier in multipliers.items():
        if name not in rows:
            raise ValueError(f"there is no row {name!r}")
        sense = rows[name].sense
        wrong = (sense == "<=" and multiplier > 0) or (sense == ">=" and multiplier < 0)
        if wrong or not math.isfinite(multiplier):
            raise ValueError(f"multiplier {multiplier} of row {name!r} ({sense}) has the wrong sign or is not finite")
        exact[name] = Fraction(multiplier)
    return exact


def srpt_value(
    releases: Sequence[float | Fraction], sizes: Sequence[float], lengths: Sequence[float] | None = None
) -> Fraction:
    """Sum of the completion times of preemptive SRPT on one machine of speed 1, exactly; or more, with lengths.

    No schedule of the jobs on that machine has ended more of them at any time (Schrage 1968: in the first moment in which
    a schedule runs a job with more left than another one that is released, exchanging their remaining service ends none
    later but those two, and of them the sooner one sooner), so its k-th end is no sooner than SRPT's, nor does that fall
    when a size grows. With ``lengths``, seconds that no job undercuts from its release on, the k-th end is also no sooner
    than the k-th smallest release plus length: the sum takes the later of both. All numbers are multiples of one power of
    two, so the simulation is in integers.

    Raises
    ------
    ValueError
        A size or length that is negative or not finite.
    """
    if not all(math.isfinite(size) and size >= 0 for size in (*sizes, *(lengths or ()))):
        raise ValueError("a size is no number >= 0")
    unit = max((number.as_integer_ratio()[1] for number in (*releases, *sizes, *(lengths or ()))), default=1)
    jobs = sorted((_times(release, unit), _times(size, unit)) for release, size in zip(releases, sizes, strict=True))
    left: list[int] = []  # of the jobs that are released, a heap
    ends: list[int] = []
    now = 0
    for place, (release, size) in enumerate(jobs):
        now = max(now, release)
        heapq.heappush(left, size)
        until = jobs[place + 1][0] if place + 1 < len(jobs) else None
        while left and (until is None or now < until):
            least = heapq.heappop(left)
            if until is not None and now + least > until:
                heapq.heappush(left, least - (until - now))
                now = until
            else:
                now += least
                ends.append(now)
    if lengths is not None:
        soonest = (
            _times(release, unit) + _times(length, unit) for release, length in zip(releases, lengths, strict=True)
        )
        ends = list(map(max, ends, sorted(soonest)))
    return Fraction(sum(ends), unit)


def _times(number: float | Fraction, unit: int) -> int:
    numerator, denominator = number.as_integer_ratio()
    return numerator * (unit // denominator)


def claimed(names: Sequence[str], claims: Mapping[str, float], most: Callable[[int], Fraction]) -> list[float]:
    """Claims in the order of the jobs' names, 0 where there is none, each held against the most that job may claim.

    Raises
    ------
    ValueError
        A job that does not exist, or a claim that is negative, no number or too large.
    """
    index = {name: place for place, name in enumerate(names)}
    for name, claim in claims.items():
        if name not in index:
            raise ValueError(f"there is no job {name!r}")
        needed = most(index[name])
        if not claim >= 0 or claim > needed:
            raise ValueError(f"{claim!r} s is claimed of job {name!r}, it needs {float(needed)!r} s")
    return [claims.get(name, 0.0) for name in names]


def exact_sum(numbers: Iterable[Number]) -> Fraction:
    """Sum of rationals, pairwise so that numerators stay short."""
    terms = [Fraction(number) for number in numbers]
    while len(terms) > 1:
        odd = terms[-1:] if len(terms) % 2 else []
        terms = [first + second for first, second in zip(terms[0::2], terms[1::2], strict=False)] + odd
    return terms[0] if terms else Fraction(0)


def rounded_down(number: Fraction) -> float:
    """Return the largest float that is not above ``number``.

    >>> rounded_down(Fraction(1, 10)) < Fraction(1, 10)
    True
    """
    nearest = float(number)
    return math.nextafter(nearest, -math.inf) if nearest > number else nearest


def rounded_up(number: Fraction) -> float:
    """Return the least float that is not below ``number``.

    >>> rounded_up(Fraction(1, 10)) >= Fraction(1, 10)
    True
    """
    return -rounded_down(-number)
