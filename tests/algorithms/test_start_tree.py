"""The bound of the exact search for the least sum of flow times, and the separation of an instance into parts."""

import numpy as np
import pytest

from dlsched.algorithms import start_prices
from dlsched.algorithms.start_prices import PriceTables
from dlsched.algorithms.start_tree import separated


def rows(random, jobs):
    """Releases, lengths, units, and prices with breakpoints before, among and after the releases."""
    times = np.sort(random.uniform(-1.0, 12.0, 5))
    return (
        random.uniform(0, 6, jobs),
        random.uniform(0, 3, jobs),
        random.integers(1, 4, jobs),
        times,
        random.uniform(0, 2, 4),
    )


@pytest.mark.parametrize("seed", range(10))
def test_tables_are_the_least_cost_of_later_starts(seed):
    """Against starts on a fine grid and at all breakpoints, each priced by itself."""
    random = np.random.default_rng(seed)
    release_s, length_s, units, times, rates = rows(random, 3)
    tables = PriceTables(release_s, length_s, units, times, rates)

    def price(begin_s, end_s):
        pieces = zip(times, times[1:], rates, strict=False)
        return sum(rate * max(0.0, min(end_s, until_s) - max(begin_s, from_s)) for from_s, until_s, rate in pieces)

    for from_s in random.uniform(0, 15, 20):
        expected = 0.0
        for release, length, count in zip(release_s, length_s, units, strict=True):
            first = max(from_s, release)
            starts = [first, *(t for t in (*times, *(times - length)) if t > first)]
            expected += min(s + length - release + count * price(s, s + length) for s in starts)
        found = tables.least(np.ones((1, 3), dtype=bool), np.array([[from_s]]))
        assert found[0] == pytest.approx(expected, rel=1e-12)
        assert tables.unused(np.array([[from_s, 20.0]]))[0] == pytest.approx(price(from_s, 99.0), rel=1e-12, abs=1e-12)


def test_prices_of_many_pieces_are_averaged(monkeypatch):
    """Fewer pieces, the same price of the whole."""
    monkeypatch.setattr(start_prices, "_MOST_ENTRIES", 12)
    random = np.random.default_rng(0)
    release_s, length_s, units, times, rates = rows(random, 2)
    tables = PriceTables(release_s, length_s, units, times, rates)
    assert tables.unused(np.array([[-1.0]]))[0] == pytest.approx(float(np.sum(rates * np.diff(times))))
    assert len(tables._times) == 3


def test_one_part_without_room_between():
    """A second to spare in the sum of flow times is as long as the gap."""
    assert separated([0.0, 3.0], [2.0, 2.0], [3.0, 3.0]) == [[0, 1]]


def test_parts_part_again():
    """All three together have 2 s to spare; the last two on their own have none."""
    assert separated([0.0, 5.0, 7.5], [2.0, 2.0, 2.0], [4.0, 2.0, 2.0]) == [[0], [1], [2]]


def test_parts_are_in_order_of_release():
    """Jobs stand in any order."""
    assert separated([50.0, 0.0, 100.0], [1.0, 1.0, 1.0], [1.0, 1.0, 1.0]) == [[1], [0], [2]]
