"""Combine pairs of a knapsack's core: sums of shifts and regrets job after job, on one side or on two that meet.

With two sides every job goes to the side of fewer sums. The best completion of a sum of one side is the
largest sum of the other that still fits, as the other's sums of more shift are cheaper, price included
(``algorithms.sums``). So one pass over the smaller side covers all pairs, and 10^4 sums on either side stand
for 10^8 (after Horowitz and Sahni 1974).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dlsched.algorithms.sums import Move, States, Trail
from dlsched.allocation.core_pairs import Core
from dlsched.core.arrays import IntArray
from dlsched.core.budget import Tick


def combine(
    core: Core,
    near: IntArray,
    step: Tick,
    tick: Tick,
    found: Callable[[IntArray], None],
    *,
    enough: int | None = None,
    most: int | None = None,
    sides: int = 2,
    cap: float = math.inf,
) -> bool:
    """Combine pairs, given by position; the core's incumbent becomes their best choice if that is better.

    When stopped on the way, the core keeps the best choice so far, unless reading it takes as long again. If a side has
    more states than ``enough``, it gives up; if more than ``most``, it goes on with that many. In both cases it returns
    False: there may be a better choice. Choices with regrets above the ``cap`` on either side are skipped.
    """
    if not len(near):
        return True
    queue = _Queue.of(core, near)
    reach = int(np.abs(core.shifts[near]).max())
    trails = [Trail(core.price, core.slack, tick, most=most, reach=reach, cap=cap, trails=sides) for _ in range(2)]
    left = [(sum(queue.low), sum(queue.high))] * 2  # least and largest shift of the jobs a side has not combined
    places: list[list[int]] = [[], []]  # places of the jobs that each side has combined
    best: tuple[tuple[int, int], ...] = ()  # number of jobs and state of the best sum, on either side
    whole = True
    try:
        for place in range(queue.jobs):
            step()
            # Each job joins the side with fewer sums, so that both stay short.
            side = int(sides == 2 and len(trails[1].states.shifts) < len(trails[0].states.shifts))
            places[side].append(place)
            left[side] = left[side][0] - queue.low[place], left[side][1] - queue.high[place]
            states = trails[side].advance(queue.move(place, *left[side]), core.best - core.gain)
            if not len(states.shifts):
                break
            excess, pair = least_pair(trails[0].states, trails[1].states, core.price, core.slack)
            if excess < core.best:
                core.best = excess
                best = tuple((trail.depth, state) for trail, state in zip(trails, pair, strict=True))
            if not core.may_improve(0.0):
                break
            if enough is not None and len(states.shifts) > enough:
                whole = False
                break
    except BaseException as stopped:
        if best and (all(trail.whole for trail in trails) or isinstance(stopped, MemoryError)):
            found(queue.choice(places, [trail.way(*state) for trail, state in zip(trails, best, strict=True)]))
        raise
    if best:
        core.chosen = queue.choice(places, [trail.way(*state) for trail, state in zip(trails, best, strict=True)])
        found(core.chosen)
    return whole and not any(trail.cut for trail in trails)


def least_pair(first: States, second: States, price: float, slack: int) -> tuple[float, tuple[int, int]]:
    """Return the least excess of two sums, one of each, that fit together (inf: none do), and the two.

    Regret less price x shift must fall along the shifts of the longer of the two.
    """
    if len(first.shifts) > len(second.shifts):
        excess, (other, state) = least_pair(second, first, price, slack)
        return excess, (state, other)
    # Of the sums that fit beside a first one, the largest shift is the best: see the module.
    room = slack - first.shifts
    match = np.searchsorted(second.shifts, room, side="right") - 1
    fit = np.flatnonzero(match >= 0)
    if not len(fit):
        return np.inf, (0, 0)
    match = match[fit]
    excesses = first.regrets[fit] + second.regrets[match] + price * (room[fit] - second.shifts[match])
    least = int(np.argmin(excesses))
    return float(excesses[least]), (int(fit[least]), int(match[least]))


@dataclass(frozen=True, slots=True, eq=False)
class _Queue:
    """Pairs of a core by job, the jobs in the order in which they are combined."""

    core: Core
    keep: IntArray  # positions of the pairs
    starts: list[int]  # first position of every job's pairs, and last the number of pairs
    low: list[int]  # least and largest shift of every job, the base included
    high: list[int]

    @classmethod
    def of(cls, core: Core, near: IntArray) -> "_Queue":
        keep = in_turn(core, near)
        starts = np.flatnonzero(np.diff(core.jobs[keep], prepend=-1) != 0)
        low = np.minimum(np.minimum.reduceat(core.shifts[keep], starts), 0)
        high = np.maximum(np.maximum.reduceat(core.shifts[keep], starts), 0)
        return cls(core, keep, [*starts.tolist(), len(keep)], low.tolist(), high.tolist())

    @property
    def jobs(self) -> int:
        return len(self.low)

    def move(self, place: int, low_left: int, high_left: int) -> Move:
        """Return the options of a job, given how far the jobs after it may still shift."""
        pairs = self.keep[self.starts[place] : self.starts[place + 1]]
        shifts, regrets = self.core.shifts[pairs], self.core.regrets[pairs]
        return Move(np.concatenate(([0], shifts)), np.concatenate(([0.0], regrets)), low_left, high_left)

    def choice(self, places: list[list[int]], options: list[list[int]]) -> IntArray:
        """Return the base with the options taken by the jobs that either side combined first."""
        chosen = self.core.base.copy()
        for side in range(2):
            for place, option in zip(places[side], options[side], strict=False):
                if option:
                    pair = self.keep[self.starts[place] + option - 1]
                    chosen[self.core.jobs[pair]] = self.core.pairs[pair]
        return chosen


def in_turn(core: Core, keep: IntArray) -> IntArray:
    """Order pairs (given by job) so that jobs that can grow and jobs that only shrink alternate, least regret first.

    Sums then stay near 0, so that the search meets choices that fill the capacity early.
    """
    starts = np.flatnonzero(np.diff(core.jobs[keep], prepend=-1) != 0)
    if len(starts) < 2:
        return keep
    grows = np.maximum.reduceat(core.shifts[keep], starts) > 0
    turn = np.empty(len(starts), dtype=np.int64)
    order = np.argsort(np.minimum.reduceat(core.regrets[keep], starts), kind="stable")
    # Growing and shrinking jobs by turns, each kind by its least regret.
    for kind in (order[grows[order]], order[~grows[order]]):
        turn[kind] = np.arange(len(kind))
    job_turn = np.lexsort((grows, turn))
    rank = np.empty(len(starts), dtype=np.int64)
    rank[job_turn] = np.arange(len(starts))
    lengths = np.diff(np.append(starts, len(keep)))
    return keep[np.argsort(np.repeat(rank, lengths), kind="stable")]
