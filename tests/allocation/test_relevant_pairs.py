"""Passes over pairs against plain loops; looks at the leading pairs only, against looks at all pairs, in the same floats."""

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlsched.allocation import relevant_pairs
from dlsched.allocation.cost_table import CostTable
from dlsched.allocation.knapsack import solve_knapsack
from dlsched.allocation.relevant_pairs import RelevantPairs, first_minima, leading, minima, within_reach
from dlsched.core.imports import compiled
from dlsched.testing import cost_tables

from .naive import pairs_of

SETTINGS = settings(max_examples=40, derandomize=True, deadline=None, database=None)
fast = relevant_pairs._fast
PRICES = st.sampled_from([0.0, 1e-300, 1e-9, 0.3, 1.0, 3.7, 250.0])


@pytest.fixture(autouse=True)
def always(monkeypatch):
    """However few pairs there are, and whether or not there are loops."""
    monkeypatch.setattr(relevant_pairs, "_ENOUGH", 0)
    monkeypatch.setattr(relevant_pairs, "_fast", lambda loop, pairs: None)


def all_of(table):
    """Arrays of a table as passes take them."""
    return table.starts, table.counts, table.costs


def hyperbolic(seed, jobs, offset=0.0):
    """Jobs with cost a / count + offset on 1 .. n, n up to 200: far more pairs than matter."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(100, 200, jobs)
    starts = np.concatenate(([0], np.cumsum(lengths)))
    counts = 1 + np.arange(starts[-1]) - np.repeat(starts[:-1], lengths)
    return CostTable(starts, counts, offset + np.repeat(rng.integers(1, 50, jobs), lengths) / counts)


@SETTINGS
@given(table=cost_tables(max_jobs=6, max_pairs=12), prices=st.lists(PRICES, min_size=1, max_size=4), data=st.data())
def test_one_price_after_the_other(table, prices, data):
    """Ties and negative costs included, whatever pair is handed in, and whatever was looked at before."""
    looks = RelevantPairs(table)
    for price in prices:
        near = data.draw(st.one_of(st.none(), st.just(table.first), st.just(table.last)))
        cheapest = looks.cheapest(price, near)
        assert cheapest.tolist() == relevant_pairs.minima(*all_of(table), price).tolist()
        base = data.draw(st.sampled_from([table.first, table.last, cheapest]))
        for most in (0.0, 0.5, 20.0):
            found, expected = (
                looks.near(price, base, most),
                relevant_pairs.within_reach(*all_of(table), price, base, most),
            )
            assert [each.tolist() for each in found] == [each.tolist() for each in expected]
        limits = table.costs[cheapest] + price * table.counts[cheapest] + 3.0
        found, expected = looks.up_to(price, cheapest, limits), relevant_pairs.up_to(*all_of(table), price, limits)
        assert [each.tolist() for each in found] == [each.tolist() for each in expected]


@pytest.mark.parametrize("offset", [0.0, 1e16])
@pytest.mark.parametrize("seed", range(3))
def test_long_tables(seed, offset):
    """Also where the price is lost in the rounding of the costs, so that many pairs tie."""
    table = hyperbolic(seed, 30, offset)
    looks = RelevantPairs(table)
    for price in (1.0, 0.8, 1.1, 0.01):
        cheapest = relevant_pairs.minima(*all_of(table), price)
        assert looks.cheapest(price).tolist() == cheapest.tolist()
        for most in (0.0, 0.2):
            found = looks.near(price, cheapest, most)
            expected = relevant_pairs.within_reach(*all_of(table), price, cheapest, most)
            assert [each.tolist() for each in found] == [each.tolist() for each in expected]


def test_most_pairs_are_spared(monkeypatch):
    """At price 1 a cost of at most 49 pays for no count beyond 49; one gathering does for several looks."""
    table, looked, gathered = hyperbolic(0, 30), [], []
    minima, gather = relevant_pairs.minima, relevant_pairs.leading
    monkeypatch.setattr(
        relevant_pairs, "minima", lambda starts, *rest: looked.append(int(starts[-1])) or minima(starts, *rest)
    )
    monkeypatch.setattr(relevant_pairs, "leading", lambda *arrays: gathered.append(1) or gather(*arrays))
    looks = RelevantPairs(table)
    cheapest = looks.cheapest(1.0)
    looks.cheapest(0.95, cheapest)
    looks.near(0.97, cheapest, 0.1)
    assert len(gathered) == 1
    assert max(looked) < table.pairs / 4


def test_up_to_by_hand():
    """Costs 9, 5, 1 on 1, 2, 4 and 4 on 3: at price 1 they come to 10, 7, 5 and 7."""
    table = CostTable.from_rows([{1: 9.0, 2: 5.0, 4: 1.0}, {3: 4.0}])
    pairs, jobs = relevant_pairs.up_to(*all_of(table), 1.0, np.array([7.0, 6.9]))
    assert (pairs.tolist(), jobs.tolist()) == ([1, 2], [0, 0])


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
        assert fast(relevant_pairs._fill_minima, pairs) is None
    assert len(asked) == 1
    monkeypatch.setitem(sys.modules, "numba", None)
    for pairs in (2**16 - 1, 2**16):
        fast(relevant_pairs._fill_minima, pairs)
    assert len(asked) == 2
