"""Filling of slots with worker-slots, one after the other, each where it gains the most.

The next goes to the job with the largest average gain per share of the resources, up to the next corner of its envelope, in a
slot in which its ring can be closed, until nothing fits or gains any more. It has to gain more than its
energy costs, including the power of the servers that it switches on; slots that need no further server come
first.
"""

import heapq
import math

from dlsched.ring_embedding.heuristics.slot_greedy import net_tables
from dlsched.ring_embedding.rings.network import Network
from dlsched.ring_embedding.rings.placing import Slot, embedding
from dlsched.ring_embedding.slot.filling import shares
from dlsched.ring_embedding.solution import Embedding

Full = set[tuple[int, float]]
"""Slots that are full, by the price that may be paid there."""
FREE = 1e-300
"""Price up to which a worker-slot counts as free."""


class WorkerSlots:
    """Slots, and the worker-slots of every job in them.

    ``net``: utilities less the price of the workers' energy; ``charged``: whether servers that are on cost anything.
    """

    def __init__(self, network: Network) -> None:
        self.network, self.tables, self.net = network, network.tables, net_tables(network)
        self.charged = bool(network.on_price.any())
        self.slots: dict[int, Slot] = {}
        for number in network.slots:
            network.tick()
            self.slots[number] = Slot(network)
        self._rings = 0  # placed so far, including those removed again
        self.held = [0] * len(self.tables)
        self.share = shares(network)

    def tick(self) -> None:
        """Stop at a limit, or earlier by the time that making and checking the answer takes."""
        self.network.tick(self._rings)

    def embedding(self) -> Embedding:
        """The embedding of the slots as they are."""
        return embedding(self.network, self.slots)

    def gain(self) -> float:
        """Total utility beyond that of running nothing, less the price of energy, in floats."""
        held = zip(self.net, self.held, strict=True)
        gained = sum(float(table.values[count] - table.values[0]) for table, count in held)
        return gained - sum(slot.on_price for slot in self.slots.values())

    def resize(self, job: int, number: int, count: int) -> bool:
        """Give the job ``count`` workers in a slot if its ring can be closed; the caller keeps the job's limits."""
        slot = self.slots[number]
        before = slot.count(job)
        done = slot.resize(job, count)
        if done:
            self.held[job] += count - before
            self._rings += not before
        return done

    def replace(self, number: int, slot: Slot) -> None:
        """Replace a slot by another."""
        for job in range(len(self.held)):
            self.held[job] += slot.count(job) - self.slots[number].count(job)
        self.slots[number] = slot

    def fill(self) -> None:
        """Fill the slots (see the module); the objective never falls."""
        queue = [entry for job in range(len(self.held)) for entry in self._next(job)]
        heapq.heapify(queue)
        full: dict[int, Full] = {job: set() for job in range(len(self.held))}
        while queue:
            # An entry is stale when its job has got worker-slots in the meantime.
            _, job, steps, held = heapq.heappop(queue)
            if held != self.held[job]:
                continue
            self.tick()
            if self._grow(job, steps, full[job]):
                for entry in self._next(job):
                    heapq.heappush(queue, entry)

    def _next(self, job: int) -> list[tuple[float, int, int, int]]:
        slope, steps = self.net[job].slope(self.held[job])
        return [(-slope / float(self.share[job]), job, steps, self.held[job])] if slope > 0 else []

    def _grow(self, job: int, steps: int, full: Full) -> bool:
        """Give a job ``steps`` more worker-slots, or none.

        ``full``: slots known to take none, by the price that may be paid there.
        """
        most, begin = int(self.network.most[job]), self.network.instance.jobs[job].arrival_slot
        values = self.net[job].values
        worth = float(values[self.held[job] + steps] - values[self.held[job]])
        done: list[tuple[int, int]] = []
        # First slots in which no further server has to be switched on, then those whose power the gain pays for.
        for limit in (FREE, math.inf) if self.charged else (math.inf,):
            for number in range(begin, self.network.instance.slots + 1):
                if (number, limit) in full:
                    continue
                slot = self.slots[number]
                before, paid = slot.count(job), slot.on_price
                count = before
                while len(done) < steps and count < most and self.afford(job, number, count + 1, min(limit, worth)):
                    count += 1
                    done.append((number, before))
                    worth, paid = worth - (slot.on_price - paid), slot.on_price
                if len(done) == steps:
                    return True
                full.add((number, limit))
        for number, before in reversed(done):
            self.resize(job, number, before)
        return False

    def afford(self, job: int, number: int, count: int, worth: float) -> bool:
        """As ``resize``, if ``worth`` is more than the power of the servers that it switches on."""
        slot = self.slots[number]
        before = slot.count(job)
        done = slot.grow(job, count, worth)
        if done:
            self.held[job] += count - before
            self._rings += not before
        return done
