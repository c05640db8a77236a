"""Types of NumPy arrays."""

from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
Numbers = IntArray | FloatArray | BoolArray
ScalarT = TypeVar("ScalarT", bound=np.generic)

_FEW, _SHORT = 64, 256  # up to so many terms, sums run from the first to the last; column by column for more rows


def dot(first: Numbers, second: Numbers) -> Any:
    """Return ``first @ second``, added up in an order that depends on the number of terms alone (BLAS differs by processor).

    >>> dot(np.array([[1, 2], [3, 4]]), np.array([10.0, 0.5])).tolist()
    [11.0, 32.0]
    """
    if second.ndim == 1 and not 0 < len(second) <= _FEW:
        return (first * second).sum(axis=-1)
    if second.ndim == 1 and (first.ndim == 1 or len(first) <= _SHORT):
        return np.cumsum(first * second, axis=-1)[..., -1]
    if second.ndim > 1 and not len(second):
        return np.zeros((*first.shape[:-1], *second.shape[1:]))
    times = np.multiply if second.ndim == 1 else np.multiply.outer
    total = times(first[..., 0], second[0])
    for term in range(1, len(second)):
        total += times(first[..., term], second[term])
    return total


def distinct(values: npt.NDArray[ScalarT]) -> npt.NDArray[ScalarT]:
    """Return the different values ascending, as ``numpy.unique``, which imports masked arrays: longer than a small solve."""
    ordered = np.sort(values, axis=None)
    return ordered[np.append(True, ordered[1:] != ordered[:-1])] if len(ordered) else ordered


def row_dots(first: Numbers, second: Numbers) -> FloatArray:
    """Return the product of each row of one matrix with the same row of another, shape (N,), added up in order."""
    if len(first) <= _SHORT or not first.shape[1]:
        return np.cumsum(np.pad(first * second, ((0, 0), (1, 0))), axis=1, dtype=np.float64)[:, -1]
    total: FloatArray = np.asarray(first[:, 0] * second[:, 0], dtype=np.float64)
    for column in range(1, first.shape[1]):
        total += first[:, column] * second[:, column]
    return total
