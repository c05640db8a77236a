"""``solve``, ``bound`` and ``check`` of any family: methods of one's own, and plain data."""

import inspect
from dataclasses import replace
from pathlib import Path

import pytest

import dlsched
from dlsched import elastic_stream, ring_allocation
from dlsched.families import FAMILIES


def one_each(instance: ring_allocation.Instance) -> dict[str, object]:
    """A GPU for each job, as plain data."""
    return {"gpus": {job.id: 1 for job in instance.jobs}}


def test_a_function_is_a_method() -> None:
    """Its answer is read as a result file's, checked, and its objective computed; a name with its module tells whose it is."""
    instance = ring_allocation.example()
    result = dlsched.solve(instance, method=one_each)
    assert result.method == f"{__name__}:one_each"
    assert result.solution == ring_allocation.Allocation({job.id: 1 for job in instance.jobs})
    assert dlsched.verify(instance, result)
    assert dlsched.solve(instance, method=lambda given: None).status is dlsched.TerminationStatus.NO_SOLUTION


def test_a_path_is_an_instance(tmp_path: Path) -> None:
    """``solve`` and ``bound`` read the file, as ``compare`` does; what is no instance is refused, a file with its name."""
    instance = ring_allocation.example()
    dlsched.write(instance, tmp_path / "a.json")
    assert dlsched.solve(tmp_path / "a.json").objective == dlsched.solve(instance).objective
    assert dlsched.bound(str(tmp_path / "a.json")).bound == dlsched.bound(instance).bound
    with pytest.raises(dlsched.InstanceError, match=r"none\.json: cannot be read"):
        dlsched.solve(tmp_path / "none.json")
    with pytest.raises(dlsched.UsageError, match="instance: found int"):
        dlsched.solve(3)  # type: ignore[call-overload]


@pytest.mark.parametrize("text", ["mine_of_leaps:leap", "mine_of_leaps.py:leap", "./mine_of_leaps.py:leap"])
def test_module_and_file_name_a_function(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both spellings, from the current folder, wherever methods are named."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine_of_leaps.py").write_text(
        "def leap(instance):\n    return {'gpus': {job.id: 1 for job in instance.jobs}}\n", encoding="utf-8"
    )
    instance = ring_allocation.example()
    expected = ring_allocation.objective(instance, ring_allocation.Allocation(one_each(instance)["gpus"]))  # type: ignore[arg-type]
    assert dlsched.solve(instance, method=text).objective == expected
    assert dlsched.compare(instance, text).rows[0].objective == expected
    with dlsched.study.run(instances=[instance], methods=[text], workers=1) as ran:
        assert [row.objective for row in ran.rows()] == [expected]
    assert dlsched.find_worst("ring_allocation", text, budget=2).ratio >= 1


def test_a_record_is_a_method() -> None:
    """That of a family's own method."""
    instance, record = ring_allocation.example(), ring_allocation.FAMILY.methods["doubling"]
    assert dlsched.solve(instance, method=record).objective == dlsched.solve(instance, method="doubling").objective


def test_a_policy_is_simulated_whether_a_class_or_an_object() -> None:
    """Both answer as the policy of the family that they are; an object is as before afterwards."""

    class Counting(elastic_stream.policies.Marginal):
        calls = 0

        def decide(self, view: elastic_stream.View) -> object:
            self.calls += 1
            return super().decide(view)

    instance, policy = elastic_stream.example(), Counting()
    expected = dlsched.solve(instance, method="marginal").objective
    assert dlsched.solve(instance, method=Counting).objective == expected
    assert dlsched.solve(instance, method=policy).objective == expected and policy.calls == 0
    stream = elastic_stream.simulate(instance, Counting)
    assert (
        stream == elastic_stream.simulate(instance, policy) and elastic_stream.objective(instance, stream) == expected
    )
    with pytest.raises(dlsched.UsageError, match="found a policy"):
        dlsched.solve(ring_allocation.example(), method=policy)


def test_what_a_function_raises_is_told_and_kept() -> None:
    """The message names the error and its line; the error itself is the cause."""

    def wrong(instance: ring_allocation.Instance) -> None:
        raise KeyError("nothing")

    with pytest.raises(dlsched.UsageError, match=r"test_solving\.py, line \d+: KeyError: 'nothing'") as raised:
        dlsched.solve(ring_allocation.example(), method=wrong)
    assert isinstance(raised.value.__cause__, KeyError)
    with pytest.raises(dlsched.PolicyError):
        dlsched.solve(ring_allocation.example(), method=lambda instance: {"gpus": {"nobody": 1}})


@pytest.mark.parametrize("family", ["ring_allocation", "matching_placement"])
def test_bound_is_the_best_bound_of_the_family(family: str) -> None:
    """It is the result of the method that ``best_bound`` names."""
    instance = FAMILIES[family].example()
    result = dlsched.bound(instance)
    expected = dlsched.solve(instance, method=FAMILIES[family].best_bound)
    assert result.bound is not None and result.solution is None
    assert replace(result, runtime_s=0.0) == replace(expected, runtime_s=0.0)


def test_check_reads_plain_data() -> None:
    """As ``solution`` of a result file holds them; data that are no solution, and results without one, are refused."""
    instance = ring_allocation.example()
    assert dlsched.check(instance, {"gpus": {job.id: 1 for job in instance.jobs}}) == []
    assert dlsched.check(instance, dlsched.solve(instance)) == []
    assert dlsched.check(instance, {"gpus": {job.id: 1000 for job in instance.jobs}})
    with pytest.raises(dlsched.InputError):
        dlsched.check(instance, {"units": {}})
    with pytest.raises(dlsched.UsageError, match="found NoneType"):
        dlsched.check(instance, dlsched.bound(instance))


def test_seconds_are_given_once() -> None:
    """``time_limit`` adds seconds to limits without them; twice is refused, wherever it is accepted."""
    instance = ring_allocation.example()
    result = dlsched.solve(instance, limits=dlsched.Limits(nodes=50_000), time_limit=600)
    assert result.limits == dlsched.Limits(nodes=50_000, time_s=600)
    twice = {"limits": dlsched.Limits(time_s=1.0), "time_limit": 1.0}
    for call in (dlsched.solve, dlsched.bound, dlsched.compare, dlsched.prove, ring_allocation.solve):
        with pytest.raises(dlsched.UsageError, match="one of them"):
            call(instance, **twice)
    with pytest.raises(dlsched.UsageError, match="one of them"):
        dlsched.find_worst("ring_allocation", "doubling", **twice)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["bound", "compare", "find_worst", "prove", "solve", "whatif"])
def test_seconds_and_words_are_accepted_by_name(name: str) -> None:
    """Every function that takes long says so in its signature."""
    known = inspect.signature(getattr(dlsched, name)).parameters
    assert {"time_limit", "verbose", "progress"} <= set(known)


def test_dir_shows_what_users_call() -> None:
    """The public names, and nothing else."""
    assert dir(dlsched) == sorted(dlsched.__all__)
