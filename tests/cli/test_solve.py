"""``dlsched solve`` and ``bound``: one method on one instance, and the best bound that is proven without solving."""

import errno
import hashlib
import json
import os
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest

from dlsched.catalogue.solvers import SOLVERS

from .conftest import PROGRAM

DOCUMENTED = (
    "format family instance method status sense objective bound gap runtime_s solver seed limits certificate solution"
)
ADDED = "bound_source figures message"
CANONICAL = (
    '{"format":"dlsched/ring_allocation/1","gpus":6,"jobs":[{"current_gpus":4,"epoch_time_s":{"1":138.0,"2":81.9,'
    '"4":47.25,"8":29.6},"epochs":160.0,"id":"a","restart_s":10.0},{"epochs":90.5,"id":"b","max_gpus":16,"speed_law":'
    '{"model_bytes":100000000.0,"samples":50000.0,"theta":[1.0,0.01,1e-09,0.2]}}],"name":"two-jobs"}'
)
OPTIMUM = 927118.96


def test_the_json_result_is_the_documented_one(cli: Any, example: Path) -> None:
    """Exactly the contract's fields and the documented additions, nothing else on either stream."""
    ended = cli("solve", example, "--json")
    assert (ended.code, ended.err) == (0, "")
    assert set(ended.json) == {*DOCUMENTED.split(), *ADDED.split()}
    expected = {
        "format": "dlsched/result/1",
        "family": "ring_allocation",
        "instance": {"name": "two-jobs", "sha256": hashlib.sha256(CANONICAL.encode()).hexdigest()},
        "method": "exact",
        "status": "optimal",
        "sense": "minimize",
        "gap": 0.0,
        "solver": None,
        "seed": None,
        "limits": {},
        "solution": {"gpus": {"a": 1, "b": 5}},
    }
    assert {key: ended.json[key] for key in expected} == expected
    assert ended.json["objective"] == ended.json["bound"] == pytest.approx(OPTIMUM, rel=1e-12)
    assert set(ended.json["certificate"]) == {"kind", "price", "value"}
    assert ended.json["certificate"]["value"] == pytest.approx(OPTIMUM)
    assert ended.json["runtime_s"] >= 0


@pytest.mark.parametrize("field", ["known", "source"])
def test_what_is_known_and_where_from_do_not_change_the_hash(
    field: str, cli: Any, two_jobs: dict[str, Any], save: Any
) -> None:
    """``known`` and ``source`` are left out of it."""
    two_jobs[field] = {"known": {"optimum": OPTIMUM, "proof": "by hand"}, "source": "formats.md"}[field]
    sha256 = cli("solve", save(two_jobs), "--json").json["instance"]["sha256"]
    assert sha256 == hashlib.sha256(CANONICAL.encode()).hexdigest()


@pytest.mark.parametrize("method", ["exact", "knapsack", "dp", "milp", "minlp", "marginal", "hull"])
def test_methods_find_the_optimum_of_the_example(method: str, cli: Any, example: Path) -> None:
    """Exact methods, and the two heuristics that happen to reach it (by hand)."""
    result = cli("solve", example, "--method", method, "--json").json
    assert result["objective"] == pytest.approx(OPTIMUM, rel=1e-12)
    assert result["status"] == ("feasible" if method in ("marginal", "hull") else "optimal")
    assert result["method"] == method.replace("knapsack", "exact")


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_solver_is_named_with_its_version(solver: str, cli: Any, example: Path) -> None:
    """Each solver of ``milp`` proves the optimum."""
    result = cli("solve", example, "--method", "milp", "--solver", solver, "--json").json
    assert result["status"] == "optimal"
    assert result["solver"].lower().replace("-", "").startswith(solver)
    assert any(character.isdigit() for character in result["solver"])


def test_cpsat_solves_a_few_hundred_jobs(cli: Any, tmp_path: Path) -> None:
    """A model that the other solvers take is no invalid model for CP-SAT."""
    path = tmp_path / "instance.json"
    cli("generate", "ring_allocation", "--jobs", 300, "--gpus", 2000, "-o", path)
    ended = cli("solve", path, "--method", "milp", "--solver", "cpsat", "--time-limit", "20", "--json")
    assert ended.json["status"] in ("optimal", "feasible", "time_limit"), ended.json["message"][:200]


def test_a_cross_check_is_told(cli: Any, example: Path) -> None:
    """The message says which solver confirms what."""
    ended = cli("solve", example, "--cross-check", "cbc", "--json")
    assert ended.code == 0
    assert ended.json["message"].startswith("cross-check: CBC ")
    assert "proves the same optimum" in ended.json["message"]


def test_limits_and_seed_are_recorded(cli: Any, example: Path) -> None:
    """Limits as set; the seed only where something is random."""
    options = ("--time-limit", "60", "--node-limit", "1000", "--threads", "2", "--seed", "7")
    result = cli("solve", example, *options, "--json").json
    assert result["limits"] == {"time_s": 60.0, "nodes": 1000, "threads": 2}
    assert result["seed"] is None


def test_the_file_and_the_printed_result_are_one(cli: Any, example: Path, tmp_path: Path) -> None:
    """``-o`` writes what ``--json`` prints; nothing but the file appears."""
    folder = tmp_path / "out"
    folder.mkdir()
    printed = cli("solve", example, "-o", folder / "result.json", "--json").json
    assert json.loads((folder / "result.json").read_text(encoding="utf-8")) == printed
    assert os.listdir(folder) == ["result.json"]


