"""The methods of matching_placement by name, as ``solve`` and the command line run them."""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from dlsched.certificates import DualsCertificate
from dlsched.core.budget import Stopped
from dlsched.core.errors import SolverError, UsageError
from dlsched.core.family import Guarantee, Method, Run
from dlsched.core.methods import bound_by, heuristic
from dlsched.core.search import Search
from dlsched.core.status import TerminationStatus
from dlsched.matching_placement import bounds, guarantees, heuristics
from dlsched.matching_placement.arrays import Arrays, Counts, arrays, counts_of, placement
from dlsched.matching_placement.closing import GROWTH, beyond_slack, close_gap, columns_within, search_beam
from dlsched.matching_placement.columns import CLOSE, Prices, generate_columns
from dlsched.matching_placement.instance import Instance
from dlsched.matching_placement.markets import all_markets
from dlsched.matching_placement.moves import improve
from dlsched.matching_placement.pricing import TooMany
from dlsched.matching_placement.sampling import DRAWS, sample_markets
from dlsched.matching_placement.seeds import seeds
from dlsched.matching_placement.solution import Placement
from dlsched.matching_placement.states import additions, solve_by_states, state_bytes
from dlsched.solvers.conclude import conclude, solve_and_conclude
from dlsched.solvers.formulation import Formulation
from dlsched.version import VERSION

COLUMNS = f"dlsched columns {VERSION}"
DP = f"dlsched dp {VERSION}"
FEW_ADDITIONS = 2_000_000
"""Up to here ``exact`` takes the dynamic program, which needs some milliseconds."""
MOST_ADDITIONS = 20_000_000_000
MOST_BYTES = 2**29
_FEASIBILITY = 1e-9  # of SCIP; shares of a batch and times stand in one row, and no unit suits both


def run_exact(instance: Instance, search: Search[Placement]) -> TerminationStatus:
    """The dynamic program where it is small, else column generation and the search that closes its gap."""
    size = additions(arrays(instance), most=FEW_ADDITIONS)
    if size <= FEW_ADDITIONS:
        search.say(f"dp, which needs at most {size:.3g} additions here")
        status = run_dp(instance, search)
        _certify(instance, search)
        return status
    search.say(f"columns, since dp could need {size:.3g} additions")
    return run_columns(instance, search)


def _certify(instance: Instance, search: Search[Placement]) -> None:
    """Add the certificate of ``configuration_lp`` to an optimum that is proven, where its linear programs can be solved."""
    try:
        certificate = _configuration_lp(instance, search)
    except (SolverError, UsageError) as error:
        search.say(f"no certificate: {error}")
    else:
        search.prove(certificate.value, source="certificate", certificate=certificate)


def run_dp(instance: Instance, search: Search[Placement]) -> TerminationStatus:
    """Dynamic programming over the workers left of each type; a node is a job."""
    data = arrays(instance)
    needed, sums = state_bytes(data), additions(data, most=MOST_ADDITIONS)
    if needed > MOST_BYTES or sums > MOST_ADDITIONS:
        raise UsageError(
            f"method dp would need {needed / 2**30:.3g} GiB for its states and {sums:.3g} additions or more, "
            f"allowed: {MOST_BYTES / 2**30:.1f} GiB and {MOST_ADDITIONS:.0e}; use exact"
        )
    _warm(instance, search)
    counts = solve_by_states(data, step=lambda: search.tick(1), tick=search.tick)
    assert counts is not None
    search.offer(placement(instance, counts), source=DP)
    assert search.objective is not None
    search.prove(search.objective, source=DP)
    return TerminationStatus.OPTIMAL


