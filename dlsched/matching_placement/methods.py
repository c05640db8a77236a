"""Methods of matching_placement by name, for the catalogue, and the runs of those that are no plain function."""

import math
from collections.abc import Iterator
from functools import partial

from dlsched.catalogue.matching_placement import LISTED
from dlsched.core.family import bound_by, heuristic, methods_of
from dlsched.core.limits import Stopped
from dlsched.core.search import Search
from dlsched.core.status import TerminationStatus
from dlsched.matching_placement.arrays import Counts, arrays, placement
from dlsched.matching_placement.heuristics import beam, fastest_first, offer_soon, soon
from dlsched.matching_placement.instance import Instance
from dlsched.matching_placement.markets import all_markets, sample_counts
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
    """Offer the best of some placements, or a quick answer if a limit or Ctrl-C comes before any."""
    # only improvements are offered: the checker need not see the others
    data, least = arrays(instance), math.inf
    try:
        for counts in placed:
            total = data.total(counts)
            if total < least:
                least = total
                search.offer(placement(instance, counts), source=name)
    except (Stopped, KeyboardInterrupt):
        if search.solution is None:
            offer_soon(instance, search)
            search.say("stopped before the first market; the answer is that of a faster rule")
        raise
    return TerminationStatus.NO_SOLUTION if search.solution is None else TerminationStatus.FEASIBLE


def run_beam(instance: Instance, search: Search[Placement]) -> TerminationStatus:
    """Run the beam search; if stopped, it keeps the best of the user's start, its own and a faster rule's answer."""
    try:
        beam(instance, tick=search.tick, budget=search.budget, better=partial(search.offer, source="beam"))
    except (Stopped, KeyboardInterrupt):
        offer_soon(instance, search)
        search.say("beam was stopped; the answer is the best of its start, its own so far, and that of a faster rule")
        raise
    return TerminationStatus.NO_SOLUTION if search.solution is None else TerminationStatus.FEASIBLE


run_fastest_first = heuristic("fastest-first", fastest_first)

METHODS = methods_of(
    LISTED,
    heuristic=lambda name, function: heuristic(name, function, soon),
    bound=lambda name, function: bound_by(
        lambda instance, search: function(instance, tick=search.tick, budget=search.budget)
    ),
)
