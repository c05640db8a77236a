"""What loops of policies that resize jobs at every event share: ends and arrivals, admission, periods that end and begin.

Of the columns of ``Queued``, ``changed`` has the state of a job: it is far, near, or gone; a job whose speeds have to be measured
asks for a pair to measure, or measures one. ``runs`` is the pair that a job shall have, -1 for none.
"""

import math
from collections.abc import Sequence
from heapq import heapify, heappop, heappush

from dlsched.core.gap import ROUNDING
from dlsched.elastic_stream.simulation.present_jobs import FALLING_APART, FEW, IDLE, Queued
from dlsched.elastic_stream.simulation.queue_loop import PERIODS, job_key, left_of, start, stop

GONE, FAR, NEAR, ASKING, MEASURING = range(-1, 4)
"""States of a job."""
PRESENT, LEAST, FAR_UNITS, MEASURING_UNITS, PAUSED, STALE, STAMP = range(7)
"""Places in ``state``, a list, as Numba loses track of such numbers: jobs present; smallest counts of all that do not measure;
units of far jobs, and of those that measure; periods in a row that ended in their pause; entries of the heap of ends that were
cut short; the last stamp."""

Pairs = tuple[Sequence[int], Sequence[float], Sequence[int], Sequence[float]]
"""Counts, their seconds per epoch, where steps lead (-1: to none), seconds to measure (0: never); after a job's pairs, zeros."""
Ends = list[tuple[float, int, int]]
"""Heap of ends of periods, with their stamps and jobs."""
Ended = list[tuple[int, float, float, int]]
"""Periods that ended: job, start and end in seconds, units."""


def next_event(jobs: Sequence[Queued], ends: Ends, arriving: Sequence[int], came: int, state: list[int]) -> float:
    """The next end of a period that was not cut short, or arrival."""
    while len(ends) and jobs[ends[0][2]].stamp != ends[0][1]:
        heappop(ends)
        state[STALE] -= 1
    end = ends[0][0] if len(ends) else math.inf
    return min(end, jobs[arriving[came]].arrival if came < len(arriving) else math.inf)


def end_and_arrive(
    jobs: Sequence[Queued],
    ends: Ends,
    ended: Ended,
    arriving: Sequence[int],
    came: int,
    state: list[int],
    now: float,
) -> tuple[list[int], int, float]:
    """End the jobs of an event, and let others come; return these, how many have come in all, and the last of their times."""
    latest, new = now + ROUNDING * now, [0 for _ in range(0)]
    while len(ends) and ends[0][0] <= latest:
        end, stamp, job = heappop(ends)
        run = jobs[job]
        if run.stamp != stamp:
            state[STALE] -= 1
            continue
        now = max(now, end)
        ended.append((job, run.since, end, run.units))
        if run.changed == FAR:
            state[FAR_UNITS] -= run.units
        if run.changed == MEASURING:
            state[MEASURING_UNITS] -= run.units
        else:
            state[LEAST] -= run.size
        run.changed = GONE
        state[PRESENT] -= 1
        state[PAUSED] = 0
    while came < len(arriving) and jobs[arriving[came]].arrival <= latest:
        job = arriving[came]
        run = jobs[job]
        now = max(now, run.arrival)
        came += 1
        if run.work > 0.0:  # a job without work ends at once
            run.changed = NEAR
            state[PRESENT] += 1
            state[LEAST] += run.size
            new.append(job)
    return new, came, now


def pause_of(run: Queued, now: float) -> float:
    """Seconds that are left of the pause of a job that keeps its units."""
    return max(0.0, run.pause - (now - run.since)) if run.units else 0.0


def key_of(run: Queued, order: int, pairs: Pairs, now: float) -> float:
    """Key of a job in the order of admission, at its smallest count."""
    if order != FALLING_APART:
        return job_key(run, order, now, False)
    pause = pause_of(run, now) if run.units == run.size else run.restart if run.started else 0.0
    return (pause + (left_of(run, now) + run.hidden) * pairs[1][run.kind]) / run.weight


def admitted(jobs: Sequence[Queued], pairs: Pairs, here: list[int], order: int, units: int, now: float) -> list[int]:
    """The jobs whose smallest counts fit together, in order; one that does not fit is skipped."""
    entries = [(key_of(jobs[job], order, pairs, now), job) for job in here]
    entries.sort()
    some = [0 for _ in range(0)]
    for _, job in entries:
        if jobs[job].size <= units:
            units -= jobs[job].size
            some.append(job)
        else:
            jobs[job].runs = -1
    return some


def resize(
    jobs: Sequence[Queued],
    pairs: Pairs,
    some: list[int],
    ends: Ends,
    ended: Ended,
    state: list[int],
    now: float,
) -> Ends:
    """End the periods of jobs that shall hold other units, in order of arrival, and begin new ones; return the heap of ends."""
    counts, times_s, _, _ = pairs
    changes = [(0.0, 0) for _ in range(0)]
    for job in some:
        run = jobs[job]
        if run.units != (counts[run.runs] if run.runs >= 0 else 0):
            changes.append((run.arrival, job))
    changes.sort()
    for _, job in changes:
        run = jobs[job]
        if run.units:
            state[STALE] += 1
            if now > run.since:
                ended.append((job, run.since, now, run.units))
            state[PAUSED] = 0 if stop(run, now) else state[PAUSED] + 1
        state[STAMP] += 1
        run.units, run.since, run.stamp = 0, now, state[STAMP]
        if run.runs >= 0:
            run.units, run.time = counts[run.runs], times_s[run.runs]
            heappush(ends, (start(run, now), run.stamp, job))
    if state[STALE] > FEW + len(ends) // 2:  # drop stale ends, so that the heap stays linear in the jobs
        ends = [entry for entry in ends if jobs[entry[2]].stamp == entry[1]]
        heapify(ends)
        state[STALE] = 0
    return ends


def comes_on(jobs: Sequence[Queued], here: list[int], now: float) -> bool:
    """Whether some running job is past its pause."""
    for job in here:
        run = jobs[job]
        if run.changed != GONE and run.units and (now - run.since) * (1 - IDLE) > run.pause:
            return True
    return False


RESIZING = (*PERIODS, next_event, end_and_arrive, pause_of, key_of, admitted, resize, comes_on)
