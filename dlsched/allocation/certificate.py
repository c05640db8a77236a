"""Verification of certificates for allocations of counts, in exact arithmetic and without a solver.

A price lambda proves sum_j min over w in W_j of (cost_j(w) + lambda w) - lambda C. Duals prove the same kind of bound from the
rows of the formulation ``milp`` (``choice_program``), whose columns 0 <= x_jn <= 1 stand for the counts n that can fit: with
-lambda the multiplier of ``capacity`` and mu_j those of ``choice``, sum_j (mu_j + sum_n min(0, cost_j(n) + lambda n - mu_j))
- lambda C. The family computes the minima and the negative terms, since it knows its costs.
"""

import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Generic

from dlsched.allocation.counts import Counted, CountedT, ids
from dlsched.certificates import (
    DualsCertificate,
    ExactRow,
    PriceCertificate,
    exact_multipliers,
    exact_sum,
    price_value,
    rounded_down,
)
from dlsched.core.limits import Tick, no_tick
from dlsched.core.messages import plain_labels
from dlsched.core.result import Certificate

_LARGEST = sys.float_info.max
TINY = 1e-290  # below this floats lose relative precision


def choice_rows(instance: Counted) -> list[str]:
    """Names of the rows ``choice`` of the formulation ``milp``, in the order of the jobs."""
    return [f"choice_{label}" for label in plain_labels(ids(instance), "j")]


@dataclass(frozen=True)
class Proof(Generic[CountedT]):
    """Functions of a family that verify its certificates, from an instance and a price.

    ``minima``: min_w (cost_j(w) + price w) of every job, or less. ``parts``: from the multipliers mu_j, too, numbers that sum to
    sum_j (mu_j + sum_n min(0, cost_j(n) + price n - mu_j)), or less. ``largest``: price, and absolute value of a multiplier, that
    is accepted. ``below``: the bound of a price in range, rounded down, in floats as far as possible; None: of the ``minima``.
    """

    minima: Callable[[CountedT, Fraction, Tick], Iterable[Fraction]]
    parts: Callable[[CountedT, Fraction, Sequence[Fraction], Tick], Iterable[Fraction]]
    largest: float = _LARGEST
    below: Callable[[CountedT, float, Tick], float] | None = None

    def verify(self, instance: CountedT, certificate: Certificate) -> Fraction:
        """Return the bound that the certificate proves, exactly; ValueError: it is none of this family."""
        if isinstance(certificate, PriceCertificate):
            return self.price_bound(instance, certificate.price)
        if isinstance(certificate, DualsCertificate):
            return self.duals_bound(instance, certificate)
        raise ValueError(f"there are no certificates of kind {certificate.as_data()['kind']!r} in this family")

    def price_bound(self, instance: CountedT, price: float, *, tick: Tick = no_tick) -> Fraction:
        """Lagrangian bound of a price; errors as ``verify``."""
        self._require_price(price)
        minima = self.minima(instance, Fraction(price), tick)
        return _in_range(price_value(price, instance.capacity, minima))

    def price_below(self, instance: CountedT, price: float, *, tick: Tick = no_tick) -> float:
        """Lagrangian bound of a price as a float that is not above it; errors as ``verify``."""
        self._require_price(price)
        if self.below is None:
            return rounded_down(self.price_bound(instance, price, tick=tick))
        try:
            return self.below(instance, price, tick)
        except OverflowError:  # too large for floats; exact arithmetic raises the proper error
            return rounded_down(self.price_bound(instance, price, tick=tick))

    def _require_price(self, price: float) -> None:
        if not 0 <= price <= self.largest:
            allowed = "finite and >= 0" if self.largest == _LARGEST else f"from 0 to {self.largest:g}"
            raise ValueError(f"price {price} must be {allowed}")

    def duals_bound(self, instance: CountedT, certificate: DualsCertificate, *, tick: Tick = no_tick) -> Fraction:
        """Bound of multipliers of the rows ``capacity`` and ``choice_<job>``; errors as ``verify``."""
        if certificate.formulation != "milp":
            raise ValueError(f"there are no duals of a formulation {certificate.formulation!r}")
        choices = choice_rows(instance)
        rows = {"capacity": ExactRow("<=", instance.capacity)} | dict.fromkeys(choices, ExactRow("=", 1))
        exact = exact_multipliers(certificate.rows, rows)
        for name, multiplier in exact.items():
            if abs(multiplier) > self.largest:
                raise ValueError(f"multiplier {certificate.rows[name]} of row {name!r} is beyond {self.largest:g}")
        price = -exact.get("capacity", Fraction(0))
        parts = self.parts(instance, price, [exact.get(row, Fraction(0)) for row in choices], tick)
        return _in_range(exact_sum(parts) - price * instance.capacity)


def near_minima(values: Sequence[float], error: float) -> list[int]:
    """Indices of values that may be the least, given a relative error of at most ``error`` each."""
    # The least exact value is within two errors of the least float, one of each value; doubled for rounding.
    limit = min(values) * (1 + 4 * error) + TINY
    return [index for index, value in enumerate(values) if value <= limit]


def maybe_below(values: Sequence[float], choice: float, error: float) -> list[int]:
    """Indices of the values that may be below ``choice``; otherwise as ``near_minima``."""
    limit = choice + abs(choice) * 4 * error + TINY
    return [index for index, value in enumerate(values) if value * (1 - 4 * error) <= limit]


def _in_range(value: Fraction) -> Fraction:
    if not -Fraction(_LARGEST) <= value <= Fraction(_LARGEST):
        raise ValueError(f"what is proven lies {'below' if value < 0 else 'above'} all floats")
    return value