def run_columns(instance: Instance, search: Search[Placement]) -> TerminationStatus:
    """Column generation, then the search within its gap; a node is a round, or a job in which labels are extended.

    Where the search has too many labels, MILPs over the configurations that can matter, by HiGHS, go on.
    """
    data = arrays(instance)
    _warm(instance, search)
    start = counts_of(instance, search.incumbent)

    def proven(prices: Prices) -> None:
        certificate = bounds.price_certificate(instance, data, prices)
        if prices.exact:
            search.prove(certificate.value, source="certificate", certificate=certificate)
        else:
            search.prove(certificate.value, source=COLUMNS)

    def offer(counts: Counts, source: str) -> None:
        search.offer(placement(instance, counts), source=source)

    def total() -> float:
        assert search.objective is not None
        return search.objective * data.jobs

    prices = generate_columns(
        data, start, tick=search.tick, step=lambda: search.tick(1), left=_left(search), proven=proven
    )
    if total() - prices.bound <= CLOSE * total():
        return TerminationStatus.OPTIMAL
    found = search_beam(data, prices, total(), tick=search.tick)
    if found is not None:
        offer(improve(data, found, tick=search.tick), "beam")
    closed = close_gap(
        data,
        prices,
        total(),
        tick=lambda: search.tick(1),
        proven=lambda bound: search.prove(bound / data.jobs, source=COLUMNS),
    )
    if closed.counts is not None:
        offer(closed.counts, COLUMNS)
    if closed.left is None:
        assert search.objective is not None
        search.prove(search.objective, source=COLUMNS)
        return TerminationStatus.OPTIMAL
    return _by_programs(instance, data, prices, closed.left, search)


def _by_programs(
    instance: Instance, data: Arrays, prices: Prices, slack: float, search: Search[Placement]
) -> TerminationStatus:
    """Solve MILPs over the configurations within a growing slack; what uses others costs more than the bound and the slack."""
    from dlsched.matching_placement.formulations.milp import LARGEST, build_milp
    from dlsched.solvers.milp import solve_milp

    while not search.proven:
        try:
            columns = [each.counts for each in columns_within(data, prices, slack, search.tick)]
        except TooMany:
            columns = []
        total = sum(map(len, columns))
        if not 0 < total <= LARGEST:
            search.say("too many labels for the search, and too many configurations for a program")
            return TerminationStatus.FEASIBLE
        search.report(f"HiGHS on {total} configurations")
        problem, decode = build_milp(instance, columns=columns, tick=search.tick)
        outcome = solve_milp(problem, solver="highs", limits=search.left)
        search.budget.nodes += outcome.nodes or 0
        search.solver_version = outcome.solver
        if outcome.values is not None:
            search.consider(decode(outcome.values), source=outcome.solver)
        beyond = beyond_slack(data, prices, slack) / data.jobs
        bound = beyond if outcome.status is TerminationStatus.INFEASIBLE else outcome.bound
        if bound is not None:
            search.prove(min(bound, beyond), source=f"{COLUMNS} and {outcome.solver}")
        assert search.objective is not None
        if prices.bound + slack >= search.objective * data.jobs and not search.proven:
            search.say(f"{outcome.solver} had every configuration that can matter, and its bound proves less")
            return TerminationStatus.FEASIBLE
        if outcome.status not in (TerminationStatus.OPTIMAL, TerminationStatus.INFEASIBLE) and not search.proven:
            search.say(outcome.message)
            return outcome.status
        slack *= GROWTH
    return TerminationStatus.OPTIMAL


def run_milp(instance: Instance, search: Search[Placement]) -> TerminationStatus:
    """The program over all configurations by HiGHS, CBC, SCIP or CP-SAT."""
    from dlsched.matching_placement.formulations.milp import build_milp

    return _by_solver(instance, search, partial(build_milp, drop_dominated=True))


def run_assignment(instance: Instance, search: Search[Placement]) -> TerminationStatus:
    """The plain assignment model, worker by worker, by HiGHS, CBC or SCIP."""
    from dlsched.matching_placement.formulations.assignment import build_assignment

    return _by_solver(instance, search, build_assignment)


def _by_solver(
    instance: Instance, search: Search[Placement], build: Callable[..., tuple[Any, Any]]
) -> TerminationStatus:
    _warm(instance, search)
    return solve_and_conclude(search, Formulation(*build(instance, most_s=_total(instance, search), tick=search.tick)))


def _total(instance: Instance, search: Search[Placement]) -> float:
    """Twice the seconds of all jobs of the incumbent: no better placement has a job that takes as long; solvers need room."""
    assert search.objective is not None
    return 2 * search.objective * len(instance.jobs)


def run_minlp(instance: Instance, search: Search[Placement]) -> TerminationStatus:
    """The non-linear integer program by SCIP."""
    from dlsched.matching_placement.formulations.minlp import build_minlp
    from dlsched.solvers.minlp import solve_minlp

    _warm(instance, search)
    model, decode, unit_s = build_minlp(instance, most_s=_total(instance, search), tick=search.tick)
    outcome = solve_minlp(model, limits=search.left, terms=2 * len(instance.jobs), feasibility=_FEASIBILITY)
    return conclude(search, outcome, Formulation(model, decode, unit_s))


