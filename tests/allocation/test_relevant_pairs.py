"""Looks at the leading pairs only, against looks at all pairs, in the same floats."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlsched.allocation import relevant_pairs
from dlsched.allocation.cost_table import CostTable
from dlsched.allocation.relevant_pairs import RelevantPairs
from dlsched.testing import cost_tables

SETTINGS = settings(max_examples=40, derandomize=True, deadline=None, database=None)
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
