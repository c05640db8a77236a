"""Whatever a method of one's own does, its cell ends as its own row, harms no other, and leaves nothing behind."""

import json
import os
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import dlsched
from dlsched.processes.streams import LONGEST_MESSAGE
from dlsched.study.cells import foreign_methods
from dlsched.study.cells.cell import CellEnded, Outcome
from dlsched.study.cells.foreign_methods import Caller
from dlsched.study.plans.plan import PlannedMethod
from study.cells_at_hand import PROGRAM, ROOMY, TIGHT, cell, command, function, functions, lives, recipe, run, said

SMALL = replace(ROOMY, memory_gib=0.4)

ANSWERED = {
    "good": ("feasible", ""),
    "forks": ("feasible", ""),
    "daemon": ("feasible", ""),
    "daemon_of_another_program": ("feasible", ""),
    "bomb": ("feasible", ""),
    "prints_a_megabyte": ("feasible", ""),
    "spins": ("feasible", ""),
    "changes_all": ("feasible", ""),
    "removes_its_folder": ("feasible", ""),
    "leaves_a_file": ("feasible", ""),
    "interrupts_its_parent": ("feasible", ""),
    "answers_none": ("no_solution", ""),
    "answers_nan": ("error", "found nan"),
    "answers_nan_inside": ("rejected", "found nan"),
    "answers_another": ("rejected", "unknown field"),
    "breaks_a_rule": ("rejected", "breaks capacity"),
    "forges": ("rejected", "breaks capacity"),
    "raises": ("error", "own.py, line "),
    "raises_odd": ("error", "Odd: odd words"),
    "raises_mute": ("error", "RuntimeError: no words"),
    "raises_much": ("error", "ValueError: zzz"),
    "raises_no_text": ("error", "half \\udc80 \\x1b[31m a letter"),
    "interrupted": ("error", "it was interrupted"),
    "out_of_memory": ("memory", "out of memory"),
    "says_goodbye": ("error", "SystemExit: 4"),
    "leaves": ("error", "its process ended with code 0"),
    "daemon_and_dies": ("error", "its process ended with code 0"),
    "prints_and_dies": ("error", "said last"),
    "aborts": ("error", "its process was ended by SIGABRT"),
    "crashes": ("error", "its process was ended by SIGSEGV"),
    "kills_itself": ("killed", "its process was ended by SIGKILL"),
    "kills_its_group": ("killed", "its process was ended by SIGKILL"),
    "closes_everything": ("error", "its process ended with code 1"),
    "writes_everywhere": ("error", "its answer cannot be read"),
}
"""Status and a part of the message, by function; none of these takes the process down that serves others."""

KILLED = {
    "eats": (SMALL, "memory", "killed at more than 0.4 GiB"),
    "eats_in_a_child": (SMALL, "memory", "killed at more than 0.4 GiB"),
    "hangs_in_c": (TIGHT, "timeout", "killed 0.3 s after its limit of 0.2 s"),
    "hangs_in_a_pattern": (TIGHT, "timeout", "killed 0.3 s"),
    "stops_itself": (TIGHT, "timeout", "killed 0.3 s"),
    "stops_all_above": (TIGHT, "timeout", "killed 0.3 s"),
    "ignores_signals": (TIGHT, "timeout", "killed 0.3 s"),
    "closes_everything_and_stays": (TIGHT, "timeout", "killed 0.3 s"),
    "kills_its_parent": (ROOMY, "killed", "its process was ended by SIGKILL"),
    "daemon_and_kills_its_parents": (ROOMY, "killed", "its process was ended by SIGKILL"),
}
"""Limits, status and a part of the message, by function; the process that serves others goes with these."""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A file of functions; in the end none of their processes is left, and no temporary file."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    path = functions(tmp_path)
    yield path
    assert list(temporary.iterdir()) == []
    marked = Path(f"{path}.pids")
    pids = map(int, marked.read_text().split()) if marked.exists() else ()
    assert [pid for pid in pids if lives(pid)] == []


