"""Every solver of the catalogue keeps the contract, and the contract finds one that does not."""

from dataclasses import replace

import pytest
from solver_contract import CLAUSES, clauses_of, hold_solver_to_contract

from dlsched.catalogue.solvers import SOLVERS, Solver
from dlsched.core.status import TerminationStatus
from dlsched.solvers import scip


@pytest.mark.parametrize(
    ("solver", "clause"), [(name, clause) for name, record in SOLVERS.items() for clause in clauses_of(record)]
)
def test_every_solver_keeps_every_clause_that_is_for_it(solver, clause):
    """One test a solver and clause, so that a failure says which."""
    hold_solver_to_contract(solver, clause)


def test_a_clause_on_a_capability_is_for_those_that_declare_it():
    """By hand, of the five: CP-SAT takes no continuous variables; HiGHS in SciPy no start; it and CBC tell no solutions."""
    left_out = {name: set(CLAUSES) - set(clauses_of(record)) for name, record in SOLVERS.items()}
    assert left_out == {
        "highs": {"start", "incumbents"},
        "cbc": {"incumbents"},
        "scip": set(),
        "cpsat": {"continuous", "mixed", "narrow"},
        "gurobi": set(),
    }


LIES = {
    "optimum": lambda outcome: replace(outcome, objective=outcome.objective + 1),
    "equality": lambda outcome: replace(outcome, bound=outcome.bound + 1e-3),
    "mixed": lambda outcome: replace(outcome, values=dict(outcome.values, x0=1.0)),
    "infeasible": lambda outcome: replace(outcome, status=TerminationStatus.OPTIMAL),
    "unbounded": lambda outcome: replace(outcome, status=TerminationStatus.SOLVER_ERROR, message="failed"),
    "narrow": lambda outcome: replace(outcome, bound=outcome.bound - 1.0),
    "node_limit": lambda outcome: replace(outcome, bound=None if outcome.bound is None else 0.0, objective=1e6),
    "time_limit": lambda outcome: replace(outcome, status=TerminationStatus.NODE_LIMIT),
}


@pytest.mark.parametrize("clause", LIES)
def test_a_solver_that_says_what_is_not_so_breaks_its_clause(clause, monkeypatch):
    """SCIP, with one thing changed in what it answers; the error names solver and clause."""
    solve = scip.solve
    monkeypatch.setattr(scip, "solve", lambda *arguments: LIES[clause](solve(*arguments)))
    with pytest.raises(AssertionError, match=f"^SCIP does not keep the clause {clause}: "):
        hold_solver_to_contract("scip", clause)


def test_what_a_record_declares_and_a_solver_does_not_do_is_found(monkeypatch):
    """HiGHS, declared to tell of solutions."""
    declared = {field: getattr(SOLVERS["highs"], field) for field in Solver.__dataclass_fields__}
    monkeypatch.setitem(SOLVERS, "highs", Solver(**declared | {"tells_incumbents": True}))
    with pytest.raises(AssertionError, match="HiGHS does not keep the clause incumbents: it tells of none"):
        hold_solver_to_contract("highs", "incumbents")
