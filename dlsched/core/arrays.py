"""Types of NumPy arrays."""

from typing import Any

import numpy as np
import numpy.typing as npt

BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]

_FEW = 64  # terms up to which a product of a matrix is added up column by column, which is faster


def dot(first: "npt.NDArray[Any]", second: "npt.NDArray[Any]") -> Any:
    """Return ``first @ second``, added up in an order that depends on the shapes alone.

    BLAS, which NumPy's own product calls for floats, adds in another order on another processor.

    >>> dot(np.array([[1, 2], [3, 4]]), np.array([10.0, 0.5])).tolist()
    [11.0, 32.0]
    """
    terms, kind = len(second), np.result_type(first, second)
    if second.ndim == 1 and (first.ndim == 1 or terms > _FEW):
        return (first * second).sum(axis=-1)
    total = np.zeros((*first.shape[:-1], *second.shape[1:]), dtype=kind)
    for term in range(terms):
        total += (
            first[..., term] * second[term] if second.ndim == 1 else np.multiply.outer(first[..., term], second[term])
        )
    return total


def row_dots(first: "npt.NDArray[Any]", second: "npt.NDArray[Any]") -> FloatArray:
    """Return the product of each row of one matrix with the same row of another, shape (N,), added up in order.

    >>> row_dots(np.array([[1, 2], [3, 4]]), np.array([[10.0, 0.5], [0.0, 1.0]])).tolist()
    [11.0, 4.0]
    """
    total = np.zeros(len(first))
    for column in range(first.shape[1]):
        total += first[:, column] * second[:, column]
    return total
