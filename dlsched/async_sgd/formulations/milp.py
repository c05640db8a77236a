"""async_sgd as a multiple-choice knapsack: the program of ``algorithms.choice_program`` on its cost table.

Its linear relaxation has an integral optimum, since costs are convex on consecutive counts; solvers find that out.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from dlsched.algorithms import choice_program
from dlsched.async_sgd.costs import cost_table
from dlsched.async_sgd.instance import Instance
from dlsched.async_sgd.solution import Allocation
from dlsched.core.errors import UsageError

if TYPE_CHECKING:
    import pulp

LARGEST = 200_000
"""Columns; a model of so many takes PuLP some seconds and some hundred megabytes."""

Decode = Callable[[Mapping[str, float]], Allocation]


def build_milp(instance: Instance, *, tick: Callable[[], None] | None = None) -> tuple["pulp.LpProblem", Decode]:
    """Build the model and the function that reads an allocation from values of its variables.

    Parameters
    ----------
    instance
        Any valid instance.
    tick
        Called now and then; it may raise to stop.

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
    ids = [job.id for job in instance.jobs]
    problem, decode = choice_program.build_choice_program("async_sgd", table, ids, instance.nodes, tick=tick)
    return problem, lambda values: Allocation(decode(values))


def start_values(instance: Instance, allocation: Allocation) -> dict[str, float]:
    """Return an allocation as values of the model's variables; those not named are 0."""
    return choice_program.start_values([job.id for job in instance.jobs], allocation.nodes)
