"""How a run ended: the status of a method, or of what stopped it."""

from collections.abc import Callable

from dlsched.core.budget import Stopped
from dlsched.core.errors import SolverError
from dlsched.core.imports import import_failure
from dlsched.core.result import SolutionT
from dlsched.core.search import Search
from dlsched.core.status import TerminationStatus


def status_of_run(
    search: Search[SolutionT], infeasible: Callable[[], str | None], follow: Callable[[], TerminationStatus]
) -> TerminationStatus:
    """Run a method, unless counting proves infeasibility; return how it ended, errors and interrupts included."""
    try:
        reason = infeasible()
        if reason is not None:
            search.message = reason
            return TerminationStatus.INFEASIBLE
        status = follow()
    except Stopped as stopped:
        status = stopped.status
    except KeyboardInterrupt as interrupt:
        status = TerminationStatus.INTERRUPTED
        search.say(str(interrupt))
    except SolverError as error:
        status, search.message, search.failure = TerminationStatus.SOLVER_ERROR, str(error), type(error)
    except ImportError as error:
        raise import_failure(error) from None
    except MemoryError as error:
        status = TerminationStatus.MEMORY_LIMIT
        search.say(str(error) or "out of memory")
    kept = status in (TerminationStatus.SOLVER_ERROR, TerminationStatus.INFEASIBLE)
    return TerminationStatus.OPTIMAL if search.proven and not kept else status
