"""Clauses of ``solver_contract`` on conduct: starts, progress reports, limits, clean-up."""

import contextlib
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

import numpy as np
import psutil

from dlsched.catalogue.solvers import Solver
from dlsched.core.limits import Limits
from dlsched.core.status import Sense, TerminationStatus
from dlsched.solvers import child
from dlsched.solvers.linear import LinearModel
from dlsched.solvers.milp import run, solve_milp
from dlsched.solvers.outcome import Bounded, Incumbent, Outcome
from solver_contract.models import (
    covering,
    optimum_by_enumeration,
    optimum_by_sums,
    packing,
    several_rows,
    violation,
)

_OFF = 1e-6
"""Absolute gap that a solver may leave despite a gap limit of 0, on objectives up to 1e5."""
_GONE_S = 10.0
"""Seconds within which a killed process is gone."""


def start(solver: Solver) -> None:
    """Every second item of those that fit, and one node: what is held then is at least that."""
    model = packing(40, seed=3)
    columns, weights = model.row(0)
    left, held = float(model.row_upper[0]), dict.fromkeys(model.names, 0.0)
    for column, weight in zip(columns[::2], weights[::2], strict=True):
        if weight <= left:
            left -= weight
            held[model.names[column]] = 1.0
    worth = model.objective(np.array(list(held.values())))
    outcome = solve_milp(model, solver=solver.name, start=held, limits=Limits(nodes=1), isolated=False)
    assert outcome.objective is not None, f"it ended with {outcome.status} and holds nothing, though it had a start"
    assert outcome.objective >= worth - _OFF, f"it holds {outcome.objective}, its start was worth {worth}"
    some = solve_milp(packing(16), solver=solver.name, start={model.names[0]: 1.0}, isolated=False)
    best = optimum_by_sums(packing(16))
    assert some.objective is not None and abs(some.objective - best) <= _OFF, f"a start made {some.objective} of {best}"


def incumbents(solver: Solver) -> None:
    """In this process and in one of its own; the best one told is the answer."""
    model = packing(16)
    best = optimum_by_sums(model)
    for isolated in (True, False):
        heard: list[Incumbent] = []
        outcome = solve_milp(model, solver=solver.name, found=heard.append, isolated=isolated)
        assert outcome.status is TerminationStatus.OPTIMAL, f"it ended with {outcome.status}"
        assert heard, "it tells of none"
        for told in heard:
            assert set(told) == set(model.names), "it does not name all variables"
            point = np.array([round(told[name]) for name in model.names], dtype=np.float64)
            assert violation(model, point) == 0, f"it tells of {dict(told)}, which breaks a row"
            assert model.objective(point) <= best, f"it tells of {model.objective(point)}, the optimum is {best}"


def bounds(solver: Solver) -> None:
    """From that of the linear relaxation on, by the solver itself or by HiGHS for it."""
    for sense in Sense:
        model = several_rows(sense)
        best, heard = optimum_by_enumeration(model), list[Bounded]()
        outcome = solve_milp(model, solver=solver.name, bounded=heard.append, isolated=False)
        assert outcome.bound is not None and heard, f"it ended with {outcome.status} and told {len(heard)} bounds"
        for one, other in zip(heard, [*heard[1:], replace(heard[-1], bound=outcome.bound)], strict=True):
            assert not _beyond(model, one.bound, best), f"it tells of the bound {one.bound}, the optimum is {best}"
            assert other is heard[-1] or not _beyond(model, one.bound, other.bound), f"{one.bound} before {other.bound}"
            assert one.slack == outcome.slack > 0, f"a bound of slack {one.slack}, its outcome's is {outcome.slack}"


def node_limit(solver: Solver) -> None:
    """None, one and seven nodes, of a minimum and of a maximum."""
    for build in (packing, covering):
        model = build(constant=-777.25)
        best = optimum_by_sums(model)
        for nodes in (0, 1, 7):
            outcome = solve_milp(model, solver=solver.name, limits=Limits(nodes=nodes), isolated=False)
            _true(outcome, model, best, TerminationStatus.NODE_LIMIT, TerminationStatus.OPTIMAL)


def time_limit(solver: Solver) -> None:
    """In this process and in one of its own."""
    model = packing(30)
    best = optimum_by_sums(model)
    for isolated in (True, False):
        outcome = solve_milp(model, solver=solver.name, limits=Limits(time_s=0.0), isolated=isolated)
        _true(outcome, model, best, TerminationStatus.TIME_LIMIT)


