"""The solvers dlsched can call, what each is for, and whether it is here. Looking imports nothing."""

import importlib
import importlib.util
from dataclasses import dataclass

from dlsched.core.errors import SolverMissingError, UsageError


@dataclass(frozen=True, slots=True)
class Solver:
    """One code base that proves optima.

    Parameters
    ----------
    name, full_name
        As on the command line, and as people write it.
    package
        The Python package that carries it.
    kinds
        ``milp``, ``minlp``: what it is called for.
    """

    name: str
    full_name: str
    package: str
    kinds: tuple[str, ...]

    @property
    def available(self) -> bool:
        """Whether it can be called for one of its kinds at least."""
        return any(self.missing(kind) is None for kind in self.kinds)

    def missing(self, kind: str) -> str | None:
        """Return what to install for a kind of model: the solver's package, or the one the model is written in; or None."""
        for package in (self.package, MODELLERS[kind]):
            if importlib.util.find_spec(package) is None:
                return package
        if self.name == "cbc":
            from dlsched.solvers import cbc

            if cbc.program() is None:
                return "'pulp<4'"  # the last to carry the program
        return None

    @property
    def needs(self) -> str:
        """What to install."""
        return f"{self.full_name}: pip install {self.missing(self.kinds[0]) or self.package}"

    def version(self) -> str:
        """Name and version; imports the solver."""
        return str(importlib.import_module(f"dlsched.solvers.{self.name}").version())


MODELLERS = {"milp": "pulp", "minlp": "pyomo"}
"""The Python package in which models of a kind are written."""

SOLVERS = {
    solver.name: solver
    for solver in (
        Solver("highs", "HiGHS", "scipy", ("milp",)),
        Solver("cbc", "CBC", "pulp", ("milp",)),
        Solver("scip", "SCIP", "pyscipopt", ("milp", "minlp")),
        Solver("cpsat", "CP-SAT", "ortools", ("milp",)),
    )
}


def require(name: str, kind: str) -> Solver:
    """Return the solver when it exists, is of that kind and is installed.

    Raises
    ------
    UsageError
        No such solver, or not for this kind of model.
    SolverMissingError
        It is not installed.
    """
    able = [solver.name for solver in SOLVERS.values() if kind in solver.kinds]
    if name not in able:
        raise UsageError(f"solver: found {name!r}, allowed: {', '.join(able)}")
    missing = SOLVERS[name].missing(kind)
    if missing is not None:
        raise SolverMissingError(f"solver {name} is not here; install {SOLVERS[name].full_name}: pip install {missing}")
    return SOLVERS[name]
