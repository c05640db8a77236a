"""The exact methods of matching_placement: dynamic programming, column generation with the closing of its gap, and models."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from dlsched.algorithms.count_vectors import cheapest_choice, number_of_states
from dlsched.columns.generation import CLOSE, Pool, generate
from dlsched.columns.slack import WIDTH, Closed, Prices, cheapest_within, close_gap, columns_within, search_beam
from dlsched.core.errors import SolverError, UsageError
from dlsched.core.limits import Tick, TooMany, no_tick
from dlsched.core.search import Search
from dlsched.core.status import Sense, TerminationStatus
from dlsched.matching_placement import bounds
from dlsched.matching_placement.arrays import Arrays, Counts, Floats, arrays, counts_of, placement
from dlsched.matching_placement.configurations.pricing import first_pool, first_prices
from dlsched.matching_placement.configurations.thresholds import (
    Level,
    alone,
    bound_by_thresholds,
    by_beam,
    choice_within,
    lower,
)
from dlsched.matching_placement.formulations import milp
from dlsched.matching_placement.formulations.assignment import build_assignment, build_minlp
from dlsched.matching_placement.formulations.milp import build_milp, configurations, count_configurations, within
from dlsched.matching_placement.formulations.priced import build_priced
from dlsched.matching_placement.heuristics import MANY_PAIRS, beam, improve, total_of, warm
from dlsched.matching_placement.instance import Instance
from dlsched.matching_placement.objectives import objective_of
from dlsched.matching_placement.rounding import rounded, tatonnement
from dlsched.matching_placement.solution import Placement
from dlsched.solvers.conclude import conclude, solve_and_conclude
from dlsched.solvers.formulation import Formulation, Parametric
from dlsched.solvers.milp import solve_milp
from dlsched.solvers.minlp import solve_minlp
from dlsched.version import VERSION

if TYPE_CHECKING:
    import pulp


COLUMNS = f"dlsched columns {VERSION}"
ROUGH = 5e-3
"""Relative gap of prices below which a program over the pool's configurations is worth its time."""
MANY = 1000
"""Number of jobs times types from which on that program runs before the prices are optimal."""
MOST_PAIRS = 100_000
"""Number of jobs times types above which there is no column generation: its linear programs take minutes and more each."""
_LESS = 0.5
"""Share of a slack with too many labels, up to which another search is worth a try."""
_MORE = 4.0  # factor of the slack from program to program; smaller than that of the search
_NODES = 100  # of that program, which is to be quick


def run_columns(instance: Instance, search: Search[Placement]) -> TerminationStatus:
    """Column generation, then the search within its gap; a node is a round, or a job in which labels are extended.

    With ``MANY_PAIRS`` jobs times types, prices and rounding come first, and with ``MOST_PAIRS`` nothing after them.
    """
    warm(instance, search)
    data = arrays(instance)
    pairs = data.jobs * data.types
    if pairs > MANY_PAIRS:
        _by_rounding(instance, data, search)
    if pairs > MOST_PAIRS and not search.proven:
        search.say(f"prices and rounding alone, as {data.jobs} jobs are too many for column generation")
        return TerminationStatus.FEASIBLE
    return objective_of(instance).run_columns(instance, search)


def _by_rounding(instance: Instance, data: Arrays, search: Search[Placement]) -> None:
    """Offer a placement rounded from prices, and of a sum prove what the prices prove."""
    start = counts_of(instance, search.incumbent)
    proving, prices, counts = tatonnement(data, start, search.tick)
    if not data.bottleneck:
        certificate = bounds.proven_by(instance, data, proving)
        search.prove(certificate.value, source="certificate", certificate=certificate)
    search.offer(placement(instance, rounded(data, start, prices, counts, search.tick)), source="rounding")


def by_prices(instance: Instance, search: Search[Placement]) -> TerminationStatus:
    """``columns`` of a sum."""
    data = arrays(instance)

    node = partial(search.tick, 1)

    def record_bound(prices: Prices) -> None:
        certificate = bounds.price_certificate(instance, data, prices)
        search.prove(certificate.value, source="certificate", certificate=certificate)

    start = counts_of(instance, search.incumbent)
    pool = first_pool(data, start)
    prices_of = partial(generate, pool, tick=search.tick, step=node, budget=search.budget, proven=record_bound)
    rough = prices_of(guess=first_prices(data, data.total(start)), close=ROUGH)
    if data.jobs * data.types >= MANY:
        _among_columns(instance, data, pool, rough, search)
    prices = prices_of(known=rough)
    slack = total_of(instance, search) - prices.bound
    if slack > CLOSE * prices.bound:
        counts = cheapest_within(pool.listed(prices, slack), prices, slack, width=WIDTH, tick=search.tick)
        if counts is not None:
            search.offer(placement(instance, improve(data, counts, search.tick)), source="beam")

    def close() -> Closed:
        return close_gap(
            pool.pricing,
            prices,
            total_of(instance, search),
            tick=node,
            proven=lambda bound: search.prove(data.costs.objective(bound), source=COLUMNS),
        )

    closed = close()
    # the slack tried is at most the incumbent's: a better incumbent needs less
    if closed.left is not None:
        counts = search_beam(pool.pricing, prices, total_of(instance, search), tick=search.tick)
        if counts is not None:
            search.offer(placement(instance, improve(data, counts, search.tick)), source="beam")
        if total_of(instance, search) - prices.bound < _LESS * closed.left:
            closed = close()
    if closed.counts is not None:
        search.offer(placement(instance, closed.counts), source=COLUMNS)
    if closed.left is None:
        return search.optimal(COLUMNS)
    _among_columns(instance, data, pool, prices, search)
    return _by_programs(instance, data, pool, prices, closed.left, search)


