"""The exact methods of matching_placement: dynamic programming, column generation with the closing of its gap, and models."""

from functools import partial

import numpy as np

from dlsched.columns.closing import close_gap, columns_within, search_beam
from dlsched.columns.generation import CLOSE
from dlsched.columns.slack import GROWTH, Prices
from dlsched.core.budget import TooMany
from dlsched.core.errors import SolverError, UsageError
from dlsched.core.search import Search
from dlsched.core.status import Sense, TerminationStatus
from dlsched.matching_placement import bounds
from dlsched.matching_placement.arrays import Arrays, Counts, arrays, counts_of, placement
from dlsched.matching_placement.configurations.fair_pricing import all_pricing
from dlsched.matching_placement.configurations.generation import generate_columns
from dlsched.matching_placement.configurations.states import additions, solve_by_states, state_bytes
from dlsched.matching_placement.configurations.thresholds import (
    Level,
    alone,
    bound_by_prices,
    by_beam,
    choice_within,
    lower,
)
from dlsched.matching_placement.feasibility import require_objective
from dlsched.matching_placement.formulations import milp
from dlsched.matching_placement.formulations.assignment import build_assignment
from dlsched.matching_placement.formulations.minlp import build_minlp
from dlsched.matching_placement.formulations.ratio_programs import by_programs, within
from dlsched.matching_placement.heuristics.fastest_first import soon
from dlsched.matching_placement.heuristics.initial import initial
from dlsched.matching_placement.heuristics.local_search import improve
from dlsched.matching_placement.heuristics.marginal import greedy
from dlsched.matching_placement.instance import Instance
from dlsched.matching_placement.solution import Placement
from dlsched.solvers.conclude import conclude, solve_and_conclude
from dlsched.solvers.milp import solve_milp
from dlsched.solvers.minlp import solve_minlp
from dlsched.version import VERSION

COLUMNS = f"dlsched columns {VERSION}"
DP = f"dlsched dp {VERSION}"
FEW_ADDITIONS = 2_000_000
"""Up to here ``exact`` takes the dynamic program, which needs some milliseconds."""
MOST_ADDITIONS = 20_000_000_000
MOST_BYTES = 2**29
_FEASIBILITY = 1e-9  # of SCIP; shares of a batch and times stand in one row, and no unit suits both


def warm(instance: Instance, search: Search[Placement]) -> None:
    """Hold the local search's answer before anything longer starts; on the way, what is sooner found."""
    hold_soon(instance, search)
    data = arrays(instance)
    counts = greedy(data, initial(data), search.tick)
    search.offer(placement(instance, counts), source="marginal")
    search.offer(placement(instance, improve(data, counts, search.tick)), source="local-search")


def hold_soon(instance: Instance, search: Search[Placement]) -> None:
    """Hold the answer that is soonest found."""
    search.offer(soon(instance), source="fastest-first")


def run_exact(instance: Instance, search: Search[Placement]) -> TerminationStatus:
    """The dynamic program where it is small, else column generation and the search that closes its gap."""
    size = additions(arrays(instance), most=FEW_ADDITIONS)
    if size > FEW_ADDITIONS:
        search.say(f"columns, since dp could need {size:.3g} additions")
        return run_columns(instance, search)
    search.say(f"dp, which needs at most {size:.3g} additions here")
    status = run_dp(instance, search)
    try:  # the certificate of ``configuration_lp`` too, where its linear programs can be solved
        certificate = bounds.configuration_lp(instance, tick=search.tick, budget=search.budget)
    except (SolverError, UsageError) as error:
        search.say(f"no certificate: {error}")
    else:
        search.prove(certificate.value, source="certificate", certificate=certificate)
    return status


