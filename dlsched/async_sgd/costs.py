"""Cost table of an instance: each job's seconds on the counts of nodes that an optimal allocation may need.

The more nodes a job has, the less it saves by one more (1 / X is convex, see ``queueing.throughput``), so
some optimal allocation takes only steps that ``queueing.levels`` considers. The table also holds each job's
first step too many, so that the linear relaxation has a price at which no step beyond the table pays.
"""

from collections.abc import Callable
from itertools import islice

import numpy as np

from dlsched.allocation.cost_table import CostTable
from dlsched.async_sgd.instance import Instance
from dlsched.core.arrays import FloatArray, IntArray
from dlsched.core.limits import Tick, no_tick
from dlsched.queueing.levels import Levels, Step, levels
from dlsched.queueing.throughput import iterate

_LEAST_S = float(np.finfo(np.float64).tiny)  # least saving of a step that is worth a node


def cost_table(instance: Instance, *, tick: Tick = no_tick) -> CostTable:
    """Tabulate every count that some optimal allocation may need, up to the step that saves nothing; O(N log J) steps."""
    steps = useful_levels(instance, _saving, least=_LEAST_S, tick=tick)
    # levels come by rising count; the table goes job by job
    order = np.argsort(steps.jobs, kind="stable")
    starts = np.concatenate(([0], np.cumsum(np.bincount(steps.jobs))))
    times_s = instance.batches[steps.jobs] / steps.throughputs
    return CostTable(starts, steps.counts[order].astype(np.int64), times_s[order])


def complete_table(instance: Instance, *, tick: Tick = no_tick) -> CostTable:
    """Tabulate every allowed count that fits beside one node for every other job, useful or not."""

    def cost(job: int, counts: IntArray) -> FloatArray:
        throughputs = np.fromiter(islice(iterate(instance.networks[job]), len(counts)), dtype=np.float64)
        times_s: FloatArray = instance.batches[job] / throughputs
        return times_s

    counts = [range(1, instance.most(job) + 1) for job in range(len(instance.jobs))]
    return CostTable.from_counts(counts, cost, tick=tick)


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
