"""Random numbers for generators: log-uniform over orders of magnitude, with four digits for short files."""

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np


def log_uniform(generator: "np.random.Generator", low: float, high: float) -> float:
    """Draw a number between ``low`` and ``high``, both > 0, whose logarithm is uniform."""
    import numpy as np  # imported here, since reading files does not need NumPy

    return float(np.exp(generator.uniform(np.log(low), np.log(high))))


def power_of_ten(generator: "np.random.Generator", low: float, high: float) -> float:
    """Draw a number between ``low`` and ``high``, both > 0, whose power of ten is uniform."""
    return float(10 ** float(generator.uniform(math.log10(low), math.log10(high))))


def whole(generator: "np.random.Generator", low: float, high: float) -> int:
    """Draw a whole number from ``low`` to ``high``, both whole and both included."""
    return int(generator.integers(int(low), int(high) + 1))


def four_digits(value: float) -> float:
    """Round to four significant digits.

    >>> four_digits(12345.6)
    12350.0
    """
    return float(f"{value:.4g}")
