"""Signals at random moments: nothing outlives the program, no file stays, no traceback, and the exit code is a documented one.

The sessions of a trial are known by a variable of their environment, and their files by a folder of their own.
"""

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")

INSTANCES = Path(__file__).parent.parent / "instances"
RACKS = INSTANCES / "ring_embedding" / "two-racks.json"
NODES = INSTANCES / "async_sgd" / "mixed-50x400-seed2.json"
WORKERS = INSTANCES / "matching_placement" / "many-types-60x160-seed11.json"
TYPES = INSTANCES / "matching_placement" / "many-types-5x12-seed1.json"
SLOTS = INSTANCES / "elastic_stream" / "slots-6x3-seed2.json"
JOBS = INSTANCES / "ring_allocation" / "two-jobs.json"
GANGS = INSTANCES / "async_sgd" / "equal-jobs.json"

PARTS, EACH = 10, 50  # signals of the campaign: 500
FEW = 8  # of the sample in every run
MARK = "DLSCHED_TRIAL"
BUSY_S = (
    60.0  # in which a program has to end, and after which nothing of it is left, where many tests share the machine
)
PRESSES = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL)

COMMANDS = {
    "highs": f"solve {RACKS} --method arc --solver highs --json -o OUT",
    "cbc": f"solve {RACKS} --method arc --solver cbc --json",
    "scip": f"solve {RACKS} --method arc --solver scip --json",
    "cpsat": f"solve {NODES} --method milp --solver cpsat --json -o OUT",
    "circuit": f"solve {RACKS} --method circuit --json",
    "minlp": f"solve {TYPES} --method minlp --json",
    "own": f"solve {WORKERS} --method exact --json",
    "states": f"solve {SLOTS} --json",
    "cross-check": f"solve {JOBS} --cross-check cbc -o OUT",
    "compare": f"compare {TYPES} {JOBS} --json",
    "bound": f"bound {WORKERS} --json",
    "check": f"check {JOBS} RESULT",
    "generate": "generate ring_allocation --jobs 2000 --gpus 13107 -o OUT",
    "stream": f"stream {GANGS} -o OUT",
    "doctor": "doctor --json",
    "export": f"export {RACKS} --format lp -o OUT",
    "import": "import TRACE --source pcs -o OUT",
    "methods": "methods --json",
    "worst": "worst ring_allocation --method doubling --budget 300 --json -o OUT",
    "worst-proof": "worst ring_allocation --method doubling --jobs 2 --prove --budget 100 --certificate OUT",
    "study": "study run PLAN -s STORE --workers 2",
    "compare-csv": f"compare {TYPES} {JOBS} --csv",
}
PLAN = """
format = "dlsched/study/1"
name = "signals"
instances = [{family = "ring_allocation", preset = "mixed", jobs = [8, 40], gpus = 60, seeds = "0:20"}]
methods = [{name = "exact"}, {name = "doubling"}, {name = "milp"}]
"""
WRITES_JSON = ("highs", "cpsat", "cross-check", "generate", "stream", "import", "worst", "worst-proof")
SHORT = ("cbc", "highs", "circuit", "check", "generate", "export", "import", "own", "compare")


@dataclass(frozen=True)
class Trial:
    """A command, a signal, and when it is sent: once or, impatiently, twice."""

    command: str
    number: signal.Signals
    delay_s: float
    again_s: float | None

    def __str__(self) -> str:
        """A line that says all of it."""
        return f"{self.command}: {self.number.name} after {self.delay_s:.3f} s, again after {self.again_s}"


def drawn(count: int, seed: int, commands: tuple[str, ...], longest_s: float) -> list[Trial]:
    """Draw trials: half of the moments in the first part of a second, where modules are imported."""
    generator = random.Random(seed)
    return [
        Trial(
            command=generator.choice(commands),
            number=PRESSES[index % len(PRESSES)],
            delay_s=generator.uniform(0.0, generator.choice((0.4, longest_s))),
            again_s=generator.uniform(0.01, 1.0) if generator.random() < 0.25 else None,
        )
        for index in range(count)
    ]


def handles_signals(process: int) -> bool:
    """Whether a program has come as far as its first line: before it, Ctrl-C is Python's own affair."""
    caught = next(
        line for line in Path(f"/proc/{process}/status").read_text().splitlines() if line.startswith("SigCgt")
    )
    return bool(int(caught.split()[1], 16) >> (signal.SIGTERM - 1) & 1)


