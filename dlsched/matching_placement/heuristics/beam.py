"""The beam search over configurations, guided by the prices of the linear program over them."""

from dlsched.columns.closing import WIDTH, search_beam
from dlsched.core.budget import Budget, Tick, no_tick
from dlsched.core.errors import UsageError
from dlsched.matching_placement.arrays import arrays, placement
from dlsched.matching_placement.configurations.generation import generate_columns
from dlsched.matching_placement.configurations.pricing import all_pricing
from dlsched.matching_placement.feasibility import infeasible
from dlsched.matching_placement.heuristics.local_search import best_local, improve
from dlsched.matching_placement.instance import Instance
from dlsched.matching_placement.solution import Placement


def beam(
    instance: Instance, *, width: int = WIDTH, tick: Tick = no_tick, budget: Budget | None = None
) -> Placement | None:
    """Search the placements near the linear programming bound job by job, keeping the ``width`` most promising at each.

    1. ``local_search``; prices of the types by column generation (``configurations.generation``).
    2. A beam search over the configurations of small reduced cost, of larger if nothing is found
       (``columns.closing.search_beam``).
    3. Local search from what it found; the better of both.

    None means that no placement exists. Guarantee: none better than that of ``marginal``; ours, from no paper. Cost: that of
    ``configuration_lp`` and O(S width N) labels for N configurations of a job. ``tick`` and ``budget`` as in that function.

    Raises
    ------
    UsageError
        ``width`` < 1.
    """
    if width < 1:
        raise UsageError(f"width: found {width}, allowed: an integer >= 1")
    if infeasible(instance) is not None:
        return None
    data = arrays(instance)
    start = best_local(data, tick)
    prices = generate_columns(data, start, tick=tick, budget=budget)
    found = search_beam(all_pricing(data), prices, data.total(start), width=width, tick=tick)
    if found is not None:
        start = min(start, improve(data, found, tick), key=data.total)
    return placement(instance, start)
