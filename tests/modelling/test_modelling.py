"""Models as objects: what ``formulate`` builds, what ``Formulation.solve`` says, and what ``check`` says of it."""

import pulp
import pytest

import dlsched
from dlsched import FAMILIES, Limits, ring_allocation, srpt_mapping
from dlsched.core.status import TerminationStatus
from dlsched.ring_allocation.formulations import build_arrays, build_milp


@pytest.fixture
def instance():
    """Two jobs on six GPUs; the optimum is 9846.03 with 4 and 2."""
    return ring_allocation.example()


@pytest.fixture
def complete(instance):
    return build_milp(instance, complete=True)


@pytest.mark.parametrize("family", FAMILIES)
def test_complete_models_have_the_optimum(family):
    """Of the example of every family, in every formulation; their values are those of the exact method."""
    instance = FAMILIES[family].example()
    known = dlsched.solve(instance)
    for name in FAMILIES[family].formulations:
        try:
            formulation = dlsched.formulate(instance, name, complete=True)
        except dlsched.UsageError as error:
            assert "tick_s" in str(error)
            continue
        assert len(formulation.variables) > 0
        result = formulation.solve(time_limit=60)
        assert result.status is TerminationStatus.OPTIMAL, (name, result)
        assert result.objective == pytest.approx(known.objective, rel=1e-6)
        assert dlsched.verify(instance, result).failures == []


def test_a_side_constraint_changes_the_optimum(complete):
    """4 GPUs are not for a: the best others are 2 and 4, or less; the bound is that of the model."""
    complete.model += complete.variables.gpus["a", 4] == 0
    result = complete.solve()
    assert result.solution.gpus["a"] != 4
    assert result.objective > 9846.03
    assert result.status is TerminationStatus.OPTIMAL
    assert result.bound_source.endswith(", of the model")
    assert result.certificate is None
    assert "of the model" in repr(result)


def test_jobs_may_have_to_wait():
    """Jobs of 100, 1, 1, 1 s on two servers of one GPU, the short ones not before t = 100: 100 + 101 + 101 + 102."""
    stage = {"replicas": 1, "compute_s": 1.0, "output_bytes": 0.0, "parameter_bytes": 0.0}
    instance = srpt_mapping.Instance(
        name="waiting",
        intra_bandwidth_bytes_per_s=1.0,
        nic_bandwidth_bytes_per_s=1.0,
        servers=[{"id": "s0", "gpus": 1}, {"id": "s1", "gpus": 1}],
        jobs=[
            {"id": name, "release_s": 0.0, "iterations": length, "stages": [stage]}
            for name, length in {"long": 100.0, "x": 1.0, "y": 1.0, "z": 1.0}.items()
        ],
    )
    formulation = dlsched.formulate(instance, complete=True)
    for name in "xyz":
        formulation.model += formulation.variables.starts[name] >= 100
    for solver in ("highs", "cbc"):
        result = formulation.solve(solver=solver)
        assert result.status is TerminationStatus.OPTIMAL
        assert result.objective == pytest.approx(404.0)


def test_infeasible_models(instance, complete, tmp_path):
    """No allocation keeps the rows: that is claimed of the model; the instance is not called infeasible."""
    complete.model += pulp.lpSum(complete.variables.gpus["a", n] for n in (1, 2, 4)) == 0
    result = complete.solve()
    assert (result.status, result.solution, result.bound) == (TerminationStatus.INFEASIBLE, None, None)
    assert "the model has no solution" in result.message
    dlsched.write(result, tmp_path / "result.json")
    found = dlsched.verify(instance, dlsched.read_result(tmp_path / "result.json", instance))
    assert found and not any("infeasible" in said for said in (*found.verified, *found.failures))
    assert any("infeasible" in said and "not of the instance" in said for said in found.claimed)


def test_files_of_extended_models(instance, complete, tmp_path):
    """The file says that bound and status are of the model; its bound is no bound of the instance, nor a false one."""
    complete.model += complete.variables.gpus["a", 4] == 0
    result = complete.solve()
    dlsched.write(result, tmp_path / "result.json")
    read = dlsched.read_result(tmp_path / "result.json", instance)
    assert read.of_model and read == result
    found = dlsched.verify(instance, read)
    assert found.failures == []
    assert found.verified_bound is None and found.claimed_bound is None
    assert any("of a model" in said and "optimal there" in said for said in found.claimed)
    assert any("status optimal, of a model" in said for said in found.recomputed)


