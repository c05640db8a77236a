"""The knapsack algorithm against dynamic programming and brute force."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlsched.algorithms.cost_table import CostTable
from dlsched.algorithms.dynamic_program import solve_by_states
from dlsched.algorithms.knapsack import solve_knapsack
from dlsched.algorithms.lagrange import dual_value
from dlsched.testing import cost_tables

SETTINGS = settings(max_examples=150, derandomize=True, deadline=None, database=None)


def by_enumeration(table, capacity):
    """Least total cost over all choices that fit, or None."""
    ranges = [range(b, e) for b, e in zip(table.starts.tolist(), table.starts.tolist()[1:], strict=False)]
    fitting = (c for c in itertools.product(*ranges) if int(table.counts[list(c)].sum()) <= capacity)
    return min((table.total_cost(c) for c in fitting), default=None)


def check(table, capacity, expected):
    """The choice is one pair a job, fits, and costs what is expected."""
    choice = solve_knapsack(table, capacity)
    if expected is None:
        assert choice is None
        return None
    assert np.all((table.first <= choice.pairs) & (choice.pairs <= table.last))
    assert int(table.counts[choice.pairs].sum()) <= capacity
    scale = max(1.0, float(np.abs(table.costs).max()) * table.jobs)
    assert abs(table.total_cost(choice.pairs) - expected) <= 1e-12 * scale
    assert dual_value(table, capacity, choice.price) <= expected + 1e-12 * scale
    return choice


def by_states(table, capacity):
    """Optimum by dynamic programming."""
    chosen = solve_by_states(table, capacity)
    return None if chosen is None else table.total_cost(chosen)


@SETTINGS
@given(cost_tables(max_jobs=4, max_pairs=4), st.integers(0, 40))
def test_equals_brute_force(table, capacity):
    """On small tables with ties, identical jobs and negative costs, knapsack and brute force agree."""
    check(table, capacity, by_enumeration(table, capacity))


@SETTINGS
@given(cost_tables(max_jobs=12, max_pairs=10, max_count=30), st.integers(0, 250))
def test_equals_dynamic_programming(table, capacity):
    """On tables too large to enumerate, it agrees with dynamic programming."""
    check(table, capacity, by_states(table, capacity))


@pytest.mark.parametrize("seed", range(40))
def test_strongly_correlated_costs(seed):
    """Saving = units + a constant, the hard case of knapsacks: many core rounds, same optimum."""
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(int(rng.integers(5, 60))):
        counts = np.sort(rng.choice(np.arange(2, 80), size=int(rng.integers(1, 6)), replace=False)).tolist()
        rows.append({1: 1000.0} | {w: 1000.0 - w - float(rng.choice([5, 10])) for w in counts})
    table = CostTable.from_rows(rows)
    capacity = int(table.minimum_units + rng.integers(0, 30 * len(rows)))
    check(table, capacity, by_states(table, capacity))


@pytest.mark.parametrize("seed", range(20))
def test_subset_sums_that_do_not_come_out(seed):
    """Saving proportional to units: the bound is useless beyond the price, the optimum is the fullest packing."""
    rng = np.random.default_rng(seed)
    weights = (2 * rng.integers(50, 400, size=25)).tolist()
    table = CostTable.from_rows([{1: float(w)} | {w + 1: 0.0} for w in weights])
    capacity = 25 + sum(weights) // 2 | 1
    check(table, capacity, by_states(table, capacity))


@pytest.mark.parametrize("jobs", [1, 3, 50, 2000])
@pytest.mark.parametrize("spare", [0, 1, 2, 7, 1000, 3001])
def test_identical_jobs(jobs, spare):
    """Step 4 of the docstring: of thousands of equal regrets only as many are combined as the largest shifts ask for."""
    table = CostTable.from_rows([{1: 60.0, 2: 47.0, 3: 42.0, 5: 33.0, 9: 30.0}] * jobs)
    check(table, jobs + spare, by_states(table, jobs + spare))


@pytest.mark.parametrize("seed", range(30))
def test_few_kinds_of_jobs(seed):
    """Two or three kinds repeated hundreds of times: shifts tie across jobs, exchanges matter."""
    rng = np.random.default_rng(seed)
    kinds = []
    for _ in range(int(rng.integers(1, 4))):
        counts = np.sort(rng.choice(np.arange(1, 14), size=int(rng.integers(2, 6)), replace=False)).tolist()
        kinds.append({w: float(rng.integers(0, 60)) for w in counts})
    table = CostTable.from_rows([kinds[int(k)] for k in rng.integers(0, len(kinds), size=int(rng.integers(20, 300)))])
    capacity = int(table.minimum_units + rng.integers(0, 4 * table.jobs))
    check(table, capacity, by_states(table, capacity))


@pytest.mark.parametrize("seed", range(20))
def test_huge_counts(seed):
    """Counts and capacity times 10^12 leave the optimum where it was; 64-bit sums do not overflow."""
    rng = np.random.default_rng(seed)
    rows = [
        {int(w): float(rng.integers(1, 99)) for w in rng.choice(np.arange(1, 20), 4, replace=False)} for _ in range(8)
    ]
    capacity = int(rng.integers(8, 90))
    expected = by_states(CostTable.from_rows(rows), capacity)
    scaled = CostTable.from_rows([{w * 10**12: cost for w, cost in row.items()} for row in rows])
    check(scaled, capacity * 10**12, expected)


def test_many_rounds_of_the_core():
    """An instance whose optimum lies far from the LP: the core grows several times and ``found`` sees falling totals."""
    rng = np.random.default_rng(7)
    rows = [
        {1: 500.0} | {int(w): 500.0 - int(w) - 10.0 for w in rng.choice(np.arange(30, 90), 5, replace=False)}
        for _ in range(80)
    ]
    table = CostTable.from_rows(rows)
    capacity = table.minimum_units + 1777
    totals, steps = [], []
    choice = solve_knapsack(
        table,
        capacity,
        found=lambda pairs, price: totals.append(table.total_cost(pairs)),
        step=lambda: steps.append(None),
    )
    assert len(steps) > 2 * 48  # more than one round
    assert totals == sorted(totals, reverse=True)
    assert totals[-1] == table.total_cost(choice.pairs)
    assert table.total_cost(choice.pairs) == pytest.approx(by_states(table, capacity), rel=1e-12)


def test_step_that_raises_stops_the_search():
    """An exception of ``step`` passes through, after the first answer was handed to ``found``."""

    class EnoughError(Exception):
        pass

    def step():
        raise EnoughError

    table = CostTable.from_rows([{1: 10.0, 3: 5.0}, {1: 10.0, 4: 4.0}])
    answers = []
    with pytest.raises(EnoughError):
        solve_knapsack(table, 6, found=lambda pairs, price: answers.append(pairs.tolist()), step=step)
    assert len(answers) == 1


def test_same_answer_twice():
    """Ties go the same way every time."""
    table = CostTable.from_rows([{1: 5.0, 2: 3.0, 3: 1.0}] * 9)
    first, second = solve_knapsack(table, 16), solve_knapsack(table, 16)
    assert first.pairs.tolist() == second.pairs.tolist()


def test_by_hand():
    """Three jobs, savings 4 for 1 unit, 6 for 2, 5 for 2, three spare units: take 4 and 6, total 30 - 10."""
    table = CostTable.from_rows([{1: 10.0, 2: 6.0}, {1: 10.0, 3: 4.0}, {1: 10.0, 3: 5.0}])
    choice = check(table, 6, 20.0)
    assert choice.pairs.tolist() == [1, 3, 4]
