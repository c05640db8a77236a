"""Exact methods of elastic_stream: policies first, then prices and a search over slots or plans, or the time-indexed program."""

from contextlib import suppress
from functools import partial

from dlsched.certificates import CompletionsCertificate, PricesCertificate, rounded_down
from dlsched.core.errors import ContradictionError, PolicyError, SolverError, UsageError
from dlsched.core.garbage import uncollected
from dlsched.core.limits import Tick
from dlsched.core.search import Search
from dlsched.core.status import TerminationStatus
from dlsched.elastic_stream import slots
from dlsched.elastic_stream.any_time import completions, restarts
from dlsched.elastic_stream.any_time.completions import Found, Proven
from dlsched.elastic_stream.bounds import area, bounds, length, prices, quick_stream
from dlsched.elastic_stream.bounds.any_time import worths
from dlsched.elastic_stream.bounds.ticks import refusal, slot_prices
from dlsched.elastic_stream.certificate import completions_value, unverified
from dlsched.elastic_stream.formulations import milp
from dlsched.elastic_stream.heuristics import POLICIES, in_turn
from dlsched.elastic_stream.instance import Instance
from dlsched.elastic_stream.planning import EFFORT, MOST_JOBS, least_worths, plan_stream
from dlsched.elastic_stream.slots import LoneCosts, TooLarge, lone_costs, search_slots
from dlsched.elastic_stream.solution import Stream
from dlsched.solvers.conclude import solve_and_conclude
from dlsched.version import VERSION

SLOTS = f"dlsched slots {VERSION}"
COMPLETIONS = f"dlsched completions {VERSION}"
RESTARTS = f"dlsched restarts {VERSION}"

# By effort, ascending; the policies that are not named look at few jobs an event.
_SLOW = ("equal", "marginal", "weighted", "doubling", "exploratory", "priced", "myopic")


def _effort(name: str) -> tuple[int, bool, bool]:
    """Sort key: fast policies first, of these shortest remaining time, which is seldom bad, and least service last."""
    sizing = name.split("-")[-1]
    return _SLOW.index(sizing) + 1 if sizing in _SLOW else 0, name.startswith("las"), not name.startswith("srpt")


_FAST_FIRST = sorted(POLICIES, key=_effort)


class _Enough(Exception):  # noqa: N818  a signal, not an error
    """A stage has used its time, or a plan attains the bound."""


def run_exact(instance: Instance, search: Search[Stream]) -> TerminationStatus:
    """With ticks: policies, prices and our search over slots; without ticks, or if that is too large, plans in hindsight."""
    if instance.tick_s is None:
        return _in_hindsight(instance, search)
    status = _offer_policies(instance, search)
    if status is TerminationStatus.OPTIMAL:
        return status
    reason = slots.refusal(instance)
    if reason is None:
        try:
            return _by_slots(instance, search)
        except TooLarge as large:
            reason = str(large)
    _plan(instance, search)
    if not search.proven:
        search.say(f"the best of the policies and a plan, no proven optimum: {reason}")
    return _status(search)


def _in_hindsight(instance: Instance, search: Search[Stream]) -> TerminationStatus:
    """Policies, prices and a plan; for few jobs a search over completions; else prices at the events of the best, and a plan."""
    with suppress(_Enough):
        # With a time limit, policies have a third of the time, and prices half of the rest each time.
        if _offer_policies(instance, search, tick=_share(search, 1 / 3)) is TerminationStatus.OPTIMAL:
            return TerminationStatus.OPTIMAL
    if not search.proven:
        _plan(instance, search)
    if not search.proven:
        reason = completions.refusal(instance) or _by_orders(instance, search)
        if not search.proven:
            _plan(instance, search)
        if not search.proven:
            search.say(f"the best of the policies and a plan, no proven optimum: {reason}")
    return _status(search)


