"""What every MILP solver must pass: optimal, infeasible, limits, unbounded, starts, incumbents, both senses and modes."""

import dataclasses
import itertools
import random

import pulp
import pytest

from dlsched.core.errors import SolverMissingError, UsageError
from dlsched.core.limits import Limits
from dlsched.core.status import TerminationStatus
from dlsched.solvers import availability
from dlsched.solvers.linear import from_pulp, scaled
from dlsched.solvers.milp import solve_milp

SOLVERS = ("highs", "cbc", "scip", "cpsat")
every_solver = pytest.mark.parametrize("solver", SOLVERS)
INTEGER_ONLY = "cpsat"


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


def packing(items=24, seed=1, constant=0.0):
    """Maximise nearly proportional values within half of the weight: many nodes for a branch and bound."""
    weights = [random.Random(seed * 100 + index).randint(1000, 9999) for index in range(items)]
    values = [weight + 100 for weight in weights]
    return model(
        pulp.LpMaximize, values, [([2 * w for w in weights], pulp.LpConstraintLE, sum(weights))], constant=constant
    )


def covering(items=24, seed=1, constant=0.0):
    """The mirror image: minimise, cover at least half."""
    weights = [random.Random(seed * 100 + index).randint(1000, 9999) for index in range(items)]
    values = [weight + 100 for weight in weights]
    return model(
        pulp.LpMinimize, values, [([2 * w for w in weights], pulp.LpConstraintGE, sum(weights))], constant=constant
    )


def enumerate_best(problem):
    """Best objective over all 0-1 points."""
    arrays = from_pulp(problem)
    points = itertools.product((0, 1), repeat=len(arrays.names))
    sums = []
    for point in points:
        inside = all(
            low <= sum(a * point[c] for c, a in zip(*arrays.row(row), strict=True)) <= high
            for row, (low, high) in enumerate(zip(arrays.row_lower, arrays.row_upper, strict=True))
        )
        if inside:
            sums.append(sum(c * x for c, x in zip(arrays.costs.tolist(), point, strict=True)) + arrays.constant)
    return min(sums) if arrays.sign > 0 else max(sums)


@every_solver
@pytest.mark.parametrize("isolated", [True, False])
@pytest.mark.parametrize("build", [packing, covering])
def test_optimum_equals_enumeration(solver, isolated, build):
    """Minimum and maximum, constant included, with the bound meeting the objective."""
    problem = build(items=12, constant=1234.5)
    best = enumerate_best(problem)
    outcome = solve_milp(problem, solver=solver, isolated=isolated)
    assert outcome.status is TerminationStatus.OPTIMAL
    assert outcome.objective == pytest.approx(best, rel=1e-9)
    assert outcome.bound == pytest.approx(best, rel=1e-9)
    point = {name: round(value) for name, value in outcome.values.items()}
    total = sum(cost * point[variable.name] for variable, cost in problem.objective.items())
    assert total + 1234.5 == pytest.approx(best, rel=1e-12)
    assert outcome.solver.startswith(availability.SOLVERS[solver].full_name)


@every_solver
@pytest.mark.parametrize(
    "problem",
    [
        model(pulp.LpMinimize, [1], [([2], pulp.LpConstraintEQ, 3)], high=10),  # an odd number halved
        model(pulp.LpMinimize, [1], [([2], pulp.LpConstraintGE, 30)], high=10),  # beyond the bounds
        model(pulp.LpMinimize, [1, 1], [([1, 1], pulp.LpConstraintGE, 3)]),
        model(pulp.LpMaximize, [1, 1], [([2, 4], pulp.LpConstraintEQ, 5)], high=99),
    ],
    ids=["parity", "bounds", "sum", "even"],
)
def test_infeasible(solver, problem):
    """A bounded model without an integer point is proven infeasible; nothing is held or bounded."""
    outcome = solve_milp(problem, solver=solver, isolated=False)
    assert outcome.status is TerminationStatus.INFEASIBLE, outcome.message
    assert (outcome.values, outcome.objective, outcome.bound) == (None, None, None)