def kept(solver: Solver) -> None:
    """Killed at once after the last bound it told, as for want of time: the outcome has that bound, and its slack."""
    model, heard, solve = several_rows(Sense.MAXIMIZE), list[Bounded](), cast("Callable[..., Outcome]", run)
    best = optimum_by_enumeration(model)

    def killed(
        function: str, *arguments: Any, time_s: float | None, heard: Callable[[object], None], waiting: object
    ) -> None:
        del function, time_s, waiting
        solve(*arguments, heard)
        raise child.OutOfTime

    with _instead(child, "call", killed), _instead(child, "prepared", lambda name, limits: limits):
        outcome = solve_milp(model, solver=solver.name, limits=Limits(time_s=60.0), bounded=heard.append)
    assert outcome.status is TerminationStatus.TIME_LIMIT and outcome.values is None
    assert heard, "it told no bound"
    assert outcome.bound == min(each.bound for each in heard), f"the outcome has {outcome.bound}, not the best one told"
    assert not _beyond(model, outcome.bound, best), f"it keeps the bound {outcome.bound}, the optimum is {best}"
    assert outcome.slack == heard[-1].slack > 0


def repeatable(solver: Solver) -> None:
    """Status, values, objective, bound and nodes, stopped early and not."""
    for limits in (Limits(nodes=5), Limits()):
        one, other = (solve_milp(covering(), solver=solver.name, limits=limits, isolated=False) for _ in range(2))
        assert one == other, f"first {one}, then {other}"


def interrupt(solver: Solver) -> None:
    """As soon as a bound is told, when the solver runs in a process of its own."""
    started = set[int]()

    def stop(told: Bounded) -> None:
        del told
        mine = {process.pid for process in psutil.Process().children(recursive=True)}
        started.update(mine & {pid for top in child.processes() - others for pid in _tree(top)})
        raise KeyboardInterrupt

    child.stop()
    others = child.processes()  # those of users' functions
    try:
        solve_milp(several_rows(Sense.MAXIMIZE), solver=solver.name, bounded=stop)
    except KeyboardInterrupt:
        pass
    else:
        raise AssertionError("it told no bound before it ended")
    assert started, "no process of its own was seen"
    ends = time.monotonic() + _GONE_S
    while left := [pid for pid in started if psutil.pid_exists(pid)]:
        assert time.monotonic() < ends, f"processes {left} are left"
        time.sleep(0.02)


def _tree(process: int) -> set[int]:
    return {process, *(each.pid for each in psutil.Process(process).children(recursive=True))}


@contextlib.contextmanager
def _instead(module: Any, name: str, other: Any) -> Any:
    """Replace a function of a module within the block."""
    ours = getattr(module, name)
    setattr(module, name, other)
    try:
        yield
    finally:
        setattr(module, name, ours)


def _true(outcome: Outcome, model: LinearModel, best: float, *allowed: TerminationStatus) -> None:
    """Assert that an answer, maybe of a solve stopped early, makes no false claims."""
    assert outcome.status in allowed, f"it ended with {outcome.status}: {outcome.message}"
    if outcome.bound is not None:
        assert not _beyond(model, outcome.bound, best), f"its bound is {outcome.bound}, the optimum {best}"
    if outcome.objective is not None:
        assert not _beyond(model, best, outcome.objective), f"it holds {outcome.objective}, the optimum is {best}"


def _beyond(model: LinearModel, bound: float, objective: float) -> bool:
    """Whether an objective is better than a bound allows."""
    return model.sign * (bound - objective) > _OFF


def _all(solver: Solver) -> bool:
    return "integer milp" in solver.models


CLAUSES: dict[str, tuple[Callable[[Solver], bool], Callable[[Solver], None]]] = {
    "start": (lambda solver: solver.takes_start, start),
    "incumbents": (lambda solver: solver.tells_incumbents, incumbents),
    "bounds": (_all, bounds),
    "node_limit": (_all, node_limit),
    "time_limit": (_all, time_limit),
    "kept": (_all, kept),
    "repeatable": (_all, repeatable),
    "interrupt": (_all, interrupt),
}
"""Clauses by name: whether the clause applies to a solver, and the function that asserts it."""
