"""The price at which one pool serves jobs with utility tables: a fractional greedy along their envelopes."""

from collections.abc import Callable, Sequence

import numpy as np

from dlsched.algorithms.utility_table import UtilityTable
from dlsched.core.budget import Tick


def pool_price(
    tables: Sequence[UtilityTable],
    demand: Sequence[float],
    costs: Sequence[float],
    pool: Callable[[float], float],
    tick: Tick,
) -> float:
    """Find by bisection the least price at which the pool offers the units that are worth their price.

    Jobs are served along the concave envelopes of their utilities; a job's unit takes ``demand`` from the
    pool and costs ``costs`` besides. The amount that the pool offers does not fall when the price rises.
    """
    held = []
    for table, share, cost in zip(tables, demand, costs, strict=True):
        tick()
        if share and len(table.corners) > 1:
            slopes = (np.diff(table.values[table.corners]) / np.diff(table.corners) - cost) / share
            held.append((np.minimum.accumulate(slopes)[::-1], table.corners, share))

    def needed(price: float) -> float:
        return sum(
            share * float(corners[len(slopes) - int(np.searchsorted(slopes, price, side="right"))])
            for slopes, corners, share in held
        )

    if needed(0.0) <= pool(0.0):
        return 0.0
    # Bisection over the bits of floats ends at two neighbouring floats, after at most 64 steps.
    low, high = 0, _bits(max(float(slopes[-1]) for slopes, _, _ in held))
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if needed(_float(middle)) <= pool(_float(middle)) else (middle, high)
    return _float(high)


def _bits(value: float) -> int:
    """Rank of a float > 0 among all floats."""
    return int(np.float64(value).view(np.int64))


def _float(bits: int) -> float:
    return float(np.int64(bits).view(np.float64))
