"""One vector of counts for every group, at least total cost within the stock of each resource, by dynamic programming.

f_0(0) = 0,  f_i(u) = min over the vectors c <= u of group i of f_{i-1}(u - c) + cost_i(c);  the optimum is min_u f_S(u).

A state u is the number of units taken of each resource: prod_g (s_g + 1) of them. Cost:
O(sum_i N_i prod_g (s_g + 1)) additions for N_i vectors of group i, all states of one vector at once; memory 8 bytes for
each state and group, from which the choice is read back.
"""

import math
from collections.abc import Iterable

import numpy as np

from dlsched.algorithms.count_vectors import Counts, Floats
from dlsched.core.budget import Tick, no_tick


def number_of_states(stock: Counts) -> int:
    """prod_g (s_g + 1)."""
    return math.prod(int(there) + 1 for there in stock)


def cheapest_choice(
    stock: Counts,
    groups: Iterable[tuple[Counts, Floats]],
    *,
    tick: Tick = no_tick,
    combine: np.ufunc = np.add,
) -> list[Counts] | None:
    """Return the vector chosen for every group, or None if no choice keeps the stock s_g, shape (G,).

    ``groups``: vectors of each group, shape (N, G), and their costs, shape (N,), read one group after another. ``tick``
    is called before every vector and may raise to stop. ``combine`` joins two costs and never falls in either:
    ``np.add``, or ``np.maximum`` (of costs >= 0).
    """
    shape = tuple(int(there) + 1 for there in stock)
    least = np.full(shape, np.inf)
    least[(0,) * len(stock)] = 0.0
    layers: list[tuple[Floats, Counts, Floats]] = []
    for counts, costs in groups:
        following = np.full(shape, np.inf)
        for row, cost in zip(counts.tolist(), costs.tolist(), strict=True):
            tick()
            # All states at once: shifting the array by the vector pairs every state u with u - c.
            target = following[tuple(slice(count, None) for count in row)]
            source = least[tuple(slice(None, size - count) for size, count in zip(shape, row, strict=True))]
            np.minimum(target, combine(source, cost), out=target)
        layers.append((least, counts, costs))
        least = following
    best = np.unravel_index(int(np.argmin(least)), shape)
    if not np.isfinite(least[best]):
        return None
    state, chosen = np.array(best, dtype=np.int64), []
    for least, counts, costs in reversed(layers):
        before = state - counts
        fits = np.flatnonzero((before >= 0).all(axis=1))
        values = combine(least[tuple(before[fits].T)], costs[fits])
        chosen.append(counts[fits[int(np.argmin(values))]])
        state = state - chosen[-1]
    return chosen[::-1]
