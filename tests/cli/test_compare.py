"""``dlsched compare``: gaps and ratios by hand, answers from elsewhere, JSON and CSV, plots."""

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Compare = Callable[..., dict[str, dict[str, Any]]]
OPTIMUM, DOUBLED, EQUAL = 927118.96, 1144391.6025, 13114 + 90.5 * (50000 / 3 + 0.02 + 0.2 / 3 + 0.2)
FIELDS = ["instance", "method", "kind", "status", "objective", "bound", "gap", "ratio", "ratio_is_at_most", "runtime_s"]


@pytest.fixture
def compare(cli: Any) -> Compare:
    """Compare and return the rows by method."""

    def call(*arguments: object) -> dict[str, dict[str, Any]]:
        ended = cli("compare", *arguments, "--json")
        assert (ended.code, ended.err) == (0, "")
        return {row["method"]: row for row in ended.json}

    return call


@pytest.fixture
def stall(save: Any) -> Path:
    """Return one job of 100, 90, 10 s on 1, 2, 3 of 3 GPUs: doubling ends with 90, the optimum and LP bound are 10."""
    job = {"id": "a", "epochs": 1, "epoch_time_s": {"1": 100.0, "2": 90.0, "3": 10.0}}
    return Path(save({"format": "dlsched/ring_allocation/1", "name": "stall", "gpus": 3, "jobs": [job]}, "stall.json"))


def test_gaps_and_ratios_of_the_example(compare: Compare, example: Path) -> None:
    """Against the optimum that ``exact`` proves; an answer that is missing has none."""
    rows = compare(example, "--methods", "doubling,equal,fixed,exact,lagrange")
    assert list(rows) == ["doubling", "equal", "fixed", "exact", "lagrange"]
    assert all(list(row) == [*FIELDS, "figures"] for row in rows.values())
    for method, objective in (("doubling", DOUBLED), ("equal", EQUAL), ("exact", OPTIMUM)):
        row = rows[method]
        assert row["objective"] == pytest.approx(objective, rel=1e-12)
        assert row["ratio"] == pytest.approx(objective / OPTIMUM, rel=1e-12)
        assert row["gap"] == pytest.approx(1 - OPTIMUM / objective, abs=1e-12)
        assert row["ratio_is_at_most"] is False
        assert row["runtime_s"] >= 0
    assert (rows["fixed"]["status"], rows["fixed"]["objective"], rows["fixed"]["ratio"]) == ("no_solution", None, None)
    assert (rows["lagrange"]["kind"], rows["lagrange"]["objective"]) == ("bound", None)
    assert rows["lagrange"]["bound"] == pytest.approx(OPTIMUM)


def test_the_linear_programming_bound_is_no_weaker_than_the_price(compare: Compare, example: Path) -> None:
    """The best price gives the bound of the linear relaxation, so the two agree (and times are never negative)."""
    rows = compare(example, "--methods", "lagrange,lp")
    assert rows["lp"]["bound"] >= rows["lagrange"]["bound"] * (1 - 1e-6)


def test_a_tiny_instance(compare: Compare, stall: Path) -> None:
    """90 against 10: ratio 9, gap 8/9; by the bound alone it is said to be at most that."""
    row = compare(stall, "--methods", "doubling,exact")["doubling"]
    assert (row["ratio"], row["gap"], row["ratio_is_at_most"]) == (9.0, 80 / 90, False)
    row = compare(stall, "--methods", "doubling")["doubling"]
    assert (row["ratio"], row["gap"]) == (pytest.approx(9.0), pytest.approx(80 / 90))
    assert row["ratio_is_at_most"] is True


def test_at_most_is_printed(cli: Any, stall: Path) -> None:
    """The table marks a ratio against a bound, and not one against the optimum."""
    assert "<= 9.000000" in cli("compare", stall, "--methods", "doubling").out
    assert "<=" not in cli("compare", stall, "--methods", "doubling,exact").out


