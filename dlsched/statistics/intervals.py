"""Intervals of 95 % around a mean, a share and a slope.

Efron and Tibshirani, *An Introduction to the Bootstrap* (1993), chapters 13 and 14; Student, "The probable error of a mean",
Biometrika 6 (1908); Wilson, "Probable inference, the law of succession, and statistical inference", Journal of the American
Statistical Association 22 (1927).
"""

import math
import warnings
from collections.abc import Sequence

import numpy as np

from dlsched.statistics.estimate import Estimate

CONFIDENCE = 0.95
FEWEST = 6
"""Least number of instances for bootstrap intervals and tests: fewer say too little about other
instances."""
RESAMPLES = 999
CORRECTED_TO = 2_000
"""Largest number of values whose interval is corrected for bias and skewness, which takes n squared
steps."""
DRAWS = 20_000_000
"""Number of values drawn for one interval: more than 20,000 values are resampled less often."""
FEWEST_RESAMPLES = 199
_AT_ONCE = 1_000_000  # values drawn at once: 16 MB


def bootstrap_mean(values: Sequence[float], seed: int = 0) -> Estimate | None:
    """Mean of values, one an instance, with its bootstrap interval from 6 values on; None without values.

    The bootstrap draws the instances with replacement 999 times. Up to 2,000 values the interval is BCa
    (corrected for bias and skewness); for more it is the percentile interval, from which BCa then hardly
    differs. For more than 20,000 values it draws as many resamples as make 20 million draws, and at least
    199. Equal values give equal intervals; memory stays below 50 MB.

    Parameters
    ----------
    values
        Finite numbers.
    seed
        Of the draws.

    >>> bootstrap_mean([1.0] * 6)
    Estimate(value=1.0, low=1.0, high=1.0)
    >>> bootstrap_mean([1.0, 2.0])
    Estimate(value=1.5, low=None, high=None)
    """
    count = len(values)
    if not count:
        return None
    data = np.asarray(values, dtype=np.float64)
    value = float(data.mean())
    if count < FEWEST:
        return Estimate(value)
    if data.min() == data.max():
        return Estimate(float(data[0]), float(data[0]), float(data[0]))
    low, high = _ends(data, "BCa" if count <= CORRECTED_TO else "percentile", seed)
    if math.isnan(low) or math.isnan(high):  # the correction is not defined if nearly all values are equal
        low, high = _ends(data, "percentile", seed)
    return Estimate(value, min(low, value), max(high, value))


def _ends(data: "np.ndarray[tuple[int], np.dtype[np.float64]]", method: str, seed: int) -> tuple[float, float]:
    from scipy import stats

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", stats.DegenerateDataWarning)
        warnings.simplefilter("ignore", RuntimeWarning)
        ends = stats.bootstrap(
            (data,),
            np.mean,
            n_resamples=max(FEWEST_RESAMPLES, min(RESAMPLES, DRAWS // len(data))),
            batch=max(1, _AT_ONCE // len(data)),
            confidence_level=CONFIDENCE,
            method=method,
            rng=np.random.default_rng(seed),
        ).confidence_interval
    return float(ends.low), float(ends.high)


def student_mean(values: Sequence[float]) -> Estimate | None:
    """Mean of values with Student's t interval, from two values on; None without values.

    The interval is exact if the values are normal: means over many draws, repeated measurements. The ends
    are ``mean -+ t s / sqrt(n)``, s the deviation with n - 1 below, t the 97.5 % point with n - 1 degrees of
    freedom.

    >>> round(student_mean([1.0, 3.0]).high, 6)
    14.706205
    """
    if not len(values):
        return None
    value = float(np.mean(values))
    if len(values) == 1:
        return Estimate(value)
    from scipy.special import stdtrit

    reach = float(stdtrit(len(values) - 1, (1 + CONFIDENCE) / 2) * np.std(values, ddof=1) / math.sqrt(len(values)))
    return Estimate(value, value - reach, value + reach)


def wilson_share(count: int, of: int) -> Estimate | None:
    """Share ``count / of`` with Wilson's interval, which stays within 0 and 1; None if ``of`` is 0.

    Raises
    ------
    ValueError
        ``count`` is below 0 or above ``of``.

    >>> round(wilson_share(0, 10).high, 6)
    0.277533
    """
    if not 0 <= count <= of:
        raise ValueError(f"count: found {count}, allowed: 0 to {of}")
    if not of:
        return None
    from scipy.special import ndtri

    z2 = float(ndtri((1 + CONFIDENCE) / 2)) ** 2
    middle = (count + z2 / 2) / (of + z2)
    reach = math.sqrt(z2) / (of + z2) * math.sqrt(count * (of - count) / of + z2 / 4)
    low = 0.0 if count == 0 else middle - reach
    high = 1.0 if count == of else middle + reach
    return Estimate(count / of, low, high)


def growth(sizes: Sequence[float], values: Sequence[float]) -> Estimate | None:
    """Exponent b of ``values = a sizes^b``: slope of the line through their logarithms, with its interval.

    The fit is by least squares; the interval is Student's with n - 2 degrees of freedom, and missing for two
    points. The result is None if all sizes are equal.

    Raises
    ------
    ValueError
        Not as many sizes as values, or one that is not > 0.

    >>> growth([1.0, 2.0], [3.0, 12.0])
    Estimate(value=2.0, low=None, high=None)
    """
    if len(sizes) != len(values):
        raise ValueError(f"values: found {len(values)}, allowed: as many as sizes, {len(sizes)}")
    if any(not 0 < number < math.inf for number in (*sizes, *values)):
        raise ValueError("sizes and values: found a number that is not > 0 and finite, allowed: numbers > 0")
    if len(set(sizes)) < 2:
        return None
    from scipy import stats
    from scipy.special import stdtrit

    line = stats.linregress(np.log(sizes), np.log(values))
    slope = float(line.slope)
    if len(sizes) == 2:
        return Estimate(slope)
    reach = float(stdtrit(len(sizes) - 2, (1 + CONFIDENCE) / 2) * line.stderr)
    return Estimate(slope, slope - reach, slope + reach)
