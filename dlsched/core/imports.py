"""What a failed import says: which package is not installed, or which cannot be loaded and why."""

import contextlib
import importlib.util
import os
import sys
from collections.abc import Iterator

from dlsched.core.errors import DlschedError, SolverMissingError

_DISTRIBUTIONS = {"sklearn": "scikit-learn"}
"""What pip calls packages that it does not call by their own names."""

_EXCLUDE = ({"ortools": "OR-Tools", "highspy": "highspy"},)
"""Packages that one process cannot load together: both bring a HiGHS, and each finds the other's symbols. Whichever comes
second fails (OR-Tools 9.14 and 9.15, highspy 1.15)."""


def import_failure(error: ImportError) -> ImportError:
    """Make of a failed import of another package an error that says what is true; one of dlsched's own is a defect.

    A package is *not here* when it cannot be found, *not whole* when one of its modules cannot, and everything else is shown
    with its cause.
    """
    package = _package(error)
    if isinstance(error, SolverMissingError) or package in ("", "dlsched"):
        return error
    return SolverMissingError(_said(package, error))


@contextlib.contextmanager
def needing(what: str, extra: str, kind: type[DlschedError] = SolverMissingError) -> Iterator[None]:
    """Import what an extra of dlsched brings, in the block.

    Parameters
    ----------
    what
        Begins the message: ``plots need Matplotlib``.
    extra
        Its name, as in ``dlsched[plots]``.
    kind
        The error that is raised.

    Raises
    ------
    DlschedError
        A package is not installed, or cannot be loaded; the message says which of the two, and why.
    """
    try:
        yield
    except ImportError as error:
        absent = is_absent(error)
        said = f"pip install 'dlsched[{extra}]'" if absent else _said(_package(error), error)
        raise kind(f"{what}: {said}") from None


def is_absent(error: ImportError) -> bool:
    """Whether an import failed because the package is not installed, and not because it, or a part of it, is broken."""
    return isinstance(error, ModuleNotFoundError) and importlib.util.find_spec(_package(error)) is None


def cause(error: ImportError) -> str:
    """Return what an import said, in a line."""
    return " ".join(str(error).split())


def _said(package: str, error: ImportError) -> str:
    if is_absent(error):
        return f"package {package} is not here: pip install {_DISTRIBUTIONS.get(package, package)}"
    if isinstance(error, ModuleNotFoundError):
        named = _DISTRIBUTIONS.get(package, package)
        return f"package {package} is here but not whole ({cause(error)}): pip install {named} --force-reinstall"
    return _clash(package, error) or f"package {package} is here but cannot be loaded: {cause(error)}"


def _clash(package: str, error: ImportError) -> str:
    """What to do about two packages that exclude each other, where that is what went wrong; else nothing."""
    if "undefined symbol" not in str(error) and "ymbol not found" not in str(error):  # of Linux, of macOS
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
    """Name the package that could not be imported: by the file that could not be loaded, else by the module.

    An extension says its own name without that of its package: ``cp_model_helper``, in ``ortools/sat/python``.
    """
    within = [folder for folder in sys.path if folder and (error.path or "").startswith(folder.rstrip(os.sep) + os.sep)]
    if error.path and within:  # a folder of packages may lie in another
        return os.path.relpath(error.path, max(within, key=len)).split(os.sep)[0].partition(".")[0]
    return (error.name or "").partition(".")[0]
