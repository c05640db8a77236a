"""Both formulations: their rows by name, and their optimum by brute force."""

import pulp
import pyomo.environ as pyo
import pytest
from documented import assert_named, documented
from hypothesis import given, settings

from dlsched.core.errors import UsageError
from dlsched.core.status import TerminationStatus
from dlsched.ring_allocation import Allocation, check, example, objective, solve
from dlsched.ring_allocation.formulations import build_arrays, build_milp, build_minlp, laws
from dlsched.solvers.milp import solve_milp
from dlsched.testing import brute_force, ring_allocation_instances

from .jobs import build

SETTINGS = settings(max_examples=15, derandomize=True, deadline=None, database=None)


def test_milp_rows_and_columns_by_name():
    """Two jobs on six GPUs: columns of the counts with room for the other job, a choice row each, one capacity."""
    problem = build_milp(example()).model
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
    jobs = {"id": "a b", "epoch_time_s": {1: 2.0}}, {"id": "[x]", "epoch_time_s": {1: 3.0, 2: 1.0}}
    formulation = build_milp(build(3, *jobs))
    assert set(formulation.model.constraints) == {"capacity", "choice_j0", "choice_j1"}
    assert formulation.decode({"x_j0_1": 1.0, "x_j1_2": 0.999999}).gpus == {"a b": 1, "[x]": 2}


def test_dominated_counts_can_be_left_out():
    """Three GPUs that are no faster than two make no column."""
    instance = build(9, [5.0, 3.0, 3.0, 1.0])
    assert len(build_milp(instance).model.variables()) == 4
    names = [variable.name for variable in build_milp(instance, drop_dominated=True).model.variables()]
    assert sorted(names) == ["x_a_1", "x_a_2", "x_a_4"]


def test_arrays_hold_open_pairs_on_their_grid():
    """Hull answers 3 and 2 GPUs, 2 + 4, 2 more than the least of both: one GPU for a, 6 more, is out. Counts are 2 apart."""
    formulation = build_arrays(build(7, {1: 8.0, 3: 2.0}, {2: 4.0, 4: 3.5, 6: 2.0}))
    model = formulation.model
    assert model.names == ["x_a_3", "x_b_2", "x_b_4", "x_b_6"]
    assert model.row_names == ["capacity", "choice_a", "choice_b"]
    assert model.matrix().toarray().tolist() == [[1, 1, 2, 3], [1, 0, 0, 0], [0, 1, 1, 1]]
    assert model.row_upper.tolist() == [3.0, 1.0, 1.0]
    assert formulation.decode({"x_a_3": 1.0, "x_b_4": 0.9999999}).gpus == {"a": 3, "b": 4}


@SETTINGS
@given(ring_allocation_instances(feasible=True))
def test_milp_optimum_is_brute_forces(instance):
    """HiGHS finds the brute-force optimum, of the model to export and of its arrays; decoded, it passes the checker."""
    value, _ = brute_force(instance)
    for formulation in (build_milp(instance), build_arrays(instance)):
        outcome = solve_milp(formulation.model, solver="highs", isolated=False)
        allocation = formulation.decode(outcome.values)
        assert check(instance, allocation) == []
        assert objective(instance, allocation) == pytest.approx(value, rel=1e-9)


@SETTINGS
@given(ring_allocation_instances(feasible=True))
def test_a_start_is_a_point_of_the_model(instance):
    """The brute-force answer as start values fulfils every row at the optimum's cost."""
    value, allocation = brute_force(instance)
    formulation = build_milp(instance, start=allocation)
    problem = formulation.model
    for variable in problem.variables():
        variable.varValue = formulation.start.get(variable.name, 0.0)
    assert all(row.valid() for row in problem.constraints.values())
    assert pulp.value(problem.objective) == pytest.approx(value, rel=1e-12, abs=1e-12)
    assert formulation.decode(formulation.start) == allocation
    assert build_arrays(instance, start=allocation).start == formulation.start
    assert build_milp(instance).start is None


LAW = {"theta": [2.0, 1.0, 0.0, 0.5], "samples": 8.0, "model_bytes": 0.0}
"""tau(w) = 16 / w + w - 0.5: 16.5, 9.5, 7.83, 7.5, 7.7 on 1 to 5 GPUs."""


def small():
    """A table and a law with a restart; hull answers 1 and 4 GPUs, 30 + 8, 10 above the least of both: all is open."""
    return build(5, {1: 30.0, 4: 20.0, 9: 1.0}, {"speed_law": LAW, "current_gpus": 2, "restart_s": 0.5})


