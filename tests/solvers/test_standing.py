"""Where solvers stand while they run: what they say, how often, and that their answers stay as they are."""

from dataclasses import replace

import numpy as np
import pytest

import dlsched
from dlsched.core.limits import Limits, Progress
from dlsched.core.status import Sense
from dlsched.solvers import child
from dlsched.solvers.linear import LinearModel, from_pulp
from dlsched.solvers.milp import run, throttled
from dlsched.solvers.outcome import Outcome, Standing


def split(rows: int = 2, columns: int = 16) -> LinearModel:
    """A market split problem, whose slack is minimised: linear programs say nothing of it, so solvers branch."""
    import pulp

    generator = np.random.default_rng(1)
    weights = generator.integers(1, 100, (rows, columns))
    problem = pulp.LpProblem("split", pulp.LpMinimize)
    x = [pulp.LpVariable(f"x{column}", cat="Binary") for column in range(columns)]
    over, under = ([pulp.LpVariable(f"{name}{row}", 0, 10_000) for row in range(rows)] for name in ("over", "under"))
    problem += pulp.lpSum(over + under)
    for row in range(rows):
        half = int(weights[row].sum()) // 2
        problem += pulp.lpSum(int(w) * v for w, v in zip(weights[row], x, strict=True)) + over[row] - under[row] == half
    return from_pulp(problem)


def solved(solver: str, *, watched: bool) -> tuple[Outcome, list[Standing]]:
    """Outcome, and what was said, in this process."""
    heard: list[Standing] = []
    outcome = run(solver, split(), Limits(), None, (False, False, watched), heard.append)  # type: ignore[arg-type]
    return outcome, heard


@pytest.mark.parametrize("solver", ["highs", "scip"])
def test_solvers_say_where_they_stand(solver: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bounds below the optimum and incumbents above it, nodes that never sink; the outcome is as without a listener."""
    monkeypatch.setattr("dlsched.solvers.milp._INTERVAL_S", 0.0)
    silent, nothing = solved(solver, watched=False)
    outcome, heard = solved(solver, watched=True)
    assert not nothing and len(heard) > 2
    assert outcome == silent and outcome.objective is not None
    best = outcome.objective + 1e-6
    assert all(told.bound is None or told.bound <= best for told in heard)
    assert all(told.objective is None or told.objective >= outcome.objective - 1e-6 for told in heard)
    assert any(told.bound is not None for told in heard) and any(told.objective is not None for told in heard)
    counts = [told.nodes for told in heard]
    assert counts == sorted(counts) and counts[-1] > 1


def test_of_a_maximum_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """HiGHS minimises; what it says has the sign and the constant of the model."""
    monkeypatch.setattr("dlsched.solvers.milp._INTERVAL_S", 0.0)
    least = split()
    most = replace(least, sense=Sense.MAXIMIZE, costs=-least.costs, constant=100.0)
    heard: list[Standing] = []
    outcome = run("highs", most, Limits(), None, (False, False, True), heard.append)  # type: ignore[arg-type]
    assert outcome.objective is not None
    said = [told.bound for told in heard if told.bound is not None]
    assert said and all(outcome.objective - 1e-6 <= bound <= 100.0 + 1e-6 for bound in said)


def test_twice_a_second_at_most() -> None:
    """By the clock that is given."""
    now, heard = [0.0], []
    told = throttled(lambda standing: heard.append(standing.nodes), clock=lambda: now[0])
    for nodes, moment in enumerate((0.0, 0.2, 0.4, 0.6, 0.7, 1.2)):
        now[0] = moment
        told(Standing(None, None, nodes))
    assert heard == [0, 3, 5]


def test_a_silent_child_is_waited_for_aloud(monkeypatch: pytest.MonkeyPatch) -> None:
    """The caller is called while the child says nothing; the time limit still ends it."""
    monkeypatch.setattr(child, "SILENCE_S", 0.01)
    calls: list[int] = []
    child.call("time:sleep", 0.2, time_s=None, waiting=lambda: calls.append(1))
    assert len(calls) > 1
    with pytest.raises(child.OutOfTime):
        child.call("time:sleep", 60.0, time_s=0.0, waiting=lambda: calls.append(1))


def test_progress_has_what_the_solver_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Objective and bound never get worse from one event to the next, and end with those of the result."""
    monkeypatch.setattr(child, "SILENCE_S", 0.01)
    heard: list[Progress] = []
    result = dlsched.solve(dlsched.srpt_mapping.example(), method="milp", progress=heard.append)
    assert result.status is dlsched.TerminationStatus.OPTIMAL
    bounds = [told.bound for told in heard if told.bound is not None]
    assert bounds == sorted(bounds) and (heard[-1].objective, heard[-1].bound) == (result.objective, result.bound)
