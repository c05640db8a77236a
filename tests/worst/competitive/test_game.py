"""Values of games against hand calculations, policies in the simulator, other optima, and discretised strategies."""

import json
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import dlsched
from dlsched.core.errors import InputError, UsageError
from dlsched.core.limits import Limits
from dlsched.elastic_stream import checker
from dlsched.elastic_stream.simulation.simulator import simulate
from dlsched.worst.competitive.game import Game, solve_game
from dlsched.worst.competitive.game_verification import verify
from dlsched.worst.competitive.grid import Grid
from dlsched.worst.competitive.proven import POLICIES, speeds_of
from dlsched.worst.competitive.strategy import Strategy
from tests.worst.conftest import changed

TWO, FOUR = "1,9/5", "1,9/5,5/2,31/10"
GRIDS: list[tuple[str, int, str, str]] = [
    (TWO, 2, "1,2", "0,1"),
    (TWO, 2, "1/3,2", "0,1/3,1"),
    (TWO, 3, "1,3", "0,1"),
    (TWO, 3, "1,2", "0"),
    (FOUR, 2, "1,2,3", "0,1"),
    (FOUR, 3, "1,2", "0,1/2"),
    ("1,1", 2, "1,2", "0,1"),
    ("1,7/4,9/4", 2, "1,4", "0,1,2"),
    ("1,2", 3, "1,2", "0,1"),
    ("1,3/2;1,1", 2, "1,2", "0,1"),
]
BLIND = (
    "equal",
    "fifo-fixed",
    "fifo-fastest",
    "fifo-knee",
    "fifo-equal",
    "las-fixed",
    "las-fastest",
    "las-knee",
    "las-equal",
)
"""Policies that ask for no work."""


@cache
def game(speeds: str, jobs: int, works: str, releases: str, clairvoyant: bool = True) -> Game:
    """The game of a grid in text."""
    return solve_game(speeds_of(speeds), jobs, works.split(","), releases.split(","), clairvoyant=clairvoyant)


def ratio(found: Game, policy: Any) -> float:
    """The largest ratio of a policy in the simulator."""
    largest = 0.0
    for history, best in found.optima.items():
        stream = found.grid.instance(history)
        ran = simulate(stream, policy())
        assert not checker.check(stream, ran)
        largest = max(largest, sum(checker.flow_times(stream, ran)) / float(best))
    return largest


@pytest.mark.parametrize("clairvoyant", [True, False])
def test_one_job_has_all_units(clairvoyant: bool) -> None:
    """Nothing can be done wrong but by waiting."""
    assert game(FOUR, 1, "1,2,5", "0,1,2", clairvoyant).value == 1


def test_srpt_is_optimal_on_linear_speeds() -> None:
    """Schrage 1968: known works, one machine."""
    assert game("1,2", 3, "1,2,3", "0,1").value == 1


def test_two_unknown_jobs_by_hand() -> None:
    """One machine, works 1 or 2: whoever first has 1 behind it is long, the other short: 2 + 3 or more, instead of 1 + 3."""
    assert game("1", 2, "1,2", "0", False).value == Fraction(5, 4)


def test_two_known_jobs_by_hand() -> None:
    """Speeds 1 and 1: both jobs at once, nothing is lost whatever comes; so too if all are there from the beginning."""
    assert game("1,1", 2, "1,2", "0,1").value == 1
    assert game(FOUR, 3, "1,2", "0").value == 1


@pytest.mark.parametrize("grid", GRIDS, ids=range(len(GRIDS)))
def test_no_policy_is_better_and_the_strategy_is_as_good(grid: tuple[str, int, str, str]) -> None:
    """All 31 policies on all histories of the grid; the strategies attain the values."""
    known, unknown = game(*grid), game(*grid, False)
    assert known.value is not None and unknown.value is not None
    assert 1 <= known.value <= unknown.value
    for found in (known, unknown):
        assert ratio(found, found.policy) == pytest.approx(float(found.at_most), rel=1e-9)
    for name, policy in POLICIES.items():
        value = unknown.value if name in BLIND else known.value
        assert ratio(known if name not in BLIND else unknown, policy) >= float(value) * (1 - 1e-9), name


@pytest.mark.parametrize("grid", [GRIDS[k] for k in (1, 4, 9)], ids=[1, 4, 9])
def test_optima_are_those_of_the_exact_method(grid: tuple[str, int, str, str]) -> None:
    """The search over orders of completion proves the same optima in floats."""
    found = game(*grid)
    for history, best in found.optima.items():
        if history[0][0]:
            continue  # as one that begins sooner
        result = dlsched.solve(found.grid.instance(history))
        assert str(result.status) == "optimal"
        assert result.objective == pytest.approx(float(best) / len(history), rel=1e-8)


