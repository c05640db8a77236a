"""``dlsched compare``: methods on instance files, and external answers, against the best proven objective; tables and plots."""

import csv
import io
import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dlsched import Limits, elastic_stream, read, ring_allocation, ring_embedding, srpt_mapping
from dlsched.catalogue.ring_allocation import LISTED
from dlsched.cli.compare import draw
from dlsched.comparison.rows import Compared, compare_one
from dlsched.core.errors import SolverError
from dlsched.core.verdict import Verdict
from dlsched.families import family_of

Compare = Callable[..., dict[str, dict[str, Any]]]
OPTIMUM, DOUBLED, EQUAL = 927118.96, 1144391.6025, 13114 + 90.5 * (50000 / 3 + 0.02 + 0.2 / 3 + 0.2)
FIELDS = [
    *("instance", "method", "kind", "status", "objective", "bound", "gap", "ratio", "ratio_is_at_most", "runtime_s"),
    "message",
]


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


def test_a_tiny_instance(compare: Compare, cli: Any, stall: Path) -> None:
    """90 against 10: ratio 9, gap 8/9; by the bound alone it is said to be at most that, in the table, too."""
    row = compare(stall, "--methods", "doubling,exact")["doubling"]
    assert (row["ratio"], row["gap"], row["ratio_is_at_most"]) == (9.0, 80 / 90, False)
    row = compare(stall, "--methods", "doubling")["doubling"]
    assert (row["ratio"], row["gap"]) == (pytest.approx(9.0), pytest.approx(80 / 90))
    assert row["ratio_is_at_most"] is True
    assert "<= 9.00" in cli("compare", stall, "--methods", "doubling").out
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


@pytest.mark.parametrize(
    ("known", "method", "code"),
    [
        ({"lower": 1.0, "upper": 2.0}, "fifo", 0),
        ({"lower": 4.0, "upper": 5.0}, "exact", 7),
        ({"lower": 1.0, "upper": 1.5}, "fifo", 7),
    ],
)
def test_known_values_are_read_by_sense(known: Any, method: str, code: int, cli: Any, save: Any) -> None:
    """Four workers for one slot have the utility sqrt 4, and more is better: ``upper`` is the bound, ``lower`` an answer."""
    job = {"id": "a", "arrival_slot": 1, "rate": 1.0, "max_workers": 4, "demand": {"gpu": 1}}
    job |= {"utility": {"kind": "sqrt", "scale": 1.0}, "bandwidth_bytes_per_s": 1.0}
    data = {"format": "dlsched/ring_embedding/1", "name": "one", "slots": 1, "links": [], "jobs": [job]}
    data["nodes"] = [{"id": "s", "capacity": {"gpu": 4}}]
    ended = cli("compare", save(data | {"known": known | {"proof": "by hand"}}), "--methods", method, "--json")
    assert (ended.code, bool(ended.err)) == (code, code == 7)
    assert ended.json[0]["objective"] == pytest.approx(2.0)
    if not code:
        assert (ended.json[0]["ratio"], ended.json[0]["ratio_is_at_most"]) == (1.0, False)  # the bound meets it


@pytest.mark.parametrize(
    ("known", "method", "said"),
    [
        ({"optimum": 95.0}, "doubling", "the file calls 95.0 known, but a solution of 90.0 is held"),
        ({"optimum": 95.0}, "exact", "the file calls 95.0 known, but a solution of 10.0 is held"),
        ({"optimum": 5.0}, "exact", "the file calls 5.0 known, but the bound 10.0 is proven"),
        ({"lower": 3.0, "upper": 5.0}, "exact", "the file calls 3.0 to 5.0 known, but the bound 10.0 is proven"),
        ({"lower": 11.0, "upper": 50.0}, "exact", "the file calls 11.0 to 50.0 known, but a solution of 10.0 is held"),
    ],
)
def test_what_a_run_disproves_is_said(known: Any, method: str, said: str, cli: Any, stall: Path, save: Any) -> None:
    """By hand doubling ends with 90 and the optimum is 10: a line on standard error, exit 7, nothing "at the optimum"."""
    path = save(json.loads(stall.read_text()) | {"known": known | {"proof": "wrong"}})
    ended = cli("compare", path, "--methods", method, "--json")
    assert (ended.code, ended.line) == (7, f"dlsched: stall: {said}")
    if "solution" in said:
        assert "contradicts the proven" in ended.json[0]["status"] and ended.json[0]["ratio"] is None


