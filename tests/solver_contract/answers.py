"""Clauses of ``solver_contract`` on a solver's answers to models that were solved by hand."""

import math
from collections.abc import Callable

import numpy as np

from dlsched.catalogue.solvers import Solver
from dlsched.core.errors import UsageError
from dlsched.core.status import Sense, TerminationStatus
from dlsched.solvers.linear import LinearModel
from dlsched.solvers.milp import solve_milp
from dlsched.solvers.outcome import Outcome
from solver_contract.models import covering, linear_model, optimum_by_enumeration, packing, violation

_NEAR = 1e-9  # relative
_INSIDE = 1e-6  # of a row or a bound
_INFINITE = math.inf


def version(solver: Solver) -> None:
    """The version is the solver's name, then a number, so that results name it and checks recognise it."""
    said = solver.version()
    assert said.startswith(solver.full_name), f"it calls itself {said!r}"
    assert any(letter.isdigit() for letter in said), f"no number in {said!r}"


def optimum(solver: Solver) -> None:
    """In this process and in one of its own."""
    for build in (packing, covering):
        model = build(12, constant=1234.5)
        for isolated in (True, False):
            _proves(solver, model, optimum_by_enumeration(model), isolated=isolated)


def equality(solver: Solver) -> None:
    """5 x + 7 y = 61 in whole numbers: x, y = 8, 3 or 1, 8; so 3 x + 2 y is 30 or 19."""
    for sense, best in ((Sense.MINIMIZE, 19.0), (Sense.MAXIMIZE, 30.0)):
        _proves(solver, linear_model(sense, [3, 2], [(61, [5, 7], 61)], upper=20), best)


def negative(solver: Solver) -> None:
    """Minimise 2 x + 3 y over -5 .. -2 and -7 .. 4 with -9 <= x + y <= 0: -2 and -7 give -25."""
    model = linear_model(Sense.MINIMIZE, [2, 3], [(-9, [1, 1], 0)], lower=[-5, -7], upper=[-2, 4])
    _proves(solver, model, -25.0)


def continuous(solver: Solver) -> None:
    """Max x + 2 y with x + y <= 1.5 in 0 .. 1 is 2.5; free x and y with rows alone; from -4.25 on, minimised."""
    plane = linear_model(Sense.MAXIMIZE, [1, 2], [(-_INFINITE, [1, 1], 1.5)], integer=False)
    assert math.isclose(_proves(solver, plane, 2.5)["x0"], 0.5, abs_tol=_INSIDE)
    free = linear_model(
        Sense.MINIMIZE,
        [1, -1],
        [(-2.5, [1, 0], _INFINITE), (-_INFINITE, [1, 1], 3)],
        lower=-_INFINITE,
        upper=_INFINITE,
        integer=False,
    )
    _proves(solver, free, -8.0)  # x = -2.5, y = 5.5
    low = linear_model(Sense.MINIMIZE, [2, 1], [(-7, [1, 1], _INFINITE)], lower=-4.25, upper=9, integer=False)
    _proves(solver, low, -11.25)  # x = -4.25, y = -2.75


def mixed(solver: Solver) -> None:
    """Max 3 x + 2 y, 2 x + 2 y <= 5.5, x whole, y <= 1.25: x = 2, y = .75 give 7.5."""
    model = linear_model(Sense.MAXIMIZE, [3, 2], [(-_INFINITE, [2, 2], 5.5)], upper=[9, 1.25], integer=[True, False])
    assert _proves(solver, model, 7.5)["x0"] == 2


def infeasible(solver: Solver) -> None:
    """An odd number halved, beyond the bounds, too large a sum, an even sum that is odd."""
    for model in (
        linear_model(Sense.MINIMIZE, [1], [(3, [2], 3)], upper=10),
        linear_model(Sense.MINIMIZE, [1], [(30, [2], _INFINITE)], upper=10),
        linear_model(Sense.MINIMIZE, [1, 1], [(3, [1, 1], _INFINITE)]),
        linear_model(Sense.MAXIMIZE, [1, 1], [(5, [2, 4], 5)], upper=99),
    ):
        outcome = solve_milp(model, solver=solver.name, isolated=False)
        assert outcome.status is TerminationStatus.INFEASIBLE, _ended(outcome)
        held = outcome.values, outcome.objective, outcome.bound
        assert held == (None, None, None), f"infeasible, but it holds {held}"


def unbounded(solver: Solver) -> None:
    """Minimise x <= 3 without a lower end."""
    model = linear_model(Sense.MINIMIZE, [1], [(-_INFINITE, [1], 3)], lower=-_INFINITE, upper=_INFINITE)
    try:
        outcome = solve_milp(model, solver=solver.name, isolated=False)
    except UsageError as refused:
        assert "bounded" in str(refused), f"it refuses: {refused}"
        return
    if outcome.status is not TerminationStatus.UNBOUNDED:
        assert outcome.status is TerminationStatus.SOLVER_ERROR, _ended(outcome)
        assert "unbounded" in outcome.message.lower(), f"it says only {outcome.message!r}"
    assert outcome.bound is None, f"it claims the bound {outcome.bound}"


