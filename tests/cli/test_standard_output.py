"""Standard output that cannot be written: exit 1 and a line that names it, in every command, for every kind of answer."""

import contextlib
import errno
import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from dlsched.__main__ import StandardOutput
from dlsched.cli import COMMANDS, GROUPS, run

from .conftest import PROGRAM
from .test_traces import DUMP

INSTANCES = Path(__file__).parent.parent.parent / "instances"
PLAN = """
format = "dlsched/study/1"
name = "small"
instances = [{family = "ring_allocation", preset = "mixed", jobs = 4, gpus = 24, seeds = "0:2"}]
methods = [{name = "exact"}, {name = "doubling"}]
"""
LINES = [
    "--help",
    "--version",
    "solve JOBS",
    "solve JOBS --json",
    "solve JOBS -o -",
    "solve JOBS --help",
    "compare JOBS --methods doubling",
    "compare JOBS --methods doubling --json",
    "compare JOBS --methods doubling --csv",
    "bound JOBS",
    "bound JOBS --json",
    "prove JOBS -o proof.vipr",
    "prove JOBS -o proof.vipr --json",
    "prove JOBS -o -",
    "check JOBS result.json",
    "check JOBS result.json --json",
    "generate ring_allocation",
    "generate ring_allocation --jobs 3000 --gpus 30000",
    "stream GANGS",
    "advise slurm sacct.txt --gpus 8 --at 2026-03-01T10:00:00",
    "advise slurm sacct.txt --gpus 8 --at 2026-03-01T10:00:00 --json",
    "methods",
    "methods ring_allocation --json",
    "doctor",
    "doctor --json",
    "export JOBS",
    "schema ring_allocation",
    "reproduce",
    "study --help",
    "study plan small.toml",
    "study run small.toml",
    "study show small.study.sqlite",
    "study show small.study.sqlite --brief",
    "study show small.study.sqlite --json",
    "study check small.study.sqlite --workers 1",
    "study check small.study.sqlite --workers 1 --json",
    "study plot small.study.sqlite --what profile -o profile.svg",
    "study report small.study.sqlite -o -",
    "study report small.study.sqlite -o - --format markdown",
    "study export small.study.sqlite",
    "study export small.study.sqlite --format json",
    "study export small.study.sqlite --format latex",
    "study export small.study.sqlite --format parquet",
    "score doubling --family ring_allocation --suite JOBS",
    "score doubling --family ring_allocation --suite JOBS --json",
    "worst ring_allocation --method doubling --budget 20",
    "worst ring_allocation --method doubling --budget 20 --json",
    "worst ring_allocation --method doubling --budget 20 -o -",
    "whatif sacct.txt --source slurm --gpus 8 -o page.html --policies fifo --workers 1",
    "import slurm sacct.txt --gpus 8",
]
"""Every command, in every form in which it prints its result."""
KINDS = ("closed", "full")
SHELL_LINES = ["solve JOBS --json", "--version", "--help", "methods --json", "schema ring_allocation"]
VARIABLES = ["PYTHONUNBUFFERED", "PYTHONNODEBUGRANGES"]


