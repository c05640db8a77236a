"""Instances that a function of the user's own draws: which, what is refused, and what comes of one that fails."""

import tomllib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dlsched import InputError, UsageError, ring_allocation, ring_embedding, study
from dlsched.study.plans.plan import Plan
from dlsched.study.plans.plan_file import make_plan
from dlsched.study.plans.sources import count, recipes, smaller
from dlsched.study.recipes import DrawnRecipe
from dlsched.study.study import command_of
from dlsched.study.trial import try_out
from dlsched.worst.search import BUDGET, find_worst
from tests.study.small import refusals

MINE = """
from dlsched import elastic_stream, ring_allocation

def few(*, jobs, mood="calm", seed):
    return ring_allocation.generate(jobs=jobs, gpus=8, seed=seed)

def the_example(*, name=None):
    return ring_allocation.example()

def of_another_family(*, seed):
    return elastic_stream.example()

def not_always(*, seed):
    if seed == 1:
        return 1 / 0
    return few(jobs=2, seed=seed)

def nothing(*, seed):
    return None

number = 3
"""


@pytest.fixture
def plan(tmp_path: Path) -> Callable[..., Plan]:
    """Make a plan of a source in the file of functions above."""
    (tmp_path / "mine.py").write_text(MINE)

    def call(function: str, **more: Any) -> Plan:
        source = {"family": "ring_allocation", "python": f"mine.py:{function}", **more}
        return make_plan(instances=source, methods=["equal"], folder=tmp_path)

    return call


def test_a_grid_of_parameters_seeds_fastest(plan: Callable[..., Plan]) -> None:
    """Each combination is what the function returns; texts and other values tell kinds apart, jobs and seeds do not."""
    drawn = plan("few", mood=["calm", "grim"], jobs=[2, 3], seeds="4:6")
    found = list(recipes(drawn))
    assert count(drawn)[0] == len(found) == 8
    assert [(each.preset, each.seed, each.source) for each in found[:3]] == [
        ("calm", 4, "mine.py:few"),
        ("calm", 5, "mine.py:few"),
        ("calm", 4, "mine.py:few"),
    ]
    assert [each.preset for each in found] == ["calm"] * 4 + ["grim"] * 4
    assert [each.make() for each in found[:4]] == [
        ring_allocation.generate(jobs=jobs, gpus=8, seed=seed) for jobs in (2, 3) for seed in (4, 5)
    ]


def test_a_function_without_seed_draws_once(plan: Callable[..., Plan]) -> None:
    (found,) = recipes(plan("the_example"))
    assert (found.seed, found.preset, found.make()) == (None, "", ring_allocation.example())
    assert [each.preset for each in recipes(plan("the_example", name=[2, 2.5]))] == ["name 2", "name 2.5"]


def test_functions_of_modules(tmp_path: Path) -> None:
    asked = {"family": "elastic_stream", "python": "dlsched.elastic_stream:generate", "jobs": 3, "seeds": 2}
    (found,) = recipes(make_plan(instances=asked, methods=["equal"], folder=tmp_path))
    assert found.make().name == "poisson-3x64-seed2"


@pytest.mark.parametrize(("asked", "said"), refusals("draws"))
def test_what_is_refused(plan: Callable[..., Plan], asked: str, said: str) -> None:
    """Before anything runs, with the place in the plan."""
    with pytest.raises(InputError) as error:
        plan("few", **tomllib.loads(asked))
    assert "instances[0]." in str(error.value)
    assert said in str(error.value)


@pytest.mark.parametrize("where", ["mine.py", ":few", "mine.py:"])
def test_a_place_without_a_function(where: str, plan: Callable[..., Plan]) -> None:
    with pytest.raises(InputError, match=r"python: found .*, allowed: \"path.py:function\""):
        plan("few", python=where)


def test_an_instance_that_cannot_be_drawn_is_a_row(plan: Callable[..., Plan], tmp_path: Path, here: None) -> None:
    with study.run(plan("not_always", seeds="0:3"), tmp_path / "store", workers=1) as done:
        rows = done.rows()
    assert [row.status for row in rows] == ["feasible", "error", "feasible"]
    assert "line 15: ZeroDivisionError" in rows[1].message


def test_a_function_is_asked_for_what_it_takes(plan: Callable[..., Plan]) -> None:
    """A recipe by hand with an argument that the function does not know."""
    (found,) = recipes(plan("few", jobs=2))
    assert isinstance(found, DrawnRecipe)
    with pytest.raises(UsageError, match="unexpected keyword argument 'colour'"):
        replace(found, arguments={**found.arguments, "colour": "red"}).make()


def test_a_report_says_the_call(plan: Callable[..., Plan], tmp_path: Path, here: None) -> None:
    with study.run(plan("few", jobs=2, mood="grim", seeds=5), tmp_path / "store", workers=1) as done:
        (row,) = done.rows()
        assert command_of(done, row) == "mine.py:few(jobs=2, mood='grim', seed=5)"
        assert (row.preset, row.seed, row.jobs, row.source) == ("grim", 5, 2, "mine.py:few")
        assert done.instance(row.key) == ring_allocation.generate(jobs=2, gpus=8, seed=5)


def test_a_trial_names_the_function(plan: Callable[..., Plan]) -> None:
    """Kinds of instances, before they run: two moods, three seeds each."""
    tried = try_out(plan("few", jobs=2, mood=["calm", "grim"], seeds="0:3"))
    assert tried.by_kind == {("ring_allocation", mood, "mine.py:few"): 3 for mood in ("calm", "grim")}


