"""The order of the search, with few states and with many, against dynamic programming."""

import numpy as np
import pytest

from dlsched.allocation import core_search
from dlsched.allocation.cost_table import CostTable
from dlsched.allocation.knapsack import solve_knapsack

from .test_knapsack import by_states, check


@pytest.mark.parametrize("states", [1, 3, 20])
@pytest.mark.parametrize("seed", range(12))
def test_looks_at_some_states_first(seed, states, monkeypatch):
    """Whatever few states are looked at first, the optimum is dynamic programming's: ties, correlated and subset-sum costs."""
    monkeypatch.setattr(core_search, "_STATES", states)
    monkeypatch.setattr(core_search, "_FIRST_CORE", 4)
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(12):
        counts = np.sort(rng.choice(np.arange(2, 90), size=8, replace=False)).tolist()
        rows.append({1: 100.0} | {w: 100.0 - w - (0.0, 5.0, float(rng.integers(0, 4)))[seed % 3] for w in counts})
    table = CostTable.from_rows(rows)
    capacity = int(table.minimum_units + rng.integers(0, 500))
    check(table, capacity, by_states(table, capacity))


def test_a_subset_sum_that_comes_out_is_proven_by_a_look():
    """200 jobs of 50 counts up to a million, all worth what they need: a few states fill the capacity, in a few steps."""
    rng = np.random.default_rng(0)
    rows = []
    for _ in range(200):
        counts = np.unique(rng.integers(1, 10**6, 50)).tolist()
        rows.append({w: float(10**6 - w) for w in counts})
    table = CostTable.from_rows(rows)
    capacity = int(table.counts[table.first].sum() + table.counts[table.last].sum()) // 2
    steps = []
    choice = solve_knapsack(table, capacity, step=lambda: steps.append(None))
    assert table.total_cost(choice.pairs) == 200 * 10**6 - capacity
    assert len(steps) < 100


@pytest.mark.parametrize("states", [5, 2**13])
@pytest.mark.parametrize("seed", range(40))
def test_savings_of_units_and_steps(seed, states, monkeypatch):
    """Savings of m a unit and d a step, which lie on a lattice: level by level the optimum is dynamic programming's."""
    monkeypatch.setattr(core_search, "_STATES", states)
    rng = np.random.default_rng(seed)
    unit, step = float(rng.choice([0.5, 1, 3])), float(rng.choice([2, 5.5, 10, 40]))
    rows = []
    for _ in range(int(rng.integers(3, 20))):
        counts = np.unique(np.append(1, rng.integers(2, 300, 6))).tolist()
        steps = range(len(counts)) if seed % 2 else rng.integers(0, 4, len(counts)).tolist()
        rows.append({w: 5000.0 - unit * w - step * k for w, k in zip(counts, steps, strict=True)})
    table = CostTable.from_rows(rows)
    capacity = int(rng.integers(table.minimum_units, int(table.counts[table.last].sum())))
    check(table, capacity, by_states(table, capacity))


def test_strongly_correlated_costs_of_a_million_units_are_proven_in_few_steps():
    """A choice of as many steps as the Lagrangian bound allows, rounded down, that fills the capacity: nothing is better."""
    rng = np.random.default_rng(0)
    steps = np.sort(rng.integers(1, 200_000, (300, 10)), axis=1)
    counts = np.cumsum(steps, axis=1)
    costs = counts[:, -1:] - counts + 10.0 * np.arange(9, -1, -1)
    table = CostTable(np.arange(0, 3001, 10), counts.ravel(), costs.ravel())
    capacity = int(counts[:, 0].sum() + counts[:, -1].sum()) // 2
    least = np.sort(steps[:, 1:].ravel())  # the most steps beyond the first ones take the smallest
    most = int(np.searchsorted(np.cumsum(least), capacity - counts[:, 0].sum(), side="right"))
    taken = []
    choice = solve_knapsack(table, capacity, step=lambda: taken.append(None))
    dearest = float(costs[:, 0].sum() + counts[:, 0].sum())
    assert table.total_cost(choice.pairs) == dearest - capacity - 10.0 * most
    assert len(taken) < 1000