def nothing(solver: Solver) -> None:
    """No variables, with rows that hold and that do not; only bounds; only a constant."""
    for sense in Sense:
        outcome = solve_milp(linear_model(sense, [], [], constant=2.5), solver=solver.name)
        told = outcome.status, outcome.values, outcome.objective, outcome.bound
        assert told == (TerminationStatus.OPTIMAL, {}, 2.5, 2.5), f"of no variables: {told}"
    outcome = solve_milp(linear_model(Sense.MINIMIZE, [], [(1, [], 2)]), solver=solver.name)
    assert outcome.status is TerminationStatus.INFEASIBLE, _ended(outcome)
    _proves(solver, linear_model(Sense.MINIMIZE, [3], [], lower=2, upper=5), 6.0)
    _proves(solver, linear_model(Sense.MINIMIZE, [0, 0], [(1, [1, 1], _INFINITE)], constant=7.0), 7.0)


def magnitudes(solver: Solver) -> None:
    """Choose the cheaper of 3 and 2.9999, and 7 of a constant, in any unit: none of it is lost in a tolerance."""
    for size in (1e-9, 1.0, 1e10):
        model = linear_model(
            Sense.MINIMIZE, [3 * size, 2.9999 * size], [(2.0**-12, [2.0**-12] * 2, _INFINITE)], constant=7 * size
        )
        outcome = solve_milp(model, solver=solver.name, isolated=False)
        assert outcome.status is TerminationStatus.OPTIMAL, _ended(outcome)
        assert outcome.values is not None and outcome.objective is not None and outcome.bound is not None
        chosen = [abs(outcome.values[name] - value) <= _NEAR for name, value in (("x0", 0), ("x1", 1))]
        assert all(chosen), f"at {size:g} it chooses {dict(outcome.values)}"
        assert math.isclose(outcome.objective, 9.9999 * size, rel_tol=1e-12), f"{outcome.objective} at {size:g}"
        assert math.isclose(outcome.bound, 9.9999 * size, rel_tol=1e-7), f"bound {outcome.bound} at {size:g}"


def narrow(solver: Solver) -> None:
    """At z = 1, w = 0 the objective t - w is 2^-31; solvers fix t, which has less room than their tolerance, at 0."""
    room = 2.0**-31
    model = linear_model(
        Sense.MAXIMIZE,
        [1, 0, -1],
        [(-_INFINITE, [1, -room, 0], 0), (-_INFINITE, [1, 0, 1], 1), (-_INFINITE, [0, 1, 1], 1)],
        upper=[room, 1, 3],
        integer=[False, True, False],
    )
    outcome = solve_milp(model, solver=solver.name, isolated=False)
    assert outcome.bound is not None, _ended(outcome)
    assert outcome.bound + outcome.slack >= room, f"bound {outcome.bound} and slack {outcome.slack} hide {room}"
    assert outcome.slack <= 2 * room, f"the slack {outcome.slack} is more than twice {room}"


def _proves(solver: Solver, model: LinearModel, best: float, *, isolated: bool = False) -> dict[str, float]:
    """Assert that it ends with a feasible point of the best objective, and the bound there; return its values."""
    outcome = solve_milp(model, solver=solver.name, isolated=isolated)
    assert outcome.status is TerminationStatus.OPTIMAL, _ended(outcome)
    assert outcome.values is not None and outcome.objective is not None and outcome.bound is not None, _ended(outcome)
    assert outcome.solver.startswith(solver.full_name), f"it calls itself {outcome.solver!r}"
    values = {
        name: round(value) if whole else value
        for (name, value), whole in zip(_in_order(model, outcome), model.integer.tolist(), strict=True)
    }
    point = np.array(list(values.values()), dtype=np.float64)
    off = violation(model, point)
    assert off <= _INSIDE, f"its point {values} breaks a row by {off}"
    for what, value in (("objective", outcome.objective), ("bound", outcome.bound), ("point", model.objective(point))):
        assert math.isclose(value, best, rel_tol=_NEAR, abs_tol=_NEAR), (
            f"its {what} says {value}, the optimum is {best}"
        )
    return values


def _in_order(model: LinearModel, outcome: Outcome) -> list[tuple[str, float]]:
    assert outcome.values is not None and set(outcome.values) == set(model.names), "it does not name all variables"
    return [(name, outcome.values[name]) for name in model.names]


def _ended(outcome: Outcome) -> str:
    return f"it ended with {outcome.status}, objective {outcome.objective}, bound {outcome.bound}: {outcome.message}"


def _all(solver: Solver) -> bool:
    return "integer milp" in solver.models


def _of_continuous(solver: Solver) -> bool:
    return "milp" in solver.models


CLAUSES: dict[str, tuple[Callable[[Solver], bool], Callable[[Solver], None]]] = {
    "version": (_all, version),
    "optimum": (_all, optimum),
    "equality": (_all, equality),
    "negative": (_all, negative),
    "continuous": (_of_continuous, continuous),
    "mixed": (_of_continuous, mixed),
    "infeasible": (_all, infeasible),
    "unbounded": (_all, unbounded),
    "nothing": (_all, nothing),
    "magnitudes": (_all, magnitudes),
    "narrow": (_of_continuous, narrow),
}
"""Clauses by name: whether the clause applies to a solver, and the function that asserts it."""
