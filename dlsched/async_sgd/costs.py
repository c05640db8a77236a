"""The cost table of an instance: the counts of nodes that an optimal allocation may need, and how long each job takes on them.

What a job saves by one more node falls with their number (1 / X is convex, see ``queueing.throughput``), so some optimal
allocation takes only steps that ``queueing.levels`` looks at. A job's first step too many is in the table too, so that the
linear relaxation has a price at which no step beyond the table pays.
"""

from collections.abc import Callable

import numpy as np

from dlsched.allocation.cost_table import CostTable
from dlsched.async_sgd.instance import Instance
from dlsched.core.arrays import FloatArray
from dlsched.core.budget import Tick, no_tick
from dlsched.queueing.levels import Levels, Step, levels

_LEAST_S = float(np.finfo(np.float64).tiny)  # saving of a step for which nodes are given at all


def cost_table(instance: Instance, *, tick: Tick = no_tick) -> CostTable:
    """Tabulate every count that some optimal allocation may need; a job whose next step saves nothing ends there.

    Parameters
    ----------
    instance
        Any valid instance, feasible or not.
    tick
        Called now and then.

    Raises
    ------
    UsageError
        More pairs than ``queueing.levels.LARGEST_TABLE``.

    Cost: O(N log J) steps of mean value analysis, made for all jobs at a time.
    """
    found = useful_levels(instance, _saving, least=_LEAST_S, tick=tick)
    order = np.argsort(found.jobs, kind="stable")
    starts = np.concatenate(([0], np.cumsum(np.bincount(found.jobs))))
    times_s = instance.batches[found.jobs] / found.throughputs
    return CostTable(starts, found.counts[order].astype(np.int64), times_s[order])


def useful_levels(
    instance: Instance, gain: Callable[[Step], FloatArray], *, least: float, tick: Tick = no_tick
) -> Levels:
    """Walk through the counts of an instance; see ``queueing.levels.levels``."""
    jobs = range(len(instance.jobs))
    return levels(
        instance.networks,
        instance.batches,
        np.array([instance.most(job) for job in jobs], dtype=np.int64),
        instance.nodes - len(jobs),
        gain,
        least=least,
        tick=tick,
    )


def _saving(step: Step) -> FloatArray:
    """Seconds that a step saves."""
    return step.batches / step.before - step.batches / step.after
