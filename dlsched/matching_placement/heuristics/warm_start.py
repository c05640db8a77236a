"""Start and end of exact methods: hold the local search's answer, and prove the incumbent optimal."""

from dlsched.core.search import Search
from dlsched.core.status import TerminationStatus
from dlsched.matching_placement.arrays import arrays, counts_of, placement
from dlsched.matching_placement.heuristics.fastest_first import soon
from dlsched.matching_placement.heuristics.initial import initial
from dlsched.matching_placement.heuristics.local_search import improve
from dlsched.matching_placement.heuristics.marginal import greedy
from dlsched.matching_placement.instance import Instance
from dlsched.matching_placement.objectives import objective_of
from dlsched.matching_placement.solution import Placement


def warm(instance: Instance, search: Search[Placement]) -> None:
    """Hold the local search's answer before anything longer starts, and until then quicker answers."""
    hold_soon(instance, search)
    data = arrays(instance)
    counts = greedy(data, initial(data), search.tick)
    search.offer(placement(instance, counts), source="marginal")
    search.offer(placement(instance, improve(data, counts, search.tick)), source="local-search")


def hold_soon(instance: Instance, search: Search[Placement]) -> None:
    """Hold the quickest answer."""
    search.offer(soon(instance), source="fastest-first")


def proven_optimal(search: Search[Placement], source: str) -> TerminationStatus:
    """Record that the incumbent is optimal."""
    assert search.objective is not None
    search.prove(search.objective, source=source)
    return TerminationStatus.OPTIMAL


def total_of(instance: Instance, search: Search[Placement]) -> float:
    """Minimised value of the incumbent: the sum of the costs, or the largest cost."""
    return objective_of(instance).total(instance, search)


def total_of_mean(instance: Instance, search: Search[Placement]) -> float:
    """The sum of the times."""
    assert search.objective is not None
    return search.objective * len(instance.jobs)


def total_of_counts(instance: Instance, search: Search[Placement]) -> float:
    """The costs of the counts."""
    return arrays(instance).total(counts_of(instance, search.incumbent))
