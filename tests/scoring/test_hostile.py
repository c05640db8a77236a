"""No method gets a better score than its answers have, whatever else it does."""

import inspect
import json
from dataclasses import replace
from pathlib import Path

import pytest

import dlsched
from dlsched import scoring
from dlsched.core.errors import DisagreementError
from dlsched.study.plans.plan import CellLimits, PlannedMethod
from scoring import hostile

SHORT = CellLimits(time_s=1.0, memory_gib=0.5, grace_s=0.2)
METHODS = [name for name, each in inspect.getmembers(hostile, inspect.isfunction) if not name.startswith("_")]
FILE = str(Path(hostile.__file__))


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An instance that states its optimum."""
    path = tmp_path_factory.mktemp("suite") / "instance.json"
    example = dlsched.ring_allocation.example()
    optimum = dlsched.solve(example).objective
    data = example.as_data() | {"known": {"optimum": optimum, "proof": "enumeration"}}
    path.write_text(json.dumps(data))
    return path


def test_no_hostile_method_gains(suite: Path):
    """More than sixty methods: each has the honest answer, or none."""
    assert len(METHODS) > 60
    judge = dlsched.Judge("ring_allocation", suite=suite)
    instance = judge._instances[0]
    planned = [(PlannedMethod(name, "python", (FILE, name)), replace(SHORT)) for name in METHODS]
    answers = {name: found[instance.name] for name, found in judge._run(planned, judge._instances, 2).items()}
    one_each = dlsched.ring_allocation.objective(
        instance, dlsched.ring_allocation.Allocation({job.id: 1 for job in instance.jobs})
    )
    assert one_each > 1.05 * dlsched.solve(instance).objective
    for name, answer in answers.items():
        assert answer.objective in (None, one_each), f"{name}: {answer}"
    assert answers["honest"].objective == one_each
    assert sum(answer.objective is not None for answer in answers.values()) > 15
    assert sum(answer.objective is None for answer in answers.values()) > 20


@pytest.mark.parametrize("name", ["honest", "patches_the_checker", "patches_the_verdict", "raises_an_answer"])
def test_their_scores(suite: Path, name: str):
    """By the public function: optimum over answer, or 0."""
    found = dlsched.score(f"{FILE}:{name}", family="ring_allocation", suite=suite)
    answered = name in ("honest", "patches_the_verdict")
    instance = dlsched.read(suite)
    one_each = dlsched.ring_allocation.objective(
        instance, dlsched.ring_allocation.Allocation({job.id: 1 for job in instance.jobs})
    )
    expected = dlsched.solve(instance).objective / one_each if answered else 0.0
    assert found.score == pytest.approx(expected, rel=1e-12)
    assert found.failed == (not answered)


def test_code_that_judges_is_watched(suite: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A method that writes into a package that judges gets no score."""
    home = tmp_path / "package"
    home.mkdir()
    (home / "checker.py").write_text("")
    monkeypatch.setattr(scoring, "_homes", lambda family: {home})
    own = tmp_path / "own.py"
    own.write_text(
        f"def writes(instance):\n    open({str(home / 'checker.py')!r}, 'a').write('objective = 0')\n"
        "    return {'gpus': {job.id: 1 for job in instance.jobs}}\n"
    )
    with pytest.raises(DisagreementError, match="changed while"):
        dlsched.score(f"{own}:writes", family="ring_allocation", suite=suite)
