"""Outputs that are inputs of their command: refused before any work, exit 2, and the file stays as it was."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Ended

from .conftest import PROGRAM

RING = Path(__file__).parent.parent.parent / "instances" / "ring_allocation" / "two-jobs.json"
ASYNC = RING.parent.parent / "async_sgd" / "equal-jobs.json"
COMMANDS = {
    "solve": "solve in.json -o IN",
    "a proof of solve": "solve in.json --proof IN",
    "two outputs": "solve in.json -o new.json --proof new.json",
    "a method's file": "solve in.json --method own.py:smallest -o own.py",
    "compare": "compare in.json --methods doubling --plot IN",
    "the second of several": "compare other.json in.json --methods doubling --plot IN",
    "a method's file among others": "compare in.json --methods doubling,own.py:smallest --plot own.py",
    "an answer": "compare other.json --solutions in.json --plot IN",
    "prove": "prove in.json -o IN",
    "a start": "prove other.json --start in.json -o IN",
    "export": "export in.json -o IN",
    "stream": "stream async.json -o async.json",
    "import": "import in.json --source slurm -o IN",
    "what happened": "import in.json --source slurm --happened IN",
    "advise": "advise in.json --source slurm --gpus 8 -o IN",
    "nodes of advise": "advise other.json --source slurm --nodes in.json --gpus 8 -o IN",
    "whatif": "whatif in.json --source slurm -o IN",
    "a store of whatif": "whatif in.json --source slurm -o page.html -s IN",
    "reproduce": "reproduce philly --trace in.json -o IN",
    "a store of reproduce": "reproduce philly --trace in.json -s IN",
    "worst": "worst ring_allocation --method own.py:smallest -o own.py",
    "a certificate": "worst ring_allocation --method doubling --prove --certificate new -o new",
    "study run": "study run in.json -s IN",
    "study report": "study report in.json -o IN",
    "study plot": "study plot in.json -o IN",
    "study export": "study export in.json -o IN",
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with files to read and two other names of the first."""
    monkeypatch.chdir(tmp_path)
    for name in ("in.json", "other.json"):
        shutil.copy(RING, name)
    shutil.copy(ASYNC, "async.json")
    Path("own.py").write_text("def smallest(instance):\n    return {}\n", encoding="utf-8")
    os.symlink("in.json", "link.json")
    os.link("in.json", "hard.json")
    return tmp_path


@pytest.mark.parametrize("name", ["in.json", "./in.json", "link.json", "hard.json"])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_does_not_replace_what_it_reads(command: str, name: str, cli: Callable[..., Ended]) -> None:
    """By any name of the file."""
    before = {path.name: path.read_bytes() for path in Path().iterdir()}
    ended = cli(*COMMANDS[command].replace("IN", name).split())
    assert (ended.code, ended.out) == (2, ""), ended.err
    assert ended.line.startswith("dlsched: -") and ended.line.endswith(" names too, allowed: another file")
    assert {path.name: path.read_bytes() for path in Path().iterdir()} == before


def test_a_file_on_standard_input_is_an_input(folder: Path) -> None:
    with open("in.json", "rb") as file:
        ended = subprocess.run([*PROGRAM, "solve", "-", "-o", "in.json"], stdin=file, capture_output=True, text=True)
    assert ended.returncode == 2 and "in.json, which FILE names too" in ended.stderr


def test_names_that_are_no_files_and_devices_may_be_written(cli: Callable[..., Ended]) -> None:
    """A file that is called like a source, a family or a method is not read by them."""
    for name, line in {
        "doubling": "solve in.json --method doubling -o doubling",
        "ring_allocation": "generate ring_allocation -o ring_allocation",
    }.items():
        Path(name).touch()
        assert cli(*line.split()).code == 0 and Path(name).stat().st_size
    assert cli("solve", "in.json", "-o", "/dev/null").code == 0
