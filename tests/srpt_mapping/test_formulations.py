"""The linear program over layouts: its rows by name, its optimum by brute force, its relaxation, and what decodes it."""

import numpy as np
import pulp
import pytest
from conftest import profile
from hypothesis import given
from scipy.optimize import linprog

from dlsched.catalogue.solvers import able
from dlsched.core.errors import UsageError
from dlsched.core.status import TerminationStatus
from dlsched.families import instance_from
from dlsched.solvers.linear import from_pulp
from dlsched.solvers.milp import solve_milp
from dlsched.srpt_mapping.bounds import length
from dlsched.srpt_mapping.checker import completion_times, objective
from dlsched.srpt_mapping.formulations import milp
from dlsched.srpt_mapping.formulations.milp import build_milp
from dlsched.testing import brute_force_srpt, srpt_mapping_instances

from .builders import made
from .test_placing import of_layouts

SOLVED = 1e-6  # relative, of what a solver with tolerances calls optimal


def values_of(instance, problem, schedule):
    """Values of the model's variables at a schedule: GPUs go to whoever starts, from whoever has ended."""
    order, chosen = of_layouts(instance, schedule)
    names = [job.id for job in instance.jobs]
    ends = completion_times(instance, schedule)
    begins = {job: start.start_s for job, start in schedule.jobs.items()}
    values = dict.fromkeys((variable.name for variable in problem.variables()), 0.0)
    kept, _ = milp._worth_it(instance.on_own_clock())
    for name, held, layout in zip(names, kept, chosen, strict=True):
        values[f"z_{name}_{held.index(layout)}"] = 1.0
        values[f"w_{name}"] = begins[name] - instance.jobs[instance.index[name]].release_s
    ended = {(i, j) for i in names for j in names if i != j and ends[i] <= begins[j] * (1 + 1e-12)}
    for i, j in ended:
        values[f"y_{i}_{j}"] = 1.0
    for server, index in instance.server_index.items():
        holders = [None] * instance.servers[index].gpus
        for name, layout in ((names[i], chosen[i]) for i in order):
            free = [n for n, holder in enumerate(holders) if holder is None or (holder, name) in ended]
            for n in free[: layout.usage[index]]:
                values[f"first_{server}_{name}" if holders[n] is None else f"f_{server}_{holders[n]}_{name}"] += 1
                holders[n] = name
    return values


def in_order_of_twins(instance, schedule):
    """Whether the model keeps the schedule's layouts: it may need other names of equal servers."""
    kept, _ = milp._worth_it(instance.on_own_clock())
    return all(layout in held for held, layout in zip(kept, of_layouts(instance, schedule)[1], strict=True))


@profile(15)
@given(srpt_mapping_instances(feasible=True))
def test_the_optimum_is_a_point_of_the_model_and_the_relaxation_a_bound(instance):
    """The brute-force answer fulfils every row at its sum; the relaxation is no more, and no less than jobs alone."""
    value, schedule = brute_force_srpt(instance)
    formulation = build_milp(instance)
    problem, decode, unit_s = formulation.model, formulation.decode, formulation.unit
    if in_order_of_twins(instance, schedule):
        start = values_of(instance, problem, schedule)
        start |= {name: value / unit_s for name, value in start.items() if name.startswith("w_")}
        assert set(start) == {variable.name for variable in problem.variables()}
        assert all(start[name] == 1 for name in (v.name for v in problem.variables() if v.lowBound == 1))
        for variable in problem.variables():
            variable.varValue = start[variable.name]
            assert variable.lowBound <= start[variable.name] <= variable.upBound + 1e-9 * value
        assert all(row.valid(1e-9 * max(1.0, value)) for row in problem.constraints.values())
        assert pulp.value(problem.objective) * unit_s == pytest.approx(value, rel=1e-12)
        assert objective(instance, decode(start)) == pytest.approx(value, rel=1e-12)
    relaxed = relaxation(problem) * unit_s
    assert relaxed <= value * (1 + SOLVED)
    assert relaxed >= length(instance).value * (1 - SOLVED)


def relaxation(problem):
    """Value of the linear relaxation, by SciPy."""
    model = from_pulp(problem)
    matrix, equal = model.matrix(), model.row_lower == model.row_upper
    up, down = np.isfinite(model.row_upper) & ~equal, np.isfinite(model.row_lower) & ~equal
    return (
        linprog(
            model.costs,
            A_eq=matrix[equal],
            b_eq=model.row_upper[equal],
            A_ub=np.vstack([matrix[up].toarray(), -matrix[down].toarray()]),
            b_ub=np.concatenate([model.row_upper[up], -model.row_lower[down]]),
            bounds=np.column_stack([model.lower, model.upper]),
        ).fun
        + model.constant
    )


