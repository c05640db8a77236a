"""The heuristic ``plan``: a relaxation sets each job's worker-slots by epoch; then rings are placed.

1. *Totals.* The optimum of ``horizon.relaxation.relax``; where it lies between two corners of an S-shaped envelope it is
   worth less than the envelope says, so it is brought down to the corner below, and what that frees is left to step 4.
2. *Slots.* A job's worker-slots of an epoch are spread as evenly as integers can be; the odd ones go round the slots from
   one job to the next, so that slots differ by one in all.
3. *Rings.* Slot by slot, the largest rings first, each where it does least harm (``rings.placing``); where it does not fit,
   with fewer workers.
4. *Filling.* Worker-slots go, one after the other, to the job with the largest average gain per share of the resources (up
   to the next corner of its envelope), in a slot in which its ring can be closed, until nothing fits or gains any more.
   A worker-slot has to gain more than its energy costs, with the power of the servers that it switches on.
   Where servers that are on cost something, some are switched off before that, and some on (``merging``). If what is left is
   worth less than running nothing, the slots are filled from nothing.

The plan has no guarantee by itself; the relaxation's certificate bounds it. Ours; no paper.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from dlsched.algorithms.utility_tables import Floats, UtilityTable
from dlsched.core.limits import Budget
from dlsched.ring_embedding.heuristics.merging import merge
from dlsched.ring_embedding.heuristics.worker_slots import WorkerSlots
from dlsched.ring_embedding.horizon.relaxation import relax
from dlsched.ring_embedding.instance import Instance
from dlsched.ring_embedding.rings.network import Network
from dlsched.ring_embedding.rings.placing import Slot
from dlsched.ring_embedding.rings.rows import epochs
from dlsched.ring_embedding.solution import Embedding

Split = Mapping[tuple[int, int], float]
"""Worker-slots by job and epoch."""
_ROUNDING = 1e-6


def plan(instance: Instance, budget: Budget | None = None) -> Embedding:
    """Follow the relaxation over all slots (see the module); it knows all jobs from the first slot on.

    ``budget``: asked for every slot and worker-slot, and for the time left before every linear program.

    Guarantee: none; ``horizon`` bounds it, and where the two meet it is optimal.

    Cost: linear programs of some rounds, as ``horizon``, then one search for servers per worker.

    Source: ours.

    >>> from dlsched import ring_embedding
    >>> instance = ring_embedding.example()
    >>> ring_embedding.check(instance, ring_embedding.plan(instance))
    []
    """
    relaxed = relax(instance, budget)
    made = Plan(Network(instance, budget))
    made.place(relaxed.by_epoch, relaxed.totals)
    return made.embedding()


class Plan(WorkerSlots):
    """Worker-slots placed as a relaxation distributes them."""

    def place(self, by_epoch: Split, totals: Floats) -> None:
        """All steps, from worker-slots by job and epoch, and by job, shape (I,)."""
        self.follow(by_epoch, whole_totals(totals, self.tables))
        if self.charged:
            merge(self)
        else:
            self.fill()
        if self.gain() < 0:
            for number in self.slots:
                self.replace(number, Slot(self.network))
            self.fill()

    def follow(self, by_epoch: Split, totals: list[int]) -> None:
        """Steps 2 and 3: place what the relaxation gives, up to ``totals``, from which it is subtracted."""
        wanted: dict[int, list[tuple[int, int]]] = {number: [] for number in self.slots}
        for e, span in enumerate(epochs(self.network.instance)):
            turn = 0
            for job in range(len(totals)):
                most = int(self.network.most[job])  # a solver may exceed it by rounding
                whole = min(int(by_epoch.get((job, e), 0.0) + _ROUNDING), totals[job], most * span.slots)
                totals[job] -= whole
                # A job's odd worker-slots begin where those of the job before ended, so slots differ by one in all.
                each, odd = divmod(whole, span.slots)
                self.network.tick()
                for index in range(span.slots):
                    count = min(each + ((index - turn) % span.slots < odd), most)
                    if count:
                        wanted[span.first + index].append((count, job))
                turn += odd
        for number, rings in wanted.items():
            self.network.tick(self._rings)
            # Largest share first: small rings fit between large ones, not the other way round.
            for count, job in sorted(rings, key=lambda ring: (-ring[0] * self.share[ring[1]], ring[1])):
                self._place_most(job, number, count)

    def concentrate(self) -> None:
        """Without a relaxation: place the largest rings in every slot, those that gain the most first."""
        for number in self.slots:
            self.network.tick(self._rings)
            # With listed paths a ring may exist for many workers but not for few.
            waiting = []
            for job, record in enumerate(self.network.instance.jobs):
                most = min(int(self.network.most[job]), int(self.network.total[job]) - self.held[job])
                if record.arrival_slot <= number and most > 0:
                    values = self.net[job].values
                    waiting.append((-float(values[self.held[job] + most] - values[self.held[job]]), job, most))
            for gain, job, most in sorted(waiting):
                self._place_most(job, number, most if gain < 0 else 0)

    def _place_most(self, job: int, number: int, count: int) -> None:
        """Give the job the most workers, up to ``count``, in a slot in which it has none."""
        while count and not self.resize(job, number, count):
            count -= 1


def whole_totals(totals: Floats, tables: Sequence[UtilityTable]) -> list[int]:
    """Step 1: whole worker-slots by job, on a corner of the envelope where it is above the utility."""
    found = []
    for total, table in zip(totals.tolist(), tables, strict=True):
        whole = min(int(total + _ROUNDING), table.units)
        if not table.concave and table.envelope[whole] > table.values[whole] * (1 + _ROUNDING):
            whole = int(table.corners[np.searchsorted(table.corners, whole, side="right") - 1])
        found.append(whole)
    return found
