"""Rows of arrays that belong together, and ways to divide units."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]


def alike(marked: npt.NDArray[np.bool_]) -> Iterator[tuple[Integers, Integers]]:
    """Yield every set of marked columns, with the rows that have exactly these columns marked, ascending.

    >>> [(columns.tolist(), rows.tolist()) for columns, rows in alike(np.array([[1, 0], [0, 1], [1, 0]], dtype=bool))]
    [([1], [1]), ([0], [0, 2])]
    """
    # Rows as 64-bit words, so that equal rows are found by comparing numbers.
    bits = np.packbits(marked, axis=1)
    words = np.zeros((len(bits), -(-bits.shape[1] // 8) * 8), dtype=np.uint8)
    words[:, : bits.shape[1]] = bits
    numbers = words.view(np.uint64)
    keys = numbers[:, 0] if numbers.shape[1] == 1 else numbers
    _, first, group = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(group.ravel(), kind="stable")
    counts = np.bincount(group.ravel())
    for row, rows in zip(first, np.split(order, np.cumsum(counts)[:-1]), strict=True):
        yield np.flatnonzero(marked[row]), rows


def divisions(options: Sequence[Iterable[int]], units: int, most: int) -> Integers | None:
    """All ways to give each job one of its counts or nothing, within the units; shape (ways, jobs); None if more than ``most``.

    >>> divisions([(1, 2), (2,)], 3, 9).tolist()
    [[0, 0], [0, 2], [1, 0], [1, 2], [2, 0]]
    """
    ways: list[tuple[tuple[int, ...], int]] = [((), units)]
    for counts in options:
        longer = (((*way, count), left - count) for way, left in ways for count in (0, *counts) if count <= left)
        ways = list(islice(longer, most + 1))
        if len(ways) > most:
            return None
    return np.array([way for way, _ in ways], dtype=np.int64)
