"""Filling and repair for max_min: the poorest job gets free worker-slots, then those of richer jobs.

*Filling.* The job with the least utility gets the next worker-slots that raise it, in slots in which its ring can be closed,
until no job can have more.

*Repair.* A job that finds no room takes worker-slots from another job, the richest first, if the donor keeps
a higher utility than the taker had. Every step makes the ascending utilities lexicographically larger, so it
ends.
"""

import heapq
from collections.abc import Callable, Iterator
from itertools import islice

import numpy as np

from dlsched.ring_embedding.heuristics.plan import Plan
from dlsched.ring_embedding.rings.placing import Slot

TRIES = 60
"""Number of rings from which a job tries to take workers before it gives up."""
ROUNDS = 20
"""How often jobs that gave up try again after others have changed."""
_HAIR = 1e-12  # relative; utilities that differ by less are equal


class Filling:
    """Raises the utilities of a plan in place, the least first."""

    def __init__(self, plan: Plan) -> None:
        self.plan, self.network = plan, plan.network
        self._values = [np.maximum.accumulate(table.values) for table in plan.tables]
        self._open: list[list[int]] = []
        self._reopen()

    def fill(self) -> None:
        """Repeatedly raise the least utility by free capacity."""
        self._least_first(self._grow)

    def repair(self) -> None:
        """Repeatedly raise the least utility by free capacity or by workers of richer jobs."""
        for _ in range(ROUNDS):
            self._reopen()
            if not self._least_first(lambda job: self._grow(job) or self._take(job)):
                break

    def _value(self, job: int, less: int = 0) -> float:
        return float(self._values[job][self.plan.held[job] - less])

    def _reopen(self) -> None:
        """Assume again that every slot from its arrival on can take a worker of a job."""
        slots, jobs = self.network.slots, self.network.instance.jobs
        self._open = [[number for number in slots if number >= job.arrival_slot] for job in jobs]

    def _least_first(self, lift: Callable[[int], set[int]]) -> bool:
        """Raise the job with the least utility until none can be raised; ``lift`` returns the jobs that it changed."""
        queue = [(self._value(job), job) for job in range(len(self._values))]
        heapq.heapify(queue)
        lifted = False
        while queue:
            value, job = heapq.heappop(queue)
            # An entry is stale when the job's utility has changed since.
            if value == self._value(job):
                self.plan.tick()
                for other in lift(job):
                    heapq.heappush(queue, (self._value(other), other))
                    lifted = True
        return lifted

    def _missing(self, job: int) -> int:
        """Further worker-slots with which the utility of a job rises; 0 if none do."""
        values, held = self._values[job], self.plan.held[job]
        after = int(np.searchsorted(values, values[held] * (1 + _HAIR), side="right"))
        return after - held if after < len(values) else 0

    def _grow(self, job: int) -> set[int]:
        """Raise a job by free capacity, or change nothing; return the jobs changed."""
        target = self.plan.held[job] + self._missing(job)
        room, before, saved = self._open[job], self.plan.held[job], dict[int, Slot]()
        while self.plan.held[job] < target and room:
            saved.setdefault(room[-1], self.plan.slots[room[-1]].copy())
            if not self._widen(job, room[-1]):
                room.pop()
        if before < target <= self.plan.held[job]:
            return {job}
        # Not enough room for a higher utility: undo, and open the slots again that were closed on the way.
        if self.plan.held[job] > before:
            self._restore(saved)
            self._open[job] = sorted({*room, *saved})
        return set()

    def _widen(self, job: int, number: int) -> bool:
        """Give a job the fewest further workers in a slot with which its ring can be closed; in a forest one."""
        count = self.plan.slots[number].count(job)
        left = int(self.network.total[job]) - self.plan.held[job]
        most = min(int(self.network.most[job]), count + (min(left, 1) if self.network.forest else left))
        return any(self.plan.resize(job, number, more) for more in range(count + 1, most + 1))

    def _take(self, job: int) -> set[int]:
        """Raise a job by free capacity and workers of richer jobs, or change nothing; return the jobs changed."""
        target, floor = self.plan.held[job] + self._missing(job), self._value(job) * (1 + _HAIR)
        if target == self.plan.held[job]:
            return set()
        changed, saved = {job}, dict[int, Slot]()
        while self.plan.held[job] < target:
            for donor, number in islice(self._donors(job, floor), TRIES):
                slot = self._exchanged(job, donor, number, floor)
                if slot is not None:
                    saved.setdefault(number, self.plan.slots[number])
                    self.plan.replace(number, slot)
                    changed.add(donor)
                    break
            else:
                self._restore(saved)
                return set()
        return changed

    def _donors(self, job: int, floor: float) -> Iterator[tuple[int, int]]:
        """Jobs and slots from which a job could take workers, the richest first."""
        first, most = self.network.instance.jobs[job].arrival_slot, int(self.network.most[job])
        slots = {number: slot for number, slot in self.plan.slots.items() if number >= first and slot.count(job) < most}
        for donor in sorted(range(len(self._values)), key=lambda other: (-self._value(other), other)):
            if self._value(donor) <= floor:
                break
            yield from ((donor, number) for number, slot in slots.items() if donor != job and donor in slot.rings)

    def _exchanged(self, job: int, donor: int, number: int, floor: float) -> Slot | None:
        """The slot with one worker more of the job and fewer of the donor, which stays above ``floor``; else None."""
        slot = self.plan.slots[number].copy()
        more, held = slot.count(job) + 1, slot.count(donor)
        for less in range(1, held + 1):
            if self._value(donor, less) <= floor:
                return None
            if slot.resize(donor, held - less) and slot.resize(job, more):
                return slot
        return None

    def _restore(self, saved: dict[int, Slot]) -> None:
        for number, slot in saved.items():
            self.plan.replace(number, slot)
