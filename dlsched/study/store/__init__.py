"""The store of a study: its file, its tables, what is written into them, what is sealed, and how it is read."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dlsched.study.store.store import LARGEST_SOLUTION, Store

__all__ = ["LARGEST_SOLUTION", "Store"]


def __getattr__(name: str) -> object:
    """Import what is asked for: who needs a part of the store does without the others."""
    if name not in __all__:
        raise AttributeError(f"module 'dlsched.study.store' has no attribute {name!r}")
    value = getattr(import_module("dlsched.study.store.store"), name)
    globals()[name] = value
    return value
