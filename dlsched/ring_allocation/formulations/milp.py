"""ring_allocation as a multiple-choice knapsack: the program of ``allocation.choice_program`` on its cost table.

Solvers are given the same program as arrays (``build_arrays``), without the counts that no better answer can hold.
"""

from typing import TYPE_CHECKING

from dlsched.allocation.choice_program import build_choice_arrays, build_choice_program
from dlsched.allocation.counts import ids
from dlsched.allocation.reduction import open_pairs
from dlsched.core.errors import UsageError
from dlsched.core.limits import Tick, no_tick
from dlsched.ring_allocation.costs import complete_table, cost_table, undominated_table
from dlsched.ring_allocation.instance import Instance
from dlsched.ring_allocation.solution import Allocation
from dlsched.solvers.formulation import Formulation, extendable
from dlsched.solvers.linear import LinearModel

if TYPE_CHECKING:
    import pulp


LARGEST = 200_000
"""Largest number of columns of a complete model; PuLP takes several seconds and several hundred megabytes."""


@extendable("milp")
def build_milp(
    instance: Instance,
    *,
    complete: bool = False,
    drop_dominated: bool = False,
    start: Allocation | None = None,
    tick: Tick = no_tick,
) -> Formulation["pulp.LpProblem", Allocation]:
    """Build the model to export; ``variables.gpus[job, n]`` is 1 if the job gets n GPUs.

    Parameters
    ----------
    instance
        A valid instance.
    complete
        Keep every allocation: all allowed counts that fit beside the smallest counts of the other jobs. Otherwise a
        law has only the counts that some optimal allocation may need.
    drop_dominated
        Leave out counts that cost no less than a smaller count of the same job; the optimum stays.
    start
        To start from.
    tick
        Called before every job.

    Raises
    ------
    UsageError
        More pairs than ``costs.LARGEST_TABLE``, with ``complete`` than ``LARGEST``; or ``complete`` and
        ``drop_dominated``.
    """
    if complete and drop_dominated:
        raise UsageError("complete and drop_dominated are given, allowed: one of them")
    if complete:
        table = complete_table(instance, most_pairs=LARGEST, tick=tick)
    else:
        table = undominated_table(instance, tick=tick) if drop_dominated else cost_table(instance, tick=tick)
    counts = None if start is None else start.gpus
    return build_choice_program(
        "ring_allocation", table, ids(instance), instance.gpus, Allocation, means="gpus", start=counts, tick=tick
    )


def build_arrays(
    instance: Instance, *, start: Allocation | None = None, tick: Tick = no_tick
) -> Formulation[LinearModel, Allocation]:
    """Build the model for solvers, of ``allocation.reduction.open_pairs``; UsageError as ``build_milp``, or if infeasible."""
    table = open_pairs(cost_table(instance, tick=tick), instance.gpus, tick=tick)
    counts = None if start is None else start.gpus
    return build_choice_arrays(table, ids(instance), instance.gpus, Allocation, start=counts, tick=tick)
