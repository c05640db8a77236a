"""Bounds on the throughput of a network, by hand and on either side of the exact figure."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlsched.async_sgd import Bounds, Network, asymptotic, balanced_job, mean_values
from dlsched.core.errors import UsageError
from dlsched.testing.async_sgd import networks

SETTINGS = settings(max_examples=50, derandomize=True, deadline=None, database=None)
CHECKED = Network(0.25, [(0.08, 2), (0.01, 1)])


def test_asymptotic_bounds_by_hand():
    """Z = .25, D = .17, D_max = .08: four customers do at most 4 / .42 and at least 4 / .93; 32 at most 12.5."""
    assert asymptotic(CHECKED, 4) == pytest.approx(Bounds(4 / 0.93, 4 / 0.42))
    assert asymptotic(CHECKED, 32).upper == pytest.approx(12.5)
    assert asymptotic(Network(0.5, []), 3) == Bounds(6.0, 6.0)


def test_balanced_job_bounds_by_hand():
    """One more customer of the balanced networks: D_max / (1 + Z / (2 D)) and D / 3 / (1 + Z / D) are added to the cycle."""
    total = 0.17
    lower = 2 / (0.42 + 0.08 / (1 + 0.25 / (2 * total)))
    upper = 2 / (0.42 + total / 3 / (1 + 0.25 / total))
    assert balanced_job(CHECKED, 2) == pytest.approx(Bounds(lower, upper))
    assert lower < 4.437 < upper


def test_balanced_networks_without_delay_are_met():
    """K equal stations and no delay: X(n) = n / ((n + K - 1) D_k), and both bounds say so."""
    network = Network(0.0, [(0.5, 4)])
    for customers in (1, 2, 7):
        exact = customers / ((customers + 3) * 0.5)
        assert balanced_job(network, customers) == pytest.approx(Bounds(exact, exact))


@SETTINGS
@given(networks(), st.integers(1, 40))
def test_throughput_lies_between_its_bounds(network, customers):
    """Asymptotic and balanced-job bounds hold, and the latter are never further away."""
    exact = mean_values(network, customers).throughput
    wide, close = asymptotic(network, customers), balanced_job(network, customers)
    assert wide.lower <= close.lower <= exact * (1 + 1e-9)
    assert exact * (1 - 1e-9) <= close.upper <= wide.upper


@pytest.mark.parametrize("bound", [asymptotic, balanced_job])
def test_no_customers(bound):
    """A located error."""
    with pytest.raises(UsageError, match="customers: found 0, allowed: an integer >= 1"):
        bound(CHECKED, 0)


@SETTINGS
@given(networks())
def test_one_customer_meets_its_bounds(network):
    """Alone, nobody waits."""
    assert balanced_job(network, 1) == pytest.approx(Bounds(1 / network.cycle_s, 1 / network.cycle_s))