class Discrete:
    """The least ratio of strategies that change at events and multiples of a step only, by minimax over all of them."""

    def __init__(self, found: Game, step: float) -> None:
        self.grid, self.step = found.grid, step
        self.releases, self.works = list(map(float, self.grid.releases)), list(map(float, self.grid.works))
        self.optima = {}
        for history in found.optima:
            solved = dlsched.solve(self.grid.instance(history)).objective
            assert solved is not None
            self.optima[tuple(sorted(history))] = solved * len(history)

    def value(self) -> float:
        """The largest over the first moments."""
        return self.arrivals((), 0.0, 0, 0.0)

    def arrivals(self, jobs: tuple[Any, ...], flow: float, moment: int, best: float) -> float:
        """Let the adversary choose who comes; a job is its moment, table, works that it may have, attained, end."""
        works = range(len(self.works))
        sorts: list[Any] = [(w,) for w in works] if self.grid.clairvoyant else [tuple(works)]
        new = [(moment, table, w, 0.0, False) for table, w in product(range(len(self.grid.speeds)), sorts)]
        for many in range(self.grid.jobs - len(jobs) + 1):
            for come in product(range(len(new)), repeat=many):
                if list(come) == sorted(come):
                    best = max(best, self.now((*jobs, *(new[k] for k in come)), flow, moment, self.releases[moment]))
        return best

    def now(self, jobs: tuple[Any, ...], flow: float, moment: int, time: float) -> float:
        """Let the policy choose until the next event or step."""
        last = moment + 1 == len(self.releases)
        end = float("inf") if last else self.releases[moment + 1]
        if time > end - 1e-9:
            return self.arrivals(jobs, flow, moment + 1, 0.0)
        here = [j for j, job in enumerate(jobs) if not job[4]]
        if not here:
            if not last:
                return self.arrivals(jobs, flow, moment + 1, 0.0)
            return flow / self.optima[tuple(sorted((k, t, w[0]) for k, t, w, *_ in jobs))] if jobs else 0.0
        least = float("inf")
        for units in product(range(self.grid.units + 1), repeat=len(here)):
            if sum(units) == self.grid.units:
                rates = {j: float(self.grid.speed(jobs[j][1], m)) for j, m in zip(here, units, strict=True)}
                goals = {j: self.works[jobs[j][2][0]] - jobs[j][3] for j in here}
                until = min([end - time, self.step, *(goals[j] / rate for j, rate in rates.items() if rate)])
                moved = list(jobs)
                for j, rate in rates.items():
                    moved[j] = (*jobs[j][:3], jobs[j][3] + until * rate, False)
                reached = [j for j in here if goals[j] <= until * rates[j] + 1e-9]
                worst = max(
                    self.now(after, flow + until * len(here), moment, time + until)
                    for after in _outcomes(moved, reached)
                )
                least = min(least, worst)
        return least


def _outcomes(jobs: list[Any], reached: list[int]) -> Iterator[tuple[Any, ...]]:
    """Jobs whose next possible work is reached end, or, if they may have more, do not."""
    choices = [[True, False] if len(jobs[j][2]) > 1 else [True] for j in reached]
    for ends in product(*choices):
        after = list(jobs)
        for j, end in zip(reached, ends, strict=True):
            k, t, works, attained, _ = jobs[j]
            after[j] = (k, t, works[:1], attained, True) if end else (k, t, works[1:], attained, False)
        yield tuple(after)


@pytest.mark.parametrize(
    ("grid", "clairvoyant", "step", "near"),
    [
        (
            (
                "1",
                2,
                "1,2",
                "0",
            ),
            False,
            0.5,
            1e-9,
        ),
        (("1", 2, "1,2", "0,1"), False, 0.5, 0.05),
        ((TWO, 2, "1,2", "0"), False, 0.25, 0.05),
        ((TWO, 2, "1,2", "0,1/2"), True, 0.5, 0.05),
        (("1,5/4", 2, "1,3", "0,1"), True, 0.5, 0.05),
    ],
    ids=range(5),
)
def test_discretised_strategies_are_hardly_worse(
    grid: tuple[str, int, str, str], clairvoyant: bool, step: float, near: float
) -> None:
    """Minimax over all strategies of few changes: never below the value, and near it."""
    found = game(*grid, clairvoyant)
    discrete = Discrete(found, step).value()
    assert float(found.at_most) - 1e-9 <= discrete <= float(found.at_most) + near


def test_three_jobs_of_four_units() -> None:
    """The page's figures; the search's own, so that a change is seen."""
    assert game(FOUR, 3, "1,2", "0,1").value == Fraction(695, 687)


@pytest.mark.parametrize("clairvoyant", [True, False])
def test_a_search_that_is_stopped_has_an_interval(clairvoyant: bool) -> None:
    """Without nodes, with one, and with all: the intervals hold the value, and are verified."""
    grid = (FOUR, 3, "1,2", "0,1") if clairvoyant else (TWO, 2, "1,2", "0,1")
    value = game(*grid, clairvoyant).value
    assert value is not None
    speeds, jobs, works, releases = grid
    for nodes in (0, 1, 3):
        found = solve_game(
            speeds_of(speeds),
            jobs,
            works.split(","),
            releases.split(","),
            clairvoyant=clairvoyant,
            limits=Limits(nodes=nodes),
        )
        assert found.at_least <= value <= found.at_most
        verified = verify(json.loads(json.dumps(found.as_data())))
        assert (verified.at_least, verified.at_most) == (found.at_least, found.at_most)


