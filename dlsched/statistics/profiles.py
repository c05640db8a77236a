"""Performance and data profiles: shares of instances solved within a factor of the best or within a budget.

======= ======================================================================
symbol  here
======= ======================================================================
tau     `performance_profile(...)[0]`, a factor of the best known objective
rho     `performance_profile(...)[1]`, the fraction of instances within tau
alpha   `data_profile(...)[0]`, a budget in units of an instance's size
d       `data_profile(...)[1]`, the fraction of instances solved within alpha
======= ======================================================================

Dolan and Moré, "Benchmarking optimization software with performance profiles", Mathematical Programming 91 (2002); Moré and
Wild, "Benchmarking derivative-free optimization algorithms", SIAM Journal on Optimization 20 (2009).
"""

from bisect import bisect_right
from collections.abc import Sequence

Steps = tuple[tuple[float, ...], tuple[float, ...]]


def performance_profile(ratios: Sequence[float | None]) -> Steps:
    """Return the steps of one method's profile: factors tau, and the fraction of instances within each.

    `ratios` has one entry an instance, None if the method has no answer. The first tau is always 1.
    ValueError: no entry.

    >>> performance_profile([1.0, 1.5, None, 1.5])
    ((1.0, 1.5), (0.25, 0.75))
    """
    return _steps(ratios, "ratios", 1.0)


def data_profile(costs: Sequence[float | None], sizes: Sequence[int]) -> Steps:
    """Return the steps of one method's data profile: budgets alpha, and the fraction of instances solved within each.

    `costs` has one entry an instance, what solving it took (evaluations, nodes, seconds), None if it was not
    solved; `sizes` has its number of variables n. A budget alpha allows alpha (n + 1). The first alpha is
    always 0.

    Raises
    ------
    ValueError
        There is no entry, not as many sizes as costs, or a size or cost below 0.

    >>> data_profile([6.0, None, 4.0, 9.0], [2, 2, 1, 2])
    ((0.0, 2.0, 3.0), (0.0, 0.5, 0.75))
    """
    if len(costs) != len(sizes):
        raise ValueError(f"sizes: found {len(sizes)}, allowed: as many as costs, {len(costs)}")
    if any(size < 0 for size in sizes) or any(cost is not None and cost < 0 for cost in costs):
        raise ValueError("costs and sizes: found a number below 0, allowed: numbers >= 0")
    pairs = zip(costs, sizes, strict=True)
    return _steps([None if cost is None else cost / (size + 1) for cost, size in pairs], "costs", 0.0)


def _steps(values: Sequence[float | None], name: str, start: float) -> Steps:
    if not values:
        raise ValueError(f"{name}: found none, allowed: one entry an instance, at least one")
    reached = sorted(max(value, start) for value in values if value is not None)
    ends = tuple(sorted({start, *reached}))
    return ends, tuple(bisect_right(reached, end) / len(values) for end in ends)