def test_an_objective_beyond_the_proven_is_never_at_the_optimum(cli: Any, stall: Path, save: Any) -> None:
    """The second instance calls 95 its optimum, which doubling's 90 disproves: it is at the optimum of none of the two."""
    wrong = save(json.loads(stall.read_text()) | {"name": "wrong", "known": {"optimum": 95.0, "proof": "wrong"}})
    ended = cli("compare", stall, wrong, "--methods", "doubling")
    assert ended.code == 7
    assert re.search(r"^ *doubling +2 of 2 +0 ", ended.out, re.MULTILINE)


def test_every_method_but_bounds_is_the_default(compare: Compare, stall: Path) -> None:
    """Exact methods agree, and nothing beats them."""
    rows = compare(stall)
    assert set(rows) == {method.name for method in LISTED.methods if method.kind != "bound"}
    assert all(row["objective"] == 10.0 for row in rows.values() if row["kind"] == "exact")
    assert all(row["ratio"] >= 1 for row in rows.values())


def test_an_infeasible_instance_is_a_row(compare: Compare, two_jobs: dict[str, Any], save: Any) -> None:
    """No objective, no gap, exit 0."""
    rows = compare(save(two_jobs | {"gpus": 1}), "--methods", "exact,doubling")
    assert {(row["status"], row["objective"], row["ratio"]) for row in rows.values()} == {("infeasible", None, None)}


@pytest.fixture
def answers(cli: Any, example: Path, save: Any, tmp_path: Path) -> dict[str, Path]:
    """Answers from elsewhere: one that is good, two too large, one malformed, and a complete result."""
    complete = tmp_path / "complete.json"
    cli("solve", example, "--method", "equal", "-o", complete)
    return {
        "good": save({"solution": {"gpus": {"a": 2, "b": 4}}}, "good.json"),
        "large": save({"solution": {"gpus": {"a": 4, "b": 4}}}, "large.json"),
        "named": save({"solution": {"gpus": {"a": 1, "b": 5}}, "method": "mine", "objective": 1.0}, "named.json"),
        "shape": save({"solution": {"gpus": [1, 5]}}, "shape.json"),
        "absurd": save({"solution": {"gpus": {"a": 1, "b": 10**400}}}, "absurd.json"),
        "complete": complete,
    }


def test_answers_from_elsewhere_are_rows(cli: Any, example: Path, answers: dict[str, Path]) -> None:
    """Checked as any other: right ones get their ratio, wrong ones are rejected with the reason, in order."""
    ended = cli("compare", example, "--methods", "exact", "--json", "--solutions", *answers.values())
    assert ended.code == 7
    assert [line.split(": rejected ")[0] for line in ended.err.splitlines()] == [
        f"dlsched: {answers[name]}" for name in ("large", "named", "shape", "absurd")
    ]
    own, good, large, named, shape, absurd, complete = ended.json
    assert (own["kind"], own["status"]) == ("exact", "optimal")
    assert {row["kind"] for row in (good, large, named, shape, absurd, complete)} == {"foreign"}
    assert (good["method"], good["status"], good["runtime_s"]) == ("good", "feasible", None)
    assert good["ratio"] == pytest.approx(DOUBLED / OPTIMUM, rel=1e-12)
    assert large["status"] == "rejected: capacity: 8 GPUs are given, the cluster has 6"
    assert named["method"] == "mine"
    assert named["status"].startswith("rejected: objective: 1.0 is claimed")
    assert "solution.gpus" in shape["status"] or "solution: found" in shape["status"]
    assert absurd["status"].startswith("rejected")
    assert all(row["objective"] is None for row in (large, named, shape, absurd))
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
    assert ended.code == 7, ended.err  # large breaks the capacity
    assert [row["method"] for row in ended.json] == ["exact", "good", "large"]


