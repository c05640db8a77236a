"""Instances that searches find, in a plan: which, what is refused, and what a search gives."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dlsched import InputError, ring_embedding, study
from dlsched.study.plans.counting import count
from dlsched.study.plans.plan import Plan
from dlsched.study.plans.plan_file import make_plan
from dlsched.study.plans.smaller import smaller
from dlsched.study.plans.sources import recipes
from dlsched.study.trial import try_out
from dlsched.worst.search import BUDGET, find_worst

MINE = """
from dlsched import ring_embedding

def lazy(instance):
    return ring_embedding.fifo(instance, workers=1)
"""


@pytest.fixture
def plan(tmp_path: Path) -> Callable[..., Plan]:
    """Make a plan of searches in small networks, beside a file with a function."""
    (tmp_path / "mine.py").write_text(MINE)

    def call(folder: Path = tmp_path, **more: Any) -> Plan:
        source = {"family": "ring_embedding", "worst": "fifo", "utility": "capped", "jobs": 2, "budget": 12, **more}
        return make_plan(instances=source, methods=["fifo", "las"], folder=folder)

    return call


def test_a_grid_of_arguments_seeds_fastest(plan: Callable[..., Plan]) -> None:
    """Methods vary slowest; sizes and seeds do not name kinds, what is searched and how does."""
    asked = plan(worst=["fifo", "mine.py:lazy"], utility=["capped", "sqrt"], slots=[1, 2], seeds="3:5")
    found = list(recipes(asked))
    assert count(asked) == (16, 32) and len(found) == 16
    assert [(each.source, each.preset, each.seed) for each in found[:3]] == [
        ("worst fifo", "worst fifo, capped, budget 12, slots 1", 3),
        ("worst fifo", "worst fifo, capped, budget 12, slots 1", 4),
        ("worst fifo", "worst fifo, capped, budget 12, slots 2", 3),
    ]
    assert found[8].source == "worst mine.py:lazy"


def test_what_a_recipe_gives_is_what_a_search_finds(plan: Callable[..., Plan]) -> None:
    """The instance of ``find_worst``, under a name with the seed; every evaluation is told."""
    (recipe,) = recipes(plan(seeds=5))
    steps: list[None] = []
    found = recipe.make(lambda: steps.append(None))
    worst = find_worst("ring_embedding", "fifo", utility="capped", jobs=2, budget=12, seed=5)
    assert isinstance(found, ring_embedding.Instance) and isinstance(worst.instance, ring_embedding.Instance)
    assert (found.jobs, found.nodes, found.slots) == (worst.instance.jobs, worst.instance.nodes, worst.instance.slots)
    assert found.name == "worst-fifo-capped-jobs2-budget12-seed5" and found.known == worst.instance.known
    assert len(steps) == worst.evaluations == 12


def test_sizes_have_names_of_their_own(plan: Callable[..., Plan]) -> None:
    """Instances that one method and seed give in several spaces are told apart."""
    asked = plan(jobs=[1, 2], slots=[1, 2])
    assert [recipe.make().name for recipe in recipes(asked)] == [
        f"worst-fifo-capped-jobs{jobs}-budget12-slots{slots}-seed0" for jobs in (1, 2) for slots in (1, 2)
    ]


def test_methods_of_ones_own(plan: Callable[..., Plan], tmp_path: Path) -> None:
    """The search runs the function; its recipe's hash holds the code and not where it stands."""
    (recipe,) = recipes(plan(worst="mine.py:lazy"))
    found = recipe.make()
    assert found.name == "worst-lazy-capped-jobs2-budget12-seed0" and str(tmp_path) not in str(found.source)
    assert "--method mine.py:lazy" in str(found.source)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "mine.py").write_text(MINE)
    (again,) = recipes(plan(elsewhere, worst="mine.py:lazy"))
    assert again.content_hash() == recipe.content_hash()
    (tmp_path / "mine.py").write_text(MINE.replace("workers=1", "workers=2"))
    (changed,) = recipes(plan(worst="mine.py:lazy"))
    assert changed.content_hash() != recipe.content_hash()


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"worst": "fif"}, 'worst: found "fif", allowed: exact'),
        ({"worst": "bound"}, 'worst: found "bound", allowed: exact'),
        ({"worst": ["fifo", "fifo"]}, 'worst[1]: found "fifo" again'),
        ({"worst": "mine.py:absent"}, 'worst: found "mine.py:absent", allowed: a function or class'),
        ({"worst": "none.py:lazy"}, 'worst: found "none.py:lazy", allowed: a file that is there'),
        ({"family": "rings"}, 'family: found "rings", allowed: ring_allocation'),
        ({"utility": ["sqrt", "cubic"]}, "utility: found 'cubic', allowed: sigmoid"),
        ({"tables": "any"}, "tables: found an unknown key, allowed: only worst, family, seeds, jobs"),
        ({"budget": 0}, "budget: found 0, allowed: an integer >= 1"),
        ({"jobs": "two"}, 'jobs: found "two", allowed: an integer >= 1'),
        ({"against": "best"}, 'against: found "best", allowed: exact'),
        ({"seeds": "5:5"}, 'seeds: found "5:5", which holds no seed'),
        ({"python": "mine.py:lazy"}, "python: found an unknown key"),
    ],
)
def test_what_is_refused(plan: Callable[..., Plan], asked: dict[str, Any], said: str) -> None:
    """Before anything runs, with the place in the plan."""
    with pytest.raises(InputError) as error:
        plan(**asked)
    assert f"instances[0].{said}" in str(error.value)


def test_shorter_searches_and_smaller_studies(plan: Callable[..., Plan]) -> None:
    (recipe,) = recipes(plan(budget=100))
    assert recipe.evaluations == 100
    assert recipe.smaller(40).evaluations == 40 and recipe.smaller(1000).evaluations == 100
    source = {"family": "ring_embedding", "worst": "fifo"}
    (whole,) = recipes(make_plan(instances=source, methods=["fifo"]))
    assert whole.evaluations == BUDGET
    cut = smaller(plan(budget=100, seeds="0:9"), {"budget": 10})
    assert [(each.seed, each.evaluations) for each in recipes(cut)] == [(0, 10), (8, 10)]


def test_a_trial_searches_shortly(plan: Callable[..., Plan], monkeypatch: pytest.MonkeyPatch) -> None:
    """It says what is searched, tries every method on what it finds, and counts whole searches."""
    monkeypatch.setattr("dlsched.study.trial.SEARCHED", 2)
    short = try_out(plan(budget=2, seeds="0:2"))
    assert list(short.by_kind) == [("ring_embedding", "worst fifo, capped, budget 2", "worst fifo")]
    assert (short.instances, short.cells, short.tried, short.failed, short.complete) == (2, 4, 4, 0, True)
    long = try_out(plan(budget=2_000_000, seeds="0:2"))
    assert short.seconds is not None and long.seconds is not None and long.seconds > 100 * short.seconds


def test_the_command_of_a_row(plan: Callable[..., Plan], tmp_path: Path) -> None:
    with study.run(plan(seeds=3), tmp_path / "s", workers=1) as done:
        row = done.rows()[1]
        said = study_command(done, row)
    assert said == (
        "dlsched worst ring_embedding --method fifo --utility capped --jobs 2 --budget 12 --seed 3 -o worst.json\n"
        "dlsched solve worst.json --method las"
    )


def study_command(done: study.Study, row: study.Row) -> str:
    from dlsched.study.reporting import command_of

    return command_of(done, row)
