"""The method ``exact``: the bound, every heuristic, and two searches by turns."""

from collections.abc import Sequence

from dlsched.algorithms.start_tree import CLOSE
from dlsched.core.errors import ContradictionError, SolverError, UsageError
from dlsched.core.gap import FEASIBLE, rounding
from dlsched.core.search import Search
from dlsched.core.status import TerminationStatus
from dlsched.solvers import availability
from dlsched.solvers.conclude import settled
from dlsched.srpt_mapping.bounds import combined
from dlsched.srpt_mapping.dispatching.plan import LARGEST
from dlsched.srpt_mapping.exact.certified_bounds import prove, prove_prices
from dlsched.srpt_mapping.exact.closing import Closing
from dlsched.srpt_mapping.exact.warm_start import anneal_held, offer_policies, plan_held, warm
from dlsched.srpt_mapping.instance import Instance
from dlsched.srpt_mapping.placing.heavy_edge import compact
from dlsched.srpt_mapping.placing.layouts import layouts
from dlsched.srpt_mapping.placing.servers import Servers
from dlsched.srpt_mapping.solution import Schedule

LOOKS, CONFLICTS = 10_000, 250
"""Layouts that our own search looks at, and conflicts of CP-SAT, of a block in turn 0; in every further one twice as many.
Either takes about .1 s."""
TURNS = 8
"""Turns after which ``exact`` without limits ends."""
FEW = 12
"""Largest number of jobs for which CP-SAT comes before the heuristics that know all jobs; mostly it ends the search."""
GLANCE = LOOKS // 10
"""Layouts that our own search looks at before CP-SAT's first turn: the smallest instances need no solver."""


def run_exact(instance: Instance, search: Search[Schedule]) -> TerminationStatus:
    """The bound and every policy; what these leave open is decided block by block (``blocks``) where layouts are not too many.

    Our own search and CP-SAT take turns, each twice as long as the one before, and share what they find; in between
    prices prove what they can, and ``plan`` and ``annealing`` run once, as the methods of these names do. Without limits it
    ends after ``TURNS`` turns, and says so. With too many layouts there are prices, a plan and annealing.
    """
    warm(instance, search)
    prove(search, combined(instance, tick=search.tick))
    schedules = offer_policies(instance, search)
    if _tight(search):
        return TerminationStatus.OPTIMAL
    try:
        found = layouts(instance, tick=search.tick)
    except UsageError as error:
        if search.proven:
            return TerminationStatus.OPTIMAL
        search.say(f"{error}; so the schedules were not searched")
        if len(instance.jobs) == 1 and instance.jobs[0].begun is None:
            return _by_placement(instance, search)
        prove_prices(instance, search)
        _by_heuristics(instance, search, schedules)
        return TerminationStatus.OPTIMAL if search.proven else TerminationStatus.FEASIBLE
    closing = Closing(instance, found, search)
    try:
        return _in_turns(instance, closing, search, schedules)
    finally:
        closing.conclude()


def _in_turns(
    instance: Instance, closing: Closing, search: Search[Schedule], schedules: Sequence[Schedule]
) -> TerminationStatus:
    with_solver = availability.SOLVERS["cpsat"].available
    few = len(instance.jobs) <= FEW
    turn = 0
    while True:
        if turn == TURNS and not search.budget.limited:
            search.say(f"the search ended after {TURNS} turns; with a limit on time or nodes it goes on to that limit")
            return TerminationStatus.FEASIBLE
        both = turn > 0 or few  # CP-SAT has a part of this turn
        for index in closing.open(exactly=not turn):
            block = closing.blocks[index]
            if few and not turn:
                closing.by_tree(index, GLANCE)
            if both and with_solver and not block.closed:
                try:
                    closing.by_intervals(index, CONFLICTS * 2**turn)
                except ContradictionError:
                    raise
                except SolverError as error:
                    search.say(f"{error}; our own search went on")
            if not (both and block.closed):
                closing.by_tree(index, LOOKS * 2**turn)
        if not closing.open() or search.proven:
            return TerminationStatus.OPTIMAL
        if not turn:
            prove_prices(instance, search)
        if turn == few:
            _by_heuristics(instance, search, schedules)
            closing.adopt(search.incumbent)
        turn += 1


def _by_heuristics(instance: Instance, search: Search[Schedule], schedules: Sequence[Schedule]) -> None:
    """``plan`` and ``annealing``, each as without the other: what the methods find, ``exact`` finds too."""
    if len(instance.jobs) <= LARGEST:
        plan_held(instance, search, schedules)
    anneal_held(instance, search, schedules[0])


def _tight(search: Search[Schedule]) -> bool:
    """Whether the certificate proves the answer as closely as our own search would."""
    assert search.objective is not None and search.bound is not None
    slack = FEASIBLE * (search.objective - search.constant) + rounding(search.objective, search.constant)
    return search.objective - search.bound <= slack


def _by_placement(instance: Instance, search: Search[Schedule]) -> TerminationStatus:
    """Solve an instance with a single job: CP-SAT finds its best placement."""
    from dlsched.solvers.cpsat import version
    from dlsched.srpt_mapping.formulations.placement import best_placement

    (job,) = instance.jobs
    servers = Servers(instance)
    start = compact(job.graph, servers)
    try:
        best = best_placement(job.graph, servers.free, servers.shares, servers.inside, start=start, limits=search.left)
    except UsageError as error:
        search.say(str(error))
        return TerminationStatus.FEASIBLE
    search.solver_version = version()
    if best.placed is not None:
        placement = servers.named(best.placed)
        search.offer(Schedule({job.id: (job.release_s, placement)}), source=search.solver_version)
    if best.bound_s is not None:
        length_s = job.iterations * best.bound_s * (1 - CLOSE)
        search.prove(job.release_s + length_s, source=search.solver_version)
    return settled(search, best.status, search.solver_version)
