"""What counts as the code of a plan's own methods and instances: their files, programs, and modules they import."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from dlsched import UsageError
from dlsched.study.plans.method_entries import files_of_code, read_method
from dlsched.study.plans.plan_file import make_plan
from dlsched.study.plans.sources import recipes

MINE = "import json, os.path\nfrom helper_for_code import most\n\ndef f(instance):\n    return None\n"
DRAWS = """
from dlsched import ring_allocation

def draws(*, seed):
    from helper_for_code import most
    return ring_allocation.generate(jobs=most, gpus=8, seed=seed)
"""


def of_method(python: str) -> Callable[[Path], str]:
    return lambda folder: read_method({"python": python}, ["ring_allocation"], folder, ())[0].fingerprint


def of_instances(folder: Path) -> str:
    source = {"family": "ring_allocation", "python": "draws.py:draws"}
    (found,) = recipes(make_plan(instances=source, methods=["equal"], folder=folder))
    return str(found.data["fingerprint"])


@pytest.mark.parametrize("mark", [of_method("mine.py:f"), of_method("mine_for_code:f"), of_instances])
def test_modules_that_are_imported_count(mark: Callable[[Path], str], tmp_path: Path) -> None:
    """Also through others, however often they were imported before; modules beside them that are not do not."""
    for name in ("mine.py", "mine_for_code.py"):
        (tmp_path / name).write_text(MINE)
    (tmp_path / "draws.py").write_text(DRAWS)
    (tmp_path / "helper_for_code.py").write_text("import deep_for_code.inner\nmost = 3\n")
    (tmp_path / "deep_for_code").mkdir()
    (tmp_path / "deep_for_code" / "__init__.py").write_text("")
    (tmp_path / "deep_for_code" / "inner.py").write_text("from . import other\nfrom .other import number\n")
    (tmp_path / "deep_for_code" / "other.py").write_text("number = 3\n")
    (tmp_path / "aside.py").write_text("")
    before = mark(tmp_path)
    assert mark(tmp_path) == before
    (tmp_path / "aside.py").write_text("number = 4\n")
    assert mark(tmp_path) == before
    for name in ("helper_for_code.py", "deep_for_code/__init__.py", "deep_for_code/inner.py", "deep_for_code/other.py"):
        with (tmp_path / name).open("a") as file:
            file.write("\n")
        after = mark(tmp_path)
        assert after != before, name
        before = after


def test_modules_elsewhere_do_not_count(tmp_path: Path) -> None:
    """Neither dlsched's, nor what stands above the folder; modules that import each other are taken once."""
    inner = tmp_path / "inner"
    inner.mkdir()
    (tmp_path / "above.py").write_text("")
    (inner / "one.py").write_text("import two, dlsched, above\nfrom .. import above\nfrom ..... import x\n")
    (inner / "two.py").write_text("from one import *\n")
    (inner / "dlsched.py").write_text("")
    assert files_of_code([str(inner / "one.py")], str(inner)) == [str(inner / "one.py"), str(inner / "two.py")]


def test_a_program_on_the_path_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its file, wherever it is found."""
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "found_for_code"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")

    def fingerprint() -> str:
        (found,) = read_method({"command": ["found_for_code", "{instance}"]}, ["ring_allocation"], tmp_path, ())
        return found.fingerprint

    before = fingerprint()
    assert fingerprint() == before
    program.write_text("#!/bin/sh\nexit 1\n")
    assert fingerprint() != before


pytest.importorskip("cloudpickle")

SCRIPT = """
from dlsched import study
SHARE = {share}

def helper(job):
    return min(job.epoch_time_s)

def smallest(instance, *, extra=0):
    return {{"gpus": {{job.id: helper(job) * SHARE + extra for job in instance.jobs}}}}

class Never:
    def decide(self, view):
        raise RuntimeError("never")

plan = study.make_plan(
    name="cell",
    instances={{"family": "ring_allocation", "jobs": 3, "gpus": 8, "seeds": "0:2"}},
    methods=["exact", smallest, {{"python": lambda instance: None, "label": "none"}}],
)
assert "pickled" not in plan.text and "a function of the session" in plan.text
with study.run(plan, "cell.sqlite", workers=1) as done:
    for row in done.rows():
        print(row.method, row.status, row.key)
    done.report("cell.md", "markdown")
failures = []
study.check("cell.sqlite", take=lambda row, found: failures.extend(found.failures), workers=1)
assert not failures, failures
"""


def run(folder: Path, text: str) -> list[list[str]]:
    """Lines that the script prints, as ``python - < script`` runs a notebook's code: without a file."""
    ended = subprocess.run([sys.executable, "-"], input=text, cwd=folder, capture_output=True, text=True, timeout=120)
    assert ended.returncode == 0, ended.stderr
    return [line.split() for line in ended.stdout.splitlines()]


def test_functions_of_a_session_are_methods(tmp_path: Path) -> None:
    """They run with what they refer to; the same code is the same cell in the next session, other data are another."""
    first = run(tmp_path, SCRIPT.format(share=1))
    assert [line[:2] for line in first[:3]] == [["exact", "optimal"], ["smallest", "feasible"], ["none", "no_solution"]]
    assert "pickled" not in (tmp_path / "cell.md").read_text(encoding="utf-8")
    assert run(tmp_path, "\n\n# a line more\n" + SCRIPT.format(share=1)) == first
    other = run(tmp_path, SCRIPT.format(share=2))
    keys = [[line[2] for line in lines] for lines in (first, other)]
    assert [one == two for one, two in zip(*keys, strict=True)] == [True, False, True] * 2


def test_what_cannot_be_handed_over_is_refused_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """A function with a lock, and any where cloudpickle is not installed."""
    lock = threading.Lock()

    def mine(instance: object) -> None:
        with lock:
            return

    asked = {"instances": {"family": "ring_allocation"}, "methods": [mine]}
    with pytest.raises(UsageError, match="mine, which cannot be handed to another process"):
        make_plan(**asked)
    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    with pytest.raises(UsageError, match="needs cloudpickle"):
        make_plan(**asked)