def test_an_answer_of_no_instance_is_not_passed_over(cli: Any, example: Path, stall: Path, answers: Any) -> None:
    """A result of another instance is a wrong file, a bare solution beside two instances a question that stays open."""
    for files, name, code in (([stall], "complete", 3), ([example, stall], "good", 2)):
        ended = cli("compare", *files, "--methods", "exact", "--json", "--solutions", answers[name])
        assert ended.code == code
        assert ended.line.startswith(f"dlsched: {answers[name]}: ")
        assert ended.json[-1]["status"] in ended.line


@pytest.mark.parametrize("key", ["name", "sha256", "both", "string"])
def test_bare_answers_name_their_instance(key: str, cli: Any, example: Path, stall: Path, save: Any) -> None:
    """Two of them find theirs among three instances, and a third, whose instance is not there, is told of."""
    third = save(json.loads(stall.read_text()) | {"name": "third", "gpus": 2}, "third.json")

    def bare(file: Path | None, solution: Any, out: str) -> Path:
        instance = read(file) if file else None
        name, sha256 = (instance.name, instance.sha256) if instance else ("elsewhere", "0")
        said = {"name": {"name": name}, "sha256": {"sha256": sha256}, "both": {"name": name, "sha256": sha256}}
        return Path(save({"instance": said.get(key, name), "solution": {"gpus": solution}}, out))

    answers = [bare(stall, {"a": 2}, "one.json"), bare(third, {"a": 2}, "two.json")]
    ended = cli("compare", example, stall, third, "--methods", "exact", "--json", "--solutions", *answers)
    assert (ended.code, ended.err) == (0, "")
    found = {(row["instance"], row["method"]): row["ratio"] for row in ended.json if row["kind"] == "foreign"}
    assert found == {("stall", "one"): 9.0, ("third", "two"): 1.0}  # 90 against 10, and against 90
    ended = cli("compare", stall, third, "--methods", "exact", "--solutions", *answers, bare(None, {"a": 1}, "no.json"))
    assert (ended.code, "no.json: belongs to none of the instances" in ended.line) == (3, True)


def test_the_bound_that_is_computed_besides_is_a_row(compare: Compare, stall: Path) -> None:
    """With its time, and once; where a row proves the optimum, or the file knows it, none is."""
    assert [*compare(stall, "--methods", "doubling")] == ["doubling", "lagrange"]
    assert [*compare(stall, "--methods", "lagrange,doubling")] == ["lagrange", "doubling"]
    assert [*compare(stall, "--methods", "exact,doubling")] == ["exact", "doubling"]
    row = compare(stall, "--methods", "doubling")["lagrange"]
    assert (row["kind"], row["bound"], row["objective"], row["runtime_s"] >= 0) == ("bound", 10.0, None, True)