def _by_orders(instance: Instance, search: Search[Stream]) -> str:
    """Search over orders of completion, then with restarts over divisions; return why it ended if that proves no optimum.

    Each has half of the time left.
    """
    with suppress(_Enough):
        ended = completions.search_completions(instance, *_searched(instance, search, COMPLETIONS))
        reason = unverified(instance, ended.tree)
        if reason is None:
            value = rounded_down(completions_value(instance, ended.tree))
            search.prove(value, source="certificate", certificate=CompletionsCertificate(ended.tree, value))
        else:
            search.say(f"the bound has no certificate: {reason}")
        most, closed = completions.MOST_PROGRAMS, ended.closed
        if any(job.restart_s for job in instance.jobs) and not search.proven:
            reason = restarts.refusal(instance)
            if reason is not None:
                return f"the search over completions leaves pauses out, and no stream attains its bound; {reason}"
            most = restarts.MOST_PROGRAMS
            closed = restarts.search_restarts(instance, *_searched(instance, search, RESTARTS))
        if closed:
            return "by rounding of the clock no stream attains the bound"
        return f"{most} linear programs of the search over completions were not enough"
    return "no time was left for the search over completions"


def _searched(instance: Instance, search: Search[Stream], source: str) -> tuple[float, Found, Proven, Tick]:
    """What a search over orders begins with: weighted flow times known, and what takes its streams, bounds and steps."""
    assert search.objective is not None
    weight, enough = instance.total_weight, _share(search, 1 / 2)

    def tick() -> None:
        enough()
        search.tick(1)

    return (
        search.objective * weight,
        lambda stream: not search.violations(stream) and search.offer(stream, source=source),
        lambda total_s: search.prove(total_s / weight, source=source),
        tick,
    )


@uncollected()
def run_plan(instance: Instance, search: Search[Stream]) -> TerminationStatus:
    """Offer a stream in hindsight from prices over time, and prove their bound."""
    _begin(instance, search)
    search.offer(quick_stream(instance, tick=search.tick), source="srpt")
    if len(instance.jobs) <= MOST_JOBS:  # else a plan takes minutes, and the next one is better
        _improve(instance, search, least_worths(instance), effort=0)
    _plan(instance, search)
    return _status(search)


def run_bound(instance: Instance, search: Search[Stream]) -> TerminationStatus:
    """Prove the best of area, length and prices; a node is a linear program."""
    bounds(instance, better=search.certify, solved=partial(search.tick, 1), tick=search.tick)
    return TerminationStatus.FEASIBLE


def run_prices(instance: Instance, search: Search[Stream]) -> TerminationStatus:
    """Prove the bound of prices alone; a node is a linear program."""
    search.certify(prices(instance, better=search.certify, solved=partial(search.tick, 1), tick=search.tick))
    return TerminationStatus.FEASIBLE


def _plan(instance: Instance, search: Search[Stream]) -> None:
    """Prove the bound of prices at the incumbent's events, then improve it by the jobs' worth."""
    if not any(job.work for job in instance.jobs):
        return
    certificate = search.certificate if isinstance(search.certificate, PricesCertificate) else None
    if certificate is None or instance.tick_s is None:
        certificate = _look_for_prices(instance, search, certificate)
    if not search.proven:
        weights = (
            least_worths(instance) if certificate is None else worths(instance, certificate, tick=search.tick).tolist()
        )
        _improve(instance, search, weights)


def _improve(instance: Instance, search: Search[Stream], weights: list[float], effort: float = EFFORT) -> None:
    """Offer the streams that weights lead to, until one attains the bound."""

    def offer(stream: Stream) -> None:
        search.offer(stream, source="plan")
        if search.proven:
            raise _Enough

    with suppress(_Enough):
        plan_stream(instance, weights, generator=search.generator, effort=effort, better=offer, tick=search.tick)


