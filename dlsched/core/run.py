"""Run one method of a family on an instance: every result that dlsched returns is built here."""

from functools import partial
from typing import Any

from dlsched.core.errors import SolverError, UsageError, not_installed
from dlsched.core.family import Family, Method
from dlsched.core.instance import InstanceFile
from dlsched.core.limits import Limits, ProgressCallback
from dlsched.core.result import Result
from dlsched.core.search import Search, Stopped
from dlsched.core.status import TerminationStatus

_KEPT = (TerminationStatus.SOLVER_ERROR, TerminationStatus.INFEASIBLE)
"""Ends that a bound which meets the objective does not turn into ``optimal``."""


def run_method(
    family: Family,
    instance: InstanceFile,
    method: str | Method,
    *,
    limits: Limits | None = None,
    seed: int = 0,
    solver: str | None = None,
    start: Any = None,
    progress: ProgressCallback | None = None,
) -> Result[Any]:
    """Run a method, named or its record; a limit, Ctrl-C or a failing solver ends it with what it holds, checked.

    Raises
    ------
    UsageError
        No such method, a solver it cannot use, a start that breaks a rule, or a size it refuses.
    SolverMissingError
        Its solver is not installed.
    """
    chosen = method if isinstance(method, Method) else find_method(family, method)
    if solver is not None and solver not in chosen.solvers:
        allowed = ", ".join(chosen.solvers) or "none, it needs no solver"
        raise UsageError(f"solver of method {chosen.name}: found {solver!r}, allowed: {allowed}")
    limits = limits or Limits()
    if not isinstance(limits, Limits):
        raise UsageError(f"limits: found {limits!r}, allowed: Limits(time_s=...)")
    if not isinstance(seed, int) or seed < 0:
        raise UsageError(f"seed: found {seed!r}, allowed: an integer >= 0")
    if isinstance(start, Result):
        start = start.solution
    if start is not None and not hasattr(start, "as_data"):
        raise UsageError(f"start: found {type(start).__name__}, allowed: a solution or a result of the family")
    search = Search(
        objective=partial(family.objective, instance),
        check=partial(family.check, instance),
        sense=family.sense,
        constant=family.constant(instance),
        limits=limits,
        seed=seed,
        solver=solver,
        start=start,
        progress=progress,
    )
    if start is not None:
        violations = search.violations(start)
        if violations:
            raise UsageError(f"start: found a solution that breaks {violations[0]}, allowed: a feasible one")
    try:
        status = chosen.run(instance, search)
    except Stopped as stopped:
        status = stopped.status
    except KeyboardInterrupt as interrupt:
        status = TerminationStatus.INTERRUPTED
        search.say(str(interrupt))
    except SolverError as error:
        status, search.message = TerminationStatus.SOLVER_ERROR, str(error)
    except ImportError as error:
        raise not_installed(error) from None
    except MemoryError as error:
        status = TerminationStatus.MEMORY_LIMIT
        search.say(str(error) or "out of memory")
    if search.proven and status not in _KEPT:
        status = TerminationStatus.OPTIMAL
    result: Result[Any] = Result(
        family=family.name,
        instance=instance,
        method=chosen.name,
        status=status,
        sense=family.sense,
        objective=search.objective,
        constant=search.constant,
        bound=search.bound,
        bound_source=search.bound_source,
        runtime_s=search.elapsed_s,
        solver=search.solver_version,
        seed=seed if chosen.seeded else None,
        limits=limits,
        certificate=search.certificate,
        solution=search.solution,
        figures={} if search.solution is None else family.figures(instance, search.solution),
        message=search.message,
    )
    return result


def find_method(family: Family, name: str) -> Method:
    """Return the method of that name.

    Raises
    ------
    UsageError
        There is none; the message lists those there are.
    """
    name = family.aliases.get(name, name)
    if name not in family.methods:
        raise UsageError(f"method: found {name!r}, allowed: {', '.join(family.methods)}")
    return family.methods[name]
