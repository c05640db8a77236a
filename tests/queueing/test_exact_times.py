"""Exact times, against convolution in rational arithmetic."""

from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from dlsched.queueing import exact_times
from dlsched.queueing.exact_times import ExactTimes, Ratio
from dlsched.testing.async_sgd import convolution, networks

SETTINGS = settings(max_examples=40, derandomize=True, deadline=None, database=None)
CYCLES = Fraction(1000, 3)


def both(network, most):
    """The recursion on a network, and the seconds on 1 .. most nodes by convolution."""
    stations = [(Fraction(station.demand_s), station.copies) for station in network.stations]
    spelled_out = [demand for demand, copies in stations for _ in range(copies)]
    rates = convolution(Fraction(network.delay_s), spelled_out, most)
    return ExactTimes(Fraction(network.delay_s), stations, CYCLES), [CYCLES / rate for rate in rates]


def enclosed(times, nodes):
    """The two ends as fractions."""
    low, high = times.on(nodes)
    return Fraction(*low), Fraction(*high)


@SETTINGS
@given(networks(max_kinds=2), st.integers(1, 6))
def test_times_are_exact(network, most):
    """The recursion of integers gives the rational number that convolution gives, and none is below the least."""
    found, times = both(network, most)
    assert [enclosed(found, n) for n in range(1, most + 1)] == [(time, time) for time in times]
    assert found.least == CYCLES * Fraction(network.largest_s) <= times[-1]


def test_long_numbers_are_enclosed(monkeypatch):
    """Cut off to 150 bits, the two ends hold the rational number and are 2^-130 apart; and the cut-off is reached."""
    monkeypatch.setattr(exact_times, "LONGEST", 160)
    monkeypatch.setattr(exact_times, "KEPT", 150)
    cut = []

    @SETTINGS
    @given(networks(max_kinds=2))
    def enclosed_narrowly(network):
        found, times = both(network, 12)
        for n, exact in enumerate(times, 1):
            low, high = enclosed(found, n)
            assert low <= exact <= high <= low + exact / 2**130
            cut.append(low < high)

    enclosed_narrowly()
    assert sum(cut) > 20


def test_savings_against_a_price():
    """Linear speed-up, 12 s: the second node saves 6, more than 5, less than 7, as much as 6."""
    found = ExactTimes(Fraction(1), [], Fraction(12))
    assert [found.saves(1, Ratio(price, 1)) for price in (5, 7, 6)] == [True, False, None]