def sample(one: list[str], other: Sequence[str], every: int) -> list[Any]:
    """All pairs, of which one in so many runs always, the others in the campaigns."""
    return [
        pytest.param(each, also, marks=() if (at + beside) % every == 0 else pytest.mark.long)
        for at, each in enumerate(one)
        for beside, also in enumerate(other)
    ]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the lines read: a study that has run, a result, a queue."""
    folder = tmp_path_factory.mktemp("lines")
    (folder / "small.toml").write_text(PLAN, encoding="utf-8")
    (folder / "sacct.txt").write_text(DUMP, encoding="utf-8")
    with contextlib.chdir(folder), contextlib.redirect_stdout(io.StringIO()):
        assert run(["study", "run", "small.toml", "--workers", "1"]) == 0
        assert run(["solve", str(INSTANCES / "ring_allocation" / "two-jobs.json"), "-o", "result.json"]) == 0
    return folder


def words(line: str) -> list[str]:
    """A line as a shell hands it on."""
    files = {
        "JOBS": INSTANCES / "ring_allocation" / "two-jobs.json",
        "GANGS": INSTANCES / "async_sgd" / "equal-jobs.json",
    }
    return [str(files.get(word, word)) for word in line.split()]


@contextlib.contextmanager
def unwritable(kind: str) -> Iterator[None]:
    """Have standard output be one that is closed, or a full disk."""
    number = os.open(os.devnull, os.O_RDONLY) if kind == "closed" else os.open("/dev/full", os.O_WRONLY)
    try:
        with StandardOutput(number, "wb", closefd=False) as raw:
            output = io.TextIOWrapper(io.BufferedWriter(raw), encoding="utf-8")
            with contextlib.redirect_stdout(output):
                yield
            output.detach()
    finally:
        os.close(number)


def test_the_lines_are_of_all_commands() -> None:
    """A new command joins them."""
    named = {line.split()[0] for line in LINES if not line.startswith("-")}
    assert named == set(COMMANDS)
    for group, commands in GROUPS.items():
        assert {line.split()[1] for line in LINES if line.split()[0] == group} - {"--help"} == set(commands)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.parametrize(("line", "kind"), sample(LINES, KINDS, 3))
def test_1_where_the_result_cannot_be_written(
    line: str, kind: str, folder: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last line of standard error names standard output, and there is no traceback."""
    monkeypatch.chdir(folder)
    with unwritable(kind):
        code = run(words(line))
    said = {"closed": "it is closed", "full": "No space left on device"}[kind]
    err = capfd.readouterr().err
    assert code == 1, err
    assert err.endswith(f"dlsched: standard output: cannot be written: {said}\n"), err
    assert "Traceback" not in err


@pytest.mark.skipif(os.name != "posix", reason="needs a shell")
@pytest.mark.parametrize(("line", "variable"), sample(SHELL_LINES, VARIABLES, 3))
def test_1_where_it_is_closed_in_a_shell(line: str, variable: str) -> None:
    """The program itself: Python has no standard output at all then."""
    ended = subprocess.run(
        ["sh", "-c", f"{' '.join([*PROGRAM, *words(line)])} >&-"],
        capture_output=True,
        text=True,
        timeout=60,
        env=os.environ | {variable: "1"},
    )
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr == "dlsched: standard output: cannot be written: it is closed\n"


@pytest.mark.skipif(os.name != "posix", reason="needs a shell")
@pytest.mark.parametrize(
    "closing",
    [
        ">&-",
        pytest.param("2>&-", marks=pytest.mark.long),
        pytest.param("<&-", marks=pytest.mark.long),
        pytest.param(">&- 2>&-", marks=pytest.mark.long),
        "<&- >&- 2>&-",
        "2>/dev/full",
        ">/dev/full",
    ],
)
def test_0_where_the_result_goes_to_a_file(closing: str, tmp_path: Path) -> None:
    """What is not used may be closed or full, and the file is whole."""
    out = tmp_path / "out.json"
    line = f"{' '.join(PROGRAM)} generate ring_allocation -o {out} {closing}"
    ended = subprocess.run(["sh", "-c", line], capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")
    assert json.loads(out.read_text())["format"] == "dlsched/ring_allocation/1"


@pytest.mark.skipif(os.name != "posix", reason="needs a shell")
def test_standard_output_stays_what_it_was() -> None:
    """Unbuffered where Python is asked for that, UTF-8, and without an end of its own that closes it."""
    code = (
        "import sys; from dlsched.__main__ import open_standard_files; open_standard_files()\n"
        "print(sys.stdout.encoding, sys.stdout.write_through, sys.stdout.isatty(), sys.stdout.fileno())"
    )
    for option, through in (("-u", True), ("-I", False)):
        ended = subprocess.run([sys.executable, option, "-c", code], capture_output=True, text=True, timeout=60)
        assert ended.stdout == f"utf-8 {through} False 1\n", ended.stderr


def test_errors_bear_the_name() -> None:
    """A closed pipe stays a closed pipe, which ends quietly."""
    reading, writing = os.pipe()
    os.close(reading)
    with StandardOutput(writing, "wb") as raw, pytest.raises(BrokenPipeError) as raised:
        raw.write(b"text")
    assert (raised.value.errno, raised.value.filename) == (errno.EPIPE, "standard output")
