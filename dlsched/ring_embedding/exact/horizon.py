"""The method ``exact``: a greedy, the relaxation and its plan, then exact programs and better bounds."""

import numpy as np

from dlsched.algorithms.utility_tables import Floats
from dlsched.core.errors import ContradictionError, SolverError, SolverMissingError
from dlsched.core.gap import CLOSED, MEETING
from dlsched.core.search import Search
from dlsched.core.status import TerminationStatus
from dlsched.ring_embedding.bounds import CLOSE, prove_horizon, prove_slot, search_columns
from dlsched.ring_embedding.exact.programs import circuits_or_rows, run_circuit, run_milp, small
from dlsched.ring_embedding.formulations.solver_calls import limits_of
from dlsched.ring_embedding.heuristics.ascent import ascend
from dlsched.ring_embedding.heuristics.plan import Plan, Split
from dlsched.ring_embedding.heuristics.steady import rings_wanted, steady
from dlsched.ring_embedding.heuristics.warm_start import by_density, keeping, quick
from dlsched.ring_embedding.horizon.columns import slot_gains
from dlsched.ring_embedding.horizon.relaxation import Relaxed, aggregated
from dlsched.ring_embedding.instance import Instance
from dlsched.ring_embedding.rings.network import Network
from dlsched.ring_embedding.rings.placing import Slot, embedding
from dlsched.ring_embedding.slot.exact_slot import SLOT_NODES, best_slot
from dlsched.ring_embedding.solution import Embedding

NODES = 2000
"""Node limit of each solver's program if ``exact`` runs without limits."""
CONFLICTS = 300_000
"""Conflicts of CP-SAT in ``exact`` without limits."""
SPAN_CONFLICTS = 10_000
"""The same on the spans of one slot: 32 jobs on 32 servers need some hundreds."""
LARGE = 50_000
"""Number of usable rings from which on steady rings and the plan come before the greedy."""
FEW = 5000
"""Largest number of rings in a plan for which every better plan is checked and held, not only the last
one."""
SHORT = 60
"""Largest number of slots for which ``exact`` without limits improves a plan slot by slot."""
CLOSING_CONFLICTS = 10_000
"""Conflicts of CP-SAT, without limits, once the answer is proven and only its last millionth is still
open."""


def run_exact(instance: Instance, search: Search[Embedding]) -> TerminationStatus:
    """Run a greedy, the relaxation and its plan; then close the gap by exact programs and better bounds.

    In large instances the greedy comes after the plan, which takes less time and is as good.
    One slot: the program over mappings, closed exactly, in a forest by CP-SAT on the links that rings span. Several:
    S-shaped totals by SCIP; slot by slot ascent; the bound of column generation; and in small instances CP-SAT on circuits.
    After the proof, the search goes on until objective and bound meet within ``CLOSED``, without limits only in small
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
        plan = max(plan, _concentrate(network, search), key=Plan.gain)
    if _enough(instance, search):
        return TerminationStatus.OPTIMAL
    if instance.one_slot:
        return _one_slot(network, search)
    # An utility that is not concave makes the envelopes too high; binaries choose the stretch instead.
    if not all(table.concave for table in plan.tables):
        plan = _by_totals(network, relaxed, plan, search)
    _ascend(plan, search)
    if not _enough(instance, search):
        _by_columns(network, relaxed, search)
    if _enough(instance, search):
        return TerminationStatus.OPTIMAL
    return _by_programs(instance, search, "its programs have nothing left to try")


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
        keep = keeping(search, "steady")
        keep(steady(network, keep))
    return large


def _follow(network: Network, by_epoch: Split, totals: Floats, search: Search[Embedding]) -> Plan:
    plan = Plan(network)
    try:
        plan.place(by_epoch, totals)
    finally:
        search.offer(plan.embedding(), source="plan")
    return plan


def _concentrate(network: Network, search: Search[Embedding]) -> Plan:
    plan = Plan(network)
    plan.concentrate()
    plan.fill()
    search.offer(plan.embedding(), source="largest rings")
    return plan


def _ascend(plan: Plan, search: Search[Embedding]) -> None:
    """Improve a plan slot by slot, if there are few slots or a limit."""
    keep, better = keeping(search, "ascent"), 0
    # Making an embedding of many rings costs more than a step of the ascent: then only the last plan is offered.
    few = sum(len(slot.rings) for slot in plan.slots.values()) <= FEW

    def heard() -> None:
        nonlocal better
        better += 1
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
    from dlsched.ring_embedding.horizon.totals import build_totals
    from dlsched.solvers.milp import solve_milp

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

    def better(slot: Slot) -> None:
        search.offer(embedding(network, {instance.slots: slot}), source="slot")

    nodes = None if search.budget.limited else SLOT_NODES
    gains = slot_gains(network)
    within = CLOSED if search.budget.limited or small(instance) else MEETING
    found = best_slot(
        network, gains, search.generator, nodes=nodes, conflicts=SPAN_CONFLICTS, better=better, within=within
    )
    search.solver_version = found.solver
    prove_slot(network, found.relaxation, search, found)
    if _enough(instance, search):
        return TerminationStatus.OPTIMAL
    search.tick()
    return _by_programs(instance, search, "too many rings lie within the gap, or a solver reached its nodes")


def _by_columns(network: Network, relaxed: Relaxed, search: Search[Embedding]) -> None:
    """Prove the bound of column generation; follow its optimum by a plan, improved slot by slot."""
    columns = search_columns(network, relaxed, search)
    if _enough(network.instance, search):
        return
    totals = np.zeros(len(network.total))
    for (job, _), amount in columns.by_epoch.items():
        totals[job] += amount
    other = _follow(network, columns.by_epoch, np.minimum(totals, network.total), search)
    _ascend(other, search)


def _by_programs(instance: Instance, search: Search[Embedding], otherwise: str) -> TerminationStatus:
    """Solve by CP-SAT on circuits, or as a linear program if amounts share no unit; neither unless the instance is small.

    ``otherwise`` says in a message why there is no proof then.
    """
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
