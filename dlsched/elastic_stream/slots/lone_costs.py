"""Lower bounds on states of the search over slots, from prices by slot."""

from dataclasses import dataclass

import numpy as np

from dlsched.columns.slot_costs import FRESH, HELD, STOPPED, Costs, SlotPrices
from dlsched.core.arrays import FloatArray, IntArray, dot
from dlsched.core.limits import Tick
from dlsched.elastic_stream.bounds.ticked_jobs import ticked_jobs
from dlsched.elastic_stream.instance import Instance
from dlsched.elastic_stream.slots.layers import BoolArray, Layer

_LARGEST = 2**23
"""Most entries that the cost tables of all jobs together may have."""
_CELLS = 4096


@dataclass(frozen=True, slots=True, eq=False)
class LoneCosts:
    """Costs of single jobs at prices by slot, from every slot on, for all work left and units held.

    The weighted flow times to come are at least the costs of the present jobs from the slot on, plus the costs of later
    jobs from their arrivals on, minus the worth of the units from the slot on.
    """

    prices: SlotPrices
    costs: dict[int, Costs]
    per_cell: FloatArray
    to_come_s: FloatArray
    brings: FloatArray

    def least(self, layer: Layer, come: BoolArray, slot: int) -> FloatArray:
        """Least flow times to come of states at the start of a slot; ``come`` marks the jobs that arrived before it."""
        ends = np.maximum(0, self.prices.slots[1:] - np.maximum(self.prices.slots[:-1], slot))
        total = np.full(len(layer.cost), float(self.to_come_s[~come].sum()) - float(dot(ends, self.brings)))
        for job in np.flatnonzero(come & (self.per_cell > 0)).tolist():
            costs, left = self.costs[job], layer.left[:, job]
            psi = costs.psi[min(slot - costs.first, len(costs.paid_s))]
            row = np.where(layer.started[:, job], _rows(costs, layer.held[:, job]), FRESH)
            total += costs.kind.weight * np.where(left > 0, psi[row, (left * self.per_cell[job]).astype(np.int64)], 0.0)
        return total


def _rows(costs: Costs, held: IntArray) -> IntArray:
    """Row of psi, by the units held, of a job that has begun."""
    if costs.kind.rows == 1:
        return np.zeros_like(held)
    return np.where(held > 0, HELD + np.searchsorted(costs.kind.counts, held), STOPPED)


def lone_costs(instance: Instance, prices: SlotPrices, tick: Tick) -> LoneCosts | None:
    """The costs of the jobs at prices; None if there are too many to store."""
    jobs = ticked_jobs(instance, tick)
    for run in jobs.runs:
        run.span = max(1, prices.end - run.members[-1].first)
    if jobs.cells * jobs.size > _LARGEST:
        return None
    jobs.refine(_CELLS, _LARGEST)
    costs: dict[int, Costs] = {}
    to_come_s = np.zeros(len(instance.jobs))
    for found, members in jobs.priced(prices, whole=True):
        for member in members:
            costs[member.job] = found
            to_come_s[member.job] = found.kind.weight * (member.wait_s + found.least_s(member.first))
    brings = dot(np.array([instance.units // size for size in prices.sizes]), prices.prices) * jobs.tick_s
    per_cell = np.array([jobs.cells / job.work if job.work else 0.0 for job in instance.jobs])
    return LoneCosts(prices, costs, per_cell, to_come_s, brings)
