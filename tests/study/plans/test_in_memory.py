"""Studies of what a program holds: instances, functions and policies of a script, and draws by its functions."""

import re
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from dlsched import InputError, UsageError, elastic_stream, ring_allocation, study, write
from dlsched.core.instance import InstanceFile
from dlsched.study.cells.cell import cells_of
from dlsched.study.plans.sources import count, recipes
from tests.study.forging import checked

pytest.importorskip("cloudpickle")

TWO = ring_allocation.Instance(
    name="two",
    gpus=3,
    jobs=[
        ring_allocation.Job(id="a", epochs=10, epoch_time_s={1: 8.0, 2: 5.0}),
        ring_allocation.Job(id="b", epochs=2, epoch_time_s={1: 6.0, 2: 4.0}),
    ],
)
"""Remaining times at one GPU each: 80 + 12 s; the optimum gives ``a`` two: 50 + 12 s."""


class OneUnit:
    """A policy that gives one job one unit and counts its decisions, which a run must not leave behind."""

    clairvoyant = False

    def __init__(self, most: int) -> None:
        self.most, self.decided = most, 0

    def decide(self, view: elastic_stream.View) -> dict[int, int]:
        """Serve the first job, in so many decisions."""
        self.decided += 1
        assert self.decided <= self.most
        return {job: 1 for job in list(view)[:1]}


def one_each() -> Callable[[ring_allocation.Instance], object]:
    """Return a function that no module holds by its name."""

    def one(instance: ring_allocation.Instance) -> object:
        return {"gpus": {job.id: 1 for job in instance.jobs}}

    return one


def drawing(gpus: int) -> Callable[..., InstanceFile]:
    """Return a function that draws, which no module holds by its name."""

    def draw(*, jobs: int, mood: str = "calm", seed: int) -> InstanceFile:
        assert jobs < 9, mood
        return ring_allocation.generate(jobs=jobs, gpus=gpus, seed=seed)

    return draw


def test_instances_and_functions_in_memory(tmp_path: Path) -> None:
    """Every instance once, whatever it stands beside; objectives by hand; the store can be checked and holds no code."""
    write(TWO.model_copy(update={"name": "of a file"}), tmp_path / "two.json")
    with study.run(
        instances=[TWO, TWO, tmp_path / "two.json", tmp_path],
        methods=["exact", one_each(), lambda instance: None],
        store=tmp_path / "s",
        workers=1,
    ) as ran:
        rows = [(row.instance, row.source, row.method, row.objective) for row in ran.rows()]
        text = ran.about.plan
    expected = [("exact", 62.0), ("one_each_locals_one", 92.0), ("lambda", None)]
    methods = [row[2] for row in rows[:3]]
    assert methods[0] == "exact" and methods[1].endswith("one") and methods[2].endswith("lambda")
    assert [row[3] for row in rows] == [objective for _, objective in expected] * 2
    assert [row[:2] for row in rows[::3]] == [("two", "memory"), ("of a file", str(tmp_path / "two.json"))]
    assert "pickled" not in text and 'instance = "two"' in text
    verifications = checked(tmp_path / "s")
    assert len(verifications) == 6 and all(verifications.values())


def test_policies_are_methods(tmp_path: Path) -> None:
    """A policy runs as it was handed over, on every instance; another state is another cell, the same state the same."""
    example = elastic_stream.example()
    instances = [example, example.model_copy(update={"name": "again"})]
    counting = OneUnit(1000)
    elastic_stream.simulate(example, counting)
    policy = OneUnit(counting.decided)
    with study.run(instances=instances, methods=[policy], store=tmp_path / "s", workers=1) as ran:
        rows = ran.rows()
    assert policy.decided == 0
    assert [(row.method, row.status) for row in rows] == [("OneUnit", "feasible")] * 2

    def keys(most: int) -> list[str]:
        plan = study.make_plan(instances=instances, methods=[OneUnit(most)])
        return [cell.key for cell in cells_of(plan, recipes(plan))]

    assert [row.key for row in rows] == keys(counting.decided)
    assert not {row.key for row in rows} & {*keys(1000)}


