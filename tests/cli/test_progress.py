"""Progress: on standard error, and only when that is a terminal."""

import contextlib
import json
import os
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest

from .conftest import PROGRAM

pty = pytest.importorskip("pty", reason="needs pseudo-terminals")


def on_a_terminal(*arguments: object) -> tuple[int, str, str]:
    """Run with standard error on a terminal and standard output in a pipe."""
    ours, theirs = pty.openpty()
    environment = os.environ | {"TERM": "xterm-256color", "COLUMNS": "120"}
    command = [*PROGRAM, *map(str, arguments)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs, env=environment)
    os.close(theirs)
    shown = bytearray()

    def read() -> None:
        with contextlib.suppress(OSError):  # Linux says so when the other end is closed
            while part := os.read(ours, 4096):
                shown.extend(part)

    reader = threading.Thread(target=read)
    reader.start()
    out, _ = process.communicate(timeout=60)
    reader.join(timeout=60)
    os.close(ours)
    return process.returncode, out.decode(), shown.decode()


@pytest.mark.parametrize("options", [["--json"], [], ["--method", "milp", "--solver", "scip", "--json"]])
def test_progress_is_shown_on_a_terminal(options: list[str], example: Path) -> None:
    """On standard error stands what is done; standard output is what it is without a terminal."""
    code, out, shown = on_a_terminal("solve", example, *options)
    assert code == 0
    assert "two-jobs" in shown
    assert "\x1b" not in out
    if "--json" in options:
        assert json.loads(out)["status"] == "optimal"
    else:
        assert out.startswith("two-jobs: optimal (exact)\n")


def test_comparisons_show_progress_too(example: Path) -> None:
    """Each method by its name."""
    code, out, shown = on_a_terminal("compare", example, "--methods", "exact,doubling", "--csv")
    assert code == 0
    assert "two-jobs, exact" in shown
    assert "two-jobs, doubling" in shown
    assert out.startswith("instance,method,")


def test_proofs_show_progress_too(example: Path, tmp_path: Path) -> None:
    """Cases, once the first solution is there."""
    code, out, shown = on_a_terminal("prove", example, "-o", tmp_path / "proof.vipr")
    assert (code, out.splitlines()[0]) == (0, "two-jobs: optimal (proof by milp)")
    assert "two-jobs, proof: start, objective" in shown


def test_nothing_is_shown_without_a_terminal(program: Any, cli: Any, example: Path) -> None:
    """A pipe gets the result and no more, and so does what captures the output of this process."""
    for call, *arguments in (
        (program, "solve", example),
        (program, "compare", example, "--methods", "exact"),
        (cli, "doctor"),
    ):
        ended = call(*arguments)
        assert (ended.code, ended.err) == (0, "")
        assert "\x1b" not in ended.out
