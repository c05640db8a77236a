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

import dlsched
from dlsched.cli import run
from dlsched.elastic_stream import View
from dlsched.elastic_stream.policies import Myopic
from dlsched.proofs.checker import check_proof

from .conftest import PROGRAM

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs signals and process groups")

linux = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
INSTANCES = Path(__file__).parents[2] / "instances"
JOBS = INSTANCES / "ring_allocation" / "two-jobs.json"
RACKS = INSTANCES / "ring_embedding" / "two-racks.json"  # takes every solver seconds

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
def hard(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An instance on which ``minlp`` takes minutes."""
    file = tmp_path_factory.mktemp("hard") / "20.json"
    assert run(["generate", "matching_placement", "--jobs", "20", "--gpus", "60", "-o", str(file)]) == 0
    return file


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


@pytest.mark.parametrize("method", ["minlp", pytest.param("arc", marks=pytest.mark.long)])
def test_ctrl_c_ends_a_solve_with_what_is_held(method: str, hard: Path, start: Any, cli: Any, tmp_path: Path) -> None:
    """Exit 0, status interrupted, a solution that passes the checker, in the file and on standard output."""
    file, out = hard if method == "minlp" else RACKS, tmp_path / "result.json"
    process = start("solve", file, "--method", method, "--json", "-o", out)
    result, err = interrupted(process)
    assert (process.returncode, err) == (0, "")
    assert (result["status"], result["method"]) == ("interrupted", method)
    assert result["solution"] is not None
    assert json.loads(out.read_text()) == result
    assert cli("check", file, out).code == 0


def test_ctrl_c_ends_a_comparison_with_the_rows_so_far(hard: Path, start: Any) -> None:
    """The rows before and the interrupted one are printed, not the methods and files after."""
    process = start("compare", hard, JOBS, "--methods", "exact,minlp,marginal", "--time-limit", 100, "--json")
    rows, err = interrupted(process)
    assert process.returncode in (0, 5)
    assert [(row["method"], row["status"]) for row in rows] == [("exact", "optimal"), ("minlp", "interrupted")]
    assert rows[1]["ratio"] >= 1
    assert "interrupted" in err


def test_ctrl_c_ends_a_proof_with_what_is_proven(start: Any, tmp_path: Path) -> None:
    """While the first solution is sought, or later: the file holds a bound, and maybe a solution, and is true."""
    proof = tmp_path / "proof.vipr"
    process = start("prove", RACKS, "-o", proof, "--json")
    said, err = interrupted(process)
    found = check_proof(proof, dlsched.read(RACKS))
    assert (process.returncode, err) == (0 if found.solution else 5, "")
    assert (said["status"], found.closed) == ("interrupted", False)
    assert said["bound"] is None or said["bound"] >= 66.78


def test_ctrl_c_in_a_long_simulation_says_how_far_it_came(
    cli: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """How far the policy came stands in one sentence; what is held is the answer of a faster rule, exit 0; no traceback."""
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
    assert (ended.code, ended.err, asked) == (0, "", 500)
    assert ended.json["status"] == "interrupted"
    assert len(ended.json["solution"]["periods"]) == 2000
    said = "myopic was stopped; the answer is that of a faster rule; "
    said += r"interrupted: [\d.,e+-]+ days simulated, [\d,]+ of 2,000 jobs ended, [\d,]+ present"
    assert re.fullmatch(said, ended.json["message"])


def test_a_time_limit_holds(hard: Path, start: Any, cli: Any, tmp_path: Path) -> None:
    """Of minutes of search, little more than the limit is spent; the answer is checked, no solver is left behind."""
    out = tmp_path / "result.json"
    process = start("solve", hard, "--method", "minlp", "--time-limit", "1", "--json", "-o", out)
    solvers: set[int] = set()  # none, where the machine is so busy that building the model takes longer

    def ended() -> bool:
        solvers.update(children(process.pid))
        return process.poll() is not None

    wait_until(ended)
    text, err = process.communicate()
    result = json.loads(text)
    assert (process.returncode, err, result["status"]) == (0, "", "time_limit")
    assert 1 <= result["runtime_s"] < 1 + PROMPT_S
    assert cli("check", hard, out).code == 0
    wait_until(lambda: not any(map(alive, solvers)))


def handles_signals(process: int) -> bool:
    """Whether a program has come as far as its first line."""
    caught = next(
        line for line in Path(f"/proc/{process}/status").read_text().splitlines() if line.startswith("SigCgt")
    )
    return bool(int(caught.split()[1], 16) >> (signal.SIGTERM - 1) & 1)


def running_cbc(process: int) -> list[int]:
    """Return CBC and the child that runs it, or nothing yet."""
    solvers = children(process)
    programs = [program for solver in solvers for program in children(solver) if alive(program)]
    return solvers + programs if programs else []


@linux
def test_ctrl_c_while_modules_are_imported_is_the_end(start: Any) -> None:
    """From its first line on the program answers without a word, and with 130."""
    process = start("solve", RACKS)
    wait_until(lambda: handles_signals(process.pid))
    process.send_signal(signal.SIGINT)
    assert (*process.communicate(), process.returncode) == ("", "", 130)


@linux
def test_one_ctrl_c_that_arrives_twice_loses_nothing(start: Any) -> None:
    """A terminal and a parent may both hand it on; what is held is printed all the same."""
    process = start("solve", RACKS, "--method", "arc", "--solver", "cbc", "--json")
    wait_until(lambda: running_cbc(process.pid))
    process.send_signal(signal.SIGINT)
    time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate()
    assert (err, process.returncode, json.loads(out)["status"]) == ("", 0, "interrupted")


@linux
@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGHUP, marks=pytest.mark.long)])
def test_a_study_that_is_ended_leaves_no_lock(number: signal.Signals, start: Any, tmp_path: Path) -> None:
    """What has ended is in the store, and nothing beside it says that somebody writes it still."""
    (tmp_path / "plan.toml").write_text(
        'format = "dlsched/study/1"\nname = "long"\nmethods = [{name = "milp"}]\n'
        'instances = [{family = "ring_allocation", jobs = 40, gpus = 60, seeds = "0:500"}]\n'
    )
    store, lock = tmp_path / "store.sqlite", tmp_path / "store.sqlite.lock"
    process = start("study", "run", tmp_path / "plan.toml", "-s", store, "--workers", "1")
    wait_until(lock.exists)
    process.send_signal(number)
    assert (*process.communicate(), process.returncode) == ("", "", 128 + number)
    assert not lock.exists()


LATE = """
import signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # also where the tests run in a shell's background
import dlsched.cli
from dlsched import __main__ as program

class Late:
    def __del__(self, sleep=time.sleep):
        sleep(0.3)  # where Python has given all signals their defaults back

def run(arguments):
    program._again()  # Ctrl-C came while a module was being imported, and the command ended at once
    return 0

sys.late, dlsched.cli.run = Late(), run
program.main()
"""


@linux
def test_a_ctrl_c_that_waits_is_forgotten_at_the_end(tmp_path: Path) -> None:
    """The timer that would deliver it again is off before Python ends: no death by SIGALRM, all being said and done."""
    script = tmp_path / "late.py"
    script.write_text(LATE)
    ended = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")
