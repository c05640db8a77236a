"""The program in PuLP and as arrays: the same optimum, the same names."""

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dlsched.allocation.choice_program import build_choice_arrays, build_choice_program
from dlsched.allocation.methods import solve_by_states
from dlsched.solvers.milp import solve_milp
from dlsched.testing import cost_tables

from .toy import TOY, tabulate

SETTINGS = settings(max_examples=20, derandomize=True, deadline=None, database=None)


def test_both_have_the_same_names_and_start():
    """Columns by label and count, rows by label; a start names the chosen columns."""
    start = {"a": 4, "b": 1}
    program = build_choice_program("toy", tabulate(TOY), "ab", 5, dict, start=start)
    arrays = build_choice_arrays(tabulate(TOY), "ab", 5, dict, start=start)
    assert [variable.name for variable in program.model.variables()] == sorted(arrays.model.names)
    assert list(program.model.constraints) == arrays.model.row_names == ["capacity", "choice_a", "choice_b"]
    assert program.start == arrays.start == {"x_a_4": 1.0, "x_b_1": 1.0}
    assert program.decode(program.start) == arrays.decode(arrays.start) == start


@SETTINGS
@given(cost_tables(max_jobs=4, max_pairs=4), st.integers(0, 40))
def test_both_have_the_optimum_of_dynamic_programming(table, capacity):
    """HiGHS solves either to the same cost."""
    chosen = solve_by_states(table, capacity)
    assume(chosen is not None)
    names = [f"j{job}" for job in range(table.jobs)]
    for formulation in (
        build_choice_program("drawn", table, names, capacity, dict),
        build_choice_arrays(table, names, capacity, dict),
    ):
        outcome = solve_milp(formulation.model, isolated=False)
        assert outcome.objective == pytest.approx(table.total_cost(chosen), rel=1e-6, abs=1e-6)
        assert sum(formulation.decode(outcome.values).values()) <= capacity
