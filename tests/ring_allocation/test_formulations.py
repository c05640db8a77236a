"""Both formulations: their rows by name, and their optimum by brute force."""

import pulp
import pyomo.environ as pyo
import pytest
from hypothesis import given, settings

from dlsched.core.status import TerminationStatus
from dlsched.ring_allocation import Allocation, Instance, check, example, objective
from dlsched.ring_allocation.formulations.milp import build_milp, start_values
from dlsched.ring_allocation.formulations.minlp import build_minlp
from dlsched.solvers.milp import solve_milp
from dlsched.solvers.minlp import solve_minlp
from dlsched.testing import brute_force, ring_allocation_instances

SETTINGS = settings(max_examples=60, derandomize=True, deadline=None, database=None)


def table(name, times, **fields):
    """A job with a table."""
    return {"id": name, "epochs": 1.0, "epoch_time_s": times} | fields


def test_milp_rows_and_columns_by_name():
    """Two jobs on six GPUs: columns of the counts with room for the other job, a choice row each, one capacity."""
    problem, _ = build_milp(example())
    assert {row.name: (row.sense, -row.constant) for row in problem.constraints.values()} == {
        "capacity": (pulp.LpConstraintLE, 6),
        "choice_a": (pulp.LpConstraintEQ, 1),
        "choice_b": (pulp.LpConstraintEQ, 1),
    }
    names = {variable.name for variable in problem.variables()}
    assert names == {"x_a_1", "x_a_2", "x_a_4"} | {f"x_b_{n}" for n in range(1, 6)}
    assert {v.name: a for v, a in problem.constraints["capacity"].items()} == {
        n: int(n.rsplit("_", 1)[1]) for n in names
    }
    costs = {variable.name: cost for variable, cost in problem.objective.items()}
    assert costs["x_a_4"] == 160 * 47.25
    assert costs["x_a_1"] == 160 * 138.0 + 10
    assert all(v.cat == pulp.LpInteger and (v.lowBound, v.upBound) == (0, 1) for v in problem.variables())


def test_ids_that_no_lp_reader_takes_become_positions():
    """Blanks, brackets or names that differ in case only: j0, j1 instead; the decoder gives the ids back."""
    jobs = [table("a b", {"1": 2.0}), table("[x]", {"1": 3.0, "2": 1.0})]
    instance = Instance(name="x", gpus=3, jobs=jobs)
    problem, decode = build_milp(instance)
    assert set(problem.constraints) == {"capacity", "choice_j0", "choice_j1"}
    assert decode({"x_j0_1": 1.0, "x_j1_2": 0.999999}).gpus == {"a b": 1, "[x]": 2}


def test_dominated_counts_can_be_left_out():
    """Three GPUs that are no faster than two make no column."""
    instance = Instance(name="x", gpus=9, jobs=[table("a", {"1": 5.0, "2": 3.0, "3": 3.0, "4": 1.0})])
    assert len(build_milp(instance)[0].variables()) == 4
    names = [variable.name for variable in build_milp(instance, drop_dominated=True)[0].variables()]
    assert sorted(names) == ["x_a_1", "x_a_2", "x_a_4"]


@SETTINGS
@given(ring_allocation_instances())
def test_milp_optimum_is_brute_forces(instance):
    """HiGHS finds the brute-force optimum, or infeasible where there is none; the decoded answer passes the checker."""
    problem, decode = build_milp(instance)
    outcome = solve_milp(problem, solver="highs", isolated=False)
    found = brute_force(instance)
    if found is None:
        assert outcome.status is TerminationStatus.INFEASIBLE
        return
    allocation = decode(outcome.values)
    assert check(instance, allocation) == []
    assert objective(instance, allocation) == pytest.approx(found[0], rel=1e-9, abs=1e-6)


@SETTINGS
@given(ring_allocation_instances(feasible=True))
def test_a_start_is_a_point_of_the_model(instance):
    """The brute-force answer as start values fulfils every row at the optimum's cost."""
    value, allocation = brute_force(instance)
    problem, decode = build_milp(instance)
    start = start_values(instance, allocation)
    for variable in problem.variables():
        variable.varValue = start.get(variable.name, 0.0)
    assert all(row.valid() for row in problem.constraints.values())
    assert pulp.value(problem.objective) == pytest.approx(value, rel=1e-12, abs=1e-12)
    assert decode(start) == allocation


def test_minlp_components_by_name():
    """The rows that the module's table names exist: for a table job, a law job, and a restart."""
    model, _, unit_s = build_minlp(example())
    assert model.w[0].bounds == (1, 6)
    assert set(model.x) == {(0, 1), (0, 2), (0, 4)}
    assert set(model.speed) == {0}
    assert set(model.kept) == {0}
    sizes = {name: len(model.component(name)) for name in ("choice", "count", "table", "kept_least", "kept_most")}
    assert sizes == dict.fromkeys(sizes, 1)
    assert model.capacity.upper() == 6
    assert unit_s > 0


@SETTINGS
@given(ring_allocation_instances(max_jobs=4, max_gpus=10, feasible=True))
def test_minlp_optimum_is_brute_forces(instance):
    """SCIP proves the brute-force optimum of the program as the paper writes it, within 1e-6."""
    model, decode, unit_s = build_minlp(instance)
    outcome = solve_minlp(model, isolated=False)
    value, _ = brute_force(instance)
    assert outcome.status is TerminationStatus.OPTIMAL, outcome.message
    allocation = decode(outcome.values)
    assert check(instance, allocation) == []
    assert objective(instance, allocation) == pytest.approx(value, rel=1e-6, abs=1e-6)
    assert outcome.bound * unit_s <= value + 1e-6 * max(1.0, value)


def test_minlp_of_two_laws_that_scip_10_takes_for_symmetric():
    """1 / w + w and 3 / w + w on four GPUs, weight 2: 2 (1 + 0) + 2 (1.5 + 1) = 7 with 1 and 2 GPUs, not 8."""
    law = {"theta": [1.0, 1.0, 0.0, 0.0], "model_bytes": 0.0}
    jobs = [{"id": f"j{m}", "epochs": 1.0, "weight": 2.0, "speed_law": law | {"samples": m}} for m in (1.0, 3.0)]
    instance = Instance(name="x", gpus=4, jobs=jobs)
    model, decode, _ = build_minlp(instance)
    allocation = decode(solve_minlp(model, isolated=False).values)
    assert allocation == Allocation({"j1.0": 1, "j3.0": 2})


def test_minlp_evaluates_to_the_checkers_objective():
    """At a point set by hand the Pyomo objective is the checker's, in units of ``unit_s``."""
    instance = example()
    model, _, unit_s = build_minlp(instance)
    for a, b in ((1, 1), (4, 2), (2, 4)):
        model.w[0], model.w[1] = a, b
        model.speed[0] = 1 / instance.jobs[0].epoch_time_s[a]
        model.kept[0] = int(a == 4)
        expected = objective(instance, Allocation({"a": a, "b": b}))
        assert pyo.value(model.time_left) * unit_s == pytest.approx(expected, rel=1e-12)


def test_models_of_infeasible_instances_are_infeasible_models():
    """A job larger than the cluster: both models can be built, and their solvers say infeasible."""
    instance = Instance(name="x", gpus=2, jobs=[table("a", {"4": 1.0})])
    assert solve_milp(build_milp(instance)[0], isolated=False).status is TerminationStatus.INFEASIBLE
    assert solve_minlp(build_minlp(instance)[0], isolated=False).status is TerminationStatus.INFEASIBLE
