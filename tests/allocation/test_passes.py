"""Passes over pairs against plain loops, with blocks of every size; compiled, in the same bits."""

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlsched.allocation import relevant_pairs
from dlsched.allocation.knapsack import solve_knapsack
from dlsched.allocation.relevant_pairs import first_minima, leading, minima, within_reach
from dlsched.core.imports import compiled
from dlsched.testing import cost_tables

from .naive import pairs_of

SETTINGS = settings(max_examples=50, derandomize=True, deadline=None, database=None)


@pytest.mark.parametrize("block", [1, 5, 2**16])
@SETTINGS
@given(table=cost_tables(), price=st.sampled_from([0.0, 0.5, 1.0, 3.7]))
def test_the_first_least_pair_of_every_job(block, table, price):
    """Ties go to the smaller count."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(relevant_pairs, "_BLOCK", block)
        found = minima(table.starts, table.counts, table.costs, price)
    values = table.costs + price * table.counts
    assert found.tolist() == [min(job, key=lambda p: values[p]) for job in pairs_of(table)]


@pytest.mark.parametrize("block", [1, 5, 2**16])
@SETTINGS
@given(table=cost_tables(), price=st.sampled_from([0.0, 0.5, 3.7]), most=st.sampled_from([0.0, 1.0, 20.0]))
def test_pairs_within_reach_of_a_base(block, table, price, most):
    """By definition, in order, each with its job."""
    base = table.last
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(relevant_pairs, "_BLOCK", block)
        pairs, rows = within_reach(table.starts, table.counts, table.costs, price, base, most)
    expected = [
        (p, row)
        for row, job in enumerate(pairs_of(table))
        for p in job
        if table.costs[p] - table.costs[job[-1]] + price * (int(table.counts[p]) - int(table.counts[job[-1]])) < most
    ]
    assert list(zip(pairs.tolist(), rows.tolist(), strict=True)) == expected


def test_first_minima_by_hand():
    """Two segments, with and without a tie."""
    assert first_minima(np.array([2.0, 1.0, 1.0, 3.0, 0.0]), np.array([0, 3, 5])).tolist() == [1, 4]
    assert first_minima(np.array([2.0, 1.0, 5.0, 3.0, 0.0]), np.array([0, 3, 5])).tolist() == [1, 4]


def drawn(seed, jobs):
    """Random starts, counts, costs (with ties) and base."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 40, jobs)
    starts = np.concatenate(([0], np.cumsum(lengths)))
    counts = np.concatenate([1 + np.sort(rng.choice(100, length, replace=False)) for length in lengths])
    costs = rng.choice([1.0, 0.1, 1e-7], starts[-1]) * rng.integers(-3, 30, starts[-1])
    return starts, counts, costs, starts[:-1] + rng.integers(0, lengths)


def both_ways(monkeypatch, work):
    """What the work gives with NumPy, and with loops, compiled where Numba is there and interpreted where not."""
    monkeypatch.setattr(relevant_pairs, "_fast", lambda loop, pairs: None)
    plain, used = work(), []
    monkeypatch.setattr(relevant_pairs, "_fast", lambda loop, pairs: used.append(loop) or compiled(loop) or loop)
    looped = work()
    assert used
    return plain, looped


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("price", [0.0, 0.1, 0.3, 1.7])
def test_loops_find_the_same_pairs(seed, price, monkeypatch):
    """Ties and rounding included: prices and costs have no short binary form."""
    starts, counts, costs, base = drawn(seed, 200)
    plain, looped = both_ways(monkeypatch, lambda: minima(starts, counts, costs, price))
    np.testing.assert_array_equal(plain, looped, strict=True)
    for most in (-1.0, 0.1, 3.0, 30.0):
        ways = both_ways(monkeypatch, lambda most=most: within_reach(starts, counts, costs, price, base, most))
        for plain, looped in zip(*ways, strict=True):
            np.testing.assert_array_equal(plain, looped, strict=True)


def test_leading_pairs():
    """Of two jobs the first two and the first pair, with counts and costs."""
    starts, counts, costs = np.array([0, 3, 5]), np.array([1, 2, 4, 3, 7]), np.array([9.0, 5.0, 1.0, 4.0, 2.0])
    begins, kept, kept_costs, pairs = leading(starts, np.array([2, 4]), counts, costs)
    assert (begins.tolist(), pairs.tolist()) == ([0, 2, 3], [0, 1, 3])
    assert (kept.tolist(), kept_costs.tolist()) == ([1, 2, 3], [9.0, 5.0, 4.0])


@SETTINGS
@given(table=cost_tables(), units=st.integers(0, 20))
def test_loops_give_the_same_choice(table, units):
    """The whole method, pair by pair and price by price."""
    with pytest.MonkeyPatch.context() as patch:
        choices = both_ways(patch, lambda: solve_knapsack(table, table.minimum_units + units))
    assert choices[0].pairs.tolist() == choices[1].pairs.tolist()
    assert choices[0].price == choices[1].price


def test_loops_are_compiled_where_that_pays(monkeypatch):
    """Few pairs do not ask for it, many do, and fewer where Numba is there already."""
    asked = []
    monkeypatch.setattr(relevant_pairs, "compiled", asked.append)
    monkeypatch.delitem(sys.modules, "numba", raising=False)
    for pairs in (2**16, 2**27 - 1, 2**27):
        assert relevant_pairs._fast(relevant_pairs._fill_minima, pairs) is None
    assert len(asked) == 1
    monkeypatch.setitem(sys.modules, "numba", None)
    for pairs in (2**16 - 1, 2**16):
        relevant_pairs._fast(relevant_pairs._fill_minima, pairs)
    assert len(asked) == 2
