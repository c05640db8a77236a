"""The knapsack algorithm against dynamic programming and brute force."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlsched.algorithms import sums
from dlsched.algorithms.sums import Trail
from dlsched.allocation.cost_table import CostTable
from dlsched.allocation.knapsack import solve_knapsack
from dlsched.allocation.methods import solve_by_states
from dlsched.testing import cost_tables

from .naive import by_enumeration, dual_value

again = Trail._again
SETTINGS = settings(max_examples=30, derandomize=True, deadline=None, database=None)


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


@pytest.mark.parametrize("seed", range(20))
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


@pytest.mark.parametrize("seed", range(15))
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


@pytest.mark.parametrize("seed", range(20))
def test_whole_costs_and_what_is_left_over(seed):
    """Small whole costs, so that totals lie on a grid, and an answer that fills what is left over is held before the core."""
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(int(rng.integers(2, 9))):
        counts = np.sort(rng.choice(np.arange(1, 9), int(rng.integers(1, 6)), replace=False)).tolist()
        rows.append({w: float(rng.choice([1, 2, 4])) * float(rng.integers(0, 9)) + 1 / 8 for w in counts})
    table = CostTable.from_rows(rows)
    for capacity in range(table.minimum_units, table.minimum_units + 30):
        choice = check(table, capacity, by_states(table, capacity))
        assert table.total_cost(choice.pairs) == by_states(table, capacity)


def test_many_rounds_of_the_core():
    """An instance whose optimum lies far from the LP: the core grows several times and ``found`` sees falling totals."""
    rng = np.random.default_rng(7)
    rows = [
        {1: 500.0} | {int(w): 490.0 - int(w) - rng.random() for w in rng.choice(np.arange(30, 90), 5, replace=False)}
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


def test_by_hand():
    """Three jobs, savings 4 for 1 unit, 6 for 2, 5 for 2, three spare units: take 4 and 6, total 30 - 10."""
    table = CostTable.from_rows([{1: 10.0, 2: 6.0}, {1: 10.0, 3: 4.0}, {1: 10.0, 3: 5.0}])
    choice = check(table, 6, 20.0)
    assert choice.pairs.tolist() == [1, 3, 4]


def test_counts_with_a_common_divisor_leave_nothing_to_search():
    """Even weights and an odd spare unit: on their grid the fullest packing leaves none over, and no job is combined."""
    weights = [2 * w for w in (61, 97, 113, 149, 151, 197, 211, 223)]
    table = CostTable.from_rows([{1: float(w), w + 1: 0.0} for w in weights])
    steps = []
    choice = solve_knapsack(table, 8 + 2 * (61 + 149 + 223) + 1, step=lambda: steps.append(None))
    assert table.total_cost(choice.pairs) == 2.0 * (sum(weights) // 2 - (61 + 149 + 223))
    assert len(steps) <= 8


def test_totals_are_multiples_of_the_grain():
    """Savings of 4 a unit and 2 units over, worth 8: costs are multiples of 24, nothing is between, nothing is combined."""
    table = CostTable.from_rows([{1: 240.0, 7: 216.0}, {1: 240.0, 13: 192.0}, {1: 240.0, 25: 144.0}])
    steps = []
    assert table.total_cost(solve_knapsack(table, 3 + 20, step=lambda: steps.append(None)).pairs) == 720.0 - 72.0
    assert not steps


def test_a_cost_that_cannot_be_chosen_does_not_drown_the_others():
    """1e15 beside savings of 1 and 2 in costs of 5: rounding at 1e15 is .1, at what is at stake 1e-15."""
    rows = [{1: 1e15, 3: 5.0}, {1: 5.0, 2: 4.25, 4: 3.0}, {1: 5.0, 2: 4.0, 3: 3.875}]
    table = CostTable.from_rows(rows)
    for capacity in range(5, 11):
        check(table, capacity, by_enumeration(table, capacity))
        choice = solve_knapsack(table, capacity)
        assert table.total_cost(choice.pairs) == by_enumeration(table, capacity)


def correlated(jobs, most):
    """Savings of about a constant less than the units: many states; the table, a capacity, and the optimum."""
    rng = np.random.default_rng(jobs)
    rows = [
        {1: 500.0}
        | {int(w): 490.0 - int(w) - rng.random() for w in rng.choice(np.arange(most // 3, most), 5, replace=False)}
        for _ in range(jobs)
    ]
    table = CostTable.from_rows(rows)
    capacity = table.minimum_units + 22 * jobs + 1
    return table, capacity, by_states(table, capacity)


def test_segments_of_the_way_back_are_computed_again(monkeypatch):
    """With memory for a handful of states the way back leads through many segments, and the answer is the same."""
    table, capacity, expected = correlated(60, 400)
    whole = check(table, capacity, expected)
    monkeypatch.setattr(sums, "ALLOWED_BYTES", 2**19)
    marks = []
    monkeypatch.setattr(Trail, "_again", lambda *arguments: marks.append(None) or again(*arguments))
    assert check(table, capacity, expected).pairs.tolist() == whole.pairs.tolist()
    assert marks


def test_sums_by_shift_and_by_sorting_agree(monkeypatch):
    """Both ways to add a job give the same states."""
    table, capacity, expected = correlated(30, 90)
    by_shift = check(table, capacity, expected)
    monkeypatch.setattr(Trail, "_by_shift", Trail._by_sorting)
    assert check(table, capacity, expected).pairs.tolist() == by_shift.pairs.tolist()


def test_states_beyond_memory_end_the_search_with_an_answer(monkeypatch):
    """Sums that lie far apart, and memory for a thousand: an error that says so, after a choice was found."""
    monkeypatch.setattr(sums, "ALLOWED_BYTES", 2**20)
    rng = np.random.default_rng(3)
    rows = [{1: 4e9} | {int(w): 4e9 - int(w) for w in rng.integers(10**6, 10**9, 3)} for _ in range(30)]
    table = CostTable.from_rows(rows)
    answers = []
    with pytest.raises(MemoryError, match="states"):
        solve_knapsack(table, 30 + 10**10, found=lambda pairs, price: answers.append(pairs))
    assert table.counts[answers[-1]].sum() <= 30 + 10**10
