"""Availability of the solvers of ``dlsched.catalogue.solvers``, checked without importing them."""

from dlsched.catalogue.solvers import MODELLERS, SOLVERS, Solver
from dlsched.core.errors import SolverMissingError, UsageError

__all__ = ["MODELLERS", "SOLVERS", "Solver", "require"]


def require(name: str, kind: str) -> Solver:
    """Return a solver, which must exist, be of that kind and be installed.

    Raises
    ------
    UsageError
        No such solver, or not for this kind of model.
    SolverMissingError
        The solver is not installed.
    """
    able = [solver.name for solver in SOLVERS.values() if kind in solver.kinds]
    if name not in able:
        raise UsageError(where="solver", found=repr(name), allowed=", ".join(able))
    missing = SOLVERS[name].missing(kind)
    if missing is not None:
        raise SolverMissingError(f"solver {name} is not here; install {SOLVERS[name].full_name}: pip install {missing}")
    return SOLVERS[name]