def certificate(clairvoyant: bool) -> dict[str, Any]:
    """A certificate of two unknown jobs, or of three known ones."""
    found = game(FOUR, 3, "1,2", "0,1") if clairvoyant else game(TWO, 2, "1,2", "0,1", False)
    data: dict[str, Any] = json.loads(json.dumps(found.as_data()))
    return data


@pytest.mark.parametrize("clairvoyant", [True, False])
def test_certificates_are_verified_and_false_ones_refused(clairvoyant: bool) -> None:
    """A lower end above, an upper end below, other multipliers, other pieces, other sides of a branch."""
    data = certificate(clairvoyant)
    assert verify(data).at_least == verify(data).at_most == Fraction(data["at_least"])
    for name, factor in (("at_least", Fraction(101, 100)), ("at_most", Fraction(99, 100))):
        with pytest.raises(ValueError, match=r"exceeds|prove less"):
            verify(data | {name: str(Fraction(data[name]) * factor)})
    with pytest.raises(ValueError, match="exceeds"):
        verify(data | {"plan": []})
    path: list[Any] = ["tree"]
    node = data["tree"]
    while "parts" in node:
        path += ["parts", 0, "then"]
        node = node["parts"][0]["then"]
    for k, row in enumerate(node["rows"]):
        # each multiplier is needed, or it makes a cell too dear
        more = changed(data, (*path, "rows", k, "multiplier"), str(Fraction(row["multiplier"]) * 2))
        with pytest.raises(ValueError, match="prove less"):
            verify(more)
    side = data["tree"]["parts"][0]["without"]
    with pytest.raises(ValueError, match="conflict"):
        verify(changed(data, ("tree", "parts", 1, "without"), side))


@pytest.mark.parametrize(
    "row",
    [
        {"kind": "window", "of": [0], "multiplier": "9"},
        {"kind": "window", "of": [-1], "multiplier": "-9"},
        {"kind": "window", "of": [1], "multiplier": "9"},
        {"kind": "work", "of": [0, -1], "multiplier": "9"},
        {"kind": "pair", "of": [0, -1, 0, -1], "multiplier": "9"},
        {"kind": "gift", "of": [], "multiplier": "9"},
    ],
    ids=range(6),
)
def test_rows_that_no_second_meets_prove_nothing(row: dict[str, Any]) -> None:
    """Of a job that arrives at the second moment: windows before it or without an end, stages that it does not have."""
    rows = [row | {"history": [[1, 0, 0]]}]
    with pytest.raises(ValueError, match="none of the game's"):
        verify(certificate(False) | {"at_least": "3/2", "at_most": "2", "tree": {"rows": rows}})


def test_values_of_the_page() -> None:
    """The rows of two jobs, and the first of three."""
    page = (Path(__file__).parents[3] / "docs" / "competitive.md").read_text(encoding="utf-8")
    rows = [line.strip("| ").split(" | ") for line in page.splitlines() if line.count(" | ") == 7 and " = " in line]
    assert len(rows) == 10
    for speeds, works, moments, jobs, known, _, unknown, _ in rows:
        if jobs == "2" or (speeds, works) == (TWO, "1,3"):
            for text, clairvoyant in ((known, True), (unknown, False)):
                assert game(speeds, int(jobs), works, moments, clairvoyant).value == Fraction(text.split(" = ")[0])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"jobs": 4}, "jobs"),
        ({"works": ["0"]}, "works"),
        ({"releases": ["-1"]}, "releases"),
        ({"speeds": [["2", "1"]]}, "do not fall"),
        ({"works": list(range(1, 9)), "releases": list(range(9))}, "histories"),
    ],
)
def test_what_is_refused(arguments: dict[str, Any], said: str) -> None:
    """Grids that are none, or too large."""
    with pytest.raises(UsageError, match=said):
        solve_game(**{"speeds": [["1", "2"]], "jobs": 3, "works": ["1"], "releases": ["0"], **arguments})


def test_a_stream_off_the_grid_is_refused() -> None:
    """The strategy says which job it does not know."""
    found = game(TWO, 2, "1,2", "0,1")
    other = Grid(found.grid.speeds, 2, (Fraction(7),), (Fraction(0),), True)
    with pytest.raises(UsageError, match="not of the grid"):
        simulate(other.instance(((0, 0, 0),)), Strategy(found.grid, found.plan))


def test_a_grid_of_too_many_histories_is_refused_before_any_is_played() -> None:
    """A file may name any number of works and moments."""
    data = game(TWO, 2, "1,2", "0,1").as_data()
    many = {name: [str(each) for each in range(1, 1000)] for name in ("works", "releases")}
    with pytest.raises(InputError, match="more histories, allowed: at most 2000"):
        verify(data | many)