def _share(search: Search[Stream], part: float) -> Tick:
    """A tick that also ends its stage after a part of the time left, if there is a time limit."""
    remaining_s = search.left.time_s
    if remaining_s is None:
        return search.tick
    until_s = search.budget.elapsed_s + part * remaining_s

    def tick() -> None:
        search.tick()
        if search.budget.elapsed_s >= until_s:
            raise _Enough

    return tick


def _look_for_prices(
    instance: Instance, search: Search[Stream], start: PricesCertificate | None = None
) -> PricesCertificate | None:
    """Prove the bound of prices at the incumbent's events; on failure a message, and the prices ``start``."""
    try:
        found = prices(
            instance,
            known=search.incumbent,
            start=start,
            better=search.certify,
            solved=partial(search.tick, 1),
            tick=search.tick if len(instance.jobs) > MOST_JOBS else _share(search, 1 / 2),
        )
    except _Enough:
        return search.certificate if isinstance(search.certificate, PricesCertificate) else start
    except ContradictionError:
        raise
    except SolverError as error:
        search.say(f"prices: {error}")
        return start
    search.certify(found)
    return found


def _status(search: Search[Stream]) -> TerminationStatus:
    return TerminationStatus.OPTIMAL if search.proven else TerminationStatus.FEASIBLE


def require_milp(instance: Instance) -> None:
    """UsageError for an instance for which the program does not hold; ``milp.refusal`` says why."""
    reason = milp.refusal(instance)
    if reason is not None:
        raise UsageError(f"method milp: {reason}")


def run_milp(instance: Instance, search: Search[Stream]) -> TerminationStatus:
    """Solve the time-indexed program within the horizon of the best policy's stream; UsageError: too many columns."""
    status = _offer_policies(instance, search)
    if not any(job.work for job in instance.jobs):
        return status  # an empty program
    assert search.objective is not None, "fixed finishes every stream"
    total_s = search.objective * instance.total_weight
    return solve_and_conclude(search, milp.build_milp(instance, total_flow_s=total_s, tick=search.tick))


def offer_quick(instance: Instance, search: Search[Stream]) -> None:
    """Offer an answer that takes no time."""
    search.offer(in_turn(instance), source="in turn")


def _begin(instance: Instance, search: Search[Stream]) -> None:
    """Offer a quick answer, and prove area and length."""
    offer_quick(instance, search)
    search.certify(length(instance, tick=search.tick))
    search.certify(area(instance, tick=search.tick))


def _offer_policies(instance: Instance, search: Search[Stream], tick: Tick | None = None) -> TerminationStatus:
    """Offer the streams of all policies after ``_begin``; a message counts those that fail. Optimal: one attains the bound."""
    if search.bound is None:
        _begin(instance, search)
    skipped = 0
    tick = tick or search.tick
    for name in _FAST_FIRST:
        tick()
        try:
            found = POLICIES[name](instance, step=search.report, tick=tick)
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
    """Prove the bound of prices by slot, then search over slots; a node is an extended state."""
    by_slot = None
    certificate = None if refusal(instance) is not None else _look_for_prices(instance, search)
    if certificate is not None:
        by_slot = lone_costs(instance, slot_prices(certificate), search.tick)
    return slots_alone(instance, search, by_slot)


def slots_alone(instance: Instance, search: Search[Stream], prices: LoneCosts | None = None) -> TerminationStatus:
    """Search over slots, with ``prices`` as ``search_slots`` takes them; TooLarge: the instance is too large for it."""
    assert search.objective is not None
    weight = instance.total_weight
    search_slots(
        instance,
        search.objective * weight,
        found=lambda plan: search.offer(slots.stream_of(instance, plan), source=SLOTS),
        proven=lambda total_s: search.prove(total_s / weight, source=SLOTS),
        budget=search.budget,
        prices=prices,
    )
    # by rounding of slots, the answer held may be worse than the plan found
    return search.optimal(SLOTS) if search.proven else TerminationStatus.FEASIBLE
