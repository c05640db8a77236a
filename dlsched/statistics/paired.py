"""Paired comparison of two methods on the same instances: wins, differences, and tests of significance.

``first`` and ``second`` are figures, the smaller the better, one an instance and in the same order, None if
the method has no answer. A method without an answer loses to one that has one; if neither has one there is
nothing to compare.

Wilcoxon, "Individual comparisons by ranking methods", Biometrics Bulletin 1 (1945); Pratt, "Remarks on zeros and ties in the
Wilcoxon signed rank procedures", Journal of the American Statistical Association 54 (1959); Holm, "A simple sequentially
rejective multiple test procedure", Scandinavian Journal of Statistics 6 (1979).
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dlsched.core.tolerance import MEETING
from dlsched.statistics.intervals import FEWEST

Figures = Sequence[float | None]

MOST_EXACT, MOST_PERMUTED = 50, 13
"""Largest numbers of instances with an exact distribution of signed ranks: without ties and zeros, and with
them."""


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
    found = []
    for mine, other in zip(first, second, strict=True):
        if mine is None and other is None:
            continue
        if mine is None or other is None:
            found.append(np.inf if mine is None else -np.inf)
        else:
            tied = abs(mine - other) <= MEETING * max(abs(mine), abs(other))
            found.append(0.0 if tied else mine - other)
    return found


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
    found = np.array([float(f"{each:.9g}") for each in signed_differences(first, second)])
    if len(found) < FEWEST or not found.any():
        return None
    finite = np.abs(found[np.isfinite(found)])
    beyond = 2 * finite.max(initial=0.0) + 1  # ranks depend on the order only
    from scipy import stats

    sizes = np.abs(found)
    method: object = "asymptotic"
    if found.all() and len(np.unique(sizes)) == len(sizes) <= MOST_EXACT:
        method = "exact"
    elif len(sizes) <= MOST_PERMUTED:
        method = stats.PermutationMethod(n_resamples=2**MOST_PERMUTED)  # as many or more are all of them, none drawn
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        test = stats.wilcoxon(np.clip(found, -beyond, beyond), zero_method="pratt", method=method)
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
    for rank, (p, index) in enumerate(order):
        largest = max(largest, min(1.0, p * (len(order) - rank)))
        corrected[index] = largest
    return corrected