def test_what_the_file_knows_is_used(compare: Compare, cli: Any, stall: Path, save: Any) -> None:
    """A known optimum makes ratios exact, a stronger lower bound smaller; one that is beaten is contradicted.

    By hand: on 2 GPUs ``equal`` costs 90; the price bound lies on the line from 100 (1 GPU) to 10 (3 GPUs): 55.
    """
    data = json.loads(stall.read_text())
    row = compare(save(data | {"known": {"optimum": 10.0, "proof": "by hand"}}), "--methods", "doubling")["doubling"]
    assert (row["ratio"], row["ratio_is_at_most"]) == (9.0, False)
    for lower, ratio in ((45.0, 90 / 55), (60.0, 1.5)):
        path = save(data | {"gpus": 2, "known": {"lower": lower, "upper": 90.0, "proof": "by hand"}})
        row = compare(path, "--methods", "equal")["equal"]
        assert (row["ratio"], row["ratio_is_at_most"]) == (pytest.approx(ratio), True)
    ended = cli(
        "compare", save(data | {"known": {"optimum": 95.0, "proof": "wrong"}}), "--methods", "doubling", "--json"
    )
    assert "contradicts the proven 95.0" in ended.json[0]["status"]
    assert (ended.code, ended.line) == (7, "dlsched: stall: the file calls 95.0 known, but a solution of 90.0 is held")


def test_every_method_but_bounds_is_the_default(compare: Compare, stall: Path) -> None:
    """Exact methods agree, and nothing beats them."""
    rows = compare(stall)
    assert set(rows) == {"exact", "dp", "milp", "minlp", "doubling", "marginal", "fixed", "equal", "hull"}
    assert all(row["objective"] == 10.0 for row in rows.values() if row["kind"] == "exact")
    assert all(row["ratio"] >= 1 for row in rows.values())


def test_an_infeasible_instance_is_a_row(compare: Compare, two_jobs: dict[str, Any], save: Any) -> None:
    """No objective, no gap, exit 0."""
    rows = compare(save(two_jobs | {"gpus": 1}), "--methods", "exact,doubling")
    assert {(row["status"], row["objective"], row["ratio"]) for row in rows.values()} == {("infeasible", None, None)}


@pytest.fixture
def answers(cli: Any, example: Path, save: Any, tmp_path: Path) -> dict[str, Path]:
    """Answers from elsewhere: one that is good, one too large, one malformed, and a complete result."""
    complete = tmp_path / "complete.json"
    cli("solve", example, "--method", "equal", "-o", complete)
    return {
        "good": save({"solution": {"gpus": {"a": 2, "b": 4}}}, "good.json"),
        "large": save({"solution": {"gpus": {"a": 4, "b": 4}}}, "large.json"),
        "named": save({"solution": {"gpus": {"a": 1, "b": 5}}, "method": "mine", "objective": 1.0}, "named.json"),
        "shape": save({"solution": {"gpus": [1, 5]}}, "shape.json"),
        "complete": complete,
    }


def test_answers_from_elsewhere_are_rows(cli: Any, example: Path, answers: dict[str, Path]) -> None:
    """Checked as any other: right ones get their ratio, wrong ones are rejected with the reason, in order."""
    ended = cli("compare", example, "--methods", "exact", "--json", "--solutions", *answers.values())
    assert (ended.code, ended.err) == (0, "")
    own, good, large, named, shape, complete = ended.json
    assert own["kind"] == "exact"
    assert {row["kind"] for row in (good, large, named, shape, complete)} == {"foreign"}
    assert (good["method"], good["status"], good["runtime_s"]) == ("good", "feasible", None)
    assert good["ratio"] == pytest.approx(DOUBLED / OPTIMUM, rel=1e-12)
    assert large["status"] == "rejected: capacity: 8 GPUs are given, the cluster has 6"
    assert named["method"] == "mine"
    assert named["status"].startswith("rejected: objective: 1.0 is claimed")
    assert "solution.gpus" in shape["status"] or "solution: found" in shape["status"]
    assert all(row["objective"] is None for row in (large, named, shape))
    assert (complete["method"], complete["objective"]) == ("equal", pytest.approx(EQUAL, rel=1e-12))


