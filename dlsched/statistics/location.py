"""Mean, median, percentile and worst value of a population, the worst with its index.

``values``: finite numbers, one an instance, in any order. Without values all functions return None.
"""

from collections.abc import Sequence

import numpy as np


def mean(values: Sequence[float]) -> float | None:
    """Arithmetic mean; None without values.

    >>> mean([1.0, 2.0, 6.0])
    3.0
    """
    return float(np.mean(values)) if len(values) else None


def median(values: Sequence[float]) -> float | None:
    """Middle value, or the mean of the two in the middle; None without values.

    >>> median([1.0, 6.0, 2.0]), median([1.0, 2.0])
    (2.0, 1.5)
    """
    return percentile(values, 50)


def percentile(values: Sequence[float], share: float) -> float | None:
    """Value that ``share`` per cent of the values do not exceed, interpolated linearly; None without values.

    Of n sorted values it is the one at index ``(n - 1) share / 100``, counted from 0: type 7 of Hyndman and Fan, "Sample
    quantiles in statistical packages", The American Statistician 50 (1996).

    >>> percentile([10.0, 20.0, 30.0], 75)
    25.0
    """
    return float(np.percentile(values, share)) if len(values) else None


def worst(values: Sequence[float]) -> tuple[int, float] | None:
    """Index and value of the largest, the first of equal ones; None without values.

    >>> worst([1.0, 3.0, 3.0])
    (1, 3.0)
    """
    if not len(values):
        return None
    index = int(np.argmax(values))
    return index, float(values[index])