@every_solver
@pytest.mark.parametrize("build", [packing, covering])
@pytest.mark.parametrize("limits", [Limits(nodes=0), Limits(nodes=1), Limits(nodes=7)], ids=str)
def test_bounds_at_a_node_limit_are_true(solver, build, limits):
    """Stopped early or not: bound and incumbent lie on their sides of the optimum, the constant counted once."""
    problem = build(constant=-777.25)
    best = solve_milp(problem, solver="scip", isolated=False).objective
    outcome = solve_milp(problem, solver=solver, limits=limits, isolated=False)
    assert outcome.status in (TerminationStatus.NODE_LIMIT, TerminationStatus.OPTIMAL), outcome.message
    sign = 1 if problem.sense == pulp.LpMinimize else -1
    if outcome.bound is not None:
        assert sign * outcome.bound <= sign * best + 1e-6
    if outcome.objective is not None:
        assert sign * outcome.objective >= sign * best - 1e-6


@every_solver
@pytest.mark.parametrize("isolated", [True, False])
def test_zero_time(solver, isolated):
    """No time at all: a time limit, and no claim that is not so."""
    problem = packing(30)
    outcome = solve_milp(problem, solver=solver, limits=Limits(time_s=0.0), isolated=isolated)
    assert outcome.status is TerminationStatus.TIME_LIMIT
    if outcome.bound is not None:
        assert outcome.bound >= solve_milp(problem, solver="highs", isolated=False).objective - 1e-6


@every_solver
def test_unbounded_is_an_error(solver):
    """Minimising without a lower end: an error with the solver's words; CP-SAT refuses unbounded variables at once."""
    problem = model(pulp.LpMinimize, [1.0], [([1.0], pulp.LpConstraintLE, 3)], low=None, high=None)
    if solver == INTEGER_ONLY:
        with pytest.raises(UsageError, match="bounded integers"):
            solve_milp(problem, solver=solver)
        return
    outcome = solve_milp(problem, solver=solver, isolated=False)
    assert outcome.status is TerminationStatus.SOLVER_ERROR
    assert "unbounded" in outcome.message.lower()
    assert outcome.bound is None


@pytest.mark.parametrize("solver", ["highs", "cbc", "scip"])
def test_continuous_variables(solver):
    """A linear program: max x0 + 2 x1, x0 + x1 <= 1.5 in [0, 1]: 2.5."""
    problem = model(pulp.LpMaximize, [1, 2], [([1, 1], pulp.LpConstraintLE, 1.5)], integer=False)
    outcome = solve_milp(problem, solver=solver, isolated=False)
    assert outcome.status is TerminationStatus.OPTIMAL
    assert outcome.objective == pytest.approx(2.5)
    assert outcome.values["x0"] == pytest.approx(0.5)


@every_solver
def test_no_rows_and_no_costs(solver):
    """Degenerate models: only bounds, or only a constant to minimise."""
    outcome = solve_milp(model(pulp.LpMinimize, [3], [], low=2, high=5), solver=solver, isolated=False)
    assert (outcome.status, outcome.objective) == (TerminationStatus.OPTIMAL, 6.0)
    flat = model(pulp.LpMinimize, [0, 0], [([1, 1], pulp.LpConstraintGE, 1)], constant=7.0)
    outcome = solve_milp(flat, solver=solver, isolated=False)
    assert (outcome.status, outcome.objective, outcome.bound) == (TerminationStatus.OPTIMAL, 7.0, 7.0)


