"""The speed scripts of the benchmarks run at small sizes; what they share measures in turns, compares, and writes its page."""

import importlib.util
import json
import math
import subprocess
import sys
from argparse import Namespace
from pathlib import Path

import against
import growth
import measure
import pytest

from dlsched.core.limits import Limits
from dlsched.core.result import InstanceId, Result

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"
QUICK = ("worst_proofs",)
SLOW = (
    *("reading", "knapsack", "overhead", "streams", "simulation", "nodes", "stream_bounds"),
    *("knapsack_classes", "srpt", "gang_speed", "slots", "placement", "placement_growth", "worst", "proofs"),
)


class Clock:
    """A clock that calls set forward."""

    def __init__(self) -> None:
        self.now, self.calls = 0.0, []

    def __call__(self) -> float:
        return self.now

    def way(self, name, seconds, answer=0):
        """Make a way that takes so many seconds in each turn."""

        def call(turn):
            self.calls.append((name, turn))
            self.now += seconds[turn]
            return answer

        return call


def test_ways_take_turns_and_ratios_are_of_medians():
    clock = Clock()
    ways = {"a": clock.way("a", [1.0, 4.0, 2.0]), "b": clock.way("b", [3.0, 2.0, 20.0])}
    found = measure.measure(ways, 3, clock=clock)
    assert clock.calls == [("a", 0), ("b", 0), ("a", 1), ("b", 1), ("a", 2), ("b", 2)]
    assert found["a"].seconds == [1.0, 4.0, 2.0]
    assert (found["a"].median, found["b"].median) == (2.0, 3.0)
    assert found["b"].over(found["a"]) == measure.Ratio(1.5, 0.5, 10.0)
    assert f"{found['b'].over(found['a']):.1f}" == "1.5 (0.5 .. 10.0)"


def test_who_has_taken_enough_takes_part_no_more():
    """The ratios of turns are of the turns that both took part in."""
    clock = Clock()
    ways = {"fast": clock.way("fast", [1.0, 2.0, 3.0]), "slow": clock.way("slow", [4.0, 6.0, 0.0])}
    found = measure.measure(ways, 3, clock=clock, enough_s=10)
    assert found["slow"].seconds == [4.0, 6.0]
    assert found["fast"].seconds == [1.0, 2.0, 3.0]
    assert found["slow"].over(found["fast"]) == measure.Ratio(2.5, 3.0, 4.0)
    alone = measure.measure(
        {"slow": clock.way("slow", [10.0, 1.0])}, 2, clock=clock, enough_s=10, same=lambda a, b: a == b
    )
    assert f"{alone['slow'].over(alone['slow']):.0f}" == "1"
    assert alone["slow"].seconds == [10.0]


