"""``dlsched import``: an instance from a public file, with its audit; and what importing dlsched itself loads."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

HEAVY = "pulp ortools pyomo pyscipopt highspy scipy.optimize matplotlib"


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """Return a table as PCS has them: 1000 and 600 us an iteration of 256 samples, 1,281,167 samples an epoch."""
    path = tmp_path / "speedups.csv"
    rows = "VggnetModel256,153740040 // 256,1,1000\nVggnetModel256,153740040 // 256,2,600\nToyModel,1 // 1,1,5\n"
    path.write_text("model,iters_expr,gpus,us_per_iter\n" + rows)
    return path


def test_the_instance_and_its_audit(cli: Any, trace: Path, tmp_path: Path) -> None:
    """By hand: 1281167 / 256 iterations of 1000 us are 5.00456 s; every audited sentence stands in ``source`` too."""
    ended = cli("import", "pcs", trace)
    assert ended.code == 0
    data = ended.json
    assert data["format"] == "dlsched/ring_allocation/1"
    assert [job["epoch_time_s"] for job in data["jobs"]] == [{"1": 5.00456, "2": 3.00274}]
    assert (data["jobs"][0]["epochs"], data["gpus"]) == (100.0, 4)
    sentences = ended.err.splitlines()
    assert all(sentence.startswith("audit: ") for sentence in sentences)
    assert all(sentence.removeprefix("audit: ") in data["source"] for sentence in sentences)
    assert any("ToyModel" in sentence for sentence in sentences)
    out = tmp_path / "instance.json"
    written = cli("import", "pcs", trace, "-o", out)
    assert (written.code, written.out, out.read_text(encoding="utf-8")) == (0, "", ended.out)
    assert cli("solve", out).code == 0


def test_gpus_and_epochs_are_taken(cli: Any, trace: Path) -> None:
    """As given, and no longer said to be assumed."""
    ended = cli("import", "pcs", trace, "--gpus", 7, "--epochs", 2.5)
    assert (ended.json["gpus"], ended.json["jobs"][0]["epochs"]) == (7, 2.5)
    assert "cluster is given" not in ended.err


@pytest.mark.parametrize(
    "text", ["", "model,gpus\n", "model,iters_expr,gpus,us_per_iter\nVgg,1 // 1,1,-5\n", "\x00", "a\nb"]
)
def test_a_malformed_trace_is_3(text: str, cli: Any, tmp_path: Path) -> None:
    """One line names the file."""
    path = tmp_path / "speedups.csv"
    path.write_text(text)
    ended = cli("import", "pcs", path)
    assert (ended.code, ended.out) == (3, "")
    assert str(path) in ended.line


def test_a_trace_that_is_no_text_is_3(cli: Any, tmp_path: Path) -> None:
    """For each kind of file."""
    path = tmp_path / "speedups.csv"
    path.write_bytes(b"\xff\xfe\x00")
    for source in ("pcs", "gavel-speeds", "adaptdl"):
        ended = cli("import", source, path)
        assert (ended.code, ended.out) == (3, ""), source
        assert str(path) in ended.line, source


@pytest.mark.parametrize("code", ["import dlsched", "from dlsched.cli import run; assert run(['--help']) == 0"])
def test_no_solver_is_loaded_before_it_is_used(code: str) -> None:
    """Importing dlsched and reading its help stay quick."""
    script = f"import sys; {code}; print([name for name in {HEAVY.split()} if name in sys.modules], file=sys.stderr)"
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stderr) == (0, "[]\n")


def test_the_module_is_the_program(program: Any, cli: Any) -> None:
    """``python -m dlsched`` does what ``dlsched`` does, and calls itself so."""
    ended = program("--version")
    assert (ended.code, ended.out, ended.err) == (0, cli("--version").out, "")
    assert program("--help").out == cli("--help").out
