"""Figures over a population of instances: pure functions of numbers, each with its definition and source."""

from dlsched.statistics.estimate import Estimate
from dlsched.statistics.intervals import bootstrap_mean, growth, student_mean, wilson_share
from dlsched.statistics.location import mean, median, percentile, worst
from dlsched.statistics.paired import Tally, differences, holm, signed_differences, signed_rank, tally
from dlsched.statistics.profiles import data_profile, performance_profile
from dlsched.statistics.times import par10, shifted_geometric_mean

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
