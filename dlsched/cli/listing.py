"""``dlsched methods`` and ``doctor``: the methods of the families, and the installed solvers with one small solve each."""

import sys
import warnings
from dataclasses import asdict
from typing import Annotated, Any

import typer

from dlsched.catalogue.solvers import SOLVERS, Solver
from dlsched.cli import completion
from dlsched.cli.options import AsJson
from dlsched.cli.output import print_json, print_table, progress_line
from dlsched.core.limits import Limits
from dlsched.core.status import TerminationStatus
from dlsched.listing import methods
from dlsched.solvers.outcome import Outcome


def run_methods(
    family: Annotated[
        str | None,
        typer.Argument(metavar="[FAMILY]", help="One family; all by default.", autocompletion=completion.families),
    ] = None,
    as_json: AsJson = False,
) -> int:
    """List exact methods, heuristics and bounds."""
    with warnings.catch_warnings(record=True, action="always") as refused:
        listed = methods(family)
    for each in refused:
        print(f"dlsched: {each.message}", file=sys.stderr)
    if as_json:
        print_json([asdict(entry) for entry in listed])
    else:
        print_table(listed.table.columns, listed.table.rows)
    return 0


_LIMITS = Limits(time_s=20.0)


def run_doctor(as_json: AsJson = False) -> int:
    """Show the solvers, their versions, and whether each solves a small model; exit 1 when one that is here fails."""
    with progress_line("smoke solves"):
        rows = [_examine(solver) for solver in SOLVERS.values()]
    if as_json:
        print_json(rows)
    else:
        table = [
            (row["solver"], "yes" if row["available"] else "no", row["version"] or "-", row["smoke"]) for row in rows
        ]
        print_table(("solver", "here", "version", "smoke solve"), table)
    return 1 if any(row["available"] and not row["works"] for row in rows) else 0


def _examine(solver: Solver) -> dict[str, Any]:
    row = {"solver": solver.name, "available": solver.available, "version": None, "works": False, "smoke": solver.needs}
    if not solver.available:
        return row
    try:
        works, smoke = _smoke(solver)
        return row | {"version": solver.version(), "works": works, "smoke": smoke}
    except Exception as error:
        return row | {"smoke": f"failed: {error}"}


def _smoke(solver: Solver) -> tuple[bool, str]:
    """Solve a small model of every kind that can be written here; say what to install for the others."""
    right, sentences = True, []
    for kind in solver.kinds:
        missing = solver.missing(kind)
        if missing is not None:
            sentences.append(f"{kind}: pip install {missing}")
            continue
        outcome, optimum = _pack(solver.name) if kind == "milp" else _divide()
        solved = (
            outcome.status is TerminationStatus.OPTIMAL
            and outcome.objective is not None
            and round(outcome.objective, 6) == optimum
        )
        right = right and solved
        what = "linear" if kind == "milp" else "non-linear"
        sentences.append(f"{what}: {f'{optimum}, proven' if solved else f'{outcome.status} {outcome.objective}'}")
    return right, "; ".join(sentences)


def _pack(solver: str) -> tuple[Outcome, int]:
    """Pack weights 5, 4, 3 of values 10, 7, 4 into 8: the best is 14 (5 and 3), by hand."""
    import pulp

    from dlsched.solvers.milp import solve_milp

    items = {5: 10, 4: 7, 3: 4}
    problem = pulp.LpProblem("smoke", pulp.LpMaximize)
    take = {weight: pulp.LpVariable(f"take_{weight}", cat="Binary") for weight in items}
    problem += pulp.lpSum(value * take[weight] for weight, value in items.items())
    problem += pulp.lpSum(weight * take[weight] for weight in items) <= 8, "capacity"
    return solve_milp(problem, solver=solver, limits=_LIMITS), 14


def _divide() -> tuple[Outcome, int]:
    """Minimise 12 / w + w over integers 1 .. 10: 7 at w = 3 or 4, by hand."""
    import pyomo.environ as pyo

    from dlsched.solvers.minlp import solve_minlp

    model = pyo.ConcreteModel()
    model.w = pyo.Var(domain=pyo.Integers, bounds=(1, 10))
    model.time = pyo.Objective(expr=12 / model.w + model.w)
    return solve_minlp(model, limits=_LIMITS), 7