LAZY = """
from dlsched import ring_embedding

def lazy(instance):
    return ring_embedding.fifo(instance, workers=1)
"""


@pytest.fixture
def searches(tmp_path: Path) -> Callable[..., Plan]:
    """Make a plan of searches in small networks, beside a file with a function."""
    (tmp_path / "mine.py").write_text(LAZY)

    def call(**more: Any) -> Plan:
        source = {"family": "ring_embedding", "worst": "fifo", "utility": "capped", "jobs": 2, "budget": 12, **more}
        return make_plan(instances=source, methods=["fifo", "las"], folder=tmp_path)

    return call


def test_a_grid_of_arguments_seeds_fastest(searches: Callable[..., Plan]) -> None:
    """Methods vary slowest; sizes and seeds do not name kinds, what is searched and how does."""
    asked = searches(worst=["fifo", "mine.py:lazy"], utility=["capped", "sqrt"], slots=[1, 2], seeds="3:5")
    found = list(recipes(asked))
    assert count(asked) == (16, 32) and len(found) == 16
    assert [(each.source, each.preset, each.seed) for each in found[:3]] == [
        ("worst fifo", "worst fifo, capped, budget 12, slots 1", 3),
        ("worst fifo", "worst fifo, capped, budget 12, slots 1", 4),
        ("worst fifo", "worst fifo, capped, budget 12, slots 2", 3),
    ]
    assert found[8].source == "worst mine.py:lazy"


def test_what_a_recipe_gives_is_what_a_search_finds(searches: Callable[..., Plan]) -> None:
    """The instance of ``find_worst``, under a name with the seed; every evaluation is told."""
    (recipe,) = recipes(searches(seeds=5))
    steps: list[None] = []
    found = recipe.make(lambda: steps.append(None))
    worst = find_worst("ring_embedding", "fifo", utility="capped", jobs=2, budget=12, seed=5)
    assert isinstance(found, ring_embedding.Instance) and isinstance(worst.instance, ring_embedding.Instance)
    assert (found.jobs, found.nodes, found.slots) == (worst.instance.jobs, worst.instance.nodes, worst.instance.slots)
    assert found.name == "worst-fifo-capped-jobs2-budget12-seed5" and found.known == worst.instance.known
    assert len(steps) == worst.evaluations == 12


def test_sizes_have_names_of_their_own(searches: Callable[..., Plan]) -> None:
    """Instances that one method and seed give in several spaces are told apart."""
    asked = searches(jobs=[1, 2], slots=[1, 2])
    assert [recipe.make().name for recipe in recipes(asked)] == [
        f"worst-fifo-capped-jobs{jobs}-budget12-slots{slots}-seed0" for jobs in (1, 2) for slots in (1, 2)
    ]


def test_methods_of_ones_own(searches: Callable[..., Plan], tmp_path: Path) -> None:
    """The search runs the function."""
    (recipe,) = recipes(searches(worst="mine.py:lazy"))
    found = recipe.make()
    assert found.name == "worst-lazy-capped-jobs2-budget12-seed0" and str(tmp_path) not in str(found.source)
    assert "--method mine.py:lazy" in str(found.source)


@pytest.mark.parametrize(("asked", "said"), refusals("searches"))
def test_wrong_searches(searches: Callable[..., Plan], asked: str, said: str) -> None:
    """Before anything runs, with the place in the plan."""
    with pytest.raises(InputError) as error:
        searches(**tomllib.loads(asked))
    assert f"instances[0].{said}" in str(error.value)


def test_shorter_searches_and_smaller_studies(searches: Callable[..., Plan]) -> None:
    (recipe,) = recipes(searches(budget=100))
    assert recipe.evaluations == 100
    assert recipe.smaller(40).evaluations == 40 and recipe.smaller(1000).evaluations == 100
    source = {"family": "ring_embedding", "worst": "fifo"}
    (whole,) = recipes(make_plan(instances=source, methods=["fifo"]))
    assert whole.evaluations == BUDGET
    cut = smaller(searches(budget=100, seeds="0:9"), {"budget": 10})
    assert [(each.seed, each.evaluations) for each in recipes(cut)] == [(0, 10), (8, 10)]


def test_a_trial_searches_shortly(searches: Callable[..., Plan], monkeypatch: pytest.MonkeyPatch) -> None:
    """It says what is searched, tries every method on what it finds, and counts whole searches."""
    monkeypatch.setattr("dlsched.study.trial.SEARCHED", 2)
    short = try_out(searches(budget=2, seeds="0:2"))
    assert list(short.by_kind) == [("ring_embedding", "worst fifo, capped, budget 2", "worst fifo")]
    assert (short.instances, short.cells, short.tried, short.failed, short.complete) == (2, 4, 4, 0, True)
    long = try_out(searches(budget=2_000_000, seeds="0:2"))
    assert short.seconds is not None and long.seconds is not None and long.seconds > 100 * short.seconds


def test_the_command_of_a_row(searches: Callable[..., Plan], tmp_path: Path, here: None) -> None:
    with study.run(searches(seeds=3), tmp_path / "s", workers=1) as done:
        assert command_of(done, done.rows()[1]) == (
            "dlsched worst ring_embedding --method fifo --utility capped --jobs 2 --budget 12 --seed 3 -o worst.json\n"
            "dlsched solve worst.json --method las"
        )
