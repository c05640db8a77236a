"""Methods for max_min; their incumbent has the lexicographically largest ascending utilities."""

from dlsched.core.search import Search
from dlsched.core.status import TerminationStatus
from dlsched.ring_embedding.bounds import certify
from dlsched.ring_embedding.exact.programs import circuits_or_rows, small
from dlsched.ring_embedding.heuristics.plan import Plan
from dlsched.ring_embedding.heuristics.warm_start import quick
from dlsched.ring_embedding.instance import Instance
from dlsched.ring_embedding.max_min.bounds import Water, aggregated, horizon
from dlsched.ring_embedding.max_min.filling import Filling
from dlsched.ring_embedding.max_min.plan import ascending, place, raise_levels
from dlsched.ring_embedding.max_min.rounds import run_rounds
from dlsched.ring_embedding.rings.network import Network
from dlsched.ring_embedding.solution import Embedding

NODES = 500
"""Node limit of a linear program if ``exact`` runs without limits."""
CONFLICTS = 20_000
"""Conflicts of CP-SAT in ``exact`` without limits."""


def warm(instance: Instance, search: Search[Embedding]) -> None:
    """Offer the answer of ``quick`` and, if there is time, slots filled from nothing."""
    keep(instance, search, quick(instance), "quick")
    search.tick()
    made = Plan(Network(instance, search.budget))
    try:
        Filling(made).fill()
    finally:
        keep(instance, search, made.embedding(), "filling")


def keep(instance: Instance, search: Search[Embedding], found: Embedding, source: str) -> None:
    """Offer an embedding, also one with the incumbent's objective if its ascending utilities are larger."""
    fairer = search.solution is None or ascending(instance, found) > ascending(instance, search.solution)
    search.offer(found, source=source, or_equal=fairer)


def run_bound(instance: Instance, search: Search[Embedding]) -> TerminationStatus:
    """Certify the bound of all slots as one pool, then that of the relaxation."""
    certify(aggregated(instance, search.budget), search)
    certify(horizon(instance, search.budget), search)
    return TerminationStatus.FEASIBLE


def run_plan(instance: Instance, search: Search[Embedding]) -> TerminationStatus:
    """Offer the answer of ``quick``, then plans that follow the relaxation."""
    keep(instance, search, quick(instance), "quick")
    certify(aggregated(instance, search.budget), search)
    water = Water(instance, search.budget)
    least = raise_levels(water, first=lambda: certify(water.certificate(), search))

    def enough(found: Embedding) -> bool:
        keep(instance, search, found, "plan")
        return search.proven

    place(Network(instance, search.budget), water, least, enough)
    return TerminationStatus.OPTIMAL if search.proven else TerminationStatus.FEASIBLE


def run_exact(instance: Instance, search: Search[Embedding]) -> TerminationStatus:
    """Run the plan and, if the instance is small, the rounds; a message says what is not proven."""
    warm(instance, search)
    run_plan(instance, search)
    if small(instance):
        return _by_rounds(instance, search)
    if not search.proven:
        search.say("no proof: its programs have nothing left to try")
        return TerminationStatus.FEASIBLE
    search.say("the least utility is as large as possible; of the next ones there is no proof")
    return TerminationStatus.OPTIMAL


def _by_rounds(instance: Instance, search: Search[Embedding]) -> TerminationStatus:
    """Run the rounds of exact programs, starting from what the plan proved."""
    upper = search.objective if search.proven else search.bound  # a certificate rounds up
    return circuits_or_rows(
        search,
        lambda: run_rounds(instance, search, program="circuit", upper=upper, nodes=CONFLICTS),
        lambda: run_rounds(instance, search, program="milp", upper=upper, nodes=NODES),
        solved="linear programs were",
    )
