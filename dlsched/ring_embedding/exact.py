"""Exact methods: the search over the whole horizon, and models that a solver takes whole.

``nodes``: node limit of the solver if the search has no limits at all; with ``max_min`` of each question (``max_min.methods``).
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Literal

import numpy as np

from dlsched.algorithms.utility_tables import Floats
from dlsched.core.errors import ContradictionError, SolverError, SolverMissingError, UsageError
from dlsched.core.gap import CLOSED, MEETING
from dlsched.core.limits import Limits, Stopped
from dlsched.core.search import Search
from dlsched.core.status import TerminationStatus
from dlsched.ring_embedding.bounds import CLOSE, prove_horizon, prove_slot, search_columns, slot_gains
from dlsched.ring_embedding.formulations.circuit import Circuit, build_circuit
from dlsched.ring_embedding.formulations.linear import build_arc, build_span
from dlsched.ring_embedding.heuristics.baselines import by_density, quick
from dlsched.ring_embedding.heuristics.plan import Plan, Split, ascend
from dlsched.ring_embedding.heuristics.slot_greedy import rings_wanted, steady
from dlsched.ring_embedding.instance import Instance
from dlsched.ring_embedding.objectives import objective_of
from dlsched.ring_embedding.relaxation import Relaxed, aggregated, build_totals
from dlsched.ring_embedding.rings.network import Network
from dlsched.ring_embedding.rings.placing import embedding
from dlsched.ring_embedding.slot.exact_slot import SLOT_NODES, best_slot
from dlsched.ring_embedding.solution import Embedding
from dlsched.ring_embedding.vectors import VectorColumns, solve_vectors
from dlsched.solvers.conclude import settled, solve_and_conclude
from dlsched.solvers.cpsat import Value, run, status_of, version
from dlsched.solvers.formulation import Formulation
from dlsched.solvers.linear import LinearModel, from_pulp
from dlsched.solvers.milp import solve_milp

if TYPE_CHECKING:
    import pulp
    from ortools.sat.python import cp_model


Program = Literal["milp", "arc", "circuit"]
"""Models of the whole horizon, by the names of the methods that solve them."""


LINEAR: Mapping[str, Callable[..., "Formulation[pulp.LpProblem, Embedding]"]] = {"milp": build_span, "arc": build_arc}
"""The linear ones of these models."""

_VARIABLE_S = 1e-5  # measured: to read one variable of a PuLP model with its rows


def limits_of(search: Search[Embedding], nodes: int | None) -> Limits:
    """Remaining limits of the search; ``nodes`` is the node limit if it has no limit of any kind."""
    remaining = search.left
    return remaining if search.budget.limited or nodes is None else replace(remaining, nodes=nodes)


def arrays(
    search: Search[Embedding], built: "Formulation[pulp.LpProblem, Embedding]"
) -> "Formulation[LinearModel, Embedding]":
    """Convert a PuLP model to arrays; Stopped if no time is left to read it."""
    remaining_s = search.left.time_s
    if remaining_s is not None and remaining_s <= built.model.numVariables() * _VARIABLE_S:
        raise Stopped(TerminationStatus.TIME_LIMIT)
    return replace(built, model=from_pulp(built.model))


def solve_circuit(
    search: Search[Embedding], circuit: Circuit, limits: Limits, found: Callable[[Embedding], None]
) -> "tuple[TerminationStatus, cp_model.CpSolver, Embedding | None, float | None]":
    """Run CP-SAT on a circuit model: status, solver, answer, bound; ``found`` receives the incumbents."""
    from ortools.sat.python import cp_model

    def decoded(value: Value) -> Embedding:
        return circuit.decode({name: value(variable) for name, variable in circuit.decided.items()})

    code, solver, bound = run(circuit.model, limits, lambda value: found(decoded(value)), symmetry=False)
    search.solver_version = version()
    search.budget.nodes += int(solver.num_conflicts)
    solved = code in (cp_model.OPTIMAL, cp_model.FEASIBLE)
    return status_of(code, limits, solver), solver, decoded(solver.value) if solved else None, bound


SMALL = 600
"""Largest number of jobs times servers times slots for which ``exact`` hands the whole instance to solvers."""
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
    incumbent = search.objective
    if incumbent is None or (status is not TerminationStatus.INFEASIBLE and (bound is None or bound >= incumbent)):
        return False
    search.solver_version = solver
    search.prove(incumbent, source=solver)
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


NODES = 2000
"""Node limit of each solver's program if ``exact`` runs without limits."""
CONFLICTS = 300_000
"""Conflicts of CP-SAT in ``exact`` without limits."""
SPAN_CONFLICTS = 10_000
"""The same on the spans of one slot: 32 jobs on 32 servers need some hundreds."""
LARGE = 50_000
"""Number of usable rings from which on steady rings and the plan come before the greedy."""
FEW = 5000
"""Largest number of rings in a plan for which every better plan is checked and held, not only the last one."""
SHORT = 60
"""Largest number of slots for which ``exact`` without limits improves a plan slot by slot."""
CLOSING_CONFLICTS = 10_000
"""Conflicts of CP-SAT, without limits, once the answer is proven and only its last millionth is still open."""