def run_market(instance: Instance, search: Search[Placement]) -> TerminationStatus:
    """The market of every category; a node is one, and a limit keeps the best so far."""
    data, least = arrays(instance), math.inf
    with _an_answer_when_stopped(instance, search):
        for counts in all_markets(data, tick=lambda: search.tick(1), within=search.tick):
            total = data.total(counts)
            if total < least:
                least = total
                search.offer(placement(instance, counts), source="market")
    return TerminationStatus.NO_SOLUTION if search.solution is None else TerminationStatus.FEASIBLE


def run_sampled_market(instance: Instance, search: Search[Placement]) -> TerminationStatus:
    """Markets of categories drawn from the seed; a node is a draw, and a limit keeps the best so far."""
    with _an_answer_when_stopped(instance, search):
        sample_markets(
            instance,
            draws=DRAWS,
            generator=search.generator,
            tick=lambda: search.tick(1),
            within=search.tick,
            found=lambda held: search.offer(held, source="sampled-market"),
        )
    return TerminationStatus.NO_SOLUTION if search.solution is None else TerminationStatus.FEASIBLE


def _warm(instance: Instance, search: Search[Placement]) -> None:
    """Hold the local search's answer before anything longer starts; on the way, what is sooner found."""
    _soon(instance, search)
    data = arrays(instance)
    counts = heuristics.greedy(data, seeds(data), tick=search.tick)
    search.offer(placement(instance, counts), source="marginal")
    search.offer(placement(instance, improve(data, counts, tick=search.tick)), source="local-search")


def _soon(instance: Instance, search: Search[Placement]) -> None:
    search.offer(heuristics.soon(instance), source="fastest-first")


@contextmanager
def _an_answer_when_stopped(instance: Instance, search: Search[Placement]) -> Iterator[None]:
    """Hold a quick answer where a limit or Ctrl-C comes before any other."""
    try:
        yield
    except (Stopped, KeyboardInterrupt):
        if search.solution is None:
            _soon(instance, search)
            search.say("stopped before the first market; what is held is the answer of a faster rule")
        raise


def _left(search: Search[Placement]) -> Callable[[], float | None]:
    return lambda: search.left.time_s


def run_beam(instance: Instance, search: Search[Placement]) -> TerminationStatus:
    """The beam search; ``heuristic`` hands it its clock."""
    function = partial(heuristics.beam, left=_left(search))
    return heuristic("beam", function, heuristics.soon)(instance, search)


def _configuration_lp(instance: Instance, search: Search[Placement]) -> DualsCertificate:
    return bounds.configuration_lp(instance, tick=search.tick, left=_left(search))


def _relaxation(instance: Instance, search: Search[Placement]) -> DualsCertificate:
    return bounds.relaxation(instance, tick=search.tick, left=_left(search))


def _exact(name: str, run: Run[Instance, Placement], *solvers: str) -> Method[Instance, Placement]:
    return Method(name, "exact", run, solvers=solvers, warm=_warm)


def _heuristic(
    name: str, function: Callable[..., Placement | None], guarantee: Guarantee[Instance] | None = None
) -> Method[Instance, Placement]:
    return Method(name, "heuristic", heuristic(name, function, heuristics.soon), guarantee)


METHODS = {
    method.name: method
    for method in (
        _exact("exact", run_exact),
        _exact("columns", run_columns),
        _exact("dp", run_dp),
        _exact("milp", run_milp, "highs", "cbc", "scip", "cpsat"),
        _exact("assignment", run_assignment, "highs", "cbc", "scip"),
        _exact("minlp", run_minlp, "scip"),
        Method("beam", "heuristic", run_beam),
        _heuristic("local-search", heuristics.local_search, guarantees.MARGINAL),
        _heuristic("marginal", heuristics.marginal, guarantees.MARGINAL),
        Method("market", "heuristic", run_market, warm=_soon),
        Method("sampled-market", "heuristic", run_sampled_market, seeded=True, warm=_soon),
        _heuristic("equal", heuristics.equal),
        Method("fastest-first", "heuristic", heuristic("fastest-first", heuristics.fastest_first)),
        Method("configuration-lp", "bound", bound_by(_configuration_lp)),
        Method("relaxation", "bound", bound_by(_relaxation)),
    )
}
