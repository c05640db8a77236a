"""The cost table of an instance: the counts of nodes that an optimal allocation may need, and how long each job takes on them.

What a job saves by one more node falls with their number (1 / X is convex, see ``throughput``), so some optimal allocation
takes only steps that ``levels`` looks at. A job's first step too many is in the table too, so that the linear relaxation
has a price at which no step beyond the table pays.
"""

from collections.abc import Callable

import numpy as np

from dlsched.algorithms.cost_table import CostTable, FloatArray, IntArray
from dlsched.async_sgd.instance import Instance
from dlsched.async_sgd.levels import Step, levels
from dlsched.async_sgd.solution import Allocation

_LEAST_S = float(np.finfo(np.float64).tiny)  # saving of a step for which nodes are given at all


def cost_table(instance: Instance, *, tick: Callable[[], None] | None = None) -> CostTable:
    """Tabulate every count that some optimal allocation may need; a job whose next step saves nothing ends there.

    Parameters
    ----------
    instance
        Any valid instance, feasible or not.
    tick
        Called now and then; it may raise to stop.

    Raises
    ------
    UsageError
        More pairs than ``levels.LARGEST_TABLE``.

    Cost: O(N log J) steps of mean value analysis, made for all jobs at a time.
    """
    found = levels(instance, _saving, least=_LEAST_S, tick=tick)
    order = np.argsort(found.jobs, kind="stable")
    starts = np.concatenate(([0], np.cumsum(np.bincount(found.jobs))))
    batches = np.array([job.batches for job in instance.jobs])
    return CostTable(starts, found.counts[order].astype(np.int64), (batches[found.jobs] / found.throughputs)[order])


def allocation(instance: Instance, table: CostTable, chosen: IntArray) -> Allocation:
    """Read chosen pairs, one a job, as an allocation."""
    counts = table.counts[chosen].tolist()
    return Allocation({job.id: count for job, count in zip(instance.jobs, counts, strict=True)})


def _saving(step: Step) -> FloatArray:
    """Seconds that a step saves."""
    return step.batches / step.before - step.batches / step.after