def test_other_answers_are_an_error_except_of_units():
    clock = Clock()
    ways = {"unit": clock.way("unit", [1.0], 7), "a": clock.way("a", [1.0], 1), "b": clock.way("b", [1.0], 2)}
    with pytest.raises(RuntimeError, match="answers differ: a 1, b 2"):
        measure.measure(ways, 1, clock=clock, same=lambda a, b: a == b, units=["unit"])
    found = measure.measure(ways, 1, clock=clock, same=lambda a, b: abs(a - b) <= 1, units=["unit"])
    assert found["unit"].answers == [7]
    tens = measure.measure(ways, 1, clock=clock, keep=lambda answer: answer // 10, same=lambda a, b: a == b)
    assert tens["b"].answers == [0]


def test_an_answer_may_state_its_own_seconds():
    clock = Clock()
    found = measure.measure({"a": clock.way("a", [9.0], 0.25)}, 1, clock=clock, stated_s=float)
    assert found["a"].seconds == [0.25]


def test_the_peak_is_that_of_the_call():
    held = bytearray(5_000_000)
    assert 3_000_000 <= measure.peak_bytes(lambda: bytearray(3_000_000)) < 3_100_000
    assert len(held) == 5_000_000


def filled(page):
    page.add("Words.")
    page.table("a | b", ["1 | 2"])
    page.measure("case", {"way": lambda turn: turn}, 2, stated_s=lambda turn: turn + 0.5)
    assert page.picture("_x") is None or page.picture("_x").name == "p_x.png"


def test_a_page_and_its_raw_numbers_lie_side_by_side(tmp_path, monkeypatch, capsys):
    """Question, text, protocol, command and machine; ``--quick`` alone writes nothing."""
    monkeypatch.setattr(sys, "argv", ["benchmarks/some.py", "--quick"])
    monkeypatch.setattr(measure, "RESULTS", tmp_path)
    measure.present("Title", "What it asks.\n\nHow ``it`` is asked.\n", filled)
    assert not list(tmp_path.iterdir())
    monkeypatch.setattr(sys, "argv", ["benchmarks/some.py", "--page", str(tmp_path / "p.md")])
    measure.present("Title", "What it asks.\n\nHow ``it`` is asked.\n", filled)
    text = (tmp_path / "p.md").read_text(encoding="utf-8")
    begin = "# Title\n\n*What it asks.*\n\nWords.\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n\n## Protocol\n\nHow `it` is asked.\n\n"
    assert text.startswith(f"{begin}`python benchmarks/some.py`, ")
    assert capsys.readouterr().out.endswith(text)
    raw = json.loads((tmp_path / "p.json").read_text(encoding="utf-8"))
    assert (raw["command"], raw["measured"]) == ("python benchmarks/some.py", {"case": {"way": [0.5, 1.5]}})
    monkeypatch.setattr(sys, "argv", ["benchmarks/some.py"])
    measure.present("Title", "What it asks.\n\nHow.\n", lambda page: page.add("Words."))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["p.json", "p.md", "some.json", "some.md"]


def test_a_table_has_equal_rows():
    with pytest.raises(ValueError, match="unequal rows"):
        measure.Page(Namespace(quick=True), None).table("a | b", ["1 | 2 | 3"])


def test_slopes_are_of_the_last_points_that_are_whole():
    points = [growth.Point(1, 1.0), growth.Point(2, 8.0), growth.Point(4, 32.0), growth.Point(8, 1.0, whole=False)]
    assert growth.shown(growth.slope(points, 2)) == "2.00"
    assert growth.shown(growth.slope(points[:1], 2)) == "-"
    linear = [growth.Point(size, 3.0 * size) for size in (1, 2, 4)]
    assert growth.shown(growth.slope(linear, 3)) == "1.00 (1.00 .. 1.00)"


def run(status, objective, bound):
    """A result, limits set where one stopped it."""
    return Result(
        family="f",
        instance=InstanceId("i", ""),
        method="m",
        status=status,
        objective=objective,
        solution=None if objective is None else Empty(),
        bound=bound,
        bound_source=None if bound is None else "s",
        limits=Limits(time_s=1.0),
    )


class Empty:
    """A solution of nothing."""

    def as_data(self):
        return {}


def test_words_for_a_solver_beside_the_exact_method():
    """Proven: seconds and their ratio; stopped: its own gap, and its answer's to the exact bound; refused."""
    exact = measure.Timing([0.5], [run("optimal", 8.0, 8.0)])
    proven = measure.Timing([10.0], [run("optimal", 8.0, 8.0)])
    stopped = measure.Timing([0.25], [run("time_limit", 10.0, 5.0)])
    nothing = measure.Timing([5.0], [run("time_limit", None, None)])
    assert against.beside(proven, exact) == "10.00 s, x 20"
    assert against.beside(stopped, exact) == "the limit, > x 0.5: 50 %, 20 %"
    assert against.beside(nothing, exact) == "the limit, > x 10: no bound, nothing"
    assert against.beside(measure.Timing([0.1], [None]), exact) == "refused"
    answer = "1 of 2 proven optimal, in 0.50 s in the median and 0.50 s at most; gap of the others 50 % in the mean, 50 % at most"
    assert against.summary([exact, stopped]) == answer
    assert against.summary([nothing]) == "0 of 1 proven optimal; gap of the others inf % in the mean, inf % at most"


def test_only_proven_optima_have_to_agree():
    first, second, stopped = run("optimal", 8.0, 8.0), run("optimal", 8.1, 8.1), run("time_limit", 10.0, 5.0)
    assert not against.agree(first, second)
    assert against.agree(first, first)
    assert against.agree(first, stopped)
    assert against.agree(first, None)


def philly(path: Path) -> None:
    """Write 40 jobs in the format of the Philly trace, one a minute."""
    rows = [f"2017-10-09 07:{minute:02}:00,{60.0 + 7 * minute},{2 ** (minute % 4)},0,c" for minute in range(40)]
    path.write_text("\n".join(["timestamp,duration,num_gpus,gpu_time,cluster", *rows]) + "\n", encoding="utf-8")


@pytest.mark.parametrize("name", [*QUICK, *(pytest.param(name, marks=pytest.mark.long) for name in SLOW)])
def test_scripts_run_at_small_sizes(name, tmp_path):
    """Every script ends well, prints a table, writes page and raw numbers where told, and nothing among the results."""
    if name == "srpt" and importlib.util.find_spec("numba") is None:
        pytest.skip("needs Numba")
    before = {path: path.stat().st_mtime_ns for path in (BENCHMARKS / "results").iterdir()}
    command = [sys.executable, str(BENCHMARKS / f"{name}.py"), "--quick", "--page", str(tmp_path / "page.md")]
    if name in ("streams", "stream_bounds"):
        philly(tmp_path / "trace.csv")
        command += ["--trace", str(tmp_path / "trace.csv")]
    if name == "proofs":
        command += ["--viprchk", "/bin/true"]
    ended = subprocess.run(command, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    assert "\n| --- |" in ended.stdout
    assert ended.stdout == (tmp_path / "page.md").read_text(encoding="utf-8")
    measured = json.loads((tmp_path / "page.json").read_text(encoding="utf-8"))["measured"]
    cases = [case for case in measured.values() if isinstance(case, dict)]
    if name == "worst":  # what was found, and no seconds
        assert cases and all({"ratio", "evaluations", "instance"} <= set(case) for case in cases)
    else:
        timed = [seconds for case in cases for seconds in case.values()]
        assert timed and all(0 < each < math.inf for seconds in timed for each in seconds)
    assert {path: path.stat().st_mtime_ns for path in (BENCHMARKS / "results").iterdir()} == before
