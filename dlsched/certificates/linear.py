"""Bounds that a price or multipliers of rows prove, in exact arithmetic."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from dlsched.certificates.exact import Number, exact_sum


@dataclass(frozen=True, slots=True)
class ExactRow:
    """A constraint: its sense and right-hand side, exactly."""

    sense: Literal["<=", "=", ">="]
    right: Number


def price_value(price: float, capacity: int, minima: Iterable[Number]) -> Fraction:
    """Return the exact bound that a price proves; ``minima`` are min_w (cost_j(w) + price w) of every job.

    Raises
    ------
    ValueError
        The price is negative or not finite.
    """
    if not (math.isfinite(price) and price >= 0):
        raise ValueError(f"price {price} must be a number >= 0")
    return exact_sum(minima) - Fraction(price) * capacity


def exact_multipliers(multipliers: Mapping[str, float], rows: Mapping[str, ExactRow]) -> dict[str, Fraction]:
    """Return multipliers as rational numbers; rows that are not named have multiplier 0.

    Raises
    ------
    ValueError
        A row that does not exist, or a multiplier that is not finite or has the wrong sign.
    """
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