def test_minlp_components_by_name():
    """The rows that the module's table names exist: for a table, a law, and a restart; units are beyond the least count."""
    formulation = build_minlp(small())
    program = formulation.model
    assert {index: program.w[index].bounds for index in (0, 1)} == {0: (0, 3), 1: (0, 3)}
    assert set(program.x) == {(0, 1), (0, 4)}
    assert set(program.kept) == {1}
    sizes = {name: len(program.component(name)) for name in ("choice", "count", "kept_least", "kept_most")}
    assert sizes == dict.fromkeys(sizes, 1)
    assert program.capacity.upper() == 3
    assert (laws(program), formulation.constant) == (1, 0.0)
    assert 2**16 <= 30.0 / formulation.unit <= 2**17


def test_minlp_leaves_out_what_no_better_answer_holds():
    """Hull gives 4 and 2 GPUs, 3 + 4: more than 4 + 7 - 3 - 4 above a job's least is out, and one count left is a constant."""
    formulation = build_minlp(build(6, {1: 1e9, 4: 3.0}, {1: 5.0, 2: 4.0}))
    assert formulation.model is None
    assert formulation.constant == 7.0
    assert formulation.decode({}).gpus == {"a": 4, "b": 2}


def test_minlp_counts_on_their_grid():
    """Counts 10^12 apart are 0, 1, 2 in the model; where they are not, SCIP is not asked."""
    times, gpus = {1: 9.0, 1 + 10**12: 7.5, 1 + 2 * 10**12: 3.0}, 2 + 3 * 10**12
    formulation = build_minlp(build(gpus, times, times))
    assert [formulation.model.w[index].ub for index in (0, 1)] == [2, 2]
    assert formulation.model.capacity.upper() == 3
    with pytest.raises(UsageError, match=r"minlp: found counts that are .* x 2 GPUs apart"):
        build_minlp(build(gpus, times, times | {7: 8.0}))


@pytest.mark.parametrize("power", [-60, 0, 60])
def test_minlp_does_not_depend_on_the_unit_of_time(power):
    """Times 2^-60 and 2^60 as long: the optimum, 2^-60 and 2^60 times as much, is proven alike."""
    instance = build(8, *[LAW | {"samples": 8.0 + n} for n in range(3)], epochs=2.0**power, current_gpus=9)
    result = solve(instance, method="minlp")
    assert result.status is TerminationStatus.OPTIMAL
    assert result.objective == pytest.approx(brute_force(instance)[0], rel=1e-12)
    assert result.bound == pytest.approx(result.objective, rel=1e-9)


def test_minlp_of_two_laws_that_scip_10_takes_for_symmetric():
    """1 / w + w and 3 / w + w on four GPUs, weight 2: 2 (1 + 0) + 2 (1.5 + 1) = 7 with 1 and 2 GPUs, not 8."""
    law = {"theta": [1.0, 1.0, 0.0, 0.0], "model_bytes": 0.0}
    result = solve(build(4, law | {"samples": 1.0}, law | {"samples": 3.0}, weight=2.0), method="minlp")
    assert result.solution == Allocation({"a": 1, "b": 2})


def test_minlp_evaluates_to_the_checkers_objective():
    """At a point set by hand the Pyomo objective is the checker's, in units of ``unit``."""
    instance = small()
    formulation = build_minlp(instance)
    program = formulation.model
    for a, b in ((1, 1), (4, 2), (1, 4)):
        program.w[0], program.w[1] = a - 1, b - 1
        program.x[0, 1], program.x[0, 4] = int(a == 1), int(a == 4)
        program.kept[1] = int(b == 2)
        expected = objective(instance, Allocation({"a": a, "b": b}))
        assert pyo.value(program.time_left) * formulation.unit == pytest.approx(expected, rel=1e-12)


def test_models_of_infeasible_instances_are_infeasible_models():
    """A job larger than the cluster: the solver of the model to export says infeasible; the others are not built."""
    instance = build(2, {4: 1.0})
    assert solve_milp(build_milp(instance).model, isolated=False).status is TerminationStatus.INFEASIBLE
    for refused in (build_arrays, build_minlp):
        with pytest.raises(UsageError, match="infeasible"):
            refused(instance)


def test_every_row_of_the_minlp_is_documented_and_the_other_way_round() -> None:
    """Constraints, objective and variables of the Pyomo model of a table and of a law with a restart are the README's."""
    model = build_minlp(small()).model
    rows = [row.name for row in model.component_objects((pyo.Constraint, pyo.Objective))]
    assert_named(rows, documented("ring_allocation", "minlp", "Rows"))
    variables = [variable.name for variable in model.component_data_objects(pyo.Var)]
    assert_named(variables, documented("ring_allocation", "minlp", "Variables"))
