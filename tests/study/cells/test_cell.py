"""Keys of cells: what decides an outcome is in them, and nothing else."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dlsched
from dlsched import ring_allocation
from dlsched.study.cells import cell as cell_module
from dlsched.study.cells.cell import Facts, Outcome, cells_of, key_of, outcome_from
from dlsched.study.plans.plan import CellLimits, Plan, PlannedMethod
from dlsched.study.plans.plan_file import make_plan, plan_from
from dlsched.study.plans.sources import recipes
from dlsched.study.recipes import Recipe, read_recipe

LIMITS = CellLimits()
ONE = {"family": "srpt_mapping", "jobs": 3, "gpus": 8}
MINE = """
from dlsched import ring_allocation

def f(instance, most=3):
    return None

def draw(*, seed):
    return ring_allocation.generate(jobs=2, gpus=8, seed=seed)
"""


def recipe(**arguments: Any) -> Recipe:
    """An instance of a generator."""
    drawn = {"preset": "mixed", "jobs": 3, "gpus": 8, "load": 0.8, "seed": 0} | arguments
    return read_recipe("srpt_mapping", "generate", drawn["preset"], drawn["seed"], {"generate": drawn})


def named(name: str = "annealing", **changes: Any) -> PlannedMethod:
    """One of dlsched's methods, which draws at random."""
    return replace(PlannedMethod(name, "name", name), **changes)


def keys(plan: Plan) -> list[str]:
    """Keys of a plan's cells."""
    return [cell.key for cell in cells_of(plan, recipes(plan))]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with methods of the user's own."""
    (tmp_path / "first").mkdir()
    (tmp_path / "first" / "mine.py").write_text(MINE)
    program = tmp_path / "first" / "mine.sh"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    (tmp_path / "first" / "table.csv").write_text("1,2\n")
    return tmp_path / "first"


CHANGES: list[Callable[[], str]] = [
    lambda: key_of(recipe(), named(), 0, LIMITS),
    lambda: key_of(recipe(), named(), 1, LIMITS),
    lambda: key_of(recipe(), named("fifo"), 0, LIMITS),
    lambda: key_of(recipe(), named("milp"), 0, LIMITS),
    lambda: key_of(recipe(), named("milp", solver="cbc"), 0, LIMITS),
    lambda: key_of(recipe(jobs=4), named(), 0, LIMITS),
    lambda: key_of(recipe(load=0.9), named(), 0, LIMITS),
    lambda: key_of(recipe(seed=1), named(), 0, LIMITS),
    lambda: key_of(recipe(preset="published"), named(), 0, LIMITS),
    *(
        lambda change=change: key_of(recipe(), named(), 0, replace(LIMITS, **change))  # type: ignore[misc]
        for change in ({"time_s": 1.0}, {"memory_gib": 1.0}, {"nodes": 5}, {"threads": 2}, {"grace_s": 1.0})
    ),
    lambda: key_of(recipe(), replace(named(), kind="python", what=("mine", "f"), fingerprint="a"), 0, LIMITS),
    lambda: key_of(recipe(), replace(named(), kind="python", what=("mine", "g"), fingerprint="a"), 0, LIMITS),
    lambda: key_of(recipe(), replace(named(), kind="python", what=("mine", "f"), fingerprint="b"), 0, LIMITS),
    lambda: key_of(recipe(), replace(named(), kind="python", what=("mine", "f"), parameters={"a": 1}), 0, LIMITS),
    lambda: key_of(recipe(), replace(named(), kind="python", what=("mine", "f"), parameters={"a": 2}), 0, LIMITS),
    lambda: key_of(recipe(), replace(named(), kind="python", what=("mine", "f"), parameters={"b": 1}), 0, LIMITS),
]


def test_what_decides_is_in_the_key() -> None:
    """Any two of these differ, by instance, method, solver, seed, limit, code or parameter."""
    found = [change() for change in CHANGES]
    assert len(set(found)) == len(found)
    assert found == [change() for change in CHANGES]


