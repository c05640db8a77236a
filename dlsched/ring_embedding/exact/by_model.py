"""Exact methods that hand the whole horizon to a solver: the span model, the arc model, and circuits.

``begun``: whether the search holds an answer already. ``nodes``: of the solver, where the search has no limits at all.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dlsched.core.budget import Stopped
from dlsched.core.limits import Limits
from dlsched.core.search import Search
from dlsched.core.status import TerminationStatus
from dlsched.ring_embedding.bounds import limited
from dlsched.ring_embedding.heuristics.warm import warm
from dlsched.ring_embedding.instance import Instance
from dlsched.ring_embedding.solution import Embedding
from dlsched.solvers.conclude import settled, solve_and_conclude
from dlsched.solvers.formulation import Formulation
from dlsched.solvers.linear import from_pulp

if TYPE_CHECKING:
    import pulp

_VARIABLE_S = 1e-5  # measured, to read one of a PuLP model, with its rows


def run_span(
    instance: Instance, search: Search[Embedding], *, begun: bool = False, nodes: int | None = None
) -> TerminationStatus:
    """The span model, by HiGHS, CBC or SCIP.

    Raises
    ------
    UsageError
        Paths are listed, or the model is too large.
    """
    from dlsched.ring_embedding.formulations.span import build_span

    return _by_program(instance, search, build_span, begun, nodes)


def run_arc(
    instance: Instance, search: Search[Embedding], *, begun: bool = False, nodes: int | None = None
) -> TerminationStatus:
    """The arc model, by HiGHS, CBC or SCIP.

    Raises
    ------
    UsageError
        The model is too large.
    """
    from dlsched.ring_embedding.formulations.arc import build_arc

    return _by_program(instance, search, build_arc, begun, nodes)


def run_milp(
    instance: Instance, search: Search[Embedding], *, begun: bool = False, nodes: int | None = None
) -> TerminationStatus:
    """``span`` in a forest, ``arc`` where paths are listed."""
    run = run_span if instance.paths is None else run_arc
    return run(instance, search, begun=begun, nodes=nodes)


def _by_program(
    instance: Instance,
    search: Search[Embedding],
    build: "Callable[..., tuple[pulp.LpProblem, Any, float]]",
    begun: bool,
    nodes: int | None,
) -> TerminationStatus:
    if not begun:
        warm(instance, search)
    problem, decode, unit = build(instance, tick=search.tick)
    limits = left(search, nodes)
    if limits.time_s is not None and limits.time_s <= problem.numVariables() * _VARIABLE_S:
        raise Stopped(TerminationStatus.TIME_LIMIT)
    return solve_and_conclude(search, Formulation(from_pulp(problem), decode, unit), limits=left(search, nodes))


def run_circuit(
    instance: Instance, search: Search[Embedding], *, begun: bool = False, nodes: int | None = None
) -> TerminationStatus:
    """CP-SAT on the model with circuits.

    Raises
    ------
    UsageError
        Demands or bandwidths are no whole multiples of one unit, or the model is too large.
    """
    if not begun:
        warm(instance, search)
    from ortools.sat.python import cp_model

    from dlsched.ring_embedding.formulations.circuit import build_circuit
    from dlsched.solvers.cpsat import run, status_of, version

    circuit = build_circuit(instance, tick=search.tick)

    class Watch(cp_model.CpSolverSolutionCallback):  # type: ignore[misc]  # the package is untyped
        def on_solution_callback(self) -> None:
            search.consider(circuit.decode(self.value), source="incumbent")

    limits = left(search, nodes)
    code, solver = run(circuit.model, limits, Watch(), symmetry=False)
    search.solver_version = version()
    search.budget.nodes += int(solver.num_conflicts)
    status = status_of(code, limits, solver)
    if code in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        search.offer(circuit.decode(solver.value), source=search.solver_version)
        search.prove(circuit.bound(solver.best_objective_bound), source=search.solver_version)
    elif status is TerminationStatus.SOLVER_ERROR or code == cp_model.INFEASIBLE:
        search.say(solver.response_stats())
        return TerminationStatus.SOLVER_ERROR
    return settled(search, status, search.solver_version)


def left(search: Search[Embedding], nodes: int | None) -> Limits:
    """What is left of the search's limits; of nodes so many where it sets none of any kind."""
    left = search.left
    return left if limited(search) or nodes is None else replace(left, nodes=nodes)