def test_harm_stays_in_its_cell(own: Path):
    """One process serves all; after each a function looks whether anything differs from the beginning."""
    harms = [cell(function(own, name), seed) for seed, name in enumerate(ANSWERED)]
    looks = [cell(function(own, "looks"), seed) for seed in range(len(harms))]
    found = run([each for both in zip(harms, looks, strict=True) for each in both], folder=own.parent)
    for (name, (status, words)), outcome in zip(ANSWERED.items(), found[::2], strict=True):
        assert outcome.status == status, f"{name}: {outcome}"
        assert words in outcome.message, f"{name}: {outcome}"
        assert len(outcome.message) <= LONGEST_MESSAGE
        assert outcome.message.isprintable()
        assert (outcome.objective is None) == (status != "feasible"), f"{name}: {outcome}"
        assert outcome.bound is None
    for name, outcome in zip(ANSWERED, found[1::2], strict=True):
        assert outcome.status == "feasible", f"after {name}: {outcome}"
    assert sum(outcome.facts is not None for outcome in found) == len(looks), "no cell took the process with it"


@pytest.mark.parametrize(
    "names",
    [
        ["eats_in_a_child", "hangs_in_c", "stops_all_above", "daemon_and_kills_its_parents"],
        pytest.param(list(KILLED), marks=pytest.mark.long),
    ],
    ids=["some", "all"],
)
def test_a_process_that_dies_takes_one_cell_with_it(names: list[str], own: Path):
    """Cells that eat memory, hang in native code, or kill who serves them; others on both sides end well."""
    killed = {name: KILLED[name] for name in names}
    harms = [cell(function(own, name), limits=limits) for name, (limits, _, _) in killed.items()]
    looks = [cell(function(own, "looks"), seed) for seed in range(len(harms))]
    found = run([each for both in zip(harms, looks, strict=True) for each in both], workers=2, folder=own.parent)
    for (name, (_, status, words)), outcome in zip(killed.items(), found[::2], strict=True):
        assert outcome.status == status, f"{name}: {outcome}"
        assert words in outcome.message, f"{name}: {outcome}"
        assert outcome.time_s is None
    assert {outcome.status for outcome in found[1::2]} == {"feasible"}


def test_a_function_harms_none_of_its_own_cells(own: Path):
    """It changes all that it can on every other instance; on the others it finds, and draws, what a fresh process would."""
    changing = [cell(function(own, "changes_or_looks"), seed) for seed in range(6)]
    drawing = [cell(function(own, "draws"), seed) for seed in (5, 3, 1)]
    found, drawn = run(changing, folder=own.parent), run(drawing, folder=own.parent)
    assert [outcome.status for outcome in found] == ["feasible"] * 6
    assert [found[seed].solution for seed in (5, 3, 1)] == [outcome.solution for outcome in drawn]


def test_an_answer_that_is_too_large(own: Path, monkeypatch: pytest.MonkeyPatch):
    """Is an error of its cell."""
    path = own.with_name("large.py")
    path.write_text(
        "def large(instance):\n    return {'gpus': {job.id: 1 for job in instance.jobs}}\n"
        "def forges(instance):\n"
        "    import os, struct\n"
        "    for number in range(3, 256):\n"
        "        try:\n            os.write(number, struct.pack('>4sII', b'dlsd', 1 << 31, 0))\n"
        "        except OSError:\n            pass\n"
        "    return large(instance)\n"
    )
    found = run([cell(function(path, "forges")), cell(function(path, "large"))], folder=own.parent)
    assert [outcome.status for outcome in found] == ["error", "feasible"]
    assert found[0].message == "its answer cannot be read: found 2048 MiB, allowed: 64"


def test_a_module_that_cannot_be_imported(own: Path):
    """Raises, or ends its process, as it is imported: every cell of it says so."""
    (own.parent / "bad.py").write_text("import nosuch\n\ndef f(instance):\n    pass\n")
    (own.parent / "gone.py").write_text("import os\nos.write(2, b'no more\\n')\nos._exit(5)\n")
    methods = [function(own.parent / name, "f") for name in ("bad.py", "gone.py")]
    bad, gone = run([cell(replace(each, label=each.what[0])) for each in methods], folder=own.parent)
    assert (bad.status, gone.status, gone.message) == ("error", "error", "no more")
    assert "No module named 'nosuch'" in bad.message


INSTANCE = recipe().make()
GPUS = {job.id: 1 for job in INSTANCE.jobs}
WHOLE = dlsched.solve(INSTANCE, method="doubling").as_data()


def says(data: object) -> tuple[str, ...]:
    """A program that prints something, as JSON where it is no text."""
    return "printf", "%s", data if isinstance(data, str) else json.dumps(data)