def run_exact(instance: Instance, search: Search[Embedding]) -> TerminationStatus:
    """Run a greedy, the relaxation and its plan; then close the gap by exact programs and better bounds.

    One slot: the program over mappings, closed exactly, in a forest by CP-SAT on the links that rings span. Several: S-shaped
    totals by SCIP; slot by slot ascent; the bound of column generation; vectors of slots; and in small instances CP-SAT on
    circuits. After the proof, the search goes on until objective and bound meet within ``CLOSED``, without limits only in small
    instances. A failed or missing solver is an error before the proof, and a message after it.
    """
    try:
        status = _search(instance, search)
    except (SolverError, SolverMissingError) as error:
        if not search.proven or isinstance(error, ContradictionError):
            raise
        search.say(f"the last part of the gap stays: {error}")
    return TerminationStatus.OPTIMAL if search.proven else status


def _search(instance: Instance, search: Search[Embedding]) -> TerminationStatus:
    search.offer(quick(instance), source="quick")
    search.tick()
    network = Network(instance, search.budget)
    certificate = aggregated(instance, search.budget)
    search.prove(certificate.value, source="certificate", certificate=certificate)
    large = _steady(network, search)
    if not large:
        by_density(instance, search)
    if _enough(instance, search):
        return TerminationStatus.OPTIMAL
    relaxed = prove_horizon(instance, search)
    plan = _follow(network, relaxed.by_epoch, relaxed.totals, search)
    if large and not _enough(instance, search):
        by_density(instance, search)
    if not _enough(instance, search):
        other = Plan(network)
        other.concentrate()
        other.fill()
        search.offer(other.embedding(), source="largest rings")
        plan = max(plan, other, key=Plan.gain)
    if _enough(instance, search):
        return TerminationStatus.OPTIMAL
    if instance.one_slot:
        return _one_slot(network, search)
    # An utility that is not concave makes the envelopes too high; binaries choose the stretch instead.
    if not all(table.concave for table in plan.tables):
        plan = _by_totals(network, relaxed, plan, search)
    _ascend(plan, search)
    refused = "" if _enough(instance, search) else _by_columns(network, relaxed, search)
    if _enough(instance, search):
        return TerminationStatus.OPTIMAL
    return _by_programs(instance, search, refused or "its programs have nothing left to try")


def _enough(instance: Instance, search: Search[Embedding]) -> bool:
    """Whether the gap is closed or, in a large instance without limits, the answer proven."""
    return search.closed(CLOSED) or (search.proven and not search.budget.limited and not small(instance))


def run_plan(instance: Instance, search: Search[Embedding]) -> TerminationStatus:
    """Offer the answer of ``quick``, then the plan that follows the relaxation."""
    search.offer(quick(instance), source="quick")
    network = Network(instance, search.budget)
    _steady(network, search)
    relaxed = prove_horizon(instance, search)
    _follow(network, relaxed.by_epoch, relaxed.totals, search)
    return TerminationStatus.OPTIMAL if search.proven else TerminationStatus.FEASIBLE


def _steady(network: Network, search: Search[Embedding]) -> bool:
    """Whether the instance is large; if so, first offer an answer with the same rings in many slots."""
    large = rings_wanted(network) > LARGE
    if large:
        keep = partial(search.offer, source="steady")
        keep(steady(network, keep))
    return large


