"""Random numbers for generators: over orders of magnitude, with four digits for short files."""

from typing import TYPE_CHECKING

from dlsched.core.elementary import exp, log

if TYPE_CHECKING:
    import numpy as np


def log_uniform(generator: "np.random.Generator", low: float, high: float) -> float:
    """Draw a number between ``low`` and ``high``, both > 0, whose logarithm is uniform."""
    return exp(float(generator.uniform(log(low), log(high))))


def lognormal(generator: "np.random.Generator", sigma: float, mean: float = 0.0) -> float:
    """Draw a number whose natural logarithm is normal."""
    return exp(mean + sigma * float(generator.standard_normal()))


def whole(generator: "np.random.Generator", low: float, high: float) -> int:
    """Draw a whole number from ``low`` to ``high``, both whole and both included."""
    return int(generator.integers(int(low), int(high) + 1))


def four_digits(value: float) -> float:
    """Round to four significant digits.

    >>> four_digits(12345.6)
    12350.0
    """
    return float(f"{value:.4g}")
