"""Figures over a population of instances: pure functions of numbers, each with its definition and source."""

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
