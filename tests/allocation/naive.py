"""Cost tables read pair by pair: the jobs' pairs, the Lagrangian bound of a price, and the best of all choices."""

import itertools

import numpy as np

from dlsched.allocation.cost_table import CostTable


def pairs_of(table: CostTable) -> list[range]:
    """Pairs of every job."""
    return [range(begin, end) for begin, end in itertools.pairwise(table.starts.tolist())]


def rows_of(table: CostTable) -> list[dict[int, float]]:
    """The dictionaries that the table was made of."""
    return [{int(table.counts[pair]): float(table.costs[pair]) for pair in pairs} for pairs in pairs_of(table)]


def dual_value(table: CostTable, capacity: int, price: float) -> float:
    """L(price) = sum_j min_w (cost_j(w) + price w) - price C, in floating point."""
    return float(np.minimum.reduceat(table.costs + price * table.counts, table.first).sum()) - price * capacity


def by_enumeration(table: CostTable, capacity: int) -> float | None:
    """Least total cost over all choices that fit, or None."""
    fitting = (c for c in itertools.product(*pairs_of(table)) if int(table.counts[list(c)].sum()) <= capacity)
    return min((table.total_cost(c) for c in fitting), default=None)
