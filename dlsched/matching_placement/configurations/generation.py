"""Column generation over configurations: ``columns.generation``, whose groups are the jobs and whose resources the types."""

from collections.abc import Callable

from dlsched.columns.generation import generate
from dlsched.columns.slack import Prices
from dlsched.core.budget import Budget, Tick, no_tick
from dlsched.matching_placement.arrays import Arrays, Counts
from dlsched.matching_placement.configurations.fair_pricing import all_pricing


def generate_columns(
    data: Arrays,
    start: Counts,
    *,
    tick: Tick = no_tick,
    step: Tick = no_tick,
    budget: Budget | None = None,
    proven: Callable[[Prices], None] | None = None,
) -> Prices:
    """Return prices of the types whose bound is the linear program's value; ``start`` is a placement of a feasible instance.

    The others as for ``columns.generation.generate``.
    """
    return generate(
        all_pricing(data), data.stock, start, data.total(start), tick=tick, step=step, budget=budget, proven=proven
    )
