"""The exact methods of matching_placement: dynamic programming, column generation with the closing of its gap, and models."""

from dlsched.core.errors import SolverError, UsageError
from dlsched.core.limits import no_tick
from dlsched.core.search import Search
from dlsched.core.status import TerminationStatus
from dlsched.matching_placement import bounds
from dlsched.matching_placement.arrays import arrays, placement
from dlsched.matching_placement.configurations.states import additions, solve_by_states, state_bytes
from dlsched.matching_placement.exact.columns import run_columns
from dlsched.matching_placement.formulations import milp
from dlsched.matching_placement.formulations.assignment import build_assignment
from dlsched.matching_placement.formulations.minlp import build_minlp
from dlsched.matching_placement.heuristics.warm_start import proven_optimal, total_of, warm
from dlsched.matching_placement.instance import Instance
from dlsched.matching_placement.objectives import objective_of
from dlsched.matching_placement.solution import Placement
from dlsched.solvers.conclude import conclude, solve_and_conclude
from dlsched.solvers.minlp import solve_minlp
from dlsched.version import VERSION

DP = f"dlsched dp {VERSION}"
FEW_ADDITIONS = 2_000_000
"""Largest number of additions for which ``exact`` uses the dynamic program: some milliseconds."""
MOST_ADDITIONS = 20_000_000_000
MOST_BYTES = 2**29
_FEASIBILITY = 1e-9  # for SCIP: rows mix shares of a batch and times, and no unit suits both


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
    return proven_optimal(search, DP)


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
    most_s = _roomy(instance, search) * arrays(instance).costs.equal
    built = build_assignment(instance, most_s=most_s, tick=search.tick)
    return solve_and_conclude(search, built)


def run_minlp(instance: Instance, search: Search[Placement]) -> TerminationStatus:
    """The non-linear integer program by SCIP."""
    warm(instance, search)
    formulation = build_minlp(instance, most_s=_roomy(instance, search), tick=search.tick)
    outcome = solve_minlp(formulation.model, limits=search.left, terms=2 * len(instance.jobs), feasibility=_FEASIBILITY)
    return conclude(search, outcome, formulation)


def _roomy(instance: Instance, search: Search[Placement]) -> float:
    """Twice the incumbent's seconds, longer than any job of a better placement: solvers need room."""
    return 2 * total_of(instance, search)