def run_dp(instance: Instance, search: Search[Placement]) -> TerminationStatus:
    """Dynamic programming over the workers left of each type; a node is a job. UsageError: that would be too many states."""
    data = arrays(instance)
    needed, sums = state_bytes(data), additions(data, most=MOST_ADDITIONS)
    if needed > MOST_BYTES or sums > MOST_ADDITIONS:
        raise UsageError(
            f"method dp would need {needed / 2**30:.3g} GiB for its states and {sums:.3g} additions or more, "
            f"allowed: {MOST_BYTES / 2**30:.1f} GiB and {MOST_ADDITIONS:.0e}; use exact"
        )
    warm(instance, search)
    counts = solve_by_states(data, step=lambda: search.tick(1), tick=search.tick)
    assert counts is not None
    search.offer(placement(instance, counts), source=DP)
    return _proven_optimal(search, DP)


def _proven_optimal(search: Search[Placement], source: str) -> TerminationStatus:
    """Take what is held for the optimum."""
    assert search.objective is not None
    search.prove(search.objective, source=source)
    return TerminationStatus.OPTIMAL


def _total(instance: Instance, search: Search[Placement]) -> float:
    """What is minimised, of the incumbent: the sum of the costs, or the largest."""
    assert search.objective is not None
    if instance.objective == "mean":
        return search.objective * len(instance.jobs)
    return arrays(instance).total(counts_of(instance, search.incumbent))


def run_columns(instance: Instance, search: Search[Placement]) -> TerminationStatus:
    """Column generation, then the search within its gap; a node is a round, or a job in which labels are extended.

    Where the search has too many labels, MILPs over the configurations that can matter, by HiGHS, go on.
    """
    data = arrays(instance)
    warm(instance, search)
    if data.bottleneck:
        return _by_thresholds(instance, data, search)

    def node() -> None:
        search.tick(1)

    def proven(prices: Prices) -> None:
        certificate = bounds.price_certificate(instance, data, prices)
        if prices.exact:
            search.prove(certificate.value, source="certificate", certificate=certificate)
        else:
            search.prove(certificate.value, source=COLUMNS)

    def offer(counts: Counts | None, source: str) -> None:
        if counts is not None:
            search.offer(placement(instance, counts), source=source)

    start = counts_of(instance, search.incumbent)
    prices = generate_columns(data, start, tick=search.tick, step=node, budget=search.budget, proven=proven)
    upper = _total(instance, search)
    if upper - prices.bound <= CLOSE * upper:
        return TerminationStatus.OPTIMAL
    found = search_beam(all_pricing(data), prices, upper, tick=search.tick)
    offer(None if found is None else improve(data, found, search.tick), "beam")
    upper = _total(instance, search)
    closed = close_gap(
        all_pricing(data),
        prices,
        upper,
        tick=node,
        proven=lambda bound: search.prove(data.objective_of(bound), source=COLUMNS),
    )
    offer(closed.counts, COLUMNS)
    if closed.left is None:
        return _proven_optimal(search, COLUMNS)
    return _by_programs(instance, data, prices, closed.left, search)


def _by_programs(
    instance: Instance, data: Arrays, prices: Prices, slack: float, search: Search[Placement]
) -> TerminationStatus:
    """Solve MILPs over the configurations within a growing slack; what uses others costs more than the bound and the slack."""
    while not search.proven:
        try:
            columns = [each.counts for each in columns_within(all_pricing(data), prices, slack, search.tick)]
        except TooMany:
            columns = []
        total = sum(map(len, columns))
        if not 0 < total <= milp.LARGEST:
            search.say("too many labels for the search, and too many configurations for a program")
            return TerminationStatus.FEASIBLE
        search.report(f"HiGHS on {total} configurations")
        formulation = milp.build_milp(instance, columns=columns, tick=search.tick)
        outcome = solve_milp(formulation.model, solver="highs", limits=search.left)
        search.budget.nodes += outcome.nodes or 0
        search.solver_version = outcome.solver
        if outcome.values is not None:
            search.consider(formulation.decode(outcome.values), source=outcome.solver)
        beyond = data.objective_of(prices.beyond(slack))
        bound = beyond if outcome.status is TerminationStatus.INFEASIBLE else outcome.bound
        if bound is not None:
            search.prove(
                (min if search.sense is Sense.MINIMIZE else max)(bound, beyond),
                source=f"{COLUMNS} and {outcome.solver}",
            )
        if search.proven:
            break
        if outcome.status not in (TerminationStatus.OPTIMAL, TerminationStatus.INFEASIBLE):
            search.say(outcome.message)
            return outcome.status
        if prices.bound + slack >= _total(instance, search):
            search.say(f"{outcome.solver} had every configuration that can matter, and its bound proves less")
            return TerminationStatus.FEASIBLE
        slack *= GROWTH
    return TerminationStatus.OPTIMAL


