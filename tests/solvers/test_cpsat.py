"""CP-SAT works in integers: what the rounding of costs gives away is taken off its bound."""

import math
from types import SimpleNamespace

import numpy as np
import pulp
import pytest
from ortools.sat.python import cp_model

from dlsched.core.errors import UsageError
from dlsched.core.limits import Limits
from dlsched.core.status import TerminationStatus
from dlsched.ring_allocation import generate
from dlsched.ring_allocation.formulations import build_milp
from dlsched.solvers.cpsat import _whole_costs, status_of
from dlsched.solvers.linear import from_pulp
from dlsched.solvers.milp import solve_milp


def choice(costs, sense=pulp.LpMinimize):
    """Exactly one of the variables is 1."""
    problem = pulp.LpProblem("choice", sense)
    variables = [pulp.LpVariable(f"x{index}", 0, 1, pulp.LpInteger) for index in range(len(costs))]
    problem.setObjective(pulp.LpAffineExpression(list(zip(variables, costs, strict=True))))
    row = pulp.LpAffineExpression([(variable, 1) for variable in variables])
    problem.addConstraint(pulp.LpConstraint(row, pulp.LpConstraintEQ, "one", 1))
    return problem


@pytest.mark.parametrize("sense", [pulp.LpMinimize, pulp.LpMaximize])
@pytest.mark.parametrize(
    "costs", [[math.pi, 1e-9, 7e15, 0.1], [1e-300, 3e-300], [1e300, 1.0], [-math.e, 1 / 3, 1e12 + 0.5]], ids=str
)
def test_the_bound_stays_on_its_side(sense, costs):
    """For costs of any magnitude the bound is no better than the true optimum, and near it."""
    outcome = solve_milp(choice(costs, sense), solver="cpsat", isolated=False)
    best = min(costs) if sense == pulp.LpMinimize else max(costs)
    assert outcome.status is TerminationStatus.OPTIMAL
    assert outcome.bound <= best if sense == pulp.LpMinimize else outcome.bound >= best
    assert abs(outcome.bound - best) <= 1e-15 * sum(map(abs, costs)) * len(costs)


@pytest.mark.parametrize("seed", range(20))
def test_scaled_costs_are_within_their_stated_error(seed):
    """Scaled integers fit in 53 bits together, and no 0-1 point is off by more than the error."""
    rng = np.random.default_rng(seed)
    costs = rng.lognormal(0, 8, size=50) * rng.choice([-1, 1], size=50)
    model = from_pulp(choice(costs.tolist()))
    power, whole, error = _whole_costs(model)
    assert sum(map(abs, whole)) <= 2**53 + len(whole)
    off = np.array(whole, dtype=float) / 2.0**power - model.costs
    assert np.abs(off[off > 0].sum()) <= error * (1 + 1e-12)
    assert np.abs(off[off < 0].sum()) <= error * (1 + 1e-12)


def test_rows_scale_exactly_or_are_refused():
    """0.5 x0 + 0.25 x1 <= 0.6 is 2 x0 + x1 <= 2.4; a coefficient of 0.1 is no fraction of a power of two."""
    problem = pulp.LpProblem("rows", pulp.LpMaximize)
    x, y = (pulp.LpVariable(name, 0, 3, pulp.LpInteger) for name in "xy")
    problem.setObjective(pulp.LpAffineExpression([(x, 3), (y, 1)]))
    problem.addConstraint(
        pulp.LpConstraint(pulp.LpAffineExpression([(x, 0.5), (y, 0.25)]), pulp.LpConstraintLE, "r", 0.6)
    )
    outcome = solve_milp(problem, solver="cpsat", isolated=False)
    assert (outcome.objective, outcome.values) == (3.0, {"x": 1.0, "y": 0.0})
    problem.addConstraint(pulp.LpConstraint(pulp.LpAffineExpression([(x, 0.1)]), pulp.LpConstraintLE, "tenth", 1))
    with pytest.raises(UsageError, match="row 'tenth'"):
        solve_milp(problem, solver="cpsat", isolated=False)


def test_fractional_variables_are_refused():
    """A continuous variable is misuse, in the child process too."""
    problem = pulp.LpProblem("c", pulp.LpMinimize)
    problem.setObjective(pulp.LpAffineExpression([(pulp.LpVariable("x", 0, 1), 1)]))
    with pytest.raises(UsageError, match="bounded integers"):
        solve_milp(problem, solver="cpsat")


def test_which_limit_stopped_it():
    """CP-SAT does not say: with a node limit only, it is that one."""
    problem = choice([1.0, 2.0])
    outcome = solve_milp(problem, solver="cpsat", limits=Limits(nodes=0), isolated=False)
    assert outcome.status in (TerminationStatus.NODE_LIMIT, TerminationStatus.OPTIMAL)


@pytest.mark.parametrize(
    ("time_s", "nodes", "wall_time", "conflicts", "status"),
    [
        (2.0, None, 1.999, 10**6, TerminationStatus.TIME_LIMIT),
        (None, 5, 1e6, 0, TerminationStatus.NODE_LIMIT),
        (2.0, 1000, 1.999, 700, TerminationStatus.TIME_LIMIT),  # it may end a little early
        (2.0, 1000, 1.5, 1000, TerminationStatus.NODE_LIMIT),
        (0.0, 1000, 0.01, 0, TerminationStatus.TIME_LIMIT),
        (2.0, 0, 0.01, 0, TerminationStatus.NODE_LIMIT),
        (None, None, 1.0, 1, TerminationStatus.SOLVER_ERROR),
    ],
)
def test_of_two_limits_the_one_that_is_used_up(time_s, nodes, wall_time, conflicts, status):
    """The larger part of it is used."""
    solver = SimpleNamespace(wall_time=wall_time, num_conflicts=conflicts)
    assert status_of(cp_model.UNKNOWN, Limits(time_s=time_s, nodes=nodes), solver) is status
    assert status_of(cp_model.FEASIBLE, Limits(time_s=time_s, nodes=nodes), solver) is status


@pytest.mark.parametrize("seed", range(12))
def test_choices_of_many_counts_do_not_overflow(seed):
    """Presolve adds up cost differences over all counts of a job: sums near 2**63 made half of these models invalid."""
    problem = build_milp(generate(preset="mixed", jobs=12, seed=seed), drop_dominated=True).model
    outcome = solve_milp(problem, solver="cpsat", limits=Limits(nodes=50), isolated=False)
    assert outcome.status in (TerminationStatus.OPTIMAL, TerminationStatus.NODE_LIMIT), outcome.message
