"""CBC, the program that PuLP 3 carries. Its bound stands in its log, to three decimals: half a unit of them is given away."""

import re
import tempfile
from pathlib import Path

import numpy as np

from dlsched.core.limits import Limits
from dlsched.core.status import TerminationStatus
from dlsched.solvers.linear import LinearModel, to_pulp
from dlsched.solvers.outcome import Incumbent, IncumbentCallback, Outcome

_RESULT = re.compile(r"^Result - (.+)$", re.MULTILINE)
_BOUND = re.compile(r"^(?:Lower|Upper) bound:\s+(\S+)$", re.MULTILINE)
_NODES = re.compile(r"^Enumerated nodes:\s+(\d+)$", re.MULTILINE)
_VERSION = re.compile(r"^Version:\s+(\S+)", re.MULTILINE)
_WORDS = {
    "Optimal solution found": TerminationStatus.OPTIMAL,
    "Optimal solution found (within gap tolerance)": TerminationStatus.OPTIMAL,
    "Problem proven infeasible": TerminationStatus.INFEASIBLE,
    "Linear relaxation infeasible": TerminationStatus.INFEASIBLE,
    "Stopped on time limit": TerminationStatus.TIME_LIMIT,
    "Stopped on node limit": TerminationStatus.NODE_LIMIT,
    "User ctrl-cuser ctrl-c": TerminationStatus.INTERRUPTED,
}
_PRINTED = 5e-4  # half of the last decimal that CBC prints


def program() -> str | None:
    """Path of PuLP's CBC, or None where its wheel has none."""
    import pulp

    command = getattr(pulp, "PULP_CBC_CMD", None)
    if command is None:
        return None
    solver = command(msg=False)
    return str(solver.path) if solver.available() else None


def version() -> str:
    """Name and version, from the program's own banner."""
    import subprocess

    path = program()
    assert path is not None
    banner = subprocess.run(
        [path, "-quit"], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
    ).stdout
    number = _VERSION.search(banner)
    return f"CBC {number.group(1)}" if number else "CBC"


def solve(
    model: LinearModel, limits: Limits, start: Incumbent | None = None, found: IncumbentCallback | None = None
) -> Outcome:
    """Solve to a gap of 0; CBC reports no incumbents on the way."""
    del found
    import pulp

    problem, variables = to_pulp(model)
    if start is not None:
        for name, variable in zip(model.names, variables, strict=True):
            variable.setInitialValue(start.get(name, 0.0))
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "log")
        command = pulp.PULP_CBC_CMD(
            msg=False,
            gapRel=0.0,
            gapAbs=0.0,
            threads=limits.threads,
            timeLimit=limits.time_s,
            maxNodes=limits.nodes,
            logPath=str(log),
            warmStart=start is not None,
        )
        command.tmpDir = folder
        problem.solve(command)
        text = log.read_text(encoding="utf-8", errors="replace")
    status, message = _status(
        problem, text, bounded=bool(np.isfinite(model.lower).all() and np.isfinite(model.upper).all())
    )
    values = objective = None
    if problem.sol_status in (pulp.LpSolutionOptimal, pulp.LpSolutionIntegerFeasible):
        values = {name: float(v.varValue or 0.0) for name, v in zip(model.names, variables, strict=True)}
        objective = float(pulp.value(problem.objective))
    nodes = _NODES.search(text)
    number = _VERSION.search(text)
    return Outcome(
        status=status,
        solver=f"CBC {number.group(1)}" if number else "CBC",
        values=values,
        objective=objective,
        bound=_bound(model, status, objective, text),
        nodes=int(nodes.group(1)) if nodes else None,
        message=message,
    )


def _status(problem: "object", text: str, *, bounded: bool) -> tuple[TerminationStatus, str]:
    """CBC's own words, since PuLP's status calls a time limit optimal; pure linear programs print no ``Result``."""
    import pulp

    said = _RESULT.search(text)
    if said is not None:
        word = said.group(1).strip()
        return _WORDS.get(word, TerminationStatus.SOLVER_ERROR), "" if word in _WORDS else word
    if "Problem is infeasible" in text or (bounded and "Pre-processing says infeasible or unbounded" in text):
        return TerminationStatus.INFEASIBLE, ""
    sol_status = getattr(problem, "sol_status", None)
    if sol_status == pulp.LpSolutionOptimal:
        return TerminationStatus.OPTIMAL, ""
    if sol_status == pulp.LpSolutionInfeasible:
        return TerminationStatus.INFEASIBLE, ""
    return TerminationStatus.SOLVER_ERROR, text.strip()[-200:]


def _bound(model: LinearModel, status: TerminationStatus, objective: float | None, text: str) -> float | None:
    """Its claim of optimality bounds by the objective itself; otherwise the printed bound, rounded to the safe side."""
    if status is TerminationStatus.OPTIMAL:
        return objective
    printed = _BOUND.search(text)
    if printed is None:
        return None
    return float(printed.group(1)) - model.sign * _PRINTED + model.constant
