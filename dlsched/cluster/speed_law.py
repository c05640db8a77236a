"""The speed law of a ring all-reduce job: seconds per epoch on w GPUs.

====================  ==============================================================
code                  mathematics
====================  ==============================================================
``theta``             theta0 .. theta3, all >= 0
``samples``           m, samples of one epoch
``model_bytes``       n, bytes of the model's gradients
``epoch_time_s(w)``   tau(w) = theta0 m/w + theta1 (w-1) + theta2 (w-1) n/w + theta3
====================  ==============================================================

Collecting the powers of w, tau(w) = hyperbolic / w + linear w + constant with hyperbolic = theta0 m - theta2 n,
linear = theta1 and constant = theta2 n + theta3 - theta1. So tau is convex when hyperbolic > 0 and non-decreasing
otherwise, and no count beyond sqrt(hyperbolic / linear), rounded up, is faster than all the smaller ones.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Self

from pydantic import Field, model_validator

from dlsched.core.instance import NonNegative, Positive
from dlsched.core.messages import Refused
from dlsched.core.part import Part


class SpeedLaw(Part):
    """Seconds per epoch as a function of the number of GPUs; immutable.

    Parameters
    ----------
    theta
        Four coefficients >= 0: seconds per sample, seconds per further GPU, seconds per byte, seconds per epoch.
    samples
        Samples of one epoch, > 0.
    model_bytes
        Bytes that one epoch's model term counts, >= 0.

    Raises
    ------
    InstanceError
        A coefficient is negative or not finite, or the time on one GPU is not positive.

    Source: the resource model for ring all-reduce jobs of Capes et al. 2018, arXiv 1908.08082 (abstract read only; the
    four terms are our reconstruction: compute, per-GPU overhead, transfer, and what does not depend on w).

    >>> SpeedLaw(theta=(0.001, 0.5, 0.0, 1.0), samples=50_000, model_bytes=1e8).epoch_time_s(10)
    10.5
    """

    theta: Annotated[tuple[NonNegative, NonNegative, NonNegative, NonNegative], Field(strict=False)]
    samples: Positive
    model_bytes: NonNegative

    if TYPE_CHECKING:

        def __init__(self, *, theta: Sequence[float], samples: float, model_bytes: float) -> None: ...

    @model_validator(mode="after")
    def _positive_times(self) -> Self:
        if not self.epoch_time_s(1) > 0 or not math.isfinite(self.epoch_time_s(1)):
            raise Refused("a law with no positive, finite time on one GPU", "theta with tau(1) > 0", "theta")
        return self

    def epoch_time_s(self, gpus: int) -> float:
        """Seconds per epoch on ``gpus`` >= 1 GPUs, in floating point."""
        theta0, theta1, theta2, theta3 = self.theta
        sent = (gpus - 1) / gpus * self.model_bytes
        return theta0 * self.samples / gpus + theta1 * (gpus - 1) + theta2 * sent + theta3

    def exact_epoch_time_s(self, gpus: int) -> Fraction:
        """Seconds per epoch on ``gpus`` GPUs, in rational arithmetic on the law's floats."""
        theta0, theta1, theta2, theta3 = map(Fraction, self.theta)
        samples, model_bytes = Fraction(self.samples), Fraction(self.model_bytes)
        return theta0 * samples / gpus + theta1 * (gpus - 1) + theta2 * (gpus - 1) * model_bytes / gpus + theta3

    def largest_useful_count(self, most: int) -> int:
        """Return the smallest count in 1 .. ``most`` that no larger one beats; it dominates those above it."""
        theta0, linear, theta2, _ = map(Fraction, self.theta)
        hyperbolic = theta0 * Fraction(self.samples) - theta2 * Fraction(self.model_bytes)
        return smallest_minimiser(hyperbolic, linear, most)

    def least_area_counts(self, most: int) -> tuple[int, ...]:
        """Return counts in 1 .. ``most`` among which w tau(w) is least.

        w tau(w) = hyperbolic + constant w + linear w^2 is convex: its least integer point is one of the two around
        -constant / (2 linear), or an end. A negative constant has linear > 0.
        """
        _, linear, theta2, theta3 = map(Fraction, self.theta)
        constant = theta2 * Fraction(self.model_bytes) + theta3 - linear
        if constant >= 0:
            return (1,)
        lowest = math.floor(-constant / (2 * linear))
        return tuple({min(most, max(1, count)) for count in (lowest, lowest + 1)})


def smallest_minimiser(hyperbolic: Fraction, linear: Fraction, most: int) -> int:
    """Smallest integer w in 1 .. ``most`` that minimises hyperbolic / w + linear w, exactly.

    Going from w to w + 1 saves hyperbolic / (w (w + 1)) - linear, which falls with w where hyperbolic > 0: the answer
    is the first w with w (w + 1) >= hyperbolic / linear. With hyperbolic <= 0 every further unit costs.

    >>> smallest_minimiser(Fraction(100), Fraction(1), 64)
    10
    """
    if hyperbolic <= 0:
        return 1
    if linear <= 0:
        return most
    ratio = math.ceil(hyperbolic / linear)
    # The answer w lies between ratio^0.5 - 1 and ratio^0.5 + 1: four candidates are more than enough.
    below = max(1, math.isqrt(ratio) - 1)
    return min(most, next(w for w in range(below, below + 4) if w * (w + 1) >= ratio))
