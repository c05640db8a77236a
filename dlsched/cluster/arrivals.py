"""Arrival times drawn at random: jobs that come one by one, in bursts, or mostly by day.

Each function takes the generator, the number of jobs and the seconds over which that many arrive on average, and returns
ascending times of shape (jobs,).
"""

import math

import numpy as np
import numpy.typing as npt

Times = npt.NDArray[np.float64]

# The day of ``daynight_arrivals`` starts at the mean rate, which rises first.
_DAY_S = 86400
_SWING = 0.9  # share of the mean rate by which the rate rises and falls in a day


def poisson_arrivals(generator: "np.random.Generator", jobs: int, span_s: float) -> Times:
    """Draw arrivals with exponential gaps of mean span / jobs."""
    return np.cumsum(generator.exponential(span_s / jobs, jobs))


def burst_arrivals(generator: "np.random.Generator", jobs: int, span_s: float) -> Times:
    """Draw bursts of 1 to 15 jobs (8 on average) that arrive together; bursts are Poisson arrivals."""
    times: list[float] = []
    now = 0.0
    while len(times) < jobs:
        now += float(generator.exponential(8 * span_s / jobs))
        times += [now] * int(generator.integers(1, 16))
    return np.array(times[:jobs])


def daynight_arrivals(generator: "np.random.Generator", jobs: int, span_s: float) -> Times:
    """Draw Poisson arrivals of rate (1 + 0.9 sin(2 pi t / day)) jobs / span, by thinning."""
    times: list[float] = []
    # Thinning: candidates come at the highest rate; each stays with probability rate / highest rate.
    now, most = 0.0, 1 + _SWING
    while len(times) < jobs:
        now += float(generator.exponential(span_s / jobs / most))
        if generator.random() * most < 1 + _SWING * math.sin(2 * math.pi * now / _DAY_S):
            times.append(now)
    return np.array(times)
