"""The contract, for every family and every method of it, on generated instances."""

import dataclasses
import functools
import hashlib
import io
import json
import math
import pickle
import sys
from types import SimpleNamespace

import pytest
from conftest import drawn, on_each, profile
from hypothesis import given

import dlsched
from dlsched import FAMILIES, Limits, TerminationStatus
from dlsched.families import instance_from
from dlsched.testing import CASES, check_method, hold_to_contract
from dlsched.testing.contract import check_heuristic

ROUTES = [
    (family.name, method.name, solver)
    for family in FAMILIES.values()
    for method in family.methods.values()
    for solver in method.solvers or (None,)
]
HEURISTICS = [
    (family, name)
    for family, name, _ in ROUTES
    if FAMILIES[family].methods[name].kind == "heuristic"
    and not FAMILIES[family].methods[name].seeded
    and name in getattr(dlsched, family).__all__
]
every_family = pytest.mark.parametrize("family", FAMILIES)


@functools.cache
def known(family, examples):
    """By hash: drawn instances of a family as data, and their brute-force optima; found once for all methods."""
    case = CASES[family]
    instances = drawn(case.instances, examples)
    return {instance.sha256: (instance.as_data(), case.brute_force(instance)) for instance in instances}


@pytest.fixture
def on_known(monkeypatch):
    """Check the known instances, or every third, each built anew; leave out those that are too hard for the method."""

    def call(family, method, check, *, examples=9, step=1):
        found, case = known(family, examples), CASES[family]
        recalled = dataclasses.replace(case, brute_force=lambda instance: found[instance.sha256][1])
        monkeypatch.setattr("dlsched.testing.contract.CASES", {family: recalled})
        instances = [instance_from(data, "drawn") for data, _ in found.values()][::step]
        left_out = case.too_hard, case.refuses
        on_each((each for each in instances if not any(out(method, each) for out in left_out)), check)

    return call


@pytest.mark.parametrize(("family", "method", "solver"), ROUTES)
def test_every_method_keeps_the_contract(family, method, solver, on_known):
    """Checked, repeatable, harmless; bounds verify and hold; exact means the brute-force optimum; promises are kept."""
    record = FAMILIES[family]
    on_known(
        family,
        method,
        lambda instance: check_method(record, record.methods[method], instance, solver=solver),
        step=3 if "-" in method else 1,  # one of many that differ in a word
    )


@pytest.mark.long
@pytest.mark.parametrize(("family", "method", "solver"), [route for route in ROUTES if route[1] != "minlp"])
def test_hundreds_of_instances_keep_the_contract(family, method, solver, on_known):
    """The same of 600 instances, of 200 where a solver runs; SCIP may cycle without a limit, so ``minlp`` is held elsewhere."""
    record = FAMILIES[family]
    on_known(
        family,
        method,
        lambda instance: check_method(record, record.methods[method], instance, solver=solver),
        examples=600,
        step=3 if solver else 1,
    )


@every_family
def test_objectives_that_are_not_served_are_refused(family):
    """By every method that does not aim at the objective, with an error that names those that do."""
    record = FAMILIES[family]
    for data, _ in known(family, 9).values():
        instance = instance_from(data, "drawn")
        for method in record.methods:
            if CASES[family].refuses(method, instance):
                with pytest.raises(dlsched.UsageError, match="exact"):
                    record.solve(instance, method=method)


@pytest.mark.parametrize(("family", "name"), HEURISTICS)
def test_plain_heuristics_keep_the_contract_of_users(family, name, on_known):
    """The functions themselves, with the promise that stands in the family's record."""
    record, function = FAMILIES[family], getattr(getattr(dlsched, family), name)
    guarantee = record.methods[name].guarantee
    on_known(family, name, lambda instance: check_heuristic(record, function, instance, guarantee=guarantee))


