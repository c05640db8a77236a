"""Utilities as tables over worker-slots, with their concave envelopes.

mu is that of x as a float, and of a sigmoid's power p as a float, as the checker computes them. Floats of it are off by less
than a relative 2**-50 and, for a sigmoid, ``error``, 2**-49 of its height. ``upper`` adds both.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from dlsched.core.errors import UsageError
from dlsched.ring_embedding.instance import Capped, Job, Log, Sigmoid, Sqrt

Floats = npt.NDArray[np.float64]

LARGEST = 2**25
"""Worker-slots of a job for which there is no table: 256 MB."""


@dataclass(frozen=True, eq=False)
class Worth:
    """mu_i(zeta_i z) for z = 0 .. Z: ``values``, shape (Z + 1,)."""

    values: Floats
    error: float
    concave: bool

    @cached_property
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
    """Tabulate the utility of 0 .. ``total`` worker-slots.

    Raises
    ------
    UsageError
        There are ``LARGEST`` or more.
    """
    if total >= LARGEST:
        raise UsageError(f"job {job.id!r} can have {total} worker-slots, allowed: fewer than {LARGEST}")
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


def worth_tables(jobs: Sequence[Job], totals: Iterable[int]) -> list[Worth]:
    """One ``worth_table`` for every job, of the most worker-slots that it can have."""
    return [worth_table(job, int(total)) for job, total in zip(jobs, totals, strict=True)]


def hull(values: Floats) -> npt.NDArray[np.int64]:
    """Corners of the upper convex hull of (z, values[z])."""
    kept: list[int] = []
    for z, value in enumerate(values.tolist()):
        while len(kept) > 1:
            a, b = kept[-2], kept[-1]
            if (values[b] - values[a]) * (z - b) > (value - values[b]) * (b - a):
                break
            kept.pop()
        kept.append(z)
    return np.array(kept)
