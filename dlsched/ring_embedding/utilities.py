"""Utilities as tables over worker-slots, with their concave envelopes.

mu is that of x as a float, and of a sigmoid's power p as a float, as the checker computes them. Floats of it are off by less
than a relative 2**-50 and, for a sigmoid, ``error``, 2**-49 of its height. ``upper`` adds both.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from dlsched.core.errors import UsageError
from dlsched.ring_embedding.instance import Capped, Job, Log, Sigmoid, Sqrt

Floats = npt.NDArray[np.float64]

LARGEST = 2**23
"""Worker-slots of all jobs together up to which there are tables: 64 MB, and as much for each of a few copies."""


@dataclass(frozen=True, eq=False)
class Worth:
    """mu_i(zeta_i z) for z = 0 .. Z: ``values``, shape (Z + 1,)."""

    values: Floats
    error: float
    concave: bool

    @property
    def most(self) -> float:
        """The most that can be gained."""
        return float(self.values.max() - self.values[0])

    @property
    def upper(self) -> Floats:
        """Values that are certainly not below mu."""
        return self.values * (1 + 2.0**-50) + self.error

    @cached_property
    def corners(self) -> npt.NDArray[np.int64]:
        """The z in which the concave envelope touches mu, ascending, from 0 to Z."""
        if self.concave:
            return np.arange(len(self.values))
        return hull(self.values)

    @cached_property
    def envelope(self) -> Floats:
        """The concave envelope, shape (Z + 1,)."""
        return np.interp(np.arange(len(self.values)), self.corners, self.values[self.corners])

    def gains(self, held: int, most: int) -> Floats:
        """mu(zeta (held + n)) - mu(zeta held) for n = 0 .. ``most``, shape (most + 1,)."""
        gains: Floats = self.values[held : held + most + 1] - self.values[held]
        return gains

    def slope(self, count: int) -> tuple[float, int]:
        """The best average gain from ``count`` worker-slots on, and how many more it takes; (0, 0) where there is no gain."""
        if count + 1 >= len(self.values):
            return 0.0, 0
        if self.concave:
            return float(self.values[count + 1] - self.values[count]), 1
        gains = (self.values[count + 1 :] - self.values[count]) / np.arange(1, len(self.values) - count)
        step = int(np.argmax(gains))
        return float(gains[step]), step + 1


def worth_table(job: Job, total: int) -> Worth:
    """Tabulate the utility of 0 .. ``total`` worker-slots."""
    x = job.rate * np.arange(total + 1, dtype=np.float64)
    utility = job.utility
    if isinstance(utility, Sqrt):
        return Worth(utility.scale * np.sqrt(x), 0.0, True)
    if isinstance(utility, Log):
        return Worth(utility.scale * np.log1p(x), 0.0, True)
    if isinstance(utility, Capped):
        return Worth(np.minimum(utility.slope * x, utility.cap), 0.0, True)
    assert isinstance(utility, Sigmoid)
    power = utility.steepness * (x - utility.midpoint)
    part = np.exp(-np.abs(power))
    values = utility.height * np.where(power >= 0, 1.0, part) / (1 + part)
    return Worth(values, utility.height * 2.0**-49, utility.midpoint == 0)


def worth_tables(jobs: Sequence[Job], totals: Sequence[int]) -> list[Worth]:
    """One ``worth_table`` for every job, of the most worker-slots that it can have.

    Raises
    ------
    UsageError
        They are more than ``LARGEST`` in all.
    """
    count = sum(totals)
    if count > LARGEST:
        raise UsageError(f"found jobs that can have {count} worker-slots or more in all, allowed: up to {LARGEST}")
    return [worth_table(job, total) for job, total in zip(jobs, totals, strict=True)]


def power_of_two(value: float) -> float:
    """Return the power of two that is next above a number > 0, 1 for 0: a unit that changes no digit."""
    return math.ldexp(1.0, math.frexp(value)[1]) if value > 0 else 1.0


def hull(values: Floats) -> npt.NDArray[np.int64]:
    """Corners of the upper convex hull of (z, values[z]), of values that rise ever faster and then ever slower."""
    last = len(values) - 1
    if last < 1:
        return np.arange(len(values))
    slopes = (values[1:] - values[0]) / np.arange(1, last + 1)
    touched = last - int(np.argmax(slopes[::-1]))
    steps = np.diff(values[touched:])
    bends = touched + 1 + np.flatnonzero(steps[:-1] > steps[1:])
    return np.unique(np.concatenate(([0, touched], bends, [last])))