@pytest.mark.parametrize("family", dict.fromkeys(family for family, _ in HEURISTICS))
def test_users_hold_heuristics_to_the_contract(family):
    """One function of every family, by the function that users call."""
    name = next(name for mine, name in HEURISTICS if mine == family)
    function, guarantee = getattr(getattr(dlsched, family), name), FAMILIES[family].methods[name].guarantee
    hold_to_contract(family, function, guarantee=guarantee, examples=10)


@every_family
def test_files_read_back_as_written(family, tmp_path):
    """write, then read: the same instance, data and hash, which is that of docs/formats.md; written again, the same bytes."""

    @profile(30)
    @given(CASES[family].instances())
    def identity(instance):
        path, second = tmp_path / "instance.json", tmp_path / "second.json"
        dlsched.write(instance, path)
        again = dlsched.read(path)
        assert again == instance == pickle.loads(pickle.dumps(instance))
        assert again.as_data() == instance.as_data() and again.as_data()["format"] == f"dlsched/{family}/1"
        canonical = json.dumps(instance.canonical_data(), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        assert again.sha256 == instance.sha256 == hashlib.sha256(canonical.encode()).hexdigest()
        dlsched.write(again, second)
        assert path.read_bytes() == second.read_bytes()

    identity()


@every_family
def test_instances_are_immutable(family):
    """Neither the instance nor a job can be changed; a changed copy is validated like an instance."""
    instance = FAMILIES[family].example()
    for part, field in ((instance, "name"), (instance.jobs[0], "id")):
        with pytest.raises(ValueError, match="immutable"):
            setattr(part, field, "other")
    assert instance.model_copy(update={"name": "other"}).name == "other"
    with pytest.raises(dlsched.InstanceError, match=r"^name: found"):
        instance.model_copy(update={"name": ""})


@every_family
def test_results_are_json(family, monkeypatch):
    """A result is written as strict JSON, and its solution reads back as the same solution."""
    record = FAMILIES[family]

    @profile(20)
    @given(CASES[family].instances())
    def written(instance):
        result = dlsched.solve(instance)
        stream = io.StringIO()
        monkeypatch.setattr(sys, "stdout", SimpleNamespace(write=stream.write))
        try:
            dlsched.write(result, "-")
        finally:
            monkeypatch.undo()
        data = json.loads(stream.getvalue())
        assert data == json.loads(json.dumps(result.as_data()))
        assert (data["family"], data["instance"]["sha256"]) == (family, instance.sha256)
        if result.solution is not None:
            assert record.read_solution(data["solution"], instance) == result.solution

    written()


@every_family
def test_a_zero_time_limit_is_a_limit(family):
    """Exact methods stop at once: ``time_limit`` with a checked answer or none, or infeasible where a count proves it."""
    record = FAMILIES[family]

    @profile(12)
    @given(CASES[family].instances())
    def stops(instance):
        optimum = CASES[family].brute_force(instance)
        for method in record.methods.values():
            if method.kind != "exact" or CASES[family].refuses(method.name, instance):
                continue
            result = dlsched.solve(instance, method=method.name, limits=Limits(time_s=0))
            if optimum is None and result.status is TerminationStatus.INFEASIBLE:
                continue
            assert result.status is TerminationStatus.TIME_LIMIT
            if result.solution is not None:
                assert not record.check(instance, result.solution)
                ahead = record.sense_for(instance).better(result.objective, optimum[0])
                assert not ahead or math.isclose(
                    result.objective, optimum[0], rel_tol=1e-12
                )  # brute force rounds otherwise

    stops()


@every_family
def test_unknown_fields_are_refused(family):
    """Wherever a field is added, the message names it."""
    data = json.loads(json.dumps(FAMILIES[family].example().as_data()))
    spoiled = [data | {"surplus": 1}, data | {"jobs": [data["jobs"][0] | {"surplus": 1}, *data["jobs"][1:]]}]
    for wrong in spoiled:
        with pytest.raises(dlsched.InstanceError, match="surplus: found an unknown field"):
            instance_from(wrong, "file.json")
