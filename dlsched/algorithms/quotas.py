"""Quotas: the least units of every job with which its utility is at least v, and the largest v that prices of units allow."""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from dlsched.algorithms.utility_table import Floats, UtilityTable


class Quotas:
    """Quotas n_i(v) of jobs with utility tables: the least z with mu_i(z) >= v, or >= the job's top if less.

    mu_i is taken from ``upper``, which is never below the exact utility, and made non-decreasing: since the
    exact utility does not fall, an upper bound for more units is one for fewer units too. So every z with an
    exact utility >= v is at least n_i(v).

    ``tops``, shape (I,): utility of all units of a job.
    """

    def __init__(self, tables: Sequence[UtilityTable]) -> None:
        self._upper = [np.minimum.accumulate(table.upper[::-1])[::-1] for table in tables]
        self.tops: Floats = np.array([float(upper[-1]) for upper in self._upper])
        self._values = np.unique(np.concatenate(self._upper))

    def at(self, value: float) -> list[int]:
        """n_i(v) of every job."""
        tops = self.tops.tolist()
        return [int(np.searchsorted(upper, min(value, top))) for upper, top in zip(self._upper, tops, strict=True)]

    def largest(self, prices: Sequence[Fraction], supply: Fraction, most: float | None = None) -> float:
        """Return the largest utility v <= ``most`` of a job and units with sum_i prices_i n_i(v) <= supply.

        By default ``most`` is the least top. Prices and supply are >= 0; with v the least utility of no unit, all n_i are 0.
        """
        most = float(self.tops.min()) if most is None else most
        low, high = 0, int(np.searchsorted(self._values, most, side="right"))
        # Quotas change only at utilities of some table: bisection over these.
        while high - low > 1:
            middle = (low + high) // 2
            needed = sum(
                price * n for price, n in zip(prices, self.at(float(self._values[middle])), strict=True) if price
            )
            low, high = (middle, high) if needed <= supply else (low, middle)
        return float(self._values[low])