def _among_columns(instance: Instance, data: Arrays, pool: Pool, prices: Prices, search: Search[Placement]) -> None:
    """Offer the best placement of the pool's configurations that HiGHS finds in some nodes, and its local optimum."""
    columns = [each.counts for each in pool.listed(prices, total_of(instance, search) - prices.bound)]
    total = sum(map(len, columns))
    if search.proven or not all(map(len, columns)) or total > min(milp.LARGEST, milp.LARGEST_CELLS // data.types):
        return
    search.report(f"HiGHS on {total} configurations")
    formulation = milp.build_milp(instance, columns=columns, tick=search.tick)
    most_nodes = _NODES if search.left.nodes is None else min(_NODES, search.left.nodes)
    outcome = solve_milp(formulation.model, solver="highs", limits=replace(search.left, nodes=most_nodes))
    search.budget.nodes += outcome.nodes or 0
    if outcome.values is None:
        return
    solution = formulation.decode(outcome.values)
    if not search.violations(solution):
        search.offer(solution, source=outcome.solver)
        counts = improve(data, counts_of(instance, solution), search.tick)
        search.offer(placement(instance, counts), source="local-search")


def _by_programs(
    instance: Instance, data: Arrays, pool: Pool, prices: Prices, slack: float, search: Search[Placement]
) -> TerminationStatus:
    """Solve MILPs over the configurations within a slack that grows from one too large to search; others cost more."""
    # the first program is a factor below the slack with too many labels; it grows until it covers the gap
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
    """Find prices, then search thresholds between their bound and the incumbent (``thresholds``); a node is a threshold."""
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
        low, prices = bound_by_thresholds(data, data.total(start), tick=search.tick, budget=search.budget)
        certificate = bounds.threshold_certificate(instance, low, prices)
        search.prove(certificate.value, source="certificate", certificate=certificate)
        # few labels first, which find good placements fast; the second search proves
        few = by_beam(data, tick=search.tick)
        best = lower(data, start, low, few, tick=search.tick, budget=search.budget, better=offer)
        record_bound = partial(search.prove, source=COLUMNS)
        lower(data, best, low, choose, tick=search.tick, budget=search.budget, better=offer, proven=record_bound)
    except TooMany:
        certificate = bounds.threshold_certificate(instance, alone(data), np.zeros(data.types))
        search.prove(certificate.value, source="certificate", certificate=certificate)
        search.say("some job has too many configurations within a threshold")
        return TerminationStatus.FEASIBLE
    return search.optimal(COLUMNS)


DP = f"dlsched dp {VERSION}"


def state_bytes(data: Arrays) -> int:
    """Bytes that ``solve_by_states`` keeps."""
    return 8 * number_of_states(data.stock) * (data.jobs + 1)


def additions(data: Arrays, *, most: int | None = None) -> int:
    """Upper bound on the additions of ``solve_by_states``; some number above ``most`` if it exceeds that."""
    states, ways = number_of_states(data.stock), data.jobs  # every job that can be served has a configuration
    if most is not None and states * ways > most:
        return states * ways
    ways = 0
    for job in range(data.jobs):
        ways += count_configurations(data, job)
        if most is not None and states * ways > most:
            break
    return states * ways


def solve_by_states(data: Arrays, *, step: Tick = no_tick, tick: Tick = no_tick) -> Counts | None:
    """Optimal counts, shape (S, G), or None: no placement. ``step`` is called before every job."""

    def choices() -> Iterator[tuple[Counts, Floats]]:
        for job in range(data.jobs):
            step()
            counts = configurations(data, job)
            yield counts, data.cost(job, counts)

    combine = np.maximum if data.bottleneck else np.add
    chosen = cheapest_choice(data.stock, choices(), tick=tick, combine=combine)
    return None if chosen is None else np.array(chosen)


FEW_ADDITIONS = 2_000_000
"""Largest number of additions for which ``exact`` uses the dynamic program: measured, .03 s for a million, .04 s for four."""
MOST_ADDITIONS = 20_000_000_000  # of ``dp``: about a minute, as 34 million take .2 s and 170 million .3 s
MOST_BYTES = 2**29  # of the states of ``dp``
_FEASIBILITY = 1e-9  # of SCIP: rows mix shares of a batch and times, and no unit suits both


def run_exact(instance: Instance, search: Search[Placement]) -> TerminationStatus:
    """Run the dynamic program if it is small, else column generation and the search that closes its gap."""
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


def require_dp(instance: Instance) -> None:
    """Refuse instances with too many states (UsageError)."""
    data = arrays(instance)
    needed, sums = state_bytes(data), additions(data, most=MOST_ADDITIONS)
    if needed > MOST_BYTES or sums > MOST_ADDITIONS:
        raise UsageError(
            f"method dp would need {needed / 2**30:.3g} GiB for its states and {sums:.3g} additions or more, "
            f"allowed: {MOST_BYTES / 2**30:.1f} GiB and {MOST_ADDITIONS:.0e}; use exact"
        )


def run_dp(instance: Instance, search: Search[Placement]) -> TerminationStatus:
    """Dynamic programming over the workers left of each type; a node is a job."""
    data = arrays(instance)
    warm(instance, search)
    counts = solve_by_states(data, step=lambda: search.tick(1), tick=search.tick)
    assert counts is not None
    search.offer(placement(instance, counts), source=DP)
    return search.optimal(DP)


def require_milp(instance: Instance) -> None:
    """Refuse instances with more configurations than a program takes (UsageError)."""
    milp.require_size(arrays(instance), None, no_tick)


def run_milp(instance: Instance, search: Search[Placement]) -> TerminationStatus:
    """Solve the program over all configurations; for the largest ratio, one program for each threshold."""
    warm(instance, search)
    return objective_of(instance).run_milp(instance, search)


def by_one_program(instance: Instance, search: Search[Placement]) -> TerminationStatus:
    """The program of a sum."""
    most = 2 * total_of(instance, search)
    built = milp.build_milp(instance, drop_dominated=True, most=most, tick=search.tick)
    return solve_and_conclude(search, built)


def run_assignment(instance: Instance, search: Search[Placement]) -> TerminationStatus:
    """The plain assignment model, worker by worker, by a solver."""
    warm(instance, search)
    # twice the incumbent's total, longer than any job of a better placement: solvers need room
    most_s = 2 * total_of(instance, search) * arrays(instance).costs.equal
    built = build_assignment(instance, most_s=most_s, tick=search.tick)
    return solve_and_conclude(search, built)


def run_minlp(instance: Instance, search: Search[Placement]) -> TerminationStatus:
    """The non-linear integer program by SCIP."""
    warm(instance, search)
    formulation = build_minlp(instance, most_s=2 * total_of(instance, search), tick=search.tick)
    outcome = solve_minlp(formulation.model, limits=search.left, terms=2 * len(instance.jobs), feasibility=_FEASIBILITY)
    return conclude(search, outcome, formulation)


NONE = "none"
"""The cutoff of a model that holds all placements."""


def build(
    instance: Instance, *, prices: str | None = None, cutoff: str | None = None, complete: bool = False
) -> "Formulation[pulp.LpProblem, Placement]":
    """Build ``priced``, with the errors of ``formulations.priced.build_priced``; ``complete``: all placements, which is ``milp``.

    ``prices``: numbers by type, separated by blanks; None: those of column generation, at which few columns are left.
    ``cutoff``: an objective, or "none"; None: that of the beam search.
    """
    if complete:
        return build_milp(instance, complete=True)
    if prices is None or cutoff is None:
        default_prices, default_cutoff = default_parameters(instance)
        prices, cutoff = prices or " ".join(map(repr, default_prices)), cutoff or default_cutoff
    upto = None if cutoff == NONE else _read("cutoff", cutoff)
    built = build_priced(instance, [_read("prices", price) for price in prices.split()], upto)
    return replace(built, parameters={"prices": prices, "cutoff": cutoff})


PRICED = Parametric(build, ("prices", "cutoff"))
"""The builder of ``priced``."""


def default_parameters(instance: Instance) -> tuple[list[float], str]:
    """Return prices of the types, and a cutoff in words: the objective of a good placement, none if there is no placement."""
    data, good = arrays(instance), beam(instance)
    if good is None:
        return [0.0] * data.types, NONE
    start = counts_of(instance, good)
    try:
        if data.bottleneck:
            _, prices = bound_by_thresholds(data, data.total(start))
        else:
            prices = generate(first_pool(data, start), guess=first_prices(data, data.total(start))).prices
    except TooMany:
        prices = np.zeros(data.types)
    return prices.tolist(), repr(float(objective_of(instance).value(instance, good)))


def _read(where: str, word: str) -> float:
    """A parameter as a number; UsageError naming it if it is none."""
    try:
        return float(word)
    except ValueError:
        raise UsageError(where=where, found=repr(word), allowed="numbers") from None
