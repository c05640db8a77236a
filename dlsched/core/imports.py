"""Imports of other packages: what a failed one means, and Numba, which compiles loops where it is installed.

A loop is one function for Numba and for Python, so both do the same operations on the same floats and give the same bits.
Numba is asked for no fast mathematics. Callers decide from which size on compiling pays.
"""

import contextlib
import hashlib
import importlib.util
import os
import sys
import warnings
from bisect import bisect_left, insort
from collections.abc import Callable, Iterator
from functools import cache
from types import CodeType, FunctionType
from typing import TypeVar

from dlsched.core.errors import DlschedError, SolverMissingError

_DISTRIBUTIONS = {"sklearn": "scikit-learn"}
"""Names that pip uses for packages whose import names differ."""

_EXCLUDE = ({"ortools": "OR-Tools", "highspy": "highspy"},)
"""Packages that one process cannot load together: both bring a HiGHS, and each finds the other's symbols.
The one that is loaded second fails (OR-Tools 9.14 and 9.15, highspy 1.15)."""


def import_failure(error: ImportError) -> ImportError:
    """Turn another package's failed import into an error that says whether it, or a module of it, is missing or broken."""
    package = _package(error)
    if isinstance(error, SolverMissingError) or package in ("", "dlsched"):
        return error
    return SolverMissingError(_said(package, error))


@contextlib.contextmanager
def needing(what: str, extra: str, kind: type[DlschedError] = SolverMissingError) -> Iterator[None]:
    """Turn failed imports within the block into an error that begins with ``what`` and says why, or which extra to install."""
    try:
        yield
    except ImportError as error:
        absent = is_absent(error)
        advice = f"pip install 'dlsched[{extra}]'" if absent else _said(_package(error), error)
        raise kind(f"{what}: {advice}") from None


def is_absent(error: ImportError) -> bool:
    """Whether an import failed because the package is not installed, rather than broken."""
    return isinstance(error, ModuleNotFoundError) and importlib.util.find_spec(_package(error)) is None


def cause(error: ImportError) -> str:
    """Return the message of a failed import on one line."""
    return " ".join(str(error).split())


def _said(package: str, error: ImportError) -> str:
    if is_absent(error):
        return f"package {package} is not here: pip install {_DISTRIBUTIONS.get(package, package)}"
    if isinstance(error, ModuleNotFoundError):
        named = _DISTRIBUTIONS.get(package, package)
        return f"package {package} is here but not whole ({cause(error)}): pip install {named} --force-reinstall"
    return _clash(package, error) or f"package {package} is here but cannot be loaded: {cause(error)}"


def _clash(package: str, error: ImportError) -> str:
    """Advice for two packages that exclude each other, if that caused the failure; else empty."""
    if "undefined symbol" not in str(error) and "ymbol not found" not in str(error):  # Linux, macOS
        return ""
    for names in _EXCLUDE:
        others = [other for other in names if other != package and other in sys.modules]
        if package in names and others:
            return (
                f"{names[package]} and {names[others[0]]} cannot be loaded into one process, in whichever order, and this one "
                f"has loaded {others[0]} already: run what needs {package} in a process that does not import {others[0]} "
                f"(dlsched needs no highspy: its HiGHS is SciPy's). The import said: {cause(error)}"
            )
    return ""


def _package(error: ImportError) -> str:
    """Name the package that failed to import: by the file that could not be loaded, as extensions omit it, else the module."""
    within = [folder for folder in sys.path if folder and (error.path or "").startswith(folder.rstrip(os.sep) + os.sep)]
    if error.path and within:  # a folder of packages may lie in another
        return os.path.relpath(error.path, max(within, key=len)).split(os.sep)[0].partition(".")[0]
    return (error.name or "").partition(".")[0]


T = TypeVar("T")


def compiled(loop: Callable[..., T], *parts: Callable[..., object]) -> Callable[..., T] | None:
    """Return the loop compiled for its argument types, cached on disk where possible; None without Numba.

    A ``RuntimeWarning`` says why an installed Numba cannot be loaded. The loop may call its ``parts`` (plain functions that are
    compiled with it), functions that Numba knows, and ``bisect_left`` or ``insort`` on entries that all differ.
    """
    return _compiled(loop, *parts)


@cache
def _compiled(loop: Callable[..., T], *parts: Callable[..., object]) -> Callable[..., T] | None:
    try:
        from numba import njit
        from numba.extending import overload, register_jitable
    except ImportError as error:
        if not is_absent(error):  # for example: NumPy is newer than this Numba supports
            message = f"Numba is here but cannot be loaded, so loops are interpreted and slow: {cause(error)}"
            warnings.warn(message, RuntimeWarning, stacklevel=2)
        return None
    # What a loop calls is compiled with it; bisect_left and insort have the plain versions below.
    for part in (_bisect_left, *parts):
        register_jitable(part)
    overload(bisect_left, strict=False)(lambda entries, entry: _bisect_left)
    overload(insort, strict=False)(lambda entries, entry: _insort)
    machine_code: Callable[..., T]
    # Numba compiles again what it has in its cache if the file of the loop has changed, or its name, but not those of its parts.
    loop = FunctionType(loop.__code__, loop.__globals__, loop.__name__, loop.__defaults__)
    loop.__qualname__ = f"{loop.__name__}-{digest(loop, *parts)}"
    try:
        machine_code = njit(cache=True)(loop)
    except RuntimeError:  # Numba finds no folder that it may write its cache to
        machine_code = njit(loop)
    return machine_code


def digest(*functions: Callable[..., object]) -> str:
    """Hash of code, and of the constants that it finds in its modules: what Numba compiles, on this version of Python."""
    seen, codes = hashlib.sha256(), [(function.__code__, function.__globals__) for function in functions]
    for code, names in codes:
        codes.extend((each, names) for each in code.co_consts if isinstance(each, CodeType))
        constants = [each for each in code.co_consts if not isinstance(each, CodeType)]
        constants += [(name, names[name]) for name in code.co_names if isinstance(names.get(name), int | float | tuple)]
        seen.update(code.co_code + repr((code.co_names, code.co_varnames, constants)).encode())
    return seen.hexdigest()[:16]


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
