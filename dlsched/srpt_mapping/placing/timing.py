"""When jobs start once their order and their layouts are fixed: serial schedule generation, in floats.

*No later than in any schedule with these layouts.* Take a feasible schedule and the order of its starts. Induction: let
the jobs before job i start no later than there. From its start on, those of them that still run also run there, as all of
them had started; beside these the GPUs of job i are free to its end. So it starts no later either.
"""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from itertools import pairwise

from dlsched.srpt_mapping.instance import Instance
from dlsched.srpt_mapping.placing.layouts import Layout, shares
from dlsched.srpt_mapping.solution import Schedule


def timed(
    instance: Instance, order: Sequence[int], chosen: Sequence[Layout], *, tick: Callable[[], None] = lambda: None
) -> Schedule:
    """Start every job at the earliest time at which its GPUs are free to its end, beside the jobs before it in the order.

    A job may start before one that precedes it in the order, where it fits in front of it.

    Parameters
    ----------
    instance
        Servers and jobs.
    order
        Positions of all jobs, each once.
    chosen
        The layout of every job, by its position; each fits on the servers.
    tick
        Called for every job; it may raise to stop.

    Cost: O(I^2 M).
    """
    profile = _Profile([server.gpus for server in instance.servers])
    starts: dict[int, float] = {}
    for place in order:
        tick()
        job, layout = instance.jobs[place], chosen[place]
        length_s = job.iterations * layout.iteration_s
        starts[place] = profile.earliest_s(layout.usage, job.release_s, length_s)
        profile.take(layout.usage, starts[place], starts[place] + length_s)
    return Schedule(
        {job.id: (starts[place], shares(instance, chosen[place])) for place, job in enumerate(instance.jobs)}
    )


class _Profile:
    """Free GPUs by server over time: ``free[n]`` from ``times[n]`` to the next time, the last one for ever.

    A job whose length vanishes beside its start has a piece of no length: nothing else runs across it.
    """

    def __init__(self, sizes: Sequence[int]) -> None:
        self.times = [0.0, math.inf]
        self.free = [list(sizes)]

    def earliest_s(self, usage: Sequence[int], release_s: float, length_s: float) -> float:
        """The earliest time from a release on at which so many GPUs are free for so long."""
        start_s = release_s
        for free, (from_s, until_s) in zip(self.free, pairwise(self.times), strict=True):
            if from_s >= start_s + length_s and from_s > start_s:
                break
            if until_s > start_s and any(count > left for count, left in zip(usage, free, strict=True)):
                start_s = until_s
        return start_s

    def take(self, usage: Sequence[int], start_s: float, end_s: float) -> None:
        """Take GPUs for a while."""
        self._cut(start_s)
        self._cut(end_s)
        first, last = bisect_right(self.times, start_s) - 1, bisect_left(self.times, end_s)
        if start_s == end_s:
            self.times.insert(first, start_s)
            self.free.insert(first, list(self.free[first]))
            last = first + 1
        for free in self.free[first:last]:
            for server, count in enumerate(usage):
                free[server] -= count

    def _cut(self, time_s: float) -> None:
        """Make a piece begin at a time."""
        number = bisect_left(self.times, time_s)
        if self.times[number] > time_s:
            self.times.insert(number, time_s)
            self.free.insert(number, list(self.free[number - 1]))