COMMANDS = {
    "a program of Python": ((sys.executable, "-c", PROGRAM, "{instance}"), "feasible", ""),
    "a solution": (says({"solution": {"gpus": GPUS}}), "feasible", ""),
    "its path in a word": (
        ("sh", "-c", f"test -s {{instance}} && echo '{json.dumps({'solution': {'gpus': GPUS}})}'"),
        "feasible",
        "",
    ),
    "a whole result": (says(WHOLE), "feasible", ""),
    "a bound, which counts for nothing": (
        says(WHOLE | {"bound": WHOLE["objective"] * 0.999, "bound_source": "me"}),
        "feasible",
        "",
    ),
    "a false objective": (
        says({"solution": {"gpus": GPUS}, "objective": 1.0}),
        "rejected",
        "objective: 1.0 is claimed, it is ",
    ),
    "a broken rule": (says({"solution": {"gpus": dict.fromkeys(GPUS, 8)}}), "rejected", "its answer breaks capacity"),
    "an unknown job": (says({"solution": {"gpus": {"nosuch": 1}}}), "rejected", "its answer"),
    "a solution of another family": (says({"solution": {"schedule": []}}), "rejected", "its answer"),
    "another instance": (says(WHOLE | {"instance": {"name": "x", "sha256": "0" * 64}}), "rejected", "another instance"),
    "no solution": (says(WHOLE | {"solution": None, "objective": None, "status": "no_solution"}), "no_solution", ""),
    "garbage": (says("first line\nnot JSON\n\n"), "error", "not JSON"),
    "a number": (says("3.5"), "error", "3.5"),
    "NaN": (says('{"solution": NaN}'), "error", '{"solution": NaN}'),
    "bytes": (("printf", "\\377\\376"), "error", "�"),
    "nesting": (("sh", "-c", "head -c 200000 /dev/zero | tr '\\0' '['"), "error", "[[["),
    "nothing": (("true",), "error", "standard output"),
    "code and words": (("sh", "-c", "echo out; echo first >&2; echo 'said last' >&2; exit 3"), "error", "said last"),
    "code and words on standard output": (("sh", "-c", "echo out; exit 3"), "error", "out"),
    "a code": (("sh", "-c", "exit 3"), "error", "its process ended with code 3"),
    "a crash": (("sh", "-c", "kill -SEGV $$"), "error", "its process was ended by SIGSEGV"),
    "killed": (("sh", "-c", "kill -KILL $$"), "killed", "its process was ended by SIGKILL"),
    "not there": (("./nosuch",), "error", "./nosuch: cannot be started: No such file or directory"),
    "not executable": (("./plain",), "error", "./plain: cannot be started: Permission denied"),
    "no program": (("./text",), "error", "./text: cannot be started: Exec format error"),
    "a zero byte": (("echo", "a\0b"), "error", "echo: cannot be started: embedded null byte"),
    "without end": (("yes",), "error", "standard output: found more than 64 MiB, allowed: 64"),
    "much on standard error": (("sh", "-c", "head -c 3000000 /dev/zero >&2; echo; echo 3"), "error", "\\x00"),
    "words on both": (("sh", "-c", "echo out; echo err >&2"), "error", "err"),
    "one left that holds the pipe": (
        ("sh", "-c", f"sleep 600 & echo '{json.dumps({'solution': {'gpus': GPUS}})}'"),
        "feasible",
        "",
    ),
    "a closed pipe": (("sh", "-c", "exec >&- 2>&-; exit 4"), "error", "its process ended with code 4"),
}
"""Words, status and a part of the message."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A plan's folder with files that cannot be run."""
    made = tmp_path_factory.mktemp("plan")
    (made / "plain").write_text("no program")
    (made / "text").write_bytes(b"\x00\x01 no program")
    (made / "text").chmod(0o755)
    return made


def test_commands(folder: Path):
    """Each ends as its own row, in one process."""
    cells = [cell(command(*words, label=label)) for label, (words, _, _) in COMMANDS.items()]
    found = run(cells, folder=folder)
    for (label, (_, status, words)), outcome in zip(COMMANDS.items(), found, strict=True):
        assert outcome.status == status, f"{label}: {outcome}"
        assert words in outcome.message, f"{label}: {outcome}"
        assert outcome.bound is None
        assert (outcome.objective is None) == (status != "feasible")
    by_label = dict(zip(COMMANDS, found, strict=True))
    assert by_label["a whole result"].objective == WHOLE["objective"]
    assert by_label["a solution"].objective == dlsched.FAMILIES["ring_allocation"].objective(
        INSTANCE, INSTANCE_SOLUTION
    )


