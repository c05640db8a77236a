"""async_sgd as a multiple-choice knapsack: the program of ``allocation.choice_program`` on its cost table.

Its linear relaxation has an integral optimum, since costs are convex on consecutive counts; solvers find that out.
"""

from typing import TYPE_CHECKING

from dlsched.allocation.choice_program import build_choice_program
from dlsched.allocation.counts import ids
from dlsched.async_sgd.costs import cost_table
from dlsched.async_sgd.instance import Instance
from dlsched.async_sgd.solution import Allocation
from dlsched.core.budget import Tick, no_tick
from dlsched.core.errors import UsageError
from dlsched.solvers.formulation import Formulation

if TYPE_CHECKING:
    import pulp

LARGEST = 200_000
"""Columns at most; PuLP takes several seconds and several hundred megabytes for a model of this size."""


def build_milp(
    instance: Instance, *, start: Allocation | None = None, tick: Tick = no_tick
) -> Formulation["pulp.LpProblem", Allocation]:
    """Build the model.

    Parameters
    ----------
    instance
        Any valid instance.
    start
        To start from.
    tick
        Called now and then.

    Raises
    ------
    UsageError
        More pairs than ``LARGEST``.
    """
    table = cost_table(instance, tick=tick)
    if table.pairs > LARGEST:
        raise UsageError(
            f"the model has {table.pairs} columns, pairs of job and count, allowed: up to {LARGEST}; use exact"
        )
    counts = None if start is None else start.nodes
    return build_choice_program("async_sgd", table, ids(instance), instance.nodes, Allocation, start=counts, tick=tick)
