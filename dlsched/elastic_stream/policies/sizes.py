"""Sizes: rules for how many units a running job holds, independent of the other jobs."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import dataclass

from dlsched.core.errors import UsageError
from dlsched.elastic_stream.policies.orders import efficiency_of
from dlsched.elastic_stream.simulation.view import View

Size = Callable[[View, int], int]
"""Function from the view and a job to an allowed count of units; its answer for a job never changes."""


def largest_up_to(view: View, job: int, most: int) -> int:
    """Largest allowed count of at most ``most``, else the smallest."""
    allowed = view.allowed(job)
    return allowed[max(0, bisect_right(allowed, most) - 1)]


@dataclass(frozen=True, slots=True)
class Fixed:
    """The largest allowed count of at most ``units``, else the smallest; ``units`` < 1 is a ``UsageError``."""

    units: int = 8

    def __post_init__(self) -> None:
        if self.units < 1:
            raise UsageError(where="units", found=self.units, allowed="an integer >= 1")

    def __call__(self, view: View, job: int) -> int:
        """Return the size of the job."""
        return largest_up_to(view, job, self.units)


@dataclass(frozen=True, slots=True)
class Fastest:
    """The smallest count at which the job is fastest: more units are of no use to it."""

    def __call__(self, view: View, job: int) -> int:
        """Return the size of the job."""
        return view.fastest(job)


@dataclass(frozen=True, slots=True)
class Knee:
    """The largest count with an efficiency e(n) = f(n) n0 / (f(n0) n) of at least ``theta``, n0 the smallest count.

    A ``theta`` outside (0, 1] is a ``UsageError``: no count, or every count, might reach it.
    """

    theta: float = 0.5

    def __post_init__(self) -> None:
        if not 0 < self.theta <= 1:
            raise UsageError(where="theta", found=self.theta, allowed="a number in (0, 1]")

    def __call__(self, view: View, job: int) -> int:
        """Return the size of the job."""
        useful = view.useful(job)
        if isinstance(useful, range):  # n tau(n) of a law is convex, so the first counts reach theta
            return useful[bisect_left(useful, True, key=lambda count: efficiency_of(view, job, count) < self.theta) - 1]
        return max(count for count in useful if efficiency_of(view, job, count) >= self.theta)
