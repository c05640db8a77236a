"""Schedules made of orders: serial generation, and simulated annealing over orders.

*Serial generation*: each job in turn starts once its resources are free to its end.

*No later than in any schedule with these lengths.* Take a feasible schedule and the order of its starts. Induction: let
the jobs before job i start no later here than there. At the time at which job i starts there, all of them
have started there; so those that still run here also run there, and beside them the resources of job i are
free to its end. So job i starts no later here either.

*Simulated annealing* (Kirkpatrick, Gelatt, Vecchi 1983): a step moves one entry of the order to another position, at most
a quarter of the length away. A worse order is accepted with probability exp(-increase / temperature); the temperature
falls linearly to 0.
"""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

import numpy as np

from dlsched.core.elementary import exp
from dlsched.core.limits import Tick, no_tick


def earliest_starts(
    capacities: Sequence[int], jobs: Iterable[tuple[float, float, Sequence[int]]], *, tick: Tick = no_tick
) -> list[float]:
    """Start each job at the earliest time from which its resources are free to its end, beside earlier jobs of the order.

    ``jobs``: release, length and amount of every resource, in order of choice. ``tick`` is called for every job. Cost: O(J^2 M).
    """
    profile = _Profile(capacities)
    starts = []
    for release_s, length_s, usage in jobs:
        tick()
        starts.append(profile.earliest_s(usage, release_s, length_s))
        profile.take(usage, starts[-1], starts[-1] + length_s)
    return starts


class _Profile:
    """Free amounts over time: ``free[n]`` from ``times[n]`` to the next time, the last entry for ever.

    A job whose length vanishes beside its start has a piece of length 0: nothing else runs across it.
    """

    def __init__(self, capacities: Sequence[int]) -> None:
        self.times = [0.0, math.inf]
        self.free = [list(capacities)]

    def earliest_s(self, usage: Sequence[int], release_s: float, length_s: float) -> float:
        """The earliest time from a release on at which ``usage`` is free for the length."""
        start_s = release_s
        for free, (from_s, until_s) in zip(self.free, pairwise(self.times), strict=True):
            if from_s >= start_s + length_s and from_s > start_s:
                break
            if until_s > start_s and any(count > free_units for count, free_units in zip(usage, free, strict=True)):
                start_s = until_s
        return start_s

    def take(self, usage: Sequence[int], start_s: float, end_s: float) -> None:
        """Reserve ``usage`` from a start to an end."""
        self._cut(start_s)
        self._cut(end_s)
        first, last = bisect_right(self.times, start_s) - 1, bisect_left(self.times, end_s)
        if start_s == end_s:
            self.times.insert(first, start_s)
            self.free.insert(first, list(self.free[first]))
            last = first + 1
        for free in self.free[first:last]:
            for resource, count in enumerate(usage):
                free[resource] -= count

    def _cut(self, time_s: float) -> None:
        """Make a piece begin at a time."""
        index = bisect_left(self.times, time_s)
        if self.times[index] > time_s:
            self.times.insert(index, time_s)
            self.free.insert(index, list(self.free[index - 1]))


def anneal_orders(
    order: list[int],
    cost: Callable[[list[int], float], float],
    generator: "np.random.Generator",
    *,
    tries: int,
    temperature: float,
) -> None:
    """Walk from an order to cheaper ones, for ``tries`` orders; the caller keeps the best through ``cost``.

    ``cost`` gets an order and the cost of the order that it would replace (infinite at first); ``temperature`` of the
    first step is a multiple of the cost of the first order.
    """
    first = now = math.inf
    for step in range(tries):
        tried = _moved(order, generator) if step else order
        found = cost(tried, now)
        first = found if step == 0 else first
        heat = temperature * first * (1 - step / tries)
        if found <= now or generator.random() < exp((now - found) / heat):
            order, now = tried, found


def _moved(order: list[int], generator: "np.random.Generator") -> list[int]:
    """The order with one entry moved."""
    count = len(order)
    index = int(generator.integers(count))
    distance = int(generator.integers(1, max(2, count // 4 + 1))) * (1 if generator.random() < 0.5 else -1)
    changed = [*order[:index], *order[index + 1 :]]
    changed.insert(min(count - 1, max(0, index + distance)), order[index])
    return changed
