"""The search within a slack finds the cheapest choice, or proves that there is none."""

import itertools

import numpy as np
import pytest

from dlsched.columns import slack
from dlsched.columns.slack import Listed, Prices, cheapest_within, close_gap, search_beam, slacks
from dlsched.core.limits import TooMany


def drawn(seed):
    """Groups of columns with their costs, and prices with what they prove."""
    rng = np.random.default_rng(seed)
    kinds, groups = int(rng.integers(1, 4)), int(rng.integers(1, 5))
    stock, prices = rng.integers(1, 6, kinds), rng.uniform(0, 2, kinds) * (rng.random(kinds) < 0.8)
    listed, costs = [], []
    for _ in range(groups):
        counts = np.unique(rng.integers(0, 4, (6, kinds)), axis=0)
        cost = rng.uniform(0, 10, len(counts))
        order = np.argsort(cost + counts @ prices)
        costs.append(cost[order])
        listed.append(Listed(counts[order], (cost + counts @ prices)[order]))
    return listed, costs, Prices(stock, prices, np.array([each.values[0] for each in listed]))


def by_hand(listed, costs, stock):
    """Least cost of a choice that keeps the stock, by trying all; inf when there is none."""
    best = np.inf
    for choice in itertools.product(*(range(len(cost)) for cost in costs)):
        if (sum(listed[i].counts[c] for i, c in enumerate(choice)) <= stock).all():
            best = min(best, sum(float(costs[i][c]) for i, c in enumerate(choice)))
    return best


@pytest.mark.parametrize("seed", range(80))
def test_the_cheapest_choice_is_found_where_its_slack_allows(seed):
    """With slack enough the optimum; with less than the optimum needs, nothing."""
    listed, costs, prices = drawn(seed)
    best = by_hand(listed, costs, prices.stock)
    assert prices.bound <= best * (1 + 1e-12)
    found = cheapest_within(listed, prices, 1e3)
    if best == np.inf:
        assert found is None
        return
    assert (found.sum(axis=0) <= prices.stock).all()
    rows = zip(listed, costs, found, strict=True)
    assert sum(float(cost[(each.counts == row).all(axis=1)][0]) for each, cost, row in rows) == pytest.approx(best)
    needed = best - prices.bound
    assert cheapest_within(listed, prices, needed * (1 + 1e-9) + 1e-9) is not None
    assert needed < 1e-6 or cheapest_within(listed, prices, needed * (1 - 1e-6)) is None
    beam = cheapest_within(listed, prices, 1e3, width=1)
    assert beam is None or (beam.sum(axis=0) <= prices.stock).all()


@pytest.mark.parametrize("seed", range(40))
def test_the_gap_is_closed(seed):
    """From above the optimum it is found, with no bound above it on the way; from the optimum nothing is; a beam may miss it."""
    listed, costs, prices = drawn(seed)
    best, bounds = by_hand(listed, costs, prices.stock), []
    if best == np.inf:
        return
    pricing = Given(listed)
    closed = close_gap(pricing, prices, 2 * best + 1, tick=lambda: None, proven=bounds.append)
    assert closed.left is None
    assert closed.counts is not None
    assert all(bound <= best * (1 + 1e-9) for bound in bounds)
    below = (prices.bound + best) / 2
    nothing = close_gap(pricing, prices, below, tick=lambda: None, proven=bounds.append)
    assert best - below < 1e-6 or nothing.counts is None
    beam = search_beam(pricing, prices, 2 * best + 1, width=2)
    assert beam is None or (beam.sum(axis=0) <= prices.stock).all()


class Given:
    """Pricing problems whose columns are all listed."""

    def __init__(self, listed):
        self.listed = listed
        self.groups = len(listed)

    def cheap(self, prices, thresholds, *, cells=None, tick=None):
        """Those up to the thresholds."""
        upto = [
            np.searchsorted(each.values, most, side="right") for each, most in zip(self.listed, thresholds, strict=True)
        ]
        return [Listed(each.counts[:n], each.values[:n]) for each, n in zip(self.listed, upto, strict=True)]


def test_a_group_without_columns_has_no_choice():
    """Of one group nothing can be chosen."""
    nothing = Listed(np.zeros((0, 1), dtype=np.int64), np.zeros(0))
    assert cheapest_within([nothing], Prices(np.array([1]), np.zeros(1), np.zeros(1)), 1.0) is None


def test_too_many_labels_are_refused(monkeypatch):
    """Labels are counted before they are made; the slack at which the search gave up is left."""
    listed, _, prices = drawn(1)
    monkeypatch.setattr(slack, "CELLS", 5)
    with pytest.raises(TooMany):
        cheapest_within(listed, prices, 1e3)
    closed = close_gap(Given(listed), prices, 1e3, tick=lambda: None, proven=lambda bound: None)
    assert closed.counts is None
    assert closed.left > 0


def test_slacks_end():
    """They grow to the incumbent's, from bounds that prove nothing too; one below the bound by rounding has slack 0."""
    assert list(slacks(100.0, 100.005)) == pytest.approx([0.001, 0.005])
    assert list(slacks(0.0, 1e-6))[-1] == 1e-6
    assert list(slacks(-5.0, 1.0))[-1] == 6.0
    assert list(slacks(1.0, 1.0 - 1e-13)) == [0.0]
    assert list(slacks(-5.0, -1.0)) == [4.0]
    assert list(slacks(-5.0, 0.0)) == [5.0]


def test_labels_are_compared_in_as_many_words_as_they_need():
    """A hundred resources: count vectors do not fit into one machine word."""
    stock = np.full(100, 3)
    rng = np.random.default_rng(0)
    taken = rng.integers(0, 4, (50, 100))
    taken = np.vstack((taken, taken[:10]))
    spent = np.arange(60.0)
    assert sorted(slack._first_of_each(taken, spent, stock).tolist()) == list(range(50))
