"""``dlsched study``: commands, exit codes, Ctrl-C."""

import csv
import io
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from conftest import Ended

from dlsched.study.rows import COLUMNS
from dlsched.study.store.store import Store

PLAN = """
format = "dlsched/study/1"
name = "small"
instances = [{family = "ring_allocation", preset = "mixed", jobs = [4, 6], gpus = 24, seeds = "0:3"}]
methods = [{name = "exact"}, {name = "doubling"}, {name = "fixed"}]
"""


@pytest.fixture
def plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A plan in the folder that the command line works in."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "small.toml"
    path.write_text(PLAN, encoding="utf-8")
    return path


def test_plan_says_what_would_run_and_runs_nothing(plan: Path, cli: Callable[..., Ended]) -> None:
    ended = cli("study", "plan", "small.toml", "--workers", "2")
    assert ended.code == 0 and ended.err == ""
    assert ended.out.startswith("small: 18 cells, 6 instances, 3 methods\n")
    assert "Estimate: " in ended.out and "with 2 workers" in ended.out
    assert [path.name for path in plan.parent.iterdir()] == ["small.toml"]


def test_run_show_and_export(plan: Path, cli: Callable[..., Ended]) -> None:
    """The store is beside the plan; `show` has a table, the failures and one line a group; exports have the pinned columns."""
    ran = cli("study", "run", "small.toml", "--workers", "1")
    assert (ran.code, ran.out) == (
        8,
        "small: 18 cells of 6 instances are in small.study.sqlite; 6 cells failed, `dlsched study show` says why\n",
    )
    assert cli("study", "run", "small.toml", "--workers", "1").code == 8, "also where nothing is left to run"
    shown = cli("study", "show", "small.study.sqlite")
    assert shown.code == 0 and "ring_allocation, mixed: 6 instances" in shown.out and "no_solution" in shown.out
    brief = cli("study", "show", "small.study.sqlite", "--brief")
    assert brief.code == 0 and "6 of 18 cells have no answer" in brief.out
    rows = cli("study", "show", "small.study.sqlite", "--json").json
    assert len(rows) == 18 and set(rows[0]) == set(COLUMNS)
    assert cli("study", "export", "small.study.sqlite", "--format", "json").json == rows
    exported = cli("study", "export", "small.study.sqlite", "--format", "csv")
    read = list(csv.DictReader(io.StringIO(exported.out)))
    assert [row["method"] for row in read] == [row["method"] for row in rows]
    assert [float(row["ratio"]) for row in read if row["ratio"]] == [row["ratio"] for row in rows if row["ratio"]]
    assert cli("study", "run", "small.toml").code == 8


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["run", "missing.toml"], 3, "missing.toml: cannot be read"),
        (["run", "small.toml", "--workers", "0"], 2, "workers: found 0"),
        (["run", "small.toml", "--retry", "nonsense"], 2, "retry: found 'nonsense'"),
        (["run", "small.toml", "-s", "nowhere/s"], 3, "nowhere/s: the store cannot be used"),
        (["show", "missing.sqlite"], 3, "missing.sqlite: the store cannot be read: there is no such file"),
        (["show", "small.toml"], 3, "small.toml: the store cannot be used: file is not a database"),
        (["export", "missing.sqlite", "--format", "csv"], 3, "missing.sqlite"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(
    plan: Path, cli: Callable[..., Ended], arguments: list[str], code: int, message: str
) -> None:
    ended = cli("study", *arguments)
    assert ended.code == code and message in ended.line and ended.out == ""


def test_a_second_leader_is_refused(plan: Path, cli: Callable[..., Ended]) -> None:
    with Store(plan.parent / "small.study.sqlite", leading=True):
        ended = cli("study", "run", "small.toml")
    assert ended.code == 3 and "is being written by another run" in ended.line


def test_help_lists_the_commands(cli: Callable[..., Ended]) -> None:
    ended = cli("study", "--help")
    assert ended.code == 0 and all(word in ended.out for word in ("plan", "run", "show", "report", "export"))
    assert cli("study").code == 2 and cli("study", "walk").code == 2


def test_ctrl_c_keeps_what_has_ended_and_the_same_command_goes_on(plan: Path, cli: Callable[..., Ended]) -> None:
    """Cells that sleep until a file is there: the first ended, the second is interrupted, nothing is left behind."""
    (plan.parent / "slow.py").write_text(
        "import os, time\n\ndef slow(instance):\n    while not os.path.exists('go') and instance.name.endswith('seed1'):\n"
        "        time.sleep(0.01)\n    return {'gpus': {job.id: 1 for job in instance.jobs}}\n",
        encoding="utf-8",
    )
    plan.write_text(
        PLAN.replace('{name = "fixed"}', '{name = "slow", python = "slow.py:slow"}').replace("[4, 6]", "4"),
        encoding="utf-8",
    )
    command = [sys.executable, "-m", "dlsched", "study", "run", "small.toml", "--workers", "1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        while ended_in(plan) < 5:  # all of seed 0, exact and doubling of seed 1
            assert running.poll() is None, running.communicate()
            time.sleep(0.02)
        started = psutil.Process(running.pid).children(recursive=True)
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=60)
    assert (running.returncode, out) == (5, "")
    assert err == "dlsched: interrupted; 4 cells are left, the same command goes on\n"
    psutil.wait_procs(started, timeout=30)
    assert not any(process.is_running() and process.status() != psutil.STATUS_ZOMBIE for process in started)
    assert ended_in(plan) == 5
    (plan.parent / "go").touch()
    assert cli("study", "run", "small.toml", "--workers", "1").code == 0
    rows = json.loads(cli("study", "show", "small.study.sqlite", "--json").out)
    assert len(rows) == 9 and all(row["objective"] for row in rows)


def ended_in(plan: Path) -> int:
    """Results in the store of a plan that is being run."""
    path = plan.with_suffix(".study.sqlite")
    if not os.path.exists(path):
        return 0
    database = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)
    try:
        return int(database.execute("SELECT count(*) FROM result").fetchone()[0])
    except sqlite3.OperationalError:  # it is being made
        return 0
    finally:
        database.close()
