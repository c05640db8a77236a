"""Exact methods that hand the whole horizon to a solver: the span model, the arc model, and circuits.

``nodes``: of the solver, where the search has no limits at all; with ``max_min`` of each of its questions (``max_min.rounds``).
"""

from functools import partial
from typing import TYPE_CHECKING, Protocol

from dlsched.core.budget import Budget
from dlsched.core.search import Search
from dlsched.core.status import TerminationStatus
from dlsched.ring_embedding.formulations.arc import build_arc
from dlsched.ring_embedding.formulations.circuit import build_circuit
from dlsched.ring_embedding.formulations.goals import Goal
from dlsched.ring_embedding.formulations.solver_calls import arrays, limits_of, solve_circuit
from dlsched.ring_embedding.formulations.span import build_span
from dlsched.ring_embedding.instance import Instance
from dlsched.ring_embedding.max_min.rounds import run_rounds
from dlsched.ring_embedding.solution import Embedding
from dlsched.solvers.conclude import settled, solve_and_conclude
from dlsched.solvers.cpsat import version
from dlsched.solvers.formulation import Formulation
from dlsched.solvers.milp import solve_milp

if TYPE_CHECKING:
    import pulp


class _Build(Protocol):
    def __call__(
        self, instance: Instance, *, budget: Budget, goal: Goal | None = None
    ) -> "Formulation[pulp.LpProblem, Embedding]": ...


def run_arc(instance: Instance, search: Search[Embedding], *, nodes: int | None = None) -> TerminationStatus:
    """The arc model, by a solver; UsageError where it is too large."""
    if instance.objective == "max_min":
        return run_rounds(instance, search, program="arc", nodes=nodes)
    return _by_program(instance, search, build_arc, nodes)


def run_milp(instance: Instance, search: Search[Embedding], *, nodes: int | None = None) -> TerminationStatus:
    """The span model in a forest, ``arc`` where paths are listed; UsageError where it is too large."""
    if instance.paths is not None:
        return run_arc(instance, search, nodes=nodes)
    if instance.objective == "max_min":
        return run_rounds(instance, search, program="milp", nodes=nodes)
    return _by_program(instance, search, build_span, nodes)


def _by_program(instance: Instance, search: Search[Embedding], build: _Build, nodes: int | None) -> TerminationStatus:
    if _idle(instance, search):
        model = arrays(search, build(instance, budget=search.budget, goal="something"))
        outcome = solve_milp(model.model, solver=search.solver or "highs", limits=limits_of(search, nodes))
        search.budget.nodes += outcome.nodes or 0
        bound = None if outcome.bound is None else (outcome.bound + outcome.slack) * model.unit
        if _nothing_pays(search, outcome.status, bound, outcome.solver):
            return TerminationStatus.OPTIMAL
        if outcome.values is not None:
            search.offer(model.decode(outcome.values), source=outcome.solver)
    model = arrays(search, build(instance, budget=search.budget))
    return solve_and_conclude(search, model, limits=limits_of(search, nodes))


def _idle(instance: Instance, search: Search[Embedding]) -> bool:
    """Whether energy has a price, and what is held runs nothing: how near 0 a gain is, a solver's tolerances do not tell.

    Then it is asked first for the best embedding that runs a worker, which is worse by far where nothing pays.
    """
    return instance.charges and search.solution is not None and not any(search.solution.slots.values())


def _nothing_pays(search: Search[Embedding], status: TerminationStatus, bound: float | None, solver: str) -> bool:
    """Whether embeddings that run a worker are all worse than the one held, which is then proven."""
    held = search.objective
    if held is None or (status is not TerminationStatus.INFEASIBLE and (bound is None or bound >= held)):
        return False
    search.solver_version = solver
    search.prove(held, source=solver)
    return True


def run_circuit(instance: Instance, search: Search[Embedding], *, nodes: int | None = None) -> TerminationStatus:
    """CP-SAT on the model with circuits; UsageError: its amounts are not whole multiples of one unit, or it is too large."""
    if instance.objective == "max_min":
        return run_rounds(instance, search, program="circuit", nodes=nodes)
    heard = partial(search.consider, source="incumbent")
    if _idle(instance, search):
        circuit = build_circuit(instance, search.budget, "something")
        status, _, _, known = solve_circuit(search, circuit, limits_of(search, nodes), heard)
        bound = None if known is None else circuit.bound(known)
        if _nothing_pays(search, status, bound, version()):
            return TerminationStatus.OPTIMAL
    circuit = build_circuit(instance, search.budget)
    status, solver, found, known = solve_circuit(search, circuit, limits_of(search, nodes), heard)
    if found is not None:
        search.offer(found, source=version())
    if known is not None:
        search.prove(circuit.bound(known), source=version())
    if status in (TerminationStatus.SOLVER_ERROR, TerminationStatus.INFEASIBLE):
        search.say(solver.response_stats())
        return TerminationStatus.SOLVER_ERROR
    return settled(search, status, version())
