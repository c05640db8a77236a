"""The search within a slack finds the cheapest choice, or proves that there is none."""

import itertools

import numpy as np
import pytest

from dlsched.columns import slack
from dlsched.columns.slack import Group, TooMany, cheapest_within, slacks


def drawn(seed):
    """Costs and counts of some groups, a stock, prices, the groups by excess, and the bound L."""
    rng = np.random.default_rng(seed)
    kinds, groups = int(rng.integers(1, 4)), int(rng.integers(1, 5))
    stock, prices = rng.integers(1, 6, kinds), rng.uniform(0, 2, kinds) * (rng.random(kinds) < 0.8)
    listed, bound = [], -float(prices @ stock)
    for _ in range(groups):
        counts = np.unique(rng.integers(0, 4, (6, kinds)), axis=0)
        costs = rng.uniform(0, 10, len(counts))
        values = costs + counts @ prices
        order = np.argsort(values)
        bound += values[order[0]]
        listed.append((counts[order], costs[order], values[order] - values[order[0]]))
    return listed, stock, prices, bound


def by_hand(listed, stock):
    """Least cost of a choice that keeps the stock, by trying all; inf when there is none."""
    best = np.inf
    for choice in itertools.product(*(range(len(costs)) for _, costs, _ in listed)):
        taken = sum(listed[i][0][c] for i, c in enumerate(choice))
        if (taken <= stock).all():
            best = min(best, sum(float(listed[i][1][c]) for i, c in enumerate(choice)))
    return best


@pytest.mark.parametrize("seed", range(80))
def test_the_cheapest_choice_is_found_where_its_slack_allows(seed):
    """With slack enough the optimum; with less than the optimum needs, nothing."""
    listed, stock, prices, bound = drawn(seed)
    groups = [Group(counts, excess) for counts, _, excess in listed]
    best = by_hand(listed, stock)
    found = cheapest_within(groups, stock, prices, 1e3)
    if best == np.inf:
        assert found is None
        return
    assert (found.sum(axis=0) <= stock).all()
    cost = sum(
        float(costs[(counts == row).all(axis=1)][0]) for (counts, costs, _), row in zip(listed, found, strict=True)
    )
    assert cost == pytest.approx(best)
    needed = best - bound
    assert cheapest_within(groups, stock, prices, needed * (1 + 1e-9) + 1e-9) is not None
    assert needed < 1e-6 or cheapest_within(groups, stock, prices, needed * (1 - 1e-6)) is None
    beam = cheapest_within(groups, stock, prices, 1e3, width=1)
    assert beam is None or (beam.sum(axis=0) <= stock).all()


def test_a_group_without_columns_has_no_choice():
    """Of one group nothing can be chosen."""
    nothing = Group(np.zeros((0, 1), dtype=np.int64), np.zeros(0))
    assert cheapest_within([nothing], np.array([1]), np.zeros(1), 1.0) is None


def test_too_many_labels_are_refused(monkeypatch):
    """Labels are counted before they are made."""
    listed, stock, prices, _ = drawn(1)
    monkeypatch.setattr(slack, "CELLS", 5)
    with pytest.raises(TooMany):
        cheapest_within([Group(counts, excess) for counts, _, excess in listed], stock, prices, 1e3)


def test_slacks_end():
    """They grow to the incumbent's, from bounds that prove nothing too; one below the bound by rounding has slack 0."""
    assert list(slacks(100.0, 100.005)) == pytest.approx([0.001, 0.005])
    assert list(slacks(0.0, 1e-6))[-1] == 1e-6
    assert list(slacks(-5.0, 1.0))[-1] == 6.0
    assert list(slacks(1.0, 1.0 - 1e-13)) == [0.0]


def test_labels_are_compared_in_as_many_words_as_they_need():
    """A hundred resources: count vectors do not fit into one machine word."""
    stock = np.full(100, 3)
    rng = np.random.default_rng(0)
    taken = rng.integers(0, 4, (50, 100))
    taken = np.vstack((taken, taken[:10]))
    spent = np.arange(60.0)
    assert sorted(slack._first_of_each(taken, spent, stock).tolist()) == list(range(50))
