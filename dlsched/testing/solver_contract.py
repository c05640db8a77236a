"""The contract that every solver of linear models keeps, for those of ``dlsched.catalogue.solvers`` and for yours.

======================  ==========================================================================================
clause                  what is asserted
======================  ==========================================================================================
version                 it tells its name and a number
optimum                 minimum and maximum equal enumeration, the constant counted once, and the bound meets them
equality                rows that are equations hold, in both senses
negative                integers below 0
continuous              (``milp``) continuous, free and negative variables
mixed                   (``milp``) integer and continuous variables in one row
infeasible              models without an integer point are proven infeasible; nothing is held or bounded
unbounded               a model without an end is an error in the solver's words, or refused
nothing                 no variables, no rows, no costs
magnitudes              costs of 1e-9 and of 1e10 decide as those of 1
narrow                  (``milp``) what a variable is worth that a tolerance fixes is in the slack
start                   (``takes_start``) an answer stopped early is no worse than the start
incumbents              (``tells_incumbents``) solutions told on the way are feasible, and no better than the optimum
bounds                  bounds told on the way are no better than the optimum, and each better than the one before
node_limit              stopped early or not, bound and objective lie on their sides of the optimum
time_limit              no time at all is a time limit, with no claim that is not so
kept                    a solver whose process is killed leaves the last bound it told
repeatable              the same call gives the same answer, to the bit
interrupt               after Ctrl-C none of its processes is left
======================  ==========================================================================================

A clause on a capability is for the solvers whose record declares it. The model is ``MathOptInterface.Test`` of JuMP.
"""

from collections.abc import Collection

from dlsched.catalogue.solvers import SOLVERS, Solver
from dlsched.core.errors import UsageError
from dlsched.testing import solver_answers, solver_conduct

CLAUSES = {**solver_answers.CLAUSES, **solver_conduct.CLAUSES}
"""By name: whether a clause is for a solver, and what asserts it."""


def hold_solver_to_contract(
    solver: str, *, include: Collection[str] | None = None, exclude: Collection[str] = ()
) -> tuple[str, ...]:
    """Assert that a solver keeps the contract of this module, clause by clause.

    Parameters
    ----------
    solver
        Its name in the catalogue; it must be installed.
    include, exclude
        The clauses that are held, all by default, and those that are left out.

    Returns
    -------
    The names of the clauses that it was held to.

    Raises
    ------
    AssertionError
        A clause is broken; the message names it and the solver.
    UsageError
        No such clause or solver.

    >>> hold_solver_to_contract("highs", include=["version", "optimum", "incumbents"])
    ('version', 'optimum')
    """
    _require("clause", {*(include or ()), *exclude}, CLAUSES)
    _require("solver", {solver}, SOLVERS)
    record = SOLVERS[solver]
    held = tuple(name for name in clauses_of(record) if name not in exclude and (include is None or name in include))
    for name in held:
        try:
            CLAUSES[name][1](record)
        except AssertionError as broken:
            raise AssertionError(f"{record.full_name} does not keep the clause {name}: {broken}") from broken
    return held


def clauses_of(solver: Solver) -> tuple[str, ...]:
    """Names of the clauses that are for a solver, by what its record declares."""
    return tuple(name for name, (is_for, _) in CLAUSES.items() if is_for(solver))


def _require(what: str, asked: Collection[str], known: Collection[str]) -> None:
    strange = sorted(set(asked) - set(known))
    if strange:
        raise UsageError(where=what, found=repr(strange[0]), allowed=", ".join(known))
