"""Commands that read stores, plans and results run nothing that these name: by path or module, pickled, a program, a search."""

import base64
import json
import os
import pickle
import random
import shutil
import sqlite3
import sys
import zlib
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from conftest import Ended

import dlsched
from dlsched import InputError, UsageError, ring_allocation, study
from dlsched.study.plans.plan_file import make_plan, plan_from, toml_text
from tests.study.stores_by_hand import edit

MINE = """
import os
from dlsched import ring_allocation

def mark():
    if os.path.exists("armed"):
        open("ran", "w").close()

mark()

def smallest(instance, **more):
    mark()
    return {"gpus": {job.id: min(job.epoch_time_s) for job in instance.jobs}}

def draw(*, seed=0, **more):
    mark()
    return ring_allocation.generate(jobs=2, gpus=8, seed=seed)
"""
"""A module that, once armed, leaves a mark when it is imported or called."""


class Touch:
    """Leaves the mark where it is unpickled."""

    def __reduce__(self) -> tuple[Callable[..., int], tuple[str]]:
        return os.system, ("touch ran",)


PICKLED = f"pickled:{base64.b64encode(pickle.dumps(Touch())).decode()}"
HOMES = ("own_code_on_trial.py", "./own_code_on_trial.py", "own_code_on_trial", PICKLED, "os", "subprocess", "builtins")
NAMES = ("smallest", "draw", "system", "getoutput", "exec", "eval")
WORDS = ("touch ran", "open('ran', 'w')", "__import__('own_code_on_trial')", 1, None)
ARGUMENTS = ("seed", "command", "cmd", "source", "expression", "jobs", "budget", "preset")


