"""Loops that Numba compiles where it is installed (``pip install 'dlsched[fast]'``, 208 MB); without it they are interpreted.

A loop is one function for both, so both do the same operations on the same floats and give the same bits. Numba is asked
for no fast mathematics. Callers decide from which size on compiling pays.
"""

import warnings
from bisect import bisect_left, insort
from collections.abc import Callable
from functools import cache
from typing import TypeVar

from dlsched.core.imports import cause, is_absent

T = TypeVar("T")


def compiled(loop: Callable[..., T], *parts: Callable[..., object]) -> Callable[..., T] | None:
    """Return the loop compiled for its argument types, cached on disk where possible; None without Numba.

    Where Numba is installed but cannot be loaded, a ``RuntimeWarning`` says why.

    The loop may call its ``parts`` (plain functions that are compiled with it), functions that Numba knows,
    and ``bisect_left(entries, entry)`` or ``insort(entries, entry)`` on entries that all differ.
    """
    return _compiled(loop, *parts)


@cache
def _compiled(loop: Callable[..., T], *parts: Callable[..., object]) -> Callable[..., T] | None:
    try:
        from numba import njit
        from numba.extending import overload, register_jitable
    except ImportError as error:
        if not is_absent(error):  # for example: NumPy is newer than this Numba supports
            said = f"Numba is here but cannot be loaded, so loops are interpreted and slow: {cause(error)}"
            warnings.warn(said, RuntimeWarning, stacklevel=2)
        return None
    for part in (_bisect_left, *parts):
        register_jitable(part)
    overload(bisect_left, strict=False)(lambda entries, entry: _bisect_left)
    overload(insort, strict=False)(lambda entries, entry: _insort)
    made: Callable[..., T]
    try:
        made = njit(cache=True)(loop)
    except RuntimeError:  # Numba finds no folder that it may write its cache to
        made = njit(loop)
    return made


def _bisect_left(entries: list[T], entry: T) -> int:
    low, high = 0, len(entries)
    while low < high:
        middle = (low + high) // 2
        if entries[middle] < entry:  # type: ignore[operator]
            low = middle + 1
        else:
            high = middle
    return low


def _insort(entries: list[T], entry: T) -> None:
    entries.insert(_bisect_left(entries, entry), entry)
