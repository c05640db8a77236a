"""Figures over a population of instances: pure functions of numbers, each with its definition and source."""

from importlib import import_module
from typing import TYPE_CHECKING

from dlsched.statistics.samples import (
    data_profile,
    mean,
    median,
    par10,
    percentile,
    performance_profile,
    shifted_geometric_mean,
    worst,
)

if TYPE_CHECKING:
    from dlsched.statistics.inference import (
        Estimate,
        Tally,
        bootstrap_mean,
        differences,
        growth,
        holm,
        signed_differences,
        signed_rank,
        student_mean,
        tally,
        wilson_share,
    )

__all__ = [
    "Estimate",
    "Tally",
    "bootstrap_mean",
    "data_profile",
    "differences",
    "growth",
    "holm",
    "mean",
    "median",
    "par10",
    "percentile",
    "performance_profile",
    "shifted_geometric_mean",
    "signed_differences",
    "signed_rank",
    "student_mean",
    "tally",
    "wilson_share",
    "worst",
]


def __getattr__(name: str) -> object:
    """Import intervals and tests when they are first used: figures of an answer take none."""
    if name not in __all__:
        raise AttributeError(f"module 'dlsched.statistics' has no attribute {name!r}")
    return getattr(import_module("dlsched.statistics.inference"), name)
