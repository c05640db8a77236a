"""The methods of elastic_stream by name, as ``solve`` and the command line run them."""

from collections.abc import Callable
from functools import partial
from typing import Any

from dlsched.certificates import LengthsCertificate, SrptCertificate
from dlsched.core.budget import Stopped
from dlsched.core.errors import PolicyError, UsageError
from dlsched.core.family import Method, Run
from dlsched.core.methods import bound_by
from dlsched.core.search import Search
from dlsched.core.status import TerminationStatus
from dlsched.elastic_stream import bounds, heuristics, slots, slotted
from dlsched.elastic_stream.formulations import milp
from dlsched.elastic_stream.instance import Instance
from dlsched.elastic_stream.policies import ORDERS
from dlsched.elastic_stream.solution import Stream
from dlsched.solvers.conclude import solve_and_conclude
from dlsched.solvers.formulation import Formulation
from dlsched.version import VERSION

Heuristic = Callable[..., Stream | None]

SLOTS = f"dlsched slots {VERSION}"

PLAIN: dict[str, Heuristic] = {
    "doubling": heuristics.doubling,
    "marginal": heuristics.marginal,
    "fixed": heuristics.fixed,
    "equal": heuristics.equal,
    "exploratory": heuristics.exploratory,
    "myopic": heuristics.myopic,
}
ALIASES = {f"fifo-{sizing}": sizing for sizing in ("fixed", "equal", "marginal")}
"""Cells of the grid that have a name of their own."""

GRID: dict[str, Heuristic] = {
    f"{order}-{sizing}": partial(heuristics.ordered, order=order, sizing=sizing)
    for order in ORDERS
    for sizing in heuristics.SIZINGS
    if f"{order}-{sizing}" not in ALIASES
}
POLICIES = PLAIN | GRID

_SLOW = ("equal", "marginal", "doubling", "exploratory", "myopic")  # ascending; the others look at few jobs an event


def _effort(name: str) -> tuple[int, bool, bool]:
    """Sort key: fast policies first, of these shortest remaining time first, which is seldom bad; least service last."""
    sizing = name.split("-")[-1]
    return _SLOW.index(sizing) + 1 if sizing in _SLOW else 0, name.startswith("las"), not name.startswith("srpt")


_FAST_FIRST = sorted(POLICIES, key=_effort)


def run_exact(instance: Instance, search: Search[Stream]) -> TerminationStatus:
    """With ticks our search over slots; without, or where that is too large, the best policy's stream and the bound."""
    _begin(instance, search)
    status = _best_policy(instance, search)
    if status is TerminationStatus.OPTIMAL or instance.tick_s is None:
        return status
    reason = slotted.refusal(instance)
    if reason is None:
        try:
            return _by_slots(instance, search)
        except slots.TooLarge as large:
            reason = str(large)
    search.say(f"the best of the policies, no proven optimum: {reason}")
    return status


def _by_slots(instance: Instance, search: Search[Stream]) -> TerminationStatus:
    """Search over slots; a node is a state that is followed."""
    assert search.objective is not None
    jobs = len(instance.jobs)
    slots.search_slots(
        instance,
        search.objective * jobs,
        found=lambda plan: search.offer(slotted.stream_of(instance, plan), source=SLOTS),
        proven=lambda total_s: search.prove(total_s / jobs, source=SLOTS),
        step=search.tick,
    )
    if not search.proven:  # what is held is worse than what was found, by rounding of slots
        return TerminationStatus.FEASIBLE
    search.prove(search.objective, source=SLOTS)
    return TerminationStatus.OPTIMAL


def run_milp(instance: Instance, search: Search[Stream]) -> TerminationStatus:
    """The time-indexed program by HiGHS, CBC or SCIP."""
    _begin(instance, search)
    reason = milp.refusal(instance)
    if reason is not None:
        raise UsageError(f"method milp: {reason}")
    status = _best_policy(instance, search)
    if not any(job.work for job in instance.jobs):
        return status  # an empty program
    return _by_program(instance, search)


def _by_program(instance: Instance, search: Search[Stream]) -> TerminationStatus:
    """Solve the program within the horizon that the stream held allows."""
    assert search.objective is not None, "fixed finishes every stream"
    total_s = search.objective * len(instance.jobs)
    problem, decode = milp.build_milp(instance, total_flow_s=total_s, tick=search.tick)
    return solve_and_conclude(search, Formulation(problem, decode))


def _best_policy(instance: Instance, search: Search[Stream]) -> TerminationStatus:
    """Offer the stream of every policy, the fast ones first; the message says how many have none."""
    skipped = 0
    for name in _FAST_FIRST:
        search.tick()
        try:
            found = POLICIES[name](instance, step=search.report, tick=search.tick)
        except (PolicyError, UsageError):  # its own method says which
            skipped += 1
            search.message = (
                f"policies skipped, which restart jobs for ever or have too many counts to weigh: {skipped}"
            )
            continue
        search.offer(found, source=name)
        assert search.objective is not None and search.bound is not None
        if search.objective <= search.bound * (1 + 1e-12):
            return TerminationStatus.OPTIMAL
    return TerminationStatus.FEASIBLE


def _begin(instance: Instance, search: Search[Stream]) -> None:
    """Hold a quick answer, and prove the bound."""
    _offer_quick(instance, search)
    _prove(search, bounds.bound(instance, tick=search.tick))


def _offer_quick(instance: Instance, search: Search[Stream]) -> None:
    search.offer(heuristics.in_turn(instance), source="in turn")


def _prove(search: Search[Stream], certificate: SrptCertificate | LengthsCertificate) -> None:
    search.prove(certificate.value, source="certificate", certificate=certificate)


def heuristic(name: str, function: Heuristic) -> Run[Instance, Stream]:
    """Wrap a policy: it reports how far it has come, and may find that it has no stream.

    Where time is limited, the quick answer is held from the beginning, since of many jobs it takes a while too.
    """

    def run(instance: Instance, search: Search[Stream]) -> TerminationStatus:
        if search.budget.limits.time_s is not None:
            _offer_quick(instance, search)
        try:
            found = function(instance, step=search.report, tick=search.tick)
        except (Stopped, KeyboardInterrupt):
            if search.solution is None:
                _offer_quick(instance, search)
            search.say(f"{name} was stopped; what is held is the answer of a faster rule")
            raise
        except PolicyError as error:
            search.solution = search.objective = None
            search.message = str(error)
            return TerminationStatus.NO_SOLUTION
        search.solution = search.objective = None
        search.offer(found, source=name)
        return TerminationStatus.FEASIBLE

    return run


def _bound(function: Callable[..., Any], instance: Instance, search: Search[Stream]) -> Any:
    return function(instance, tick=search.tick)


METHODS = {
    method.name: method
    for method in (
        Method("exact", "exact", run_exact, warm=_offer_quick),
        Method("milp", "exact", run_milp, solvers=("highs", "cbc", "scip"), warm=_offer_quick),
        *(Method(name, "heuristic", heuristic(name, function)) for name, function in POLICIES.items()),
        *(
            Method(name, "bound", bound_by(partial(_bound, function)))
            for name, function in (("bound", bounds.bound), ("area", bounds.area), ("length", bounds.length))
        ),
    )
}
