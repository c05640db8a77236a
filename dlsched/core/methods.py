"""Plain functions as methods: a heuristic, and a bound that comes with a certificate."""

import inspect
from collections.abc import Callable

from dlsched.core.budget import Stopped
from dlsched.core.errors import PolicyError
from dlsched.core.family import InstanceT, Run
from dlsched.core.result import Certificate, SolutionT
from dlsched.core.search import Search
from dlsched.core.status import TerminationStatus


def heuristic(
    name: str,
    function: Callable[..., SolutionT | None],
    quick: Callable[[InstanceT], SolutionT | None] | None = None,
    *,
    early: bool = False,
) -> Run[InstanceT, SolutionT]:
    """Run a plain heuristic as a method.

    A function with a parameter ``tick`` is handed ``Search.tick``, which stops it at a limit; then the answer of ``quick``, a
    faster heuristic, is held instead. Limits do not concern the others. One with a parameter ``step`` is handed
    ``Search.report``, which tells how far it has come. ``early``: where time is limited, ``quick`` comes first, since of
    large instances it takes a while too. A ``PolicyError`` of the function says why it has no answer.
    """
    known = inspect.signature(function).parameters

    def run(instance: InstanceT, search: Search[SolutionT]) -> TerminationStatus:
        called = {"tick": search.tick, "step": search.report}
        instead = quick(instance) if quick is not None and early and search.budget.limits.time_s is not None else None
        try:
            found = function(instance, **{name: each for name, each in called.items() if name in known})
        except PolicyError as error:
            search.message = str(error)
            return TerminationStatus.NO_SOLUTION
        except (Stopped, KeyboardInterrupt):
            instead = quick(instance) if quick is not None and instead is None else instead
            if instead is not None:
                search.offer(instead, source=name)
                search.say(f"{name} was stopped; what is held is the answer of a faster rule")
            raise
        if found is None:
            return TerminationStatus.NO_SOLUTION
        search.offer(found, source=name)
        return TerminationStatus.FEASIBLE

    return run


def bound_by(function: Callable[[InstanceT, Search[SolutionT]], Certificate]) -> Run[InstanceT, SolutionT]:
    """Run a function that returns a certificate as a method."""

    def run(instance: InstanceT, search: Search[SolutionT]) -> TerminationStatus:
        certificate = function(instance, search)
        search.prove(certificate.value, source="certificate", certificate=certificate)
        return TerminationStatus.FEASIBLE

    return run
