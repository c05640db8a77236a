"""What a search makes of a solver's answer."""

from typing import Any

from dlsched.core.errors import SolverError
from dlsched.core.gap import meets
from dlsched.core.search import CONTRADICTION, Search
from dlsched.core.status import TerminationStatus
from dlsched.solvers.outcome import Outcome


def conclude(search: Search, outcome: Outcome, found: Any, unit: float = 1.0) -> TerminationStatus:
    """Take a solver's answer: the decoded solution (None without one), its bound times ``unit``, its reason to stop.

    Raises
    ------
    SolverError
        It calls infeasible what the checker does not, or its solution is rejected.
    """
    search.solver_version = outcome.solver
    search.nodes += outcome.nodes or 0
    search.say(outcome.message)
    if outcome.status is TerminationStatus.INFEASIBLE:
        raise SolverError(
            f"{CONTRADICTION}: {outcome.solver} and the checker disagree: infeasible, but a solution is held"
        )
    if found is not None:
        search.offer(found, source=outcome.solver)
    if outcome.bound is not None:
        search.prove(outcome.bound * unit, source=outcome.solver)
    proven = search.objective is not None and search.bound is not None and meets(search.objective, search.bound)
    if outcome.status is TerminationStatus.OPTIMAL and not proven:
        search.say(f"{outcome.solver} calls it optimal; its bound proves less")
        return TerminationStatus.FEASIBLE
    return outcome.status
