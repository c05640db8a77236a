"""Every configuration of a job: the vectors of how many workers of each type it may get."""

import math

import numpy as np

from dlsched.matching_placement.arrays import Arrays, Counts


def count_configurations(arrays: Arrays, job: int) -> int:
    """Number of configurations of a job, without listing them; cost O(G max_i)."""
    most = int(arrays.most[job])
    ways = [1] + [0] * most
    for kind in arrays.able(job).tolist():
        stock = int(arrays.stock[kind])
        sums = [0]
        for way in ways:
            sums.append(sums[-1] + way)
        ways = [sums[size + 1] - sums[max(0, size - stock)] for size in range(most + 1)]
    return sum(ways[int(arrays.least[job]) :])


def configurations(arrays: Arrays, job: int) -> Counts:
    """List the configurations of a job, shape (N, G), in lexicographic order."""
    most, least = int(arrays.most[job]), int(arrays.least[job])
    able = arrays.able(job)
    after = np.append(np.cumsum(arrays.stock[able][::-1])[::-1][1:], 0)
    rows = np.zeros((1, 0), dtype=np.int64)
    size = np.zeros(1, dtype=np.int64)
    for place, kind in enumerate(able):
        low = np.maximum(0, least - size - after[place])
        ways = np.minimum(arrays.stock[kind], most - size) - low + 1
        kept = np.repeat(np.arange(len(rows)), np.maximum(ways, 0))
        added = run_lengths(np.maximum(ways, 0)) + low[kept]
        rows = np.column_stack((rows[kept], added))
        size = size[kept] + added
    rows = rows[size >= least]  # nobody is able, or too few are
    counts = np.zeros((len(rows), arrays.types), dtype=np.int64)
    counts[:, able] = rows
    return counts


def run_lengths(ways: Counts) -> Counts:
    """0, 1, ... ways - 1 for every entry, one after another.

    >>> run_lengths(np.array([2, 0, 3])).tolist()
    [0, 1, 0, 1, 2]
    """
    ends = np.cumsum(ways)
    total = int(ends[-1]) if len(ends) else 0
    return np.arange(total) - np.repeat(ends - ways, ways)


def state_count(arrays: Arrays) -> int:
    """Number of vectors of workers left of each type, prod_g (s_g + 1)."""
    return math.prod(int(stock) + 1 for stock in arrays.stock)
