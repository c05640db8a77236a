"""Vectors of sizes n with least_i <= n_i <= most_i and sum_i n_i <= b: counted, listed and found by rank.

Let F_i(b) be the number of ways to give the entries i .. S at most b:

    F_{S+1}(b) = 1,   F_i(b) = sum_{n = least_i}^{min(most_i, b)} F_{i+1}(b - n),   and there are F_1(b) vectors.
"""

from collections.abc import Iterator, Sequence
from itertools import accumulate

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
