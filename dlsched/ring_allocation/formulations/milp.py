"""ring_allocation as a multiple-choice knapsack: the program of ``algorithms.choice_program`` on its cost table."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from dlsched.algorithms import choice_program
from dlsched.algorithms.dominance import undominated
from dlsched.ring_allocation.costs import cost_table
from dlsched.ring_allocation.instance import Instance
from dlsched.ring_allocation.solution import Allocation

if TYPE_CHECKING:
    import pulp

Decode = Callable[[Mapping[str, float]], Allocation]


def build_milp(
    instance: Instance,
    *,
    drop_dominated: bool = False,
    tick: Callable[[], None] | None = None,
) -> tuple["pulp.LpProblem", Decode]:
    """Build the model and the function that reads an allocation from values of its variables.

    Parameters
    ----------
    instance
        Any valid instance.
    drop_dominated
        Leave out counts that cost no less than a smaller count of the same job; the optimum stays.
    tick
        Called before every job; it may raise to stop.

    Raises
    ------
    UsageError
        More pairs than ``costs.LARGEST_TABLE``.
    """
    table = cost_table(instance)
    if drop_dominated:
        table = table.subset(undominated(table))
    ids = [job.id for job in instance.jobs]
    problem, decode = choice_program.build_choice_program("ring_allocation", table, ids, instance.gpus, tick=tick)
    return problem, lambda values: Allocation(decode(values))


def start_values(instance: Instance, allocation: Allocation) -> dict[str, float]:
    """Return an allocation as values of the model's variables; those not named are 0."""
    return choice_program.start_values([job.id for job in instance.jobs], allocation.gpus)
