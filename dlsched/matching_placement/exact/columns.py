"""The method ``columns``: prices by column generation, then a search within the gap, or MILPs by HiGHS.

For the largest ratio thresholds take the place of prices (``configurations.thresholds``).
"""

from dataclasses import replace
from functools import partial

import numpy as np

from dlsched.columns.generation import CLOSE, Pool
from dlsched.columns.slack import WIDTH, Closed, Prices, cheapest_within, close_gap, columns_within, search_beam
from dlsched.core.limits import TooMany
from dlsched.core.search import Search
from dlsched.core.status import Sense, TerminationStatus
from dlsched.matching_placement import bounds
from dlsched.matching_placement.arrays import Arrays, Counts, arrays, counts_of, placement
from dlsched.matching_placement.configurations.generation import first_pool, generate_columns
from dlsched.matching_placement.configurations.thresholds import (
    Level,
    alone,
    bound_by_prices,
    by_beam,
    choice_within,
    lower,
)
from dlsched.matching_placement.formulations import milp
from dlsched.matching_placement.formulations.ratio_programs import within
from dlsched.matching_placement.heuristics.local_search import improve
from dlsched.matching_placement.heuristics.warm_start import proven_optimal, total_of, warm
from dlsched.matching_placement.instance import Instance
from dlsched.matching_placement.objectives import objective_of
from dlsched.matching_placement.solution import Placement
from dlsched.solvers.milp import solve_milp
from dlsched.version import VERSION

COLUMNS = f"dlsched columns {VERSION}"
ROUGH = 5e-3
"""Relative gap from which on a program over the configurations held is worth its time."""
MANY = 1000
"""Number of jobs times types from which on that program runs before the prices are optimal."""
_LESS = 0.5
"""Share of a slack with too many labels, up to which another search is worth a try."""
_MORE = 4.0  # factor of the slack from program to program; smaller than that of the search
_NODES = 100  # of that program


def run_columns(instance: Instance, search: Search[Placement]) -> TerminationStatus:
    """Column generation, then the search within its gap; a node is a round, or a job in which labels are extended.

    If the search has too many labels, HiGHS goes on with MILPs over the configurations that can matter.
    """
    warm(instance, search)
    return objective_of(instance).run_columns(instance, search)


def by_prices(instance: Instance, search: Search[Placement]) -> TerminationStatus:
    """``columns`` of a sum."""
    data = arrays(instance)

    def node() -> None:
        search.tick(1)

    def proven(prices: Prices) -> None:
        certificate = bounds.price_certificate(instance, data, prices)
        search.prove(certificate.value, source="certificate", certificate=certificate)

    start = counts_of(instance, search.incumbent)
    pool = first_pool(data, start)
    generate = partial(
        generate_columns, data, start, pool=pool, tick=search.tick, step=node, budget=search.budget, proven=proven
    )
    rough = generate(close=ROUGH)
    if data.jobs * data.types >= MANY:
        _among_held(instance, data, pool, rough, search)
    prices = generate(held=rough)
    slack = total_of(instance, search) - prices.bound
    if slack > CLOSE * prices.bound:
        found = cheapest_within(pool.listed(prices, slack), prices, slack, width=WIDTH, tick=search.tick)
        if found is not None:
            search.offer(placement(instance, improve(data, found, search.tick)), source="beam")

    def close() -> Closed:
        return close_gap(
            pool.pricing,
            prices,
            total_of(instance, search),
            tick=node,
            proven=lambda bound: search.prove(data.costs.objective(bound), source=COLUMNS),
        )

    closed = close()
    if (
        closed.left is not None
    ):  # the slack tried is that of the incumbent, or on the way there: a better one needs less
        found = search_beam(pool.pricing, prices, total_of(instance, search), tick=search.tick)
        if found is not None:
            search.offer(placement(instance, improve(data, found, search.tick)), source="beam")
        if total_of(instance, search) - prices.bound < _LESS * closed.left:
            closed = close()
    if closed.counts is not None:
        search.offer(placement(instance, closed.counts), source=COLUMNS)
    if closed.left is None:
        return proven_optimal(search, COLUMNS)
    _among_held(instance, data, pool, prices, search)
    return _by_programs(instance, data, pool, prices, closed.left, search)


def _among_held(instance: Instance, data: Arrays, pool: Pool, prices: Prices, search: Search[Placement]) -> None:
    """Offer the best placement of the configurations held that HiGHS finds in some nodes, and what local search makes of it."""
    columns = [each.counts for each in pool.listed(prices, total_of(instance, search) - prices.bound)]
    total = sum(map(len, columns))
    if search.proven or not all(map(len, columns)) or total > min(milp.LARGEST, milp.LARGEST_CELLS // data.types):
        return
    search.report(f"HiGHS on {total} configurations")
    formulation = milp.build_milp(instance, columns=columns, tick=search.tick)
    nodes = _NODES if search.left.nodes is None else min(_NODES, search.left.nodes)
    outcome = solve_milp(formulation.model, solver="highs", limits=replace(search.left, nodes=nodes))
    search.budget.nodes += outcome.nodes or 0
    if outcome.values is None:
        return
    found = formulation.decode(outcome.values)
    if not search.violations(found):
        search.offer(found, source=outcome.solver)
        counts = improve(data, counts_of(instance, found), search.tick)
        search.offer(placement(instance, counts), source="local-search")


def _by_programs(
    instance: Instance, data: Arrays, pool: Pool, prices: Prices, slack: float, search: Search[Placement]
) -> TerminationStatus:
    """Solve MILPs over the configurations within a growing slack; other choices cost more than bound plus slack.

    ``slack`` had too many labels. The first program has a part of it, larger than the slack searched; none
    is above the gap.
    """
    slack /= _MORE
    while not search.proven:
        slack = min(slack, max(0.0, total_of(instance, search) - prices.bound))
        try:
            columns = [each.counts for each in columns_within(pool.pricing, prices, slack, search.tick)]
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
        beyond = data.costs.objective(prices.beyond(slack))
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
        if slack >= (total_of(instance, search) - prices.bound) * (1 - CLOSE):
            search.say(f"{outcome.solver} had every configuration that can matter, and its bound proves less")
            return TerminationStatus.FEASIBLE
        slack *= _MORE
    return TerminationStatus.OPTIMAL


def by_thresholds(instance: Instance, search: Search[Placement]) -> TerminationStatus:
    """Find prices, then search thresholds between their bound and the incumbent; a node is a threshold.

    If the search has too many labels, HiGHS chooses among the configurations that keep the threshold.
    """
    data = arrays(instance)

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
    return proven_optimal(search, COLUMNS)
