"""Jobs in order of release, and the stable sort of floats that it needs."""

import numpy as np

from dlsched.core.arrays import FloatArray, IntArray


def in_release_order(releases: FloatArray, sizes: FloatArray) -> tuple[IntArray, FloatArray, FloatArray]:
    """Jobs in order of release (ties by index), their releases and sizes, copied; all of shape (J,).

    ValueError: a shape is not (J,), a number is not finite, or a size is below 0.
    """
    releases, sizes = np.asarray(releases, dtype=float), np.asarray(sizes, dtype=float)
    if releases.ndim != 1 or releases.shape != sizes.shape:
        raise ValueError(f"releases of shape {releases.shape} and sizes of shape {sizes.shape}")
    if not np.isfinite(releases).all():
        raise ValueError("a release is not finite")
    if not (np.isfinite(sizes).all() and (sizes >= 0).all()):
        raise ValueError("sizes must be finite and >= 0")
    order, ordered = sorted_stably(releases)
    return order, ordered, sizes[order]


def sorted_stably(numbers: FloatArray) -> tuple[IntArray, FloatArray]:
    """``argsort(kind="stable")`` of finite floats, shape (N,), by two sorts that are faster, and the floats in this order.

    Equal numbers get one rank and are sorted by index within it. Cost: O(N log N).

    >>> [column.tolist() for column in sorted_stably(np.array([2.0, 1.0, 2.0, 1.0]))]
    [[1, 3, 0, 2], [1.0, 1.0, 2.0, 2.0]]
    """
    order = np.argsort(numbers)
    ordered = numbers[order]
    rises = ordered[1:] > ordered[:-1]
    if not rises.all():
        # rank * N + index: one sort of integers orders by number, then by index.
        ranks = len(numbers) * np.concatenate(([0], np.cumsum(rises)))
        order = np.sort(ranks + order) - ranks
        ordered = numbers[order]  # zeros of both signs are equal
    return order, ordered
