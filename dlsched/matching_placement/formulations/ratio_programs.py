"""Minimum of the largest ratio by integer programs: a solver decides which thresholds can be kept.

Each decision is a program over configurations without an objective (``formulations.milp``, ``within``). Its
numbers are whole, so that CP-SAT can solve it too, and no solver's tolerance blurs two ratios that are near
each other.
"""

from collections.abc import Sequence

import numpy as np

from dlsched.core.errors import SolverError
from dlsched.core.limits import TooMany
from dlsched.core.search import Search
from dlsched.core.status import TerminationStatus
from dlsched.matching_placement.arrays import Arrays, Counts, arrays, counts_of
from dlsched.matching_placement.configurations.listing import configurations
from dlsched.matching_placement.configurations.thresholds import HAIR
from dlsched.matching_placement.formulations.milp import LARGEST, build_milp, require_size
from dlsched.matching_placement.instance import Instance
from dlsched.matching_placement.solution import Placement
from dlsched.solvers.milp import solve_milp
from dlsched.solvers.outcome import Outcome


def by_programs(instance: Instance, search: Search[Placement]) -> TerminationStatus:
    """Bisect the ratios that configurations can have, below the incumbent's, until none is left in between.

    Raises
    ------
    UsageError
        More columns than ``build_milp`` takes.
    """
    data = arrays(instance)
    require_size(data, None, search.tick)
    listed = [configurations(data, job) for job in range(data.jobs)]
    ratios = np.unique(np.concatenate([data.cost(job, counts) for job, counts in enumerate(listed)]))
    held = data.total(counts_of(instance, search.incumbent))
    ratios = ratios[ratios < held * (1 - HAIR)]
    first, last = 0, len(ratios)  # ratios[last] can be kept, or is the incumbent's; those before first cannot
    middle = last - 1
    while first < last:
        outcome = _asked(instance, data, listed, float(ratios[middle]), search)
        if outcome.status is TerminationStatus.INFEASIBLE:
            first = middle + 1
            search.prove(float(ratios[first]) if first < len(ratios) else held, source=outcome.solver)
        elif outcome.values is not None:
            last = middle
        else:
            search.say(outcome.message)
            return outcome.status
        middle = (first + last) // 2
    if search.proven:
        return TerminationStatus.OPTIMAL
    assert search.objective is not None
    search.prove(search.objective, source=search.solver_version or "no smaller ratio")
    return TerminationStatus.OPTIMAL


def within(instance: Instance, data: Arrays, listed: Sequence[Counts], search: Search[Placement]) -> Counts | None:
    """Return a placement of the configurations listed, by HiGHS, or None: there is none.

    Raises
    ------
    TooMany
        A program cannot take that many configurations.
    SolverError
        HiGHS decides neither way.
    """
    if sum(map(len, listed)) > LARGEST:
        raise TooMany
    outcome = _asked(instance, data, listed, np.inf, search)
    if outcome.status is TerminationStatus.INFEASIBLE:
        return None
    if outcome.values is None:
        raise SolverError(f"{outcome.solver} ended with {outcome.status} {outcome.message}")
    return counts_of(instance, search.incumbent)


def _asked(
    instance: Instance, data: Arrays, listed: Sequence[Counts], rho: float, search: Search[Placement]
) -> Outcome:
    """Ask a solver for a placement within a ratio, and offer the search the placement found."""
    columns = [counts[data.cost(job, counts) <= rho] for job, counts in enumerate(listed)]
    search.report(f"{search.solver or 'highs'} on {sum(map(len, columns))} configurations")
    built = build_milp(instance, columns=columns, drop_dominated=True, within=True, tick=search.tick)
    outcome = solve_milp(built.model, solver=search.solver or "highs", limits=search.left)
    search.budget.nodes += outcome.nodes or 0
    search.solver_version = outcome.solver
    if outcome.values is not None:
        search.offer(built.decode(outcome.values), source=outcome.solver)
    return outcome
