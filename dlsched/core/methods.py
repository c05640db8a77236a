"""Builds the methods of a family's record from its list of methods; wraps plain functions as methods."""

import inspect
from collections.abc import Callable
from typing import Any

from dlsched.catalogue.declaration import ListedFamily, ListedMethod
from dlsched.core.errors import PolicyError
from dlsched.core.family import InstanceT, Method, Run
from dlsched.core.limits import Stopped
from dlsched.core.result import Certificate, SolutionT
from dlsched.core.search import Search
from dlsched.core.status import TerminationStatus

Way = Callable[[str, Callable[..., Any]], Run[InstanceT, SolutionT]]
"""Takes a name and a plain function, returns how the method runs."""


def methods_of(
    listed: ListedFamily,
    *,
    heuristic: Way[InstanceT, SolutionT],
    bound: Way[InstanceT, SolutionT] | None = None,
) -> dict[str, Method[InstanceT, SolutionT]]:
    """Make the methods of a family, by name; ``heuristic`` and ``bound`` wrap its plain functions."""
    ways = {"heuristic": heuristic, "bound": bound}
    functions = dict([*listed.functions("heuristic"), *listed.functions("bound")])

    def run_of(method: ListedMethod) -> Run[InstanceT, SolutionT]:
        way = ways.get(method.kind)
        if method.run or way is None:
            run: Run[InstanceT, SolutionT] = listed.load(method.run)
            return run
        return way(method.name, functions[method.name])

    return {
        method.name: Method(
            method.name,
            method.kind,
            run_of(method),
            listed.load(method.guarantee) if method.guarantee else None,
            solvers=method.solvers,
            seeded=method.seeded,
            warm=listed.load(method.warm) if method.warm else None,
            require=listed.load(method.require) if method.require else None,
        )
        for method in listed.methods
    }


def heuristic(
    name: str,
    function: Callable[..., SolutionT | None],
    quick: Callable[[InstanceT], SolutionT | None] | None = None,
    *,
    early: bool = False,
) -> Run[InstanceT, SolutionT]:
    """Run a plain heuristic as a method.

    A function with a parameter ``tick`` gets ``Search.tick``, which stops it at a limit; the search then
    holds the answer of ``quick``, a faster heuristic. Functions without ``tick`` ignore limits. A function
    with a parameter ``step`` gets ``Search.report``, to report progress. ``early``: with a limit of time,
    ``quick`` runs first, since it too takes a while on large instances. A ``PolicyError`` of the function
    becomes the message of a result without a solution.
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
    """Wrap a function that returns a certificate as a method."""

    def run(instance: InstanceT, search: Search[SolutionT]) -> TerminationStatus:
        certificate = function(instance, search)
        search.prove(certificate.value, source="certificate", certificate=certificate)
        return TerminationStatus.FEASIBLE

    return run


def bound_in_ticks(name: str, function: Callable[..., Certificate]) -> Run[InstanceT, SolutionT]:
    """Wrap a bound that calls ``tick``, and so stops at limits, as a method."""
    del name
    return bound_by(lambda instance, search: function(instance, tick=search.tick))
