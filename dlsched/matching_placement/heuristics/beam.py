"""The beam search over configurations, guided by the prices of the linear program over them."""

from collections.abc import Callable
from contextlib import suppress

from dlsched.columns.slack import WIDTH, cheapest_within, search_beam
from dlsched.core.errors import UsageError
from dlsched.core.limits import Budget, Tick, TooMany, no_tick
from dlsched.matching_placement.arrays import Arrays, Counts, arrays, placement
from dlsched.matching_placement.configurations.generation import first_pool, generate_columns
from dlsched.matching_placement.configurations.thresholds import bound_by_prices, by_beam, lower
from dlsched.matching_placement.feasibility import infeasible
from dlsched.matching_placement.heuristics.local_search import best_local, improve
from dlsched.matching_placement.instance import Instance
from dlsched.matching_placement.solution import Placement


def beam(
    instance: Instance,
    *,
    width: int = WIDTH,
    tick: Tick = no_tick,
    budget: Budget | None = None,
    better: Callable[[Placement], None] = lambda found: None,
) -> Placement | None:
    """Search the placements near the linear programming bound job by job, keeping the ``width`` most promising at each.

    1. ``local_search``; prices of the types by column generation (``configurations.generation``).
    2. A beam search over the configurations of small reduced cost, of larger if nothing is found
       (``columns.slack.search_beam``).
    3. Local search from what it found; the better of both.

    For the largest ratio, 2. and 3. are the search of ``configurations.thresholds`` with ``width`` labels, as long as the
    configurations of a threshold can be listed.

    None means that no placement exists. Guarantee: none better than that of ``marginal``; our own method.
    Cost: that of ``configuration_lp`` and O(S width N) labels for N configurations of a job. ``tick`` and
    ``budget`` as in that function. ``better`` is called with the placement of step 1 and with every better
    one.

    Raises
    ------
    UsageError
        ``width`` < 1.
    """
    if width < 1:
        raise UsageError(where="width", found=width, allowed="an integer >= 1")
    if infeasible(instance) is not None:
        return None
    data = arrays(instance)
    start = best_local(data, tick)
    better(placement(instance, start))
    if data.bottleneck:
        start = _lowered(data, start, width, tick, budget, lambda counts: better(placement(instance, counts)))
        return placement(instance, start)
    pool = first_pool(data, start)
    prices = generate_columns(data, start, pool=pool, tick=tick, budget=budget)
    slack = data.total(start) - prices.bound
    held = cheapest_within(pool.listed(prices, slack), prices, slack, width=width, tick=tick) if slack > 0 else None
    if held is not None:
        start = min(start, improve(data, held, tick), key=data.total)
        better(placement(instance, start))
    found = search_beam(pool.pricing, prices, data.total(start), width=width, tick=tick)
    if found is not None:
        start = min(start, improve(data, found, tick), key=data.total)
        better(placement(instance, start))
    return placement(instance, start)


def _lowered(
    data: Arrays, start: Counts, width: int, tick: Tick, budget: Budget | None, better: Callable[[Counts], None]
) -> Counts:
    """Lower the largest ratio, as far as configurations are few enough to be listed."""
    found = [start]

    def keep(counts: Counts) -> None:
        found.append(counts)
        better(counts)

    with suppress(TooMany):
        low, _ = bound_by_prices(data, data.total(start), tick=tick, budget=budget)
        lower(data, start, low, by_beam(data, width, tick), tick=tick, budget=budget, found=keep)
    return found[-1]
