"""Vectors of sizes, and random draws of them.

Vectors of sizes n with least_i <= n_i <= most_i and sum_i n_i <= b: counted, listed and found by rank.

Let F_i(b) be the number of ways to give the entries i .. S at most b:

    F_{S+1}(b) = 1,   F_i(b) = sum_{n = least_i}^{min(most_i, b)} F_{i+1}(b - n),   and there are F_1(b) vectors.

Random draws: how many are enough to hit the best part, and an unbiased draw below any integer.

Let the best part of all that can be drawn have probability q under the law of the draws. N independent draws
all miss it with probability (1 - q)^N, which is at most delta from N = ln(delta) / ln(1 - q) on, and so from
N = ln(1 / delta) / q. Draws that take turns between two laws miss it at most as often as draws from their
mean, since (1 - q_1)(1 - q_2) <= (1 - (q_1 + q_2) / 2)^2.
"""

import math
from collections.abc import Iterator, Sequence
from itertools import accumulate

import numpy as np

from dlsched.core.elementary import log, log1p
from dlsched.core.errors import UsageError

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
    """Return the vector of a lexicographic rank from 0; ``table`` is that of ``completions``. Cost: O(S + b).

    ``UsageError``: no vector has this rank.
    """
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
    """Return the least N with (1 - q)^N <= delta.

    ``UsageError``: ``q`` or ``delta`` is not between 0 and 1.

    >>> draws_needed(0.01, 0.01)
    459
    """
    for name, value in (("q", q), ("delta", delta)):
        if not 0 < value < 1:
            raise UsageError(where=name, found=value, allowed="a number between 0 and 1")
    return math.ceil(log(delta) / log1p(-q))


def draw_below(count: int, generator: np.random.Generator) -> int:
    """Draw a number from 0 to count - 1, all exactly equally likely, by drawing bits until it is in range.

    >>> draw_below(10**40, np.random.default_rng(0)) < 10**40
    True
    """
    bits = (count - 1).bit_length()
    width = -(-bits // 8)
    while True:
        rank = int.from_bytes(generator.bytes(width), "little") >> (8 * width - bits)
        if rank < count:
            return rank
