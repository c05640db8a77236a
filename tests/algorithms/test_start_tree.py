"""The bound of the exact search for the least sum of flow times, and the separation of an instance into parts."""

from itertools import pairwise, product

import numpy as np
import pytest

from dlsched.algorithms import start_prices
from dlsched.algorithms.start_prices import Charged, PriceTables
from dlsched.algorithms.start_tree import ModeJob, Tree, separated


def rows(random, jobs):
    """Releases, lengths, units, and rates of every job with breakpoints before, among and after the releases."""
    times, units = np.sort(random.uniform(-1.0, 12.0, 5)), random.integers(1, 4, jobs)
    return random.uniform(0, 6, jobs), random.uniform(0, 3, jobs), units, 5, times, random.uniform(0, 2, (jobs, 4))


def price(times, rates, begin_s, end_s):
    """What one pays from a time to another."""
    pieces = zip(times[:-1], times[1:], rates, strict=True)
    return sum(rate * max(0.0, min(end_s, until_s) - max(begin_s, from_s)) for from_s, until_s, rate in pieces)


@pytest.mark.parametrize("seed", range(10))
def test_tables_are_the_least_cost_of_later_starts(seed):
    """Against starts at all breakpoints and at the first moment, each priced by itself."""
    random = np.random.default_rng(seed)
    release_s, length_s, units, total, times, rates = rows(random, 3)
    tables = PriceTables(release_s, length_s, units, total, times, rates)
    for from_s in random.uniform(0, 15, 20):
        expected = 0.0
        for release, length, own in zip(release_s, length_s, rates, strict=True):
            first = max(from_s, release)
            begins = [first, *(t for t in (*times, *(times - length)) if t > first)]
            # a job pays nothing on pieces that end before its release, and cannot start there
            expected += min(s + length - release + price(times, own, s, s + length) for s in begins)
        found = tables.least(np.ones((1, 3), dtype=bool), np.array([[from_s]]))
        assert found[0] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("seed", range(10))
def test_free_units_cost_what_fits_on_them(seed):
    """Against every set of jobs on every piece of time between frees and breakpoints."""
    random = np.random.default_rng(seed)
    release_s, length_s, units, total, times, rates = rows(random, 3)
    tables = PriceTables(release_s, length_s, units, total, times, rates)
    free_s = random.uniform(0, 12, total)
    moments, expected = np.unique([*times, *free_s]), 0.0
    for begin_s, end_s in pairwise(moments):
        piece = np.searchsorted(times, begin_s, side="right") - 1
        if not 0 <= piece < 4:
            continue
        here = np.where(release_s < times[piece + 1], rates[:, piece], 0.0)
        sets = [np.array(chosen) for chosen in product([0, 1], repeat=3)]
        room = int((free_s <= begin_s).sum())
        expected += (end_s - begin_s) * max(float((here * each).sum()) for each in sets if (units * each).sum() <= room)
    assert tables.unused(free_s[None])[0] == pytest.approx(expected, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("seed", range(10))
def test_windows_charge_who_touches_them_or_runs_throughout(seed):
    """Starts on a grid around all events, charged one by one: no cell promises more, and some start is charged as much."""
    random = np.random.default_rng(seed)
    release_s, length_s, units, total, times, rates = rows(random, 3)
    windows = [Charged(float(times[1]), float(times[3]), 0, random.uniform(0, 3, 3))]
    tables = PriceTables(release_s, length_s, units, total, times, 0.0 * rates, windows)
    ((begin_s, end_s, _, charges),) = windows
    edges = np.array([0.0, *times, *(t - own for t in times for own in length_s)])
    begins = np.unique([edges - 1e-9, edges, edges + 1e-9])
    for from_s in random.uniform(0, 15, 20):
        least = []
        for job in range(3):
            costs = []
            for s in (max(from_s, release_s[job]), *begins[begins > max(from_s, release_s[job])]):
                end = s + length_s[job]
                pays = (s < end_s and end > begin_s) if job == 0 else (s < begin_s and end > end_s)
                costs.append(end - release_s[job] + pays * charges[job])
            least.append(min(costs))
        found = tables.least(np.ones((1, 3), dtype=bool), np.array([[from_s]]))
        assert found[0] == pytest.approx(sum(least), abs=1e-8)


def test_windows_cost_what_fits_beside_who_touches():
    """Units free at 1, 2 and 5: two jobs of a unit run throughout from 2 on; at 4 one of them and the one of two that touches."""
    windows = [Charged(3.0, 6.0, 0, np.array([5.0, 2.0, 1.0]))]
    one = np.ones(3), np.ones(3), np.array([2, 1, 1]), 3, np.array([3.0, 6.0]), np.zeros((3, 1))
    tables, free_s = PriceTables(*one, windows), np.array([[1.0, 2.0, 5.0]])
    for waiting, last_s, expected in ((True, 0.0, 7.0), (False, 0.0, 3.0), (True, 4.0, 5.0), (True, 6.0, 0.0)):
        found = tables.charged(np.array([[waiting, True, True]]), np.array([last_s]), free_s)
        assert found.tolist() == [expected]


def test_prices_of_many_pieces_are_averaged(monkeypatch):
    """Fewer pieces, the same price of the whole."""
    release_s, length_s, units, total, times, rates = rows(np.random.default_rng(0), 2)
    fine = PriceTables(release_s, length_s, units, total, times, rates)
    monkeypatch.setattr(start_prices, "_MOST_ENTRIES", 12)
    coarse = PriceTables(release_s, length_s, units, total, times, rates)
    begin = np.full((1, 5), -1.0)
    assert coarse.unused(begin)[0] == pytest.approx(fine.unused(begin)[0], rel=1e-12)
    assert len(coarse._times) == 3


def test_one_part_without_room_between():
    """A second to spare in the sum of flow times is as long as the gap."""
    assert separated([0.0, 3.0], [2.0, 2.0], [3.0, 3.0]) == [[0, 1]]


def test_parts_part_again():
    """All three together have 2 s to spare; the last two on their own have none."""
    assert separated([0.0, 5.0, 7.5], [2.0, 2.0, 2.0], [4.0, 2.0, 2.0]) == [[0], [1], [2]]


def test_parts_are_in_order_of_release():
    """Jobs stand in any order."""
    assert separated([50.0, 0.0, 100.0], [1.0, 1.0, 1.0], [1.0, 1.0, 1.0]) == [[1], [0], [2]]


def test_modes_of_different_sizes_fit_by_the_least():
    """Two units, two jobs of 2 s on two units or one, a price of 1 a second for each: both run at once, 4 s in sum, not 5.

    Counted by their first modes only one would fit at a time: 2 (2 + 2) less 2 paid at once prove 6.
    """
    job = ModeJob(0.0, [(2.0, (2,)), (2.0, (1,))], "any")
    prices = np.array([0.0, 2.0]), np.ones((2, 1)), ()
    found = []
    tree = Tree([2], [job, job], 5.0, prices=[prices], better=found.append, tick=lambda nodes: None)
    assert tree.run() and tree.best_s == 4.0 and found
