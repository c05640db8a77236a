"""Targets: ``module:name``, imported when it is asked for, so that records of what there is load nothing."""

from importlib import import_module
from typing import Any


def load(target: str) -> Any:
    """Import what a target names.

    >>> load("math:gcd")(6, 4)
    2
    """
    module, _, name = target.partition(":")
    return getattr(import_module(module), name)
