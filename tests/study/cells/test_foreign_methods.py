"""Whatever a method of one's own does, its cell ends as its own row, harms no other, and leaves nothing behind."""

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from dlsched.processes.messages import LONGEST_MESSAGE
from study.cells_at_hand import ROOMY, TIGHT, cell, function, functions, lives, run

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
