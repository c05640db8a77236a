"""How far costs hyperbolic / w + linear w are looked at."""

import numpy as np

from dlsched.allocation.hyperbolic import useful_most


def most(hyperbolic, linear, largest, spare, free=None):
    """Of jobs that are all in F, unless told otherwise."""
    free = [True] * len(hyperbolic) if free is None else free
    return useful_most(
        np.array(hyperbolic), np.array(linear), np.array(largest, dtype=float), np.array(free, dtype=bool), spare
    )


def test_no_further_than_the_cheapest_count():
    """100 / w + w is least at 10; what only grows, at 1."""
    assert most([100.0, -1.0], [1.0, 1.0], [64, 64], 1000) == [12, 3]


def test_a_price_shares_the_capacity():
    """100 equal jobs that want all: some units more than the three a job that rounding takes."""
    found = most([100.0] * 100, [0.0] * 100, [10**6] * 100, 900)
    assert set(found) <= {9 + 3 + 2 - 1, 9 + 3 + 2}


def test_jobs_outside_do_not_count():
    """Where none is in F no price is needed."""
    assert most([100.0], [0.0], [64], 4, free=[False]) == [66]


def test_no_job():
    """An empty answer."""
    assert most([], [], [], 4, free=[]) == []
