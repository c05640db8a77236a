"""The core of a knapsack: pairs that may improve on a base, and the incumbent among their choices; see ``knapsack``."""

import math
from dataclasses import dataclass

import numpy as np

from dlsched.allocation.cost_table import CostTable
from dlsched.allocation.lattice import least_excess, whole_changes
from dlsched.allocation.reduction import least_and_room
from dlsched.core.arrays import FloatArray, IntArray

_ROUNDING = 1e-13  # share of the largest term of a regret; better choices by less are not searched for


@dataclass(slots=True, eq=False)
class Core:
    """Pairs that may improve on the base, and the incumbent choice."""

    base: IntArray
    chosen: IntArray
    price: float
    slack: int
    best: float  # excess of the chosen pairs
    gain: float  # a better choice is better by at least ``gain``, or by no more than rounding
    floor: float  # lower bound on the excess of every choice not yet searched
    period: float  # excesses above the floor differ by multiples of it if the capacity is used up; inf: unknown
    jobs: IntArray  # jobs of the pairs below, ascending
    pairs: IntArray
    shifts: IntArray
    regrets: FloatArray

    @classmethod
    def around(
        cls,
        table: CostTable,
        capacity: int,
        price: float,
        base: IntArray,
        chosen: IntArray,
        best: float,
        near: tuple[IntArray, IntArray],
    ) -> "Core":
        """Select the pairs, except the base, of a regret below the excess ``best`` of ``chosen``, unless they are too dear.

        ``near``: pairs that include all of these, and their jobs.
        """
        slack = capacity - int(table.counts[base].sum())
        pairs, jobs = near
        least, most = least_and_room(table, chosen)
        dearer = table.costs[pairs] - table.costs[base[jobs]]
        larger = price * (table.counts[pairs] - table.counts[base[jobs]])
        # Pairs that no better choice can contain go first: too dear in cost, then too large in regret.
        keep = (table.costs[pairs] - least[jobs] <= most) | (pairs == base[jobs]) | (pairs == chosen[jobs])
        keep &= dearer + larger < best
        pairs, jobs, dearer, larger = pairs[keep], jobs[keep], dearer[keep], larger[keep]
        values = dearer + larger
        noise = _ROUNDING * float((np.abs(dearer) + np.abs(larger)).max(initial=0.0))
        other = pairs != base[jobs]
        pairs, jobs, values = pairs[other], jobs[other], values[other]
        moved = np.flatnonzero(chosen != base)  # the incumbent has to be on the grid of the better choices
        every, bases = np.concatenate((pairs, chosen[moved])), np.concatenate((base[jobs], base[moved]))
        changes = whole_changes(table.counts[every] - table.counts[bases], table.costs[every], table.costs[bases])
        gain, floor, period = noise, 0.0, math.inf
        if changes is not None:
            gain = max(noise, float(changes.grain * changes.unit) - noise)
            floor, period = least_excess(changes, price, slack, noise)
        shifts = table.counts[pairs] - table.counts[base[jobs]]
        regrets = np.maximum(values, 0.0)
        return cls(base, chosen, price, slack, best, gain, floor, period, jobs, pairs, shifts, regrets)

    def may_improve(self, threshold: float) -> bool:
        """Whether a better choice may exist, given that none is without a regret above the threshold."""
        return self.best - self.gain > max(threshold, self.floor)

    def next_threshold(self, threshold: float, more: int) -> float:
        """Return a threshold that admits about ``more`` further pairs, at most the best excess."""
        above = self.regrets[self.regrets > threshold]
        if len(above) <= more:
            return self.best
        return min(self.best, float(np.partition(above, more)[more]))

    def sketch(self, keep: IntArray, size: int, seed: int) -> IntArray:
        """At most ``size`` of these pairs, ascending: the few of least regret of many jobs, ties drawn by lot.

        Regrets up to a quarter of the floor count as ties: no sum of the least regrets attains the floor.
        """
        lot = np.random.default_rng(seed).random(len(keep))
        # Two sorts: by regret, then stably by job, so that ``rank`` numbers each job's pairs from its least regret on.
        regrets = np.maximum(self.regrets[keep], self.floor / 4)
        order = np.lexsort((lot, regrets))
        order = order[np.argsort(self.jobs[keep][order], kind="stable")]
        ordered = self.jobs[keep][order]
        rank = np.arange(len(order)) - np.searchsorted(ordered, ordered)
        few = order[rank < max(2, size // len(np.unique(ordered)))]
        return np.sort(keep[few[np.lexsort((lot[few], regrets[few]))][:size]])

    def needed(self, threshold: float, excess: float) -> IntArray:
        """Positions of the pairs for choices up to that excess, ascending: regret <= threshold, among the K least of a shift."""
        keep = np.flatnonzero(self.regrets <= threshold)
        if not len(keep):
            return keep
        shifts = self.shifts[keep]
        up, down = max(0, int(shifts.max())), max(0, -int(shifts.min()))
        # K of step 4 in ``knapsack``.
        most = up + down - 1 + max(self.slack + down, up + int(min(excess / self.price, float(self.slack + down + up))))
        if most >= len(keep):
            return keep
        order = np.lexsort((self.regrets[keep], shifts))
        ordered = shifts[order]
        rank = np.arange(len(order)) - np.searchsorted(ordered, ordered)
        return np.sort(keep[order[rank < most]])
