"""The store of a study: its SQLite file, tables, writers, readers and verification."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dlsched.study.store.store import LARGEST_SOLUTION, Store

__all__ = ["LARGEST_SOLUTION", "Store"]


def __getattr__(name: str) -> object:
    """Import a name when it is first used, so that users of one part do not load the others."""
    if name not in __all__:
        raise AttributeError(f"module 'dlsched.study.store' has no attribute {name!r}")
    value = getattr(import_module("dlsched.study.store.store"), name)
    globals()[name] = value
    return value
