"""Jobs of a size of their own, served in an order: whoever fits behind those before it runs, the others wait.

The jobs that run are those of one greedy pass: in order, each takes its size if so many units are left. A job may
overtake one that does not fit, and may be stopped again for it. No pass is made, though: at an event only a few jobs can
change places. Let free(j) be the units that the running jobs before waiting job j leave.

1. j runs if and only if free(j) is at least its size. Of the waiting jobs of one size the first has the most free, so
   only the first of each size is looked at.
2. Between events the pass would give the same: see ``orders`` (a waiting job never moves forward past a running one,
   save by ``las``, which looks at all jobs again).
3. When jobs end, free(j) grows by at most their sizes, and each admission takes its size from all that come after it.
   When this ``gain`` is used up, no other job can fit. Jobs that arrived are then looked at one by one.
4. When a job is admitted that does not fit into what is idle, running jobs behind it go through the pass again. The
   first of them that does not fit any more is found from the end: as many units as are missing stand behind it or in it.

Cost of an event: O(log n) for the queues, O(s) for s different sizes, and a walk over running jobs that hold no more
units together than the job looked at; moving entries of the sorted list of running jobs is O(C) with a tiny factor.
"""

from bisect import bisect_left, insort
from heapq import heappop, heappush

from dlsched.elastic_stream.policies.orders import las, order_named, srpt
from dlsched.elastic_stream.policies.sizes import Size
from dlsched.elastic_stream.simulation.view import View

Entry = tuple[float, int, int]
"""Key, job and size of a job."""


class Queue:
    """Order x size, where the size of a job does not depend on the others: fixed, fastest or knee.

    Parameters
    ----------
    order
        A name of ``ORDERS``.
    size
        From ``sizes``.

    Guarantee: none. Knows speeds and the nominal work.
    """

    clairvoyant = False

    def __init__(self, order: str, size: Size) -> None:
        self._order = order_named(order)
        self.timeless = self._order is not las
        self._size = size
        self._falls = self._order is srpt  # keys of running jobs fall as time goes by
        self._waiting: dict[int, list[Entry]] = {}  # by size: heap; none is empty
        self._running: list[Entry] = []  # sorted; a key that falls is held as the time at which it will be 0
        self._entry_of: dict[int, Entry] = {}  # of running jobs
        self._stopped: list[Entry] = []  # at this event, with the keys they had; they may yet go on as if nothing was
        self._free = -1  # until it is asked the first time

    def decide(self, view: View) -> dict[int, int]:
        """Admit whoever fits, the first in order first; stop those that do not fit behind it any more."""
        if self._free < 0:
            self._free = view.units
        changes: dict[int, int] = {}
        shift = view.passed_s if self._falls else 0.0
        gain = 0
        for job in view.ended:
            entry = self._entry_of.pop(job)
            del self._running[bisect_left(self._running, entry)]
            gain += entry[2]
        self._free += gain
        if self._order is las:
            self._sort_again(view)
            gain = view.units
        if gain and self._waiting:
            self._fill(gain, shift, changes)
        for job in view.arrived:
            size = self._size(view, job)
            entry = (self._order(view, job, size), job, size)
            if self._free < size and (entry[0] + shift > self._running[-1][0] or not self._fits(entry, shift)):
                self._wait(entry)
            else:
                self._fill(self._admit(entry, shift, changes), shift, changes)
        for _, job, size in self._stopped:
            key = view.time_left_stopped_s(job, size) if self._falls else self._order(view, job, size)
            self._wait((key, job, size))
        self._stopped.clear()
        return changes

    def _fill(self, gain: int, shift: float, changes: dict[int, int]) -> None:
        """Admit the first of the waiting jobs that fits, again and again, while one can."""
        waiting, running, stopped = self._waiting, self._running, self._stopped
        while gain > 0:
            best = None
            free = self._free
            last = running[-1][0] if running else 0.0
            for size, queue in waiting.items():
                head = queue[0]
                if best is not None and head > best:
                    continue
                if size <= free or (head[0] + shift <= last and self._fits(head, shift)):  # else nobody is behind it
                    best = head
            for entry in stopped:
                if (best is None or entry < best) and self._fits(entry, shift):
                    best = entry
            if best is None:
                return
            if best in stopped:
                stopped.remove(best)
            else:
                queue = waiting[best[2]]
                heappop(queue)
                if not queue:
                    del waiting[best[2]]
            gain += self._admit(best, shift, changes)

    def _fits(self, entry: Entry, shift: float) -> bool:
        """Whether the running jobs before a waiting one leave its size free."""
        free, size = self._free, entry[2]
        if free >= size:
            return True
        limit = (entry[0] + shift, entry[1])
        for behind in reversed(self._running):
            if behind < limit:
                return False
            free += behind[2]
            if free >= size:
                return True
        return False

    def _admit(self, entry: Entry, shift: float, changes: dict[int, int]) -> int:
        """Let a job run that fits; return the units of those stopped for it less its own."""
        key, job, size = entry
        self._entry_of[job] = entry = (key + shift, job, size)
        insort(self._running, entry)
        changes[job] = size
        self._free -= size
        return (self._pass_again(shift, changes) if self._free < 0 else 0) - size

    def _pass_again(self, shift: float, changes: dict[int, int]) -> int:
        """Stop, in one pass, the running jobs that do not fit any more; return the units that they held."""
        running, before = self._running, self._free
        index, behind = len(running), 0
        while behind < -before:
            index -= 1
            behind += running[index][2]
        left = before + behind
        again = running[index:]
        del running[index:]
        for entry in again:
            _, job, size = entry
            if size <= left:
                left -= size
                running.append(entry)
            else:
                del self._entry_of[job]
                changes[job] = 0
                self._stopped.append((entry[0] - shift, job, size))
        self._free = left
        return left - before

    def _wait(self, entry: Entry) -> None:
        heappush(self._waiting.setdefault(entry[2], []), entry)

    def _sort_again(self, view: View) -> None:
        """Give the running jobs the keys they have now."""
        self._running = sorted((self._order(view, job, size), job, size) for _, job, size in self._running)
        self._entry_of = {entry[1]: entry for entry in self._running}
