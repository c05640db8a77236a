"""The contract that every solver of linear models keeps, those of ``dlsched.catalogue.solvers`` and one that you add there.

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

from dlsched.catalogue.solvers import SOLVERS, Solver
from solver_contract import answers, conduct

CLAUSES = {**answers.CLAUSES, **conduct.CLAUSES}
"""By name: whether a clause is for a solver, and what asserts it."""


def hold_solver_to_contract(solver: str, clause: str) -> None:
    """Assert that a solver, by its name in the catalogue, keeps a clause; the error names both."""
    record = SOLVERS[solver]
    try:
        CLAUSES[clause][1](record)
    except AssertionError as broken:
        raise AssertionError(f"{record.full_name} does not keep the clause {clause}: {broken}") from broken


def clauses_of(solver: Solver) -> tuple[str, ...]:
    """Names of the clauses that are for a solver, by what its record declares."""
    return tuple(name for name, (is_for, _) in CLAUSES.items() if is_for(solver))