def test_a_known_optimum_does_not_contradict_an_extended_model(instance):
    """An instance whose file states its optimum: the model's bound above it is no contradiction."""
    data = instance.as_data() | {"known": {"optimum": 9846.03, "proof": "by hand"}}
    stated = ring_allocation.Instance(**{name: value for name, value in data.items() if name != "format"})
    formulation = dlsched.formulate(stated, complete=True)
    formulation.model += formulation.variables.gpus["a", 4] == 0
    assert dlsched.verify(stated, formulation.solve()).failures == []


def test_results_of_methods_are_as_before(instance):
    """Only results of extended models have the field."""
    assert "of_model" not in dlsched.solve(instance, method="milp").as_data()


def test_another_objective(instance, complete):
    """The fewest GPUs: the objective is the instance's own, there is no bound, and the message says what was proven."""
    gpus = complete.variables.gpus
    complete.model.setObjective(pulp.lpSum(n * x for (_, n), x in gpus.items()))
    result = complete.solve()
    assert sum(result.solution.gpus.values()) == 2
    assert result.objective == ring_allocation.objective(instance, result.solution)
    assert (result.status, result.bound) == (TerminationStatus.FEASIBLE, None)
    assert "optimal for the model's objective 2.0" in result.message
    assert dlsched.verify(instance, result)


def test_limits_end_a_changed_model(complete):
    """With no time at all there is no answer, and no exception."""
    complete.model.setObjective(complete.variables.gpus["a", 4])
    result = complete.solve(limits=Limits(time_s=0))
    assert (result.status, result.solution) == (TerminationStatus.TIME_LIMIT, None)
    with pytest.raises(dlsched.UsageError, match="one of them"):
        complete.solve(limits=Limits(time_s=1), time_limit=1)


def test_variables_of_the_users_own(complete):
    """New variables take part; a name that is there already is refused."""
    spare = pulp.LpVariable("spare", 0, 3, pulp.LpInteger)
    complete.model += pulp.lpSum(n * x for (_, n), x in complete.variables.gpus.items()) + spare == 6
    assert complete.solve().objective == pytest.approx(9846.03)
    taken = complete.variables.gpus["a", 4].name
    complete.model += pulp.LpVariable(taken, 0, 1) <= 0
    with pytest.raises(dlsched.UsageError, match="two variables"):
        complete.solve()


def test_incomplete_models(instance):
    """As they are they can be solved; with rows added they could be silently wrong, and are refused."""
    formulation = build_milp(instance)
    assert formulation.solve().objective == pytest.approx(9846.03)
    formulation.model += formulation.variables.gpus["a", 4] == 0
    with pytest.raises(dlsched.UsageError, match="complete=True"):
        formulation.solve()


def test_wrong_keys(complete):
    """The error says which keys there are, those of the same job if it is one."""
    with pytest.raises(dlsched.UsageError, match=r"\('a', 99\), allowed: \('a', 1\), \('a', 2\), \('a', 4\)$"):
        complete.variables.gpus["a", 99]
    with pytest.raises(dlsched.UsageError, match=r"\('nobody', 1\), allowed: \('a', 1\), .*\('b', 1\)"):
        complete.variables.gpus["nobody", 1]
    assert ("a", 99) not in complete.variables.gpus and complete.variables.gpus.get(("a", 99)) is None
    with pytest.raises(AttributeError, match="there are: gpus"):
        _ = complete.variables.nodes
    with pytest.raises(dlsched.UsageError, match="allowed: gpus"):
        complete.variables["nodes"]
    assert complete.variables["gpus"]["a", 4] is complete.variables.gpus["a", 4]


def test_refusals(instance):
    """What there is not, in words."""
    with pytest.raises(dlsched.UsageError, match="allowed: milp"):
        dlsched.formulate(instance, "assignment")
    with pytest.raises(dlsched.UsageError, match="takes no horizon_s"):
        dlsched.formulate(instance, horizon_s=5)
    with pytest.raises(dlsched.UsageError, match="drop_dominated"):
        build_milp(instance, complete=True, drop_dominated=True)
    with pytest.raises(dlsched.UsageError, match="PuLP"):
        build_arrays(instance).solve()
    with pytest.raises(dlsched.UsageError, match="allowed: highs, cbc, scip, gurobi, cpsat"):
        dlsched.formulate(instance).solve(solver="nosuch")
    with pytest.raises(AttributeError):
        dlsched.formulate(instance).model = pulp.LpProblem()
