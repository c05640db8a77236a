"""Exact methods of elastic_stream: the best of the policies first, then a search over slots or the time-indexed program."""

from dlsched.core.errors import PolicyError, UsageError
from dlsched.core.search import Search
from dlsched.core.status import TerminationStatus
from dlsched.elastic_stream.bounds import bound
from dlsched.elastic_stream.formulations import milp
from dlsched.elastic_stream.heuristics import POLICIES, in_turn
from dlsched.elastic_stream.instance import Instance
from dlsched.elastic_stream.slots import plan
from dlsched.elastic_stream.slots.search import TooLarge, search_slots
from dlsched.elastic_stream.solution import Stream
from dlsched.solvers.conclude import solve_and_conclude
from dlsched.version import VERSION

SLOTS = f"dlsched slots {VERSION}"

_SLOW = ("equal", "marginal", "doubling", "exploratory", "myopic")  # ascending; the others look at few jobs an event


def _effort(name: str) -> tuple[int, bool, bool]:
    """Sort key: fast policies first, of these shortest remaining time first, which is seldom bad; least service last."""
    sizing = name.split("-")[-1]
    return _SLOW.index(sizing) + 1 if sizing in _SLOW else 0, name.startswith("las"), not name.startswith("srpt")


_FAST_FIRST = sorted(POLICIES, key=_effort)


def run_exact(instance: Instance, search: Search[Stream]) -> TerminationStatus:
    """With ticks our search over slots; without, or where that is too large, the best policy's stream and the bound."""
    status = _best_policy(instance, search)
    if status is TerminationStatus.OPTIMAL or instance.tick_s is None:
        return status
    reason = plan.refusal(instance)
    if reason is None:
        try:
            return _by_slots(instance, search)
        except TooLarge as large:
            reason = str(large)
    search.say(f"the best of the policies, no proven optimum: {reason}")
    return status


def run_milp(instance: Instance, search: Search[Stream]) -> TerminationStatus:
    """The time-indexed program by HiGHS, CBC or SCIP, within the horizon that the best policy's stream allows.

    Raises
    ------
    UsageError
        The program does not hold for the instance; ``milp.refusal`` says why.
    """
    reason = milp.refusal(instance)
    if reason is not None:
        raise UsageError(f"method milp: {reason}")
    status = _best_policy(instance, search)
    if not any(job.work for job in instance.jobs):
        return status  # an empty program
    assert search.objective is not None, "fixed finishes every stream"
    total_s = search.objective * len(instance.jobs)
    return solve_and_conclude(search, milp.build_milp(instance, total_flow_s=total_s, tick=search.tick))


def offer_quick(instance: Instance, search: Search[Stream]) -> None:
    """Hold an answer at once."""
    search.offer(in_turn(instance), source="in turn")


def _best_policy(instance: Instance, search: Search[Stream]) -> TerminationStatus:
    """Offer a quick answer, prove the bound, and offer the stream of every policy, the fast ones first.

    The message says how many have none.
    """
    offer_quick(instance, search)
    certificate = bound(instance, tick=search.tick)
    search.prove(certificate.value, source="certificate", certificate=certificate)
    skipped = 0
    for name in _FAST_FIRST:
        search.tick()
        try:
            found = POLICIES[name](instance, step=search.report, tick=search.tick)
        except (PolicyError, UsageError):  # its own method says which
            skipped += 1
            reason = "which restart jobs for ever or have too many counts to weigh"
            search.message = f"policies skipped, {reason}: {skipped}"
            continue
        search.offer(found, source=name)
        assert search.objective is not None and search.bound is not None
        if search.objective <= search.bound * (1 + 1e-12):
            return TerminationStatus.OPTIMAL
    return TerminationStatus.FEASIBLE


def _by_slots(instance: Instance, search: Search[Stream]) -> TerminationStatus:
    """Search over slots; a node is a state that is followed."""
    assert search.objective is not None
    jobs = len(instance.jobs)
    search_slots(
        instance,
        search.objective * jobs,
        found=lambda made: search.offer(plan.stream_of(instance, made), source=SLOTS),
        proven=lambda total_s: search.prove(total_s / jobs, source=SLOTS),
        budget=search.budget,
    )
    if not search.proven:  # what is held is worse than what was found, by rounding of slots
        return TerminationStatus.FEASIBLE
    search.prove(search.objective, source=SLOTS)
    return TerminationStatus.OPTIMAL
