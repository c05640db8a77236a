"""Between what the numbers of instances are drawn: a ``Range`` for each, in the ``RANGES`` of its family's ``instance.py``.

A number is named by its path in the file, as in ``jobs[].epoch_time_s{}``: ``[]`` for all entries of a list, ``{}`` for all
values of a mapping. Whoever draws instances of the family looks its ends up there:

======================  ==========================================================  =============================================
of a ``Range``          what it is                                                  who looks it up
======================  ==========================================================  =============================================
``allowed``             what an instance accepts                                    its validation
``usual, choices``      what occurs, in orders of magnitude                         ``generator.py``
``searched``            round figures, which people can read                        ``worst/spaces``, without a preset
``of_presets``          all that the generator draws, and beyond                    ``worst/spaces``, with a preset
``ties, edges, tested`` small figures, which brute force takes exactly              the strategy of hypothesis in ``testing``
``nasty``               what breaks algorithms in floating point                    the campaigns of the tests, in ``nasty.py``
======================  ==========================================================  =============================================

What a single preset of the generator has for itself stands there, as do factors from which it computes a number. How many jobs
an instance has is an argument of whoever draws it.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

Ends: TypeAlias = tuple[float, float]
"""Least and most."""
Values: TypeAlias = tuple[float, ...]

LARGEST_COUNT = 2**53
"""Counts up to here are exact in every JSON reader and in double precision."""
MODERATE: Ends = (1e-100, 1e100)
"""Between which sizes of files have to lie, which leaves room for products and quotients."""
NOTHING: Ends = (math.inf, -math.inf)
"""Ends between which there is nothing, where nobody draws."""
MAGNITUDES: Ends = (1e-12, 1e12)
"""Between which campaigns draw numbers of which no ``nasty`` values are said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """What one number of a family's instances may be, and is when it is drawn; nobody draws from what is left out.

    Parameters
    ----------
    allowed
        Least and most that an instance accepts, as far as its type does not say it.
    usual
        Least and most that the generator draws.
    choices
        Values that the generator chooses from.
    searched, of_presets
        Least and most of a search for worst instances: in its own figures, and among those of a preset.
    ties
        Values that strategies draw most, so that numbers tie.
    edges
        Values that strategies draw as well: the least and the most, what all but ties, what is far from all others.
    tested
        Least and most of what strategies draw in between: numbers of many digits, or any count.
    nasty
        Values that campaigns choose from; empty: any of ``MAGNITUDES``.
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
