"""Methods that need only a family's cost table, the dynamic program over the capacity among them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlsched.allocation.cost_table import CostTable
from dlsched.allocation.methods import solve_by_states, state_bytes
from dlsched.testing import cost_tables

from .naive import by_enumeration, pairs_of


@settings(max_examples=50, derandomize=True, deadline=None, database=None)
@given(cost_tables(max_jobs=4, max_pairs=4), st.integers(0, 40))
def test_equals_brute_force(table, capacity):
    """The least total over all choices that fit, or None when none does."""
    chosen, least = solve_by_states(table, capacity), by_enumeration(table, capacity)
    if least is None:
        assert chosen is None
        return
    assert all(pair in pairs for pair, pairs in zip(chosen.tolist(), pairs_of(table), strict=True))
    assert table.counts[chosen].sum() <= capacity
    assert table.total_cost(chosen) == pytest.approx(least, rel=1e-12, abs=1e-9)


def test_among_equals_the_smaller_count_wins():
    """Both counts cost 1: the smaller is chosen, although both fit."""
    assert solve_by_states(CostTable.from_rows([{1: 1.0, 2: 1.0}]), 5).tolist() == [0]


def test_a_capacity_of_billions_costs_no_memory():
    """Beyond the sum of the largest counts (here 2 + 1, counted from the smallest) capacity is of no use."""
    table = CostTable.from_rows([{1: 3.0, 2: 1.0}, {3: 5.0}])
    assert solve_by_states(table, 10**15).tolist() == [1, 2]
    assert state_bytes(table, 10**15) == (2 + 5 * 8) * (3 + 1)


def test_more_than_256_counts_a_job():
    """Decisions need two bytes beyond 256 counts: the 300th is found again."""
    table = CostTable.from_rows([{w: 1000.0 - w for w in range(1, 301)}])
    assert solve_by_states(table, 10**6).tolist() == [299]
    assert state_bytes(table, 300) == (2 + 5 * 8) * 301


def test_counts_are_divided_by_what_divides_all_of_them():
    """Counts 10^12 apart need no memory; a unit less than two steps is one step, 5 or 3 less; two are 9 less."""
    table = CostTable.from_rows([{1: 9.0, 1 + 10**12: 4.0}, {3: 9.0, 3 + 10**12: 6.0, 3 + 2 * 10**12: 0.0}])
    assert solve_by_states(table, 4 + 2 * 10**12 - 1).tolist() == [1, 2]
    assert solve_by_states(table, 4 + 2 * 10**12).tolist() == [0, 4]


def test_what_memory_does_not_allow_is_refused():
    """A hundred jobs on 2^40 useful units: said before any is taken."""
    table = CostTable.from_rows([{1: 2.0, 2: 1.5, 2**40: 1.0}] * 100)
    with pytest.raises(MemoryError, match=r"GiB, allowed: 1.0 GiB"):
        solve_by_states(table, 2**45)


def test_step_that_raises_stops_the_search():
    """``step`` is called before every job, and its exception passes through."""
    calls = []

    def step():
        calls.append(None)
        if len(calls) == 2:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        solve_by_states(CostTable.from_rows([{1: 1.0}] * 3), 3, step=step)
    assert len(calls) == 2
