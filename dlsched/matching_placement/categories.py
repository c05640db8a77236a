"""Categories: the vectors of how many workers each job gets, without saying which.

A category is (n_1 .. n_S) with min_i <= n_i <= most_i and sum_i n_i <= K. Idle workers can be best, so the sizes need not
add up to K. Whether the types can serve a category is the market's question. Let F_i(b) be the number of ways to give
the jobs i .. S at most b workers:

    F_{S+1}(b) = 1,   F_i(b) = sum_{n = min_i}^{min(most_i, b)} F_{i+1}(b - n),   and there are F_1(K) categories.
"""

from collections.abc import Iterator
from itertools import accumulate

import numpy as np

from dlsched.core.errors import UsageError
from dlsched.matching_placement.arrays import Arrays

Sizes = tuple[int, ...]
"""The numbers of workers of the jobs, in order of the file."""

Table = list[list[int]]
"""F_i(b) by job and budget, S + 1 rows of K + 1 exact integers."""

_NOISE = 0.15  # of a guided draw: standard deviation of the logarithm of a share,
_STRAY = 0.1  # of a job's place on the line, in its length,
_LIKING = 4  # power of how much better a job uses a type than others do,
_ASIDE = 0.25  # and part of the draws that set workers aside


def completions(arrays: Arrays) -> Table:
    """Return F_i(b) for all jobs and budgets; cost O(S K) additions of integers of up to S log2 K bits."""
    workers = int(arrays.stock.sum())
    rows = [[1] * (workers + 1)]
    for least, most in zip(arrays.least[::-1].tolist(), arrays.most[::-1].tolist(), strict=True):
        sums = [0, *accumulate(rows[-1])]
        ways = max(0, most - least + 1)
        rows.append([sums[max(0, b - least + 1)] - sums[max(0, b - least + 1 - ways)] for b in range(workers + 1)])
    return rows[::-1]


def count_categories(arrays: Arrays) -> int:
    """Exact number of categories; cost of ``completions``."""
    return completions(arrays)[0][-1]


def categories(arrays: Arrays) -> Iterator[Sizes]:
    """Yield every category in lexicographic order; O(S) for each, since no beginning is without an end."""
    least, most = arrays.least.tolist(), arrays.most.tolist()
    spare = int(arrays.stock.sum()) - sum(least)
    if spare < 0 or any(low > high for low, high in zip(least, most, strict=True)):
        return
    sizes = list(least)
    while True:
        yield tuple(sizes)
        for job in range(len(sizes) - 1, -1, -1):
            spare += sizes[job] - least[job]
            if sizes[job] < most[job] and spare > sizes[job] - least[job]:
                sizes[job] += 1
                spare -= sizes[job] - least[job]
                break
            sizes[job] = least[job]
        else:
            return


def category_at(arrays: Arrays, rank: int, *, table: Table | None = None) -> Sizes:
    """Return the category of a rank, counted from 0 in lexicographic order; cost O(S + K) beside the table.

    Parameters
    ----------
    rank
        0 .. count_categories - 1.
    table
        What ``completions`` returns, to make it once for many ranks.

    Raises
    ------
    UsageError
        There is no such rank.
    """
    table = completions(arrays) if table is None else table
    budget = len(table[0]) - 1
    if not 0 <= rank < table[0][budget]:
        raise UsageError(f"rank: found {rank}, allowed: an integer from 0 to {table[0][budget] - 1}")
    sizes = []
    for size, after in zip(arrays.least.tolist(), table[1:], strict=True):
        while rank >= after[budget - size]:
            rank -= after[budget - size]
            size += 1
        sizes.append(size)
        budget -= size
    return tuple(sizes)


def draw_category(arrays: Arrays, generator: np.random.Generator, *, table: Table | None = None) -> Sizes:
    """Draw a category, all equally likely, independently of the draws before; cost of ``category_at``.

    Raises
    ------
    UsageError
        There is no category.
    """
    table = completions(arrays) if table is None else table
    count = table[0][-1]
    if count == 0:
        raise UsageError("no category: the smallest sizes do not fit")
    return category_at(arrays, draw_below(count, generator), table=table)


