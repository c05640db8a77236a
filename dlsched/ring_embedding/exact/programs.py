"""Exact methods that hand the whole horizon to a solver: the span model, the arc model, and circuits.

``nodes``: node limit of the solver if the search has no limits at all; with ``max_min`` the limit of each
question (``max_min.rounds``).
"""

from collections.abc import Callable
from functools import partial

from dlsched.core.errors import UsageError
from dlsched.core.search import Search
from dlsched.core.status import TerminationStatus
from dlsched.ring_embedding.formulations.circuit import build_circuit
from dlsched.ring_embedding.formulations.solver_calls import LINEAR, Program, arrays, limits_of, solve_circuit
from dlsched.ring_embedding.instance import Instance
from dlsched.ring_embedding.objectives import objective_of
from dlsched.ring_embedding.solution import Embedding
from dlsched.solvers.conclude import settled, solve_and_conclude
from dlsched.solvers.cpsat import version
from dlsched.solvers.milp import solve_milp

SMALL = 600
"""Largest number of jobs times servers times slots for which ``exact`` hands the whole instance to
solvers."""
SMALL_SLOT = 150
"""Largest number of jobs times servers for which it does so, if there is one slot."""


def small(instance: Instance) -> bool:
    """Whether ``exact`` hands the whole instance to solvers if a gap remains."""
    most = SMALL_SLOT if instance.one_slot else SMALL
    return len(instance.jobs) * len(instance.servers) * instance.slots <= most


def circuits_or_rows(
    search: Search[Embedding],
    circuits: Callable[[], TerminationStatus],
    rows: Callable[[], TerminationStatus],
    *,
    solved: str,
    closing: bool = False,
) -> TerminationStatus:
    """Solve with CP-SAT on circuits or, if amounts share no unit, as linear programs; the message ``solved`` says so.

    ``closing``: the answer is proven already; no message mentions the gap, and linear programs need a limit.
    """
    free = not search.budget.limited
    try:
        status = circuits()
    except UsageError as error:
        if closing and free:
            return TerminationStatus.FEASIBLE
        search.say(f"{error}; so {solved} solved")
        status = rows()
    if status is TerminationStatus.NODE_LIMIT and free:
        search.say(
            "" if closing else "a solver reached its nodes; with a limit on time or nodes it goes on to that limit"
        )
        return TerminationStatus.FEASIBLE
    return status


def run_arc(instance: Instance, search: Search[Embedding], *, nodes: int | None = None) -> TerminationStatus:
    """Solve the arc model; UsageError if it is too large."""
    return objective_of(instance).run_program(instance, search, program="arc", nodes=nodes)


def run_milp(instance: Instance, search: Search[Embedding], *, nodes: int | None = None) -> TerminationStatus:
    """Solve the span model in a forest, the arc model with listed paths; UsageError if too large."""
    if instance.paths is not None:
        return run_arc(instance, search, nodes=nodes)
    return objective_of(instance).run_program(instance, search, program="milp", nodes=nodes)


def run_circuit(instance: Instance, search: Search[Embedding], *, nodes: int | None = None) -> TerminationStatus:
    """Solve the circuit model with CP-SAT; UsageError if it is too large or amounts share no unit."""
    return objective_of(instance).run_program(instance, search, program="circuit", nodes=nodes)


def run_program(
    instance: Instance, search: Search[Embedding], *, program: Program, nodes: int | None = None
) -> TerminationStatus:
    """Solve a model of the whole instance, whose objective is a sum; errors as those of the methods."""
    if program == "circuit":
        return _by_circuits(instance, search, nodes)
    build = LINEAR[program]
    if _idle(instance, search):
        # First the best embedding that runs a worker: if nothing pays, it is far worse than running nothing.
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
    """Whether energy has a price and the incumbent runs nothing, so that a solver's tolerance hides tiny gains."""
    return instance.charges and search.solution is not None and not any(search.solution.slots.values())


def _nothing_pays(search: Search[Embedding], status: TerminationStatus, bound: float | None, solver: str) -> bool:
    """Whether every embedding that runs a worker is worse than the incumbent; if so, record the proof."""
    held = search.objective
    if held is None or (status is not TerminationStatus.INFEASIBLE and (bound is None or bound >= held)):
        return False
    search.solver_version = solver
    search.prove(held, source=solver)
    return True


def _by_circuits(instance: Instance, search: Search[Embedding], nodes: int | None) -> TerminationStatus:
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
