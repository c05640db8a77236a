"""Estimates: a number with its 95 % interval."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure of a population, estimated from instances.

    Parameters
    ----------
    value
        The estimate.
    low, high
        Ends of the 95 % interval; None if there are too few instances for one.
    """

    value: float
    low: float | None = None
    high: float | None = None
