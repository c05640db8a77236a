"""Vectors of counts c with 0 <= c_g <= s_g and ``least`` <= sum_g c_g <= ``most``: how many there are, and all of them."""

import numpy as np
import numpy.typing as npt

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
        kept = np.repeat(np.arange(len(rows)), ways)
        added = run_lengths(ways) + low[kept]
        rows = np.column_stack((rows[kept], added))
        size = size[kept] + added
    return rows[size >= least]  # drops the empty vector if it is too small: then there are no types


def run_lengths(ways: Counts) -> Counts:
    """0, 1, ... ways - 1 for every entry, one after another.

    >>> run_lengths(np.array([2, 0, 3])).tolist()
    [0, 1, 0, 1, 2]
    """
    ends = np.cumsum(ways)
    total = int(ends[-1]) if len(ends) else 0
    return np.arange(total) - np.repeat(ends - ways, ways)


def undominated(counts: Counts, costs: Floats) -> Counts:
    """Positions of the vectors that no other one beats, ascending.

    c is beaten if some c' <= c in every entry, c' != c, costs no more. ``counts`` (shape (N, G), no repetition) must hold,
    with two vectors, those between them, as all vectors do; otherwise some that are beaten stay. With
    f(c) = min(cost(c), min_g f(c - e_g)), the least cost of any c' <= c, c is beaten if and only if some
    f(c - e_g) <= cost(c). Every beaten vector is beaten by an unbeaten one: go on to what beats it, its sum
    falls. Cost: O(N G) look-ups.
    """
    # Mixed radix: a vector is one integer, its neighbour c - e_g that integer less a power.
    radix = np.cumprod([1, *(counts.max(axis=0, initial=0) + 1).tolist()], dtype=object)[:-1]
    keys = counts.astype(object) @ radix
    least: dict[int, float] = {}
    kept = []
    for index in np.argsort(counts.sum(axis=1), kind="stable").tolist():
        key, cost = keys[index], float(costs[index])
        below = [
            least[key - step] for step, count in zip(radix, counts[index], strict=True) if count and key - step in least
        ]
        best = min(below, default=np.inf)
        least[key] = min(cost, best)
        if cost < best:
            kept.append(index)
    return np.array(sorted(kept), dtype=np.int64)
