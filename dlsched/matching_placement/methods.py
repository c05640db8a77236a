"""The methods of matching_placement by name, as ``solve`` and the command line run them."""

import math
from collections.abc import Callable, Iterator

from dlsched.catalogue.solvers import able
from dlsched.certificates import DualsCertificate
from dlsched.core.budget import Stopped
from dlsched.core.family import Guarantee, Method, Run
from dlsched.core.methods import bound_by, heuristic
from dlsched.core.search import Search
from dlsched.core.status import TerminationStatus
from dlsched.matching_placement import bounds, exact
from dlsched.matching_placement.arrays import Counts, arrays, placement
from dlsched.matching_placement.by_columns import run_columns
from dlsched.matching_placement.formulations.assignment import require_assignment
from dlsched.matching_placement.formulations.minlp import require_minlp
from dlsched.matching_placement.guarantees import MARGINAL
from dlsched.matching_placement.heuristics.beam import beam
from dlsched.matching_placement.heuristics.fastest_first import equal, fastest_first, soon
from dlsched.matching_placement.heuristics.local_search import local_search
from dlsched.matching_placement.heuristics.marginal import marginal
from dlsched.matching_placement.heuristics.warm import hold_soon, warm
from dlsched.matching_placement.instance import Instance
from dlsched.matching_placement.markets.placing import all_markets
from dlsched.matching_placement.markets.sampling import sample_counts
from dlsched.matching_placement.solution import Placement


def run_market(instance: Instance, search: Search[Placement]) -> TerminationStatus:
    """The market of every category; a node is one, and a limit keeps the best so far."""
    data = arrays(instance)
    return _best_of("market", instance, search, all_markets(data, tick=lambda: search.tick(1), within=search.tick))


def run_sampled_market(instance: Instance, search: Search[Placement]) -> TerminationStatus:
    """Markets of categories drawn from the seed; a node is a draw, and a limit keeps the best so far."""
    data, generator = arrays(instance), search.generator
    drawn = sample_counts(data, generator=generator, tick=lambda: search.tick(1), within=search.tick)
    return _best_of("sampled-market", instance, search, drawn)


def _best_of(name: str, instance: Instance, search: Search[Placement], placed: Iterator[Counts]) -> TerminationStatus:
    """Keep the best of some placements; a quick answer where a limit or Ctrl-C comes before any."""
    data, least = arrays(instance), math.inf
    try:
        for counts in placed:
            total = data.total(counts)
            if total < least:
                least = total
                search.offer(placement(instance, counts), source=name)
    except (Stopped, KeyboardInterrupt):
        if search.solution is None:
            hold_soon(instance, search)
            search.say("stopped before the first market; what is held is the answer of a faster rule")
        raise
    return TerminationStatus.NO_SOLUTION if search.solution is None else TerminationStatus.FEASIBLE


def run_beam(instance: Instance, search: Search[Placement]) -> TerminationStatus:
    """The beam search; stopped, it keeps the best of the user's start, of what it had itself, and of a faster rule."""

    def better(found: Placement) -> None:
        search.offer(found, source="beam")

    try:
        beam(instance, tick=search.tick, budget=search.budget, better=better)
    except (Stopped, KeyboardInterrupt):
        hold_soon(instance, search)
        search.say(
            "beam was stopped; what is held is the best of its start, what it had found, and a faster rule's answer"
        )
        raise
    return TerminationStatus.NO_SOLUTION if search.solution is None else TerminationStatus.FEASIBLE


def _configuration_lp(instance: Instance, search: Search[Placement]) -> DualsCertificate:
    return bounds.configuration_lp(instance, tick=search.tick, budget=search.budget)


def _relaxation(instance: Instance, search: Search[Placement]) -> DualsCertificate:
    return bounds.relaxation(instance, tick=search.tick, budget=search.budget)


def _exact(
    name: str, run: Run[Instance, Placement], *solvers: str, require: Callable[[Instance], None] | None = None
) -> Method[Instance, Placement]:
    return Method(name, "exact", run, solvers=solvers, warm=warm, require=require)


def _heuristic(
    name: str, function: Callable[..., Placement | None], guarantee: Guarantee[Instance] | None = None
) -> Method[Instance, Placement]:
    return Method(name, "heuristic", heuristic(name, function, soon), guarantee)


METHODS = {
    method.name: method
    for method in (
        _exact("exact", exact.run_exact),
        _exact("columns", run_columns),
        _exact("dp", exact.run_dp, require=exact.require_dp),
        _exact("milp", exact.run_milp, *able("integer milp"), require=exact.require_milp),
        _exact("assignment", exact.run_assignment, *able("milp"), require=require_assignment),
        _exact("minlp", exact.run_minlp, *able("minlp"), require=require_minlp),
        Method("beam", "heuristic", run_beam, warm=hold_soon),
        _heuristic("local-search", local_search, MARGINAL),
        _heuristic("marginal", marginal, MARGINAL),
        Method("market", "heuristic", run_market, warm=hold_soon),
        Method("sampled-market", "heuristic", run_sampled_market, seeded=True, warm=hold_soon),
        _heuristic("equal", equal),
        Method("fastest-first", "heuristic", heuristic("fastest-first", fastest_first)),
        Method("configuration-lp", "bound", bound_by(_configuration_lp)),
        Method("relaxation", "bound", bound_by(_relaxation)),
    )
}
