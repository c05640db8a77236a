"""CBC, the program inside PuLP 3; its bound, which its log has to three decimals, is rounded safely.

We run the program ourselves, since PuLP would write the model with only 13 digits.
"""

import os
import re
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

from dlsched.core.errors import SolverError
from dlsched.core.limits import Budget, Limits
from dlsched.core.status import TerminationStatus
from dlsched.solvers.linear import LinearModel
from dlsched.solvers.lp import report_relaxation
from dlsched.solvers.model_files import mps_text
from dlsched.solvers.outcome import BoundCallback, Incumbent, IncumbentCallback, Outcome

_RESULT = re.compile(r"^Result - (.+)$", re.MULTILINE)
_BOUND = re.compile(r"^(?:Lower|Upper) bound:\s+(\S+)$", re.MULTILINE)
_NODES = re.compile(r"^Enumerated nodes:\s+(\d+)$", re.MULTILINE)
_VERSION = re.compile(r"^Version:\s+(\S+)", re.MULTILINE)
_WORDS = {
    "Optimal solution found": TerminationStatus.OPTIMAL,
    "Optimal solution found (within gap tolerance)": TerminationStatus.OPTIMAL,
    "Problem proven infeasible": TerminationStatus.INFEASIBLE,
    "Linear relaxation infeasible": TerminationStatus.INFEASIBLE,
    "Linear relaxation unbounded": TerminationStatus.UNBOUNDED,
    "Stopped on time limit": TerminationStatus.TIME_LIMIT,
    "Stopped on node limit": TerminationStatus.NODE_LIMIT,
    "User ctrl-cuser ctrl-c": TerminationStatus.INTERRUPTED,
}
_PRINTED = 5e-4  # half of the last decimal that CBC prints


def program() -> str | None:
    """Path of PuLP's CBC; None if PuLP's wheel has none."""
    import pulp

    path = getattr(getattr(pulp, "PULP_CBC_CMD", None), "pulp_cbc_path", None)
    return path if path is not None and os.access(path, os.X_OK) else None


def version() -> str:
    """Name and version, from the program's own banner."""
    return _name(_run(["-quit"]))


def solve(
    model: LinearModel,
    limits: Limits,
    start: Incumbent | None = None,
    found: IncumbentCallback | None = None,
    bounded: BoundCallback | None = None,
) -> Outcome:
    """Solve to a gap of 0; SolverError if the program failed.

    CBC reports nothing before it ends. So if ``bounded`` is there, HiGHS solves the linear relaxation first.
    """
    del found
    budget = Budget(limits)
    report_relaxation(model, budget, bounded)
    # the file has names of its own, whatever those of the model are; the solution is read back by them
    columns = {f"x{index}": name for index, name in enumerate(model.names)}
    plain = replace(model, names=list(columns), row_names=[f"r{index}" for index in range(len(model.row_names))])
    options = ["-ratio", "0", "-allow", "0", "-threads", str(limits.threads), "-timeMode", "elapsed"]
    options += [] if limits.time_s is None else ["-sec", str(budget.left.time_s)]
    options += [] if limits.nodes is None else ["-maxNodes", str(limits.nodes)]
    with tempfile.TemporaryDirectory() as folder:
        file, started, solution = (Path(folder, f"model.{kind}") for kind in ("mps", "start", "solution"))
        file.write_text(mps_text(plain, "model"), encoding="ascii")
        if start is not None:
            started.write_text(_start(columns, start), encoding="ascii")
            options = ["-mips", str(started), *options]
        text = _run([str(file), *options, "-solve", "-solution", str(solution)])
        if not solution.exists():
            raise SolverError(f"{_name(text)} wrote no solution: {text.strip()[-200:]}")
        head, *lines = solution.read_text(encoding="ascii").splitlines()
    status, message = _status(head, text)
    costs = model.sign * model.costs
    unlimited = (np.isinf(model.upper) & (costs < 0)) | (np.isinf(model.lower) & (costs > 0))
    if status is TerminationStatus.INFEASIBLE and unlimited.any():
        status = TerminationStatus.UNBOUNDED  # CBC calls a model with a free column in no row infeasible
    values = objective = None
    if head.startswith("Optimal") or re.match(r"Stopped on \S+ - objective", head):
        values = dict.fromkeys(model.names, 0.0)  # the file omits zeros
        for line in lines:
            _, column, value, *_ = line.removeprefix("**").split()
            values[columns[column]] = float(value)
        objective = model.objective(np.array([values[name] for name in model.names]))
    nodes = _NODES.search(text)
    return Outcome(
        status=status,
        solver=_name(text),
        values=values,
        objective=objective,
        bound=_bound(model, status, objective, text),
        nodes=int(nodes.group(1)) if nodes else None,
        message=message,
    )


def _run(arguments: list[str]) -> str:
    """Run the program and return what it prints; SolverError if it cannot be run, or fails."""
    path = program()
    if path is None:
        raise SolverError("CBC is not here")
    try:
        process = subprocess.run(
            [path, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, check=False
        )
    except OSError as error:
        raise SolverError(f"CBC cannot be run: {error}") from None
    text = process.stdout.decode(errors="replace")
    if process.returncode != 0:
        raise SolverError(f"CBC ended with code {process.returncode}: {text.strip()[-200:]}")
    return text


def _name(text: str) -> str:
    """Name and version, from what it printed."""
    number = _VERSION.search(text)
    return f"CBC {number.group(1)}" if number else "CBC"


def _start(columns: dict[str, str], start: Incumbent) -> str:
    """A solution in the format of CBC."""
    lines = [f"{index} {column} {start.get(name, 0.0)!r} 0" for index, (column, name) in enumerate(columns.items())]
    return "\n".join(["Stopped on time - objective value 0", *lines, ""])


def _status(head: str, text: str) -> tuple[TerminationStatus, str]:
    """Read the status from CBC's log and the head of its solution; linear programs print no ``Result``."""
    result = _RESULT.search(text)
    if result is not None:
        word = result.group(1).strip()
        return _WORDS.get(word, TerminationStatus.SOLVER_ERROR), "" if word in _WORDS else word
    if "Problem is infeasible" in text or "Pre-processing says infeasible or unbounded" in text:
        return TerminationStatus.INFEASIBLE, ""
    if "Problem is unbounded" in text:
        return TerminationStatus.UNBOUNDED, ""
    if head.startswith("Optimal"):
        return TerminationStatus.OPTIMAL, ""
    if head.startswith(("Infeasible", "Integer infeasible")):
        return TerminationStatus.INFEASIBLE, ""
    return TerminationStatus.SOLVER_ERROR, text.strip()[-200:]


def _bound(model: LinearModel, status: TerminationStatus, objective: float | None, text: str) -> float | None:
    """Return the objective if CBC claims optimality, else the printed bound, rounded to the safe side."""
    if status is TerminationStatus.OPTIMAL:
        return objective
    printed = _BOUND.search(text)
    if printed is None:
        return None
    return model.sign * (float(printed.group(1)) - _PRINTED) + model.constant  # CBC always minimises