@pytest.mark.parametrize("order", ["after", "before", "repeated", "between", "equals sign"])
def test_solutions_may_stand_anywhere(order: str, cli: Any, example: Path, answers: dict[str, Path]) -> None:
    """Several files behind one option, before or after the instance, or the option repeated: the same rows."""
    good, large = answers["good"], answers["large"]
    arguments = {
        "after": [example, "--methods", "exact", "--solutions", good, large],
        "before": ["--solutions", good, large, example, "--methods", "exact"],
        "repeated": [example, "--solutions", good, "--solutions", large, "--methods", "exact"],
        "between": ["--methods", "exact", "--solutions", good, large, "--time-limit", "5", example],
        "equals sign": [example, f"--solutions={good}", f"--solutions={large}", "--methods", "exact"],
    }[order]
    ended = cli("compare", *arguments, "--json")
    assert ended.code == 0, ended.err
    assert [row["method"] for row in ended.json] == ["exact", "good", "large"]


def test_an_answer_of_no_instance_is_not_passed_over(cli: Any, example: Path, stall: Path, answers: Any) -> None:
    """A result of another instance, and a bare solution beside two instances, are named in what is printed."""
    for files, answer in (([stall], answers["complete"]), ([example, stall], answers["good"])):
        ended = cli("compare", *files, "--methods", "exact", "--json", "--solutions", answer)
        assert answer.stem in ended.out + ended.err


def test_a_count_of_400_digits_is_a_row(compare: Compare, example: Path, save: Any) -> None:
    """An absurd answer from elsewhere does not take the others down."""
    absurd = save({"solution": {"gpus": {"a": 1, "b": 10**400}}}, "absurd.json")
    assert compare(example, "--methods", "exact", "--solutions", absurd)["absurd"]["status"].startswith("rejected: ")


def test_a_file_that_cannot_be_read_is_3_and_the_rest_is_compared(cli: Any, example: Path) -> None:
    """Its line stands on standard error; the other rows are printed."""
    for arguments in ((example, "missing.json"), (example, "--solutions", "missing.json")):
        ended = cli("compare", *arguments, "--methods", "exact", "--json")
        assert ended.code == 3
        assert ended.line == "dlsched: missing.json: cannot be read: No such file or directory"
        assert [row["method"] for row in ended.json] == ["exact"]


def test_csv_has_the_json_rows(cli: Any, example: Path, stall: Path) -> None:
    """A header and one line a row; unknown is empty; nothing on standard error."""
    ended = cli("compare", example, stall, "--methods", "exact,fixed", "--csv")
    rows = list(csv.DictReader(io.StringIO(ended.out)))
    assert (ended.code, ended.err, list(rows[0])) == (0, "", FIELDS)
    assert [(row["instance"], row["method"]) for row in rows] == [
        ("two-jobs", "exact"), ("two-jobs", "fixed"), ("stall", "exact"), ("stall", "fixed")
    ]  # fmt: skip
    assert float(rows[0]["objective"]) == pytest.approx(OPTIMUM, rel=1e-12)
    assert rows[1]["objective"] == rows[1]["gap"] == ""


def test_a_plot_is_written(cli: Any, example: Path, tmp_path: Path) -> None:
    """Its name is told on standard error."""
    pytest.importorskip("matplotlib")
    out = tmp_path / "gaps.svg"
    ended = cli("compare", example, "--methods", "exact,doubling", "--plot", out)
    assert (ended.code, ended.line) == (0, f"plot: {out}")
    assert out.read_text(encoding="utf-8").lstrip().startswith("<?xml")


@pytest.mark.parametrize("name", ["gaps.xyz", "gaps", "nosuch/gaps.svg"])
def test_a_plot_of_an_unknown_kind_or_place_is_2(name: str, cli: Any, example: Path, tmp_path: Path) -> None:
    """One line says what is allowed, and nothing is written."""
    ended = cli("compare", example, "--methods", "exact", "--plot", tmp_path / name)
    assert ended.code == 2
    assert name in ended.line
    assert not (tmp_path / name).exists()


def test_a_plot_shows_the_foreign_answer_beside_the_own(
    cli: Any, example: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A result file that names the method ``exact`` does not hide our own."""
    drawn: list[Any] = []
    monkeypatch.setattr("dlsched.plots.draw_comparison", lambda points, path: drawn.extend(points))
    result = tmp_path / "theirs.json"
    cli("solve", example, "-o", result)
    assert cli("compare", example, "--methods", "exact", "--solutions", result, "--plot", "gaps.svg").code == 0
    assert sorted(point.kind for point in drawn) == ["exact", "foreign"]
