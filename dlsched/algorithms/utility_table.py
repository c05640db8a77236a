"""Utilities of 0, 1, 2 ... units as tables, with their concave envelopes.

They never fall: most rise ever faster and then ever slower (S-shaped), or ever slower (concave), some
irregularly.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

_HAIR = 1e-13  # rounding of floats, as a share of the range of a utility


@dataclass(frozen=True, eq=False)
class UtilityTable:
    """Utility of 0 .. Z units: ``values``, shape (Z + 1,); the exact ones differ by a relative 2**-50 and ``error`` at most."""

    values: Floats
    error: float
    concave: bool

    @property
    def units(self) -> int:
        """Z."""
        return len(self.values) - 1

    @property
    def nothing(self) -> float:
        """Utility of no unit."""
        return float(self.values[0])

    @property
    def most(self) -> float:
        """Largest gain over no unit."""
        return float(self.values.max() - self.values[0])

    @property
    def upper(self) -> Floats:
        """Upper bounds of the exact utilities."""
        return self.values * (1 + 2.0**-50) + self.error

    @cached_property
    def corners(self) -> Integers:
        """The units at which the concave envelope touches the utility, ascending, from 0 to Z."""
        return np.arange(len(self.values)) if self.concave else hull(self.values)

    @cached_property
    def envelope(self) -> Floats:
        """The concave envelope, shape (Z + 1,)."""
        return np.interp(np.arange(len(self.values)), self.corners, self.values[self.corners])

    def gains(self, held: int, most: int) -> Floats:
        """Gains of 0 .. ``most`` units added to those held, shape (most + 1,)."""
        gains: Floats = self.values[held : held + most + 1] - self.values[held]
        return gains

    def slope(self, count: int) -> tuple[float, int]:
        """The best average gain from ``count`` units on, and how many more it takes; (0, 0) where there is no gain."""
        if count >= self.units:
            return 0.0, 0
        if self.concave:
            return float(self.values[count + 1] - self.values[count]), 1
        gains = (self.values[count + 1 :] - self.values[count]) / np.arange(1, len(self.values) - count)
        step = int(np.argmax(gains))
        return float(gains[step]), step + 1


def hull(values: Floats) -> Integers:
    """Corners of the upper convex hull of (z, values[z]): computed at once for an S shape, else one by one."""
    last = len(values) - 1
    if last < 1:
        return np.arange(len(values))
    # An S shape: one chord from 0 touches it, and behind the touching point every bend is a corner.
    slopes = (values[1:] - values[0]) / np.arange(1, last + 1)
    touched = last - int(np.argmax(slopes[::-1]))
    steps = np.diff(values[touched:])
    bends = touched + 1 + np.flatnonzero(steps[:-1] > steps[1:])
    corners = np.unique(np.concatenate(([0, touched], bends, [last])))
    above = np.interp(np.arange(len(values)), corners, values[corners])
    within = _HAIR * float(values.max() - values.min())
    if np.all(values <= above + within) and _bends_down(values, corners, within):
        return corners
    return np.concatenate((np.arange(touched and 1), touched + _chain(values[touched:])))


def _bends_down(values: Floats, corners: Integers, within: float) -> bool:
    """Whether no corner is below the line between its neighbours."""
    a, b, c = corners[:-2], corners[1:-1], corners[2:]
    line = values[a] + (values[c] - values[a]) * ((b - a) / (c - a))
    return bool(np.all(values[b] >= line - within))


def _chain(values: Floats) -> Integers:
    """Andrew's monotone chain."""
    found: list[int] = []
    heights: list[float] = []
    for z, value in enumerate(values.tolist()):
        while len(found) > 1 and (heights[-1] - heights[-2]) * (z - found[-1]) <= (value - heights[-1]) * (
            found[-1] - found[-2]
        ):
            found.pop()
            heights.pop()
        found.append(z)
        heights.append(value)
    return np.array(found, dtype=np.int64)


def power_of_two(value: float) -> float:
    """Return the next power of two above a number > 0, or 1 for 0: dividing by it changes no digit."""
    return math.ldexp(1.0, math.frexp(value)[1]) if value > 0 else 1.0