@pytest.fixture(scope="module")
def trap(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the module, not armed, and a store of a study that used it in every way."""
    folder = tmp_path_factory.mktemp("trap")
    (folder / "own_code_on_trial.py").write_text(MINE, encoding="utf-8")
    family = {"family": "ring_allocation"}
    where = "own_code_on_trial.py"
    sources = [
        {**family, "jobs": 2, "gpus": 8},
        {**family, "python": f"{where}:draw", "seeds": "0:2"},
        {**family, "worst": f"{where}:smallest", "jobs": 2, "gpus": 4, "budget": 5},
    ]
    methods = ["exact", "doubling", {"python": f"{where}:smallest"}]
    study.run(make_plan(instances=sources, methods=methods, folder=folder), folder / "s", workers=1).close()
    for name in ("own_code_on_trial", "own methods of own_code_on_trial.py"):
        sys.modules.pop(name, None)
    return folder


@pytest.fixture
def armed(trap: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the folder, armed, as the current one, from which modules are imported."""
    shutil.copytree(trap, tmp_path / "armed_folder")
    monkeypatch.chdir(tmp_path / "armed_folder")
    monkeypatch.syspath_prepend(str(tmp_path / "armed_folder"))
    Path("armed").touch()
    return tmp_path / "armed_folder"


def target(draws: random.Random) -> str:
    """Code, somewhere."""
    return f"{draws.choice(HOMES)}:{draws.choice(NAMES)}"


def arguments(draws: random.Random) -> dict[str, object]:
    """Arguments that are code to whoever runs them."""
    return {name: draws.choice(WORDS) for name in draws.sample(ARGUMENTS, draws.randrange(4))}


def forge_store(draws: random.Random) -> None:
    """Name code in some recipes and methods, and take some instances away that the store keeps."""
    with closing(sqlite3.connect("s")) as database, database:
        for (number,) in database.execute("SELECT id FROM instance").fetchall():
            if draws.random() < 0.6:
                recipe = {draws.choice(("python", "worst")): target(draws), "folder": os.getcwd(), "fingerprint": ""}
                packed = zlib.compress(json.dumps({**recipe, "arguments": arguments(draws)}).encode())
                database.execute("UPDATE instance SET recipe = ? WHERE id = ?", (packed, number))
        for number, data in database.execute("SELECT id, data FROM method").fetchall():
            if draws.random() < 0.6:
                home, _, name = target(draws).rpartition(":")
                kind = draws.choice(("python", "command", "name", "search"))
                what = {"python": [home, name], "command": ["touch", "ran"]}.get(kind, f"{home}:{name}")
                said = json.loads(data) | {"kind": kind, "what": what, "parameters": arguments(draws)}
                database.execute("UPDATE method SET data = ? WHERE id = ?", (json.dumps(said), number))
        for (key,) in database.execute("SELECT key FROM found").fetchall():
            if draws.random() < 0.5:
                database.execute("DELETE FROM found WHERE key = ?", (key,))
        if draws.random() < 0.3:  # as in older stores, of which the name of the objective is asked of the instance
            database.execute("UPDATE fact SET objective_name = NULL")


def forge_plan(draws: random.Random) -> None:
    """Write a plan that names code as methods, instances, searches and programs."""
    family = 'family = "ring_allocation"'
    entries = {
        "instances": (
            f"{{{family}, jobs = 2, gpus = 4}}",
            f'{{{family}, python = "{target(draws)}"}}',
            f'{{{family}, python = "{target(draws)}", seeds = "0:3", command = "touch ran"}}',
            f'{{{family}, worst = "{target(draws)}", jobs = 2, gpus = 4}}',
        ),
        "methods": (
            '{name = "doubling"}',
            f'{{python = "{target(draws)}", label = "a"}}',
            f'{{python = "{target(draws)}", label = "b", command_ = "touch ran"}}',
            '{command = ["touch", "ran"]}',
            '{command = ["sh", "-c", "touch ran", "{instance}"]}',
        ),
    }
    chosen = {key: draws.sample(of, draws.randrange(1, len(of))) for key, of in entries.items()}
    lines = [f"{key} = [{', '.join(of)}]" for key, of in chosen.items()]
    Path("plan.toml").write_text('format = "dlsched/study/1"\n' + "\n".join(lines) + "\n", encoding="utf-8")


def forge_result(draws: random.Random) -> None:
    """Write a result that names code as its method and solver."""
    instance = ring_allocation.example()
    dlsched.write(instance, "instance.json")
    result = ring_allocation.solve(instance, method="doubling").as_data()
    result |= {"method": target(draws), "solver": target(draws), "bound_source": target(draws)}
    Path("result.json").write_text(json.dumps(result), encoding="utf-8")


def run_all(seed: int, cli: Callable[..., Ended]) -> None:
    """Forge a store, a plan and a result, and read them by every command."""
    draws = random.Random(seed)
    forge_store(draws)
    forge_plan(draws)
    forge_result(draws)
    before = set(sys.modules)
    commands = (
        *("study plan plan.toml", "study show s", "study export s -o rows.csv"),
        *("study export s --format latex -o t.tex", "study report s -o page.html"),
        *("study report s --format markdown -o page.md", "check instance.json result.json"),
        *("study check s --workers 1", "study check s --workers 1 --again"),
    )
    for command in commands:
        ended = cli(*command.split())
        assert ended.code in (0, 2, 3, 7), (command, ended.err)
        assert "Traceback" not in ended.err and not Path("ran").exists(), (seed, command)
    with study.open("s") as opened:
        for row in opened.rows():
            try:
                opened.instance(row.key)
            except InputError as error:
                assert "no instance in the store" in str(error) or "damaged" in str(error)
    assert not Path("ran").exists(), seed
    new = {name for name in set(sys.modules) - before if "own_code_on_trial" in name}
    assert not new, (seed, new)


@pytest.mark.parametrize("seed", range(4))
def test_nothing_runs(seed: int, armed: Path, here: None, cli: Callable[..., Ended]) -> None:
    run_all(seed, cli)


def test_nothing_runs_in_processes_either(armed: Path, cli: Callable[..., Ended]) -> None:
    """Rows are computed anew by others."""
    run_all(1000, cli)


@pytest.mark.long
def test_nothing_runs_of_two_hundred(trap: Path, armed: Path, here: None, cli: Callable[..., Ended]) -> None:
    for seed in range(200):
        shutil.copy(trap / "s", "s")
        run_all(seed, cli)


def test_the_trap_springs_where_code_is_run(armed: Path, cli: Callable[..., Ended]) -> None:
    """A run of a plan does: the test above can fail."""
    line = 'python = "own_code_on_trial.py:smallest"'
    Path("plan.toml").write_text(
        f'format = "dlsched/study/1"\ninstances = [{{family = "ring_allocation", jobs = 2}}]\nmethods = [{{{line}}}]\n',
        encoding="utf-8",
    )
    assert cli("study", "run", "plan.toml", "--workers", "1").code == 0
    assert Path("ran").exists()


@pytest.mark.parametrize("key", ["methods", "instances", "worst"])
def test_pickled_code_is_refused_from_files_and_their_data(key: str, armed: Path, cli: Callable[..., Ended]) -> None:
    """In words, by a run too; functions of the program itself are handed over as before."""
    family = {"family": "ring_allocation"}
    source = {"methods": {**family, "jobs": 2}, "instances": {**family, "python": f"{PICKLED}:f"}}.get(
        key, {**family, "worst": f"{PICKLED}:f", "jobs": 2, "gpus": 4}
    )
    method = {"python": f"{PICKLED}:f"} if key == "methods" else {"name": "equal"}
    plan = {"instances": [source], "methods": [method]}
    said = "found f, as code inside the plan, allowed: "
    for make in (plan_from, lambda data: make_plan(**data)):
        with pytest.raises((InputError, UsageError), match=said):
            make(plan)  # type: ignore[operator]
    Path("plan.toml").write_text(toml_text({"format": "dlsched/study/1", **plan}), encoding="utf-8")
    for command in ("run", "plan"):
        ended = cli("study", command, "plan.toml")
        assert ended.code == 3 and said in ended.err
    assert not Path("ran").exists()


def test_a_check_of_a_store_without_the_instances_that_were_drawn_says_so(
    armed: Path, cli: Callable[..., Ended]
) -> None:
    edit(Path("s"), "DELETE FROM found")
    ended = cli("study", "check", "s", "--workers", "1")
    assert ended.code == 7 and not Path("ran").exists()
    assert "own_code_on_trial.py:draw: found no instance in the store, allowed: one that a run has kept" in ended.out
