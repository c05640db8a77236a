"""Column generation over configurations: ``columns.generation``, whose groups are the jobs and whose resources the types."""

from collections.abc import Callable

from dlsched.columns.generation import CLOSE, Pool, generate
from dlsched.columns.slack import Prices
from dlsched.core.arrays import dot
from dlsched.core.limits import Budget, Tick, no_tick
from dlsched.matching_placement.arrays import Arrays, Counts, Floats
from dlsched.matching_placement.configurations.pricing import Pricing


def generate_columns(
    data: Arrays,
    start: Counts,
    *,
    pool: Pool | None = None,
    held: Prices | None = None,
    close: float = CLOSE,
    tick: Tick = no_tick,
    step: Tick = no_tick,
    budget: Budget | None = None,
    proven: Callable[[Prices], None] | None = None,
) -> Prices:
    """Return prices of the types whose bound is the linear program's value; ``start`` is a placement of a feasible instance.

    ``pool`` holds the configurations; None: a new pool. Other arguments as for
    ``columns.generation.generate``.
    """
    return generate(
        pool or first_pool(data, start),
        guess=None if held is not None else first_prices(data, data.total(start)),
        held=held,
        close=close,
        tick=tick,
        step=step,
        budget=budget,
        proven=proven,
    )


def first_pool(data: Arrays, start: Counts) -> Pool:
    """The configurations of a placement, for ``generate_columns`` to add to."""
    return Pool(Pricing(data), data.stock, start, data.total(start))


def first_prices(data: Arrays, upper: float) -> Floats:
    """Prices that divide half of a placement's cost among the workers, by their rates over each job's best."""
    fast = data.rates.max(axis=1, keepdims=True)
    worth: Floats = (data.rates / fast).mean(axis=0)
    return worth * (upper / 2 / float(dot(worth, data.stock)))
