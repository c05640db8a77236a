"""Exact methods that hand the whole horizon to a solver: the span model, the arc model, and circuits."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dlsched.core.limits import Limits
from dlsched.core.search import Search
from dlsched.core.status import TerminationStatus
from dlsched.ring_embedding.checker import infeasible
from dlsched.ring_embedding.instance import Instance
from dlsched.ring_embedding.solution import Embedding
from dlsched.solvers.conclude import settled, solve_and_conclude

if TYPE_CHECKING:
    import pulp

Start = Callable[[Instance], Embedding]
"""Makes the embedding that a search holds when there is no time for more; None: the search has begun."""


def nothing(instance: Instance) -> Embedding:
    """The embedding of no ring at all."""
    del instance
    return Embedding({})


def run_span(
    instance: Instance, search: Search, *, start: Start | None = nothing, limits: Limits | None = None
) -> TerminationStatus:
    """The span model, by HiGHS, CBC or SCIP.

    Raises
    ------
    UsageError
        Paths are listed, or the model is too large.
    """
    from dlsched.ring_embedding.formulations.span import build_span

    return _by_program(instance, search, build_span, start, limits)


def run_arc(
    instance: Instance, search: Search, *, start: Start | None = nothing, limits: Limits | None = None
) -> TerminationStatus:
    """The arc model, by HiGHS, CBC or SCIP.

    Raises
    ------
    UsageError
        The model is too large.
    """
    from dlsched.ring_embedding.formulations.arc import build_arc

    return _by_program(instance, search, build_arc, start, limits)


def run_milp(
    instance: Instance, search: Search, *, start: Start | None = nothing, limits: Limits | None = None
) -> TerminationStatus:
    """``span`` in a forest, ``arc`` where paths are listed."""
    run = run_span if instance.paths is None else run_arc
    return run(instance, search, start=start, limits=limits)


def _by_program(
    instance: Instance,
    search: Search,
    build: "Callable[[Instance], tuple[pulp.LpProblem, Any, float]]",
    start: Start | None,
    limits: Limits | None,
) -> TerminationStatus:
    if start is not None and not _begin(instance, search, start):
        return TerminationStatus.INFEASIBLE
    return solve_and_conclude(search, *build(instance), limits=limits)


def run_circuit(
    instance: Instance, search: Search, *, start: Start | None = nothing, limits: Limits | None = None
) -> TerminationStatus:
    """CP-SAT on the model with circuits.

    Raises
    ------
    UsageError
        Demands or bandwidths are no whole multiples of one unit, or the model is too large.
    """
    if start is not None and not _begin(instance, search, start):
        return TerminationStatus.INFEASIBLE
    from ortools.sat.python import cp_model

    from dlsched.ring_embedding.formulations.circuit import build_circuit
    from dlsched.solvers.cpsat import run, status_of, version

    circuit = build_circuit(instance)

    class Watch(cp_model.CpSolverSolutionCallback):  # type: ignore[misc]  # the package is untyped
        def on_solution_callback(self) -> None:
            search.consider(circuit.decode(self.value), source="incumbent")

    limits = limits or search.left
    code, solver = run(circuit.model, limits, Watch(), symmetry=False)
    search.solver_version = version()
    search.nodes += int(solver.num_conflicts)
    status = status_of(code, limits, solver.wall_time)
    if code in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        search.offer(circuit.decode(solver.value), source=search.solver_version)
        search.prove(circuit.bound(solver.best_objective_bound), source=search.solver_version)
    elif status is TerminationStatus.SOLVER_ERROR or code == cp_model.INFEASIBLE:
        search.say(solver.response_stats())
        return TerminationStatus.SOLVER_ERROR
    return settled(search, status, search.solver_version)


def _begin(instance: Instance, search: Search, start: Start) -> bool:
    if not search.begin(infeasible(instance), lambda: _offer(instance, search, start)):
        return False
    _offer(instance, search, start)
    return True


def _offer(instance: Instance, search: Search, start: Start) -> None:
    search.offer(start(instance), source="start")
