"""Queue of jobs for units, updated event by event: each job runs if its size fits beside the jobs before it.

The jobs that run are those of one greedy pass: in order of their keys (less first), each takes its size if as many units
are free. A job may overtake one that does not fit, and may be stopped again for it. No pass is made, though: at an event
only a few jobs can start or stop. Let free(j) be the units that the running jobs before waiting job j leave.

1. j runs if and only if free(j) is at least its size. Of the waiting jobs of one size the first has the most free, so
   only the first of each size is looked at.
2. Between events the pass must not change: no waiting job moves forward past a running one, unless ``sort_again``
   gives the running ones new keys and all waiting ones are looked at (``fill`` with all units). If keys of running jobs
   fall, each at its own rate (``falling``), the stored keys are too large: a job that does not fit by them does not fit.
   They are computed anew when, for the first time in an event, a job seems to fit before running jobs.
3. When jobs end, free(j) grows by at most their sizes, and each admission takes its size from all that come after it.
   When this gain is used up, no other job can fit. Jobs that arrived are then looked at one by one.
4. When a job is admitted that does not fit into what is idle, running jobs behind it go through the pass again. The
   first of them that does not fit any more is found from the end: as many units as are missing stand behind it or in it.

Cost of an event: O(log n) for the queues, O(s) for s different sizes, and a walk over running jobs that have no more
units together than the job looked at; moving entries of the sorted list of running jobs is O(C) with a tiny factor.
"""

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable
from heapq import heappop, heappush

Entry = tuple[float, int, int]
"""Key, job and size of a job."""


class Line:
    """The running and the waiting jobs; ``changes`` has the units of all jobs that started or stopped at this event.

    ``shift`` is added, at this event, to the key of a job that starts. If keys of running jobs fall, it is the time, and a stored
    key is the time at which the key will be 0. ``stopped``: jobs stopped at this event, with their former keys; they may yet
    go on. ``falling``, set at every event if keys of running jobs fall each at its own rate: the key now, by job and size.
    """

    falling: Callable[[int, int], float] | None = None

    def __init__(self, units: int) -> None:
        self.shift, self.changes = 0.0, dict[int, int]()
        self.stopped: list[Entry] = []
        self._free = units
        self._waiting: dict[int, list[Entry]] = {}  # by size: heap; none is empty
        self._running: list[Entry] = []  # sorted
        self._entry_of: dict[int, Entry] = {}  # of running jobs

    def begin(self, shift: float = 0.0) -> None:
        """Begin an event."""
        self.shift, self.changes, self.stopped = shift, {}, []

    def end(self, jobs: Iterable[int]) -> int:
        """End running jobs; return the units that they free."""
        gain = 0
        for job in jobs:
            entry = self._entry_of.pop(job)
            del self._running[bisect_left(self._running, entry)]
            gain += entry[2]
        self._free += gain
        return gain

    def sort_again(self, key: Callable[[int, int], float]) -> None:
        """Give the running jobs the keys they have now, by job and size."""
        self._running = sorted((key(job, size), job, size) for _, job, size in self._running)
        self._entry_of = {entry[1]: entry for entry in self._running}

    def fill(self, gain: int) -> None:
        """Admit the first waiting job that fits, as long as one fits, after ``gain`` units were freed."""
        waiting, running, stopped = self._waiting, self._running, self.stopped
        while gain > 0:
            best = None
            free = self._free
            last = running[-1][0] if running else 0.0
            # Step 1: only the first job of each size can be the next to start, and only one before the best so far.
            for size, queue in waiting.items():
                head = queue[0]
                if best is not None and head > best:
                    continue
                if size <= free or (head[0] + self.shift <= last and self._fits(head)):  # else nobody is behind it
                    best = head
            for entry in stopped:
                if (best is None or entry < best) and self._fits(entry):
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
            gain += self._admit(best)

    def arrive(self, entry: Entry) -> None:
        """Let a job that arrives run if it fits, and wait otherwise."""
        if self._free < entry[2] and (entry[0] + self.shift > self._running[-1][0] or not self._fits(entry)):
            self.wait(entry)
        else:
            self.fill(self._admit(entry))

    def wait(self, entry: Entry) -> None:
        """Let a job wait."""
        heappush(self._waiting.setdefault(entry[2], []), entry)

    def _fits(self, entry: Entry) -> bool:
        """Whether the running jobs before a waiting one leave its size free."""
        free, size = self._free, entry[2]
        if free >= size:
            return True
        limit = (entry[0] + self.shift, entry[1])
        for behind in reversed(self._running):
            if behind < limit:
                return False
            free += behind[2]
            if free >= size:
                # Stored keys are upper bounds while keys fall: recompute them once before believing that the job fits.
                if self.falling is None:
                    return True
                self.sort_again(self.falling)
                self.falling = None
                return self._fits(entry)
        return False

    def _admit(self, entry: Entry) -> int:
        """Let a job that fits run; return the units of the jobs stopped for it, less its own."""
        key, job, size = entry
        self._entry_of[job] = entry = (key + self.shift, job, size)
        insort(self._running, entry)
        self.changes[job] = size
        self._free -= size
        return (self._pass_again() if self._free < 0 else 0) - size

    def _pass_again(self) -> int:
        """Stop, in one pass, the running jobs that do not fit any more; return the units that they free."""
        running, before = self._running, self._free
        # Step 4: walk back until the missing units stand behind the index; only jobs from there on can be stopped.
        index, behind = len(running), 0
        while behind < -before:
            index -= 1
            behind += running[index][2]
        units = before + behind
        again = running[index:]
        del running[index:]
        for entry in again:
            key, job, size = entry
            if size <= units:
                units -= size
                running.append(entry)
            else:
                del self._entry_of[job]
                self.changes[job] = 0
                self.stopped.append((key - self.shift, job, size))
        self._free = units
        return units - before
