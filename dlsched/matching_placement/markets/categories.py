"""Categories: the vectors of how many workers each job gets, without saying which (``algorithms.compositions``).

A category is (n_1 .. n_S) with min_i <= n_i <= most_i and sum_i n_i <= K. Idle workers can be best, so the sizes need not
add up to K. Whether the types can serve a category is the market's question.
"""

from collections.abc import Iterator

import numpy as np

from dlsched.algorithms.compositions import Sizes, Table, completions, composition_at, compositions, draw_below
from dlsched.core.arrays import dot
from dlsched.core.elementary import exp, float_power
from dlsched.core.errors import UsageError
from dlsched.matching_placement.arrays import Arrays

_NOISE = 0.15  # of a guided draw: standard deviation of the logarithm of a share,
_STRAY = 0.1  # of a job's spot on the line, in its length,
_LIKING = 4  # power of how much better a job uses a type than others do,
_ASIDE = 0.25  # and part of the draws that set workers aside


def category_table(arrays: Arrays) -> Table:
    """Return the table of ``algorithms.compositions.completions``; cost O(S K) additions of integers of up to S log2 K bits."""
    return completions(arrays.least.tolist(), arrays.most.tolist(), int(arrays.stock.sum()))


def count_categories(arrays: Arrays) -> int:
    """Exact number of categories; cost of ``category_table``."""
    return category_table(arrays)[0][-1]


def categories(arrays: Arrays) -> Iterator[Sizes]:
    """Yield every category in lexicographic order; O(S) for each."""
    return compositions(arrays.least.tolist(), arrays.most.tolist(), int(arrays.stock.sum()))


def draw_category(arrays: Arrays, generator: np.random.Generator, table: Table) -> Sizes:
    """Draw a category, all equally likely, independently of the draws before; ``table`` is that of ``category_table``.

    Cost: O(S + K).

    Raises
    ------
    UsageError
        There is no category.
    """
    count = table[0][-1]
    if count == 0:
        raise UsageError("no category: the smallest sizes do not fit")
    return composition_at(arrays.least.tolist(), table, draw_below(count, generator))


def draw_guided(arrays: Arrays, generator: np.random.Generator) -> Sizes:
    """Draw a category near the square root rule, independently of the draws before; ours.

    On n workers of one type J_i = t + (w_i / rho - t) / n with t = 2 T_i D_i / r, so for given sum n_i the sum of times
    is least at n_i proportional to a_i = sqrt(w_i / rho - t), and at n_i = min_i where w_i / rho < t.

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
    allowed = arrays.rates > 0
    mean = dot(arrays.rates, arrays.stock) / (dot(allowed, arrays.stock))
    relative = arrays.rates / mean[:, None]
    speed = relative.sum(axis=0) / np.maximum(1, allowed.sum(axis=0))
    square = (arrays.work / mean)[:, None] - arrays.traffic[:, None] * (speed / arrays.bandwidth)
    pull = exp(_NOISE * generator.standard_normal(arrays.jobs))[:, None] * np.sqrt(np.maximum(0.0, square))
    order = generator.permutation(arrays.types)
    line, least = np.repeat(order, arrays.stock[order]), int(arrays.least.sum())
    middle = np.empty(arrays.types)
    middle[order] = np.cumsum(arrays.stock[order]) - arrays.stock[order] / 2
    liking = float_power(np.divide(relative, speed, out=np.zeros_like(relative), where=allowed), _LIKING) * arrays.stock
    stand = dot(liking, middle) / liking.sum(axis=1) + _STRAY * len(line) * generator.standard_normal(arrays.jobs)
    spare = len(line) - least
    if generator.random() < _ASIDE:
        spare = int(generator.integers(spare + 1))
        line = line[np.sort(generator.permutation(len(line))[: spare + least])]
    passed = np.append(0.0, np.cumsum(speed[line]))
    sizes, index, to_come = arrays.least.copy(), 0, np.ones(arrays.jobs, dtype=bool)
    for job in np.argsort(stand).tolist():
        together = float(pull[to_come, line[index]].sum())
        share = pull[job, line[index]] / together if together > 0 else 0.0
        goal = passed[index] + share * (passed[-1] - passed[index])
        end = min(int(np.searchsorted(passed, goal, side="right")) - 1, len(line) - 1)
        end += int(generator.random() * (passed[end + 1] - passed[end]) < goal - passed[end])
        low = int(arrays.least[job])
        sizes[job] = max(low, min(end - index, int(arrays.most[job]), low + spare))
        spare -= int(sizes[job]) - low
        index += int(sizes[job])
        to_come[job] = False
    return tuple(sizes.tolist())