INSTANCE_SOLUTION = dlsched.FAMILIES["ring_allocation"].read_solution({"gpus": GPUS}, INSTANCE)


DRAWS = """
import numpy as np
from pack.stream import RNG
OWN = np.random.default_rng(0)

def draws(instance):
    ends = np.cumsum([1 for job in instance.jobs])
    free = int(instance.gpus - ends[-1])
    count = 1 + int((RNG.integers(1000) + OWN.integers(1000)) % (free + 1))
    return {"gpus": {job.id: count if index == 0 else 1 for index, job in enumerate(instance.jobs)}}
"""


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    """A folder with a package whose modules hold generators, and a file that takes one of them."""
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack" / "__init__.py").write_text("")
    (tmp_path / "pack" / "stream.py").write_text("import numpy as np\nRNG = np.random.default_rng(1)\n")
    (tmp_path / "pack" / "draws.py").write_text(DRAWS)
    (tmp_path / "own.py").write_text(DRAWS)
    return tmp_path


@pytest.mark.parametrize("home", ["pack.draws", "own.py"])
def test_generators_of_modules_begin_anew(home: str, pack: Path):
    """Whatever ran before, and on any number of processes."""
    where = str(pack / home) if home.endswith(".py") else home
    method = PlannedMethod("draws", "python", (where, "draws"), fingerprint="a")
    cells = [cell(method, seed) for seed in range(4)]

    def answers(order: list[int], workers: int) -> dict[int, Outcome]:
        return dict(zip(order, map(said, run([cells[each] for each in order], workers, pack)), strict=True))

    one = answers([0, 1, 2, 3], 1)
    assert {outcome.status for outcome in one.values()} == {"feasible"}, one
    assert one == answers([3, 2, 1, 0], 2)
    assert answers([3], 1)[3] == one[3]


def test_seconds_are_those_of_the_function(tmp_path: Path):
    """Not those of looking through its many modules before a call; nor what it makes of the clocks."""
    for number in range(300):
        (tmp_path / f"module_{number}.py").write_text("")
    (tmp_path / "own.py").write_text(
        "import importlib, sys, time\n"
        "from dlsched.study.cells import foreign_methods\nfrom dlsched.processes.usage import Usage\n"
        "def quick(instance):\n    return {'gpus': {job.id: 1 for job in instance.jobs}}\n"
        "def slow(instance):\n"
        "    time.sleep(0.2)\n    foreign_methods.Meter.usage = lambda meter: Usage(0.0, 0.0, 0.0)\n"
        "    time.perf_counter = lambda: 0.0\n    return quick(instance)\n"
        "for number in range(300):\n    importlib.import_module(f'module_{number}')\n"
    )
    quick, slow = run([cell(function(tmp_path / "own.py", name)) for name in ("quick", "slow")], folder=tmp_path)
    assert (quick.status, slow.status) == ("feasible", "feasible")
    assert quick.time_s is not None and quick.time_s < 0.01
    assert slow.time_s is not None and slow.time_s >= 0.2


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="counts open pipes as Linux lists them")
def test_a_process_that_says_nothing_sensible_as_it_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Leaves neither pipes nor a process."""
    (tmp_path / "own.py").write_text("def f(instance):\n    return None\n")
    stopped = []

    class Stopped(Caller):
        def stop(self) -> None:
            super().stop()
            stopped.append(self.pid)

    class Nonsense(foreign_methods.Frames):
        def feed(self, arrived: bytes) -> list[bytes]:
            raise ValueError("found bytes that are no frame")

    before = len(os.listdir("/proc/self/fd"))
    with monkeypatch.context() as patched:
        patched.setattr(foreign_methods, "Frames", Nonsense)
        with pytest.raises(CellEnded, match="no frame"):
            Stopped("ring_allocation", function(tmp_path / "own.py", "f"), str(tmp_path))
    assert len(os.listdir("/proc/self/fd")) == before
    with pytest.raises(ChildProcessError):
        os.waitpid(stopped[0], 0)
    caller = Caller("ring_allocation", function(tmp_path / "own.py", "f"), str(tmp_path))
    try:
        assert caller.call(recipe().make(), ROOMY.inner, 0)[0] == "no_solution"
    finally:
        caller.stop()
