"""Inference from a sample of instances: 95 % intervals, and paired comparison of two methods.

In paired comparisons ``first`` and ``second`` are figures, the smaller the better, one an instance and in the same order, None
if the method has no answer. A method without an answer loses to one that has one; if neither has one there is nothing to
compare.

Efron and Tibshirani, *An Introduction to the Bootstrap* (1993), chapters 13 and 14; Student, "The probable error of a mean",
Biometrika 6 (1908); Wilson, "Probable inference, the law of succession, and statistical inference", Journal of the American
Statistical Association 22 (1927); Wilcoxon, "Individual comparisons by ranking methods", Biometrics Bulletin 1 (1945); Pratt,
"Remarks on zeros and ties in the Wilcoxon signed rank procedures", Journal of the American Statistical Association 54 (1959);
Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of Statistics 6 (1979).
"""

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dlsched.core.gap import MEETING


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

    @property
    def sign(self) -> int:
        """1 if the whole interval lies above 0, -1 if below, else 0; 0 without an interval."""
        return 0 if self.low is None or self.high is None else (self.low > 0) - (self.high < 0)


CONFIDENCE = 0.95
FEWEST = 6  # least number of instances for bootstrap intervals and tests: fewer say too little about other instances
RESAMPLES = 999
CORRECTED_TO = 2_000
"""Largest number of values whose interval is corrected for bias and skewness, which takes n squared steps."""
DRAWS = 20_000_000  # number of values drawn for one interval: more than 20,000 values are resampled less often
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
    from scipy.stats import binomtest

    ends = binomtest(count, of).proportion_ci(CONFIDENCE, "wilson")
    return Estimate(count / of, float(ends.low), float(ends.high))


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


Figures = Sequence[float | None]

MOST_EXACT, MOST_PERMUTED = 50, 13
"""Largest numbers of instances with an exact distribution of signed ranks: without ties and zeros, and with them."""


@dataclass(frozen=True, slots=True)
class Tally:
    """Numbers of instances on which the first method is better, as good, worse."""

    wins: int
    ties: int
    losses: int

    @property
    def instances(self) -> int:
        """Instances on which at least one has an answer."""
        return self.wins + self.ties + self.losses


def tally(first: Figures, second: Figures) -> Tally:
    """Count wins, ties and losses of the first; figures that differ by a millionth, as a solver's rounding does, tie.

    >>> tally([1.0, 1.0, None, None], [2.0, 1.0000001, 1.0, None])
    Tally(wins=1, ties=1, losses=1)
    """
    signs = np.sign(signed_differences(first, second))
    return Tally(int(np.sum(signs < 0)), int(np.sum(signs == 0)), int(np.sum(signs > 0)))


def differences(first: Figures, second: Figures) -> list[float]:
    """Return first minus second, for the instances that both methods answered.

    >>> differences([1.5, None, 2.0], [1.0, 1.0, 3.0])
    [0.5, -1.0]
    """
    pairs = zip(first, second, strict=True)
    return [mine - other for mine, other in pairs if mine is not None and other is not None]


def signed_differences(first: Figures, second: Figures) -> list[float]:
    """Return differences to rank: 0 for a tie, infinite if one answer is missing, omitted if both are."""
    signed = []
    # A missing answer loses by an infinite difference; figures that meet within rounding tie.
    for mine, other in zip(first, second, strict=True):
        if mine is None and other is None:
            continue
        if mine is None or other is None:
            signed.append(np.inf if mine is None else -np.inf)
        else:
            tied = abs(mine - other) <= MEETING * max(abs(mine), abs(other))
            signed.append(0.0 if tied else mine - other)
    return signed


def signed_rank(first: Figures, second: Figures) -> float | None:
    """Two-sided p-value of Wilcoxon's signed-rank test of symmetry about 0; None if there is no test.

    Ties are ranked with the rest and then left out (Pratt). An instance that only one method answered counts
    as the largest difference, and several such instances as equal ones; differences that agree in nine
    digits are equal. The distribution is exact up to 50 instances without ties and zeros, and by all
    permutations of the signs up to 13 with them; else normal, with its correction for ties. There is no test
    if all tie, nor on fewer than 6 instances, for which the least p-value, 2 / 2^n, is above 5 %.

    >>> signed_rank([1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1.1, 1.2, 1.3, 1.4, 1.5, None])
    0.03125
    """
    signed = np.array([float(f"{each:.9g}") for each in signed_differences(first, second)])
    if len(signed) < FEWEST or not signed.any():
        return None
    finite = np.abs(signed[np.isfinite(signed)])
    beyond = 2 * finite.max(initial=0.0) + 1  # ranks depend on the order only
    from scipy import stats

    sizes = np.abs(signed)
    method: object = "asymptotic"
    if signed.all() and len(np.unique(sizes)) == len(sizes) <= MOST_EXACT:
        method = "exact"
    elif len(sizes) <= MOST_PERMUTED:
        method = stats.PermutationMethod(n_resamples=2**MOST_PERMUTED)  # as many or more are all of them, none drawn
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        test = stats.wilcoxon(np.clip(signed, -beyond, beyond), zero_method="pratt", method=method)
    return min(1.0, float(test.pvalue))


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Correct p-values of a family of tests so that the chance of any false rejection stays bounded; None stays None.

    The i-th smallest of m is multiplied by ``m + 1 - i``, and is no smaller than the one before it.

    >>> holm([0.01, None, 0.04, 0.03])
    [0.03, None, 0.06, 0.06]
    """
    order = sorted((p, index) for index, p in enumerate(p_values) if p is not None)
    corrected: list[float | None] = [None] * len(p_values)
    largest = 0.0
    # The least p-value is multiplied by the number of tests, the next by one less; none falls below the one before.
    for rank, (p, index) in enumerate(order):
        largest = max(largest, min(1.0, p * (len(order) - rank)))
        corrected[index] = largest
    return corrected
