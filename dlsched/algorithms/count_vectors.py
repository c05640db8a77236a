"""Vectors of counts, within a stock or a budget: how many, all of them, by rank, at random; and the cheapest choice of some.

*Within a stock*: c with 0 <= c_g <= s_g and ``least`` <= sum_g c_g <= ``most``. One vector for every group, at least total cost
within the stock of each resource, by dynamic programming over the units u taken of each resource:

    f_0(0) = 0,  f_i(u) = min over the vectors c <= u of group i of f_{i-1}(u - c) + cost_i(c);  the optimum is min_u f_S(u).

Cost: O(sum_i N_i prod_g (s_g + 1)) additions for N_i vectors of group i, all states of one vector at once; memory 8 bytes for
each state and group, from which the choice is read back.

*Within a budget*: sizes n with least_i <= n_i <= most_i and sum_i n_i <= b. Let F_i(b) be the number of ways to give the entries
i .. S at most b:

    F_{S+1}(b) = 1,   F_i(b) = sum_{n = least_i}^{min(most_i, b)} F_{i+1}(b - n),   and there are F_1(b) vectors.

*Random draws*: let the best part of all that can be drawn have probability q. N independent draws all miss it with
probability (1 - q)^N, at most delta from N = ln(delta) / ln(1 - q) on. Draws that take turns between two laws miss it at most
as often as draws from their mean, since (1 - q_1)(1 - q_2) <= (1 - (q_1 + q_2) / 2)^2.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from dlsched.core.elementary import log, log1p
from dlsched.core.errors import UsageError
from dlsched.core.limits import Tick, no_tick

Counts = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


def number_of_vectors(stock: Counts, least: int, most: int) -> int:
    """Count the vectors without listing them; cost O(G most)."""
    ways = [1] + [0] * most
    for there in stock.tolist():
        sums = [0]
        for way in ways:
            sums.append(sums[-1] + way)
        ways = [sums[size + 1] - sums[max(0, size - there)] for size in range(most + 1)]
    return sum(ways[least:])


def all_vectors(stock: Counts, least: int, most: int) -> Counts:
    """List the vectors, shape (N, G), in lexicographic order."""
    after = np.append(np.cumsum(stock[::-1])[::-1][1:], 0)
    rows = np.zeros((1, 0), dtype=np.int64)
    size = np.zeros(1, dtype=np.int64)
    for there, to_come in zip(stock, after, strict=False):
        # An entry is at least what the later ones cannot make up for, so that every prefix can be completed.
        low = np.maximum(0, least - size - to_come)
        ways = np.maximum(np.minimum(there, most - size) - low + 1, 0)
        retained = np.repeat(np.arange(len(rows)), ways)
        added = run_lengths(ways) + low[retained]
        rows = np.column_stack((rows[retained], added))
        size = size[retained] + added
    return rows[size >= least]  # drops the empty vector if it is too small: then there are no types


def run_lengths(ways: Counts) -> Counts:
    """0, 1, ... ways - 1 for every entry, one after another: 0, 1, 0, 1, 2 for (2, 0, 3)."""
    ends = np.cumsum(ways)
    total = int(ends[-1]) if len(ends) else 0
    return np.arange(total) - np.repeat(ends - ways, ways)


def undominated(counts: Counts, costs: Floats) -> Counts:
    """Positions of the vectors that no other one beats, ascending; c is beaten if some c' <= c, c' != c, costs no more.

    ``counts`` (shape (N, G), no repetition) must hold, with two vectors, those between them; otherwise some beaten ones stay.
    With f(c) = min(cost(c), min_g f(c - e_g)), the least cost of any c' <= c, c is beaten if and only if some
    f(c - e_g) <= cost(c). Cost: O(N G) look-ups.
    """
    # Mixed radix: a vector is one integer, its neighbour c - e_g that integer less a power.
    radix = np.cumprod([1, *(counts.max(axis=0, initial=0) + 1).tolist()], dtype=object)[:-1]
    keys = counts.astype(object) @ radix
    least: dict[int, float] = {}
    retained = []
    for index in np.argsort(counts.sum(axis=1), kind="stable").tolist():
        key, cost = keys[index], float(costs[index])
        below = [
            least[key - step] for step, count in zip(radix, counts[index], strict=True) if count and key - step in least
        ]
        best = min(below, default=np.inf)
        least[key] = min(cost, best)
        if cost < best:
            retained.append(index)
    return np.array(sorted(retained), dtype=np.int64)


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

    ``groups``: vectors, shape (N, G), and costs, shape (N,), of each. ``tick`` is called before every vector. ``combine`` joins
    two costs and never falls in either: ``np.add``, or ``np.maximum`` (of costs >= 0).
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


Sizes = tuple[int, ...]
"""One vector."""

Table = list[list[int]]
"""F_i(b) by entry and budget, S + 1 rows of budget + 1 exact integers."""


def completions(least: Sequence[int], most: Sequence[int], budget: int) -> Table:
    """Return F_i(b) for all entries and budgets; cost O(S b) additions of integers of up to S log2 b bits."""
    rows = [[1] * (budget + 1)]
    for low, high in zip(reversed(least), reversed(most), strict=True):
        sums = [0, *accumulate(rows[-1])]
        ways = max(0, high - low + 1)
        rows.append([sums[max(0, b - low + 1)] - sums[max(0, b - low + 1 - ways)] for b in range(budget + 1)])
    return rows[::-1]


def compositions(least: Sequence[int], most: Sequence[int], budget: int) -> Iterator[Sizes]:
    """Yield every vector in lexicographic order; O(S) for each, since every prefix can be completed."""
    spare = budget - sum(least)
    if spare < 0 or any(low > high for low, high in zip(least, most, strict=True)):
        return
    sizes = list(least)
    while True:
        yield tuple(sizes)
        # Odometer: raise the last entry that the budget lets rise; all later ones return to their least.
        for index in range(len(sizes) - 1, -1, -1):
            spare += sizes[index] - least[index]
            if sizes[index] < most[index] and spare > sizes[index] - least[index]:
                sizes[index] += 1
                spare -= sizes[index] - least[index]
                break
            sizes[index] = least[index]
        else:
            return


def composition_at(least: Sequence[int], table: Table, rank: int) -> Sizes:
    """Return the vector of a lexicographic rank from 0, by the ``table`` of ``completions``; UsageError: none has this rank."""
    budget = len(table[0]) - 1
    if not 0 <= rank < table[0][budget]:
        raise UsageError(where="rank", found=rank, allowed=f"an integer from 0 to {table[0][budget] - 1}")
    sizes = []
    for size, after in zip(least, table[1:], strict=True):
        while rank >= after[budget - size]:
            rank -= after[budget - size]
            size += 1
        sizes.append(size)
        budget -= size
    return tuple(sizes)


def draws_needed(q: float, delta: float) -> int:
    """Return the least N with (1 - q)^N <= delta: 459 for .01 and .01; UsageError: one of them is not between 0 and 1."""
    for name, value in (("q", q), ("delta", delta)):
        if not 0 < value < 1:
            raise UsageError(where=name, found=value, allowed="a number between 0 and 1")
    return math.ceil(log(delta) / log1p(-q))


def draw_below(count: int, generator: "np.random.Generator") -> int:
    """Draw a number from 0 to count - 1, all exactly equally likely, by drawing bits until it is in range."""
    bits = (count - 1).bit_length()
    width = -(-bits // 8)
    while True:
        rank = int.from_bytes(generator.bytes(width), "little") >> (8 * width - bits)
        if rank < count:
            return rank