def alive(mark: str) -> list[str]:
    """Command lines of the processes that bear a mark and are no zombies."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (folder / "environ").read_bytes():
                state = (folder / "stat").read_text().rpartition(")")[2].split()[0]
                found += [(folder / "cmdline").read_bytes().decode()] if state != "Z" else []
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue
    return found


def hold(trial: Trial, folder: Path, result: Path, trace: Path) -> float:
    """Try it, and return the seconds until nothing was left."""
    mark, temporary = uuid.uuid4().hex, folder / "tmp"
    temporary.mkdir(parents=True)
    (folder / "plan.toml").write_text(PLAN)
    store = folder / "store.sqlite"
    files = {"OUT": folder / "out", "RESULT": result, "TRACE": trace, "PLAN": folder / "plan.toml", "STORE": store}
    words = [str(files.get(word, word)) for word in COMMANDS[trial.command].split()]
    environment = os.environ | {MARK: mark, "TMPDIR": str(temporary)}
    program = [sys.executable, "-m", "dlsched", *words]
    with subprocess.Popen(
        program, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        if trial.number is signal.SIGINT:
            while process.poll() is None and not handles_signals(process.pid):
                time.sleep(0.002)
        for delay_s in (trial.delay_s, trial.again_s):
            if delay_s is not None:
                time.sleep(delay_s)
                process.send_signal(trial.number)
        out, err = process.communicate(timeout=BUSY_S)
    ended = time.monotonic()
    while alive(mark) or any(temporary.iterdir()):
        late_s = time.monotonic() - ended
        assert late_s < BUSY_S, (str(trial), alive(mark), list(temporary.rglob("*")))
        time.sleep(0.01)
    late_s = time.monotonic() - ended
    code = process.returncode
    by_signal = {128 + trial.number, -trial.number} if trial.number is not signal.SIGINT else {130}
    assert code in {0, 5} | by_signal, (str(trial), code, err)
    assert not any(word in err for word in ("Traceback", "Error", "ignored", "defect")), (str(trial), err)
    if code == 0 and "--json" in words:
        json.loads(out)
    if trial.number is not signal.SIGKILL:
        left = {path.name for path in folder.iterdir()}
        logs = (
            set() if trial.number is signal.SIGINT else {"store.sqlite-wal", "store.sqlite-shm"}
        )  # belong to the store
        assert left <= {"tmp", "out", "plan.toml", "store.sqlite"} | logs, (str(trial), left)
    if (folder / "out").exists():
        text = (folder / "out").read_text()
        assert json.loads(text) if trial.command in WRITES_JSON else text.endswith("End\n"), str(trial)
    if store.exists():
        rows = sqlite3.connect(store)
        assert rows.execute("PRAGMA integrity_check").fetchone() == ("ok",), str(trial)
        rows.close()
    return late_s


@pytest.fixture
def heeded() -> Iterator[None]:
    """Undo what a shell does to programs in its background: they ignore Ctrl-C, and so would all that they start."""
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, handler)


@pytest.fixture
def result(cli, tmp_path: Path) -> Path:
    path = tmp_path / "result.json"
    assert cli("solve", JOBS, "-o", path).code == 0
    return path


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "speedups.csv"
    lines = [f"model{job},153740040 // 256,{gpus},{4000 // gpus}" for job in range(300) for gpus in (1, 2, 4, 8)]
    path.write_text("\n".join(["model,iters_expr,gpus,us_per_iter", *lines, ""]))
    return path


@pytest.mark.usefixtures("heeded")
def test_a_few_signals(tmp_path: Path, result: Path, trace: Path) -> None:
    """Eight trials, four at a time."""
    trials = drawn(FEW, 1, SHORT, 1.5)
    folders = [tmp_path / str(index) for index in range(FEW)]
    with ThreadPoolExecutor(4) as pool:
        waiting = [
            pool.submit(hold, trial, folder, result, trace) for trial, folder in zip(trials, folders, strict=True)
        ]
        assert [trial.result() for trial in waiting]


@pytest.mark.long
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.usefixtures("heeded")
def test_the_campaign(part: int, tmp_path: Path, result: Path, trace: Path) -> None:
    """All commands and solvers, one trial at a time: documented exit codes, and nothing is left, nor half written."""
    trials = drawn(EACH, 2 + part, tuple(COMMANDS), 4.0)
    late_s = [hold(trial, tmp_path / str(index), result, trace) for index, trial in enumerate(trials)]
    print(f"{len(trials)} signals; the last thing was gone after {max(late_s):.3f} s")