def draw_below(count: int, generator: np.random.Generator) -> int:
    """Draw 0 .. count - 1, all exactly equally likely however large: as many bits as needed, again when out of range.

    >>> draw_below(10**40, np.random.default_rng(0)) < 10**40
    True
    """
    bits = (count - 1).bit_length()
    width = -(-bits // 8)
    while True:
        rank = int.from_bytes(generator.bytes(width), "little") >> (8 * width - bits)
        if rank < count:
            return rank


def draw_guided(arrays: Arrays, generator: np.random.Generator, table: Table | None = None) -> Sizes:
    """Draw a category near the square root rule, independently of the draws before; ours.

    On n workers of one type J_i = t + (w_i / rho - t) / n with t = 2 T_i D_i / r, so for given sum n_i the sum of times
    is least at n_i proportional to a_i = sqrt(w_i / rho - t), and at n_i = min_i where that is no number.

    1. Put the workers on a line, type after type in random order; in a quarter of the draws take out some at random, of
       which the number is drawn too.
    2. Order the jobs by the middle of the line, weighted by how much better than other jobs they use what stands there,
       and at random by a tenth of the line.
    3. In this order they take the next workers until they have their share of the speed that is left, in proportion to
       a_i e^(0.15 N(0, 1)) among the jobs to come: a_i^2 = w_i / rhobar_i - sigma_g 2 T_i D_i / r_g at the type g that
       is next, of speed sigma_g (the mean of rho_ig / rhobar_i over the jobs it can serve). The last worker is taken
       with the probability of the part needed; min_i, most_i and what the others need at least are kept.

    Cost: O(S G + K log K) beside the law's S sums over the jobs to come. Of an instance that is not infeasible.
    """
    del table
    allowed = arrays.rates > 0
    mean = arrays.rates @ arrays.stock / (allowed @ arrays.stock)
    relative = arrays.rates / mean[:, None]
    speed = relative.sum(axis=0) / np.maximum(1, allowed.sum(axis=0))
    square = (arrays.work / mean)[:, None] - arrays.traffic[:, None] * (speed / arrays.bandwidth)
    pull = np.exp(_NOISE * generator.standard_normal(arrays.jobs))[:, None] * np.sqrt(np.maximum(0.0, square))
    order = generator.permutation(arrays.types)
    line, least = np.repeat(order, arrays.stock[order]), int(arrays.least.sum())
    middle = np.empty(arrays.types)
    middle[order] = np.cumsum(arrays.stock[order]) - arrays.stock[order] / 2
    liking = np.divide(relative, speed, out=np.zeros_like(relative), where=allowed) ** _LIKING * arrays.stock
    stand = liking @ middle / liking.sum(axis=1) + _STRAY * len(line) * generator.standard_normal(arrays.jobs)
    spare = len(line) - least
    if generator.random() < _ASIDE:
        spare = int(generator.integers(spare + 1))
        line = line[np.sort(generator.permutation(len(line))[: spare + least])]
    passed = np.append(0.0, np.cumsum(speed[line]))
    sizes, place, to_come = arrays.least.copy(), 0, np.ones(arrays.jobs, dtype=bool)
    for job in np.argsort(stand).tolist():
        together = float(pull[to_come, line[place]].sum())
        share = pull[job, line[place]] / together if together > 0 else 0.0
        goal = passed[place] + share * (passed[-1] - passed[place])
        end = min(int(np.searchsorted(passed, goal, side="right")) - 1, len(line) - 1)
        end += int(generator.random() * (passed[end + 1] - passed[end]) < goal - passed[end])
        low = int(arrays.least[job])
        sizes[job] = max(low, min(end - place, int(arrays.most[job]), low + spare))
        spare -= int(sizes[job]) - low
        place += int(sizes[job])
        to_come[job] = False
    return tuple(sizes.tolist())
