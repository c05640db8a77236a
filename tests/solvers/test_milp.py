"""How a model reaches a solver: from PuLP to arrays, scaled, refused; what solvers make of it is ``test_contract``'s."""

import dataclasses
import importlib.util

import pulp
import pytest

from dlsched.core.errors import SolverMissingError, UsageError
from dlsched.core.status import TerminationStatus
from dlsched.solvers.linear import from_pulp, scaled
from dlsched.solvers.milp import solve_milp


def model(sense, costs, rows, *, constant=0.0, low=0, high=1, integer=True):
    """Variables x0, x1, ... with costs, and rows (coefficients, sense, right-hand side)."""
    problem = pulp.LpProblem("test", sense)
    kind = pulp.LpInteger if integer else pulp.LpContinuous
    variables = [pulp.LpVariable(f"x{index}", low, high, kind) for index in range(len(costs))]
    problem.setObjective(pulp.LpAffineExpression(list(zip(variables, costs, strict=True)), constant))
    for index, (coefficients, row_sense, right) in enumerate(rows):
        expression = pulp.LpAffineExpression(list(zip(variables, coefficients, strict=True)))
        problem.addConstraint(pulp.LpConstraint(expression, row_sense, f"row{index}", right))
    return problem


def test_a_model_becomes_arrays():
    """Rows, bounds and costs of a model of three variables, by hand."""
    problem = model(
        pulp.LpMaximize,
        [1.5, -2.0, 0.0],
        [
            ([1, 0, 2], pulp.LpConstraintLE, 4),
            ([0, -1, 1], pulp.LpConstraintGE, -3),
            ([1, 1, 1], pulp.LpConstraintEQ, 2),
        ],
        constant=5.0,
        low=-1,
        high=None,
    )
    arrays = from_pulp(problem)
    assert (arrays.costs.tolist(), arrays.constant, arrays.sign) == ([1.5, -2.0, 0.0], 5.0, -1.0)
    assert arrays.matrix().toarray().tolist() == [[1.0, 0.0, 2.0], [0.0, -1.0, 1.0], [1.0, 1.0, 1.0]]
    assert arrays.row_lower.tolist() == [float("-inf"), -3.0, 2.0]
    assert arrays.row_upper.tolist() == [4.0, float("inf"), 2.0]
    assert arrays.lower.tolist() == [-1.0] * 3
    assert arrays.upper.tolist() == [float("inf")] * 3


def test_unknown_and_missing_solvers(monkeypatch):
    """A name that does not exist is misuse and lists those that do; one that is not installed says what to install."""
    problem = model(pulp.LpMinimize, [1], [([1], pulp.LpConstraintGE, 2)], high=5)
    with pytest.raises(UsageError, match="found 'nosuch', allowed: highs, cbc, scip, cpsat, gurobi"):
        solve_milp(problem, solver="nosuch")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(SolverMissingError, match=r"pip install pyscipopt$"):
        solve_milp(problem, solver="scip")
    with pytest.raises(SolverMissingError, match=r"solver gurobi is not here; .* pip install 'dlsched\[gurobi\]'$"):
        solve_milp(problem, solver="gurobi")


def test_highs_is_asked_again_without_presolve_after_an_error(monkeypatch):
    """An answer that HiGHS itself rejects is no answer: a second solve without presolve is, and errors twice stay errors."""
    from dlsched.solvers import highs

    asked = []
    solve = highs._solve

    def rejecting(model, limits, *, presolve):
        asked.append(presolve)
        outcome = solve(model, limits, presolve=presolve)
        return dataclasses.replace(outcome, status=TerminationStatus.SOLVER_ERROR) if presolve else outcome

    monkeypatch.setattr(highs, "_solve", rejecting)
    problem = model(pulp.LpMinimize, [1], [([1], pulp.LpConstraintGE, 2)], high=5)
    assert solve_milp(problem, isolated=False).objective == 2.0
    assert asked == [True, False]


def test_scaling_changes_no_digit():
    """Costs to 2**16 .. 2**17, a row of fractions up to 1, whole rows of a few thousand as they are."""
    problem = pulp.LpProblem("m", pulp.LpMaximize)
    x, y = (pulp.LpVariable(name, 0, 9, cat="Integer") for name in "xy")
    z = pulp.LpVariable("z", 0, 1)
    problem += 3e-12 * x + 1e-12 * y + 5.0
    problem += 1e-6 * x + 3e-7 * y <= 2.5e-6, "small"
    problem += 3000 * x + 2 * y <= 6001, "whole"
    problem += 3e9 * x + 2 * z <= 6001, "mixed"
    problem += 3e9 * x + 2.5 * y <= 6001, "large"
    model = from_pulp(problem)
    brought, unit = scaled(model)
    assert brought.costs * unit == pytest.approx(model.costs, rel=0, abs=0)
    assert 2**16 <= abs(brought.costs).max() < 2**17
    factor = [high / low for low, high in zip(brought.row_upper, model.row_upper, strict=True)]
    assert factor == [2.0**-20, 1.0, 1.0, 2.0**12]
    for index, times in enumerate(factor):
        assert [a * times for a in brought.row(index)[1]] == model.row(index)[1]
    assert (brought.constant, model.constant) == (0.0, 5.0)
