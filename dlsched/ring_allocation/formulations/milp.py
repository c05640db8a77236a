"""ring_allocation as a multiple-choice knapsack: the program of ``algorithms.choice_program`` on its cost table.

Solvers are given the same program as arrays (``build_arrays``), without the counts that no better answer can hold: a PuLP
model of ten thousand jobs takes seconds to build.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from dlsched.algorithms import choice_program
from dlsched.algorithms.dominance import undominated
from dlsched.algorithms.reduction import on_grid
from dlsched.core.labels import plain_labels
from dlsched.core.status import Sense
from dlsched.ring_allocation.costs import cost_table, open_pairs
from dlsched.ring_allocation.instance import Instance
from dlsched.ring_allocation.solution import Allocation
from dlsched.solvers.linear import LinearModel

if TYPE_CHECKING:
    import pulp

Decode = Callable[[Mapping[str, float]], Allocation]


def build_milp(
    instance: Instance, *, drop_dominated: bool = False, tick: Callable[[], None] | None = None
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
    ids = [job.id for job in instance.jobs]
    table = cost_table(instance, tick=tick)
    if drop_dominated:
        table = table.subset(undominated(table))
    problem, decode = choice_program.build_choice_program("ring_allocation", table, ids, instance.gpus, tick=tick)
    return problem, lambda values: Allocation(decode(values))


def build_arrays(instance: Instance, *, tick: Callable[[], None] | None = None) -> tuple[LinearModel, Decode]:
    """Build the model of ``costs.open_pairs`` and its decoder; the rest as ``build_milp``.

    The row ``capacity`` counts units of ``reduction.on_grid``, beyond all but one of every job's least.
    """
    table = open_pairs(instance, tick=tick)
    grid, room, _ = on_grid(table, instance.gpus)
    ids = [job.id for job in instance.jobs]
    labels = plain_labels(ids, "j")
    counts, starts = table.counts.tolist(), table.starts.tolist()
    names: list[str] = []
    for label, begin, end in zip(labels, starts, starts[1:], strict=False):
        if tick is not None:
            tick()
        names += [f"x_{label}_{count}" for count in counts[begin:end]]
    model = LinearModel(
        sense=Sense.MINIMIZE,
        names=names,
        costs=table.costs,
        constant=0.0,
        lower=np.zeros(table.pairs),
        upper=np.ones(table.pairs),
        integer=np.ones(table.pairs, dtype=bool),
        row_names=["capacity", *(f"choice_{label}" for label in labels)],
        row_starts=np.concatenate(([0], table.pairs + table.starts)),
        columns=np.tile(np.arange(table.pairs), 2),
        coefficients=np.concatenate((grid.counts.astype(np.float64), np.ones(table.pairs))),
        row_lower=np.concatenate(([-np.inf], np.ones(table.jobs))),
        row_upper=np.concatenate(([float(room)], np.ones(table.jobs))),
    )

    def decode(values: Mapping[str, float]) -> Allocation:
        rows = np.repeat(np.arange(table.jobs), table.lengths).tolist()
        chosen = [place for place, name in enumerate(names) if values.get(name, 0.0) > 0.5]
        return Allocation({ids[rows[place]]: counts[place] for place in chosen})

    return model, decode


def start_values(instance: Instance, allocation: Allocation) -> dict[str, float]:
    """Return an allocation as values of the model's variables; those not named are 0."""
    return choice_program.start_values([job.id for job in instance.jobs], allocation.gpus)