@every_solver
@pytest.mark.parametrize("isolated", [True, False])
def test_start_solutions_and_incumbents(solver, isolated):
    """A start changes nothing but the way; incumbents that are reported are feasible, and none beats the optimum."""
    problem = packing(16)
    arrays = from_pulp(problem)
    best = enumerate_best(problem)
    heard = []
    outcome = solve_milp(problem, solver=solver, start={"x0": 1.0}, found=heard.append, isolated=isolated)
    assert outcome.status is TerminationStatus.OPTIMAL
    assert outcome.objective == pytest.approx(best, rel=1e-9)
    for incumbent in heard:
        assert set(incumbent) == set(arrays.names)
        point = [incumbent[name] for name in arrays.names]
        columns, coefficients = arrays.row(0)
        assert sum(a * point[c] for c, a in zip(columns, coefficients, strict=True)) <= arrays.row_upper[0] + 1e-3
        assert sum(c * x for c, x in zip(arrays.costs, point, strict=True)) <= best + 1e-3
    if solver in ("scip", "cpsat"):
        assert heard


@pytest.mark.parametrize("solver", ["cbc", "scip", "cpsat"])
def test_a_start_is_held_when_there_is_no_room_to_search(solver):
    """With a start and a node limit the answer is at least as good as the start."""
    problem = packing(40, seed=3)
    outcome = solve_milp(problem, solver=solver, start={"x0": 1.0}, limits=Limits(nodes=1), isolated=False)
    if outcome.objective is not None:
        assert outcome.objective >= problem.objective[problem.variablesDict()["x0"]] - 1e-6


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
    with pytest.raises(UsageError, match="found 'gurobi', allowed: highs, cbc, scip, cpsat"):
        solve_milp(packing(4), solver="gurobi")
    monkeypatch.setattr(availability.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(SolverMissingError, match="pip install pyscipopt"):
        solve_milp(packing(4), solver="scip")


@every_solver
def test_versions(solver):
    """Every solver tells its name and a number."""
    version = availability.SOLVERS[solver].version()
    assert version.startswith(availability.SOLVERS[solver].full_name)
    assert any(letter.isdigit() for letter in version)


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


@pytest.mark.parametrize("solver", ["highs", "cbc", "scip", "cpsat"])
@pytest.mark.parametrize("size", [1e-9, 1.0, 1e10])
def test_costs_of_all_magnitudes(solver, size):
    """Choose the cheaper of 3 and 2.9999 (in any unit), and 7 of a constant: none of it is lost in a tolerance."""
    problem = pulp.LpProblem("m", pulp.LpMinimize)
    x, y = (pulp.LpVariable(name, cat="Binary") for name in "xy")
    problem += 3 * size * x + 2.9999 * size * y + 7 * size
    problem += 2.0**-12 * x + 2.0**-12 * y >= 2.0**-12, "choice"
    outcome = solve_milp(problem, solver=solver, isolated=False)
    assert outcome.status is TerminationStatus.OPTIMAL
    assert outcome.values == pytest.approx({"x": 0.0, "y": 1.0}, abs=1e-9)
    assert outcome.objective == pytest.approx(9.9999 * size, rel=1e-12)
    assert outcome.bound == pytest.approx(9.9999 * size, rel=1e-7)


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


@pytest.mark.parametrize("solver", ["highs", "cbc", "scip"])
def test_slack_of_a_variable_whose_bounds_nearly_meet(solver):
    """At z = 1, w = 0 the objective t - w is 2**-31; solvers fix t, which has no more room than their tolerance, at 0."""
    problem = pulp.LpProblem("narrow", pulp.LpMaximize)
    t, z, w = pulp.LpVariable("t", 0, 2.0**-31), pulp.LpVariable("z", 0, 1, pulp.LpInteger), pulp.LpVariable("w", 0, 3)
    problem += t - w
    problem += t <= 2.0**-31 * z
    problem += t + w <= 1
    problem += z <= 1 - w
    outcome = solve_milp(problem, solver=solver)
    assert outcome.bound + outcome.slack >= 2.0**-31
    assert outcome.slack <= 2.0**-30