def test_milp_rows_and_variables_by_name():
    """Servers of two GPUs and of one; a of all and b of one, both released at 1, of 2 s: every name, and its numbers."""
    formulation = build_milp(made([2, 1], (1, 2, 3), (1, 2, 1)))
    problem, decode = formulation.model, formulation.decode
    pairs, servers = ["a_b", "b_a"], ["s0", "s1"]
    assert sorted(variable.name for variable in problem.variables()) == sorted(
        ["w_a", "w_b", "z_a_0", "z_b_0", "z_b_1", *(f"y_{pair}" for pair in pairs)]
        + [f"first_{server}_{job}" for server in servers for job in "ab"]
        + [f"f_{server}_{pair}" for server in servers for pair in pairs]
    )
    rows = {
        name: (row.sense, -row.constant, {variable.name: each for variable, each in row.items()})
        for name, row in problem.constraints.items()
    }
    assert sorted(rows) == sorted(
        [f"gang_{job}" for job in "ab"]
        + [f"sequence_{pair}" for pair in pairs]
        + ["pair_a_b", "busy_0"]
        + [f"gpus_{server}" for server in servers]
        + [f"{rule}_{server}_{job}" for rule in ("taken", "handed") for server in servers for job in "ab"]
        + [f"flow_{server}_{pair}" for server in servers for pair in pairs]
    )
    assert rows["gang_b"] == (pulp.LpConstraintEQ, 1, {"z_b_0": 1, "z_b_1": 1})
    assert rows["gpus_s0"] == (pulp.LpConstraintLE, 2, {"first_s0_a": 1, "first_s0_b": 1})
    assert rows["taken_s1_b"] == (pulp.LpConstraintEQ, 0, {"first_s1_b": 1, "f_s1_a_b": 1, "z_b_1": -1})
    assert rows["handed_s0_a"] == (pulp.LpConstraintLE, 0, {"f_s0_a_b": 1, "z_a_0": -2})
    assert rows["flow_s0_a_b"] == (pulp.LpConstraintLE, 0, {"f_s0_a_b": 1, "y_a_b": -1})
    assert rows["pair_a_b"] == (pulp.LpConstraintEQ, 1, {"y_a_b": 1, "y_b_a": 1})
    sense, right, terms = rows["sequence_a_b"]
    most = 4 + 6 * milp.MARGIN  # one after the other they flow for 2 + 4 s, of which b needs 2
    assert (sense, right) == (pulp.LpConstraintGE, pytest.approx(-most))
    assert terms == pytest.approx({"w_b": 1, "w_a": -1, "z_a_0": -2, "y_a_b": -most})
    assert problem.variablesDict()["w_a"].upBound == pytest.approx(most - 2)
    # v: 2 s and 2/3 s of the machine; 8/3 (1 + 4/3) - (2 * 2 + 2/3 * 2) / 2, all over 8/3, less the releases of 1 s
    sense, right, terms = rows["busy_0"]
    assert (sense, right) == (pulp.LpConstraintGE, pytest.approx(1 / 3))
    assert terms == pytest.approx({"w_a": 3 / 4, "w_b": 1 / 4})
    schedule = decode({"z_a_0": 1.0, "z_b_1": 0.999999, "w_a": 0.0, "w_b": 2.0000004})
    assert schedule.jobs["b"] == (3.0, ((0, "s1", 1),))


def test_what_cannot_be_is_left_out():
    """Released at 100, b is not over before a, of 2 s at 0, starts in any optimal schedule; and a is over before b comes."""
    problem = build_milp(made([1], (0, 2, 1), (100, 2, 1))).model
    names = problem.variablesDict()
    assert names["y_a_b"].lowBound == 1
    assert not set(names) & {"y_b_a", "f_s0_b_a"}
    rows = {"sequence_b_a", "flow_s0_b_a", "handed_s0_b", "sequence_a_b", "pair_a_b"}
    assert not set(problem.constraints) & rows


def test_a_late_clock_leaves_the_model_as_it_is():
    """At a Unix time the rows are those of time 0; the constant is what the releases add."""
    at_zero, at_unix = (build_milp(made([2, 1], (at + 1, 2, 3), (at + 1, 2, 1))).model for at in (0, 2**31))
    assert (at_zero.objective.constant, at_unix.objective.constant) == (2, 2 + 2**32)
    rows = [{name: str(row) for name, row in problem.constraints.items()} for problem in (at_zero, at_unix)]
    assert rows[0] == rows[1]
    assert {name: (v.lowBound, v.upBound) for name, v in at_zero.variablesDict().items()} == {
        name: (v.lowBound, v.upBound) for name, v in at_unix.variablesDict().items()
    }


