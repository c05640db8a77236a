"""Streams on the command line: solve, bound, check, compare with its figures, plots."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from dlsched import elastic_stream, write
from dlsched.cli.output import number

FIGURES = ["max_flow_s", "p95_flow_s", "p99_flow_s", "slowdown", "utilisation", "restarts"]
FIGURES += ["max_rho", "mean_rho", "jain_index"]


@pytest.fixture
def two(tmp_path: Path) -> Path:
    """The example: 19.6 s by hand."""
    path = tmp_path / "two.json"
    write(elastic_stream.example(), path)
    return path


@pytest.fixture
def drawn(tmp_path: Path) -> Path:
    """Eight jobs, decisions at any time."""
    path = tmp_path / "drawn.json"
    write(elastic_stream.generate(jobs=8, gpus=16, seed=4), path)
    return path


def test_solve_and_check(two: Path, cli: Any, tmp_path: Path) -> None:
    """The optimum with its figures; the checker confirms result, certificate and objective, and rejects a changed one."""
    out = tmp_path / "result.json"
    ended = cli("solve", two, "-o", out)
    assert ended.code == 0 and "19.6 seconds of flow time, mean of jobs" in ended.out
    assert "restarts 2" in ended.out and "periods      4, of 2 jobs" in ended.out
    checked = cli("check", two, out)
    assert checked.code == 0 and "verified" in checked.out and "by dlsched slots" in checked.out
    result = json.loads(out.read_text())
    result["solution"]["periods"]["b"][0]["end_s"] = 17.0
    out.write_text(json.dumps(result))
    assert cli("check", two, out).code == 7


def test_bounds_and_their_certificates(drawn: Path, cli: Any, tmp_path: Path) -> None:
    """The best of area, length and prices; each verifies, and a claim beyond what a job needs does not."""
    best = cli("bound", drawn, "--json").json
    values = {}
    for method in ("area", "length"):
        out = tmp_path / f"{method}.json"
        assert cli("solve", drawn, "--method", method, "-o", out).code == 0
        assert "verified" in cli("check", drawn, out).out
        result = json.loads(out.read_text())
        values[method] = result["bound"]
        claims = result["certificate"]["sizes" if method == "area" else "lengths"]
        claims["j0"] *= 1.01
        out.write_text(json.dumps(result))
        assert cli("check", drawn, out).code == 7
        claims["j0"] = "x"
        out.write_text(json.dumps(result))
        assert cli("check", drawn, out).code == 3
    values["prices"] = json.loads(cli("solve", drawn, "--method", "prices", "--json").out)["bound"]
    assert best["bound"] == max(values.values())


def test_an_answer_from_elsewhere_is_a_row(two: Path, cli: Any, tmp_path: Path) -> None:
    """A bare solution with its figures: a alone, then b: (24 + 28) / 2 = 26 (b starts at the tick at 30 s)."""
    foreign = tmp_path / "mine.json"
    periods = {"a": [{"start_s": 0, "end_s": 24, "units": 2}], "b": [{"start_s": 30, "end_s": 38, "units": 1}]}
    foreign.write_text(json.dumps({"solution": {"periods": periods}}))
    rows = cli("compare", two, "--methods", "exact", "--solutions", foreign, "--json").json
    assert [(row["method"], row["objective"]) for row in rows] == [("exact", pytest.approx(19.6)), ("mine", 26.0)]
    assert rows[1]["figures"]["restarts"] == 0 and rows[1]["figures"]["max_flow_s"] == 28.0


def test_compare_shows_the_figures(drawn: Path, cli: Any) -> None:
    """Table, JSON and CSV: percentiles, slowdown, utilisation, restarts; the ratio is at most."""
    arguments = ("compare", drawn, "--methods", "doubling,fixed,srpt-knee,fifo-equal")
    shown = cli(*arguments)
    assert shown.code == 0 and "<= " in shown.out and all(name in shown.out for name in FIGURES)
    rows = cli(*arguments, "--json").json
    assert [row["method"] for row in rows] == ["doubling", "fixed", "srpt-knee", "equal", "bound"]
    for row in rows[:-1]:
        assert list(row["figures"]) == FIGURES and row["ratio_is_at_most"] and row["ratio"] >= 1
        assert row["objective"] <= row["figures"]["p99_flow_s"] <= row["figures"]["max_flow_s"]
        assert 0 < row["figures"]["utilisation"] <= 1 <= row["figures"]["slowdown"]
    table = list(csv.DictReader(io.StringIO(cli(*arguments, "--csv").out)))
    assert [float(row["restarts"]) for row in table[:-1]] == [row["figures"]["restarts"] for row in rows[:-1]]


@pytest.mark.parametrize("width", [80, 120])
def test_no_column_is_lost_on_a_narrow_terminal(
    width: int, drawn: Path, cli: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Names of instances and methods, folded or not, and every figure stand in both tables."""
    monkeypatch.setattr("dlsched.cli.output._PIPE_WIDTH", width)
    few = tmp_path / "few.json"
    write(elastic_stream.example().model_copy(update={"name": "few"}), few)
    arguments = ("compare", few, "--methods", "exact,exploratory,srpt-knee")
    _, methods, figures = cli(*arguments).out.split(" instance ")
    for row in cli(*arguments, "--json").json:
        (line,) = [line.split() for line in methods.splitlines() if row["method"] in line]
        assert line[:5] == ["few", row["method"], row["status"], number(row["objective"]), number(row["bound"])]
        (line,) = [line.split() for line in figures.splitlines() if row["method"] in line]
        assert line == ["few", row["method"], *(number(row["figures"][name]) for name in FIGURES)]
    long = cli("compare", drawn, "--methods", "efficiency-marginal").out
    assert all(name in long for name in FIGURES) and "efficiency-m" in long and "poisson-8x1" in long


def test_plots(drawn: Path, two: Path, cli: Any, tmp_path: Path) -> None:
    """One stream: its figure; several instances: the gaps, and a figure of each stream beside them."""
    pytest.importorskip("matplotlib")
    alone, many = tmp_path / "alone.png", tmp_path / "many.png"
    ended = cli("compare", drawn, "--methods", "doubling,equal", "--plot", alone)
    assert ended.code == 0 and alone.stat().st_size > 10_000 and f"plot: {alone}" in ended.err
    ended = cli("compare", drawn, two, "--methods", "doubling,equal", "--plot", many)
    assert ended.code == 0 and many.exists()
    assert (tmp_path / "many-two-arrivals.png").exists() and (tmp_path / "many-poisson-8x16-seed4.png").exists()


def test_exit_codes(two: Path, drawn: Path, cli: Any, tmp_path: Path) -> None:
    """A job larger than the cluster: 4; no program without ticks: 2; a policy that restarts for ever: 5."""
    data = json.loads(two.read_text())
    data["jobs"][1]["epoch_time_s"] = {"3": 8.0}
    two.write_text(json.dumps(data))
    assert cli("solve", two).code == cli("solve", two, "--method", "doubling").code == cli("bound", two).code == 4
    assert cli("solve", drawn, "--method", "milp").code == 2
    job = {"arrival_s": 0.0, "epochs": 1.0, "epoch_time_s": {"1": 30.0}, "restart_s": 10.0}
    data = {"format": "dlsched/elastic_stream/1", "name": "x", "units": 1, "tick_s": 10.0}
    two.write_text(json.dumps(data | {"jobs": [job | {"id": "a"}, job | {"id": "b"}]}))
    ended = cli("solve", two, "--method", "las-fixed")
    assert ended.code == 5 and "periods in a row that ended in their pause" in ended.out