def _follow(network: Network, by_epoch: Split, totals: Floats, search: Search[Embedding]) -> Plan:
    plan = Plan(network)
    try:
        plan.place(by_epoch, totals)
    finally:
        search.offer(plan.embedding(), source="plan")
    return plan


def _ascend(plan: Plan, search: Search[Embedding]) -> None:
    """Improve a plan slot by slot, if there are few slots or a limit."""
    keep, better = partial(search.offer, source="ascent"), False
    # Making an embedding of many rings costs more than a step of the ascent: then only the last plan is offered.
    few = sum(len(slot.rings) for slot in plan.slots.values()) <= FEW

    def heard() -> None:
        nonlocal better
        better = True
        if few:
            keep(plan.embedding())

    instance = plan.network.instance
    if not _enough(instance, search) and (instance.slots <= SHORT or search.budget.limited):
        try:
            ascend(plan, better=heard, within=CLOSED if search.proven else MEETING)
        finally:
            if better and not few:
                keep(plan.embedding())


def _by_totals(network: Network, relaxed: Relaxed, plan: Plan, search: Search[Embedding]) -> Plan:
    """The better of ``plan`` and one from S-shaped totals, whose bound SCIP proves."""
    program = relaxed.program
    outcome = solve_milp(build_totals(program), solver="scip", limits=limits_of(search, NODES))
    search.solver_version = outcome.solver
    search.budget.nodes += outcome.nodes or 0
    if outcome.bound is not None:
        nothing = sum(table.nothing for table in program.tables)
        most = min(sum(table.most for table in program.tables), (outcome.bound + outcome.slack) * program.unit)
        search.prove((nothing + most) * (1 + CLOSE), source=outcome.solver)
    if outcome.values is None:
        return plan
    point = np.array([outcome.values[f"x{index}"] for index in range(len(program.columns) + len(program.tables))])
    other = _follow(network, program.by_epoch(point), point[len(program.columns) :], search)
    return max(plan, other, key=Plan.gain)


def _one_slot(network: Network, search: Search[Embedding]) -> TerminationStatus:
    instance = network.instance
    nodes = None if search.budget.limited else SLOT_NODES
    gains = slot_gains(network)
    within = CLOSED if search.budget.limited or small(instance) else MEETING
    found = best_slot(
        *(network, gains, search.generator),
        nodes=nodes,
        conflicts=SPAN_CONFLICTS,
        better=lambda slot: search.offer(embedding(network, {instance.slots: slot}), source="slot"),
        within=within,
    )
    search.solver_version = found.solver
    prove_slot(network, found.relaxation, search, found)
    if _enough(instance, search):
        return TerminationStatus.OPTIMAL
    search.tick()
    return _by_programs(instance, search, "too many rings lie within the gap, or a solver reached its nodes")


def _by_columns(network: Network, relaxed: Relaxed, search: Search[Embedding]) -> str:
    """Prove the bound of column generation; follow its optimum by a plan, improved slot by slot; then solve by vectors of slots.

    Return why there are too many vectors, if so.
    """
    instance = network.instance
    columns = search_columns(network, relaxed, search)
    if _enough(instance, search):
        return ""
    totals = np.zeros(len(network.total))
    for (job, _), amount in columns.by_epoch.items():
        totals[job] += amount
    other = _follow(network, columns.by_epoch, np.minimum(totals, network.total), search)
    _ascend(other, search)
    if network.forest and not (instance.charges or search.proven) and (small(instance) or search.budget.limited):
        try:
            solve_vectors(search, VectorColumns(network, relaxed, columns.pi), lambda: limits_of(search, NODES))
        except UsageError as error:
            return str(error)
    return ""


def _by_programs(instance: Instance, search: Search[Embedding], otherwise: str) -> TerminationStatus:
    """Solve by circuits or linear programs if the instance is small; else the message ``otherwise`` says why there is none."""
    closing = search.proven
    if not small(instance):
        search.say("" if closing else f"no proof: {otherwise}")
        return TerminationStatus.FEASIBLE
    return circuits_or_rows(
        search,
        lambda: run_circuit(instance, search, nodes=CLOSING_CONFLICTS if closing else CONFLICTS),
        lambda: run_milp(instance, search, nodes=NODES),
        solved="a linear program was",
        closing=closing,
    )