def test_layouts_that_take_too_long_are_left_out():
    """Two GPUs on one server take 2 s, on two servers some 1e9 s: no schedule is that patient, and solvers need not see it."""
    problem = build_milp(made([2, 2, 1], (0, 1, 2), (0, 1, 1), ring=8.0, nic=1e-8)).model
    lengths = [cost for variable, cost in problem.objective.items() if variable.name[0] == "z"]
    assert sorted(lengths) == [1.0, 1.0, 1.0, 2.0]  # a on the first of two equal servers


def test_equal_servers_are_not_told_apart_twice():
    """Three equal servers: one of the jobs of one GPU has one layout, the other one three."""
    problem = build_milp(made([2, 2, 2], (0, 2, 1), (0, 2, 1))).model
    assert sorted(variable.name for variable in problem.variables() if variable.name[0] == "z") == [
        "z_a_0", "z_b_0", "z_b_1", "z_b_2"
    ]  # fmt: skip


def test_starts_that_are_equal_up_to_tolerance_follow_y():
    """B starts a little before a by the values, but y puts a first: a of a millisecond does not wait for b."""
    instance = made([1], (0, 1, 1), (0, 1000, 1))
    decode = build_milp(instance).decode
    values = {"z_a_0": 1, "z_b_0": 1, "w_a": 5e-7, "w_b": 0.0}
    assert decode(values).jobs["a"].start_s == 1000.0
    assert decode(values | {"y_a_b": 1.0}).jobs["a"].start_s == 0.0
    assert milp._order([5e-7, 0.0], [(0, 1), (1, 0)]) == [1, 0]  # no order: that of the starts


def test_ids_that_make_ambiguous_names_become_positions():
    """A and a_b could both make y_a_b: positions of jobs instead."""
    instance = made([1], (0, 1, 1), (0, 1, 1))
    data = instance.model_dump()
    data["jobs"][1]["id"] = "a_b"
    formulation = build_milp(type(instance).model_validate(data))
    problem, decode = formulation.model, formulation.decode
    assert {v.name for v in problem.variables() if v.name[0] in "wy"} == {"w_j0", "w_j1", "y_j0_j1", "y_j1_j0"}
    assert set(decode({"w_j0": 1.0}).jobs) == {"a", "a_b"}


def test_a_job_larger_than_the_cluster_makes_an_infeasible_model():
    """Every solver says so."""
    problem = build_milp(made([1, 1], (0, 1, 1), (0, 1, 3))).model
    assert "z_b_none" in {variable.name for variable in problem.variables()}
    for solver in able("milp"):
        assert solve_milp(problem, solver=solver, isolated=False).status is TerminationStatus.INFEASIBLE


def test_building_can_be_stopped_and_too_many_layouts_are_refused():
    """A tick that raises; and twelve servers of eight GPUs for a job of sixteen."""

    def stop():
        raise TimeoutError

    with pytest.raises(TimeoutError):
        build_milp(made([1], (0, 1, 1)), tick=stop)
    with pytest.raises(UsageError, match=r"layouts: found [\d,]+ of all jobs, allowed: 20,000"):
        build_milp(made([8] * 12, (0, 1, 16)))


@pytest.mark.parametrize("scale", [2.0**-40, 1.0, 2.0**30, 2.0**200])
def test_the_unit_of_time_keeps_solvers_exact(scale):
    """Three jobs of 3, 1.5 and 1 s on one GPU, released at 1, 1 and 2 s: 2.5 + 3.5 + 6.5 s, at any scale of time."""
    data = made([1], (scale, 3, 1), (scale, 1.5, 1), (2 * scale, 1, 1)).as_data()
    for job in data["jobs"]:
        job["stages"][0]["compute_s"] = scale
    instance = instance_from(data, "scaled")
    formulation = build_milp(instance)
    problem, decode, unit_s = formulation.model, formulation.decode, formulation.unit
    outcome = solve_milp(problem, solver="highs", isolated=False)
    assert outcome.status is TerminationStatus.OPTIMAL
    assert objective(instance, decode(outcome.values)) == 12.5 * scale
    assert outcome.bound * unit_s == pytest.approx(12.5 * scale, rel=SOLVED)
    assert (unit_s == 1) == (scale == 1)
