"""Ranges of the numbers in instances: a ``Range`` for each, in ``RANGES`` of the family's ``instance.py``.

A number is named by its path in the file, as in ``jobs[].epoch_time_s{}``: ``[]`` for all entries of a list,
``{}`` for all values of a mapping. All code that draws instances of the family looks the ranges up there. Figures of a
single preset, and factors from which the generator computes a number, are in the generator; the number of jobs is an
argument of each function that draws.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

Ends: TypeAlias = tuple[float, float]
"""Least and largest value."""
Values: TypeAlias = tuple[float, ...]

LARGEST_COUNT = 2**53
"""Counts up to here are exact in every JSON reader and in double precision."""
MODERATE: Ends = (1e-100, 1e100)
"""Sizes in files have to lie within these, which leaves room for products and quotients."""
NOTHING: Ends = (math.inf, -math.inf)
"""An empty range, for numbers that nobody draws."""
MAGNITUDES: Ends = (1e-12, 1e12)
"""Range from which campaigns draw numbers whose ``Range`` names no ``nasty`` values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """Allowed and drawn values of one number of a family's instances; None or empty: nobody draws these.

    Attributes
    ----------
    allowed
        Least and largest value that an instance accepts, where its type does not say it; its validation looks it up.
    usual, choices
        Least and largest value that ``generator.py`` draws, in orders of magnitude, or the values that it chooses from.
    searched, of_presets
        Least and largest value in ``worst/spaces``: round figures without a preset; with one, all that the generator draws, and
        beyond.
    ties, edges, tested
        What the strategy in ``testing`` draws, small enough for brute force: values that tie; the least and the largest, near
        ties, values far from all others; least and largest of any others.
    nasty
        Values that break algorithms in floating point, for the campaigns of the tests; empty: any of ``MAGNITUDES``.
    """

    allowed: Ends = (0.0, math.inf)
    usual: Ends = NOTHING
    choices: Values = ()
    searched: Ends = NOTHING
    of_presets: Ends = NOTHING
    ties: Values = ()
    edges: Values = ()
    tested: Ends = NOTHING
    nasty: Values = ()

    def allows(self, value: float) -> bool:
        """Whether an instance accepts a value."""
        least, most = self.allowed
        return least <= value <= most


Ranges: TypeAlias = Mapping[str, Range]
"""By path."""
