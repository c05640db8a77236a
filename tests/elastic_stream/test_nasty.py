"""Nasty streams through every method: results that pass their check, and with ticks the optimum of brute force."""

import numpy as np
import pytest
from nasty import hold

from dlsched.elastic_stream import bound, infeasible
from dlsched.testing import brute_force_stream

from .nasty import nasty


def holds(seed, ticked, skip=()):
    """One stream; without ticks, where no optimum is known, the bound and the check of every result."""
    instance = nasty(np.random.default_rng(seed), ticked)
    if ticked:
        found = brute_force_stream(instance)
        return hold(instance, None if found is None else found[0], meeting=("plan",), skip=skip)
    least = None if infeasible(instance) else bound(instance).value
    return hold(instance, least, exact=False, skip=("milp",))


@pytest.mark.parametrize("ticked", [True, False])
def test_nasty_streams(ticked):
    """A sample of the campaign; the program by HiGHS on a few."""
    for seed in range(8):
        holds(seed, ticked, () if seed < 2 else ("milp",))


@pytest.mark.long
@pytest.mark.parametrize("ticked", [True, False])
def test_2000_nasty_streams(ticked):
    """The campaign; the program on every twentieth."""
    for seed in range(2000):
        holds(1000 + seed, ticked, () if seed % 20 == 0 else ("milp",))
