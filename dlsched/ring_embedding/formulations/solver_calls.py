"""Calls that hand models to their solvers, within the remaining limits of a search."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, Protocol

from dlsched.core.limits import Budget, Limits, Stopped
from dlsched.core.search import Search
from dlsched.core.status import TerminationStatus
from dlsched.ring_embedding.formulations.arc import build_arc
from dlsched.ring_embedding.formulations.circuit import Circuit
from dlsched.ring_embedding.formulations.goals import Goal
from dlsched.ring_embedding.formulations.span import build_span
from dlsched.ring_embedding.instance import Instance
from dlsched.ring_embedding.solution import Embedding
from dlsched.solvers.formulation import Formulation
from dlsched.solvers.linear import LinearModel, from_pulp

if TYPE_CHECKING:
    import pulp
    from ortools.sat.python import cp_model

Program = Literal["milp", "arc", "circuit"]
"""Models of the whole horizon, by the names of the methods that solve them."""


class _Build(Protocol):
    def __call__(
        self, instance: Instance, *, budget: Budget, goal: Goal | None = None
    ) -> "Formulation[pulp.LpProblem, Embedding]": ...


LINEAR: Mapping[str, _Build] = {"milp": build_span, "arc": build_arc}
"""The linear ones of these models."""

_VARIABLE_S = 1e-5  # measured: to read one variable of a PuLP model with its rows


def limits_of(search: Search[Embedding], nodes: int | None) -> Limits:
    """Remaining limits of the search; ``nodes`` is the node limit if it has no limit of any kind."""
    left = search.left
    return left if search.budget.limited or nodes is None else replace(left, nodes=nodes)


def arrays(
    search: Search[Embedding], built: "Formulation[pulp.LpProblem, Embedding]"
) -> "Formulation[LinearModel, Embedding]":
    """Convert a PuLP model to arrays; Stopped if no time is left to read it."""
    left = search.left.time_s
    if left is not None and left <= built.model.numVariables() * _VARIABLE_S:
        raise Stopped(TerminationStatus.TIME_LIMIT)
    return replace(built, model=from_pulp(built.model))


def solve_circuit(
    search: Search[Embedding], circuit: Circuit, limits: Limits, found: Callable[[Embedding], None]
) -> "tuple[TerminationStatus, cp_model.CpSolver, Embedding | None, float | None]":
    """Run CP-SAT on a circuit model: status, solver, answer, bound; ``found`` receives the incumbents."""
    from ortools.sat.python import cp_model

    from dlsched.solvers.cpsat import run, status_of, version

    def decoded(value: Callable[[cp_model.IntVar], int]) -> Embedding:
        return circuit.decode({name: value(variable) for name, variable in circuit.decided.items()})

    class Watch(cp_model.CpSolverSolutionCallback):  # type: ignore[misc]  # the package is untyped
        def on_solution_callback(self) -> None:
            found(decoded(self.value))

    code, solver, bound = run(circuit.model, limits, Watch(), symmetry=False)
    search.solver_version = version()
    search.budget.nodes += int(solver.num_conflicts)
    held = code in (cp_model.OPTIMAL, cp_model.FEASIBLE)
    return status_of(code, limits, solver), solver, decoded(solver.value) if held else None, bound
