"""Methods of the user's own with parameters, from a folder, and with the seed of the run; the command line's are in cli."""

from pathlib import Path
from typing import Any

import pytest

import dlsched
from dlsched import FAMILIES, UsageError, elastic_stream, ring_allocation
from dlsched.own_methods import find_method_of_user

RINGS, STREAMS = FAMILIES["ring_allocation"], FAMILIES["elastic_stream"]

MINE = """
def same(instance, count, *, only=None):
    return {"gpus": {job.id: count for job in instance.jobs if only in (None, job.id)}}

def drawn(instance, seed):
    return {"gpus": {job.id: seed for job in instance.jobs}}

def anything(instance, **given):
    return {"gpus": given}

class Queue:
    clairvoyant = False
    def __init__(self, most):
        self.most = most
    def decide(self, view):
        free, answer = view.units, {}
        for job in view:
            fitting = [count for count in view.allowed(job) if count <= min(free, self.most)]
            answer[job] = fitting[-1] if fitting else 0
            free -= answer[job]
        return answer
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A folder with methods, which is not the current one."""
    (tmp_path / "mine_in_a_folder.py").write_text(MINE)
    monkeypatch.chdir("/")
    return str(tmp_path)


@pytest.mark.parametrize("home", ["mine_in_a_folder.py", "mine_in_a_folder"])
def test_a_function_with_parameters(home: str, folder: str) -> None:
    """By name; the example's jobs may both have 1 GPU, or 2."""
    for count in (1, 2):
        method = find_method_of_user(RINGS, f"{home}:same", {"count": count}, folder)
        result = dlsched.solve(ring_allocation.example(), method=method, seed=5)
        assert (result.solution.gpus, result.seed) == ({"a": count, "b": count}, None)


def test_a_function_that_takes_any_parameter(folder: str) -> None:
    """It is not asked which."""
    method = find_method_of_user(RINGS, "mine_in_a_folder:anything", {"a": 4, "b": 2}, folder)
    assert dlsched.solve(ring_allocation.example(), method=method).solution.gpus == {"a": 4, "b": 2}


def test_the_seed_of_the_run_is_handed_over(folder: str) -> None:
    """To a function that has the parameter; its result says which."""
    method = find_method_of_user(RINGS, "mine_in_a_folder:drawn", folder=folder)
    result = dlsched.solve(ring_allocation.example(), method=method, seed=2)
    assert (result.solution.gpus, result.seed) == ({"a": 2, "b": 2}, 2)


def test_a_policy_with_parameters(folder: str) -> None:
    """A queue of jobs on at most 2 units is dlsched's own `fixed` with 2."""
    method = find_method_of_user(STREAMS, "mine_in_a_folder:Queue", {"most": 2}, folder)
    example = elastic_stream.example()
    assert dlsched.solve(example, method=method).solution == elastic_stream.fixed(example, units_per_job=2)


@pytest.mark.parametrize("units", [1, 2, 8])
def test_plain_functions_of_dlsched(units: int) -> None:
    """They are called as in Python."""
    stream = elastic_stream.generate(jobs=6, gpus=16, seed=3)
    method = find_method_of_user(STREAMS, "dlsched.elastic_stream:fixed", {"units_per_job": units})
    result = dlsched.solve(stream, method=method)
    expected = elastic_stream.fixed(stream, units_per_job=units)
    assert expected is not None
    assert result.objective == elastic_stream.objective(stream, expected)


@pytest.mark.parametrize(
    ("name", "parameters", "said"),
    [
        ("same", {"cuont": 1}, "mine_in_a_folder:same: cuont: found an unknown parameter, allowed: only count, only"),
        ("same", {"instance": 1}, "instance: found an unknown parameter, allowed: only count, only"),
        ("drawn", {"seed": 1}, "seed: found an unknown parameter, allowed: none"),
        ("Queue", {"order": 1}, "order: found an unknown parameter, allowed: only most"),
    ],
)
def test_parameters_that_it_does_not_take(name: str, parameters: dict[str, Any], said: str, folder: str) -> None:
    """Before it is called."""
    with pytest.raises(UsageError) as raised:
        find_method_of_user(RINGS, f"mine_in_a_folder:{name}", parameters, folder)
    assert said in str(raised.value)


CELL = """
def careless(instance):
    counts = {job.id: 1 for job in instance.jobs}
    return type(instance)(name="other", gpus="three", jobs=counts)

class Careless:
    clairvoyant = False
    def decide(self, view):
        return type(view._instance)(name="other", units="three", jobs=[])
"""


@pytest.mark.parametrize(
    ("name", "line", "family"), [("careless", 4, "ring_allocation"), ("Careless", 9, "elastic_stream")]
)
def test_an_error_in_a_cell_of_a_notebook_names_the_line_of_the_cell(name, line, family):
    """The error is raised in another module, below the user's function; the cell is a file of its own for Python."""
    cell: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(CELL, "/tmp/ipykernel_7/1234.py", "exec"), cell)
    with pytest.raises(UsageError, match=f"the cell, line {line}: InstanceError: "):
        dlsched.solve(getattr(dlsched, family).example(), method=cell[name])
