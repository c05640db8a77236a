"""The three formulations: their rows by name, and their optimum by brute force."""

import itertools

import numpy as np
import pulp
import pyomo.environ as pyo
import pytest
from conftest import profile
from documented import assert_named, documented
from hypothesis import given
from scipy.optimize import linprog

from dlsched.algorithms.count_vectors import undominated
from dlsched.catalogue.solvers import able
from dlsched.core.errors import UsageError
from dlsched.core.status import TerminationStatus
from dlsched.matching_placement import example
from dlsched.matching_placement.arrays import arrays, counts_of
from dlsched.matching_placement.checker import check, objective
from dlsched.matching_placement.formulations.assignment import build_assignment, build_minlp
from dlsched.matching_placement.formulations.milp import build_milp, configurations
from dlsched.solvers.linear import from_pulp
from dlsched.solvers.milp import solve_milp
from dlsched.solvers.minlp import solve_minlp
from dlsched.testing import brute_force_placement, matching_placement_instances

from . import draw


def made(*jobs, types="vvt", ids=None):
    """Workers of one-letter types, and jobs of 12 samples and 6 bytes."""
    workers = types if ids is None else dict(zip(ids, types, strict=True))
    every = [draw.entry({}, 12, iterations=10, gradient=6) | job for job in jobs]
    return draw.made(workers, *every, bandwidth={"v": 4.0, "t": 2.0})


TWO = made(
    {"id": "a", "samples_per_s": {"v": 4.0, "t": 2.0}, "max_workers": 2}, {"id": "b", "samples_per_s": {"t": 6.0}}
)


def agree(instance, built, outcome):
    """The outcome is brute force's: infeasible, or a checked placement at the optimum with a bound no higher."""
    found = brute_force_placement(instance)
    if found is None:
        assert outcome.status is TerminationStatus.INFEASIBLE
        return
    assert outcome.status is TerminationStatus.OPTIMAL, outcome.message
    placement = built.decode(outcome.values)
    assert check(instance, placement) == []
    assert objective(instance, placement) == pytest.approx(found[0], rel=1e-6)
    assert outcome.bound * built.unit <= found[0] * (1 + 1e-6)


def test_milp_rows_and_columns_by_name():
    """Job a on v and t, at most two workers; job b on t only: five columns, a choice row each, a stock row a type."""
    built = build_milp(TWO)
    problem, decode = built.model, built.decode
    assert {row.name: (row.sense, -row.constant) for row in problem.constraints.values()} == {
        "choice_a": (pulp.LpConstraintEQ, 1),
        "choice_b": (pulp.LpConstraintEQ, 1),
        "stock_v": (pulp.LpConstraintLE, 2),
        "stock_t": (pulp.LpConstraintLE, 1),
    }
    costs = {variable.name: cost for variable, cost in problem.objective.items()}
    assert set(costs) == {"x_a_0_1", "x_a_1_0", "x_a_1_1", "x_a_2_0", "x_b_0_1"}
    assert costs["x_a_1_1"] == 10 * (12 / 6 + 6 / 2) / 2
    assert {v.name: a for v, a in problem.constraints["stock_v"].items()} == {"x_a_1_0": 1, "x_a_1_1": 1, "x_a_2_0": 2}
    assert all(v.cat == pulp.LpInteger and (v.lowBound, v.upBound) == (0, 1) for v in problem.variables())
    assert decode({"x_a_2_0": 0.999999, "x_b_0_1": 1.0}).workers == {"a": ("w0", "w1"), "b": ("w2",)}


def test_many_types_make_numbers_for_names():
    """Nine types of one worker: the counts are the digits of a number; all names differ."""
    types = "abcdefghi"
    instance = made({"id": "j", "samples_per_s": dict.fromkeys(types, 1.0)}, types=types)
    built = build_milp(instance)
    problem, decode = built.model, built.decode
    assert {v.name for v in problem.variables()} == {f"x_j_{number}" for number in range(1, 2**9)}
    assert decode({"x_j_5": 1.0}).workers == {"j": ("w0", "w2")}


def test_too_many_columns_are_refused():
    """Six types of ten workers: 11**6 - 1 configurations of one job."""
    instance = made({"id": "j", "samples_per_s": dict.fromkeys("abcdef", 1.0)}, types="abcdef" * 10)
    with pytest.raises(UsageError, match=r"1771560 columns or more, .* allowed: up to 200000"):
        build_milp(instance)
    one = [np.array([[1, 0, 0, 0, 0, 0]])]
    assert [v.name for v in build_milp(instance, columns=one).model.variables()] == ["x_j_1_0_0_0_0_0"]


def test_ids_that_make_ambiguous_names_become_positions():
    """Worker a_b of job c, worker a of job b_c: positions of workers instead."""
    rates = {"samples_per_s": {"v": 4.0}}
    instance = made({"id": "c", **rates}, {"id": "b_c", **rates}, types="vv", ids=["a", "a_b"])
    built = build_assignment(instance)
    problem, decode = built.model, built.decode
    assert {v.name for v in problem.variables() if v.name[0] == "x"} == {"x_w0_c", "x_w0_b_c", "x_w1_c", "x_w1_b_c"}
    assert decode({"x_w0_b_c": 1.0, "x_w1_c": 1.0}).workers == {"c": ("a_b",), "b_c": ("a",)}