def test_the_result_goes_to_standard_output_once(cli: Any, example: Path) -> None:
    """``-o -`` is JSON and nothing else, beside ``--json`` too."""
    assert cli("solve", example, "-o", "-").json["status"] == "optimal"
    assert cli("solve", example, "-o", "-", "--json").json["status"] == "optimal"


def test_the_summary_is_for_people(cli: Any, example: Path) -> None:
    """Status, objective, bound, gap and allocation stand in it; no figure has more digits than one reads."""
    out = cli("solve", example).out
    for words in ("two-jobs: optimal (exact)", "927,118.96 weighted seconds", "gap 0 %", "a 1, b 5"):
        assert words in out


def test_a_file_that_cannot_be_renamed_leaves_the_old_one(
    cli: Any, example: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit 3, the old content, and no temporary file left behind."""
    out = tmp_path / "out" / "result.json"
    out.parent.mkdir()
    out.write_text("old")

    def full(*arguments: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("os.replace", full)
    ended = cli("solve", example, "-o", out)
    assert (ended.code, ended.out) == (3, "")
    assert ended.line == f"dlsched: {out}: cannot be written: No space left on device"
    assert (out.read_text(), os.listdir(out.parent)) == ("old", ["result.json"])


@pytest.mark.skipif(os.name != "posix", reason="needs a limit on the size of files")
@pytest.mark.parametrize("command", ["solve FILE", "export FILE --format mps", "generate ring_allocation --jobs 500"])
def test_a_disk_that_is_full_leaves_the_old_file(command: str, example: Path, tmp_path: Path) -> None:
    """The program may write no more than 512 bytes (``ulimit``): the same."""
    out = tmp_path / "out" / "file"
    out.parent.mkdir()
    out.write_text("old")
    words = command.replace("FILE", str(example))
    line = f"ulimit -f 1; exec {' '.join(PROGRAM)} {words} -o {out}"
    ended = subprocess.run(["sh", "-c", line], capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stdout) == (3, "")
    assert ended.stderr == f"dlsched: {out}: cannot be written: File too large\n"
    assert (out.read_text(), os.listdir(out.parent)) == ("old", ["file"])


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_device_is_not_replaced_by_a_file(cli: Any, example: Path, tmp_path: Path) -> None:
    """What is no regular file (a pipe here, /dev/null or /dev/stdout for root) is written to, or refused."""
    out = tmp_path / "pipe"
    os.mkfifo(out)
    reading = os.open(out, os.O_RDONLY | os.O_NONBLOCK)
    cli("solve", example, "-o", out)
    os.close(reading)
    assert stat.S_ISFIFO(out.stat().st_mode)


def test_a_link_stays_a_link(cli: Any, example: Path, tmp_path: Path) -> None:
    """The file that it points to is written."""
    target, link = tmp_path / "target.json", tmp_path / "link.json"
    target.write_text("old")
    link.symlink_to(target)
    cli("solve", example, "-o", link)
    assert link.is_symlink()
    assert json.loads(target.read_text())["status"] == "optimal"


def test_json_is_utf_8_whatever_the_terminal_speaks(program: Any, two_jobs: dict[str, Any], save: Any) -> None:
    """Names that the terminal's encoding lacks are no defect."""
    two_jobs["jobs"][0]["id"] = "任务"
    path = save(two_jobs)
    for options in (("--json",), ()):
        ended = program("solve", path, *options, PYTHONIOENCODING="ascii", PYTHONUTF8="0")
        assert (ended.code, ended.err) == (0, ""), options


def test_the_bound_is_a_result_without_a_solution(cli: Any, example: Path) -> None:
    """By hand the bound of the best price is the optimum here: the chosen counts are on the jobs' hulls."""
    ended = cli("bound", example, "--json")
    assert (ended.code, ended.err) == (0, "")
    result = ended.json
    assert (result["objective"], result["solution"], result["gap"]) == (None, None, None)
    assert result["status"] == "feasible"
    assert result["bound"] == pytest.approx(927118.96)
    assert result["bound"] <= 927118.96
    assert result["bound_source"] == "certificate"
    assert (result["certificate"]["kind"], result["certificate"]["value"]) == ("price", result["bound"])


def test_the_bound_is_strictly_below_where_the_relaxation_is(cli: Any, save: Any) -> None:
    """100, 90, 10 s on 1, 2, 3 GPUs, of which there are 2: the line from 100 to 10 passes 55 (price 45)."""
    job = {"id": "a", "epochs": 1, "epoch_time_s": {"1": 100.0, "2": 90.0, "3": 10.0}}
    path = save({"format": "dlsched/ring_allocation/1", "name": "stall", "gpus": 2, "jobs": [job]})
    result = cli("bound", path, "--json").json
    assert result["bound"] == pytest.approx(55.0)
    assert result["certificate"]["price"] == pytest.approx(45.0)


def test_people_read_the_bound_and_who_proves_it(cli: Any, example: Path) -> None:
    """A summary of a few lines."""
    out = cli("bound", example).out
    assert "927,118.96" in out
    assert "certificate" in out
