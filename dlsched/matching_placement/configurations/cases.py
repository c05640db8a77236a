"""Cases of the pricing problems (job, slowest bandwidth, number of workers) and their costs."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dlsched.matching_placement.arrays import Arrays, Counts, Floats

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Cases:
    """Jobs with the slowest bandwidth and the number of their workers; all of shape (N,)."""

    job: Counts
    level: Counts
    size: Counts
    ring: Floats

    def take(self, which: "Counts | Flags") -> "Cases":
        """Some of them."""
        return Cases(self.job[which], self.level[which], self.size[which], self.ring[which])


class CaseCosts:
    """Costs of cases at a rate: h(R) of ``pricing``, its slope, and the cheapest units."""

    def __init__(self, data: Arrays) -> None:
        self.data = data
        self.bandwidths = np.unique(data.bandwidth)
        self.fast = data.bandwidth >= self.bandwidths[:, None]  # types by bandwidth of a ring's slowest

    def units(self, cases: Cases, at: Floats, prices: Floats) -> tuple[Floats, Floats, Floats, Counts, Counts]:
        """Lambda at R0, p - lambda rho of all types (inf: not allowed), the rates, the types' order and how many are taken."""
        data = self.data
        slope = self._slope(cases, at)
        rates = data.rates[cases.job]
        allowed = self.fast[cases.level] & (rates > 0)
        linear = np.where(allowed, prices - slope[:, None] * rates, np.inf)
        order = np.argsort(linear, axis=1, kind="stable")
        stock = data.stock[order]
        taken = np.clip(cases.size[:, None] - (np.cumsum(stock, axis=1) - stock), 0, stock)
        return slope, linear, rates, order, taken

    def value(self, cases: Cases, rate: Floats) -> Floats:
        """h(R)."""
        data = self.data
        times = data.work[cases.job] / rate + cases.ring
        return data.costs.of(cases.job, times)

    def _slope(self, cases: Cases, rate: Floats) -> Floats:
        """-h'(R)."""
        data = self.data
        slopes: Floats = data.work[cases.job] / rate / rate
        return data.costs.sloped(slopes, cases.job, lambda: data.work[cases.job] / rate + cases.ring)
