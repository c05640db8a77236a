"""Plain functions as methods: a heuristic, and a bound that comes with a certificate."""

import inspect
from collections.abc import Callable
from typing import Any

from dlsched.core.budget import Stopped
from dlsched.core.family import InstanceT, Run
from dlsched.core.result import Certificate, SolutionT
from dlsched.core.search import Search
from dlsched.core.status import TerminationStatus


def heuristic(
    name: str,
    function: Callable[..., SolutionT | None],
    quick: Callable[[InstanceT], SolutionT | None] | None = None,
) -> Run[InstanceT, SolutionT]:
    """Run a plain heuristic as a method.

    A function with a parameter ``tick`` is handed ``Search.tick``, which stops it at a limit; then the answer of ``quick``, a
    faster heuristic, is held instead. Limits do not concern the others.
    """
    ticks = "tick" in inspect.signature(function).parameters

    def run(instance: InstanceT, search: Search[SolutionT]) -> TerminationStatus:
        try:
            found = function(instance, tick=search.tick) if ticks else function(instance)
        except (Stopped, KeyboardInterrupt):
            instead = None if quick is None else quick(instance)
            if instead is not None:
                search.offer(instead, source=name)
                search.say(f"{name} was stopped; what is held is the answer of a faster rule")
            raise
        if found is None:
            return TerminationStatus.NO_SOLUTION
        search.offer(found, source=name)
        return TerminationStatus.FEASIBLE

    return run


def bound_by(function: Callable[[InstanceT, Search[Any]], Certificate]) -> Run[InstanceT, Any]:
    """Run a function that returns a certificate as a method."""

    def run(instance: InstanceT, search: Search[Any]) -> TerminationStatus:
        certificate = function(instance, search)
        search.prove(certificate.value, source="certificate", certificate=certificate)
        return TerminationStatus.FEASIBLE

    return run
