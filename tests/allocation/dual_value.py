"""The Lagrangian bound of a price, in floating point."""

import numpy as np

from dlsched.allocation.cost_table import CostTable


def dual_value(table: CostTable, capacity: int, price: float) -> float:
    """L(price) = sum_j min_w (cost_j(w) + price w) - price C."""
    return float(np.minimum.reduceat(table.costs + price * table.counts, table.first).sum()) - price * capacity