def test_assignment_rows_by_name():
    """All rows of the module's table, each as often as it should be; every variable is bounded."""
    problem = build_assignment(TWO).model
    names = sorted(problem.constraints)
    singles = [f"{rule}_{job}" for rule in ("batch", "fastest", "served", "size") for job in "ab"]
    pairs = [
        f"{rule}_{pair}" for rule in ("split", "slowest", "bandwidth") for pair in ("w0_a", "w1_a", "w2_a", "w2_b")
    ]
    assert names == sorted([*singles, *pairs, "one_job_w0", "one_job_w1", "one_job_w2", "order_w0_a"])
    assert all(v.lowBound is not None and v.upBound is not None for v in problem.variables())
    rings = {v.name for v in problem.variables() if v.name[0] == "z"}
    assert rings == {"z_a_1_0", "z_a_2_0", "z_a_2_1", "z_b_1_0"}


def test_minlp_components_by_name():
    """The rows that the module's table names exist, and an unknown bandwidth only for jobs that may exchange."""
    built = build_minlp(TWO)
    model = built.model
    sizes = {rule: len(model.component(rule)) for rule in ("one_job", "served", "batch", "rate", "order")}
    assert sizes == {"one_job": 3, "served": 2, "batch": 2, "rate": 2, "order": 1}
    assert {len(model.component(rule)) for rule in ("split", "slowest")} == {4}
    assert (len(model.bandwidth), set(model.e)) == (1, {0})  # one of three workers is slower than others
    assert built.unit == (10 * 12 / 8 + 10 * 12 / 6) / 2


@profile(30)
@given(matching_placement_instances())
def test_dominated_configurations_can_be_left_out(instance):
    """Exactly those that another one beats by trying all pairs; the optimum stays."""
    held = arrays(instance)
    for job in range(held.jobs):
        if held.most[job] < held.least[job]:
            continue
        counts = configurations(held, job)
        times = held.times(job, counts)
        beaten = {
            p
            for p, q in itertools.permutations(range(len(times)), 2)
            if (counts[q] <= counts[p]).all() and times[q] <= times[p]
        }
        assert undominated(counts, times).tolist() == [index for index in range(len(times)) if index not in beaten]
    built = build_milp(instance, drop_dominated=True)
    agree(instance, built, solve_milp(built.model, isolated=False))


@profile(30)
@given(matching_placement_instances(feasible=True))
def test_the_optimum_is_a_point_of_the_model_and_the_relaxation_a_bound(instance):
    """The brute-force answer fulfils every row at its mean time; the linear relaxation's value is no more."""
    value, placement = brute_force_placement(instance)
    built = build_milp(instance)
    problem, decode = built.model, built.decode
    wanted = counts_of(instance, placement)
    start = {}
    for variable in problem.variables():
        alone = counts_of(instance, decode({variable.name: 1.0}))
        (job,) = np.flatnonzero(alone.any(axis=1)).tolist()
        if (alone[job] == wanted[job]).all():
            start[variable.name] = 1.0
    for variable in problem.variables():
        variable.varValue = start.get(variable.name, 0.0)
    assert all(row.valid() for row in problem.constraints.values())
    assert pulp.value(problem.objective) == pytest.approx(value, rel=1e-12)
    assert decode(start) == placement
    model = from_pulp(problem)
    matrix, equal = model.matrix(), np.isfinite(model.row_lower)
    rows = {
        "A_eq": matrix[equal],
        "b_eq": model.row_upper[equal],
        "A_ub": matrix[~equal],
        "b_ub": model.row_upper[~equal],
    }
    assert linprog(model.costs, **rows, bounds=(0, 1)).fun <= value * (1 + 1e-9)


@profile(30)
@given(matching_placement_instances(max_workers=5, feasible=True))
def test_minlp_evaluates_to_the_checkers_objective(instance):
    """At the brute-force answer the Pyomo objective is the checker's, in units of ``unit_s``."""
    value, placement = brute_force_placement(instance)
    built = build_minlp(instance)
    model = built.model
    held = arrays(instance)
    for i, job in enumerate(instance.jobs):
        workers = [instance.workers[instance.worker_index[name]] for name in placement.workers[job.id]]
        fastest = np.sort([job.samples_per_s.get(worker.type, 0.0) for worker in instance.workers])[::-1]
        model.l[i] = fastest[: held.most[i]].sum() / sum(job.samples_per_s[worker.type] for worker in workers)
        model.n[i] = len(workers)
        if i in model.e:
            able = [worker for worker in instance.workers if worker.type in job.samples_per_s]
            slowest, here = (min(worker.bandwidth_bytes_per_s for worker in each) for each in (able, workers))
            model.e[i] = slowest / here
    assert pyo.value(model.mean_time) * built.unit == pytest.approx(value, rel=1e-9)


def test_models_of_a_job_that_nobody_can_serve_are_infeasible():
    """All three can be built, and every solver says infeasible."""
    instance = made({"id": "a", "samples_per_s": {"nowhere": 1.0}}, {"id": "b", "samples_per_s": {"v": 1.0}})
    for build in (build_milp, build_assignment):
        for solver in able("milp"):
            outcome = solve_milp(build(instance).model, solver=solver, isolated=False)
            assert outcome.status is TerminationStatus.INFEASIBLE
    assert solve_minlp(build_minlp(instance).model, isolated=False).status is TerminationStatus.INFEASIBLE


def test_every_row_of_the_minlp_is_documented_and_the_other_way_round() -> None:
    """Constraints, objective and variables of the Pyomo model are those of the README."""
    pyo = pytest.importorskip("pyomo.environ")
    model = build_minlp(example()).model
    rows = [row.name for row in model.component_objects((pyo.Constraint, pyo.Objective))]
    assert_named(rows, documented("matching_placement", "minlp", "Rows"))
    variables = [variable.name for variable in model.component_data_objects(pyo.Var)]
    assert_named(variables, documented("matching_placement", "minlp", "Variables"))
