"""Exact methods that hand the whole horizon to a solver: the span model, the arc model, and circuits.

``nodes``: of the solver, where the search has no limits at all.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from dlsched.core.budget import Stopped
from dlsched.core.limits import Limits
from dlsched.core.search import Search
from dlsched.core.status import TerminationStatus
from dlsched.ring_embedding.formulations.arc import build_arc
from dlsched.ring_embedding.formulations.circuit import build_circuit
from dlsched.ring_embedding.formulations.span import build_span
from dlsched.ring_embedding.instance import Instance
from dlsched.ring_embedding.solution import Embedding
from dlsched.solvers.conclude import settled, solve_and_conclude
from dlsched.solvers.formulation import Formulation
from dlsched.solvers.linear import from_pulp

if TYPE_CHECKING:
    import pulp

_VARIABLE_S = 1e-5  # measured, to read one of a PuLP model, with its rows


def run_arc(instance: Instance, search: Search[Embedding], *, nodes: int | None = None) -> TerminationStatus:
    """The arc model, by HiGHS, CBC or SCIP; UsageError where it is too large."""
    return _by_program(search, build_arc(instance, budget=search.budget), nodes)


def run_milp(instance: Instance, search: Search[Embedding], *, nodes: int | None = None) -> TerminationStatus:
    """The span model in a forest, ``arc`` where paths are listed; UsageError where it is too large."""
    if instance.paths is not None:
        return run_arc(instance, search, nodes=nodes)
    return _by_program(search, build_span(instance, budget=search.budget), nodes)


def _by_program(
    search: Search[Embedding], built: "Formulation[pulp.LpProblem, Embedding]", nodes: int | None
) -> TerminationStatus:
    left = search.left.time_s
    if left is not None and left <= built.model.numVariables() * _VARIABLE_S:
        raise Stopped(TerminationStatus.TIME_LIMIT)
    return solve_and_conclude(search, replace(built, model=from_pulp(built.model)), limits=limits_of(search, nodes))


def run_circuit(instance: Instance, search: Search[Embedding], *, nodes: int | None = None) -> TerminationStatus:
    """CP-SAT on the model with circuits; UsageError: its amounts are no whole multiples of one unit, or it is too large."""
    from ortools.sat.python import cp_model

    from dlsched.solvers.cpsat import run, status_of, version

    circuit = build_circuit(instance, search.budget)

    def decoded(value: Callable[[cp_model.IntVar], int]) -> Embedding:
        return circuit.decode({name: value(variable) for name, variable in circuit.variables.items()})

    class Watch(cp_model.CpSolverSolutionCallback):  # type: ignore[misc]  # the package is untyped
        def on_solution_callback(self) -> None:
            search.consider(decoded(self.value), source="incumbent")

    limits = limits_of(search, nodes)
    code, solver = run(circuit.model, limits, Watch(), symmetry=False)
    search.solver_version = version()
    search.budget.nodes += int(solver.num_conflicts)
    status = status_of(code, limits, solver)
    if code in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        search.offer(decoded(solver.value), source=search.solver_version)
        search.prove(circuit.bound(solver.best_objective_bound), source=search.solver_version)
    elif status is TerminationStatus.SOLVER_ERROR or code == cp_model.INFEASIBLE:
        search.say(solver.response_stats())
        return TerminationStatus.SOLVER_ERROR
    return settled(search, status, search.solver_version)


def limits_of(search: Search[Embedding], nodes: int | None) -> Limits:
    """What is left of the search's limits; of nodes these where it sets none of any kind."""
    left = search.left
    return left if search.budget.limited or nodes is None else replace(left, nodes=nodes)