def test_versions_are_in_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another version of a solver makes new cells."""
    before = key_of(recipe(), named(), 0, LIMITS)
    monkeypatch.setattr(cell_module, "versions", lambda: {"dlsched": "999"})
    cell_module._hash_of_limits.cache_clear()
    after = key_of(recipe(), named(), 0, LIMITS)
    monkeypatch.undo()
    cell_module._hash_of_limits.cache_clear()
    assert before != after
    assert before == key_of(recipe(), named(), 0, LIMITS)


texts = st.text(max_size=5)


@settings(derandomize=True, deadline=None, database=None)
@given(label=texts, source=texts, words=texts, family=st.sampled_from([None, "srpt_mapping"]), seed=st.integers(0, 9))
def test_what_does_not_decide_is_not_in_the_key(
    label: str, source: str, words: str, family: str | None, seed: int
) -> None:
    """Labels, names of files, what a file says of its origin, and the seed of a method that draws nothing."""
    content = {"format": "dlsched/srpt_mapping/1", "name": "x", "jobs": []}
    one = read_recipe("srpt_mapping", "a.json", "", None, {"instance": content})
    other = read_recipe("srpt_mapping", source, "", None, {"instance": {**content, "source": words}})
    method = named("fifo")
    changed = replace(method, label=label, family=family)
    assert key_of(one, method, 0, LIMITS) == key_of(other, changed, seed, LIMITS)
    program = PlannedMethod("a", "command", ("sh",), fingerprint="x")
    assert key_of(one, program, 0, LIMITS) == key_of(other, replace(program, label=label), seed, LIMITS)


def test_two_names_of_a_method_are_one() -> None:
    """`fifo-equal` is `equal` in elastic_stream."""
    stream = read_recipe("elastic_stream", "generate", "poisson", 0, {"generate": {"preset": "poisson", "seed": 0}})
    assert key_of(stream, named("fifo-equal"), 0, LIMITS) == key_of(stream, named("equal"), 0, LIMITS)


def test_the_seed_is_the_methods_or_the_plans() -> None:
    """And both ways to say it are one cell."""
    plan = make_plan(instances=ONE, seed=4, methods=["annealing", {"name": "annealing", "label": "b", "seed": 5}])
    found = list(cells_of(plan, recipes(plan)))
    assert [(cell.method.label, cell.seed) for cell in found] == [("annealing", 4), ("b", 5)]
    assert [cell.key for cell in found] == [key_of(cell.recipe, cell.method, cell.seed, LIMITS) for cell in found]
    fifth = make_plan(instances=ONE, seed=5, methods=["annealing"])
    assert keys(fifth) == [found[1].key]


def test_every_method_on_every_instance_that_it_is_for() -> None:
    """Instance by instance, in the order of the plan."""
    sources = [{"family": family, "jobs": 2, "seeds": "0:2"} for family in ("async_sgd", "ring_allocation")]
    plan = make_plan(instances=sources, methods=["exact", {"name": "doubling", "family": "ring_allocation"}])
    found = [(cell.recipe.family, cell.recipe.seed, cell.method.label) for cell in cells_of(plan, recipes(plan))]
    assert found == [
        *(("async_sgd", 0, "exact"), ("async_sgd", 1, "exact")),
        *(("ring_allocation", 0, "exact"), ("ring_allocation", 0, "doubling")),
        *(("ring_allocation", 1, "exact"), ("ring_allocation", 1, "doubling")),
    ]


RINGS = {"family": "ring_allocation"}


@pytest.mark.parametrize(
    "named",
    [
        {"methods": [{"python": "mine.py:f"}]},
        {"methods": [{"command": ["./mine.sh", "{instance}"]}]},
        {"methods": [{"command": ["sh", "mine.sh", "table.csv", "{instance}"]}]},
        {"instances": [{**RINGS, "python": "mine.py:draw"}], "methods": [{"name": "equal"}]},
        {"instances": [{**RINGS, "worst": "mine.py:f", "jobs": 2}], "methods": [{"name": "equal"}]},
    ],
)
def test_code_of_the_users_own(named: dict[str, object], folder: Path) -> None:
    """A folder may move; a change of a file that a plan names makes new cells, one of another file does not."""

    def key(place: Path) -> str:
        return keys(plan_from({"instances": [ONE], **named}, place))[0]

    before = key(folder)
    (folder / "other.txt").write_text("x")
    moved = folder.parent / "second"
    shutil.copytree(folder, moved)
    assert key(moved) == before
    for name in ("mine.py", "mine.sh", "table.csv"):
        with (moved / name).open("a") as file:
            file.write("\n")
        after = key(moved)
        assert (after != before) == (name in str(named))
        before = after


def test_another_module_of_the_same_name_is_refused(tmp_path: Path) -> None:
    """What this process has imported before would be judged instead of it."""
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "twice_for_cells.py").write_text(MINE)
    asked = {"instances": [ONE], "methods": [{"python": "twice_for_cells:f"}]}
    plan_from(asked, tmp_path / "first")
    with pytest.raises(
        dlsched.InputError, match=r"twice_for_cells:f\", imported from .*first.* before, allowed: a module of"
    ):
        plan_from(asked, tmp_path / "second")


def test_files_with_the_same_content_are_the_same_work(tmp_path: Path) -> None:
    """Rows have their own names and sources; the cell runs once."""
    for name in ("a.json", "b.json"):
        dlsched.write(ring_allocation.example(), tmp_path / name)
    plan = make_plan(instances={"files": "*.json"}, methods=["exact"], folder=tmp_path)
    first, second = cells_of(plan, recipes(plan))
    assert first.key == second.key
    assert (first.recipe.source, second.recipe.source) == ("a.json", "b.json")


OUTCOME = Outcome(
    *("a1", "optimal", "said", 3.5, 3.25, 0.125, 0.25, 50.0),
    figures={"wait": 1.5},
    solution={"gpus": {"j0": 1}},
    certificate={"kind": "price"},
    facts=Facts("small", "b2", 3, 8, 0.5, None, 3.0),
)


def test_an_outcome_travels():
    """With and without facts and figures."""
    assert outcome_from(OUTCOME.as_bytes()) == OUTCOME
    assert outcome_from(Outcome("a1", "killed").as_bytes()) == Outcome("a1", "killed")


def test_a_solution_travels_as_its_text():
    """It is not parsed on its way."""
    outcome = replace(OUTCOME, solution=b'{"gpus":{"a\\nb":1}}')
    assert outcome_from(outcome.as_bytes()) == outcome


@pytest.mark.parametrize("raw", [b"", b"no JSON", b"[1]", b"3", b"\xff\xfe", b"[" * 100_000])
def test_what_is_no_outcome_is_refused(raw: bytes):
    """What is no JSON, whatever it is; fields of another kind, and numbers that are not finite."""
    with pytest.raises(ValueError, match=r"."):
        outcome_from(raw)
    wrong = {"time_s": float("inf"), "bound": float("nan"), "objective": "3", "status": None, "unknown": 1, "facts": 3}
    for name, value in wrong.items():
        data = json.loads(OUTCOME.as_bytes()) | {name: value}
        with pytest.raises(ValueError, match="no outcome"):
            outcome_from(json.dumps(data).encode())