def _by_thresholds(instance: Instance, data: Arrays, search: Search[Placement]) -> TerminationStatus:
    """Prices, then a search of the thresholds between what they prove and the incumbent; a node is a threshold.

    Where the search has too many labels, HiGHS chooses among the configurations that keep the threshold.
    """

    def offer(counts: Counts) -> None:
        search.offer(placement(instance, counts), source=COLUMNS)

    def choose(level: Level) -> Counts | None:
        search.tick(1)
        try:
            return choice_within(data, level, tick=search.tick)
        except TooMany:
            return within(instance, data, [each.counts for each in level.within()], search)

    start = counts_of(instance, search.incumbent)
    try:
        low, prices = bound_by_prices(data, data.total(start), tick=search.tick, budget=search.budget)
        certificate = bounds.threshold_certificate(instance, low, prices)
        search.prove(certificate.value, source="certificate", certificate=certificate)
        few = by_beam(data, tick=search.tick)
        best = lower(data, start, low, few, tick=search.tick, budget=search.budget, found=offer)
        proven = partial(search.prove, source=COLUMNS)
        lower(data, best, low, choose, tick=search.tick, budget=search.budget, found=offer, proven=proven)
    except TooMany:
        certificate = bounds.threshold_certificate(instance, alone(data), np.zeros(data.types))
        search.prove(certificate.value, source="certificate", certificate=certificate)
        search.say("some job has too many configurations within a threshold")
        return TerminationStatus.FEASIBLE
    return _proven_optimal(search, COLUMNS)


def run_milp(instance: Instance, search: Search[Placement]) -> TerminationStatus:
    """The program over all configurations by HiGHS, CBC, SCIP or CP-SAT; of the largest ratio one for each threshold."""
    warm(instance, search)
    if instance.objective == "max_rho":
        return by_programs(instance, search)
    most = 2 * _total(instance, search)
    built = milp.build_milp(instance, drop_dominated=True, most=most, tick=search.tick)
    return solve_and_conclude(search, built)


def run_assignment(instance: Instance, search: Search[Placement]) -> TerminationStatus:
    """The plain assignment model, worker by worker, by HiGHS, CBC or SCIP."""
    require_objective(instance, "assignment", "mean", "max_rho")
    warm(instance, search)
    costs = arrays(instance).costs
    each = 1.0 if costs is None else costs.equal
    built = build_assignment(instance, most_s=_roomy(instance, search) * each, tick=search.tick)
    return solve_and_conclude(search, built)


def run_minlp(instance: Instance, search: Search[Placement]) -> TerminationStatus:
    """The non-linear integer program by SCIP."""
    require_objective(instance, "minlp", "mean")
    warm(instance, search)
    formulation = build_minlp(instance, most_s=_roomy(instance, search), tick=search.tick)
    outcome = solve_minlp(formulation.model, limits=search.left, terms=2 * len(instance.jobs), feasibility=_FEASIBILITY)
    return conclude(search, outcome, formulation)


def _roomy(instance: Instance, search: Search[Placement]) -> float:
    """Twice the seconds of the incumbent: no better placement has a job that takes as long; solvers need room."""
    return 2 * _total(instance, search)
