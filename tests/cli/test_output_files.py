"""Files that cannot be written: named before any work is done, exit 3 (a plot: 2), and what was there stays."""

import ctypes
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .conftest import PROGRAM

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="drops root's right to write everything")
INSTANCE = Path(__file__).parent.parent.parent / "instances" / "ring_allocation" / "two-jobs.json"
WRITING = {
    "solve": f"solve {INSTANCE} -o OUT.json",
    "prove": f"prove {INSTANCE} -o OUT.vipr",
    "proof": f"solve {INSTANCE} --proof OUT.vipr",
    "generate": "generate ring_allocation -o OUT.json",
    "export": f"export {INSTANCE} -o OUT.lp",
    "worst": "worst ring_allocation --method doubling --budget 5 -o OUT.json",
    "certificate": "worst ring_allocation --method doubling --budget 5 --prove --certificate OUT.json",
    "stream": f"stream {INSTANCE.parent.parent / 'async_sgd' / 'equal-jobs.json'} -o OUT.json",
    "plot": f"compare {INSTANCE} --methods doubling --plot OUT.png",
}
DROP_BOUND, OVERRIDES = 24, (1, 2)  # PR_CAPBSET_DROP, CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH


def as_anyone() -> None:
    """Give up root's right to write what its permissions forbid, where this is root."""
    for capability in OVERRIDES if os.geteuid() == 0 else ():
        ctypes.CDLL(None).prctl(DROP_BOUND, capability, 0, 0, 0)


def written(line: str, out: str, folder: Path) -> tuple[int, str]:
    """Run a line in a folder by rights of anyone; return its exit code and what it says on standard error."""
    words = [out + Path(word).suffix if word.startswith("OUT.") else word for word in line.split()]
    ended = subprocess.run(
        [*PROGRAM, *words], cwd=folder, capture_output=True, text=True, timeout=120, preexec_fn=as_anyone
    )
    assert "Traceback" not in ended.stderr
    return ended.returncode, ended.stderr


@pytest.mark.parametrize("command", WRITING)
def test_a_file_that_may_not_be_written_stays(command: str, tmp_path: Path) -> None:
    """Replacing it would need its folder's permission only, and would undo what its owner meant."""
    suffix = WRITING[command].rpartition("OUT")[2]
    kept = tmp_path / f"kept{suffix}"
    kept.write_text("kept")
    kept.chmod(0o444)
    code, said = written(WRITING[command], "kept", tmp_path)
    assert (code, said.split("dlsched: ")[-1].removeprefix("plot: ")) == (
        2 if command == "plot" else 3,
        f"kept{suffix}: cannot be written: no permission\n",
    )
    assert (kept.read_text(), os.listdir(tmp_path)) == ("kept", [kept.name])


def test_a_folder_that_may_not_be_written(tmp_path: Path) -> None:
    """Neither a new file in it nor one that is there."""
    (tmp_path / "closed").mkdir()
    (tmp_path / "closed" / "old.json").write_text("old")
    (tmp_path / "closed").chmod(0o555)
    for name in ("new", "old"):
        code, said = written(WRITING["solve"], f"closed/{name}", tmp_path)
        assert (code, said) == (3, f"dlsched: closed/{name}.json: cannot be written: no permission\n")
    assert os.listdir(tmp_path / "closed") == ["old.json"]


@pytest.mark.parametrize(
    ("out", "why"),
    [
        ("", "it is a folder"),
        ("x" * 300, "File name too long"),
        ("x/" * 3000, "File name too long"),
        ("folder", "it is a folder"),
        ("nowhere/x", "there is no folder"),
        ("file/x", "there is no folder"),
    ],
)
def test_names_that_cannot_be(out: str, why: str, cli: Callable[..., Any], tmp_path: Path, monkeypatch: Any) -> None:
    """Exit 3 in a line, wherever the name is wrong."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("")
    ended = cli("solve", INSTANCE, "-o", out)
    assert (ended.code, ended.out) == (3, "")
    assert ended.line.startswith(f"dlsched: {out or repr('')}: cannot be written: {why}")


@pytest.mark.parametrize("command", WRITING)
def test_a_current_folder_that_is_gone(
    command: str, cli: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another program has removed it: the file that was to be written is named."""
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    words = [word.replace("OUT.", "x.") for word in WRITING[command].split()]
    ended = cli(*words)
    name = words[-1]
    assert ended.code == (2 if command == "plot" else 3)
    assert ended.line.endswith(f"{name}: cannot be written: the current folder: No such file or directory")


@pytest.mark.parametrize("line", ["solve x.json", "study plan x.toml", "study run x.toml", "study show x.sqlite"])
def test_what_is_read_in_a_folder_that_is_gone(
    line: str, cli: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Named too, and so is the folder where nothing else is known."""
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    ended = cli(*line.split())
    assert ended.code == 3 and ended.line.startswith(f"dlsched: {line.split()[-1]}: ")
    own = cli("solve", INSTANCE, "--method", "mine.py:mine")
    assert (own.code, own.line) == (1, "dlsched: the current folder: No such file or directory")


@pytest.mark.parametrize(
    "line",
    [
        "BYTES",
        "solve BYTES",
        f"solve {INSTANCE} --method BYTES.py:mine",
        pytest.param("generate ring_allocation --jobs BYTES", marks=pytest.mark.long),
        "whatif BYTES --source slurm -o x.html",
        "study run BYTES.toml",
        pytest.param("worst ring_allocation --method BYTES", marks=pytest.mark.long),
    ],
)
def test_words_that_are_no_text(line: str, program: Callable[..., Any]) -> None:
    """Bytes that are no UTF-8 are shown escaped, and mean nothing: exit 2 or 3."""
    ended = program(*line.replace("BYTES", "\udcff").split())
    assert ended.code in (2, 3) and "Traceback" not in ended.err and ended.out == ""


@pytest.mark.parametrize(
    "environment",
    [
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "ascii"},
        pytest.param({"COLUMNS": "1", "NO_COLOR": "1", "TERM": ""}, marks=pytest.mark.long),
        pytest.param({"COLUMNS": "-5", "HOME": "/nonexistent", "LC_ALL": "nosuch"}, marks=pytest.mark.long),
        pytest.param({"COLUMNS": "wide", "TMPDIR": "/nonexistent"}, marks=pytest.mark.long),
    ],
)
def test_environments_change_nothing(environment: dict[str, str], program: Callable[..., Any]) -> None:
    """Whatever the locale, the width that a shell states, and the folders: the same text, no word beside it."""
    plain, odd = (program("methods", "ring_allocation", **each) for each in ({}, environment))
    assert (odd.code, odd.out, odd.err) == (0, plain.out, "")
    solved = program("solve", INSTANCE, "--method", "milp", "--json", **environment)
    assert (solved.code, solved.err) == (0, "") and "9846.0" in solved.out
