"""Ctrl-C and time limits in the real program: a checked answer is held, and no solver is left behind."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from dlsched.elastic_stream import View
from dlsched.elastic_stream.policies import Myopic

from .conftest import PROGRAM

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs signals and process groups")

PATIENCE_S = 60.0  # for what takes a second; only a hang reaches it
PROMPT_S = 10.0  # Ctrl-C answers in a fraction of it, on a busy machine too


def children(process: int) -> list[int]:
    """Processes that a process started."""
    if sys.platform == "linux":
        try:
            return [int(child) for child in Path(f"/proc/{process}/task/{process}/children").read_text().split()]
        except OSError:
            return []
    listed = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True).stdout
    pairs = [list(map(int, line.split())) for line in listed.splitlines()]
    return [child for child, parent in pairs if parent == process]


def heed_interrupts() -> None:
    """Undo what a shell does to programs in its background: they ignore Ctrl-C, and so would all that they start."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def alive(process: int) -> bool:
    """Whether a process is there and no zombie."""
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(process)], capture_output=True, text=True).stdout.strip()
    return bool(state) and not state.startswith("Z")


def wait_until(holds: Callable[[], Any]) -> Any:
    """Wait for something to become true and return it."""
    ends = time.monotonic() + PATIENCE_S
    while not (held := holds()):
        assert time.monotonic() < ends, "it never happened"
        time.sleep(0.01)
    return held


@pytest.fixture(scope="module")
def hard(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Instances on which ``minlp`` takes minutes, and HiGHS seconds."""
    folder = tmp_path_factory.mktemp("hard")
    for jobs, gpus in ((60, 400), (2000, 13107)):
        arguments = ["--jobs", jobs, "--gpus", gpus, "-o", folder / f"{jobs}.json"]
        subprocess.run([*PROGRAM, "generate", "ring_allocation", *map(str, arguments)], check=True)
    return {"minlp": folder / "60.json", "milp": folder / "2000.json"}


@pytest.fixture
def start() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start the program; it is killed when a test fails."""
    started: list[subprocess.Popen[str]] = []

    def call(*arguments: object) -> subprocess.Popen[str]:
        command = [*PROGRAM, *map(str, arguments)]
        pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        started.append(subprocess.Popen(command, preexec_fn=heed_interrupts, **pipes))
        return started[-1]

    yield call
    for process in started:
        process.kill()
        process.communicate()


def interrupted(process: subprocess.Popen[str]) -> tuple[Any, str]:
    """Interrupt once its solver runs; return what it printed, and assert that it was quick and left nothing."""
    solvers = wait_until(lambda: children(process.pid))
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE_S)
    assert time.monotonic() - began < PROMPT_S
    assert "Traceback" not in err
    wait_until(lambda: not any(map(alive, solvers)))
    return json.loads(out), err


@pytest.mark.parametrize("method", ["minlp", "milp"])
def test_ctrl_c_ends_a_solve_with_what_is_held(
    method: str, hard: dict[str, Path], start: Any, cli: Any, tmp_path: Path
) -> None:
    """Exit 0, status interrupted, a solution that passes the checker, in the file and on standard output."""
    out = tmp_path / "result.json"
    process = start("solve", hard[method], "--method", method, "--json", "-o", out)
    result, err = interrupted(process)
    assert (process.returncode, err) == (0, "")
    assert result["status"] == "interrupted"
    assert len(result["solution"]["gpus"]) == (60 if method == "minlp" else 2000)
    assert json.loads(out.read_text()) == result
    assert cli("check", hard[method], out).code == 0


def test_ctrl_c_ends_a_comparison_with_the_rows_so_far(hard: dict[str, Path], start: Any) -> None:
    """The rows before and the interrupted one are printed, not the methods and files after."""
    process = start("compare", hard["minlp"], hard["milp"], "--methods", "exact,minlp,doubling", "--json")
    rows, err = interrupted(process)
    assert process.returncode in (0, 5)
    assert [(row["method"], row["status"]) for row in rows] == [("exact", "optimal"), ("minlp", "interrupted")]
    assert rows[1]["ratio"] >= 1
    assert "interrupted" in err


def test_ctrl_c_in_a_long_simulation_says_how_far_it_came(
    cli: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A policy has no answer before its end: exit 5, one sentence with days simulated and jobs ended, no traceback."""
    path, decide, asked = tmp_path / "stream.json", Myopic.decide, 0

    def press(policy: Myopic, view: View) -> Mapping[int, int]:
        nonlocal asked
        asked += 1
        if asked == 500:
            signal.raise_signal(signal.SIGINT)
        return decide(policy, view)

    assert cli("generate", "elastic_stream", "--jobs", "2000", "--gpus", "16", "-o", path).code == 0
    monkeypatch.setattr(Myopic, "decide", press)
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have started us without
    try:
        ended = cli("solve", path, "--method", "myopic", "--json")
    finally:
        signal.signal(signal.SIGINT, handler)
    assert (ended.code, ended.err, asked) == (5, "", 500)
    assert (ended.json["status"], ended.json["solution"]) == ("interrupted", None)
    said = r"interrupted: [\d.,e+-]+ days simulated, [\d,]+ of 2,000 jobs ended, [\d,]+ present"
    assert re.fullmatch(said, ended.json["message"])


def test_a_time_limit_holds(hard: dict[str, Path], start: Any, cli: Any, tmp_path: Path) -> None:
    """Of minutes of search, little more than the limit is spent; the answer is checked, no solver is left behind."""
    out = tmp_path / "result.json"
    process = start("solve", hard["minlp"], "--method", "minlp", "--time-limit", "2", "--json", "-o", out)
    solvers: set[int] = set()  # none, where the machine is so busy that building the model takes longer

    def ended() -> bool:
        solvers.update(children(process.pid))
        return process.poll() is not None

    wait_until(ended)
    text, err = process.communicate()
    result = json.loads(text)
    assert (process.returncode, err, result["status"]) == (0, "", "time_limit")
    assert 2 <= result["runtime_s"] < 2 + PROMPT_S
    assert cli("check", hard["minlp"], out).code == 0
    wait_until(lambda: not any(map(alive, solvers)))


def runs_scip(process: int) -> bool:
    """Whether a process has loaded SCIP; one that has ended in the meantime has not."""
    try:
        return "pyscipopt" in Path(f"/proc/{process}/maps").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_killing_the_program_ends_its_solver(hard: dict[str, Path], start: Any) -> None:
    """Even a kill that no program can answer leaves no SCIP behind."""
    process = start("solve", hard["minlp"], "--method", "minlp")
    (solver,) = wait_until(lambda: list(filter(runs_scip, children(process.pid))))
    process.kill()
    process.wait()
    wait_until(lambda: not alive(solver))
