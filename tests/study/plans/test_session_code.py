"""Functions that a notebook or script defines as methods of a study: they run, and cells are known by what they do."""

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

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
    ended = subprocess.run(
        [sys.executable, "-"], input=textwrap.dedent(text), cwd=folder, capture_output=True, text=True, timeout=120
    )
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


def test_what_cannot_be_handed_over_is_refused_in_words(tmp_path: Path) -> None:
    """A function with a lock, and any where cloudpickle is not installed."""
    locked = """
    import threading
    from dlsched import UsageError, study
    lock = threading.Lock()
    def mine(instance):
        with lock:
            return None
    try:
        study.make_plan(instances={"family": "ring_allocation"}, methods=[mine])
    except UsageError as error:
        print(error)
    """
    assert "mine, which cannot be handed to another process" in " ".join(run(tmp_path, locked)[0])
    absent = "import sys\nsys.modules['cloudpickle'] = None\n" + textwrap.dedent(locked)
    assert "needs cloudpickle" in " ".join(run(tmp_path, absent)[0])
