"""async_sgd as a multiple-choice knapsack: the program of ``allocation.choice_program`` on its cost table.

Its linear relaxation has an integral optimum, since costs are convex on consecutive counts; solvers need no branching.
"""

from typing import TYPE_CHECKING

from dlsched.allocation.choice_program import build_choice_program
from dlsched.allocation.counts import ids
from dlsched.async_sgd.costs import complete_table, cost_table
from dlsched.async_sgd.instance import Instance
from dlsched.async_sgd.solution import Allocation
from dlsched.core.errors import UsageError
from dlsched.core.limits import Tick, no_tick
from dlsched.solvers.formulation import Formulation, extendable

if TYPE_CHECKING:
    import pulp


LARGEST = 200_000  # columns; PuLP takes several seconds and several hundred megabytes for a model of this size


@extendable("milp")
def build_milp(
    instance: Instance, *, complete: bool = False, start: Allocation | None = None, tick: Tick = no_tick
) -> Formulation["pulp.LpProblem", Allocation]:
    """Build the model; ``variables.nodes[job, n]`` is 1 if the job gets n nodes.

    ``complete``: keep all allowed counts that fit beside one node for every other job, not only those that some optimal
    allocation may need. UsageError: more pairs than ``LARGEST``.
    """
    if complete:
        _require_size(sum(map(instance.most, range(len(instance.jobs)))))
    table = complete_table(instance, tick=tick) if complete else cost_table(instance, tick=tick)
    _require_size(table.pairs)
    counts = None if start is None else start.nodes
    return build_choice_program(
        "async_sgd", table, ids(instance), instance.nodes, Allocation, means="nodes", start=counts, tick=tick
    )


def _require_size(pairs: int) -> None:
    """Refuse models that are too large (UsageError)."""
    if pairs > LARGEST:
        raise UsageError(f"the model has {pairs} columns, pairs of job and count, allowed: up to {LARGEST}; use exact")