def test_a_function_of_the_session_draws(tmp_path: Path, here: None) -> None:
    """Instances stand in the store as data, with label and seed of their arguments; no text in it is code."""
    source = {"family": "ring_allocation", "python": drawing(8), "jobs": [2, 3], "mood": "grim", "seeds": "4:6"}
    plan = study.make_plan(instances=source, methods=["equal"])
    assert count(plan) == (4, 4)
    with study.run(plan, tmp_path / "s", workers=1) as ran:
        rows = ran.rows()
        made = [ran.instance(row.key) for row in rows]
    assert made == [ring_allocation.generate(jobs=jobs, gpus=8, seed=seed) for jobs in (2, 3) for seed in (4, 5)]
    assert [(row.preset, row.seed, dict(row.arguments)["jobs"]) for row in rows] == [
        ("grim", seed, jobs) for jobs in (2, 3) for seed in (4, 5)
    ]
    assert all(checked(tmp_path / "s").values())
    with closing(sqlite3.connect(tmp_path / "s")) as store:
        assert "pickled:" not in "\n".join(store.iterdump())


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"python": drawing(8), "jobs": 9}, r"instances\[0\]\.python: found .*AssertionError: calm"),
        ({"python": drawing(8)}, r"instances\[0\]\.jobs: found nothing, allowed: a value, as \w+ has no default"),
        ({"python": one_each()}, r"instances\[0\]\.instance: found nothing"),
        ({"worst": one_each()}, r"^instances\[0\]\.worst: found one_each\.<locals>\.one of "),
    ],
)
def test_what_cannot_draw_is_refused_under_its_field(asked: dict[str, object], said: str) -> None:
    """A function that fails or needs an argument; one that is to be searched against, which no process can import."""
    with pytest.raises((InputError, UsageError), match=said):
        study.make_plan(instances={"family": "ring_allocation", **asked}, methods=["equal"])


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "plan: found none, allowed: a plan, as make_plan returns it, its path, or instances and methods"),
        ({"instances": [TWO]}, "plan: found none"),
        ({"plan": 3}, "plan: found int"),
        ({"plan": study.make_plan(instances=TWO, methods=["equal"]), "methods": ["exact"]}, "beside instances or"),
        ({"plan": study.make_plan(instances=TWO, methods=["equal"]), "seed": 3}, "beside instances or"),
        ({"instances": [TWO], "methods": [3]}, "method: found int, allowed: a name"),
    ],
)
def test_either_a_plan_or_instances_and_methods(given: dict[str, object], said: str) -> None:
    """Neither, half of it, both, a plan with another seed than its own, and what is no method."""
    with pytest.raises(UsageError, match=re.escape(said)):
        study.run(**given)  # type: ignore[arg-type]


def test_without_a_store_it_is_temporary() -> None:
    """The study can be read while Python runs, and nothing is left behind."""
    script = """
from dlsched import ring_allocation, study
ran = study.run(instances=[ring_allocation.example()], methods=["equal"], workers=1)
print(len(ran.rows()), repr(ran).splitlines()[0].rpartition(" in ")[2])
"""
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    rows, path = ended.stdout.split()
    assert rows == "1" and not Path(path).parent.exists()


def test_a_list_of_names_is_a_grid() -> None:
    """As many methods; a label for several is refused, and the name that is none is located."""

    def labels(**method: object) -> list[str]:
        plan = study.make_plan(instances=TWO, methods=[method])
        return [each.label for each in plan.methods]

    assert labels(name=["exact", "hull"]) == ["exact", "hull"]
    assert labels(kind=["exact", "bound"]) == labels(kind="exact") + labels(kind="bound")
    with pytest.raises(InputError, match=r"methods\[0\]\.name\[1\]: found \"srpt\", allowed: exact"):
        labels(name=["exact", "srpt"])
    with pytest.raises(InputError, match=r"methods\[0\]\.label: found \"mine\", allowed: none for several of name"):
        labels(name=["exact", "hull"], label="mine")