def test_the_bound_obeys_the_limit_and_ctrl_c(cli: Any, stall: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is run as every method is: with the limits of the call, and an interrupt ends the comparison."""
    limits: list[Any] = []

    def interrupted(instance: Any, search: Any) -> Any:
        limits.append(search.budget.limits)
        raise KeyboardInterrupt

    family = ring_allocation.FAMILY
    bound = replace(family.methods["lagrange"], run=interrupted)
    monkeypatch.setattr(ring_allocation, "FAMILY", replace(family, methods={**family.methods, "lagrange": bound}))
    ended = cli("compare", stall, stall, "--methods", "doubling", "--time-limit", "3", "--json")
    assert limits == [Limits(time_s=3.0)]
    assert [row["status"] for row in ended.json] == ["feasible", "interrupted"]
    assert "interrupted" in ended.line


NASTY = "=cmd|'x'\n\x1b[2Jfeasible"


@pytest.fixture
def nasty(save: Any) -> Path:
    """Return an instance, and a job, whose names are made for spreadsheets and terminals."""
    job = {"id": NASTY, "epochs": 1, "epoch_time_s": {"1": 2.0}}
    data = {"format": "dlsched/ring_allocation/1", "name": NASTY, "gpus": 1, "jobs": [job]}
    return Path(save(data, "nasty.json"))


def test_names_do_nothing_to_terminals_and_spreadsheets(cli: Any, nasty: Path, save: Any) -> None:
    """One line each, no escape character, no formula; in JSON they are what they are."""
    answer = save({"solution": {"gpus": {NASTY: 1}}, "method": NASTY, "instance": NASTY})
    for arguments in (("solve", nasty), ("bound", nasty), ("compare", nasty, "--solutions", answer)):
        printed = cli(*arguments).out
        assert "\x1b" not in printed and "\nfeasible" not in printed and "\\x1b[2J" in printed
    rows = list(csv.DictReader(io.StringIO(cli("compare", nasty, "--csv", "--solutions", answer).out)))
    assert {row["instance"] for row in rows} == {"'=cmd|'x'\\n\\x1b[2Jfeasible"}
    assert rows[-1]["method"] == rows[0]["instance"]
    found = cli("compare", nasty, "--json", "--solutions", answer).json
    assert {row["instance"] for row in found} == {found[-1]["method"]} == {NASTY}


def test_json_escapes_what_terminals_obey(cli: Any, save: Any) -> None:
    """A control character of the second kind, and a mark that turns the direction of text."""
    job = {"id": "a", "epochs": 1, "epoch_time_s": {"1": 2.0}}
    name = "one\x9b2J\u202etwo"
    ended = cli(
        "solve", save({"format": "dlsched/ring_allocation/1", "name": name, "gpus": 1, "jobs": [job]}), "--json"
    )
    assert ended.out.replace("\n", "").isprintable()
    assert ended.json["instance"]["name"] == name


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
    assert (ended.code, ended.err, list(rows[0])) == (0, "", [*FIELDS, "max_rho", "mean_rho", "jain_index"])
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
    monkeypatch.setattr("dlsched.plots.comparison.comparison_figure", lambda points, path, **_: drawn.extend(points))
    result = tmp_path / "theirs.json"
    cli("solve", example, "-o", result)
    assert cli("compare", example, "--methods", "exact", "--solutions", result, "--plot", "gaps.svg").code == 0
    assert sorted(point.kind for point in drawn) == ["exact", "foreign"]


def summary_of(out: str) -> list[list[str]]:
    """Cells of the table under the answers, the columns first."""
    lines = out.splitlines()
    start = max(index for index, line in enumerate(lines) if "at the optimum" in line)
    return [
        re.split(r"  +", line.strip()) for line in lines[start:] if line.strip() and not re.search("─|ratios of", line)
    ]


def test_the_summary_by_hand(cli: Any, stall: Path, save: Any) -> None:
    """Doubling's 90 against 10, and against 90 on two GPUs: ratios 9 and 1, gaps 8/9 and 0; two are too few for a test."""
    third = save(json.loads(stall.read_text()) | {"name": "third", "gpus": 2}, "third.json")
    columns, doubling, exact = summary_of(cli("compare", stall, third, "--methods", "doubling,exact").out)
    assert columns[:-1] == [
        *("method", "answers", "at the optimum", "mean ratio", "median gap", "worst gap", "against best")
    ]
    assert doubling[:-1] == ["doubling", "2 of 2", "1", "5.00", "44 %", "89 %", "the best"]
    assert exact[:-1] == ["exact", "2 of 2", "2", "1", "0 %", "0 %", "1-1-0"]


def test_the_summary_of_bounds_is_at_most(cli: Any, stall: Path) -> None:
    """The bound's own row has bounds for answers and is compared with none; the doubling's ratio to it is at most 9."""
    data = summary_of(cli("compare", stall, stall, "--methods", "doubling").out)
    assert data[1][:-1] == ["doubling", "2 of 2", "0", "<= 9.00", "<= 89 %", "<= 89 %", "-"]
    assert data[2][:-1] == ["lagrange", "2 of 2 bounds", "0", "-", "-", "-", "-"]


def test_the_summary_tests_from_six_instances_on(cli: Any, stall: Path, save: Any) -> None:
    """Six of other speeds: ``equal`` loses to nobody, has an interval, and a p-value of 2 in 64."""
    files = []
    for index in range(6):
        times = {"1": 100.0 + index, "2": 90.0, "3": 10.0 + index}
        job = {"id": "a", "epochs": 1, "epoch_time_s": times}
        files.append(save(json.loads(stall.read_text()) | {"name": f"s{index}", "jobs": [job]}, f"s{index}.json"))
    _, doubling, exact = summary_of(cli("compare", *files, "--methods", "doubling,exact").out)
    assert re.fullmatch(r"7\.\d\d \[6\.\d\d, 8\.\d\d\]", doubling[3])
    assert exact[-2] == "6-0-0 (p = 0.031)"


def test_the_summary_keeps_families_and_objectives_apart(cli: Any, stall: Path, tmp_path: Path) -> None:
    """A method of the same name in another family is another one; gaps of other objectives are in lines of their own."""
    files = [tmp_path / f"{name}.json" for name in ("mean", "max_rho")]
    for file in files:
        cli("generate", "matching_placement", "--jobs", "2", "--gpus", "3", "--objective", file.stem, "-o", file)
    columns, *lines = summary_of(cli("compare", stall, *files, "--methods", "equal,exact").out)
    assert columns[:2] == ["family", "method"]
    assert [line[:3] for line in lines] == [
        [family, method, "1 of 1"]
        for family in ("ring_allocation", *(f"matching_placement, objective {name}" for name in ("mean", "max_rho")))
        for method in ("equal", "exact")
    ]


def test_an_optimum_says_what_gap_it_leaves(cli: Any, save: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """1,000 and 3.1e-4 beside a bound of 1,000 and 4.1e-4: 1e-05 % are open, beside ``optimal`` and beside the bound."""

    def failing(*arguments: object, **options: object) -> None:
        raise SolverError("it broke")

    monkeypatch.setattr("dlsched.ring_embedding.exact.best_slot", failing)
    jobs = [("large", 8.0, 1000.0), ("a", 3.0, 3.1e-4), ("b", 2.0, 2e-4), ("c", 2.0, 2e-4)]
    path = save(
        {
            "format": "dlsched/ring_embedding/1",
            "name": "left",
            "slots": 1,
            "nodes": [{"id": "s", "capacity": {"gpu": 8.0}}, {"id": "t", "capacity": {"gpu": 4.0}}],
            "links": [],
            "jobs": [
                {
                    "id": name,
                    "max_workers": 1,
                    "demand": {"gpu": gpus},
                    "bandwidth_bytes_per_s": 0.0,
                    "rate": 1.0,
                    "utility": {"kind": "capped", "slope": value, "cap": value},
                }
                for name, gpus, value in jobs
            ],
        }
    )
    assert "optimal, gap 1e-05 %" in cli("compare", path, "--methods", "exact").out
    assert [row["status"] for row in cli("compare", path, "--methods", "exact", "--json").json] == ["optimal"]
    assert "gap 1e-05 %, by certificate" in cli("solve", path).out
    monkeypatch.undo()
    assert "optimal, gap" not in cli("compare", path, "--methods", "exact").out


METHODS = {elastic_stream: ["equal", "doubling"], srpt_mapping: ["fifo", "least-work"], ring_embedding: ["fifo", "drf"]}


def named(instance, name):
    return type(instance).model_validate(instance.model_dump() | {"name": name})


def rows_of(instance, methods):
    chosen = [family_of(instance).method(name) for name in methods]
    return compare_one(instance, chosen, {}, Limits())[0]


@pytest.mark.parametrize("family", METHODS)
def test_families_with_a_chart(family, tmp_path, capsys):
    """One instance gives its chart and no profile."""
    instance = family.example()
    draw(rows_of(instance, METHODS[family]), [instance], str(tmp_path / "out.svg"))
    assert [path.name for path in tmp_path.iterdir()] == ["out.svg"]
    assert capsys.readouterr().err == f"plot: {tmp_path / 'out.svg'}\n"
    content = (tmp_path / "out.svg").read_text()
    assert "Performance profile" not in content
    assert METHODS[family][0] in content


def test_several_instances_have_files_of_their_own(tmp_path):
    """Names that no file can hold, or that would be one file's, are changed; the profile is drawn too."""
    example = ring_embedding.example()
    names = ["a/b\n$x$\x1b", "a_b__x__", "../" * 99, "plain"]
    instances = [*(named(example, name) for name in names), named(ring_allocation.example(), "counts")]
    rows = [
        row for instance in instances for row in rows_of(instance, ["fifo"] if instance.name != "counts" else ["equal"])
    ]
    draw(rows, instances, str(tmp_path / "out.png"))
    long = ("../" * 99).replace("/", "_")[:80]
    expected = {"out.png", "out-a_b__x__.png", "out-a_b__x__-2.png", f"out-{long}.png", "out-plain.png"}
    assert {path.name for path in tmp_path.iterdir()} == expected


def test_equal_names_are_left_out_and_said(tmp_path, capsys):
    """Rows know their instance by its name: two of one name cannot be told apart, so neither is drawn."""
    twins = [named(ring_allocation.example(), "twin\n"), named(ring_allocation.example(), "twin\n")]
    rows = [row for instance in twins for row in rows_of(instance, ["equal"])]
    draw(rows, twins, str(tmp_path / "out.png"))
    assert capsys.readouterr().err == "plot: left out twin\\n: 2 instances have that name\n"
    assert not list(tmp_path.iterdir())


def test_answers_of_one_name_are_numbered(tmp_path, monkeypatch):
    """Two answers from elsewhere that call themselves mine are two points; those to no instance given are none."""
    instance = named(ring_allocation.example(), "one")
    rows = [
        Compared("one", "mine", "foreign", "feasible", 2.0, verdict=Verdict(ratio=1.5)),
        Compared("one", "mine", "foreign", "feasible", 3.0, verdict=Verdict(ratio=float("inf"))),
        Compared("-", "stray", "foreign", "belongs to none of the instances"),
        Compared("one", "lp", "bound", "feasible", bound=2.0),
    ]
    drawn = []
    monkeypatch.setattr("dlsched.plots.comparison.comparison_figure", lambda points, path, **_: drawn.extend(points))
    draw(rows, [instance], str(tmp_path / "out.png"))
    assert [(point.method, point.ratio) for point in drawn] == [("mine *", 1.5), ("mine * (2)", 1e100)]


def test_what_cannot_be_drawn_is_said(tmp_path, capsys):
    """No answer, or a cluster that is no picture: a line says so, and the table stands."""
    instance = srpt_mapping.example()
    draw([Compared(instance.name, "fifo", "heuristic", "time_limit")], [instance], str(tmp_path / "out.png"))
    assert capsys.readouterr().err == f"plot: no method found an answer to {instance.name}\n"
    vast = instance.model_dump() | {"servers": [{"id": "vast", "gpus": 200_000}]}
    instance = srpt_mapping.Instance.model_validate(vast)
    draw(rows_of(instance, ["fifo"]), [instance], str(tmp_path / "out.png"))
    assert "is not drawn: servers: found 200000 GPUs" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
