"""The compiled loop for policies that serve jobs by a key, each on its own size: clock, queue, pauses.

It does what ``algorithms.overtaking`` and the simulator do in turns: the same operations on the same floats in the same
order, but on numbers alone. Numba compiles it for long streams (``core.imports``). An event costs O(log n) for n jobs, and
the queue's cost.
"""

import math
from bisect import bisect_left, insort
from collections.abc import Iterator, Sequence
from heapq import heapify, heappop, heappush

import numpy as np

from dlsched.core.arrays import FloatArray, IntArray
from dlsched.core.gap import ROUNDING
from dlsched.core.ticks import end_after, left_after
from dlsched.elastic_stream.simulation.present_jobs import (
    ATTAINED,
    BARREN,
    FALLING,
    FALLING_APART,
    FEW,
    IDLE,
    STATIC,
    Queued,
)

_FREE, _KNOWN = range(2)  # in ``state``: idle units; whether all keys in ``running`` are of now
_MOMENTS, _PERIODS = 256, 512  # between two yields, at most; more periods would leave the cache
_MOVES = 4  # for each entry, before a list is sorted from scratch

Block = tuple[IntArray, FloatArray, FloatArray, IntArray]
"""Columns of periods: positions of jobs, starts and ends in seconds, units."""
Entry = tuple[float, int]  # key and position of a job


def left_of(run: Queued, now: float) -> float:
    """Epochs that a job has left to its real end."""
    if run.units:
        elapsed = now - run.since
        if elapsed > run.pause:
            return left_after(run.left, elapsed - run.pause, run.time)
    return run.left


def job_key(run: Queued, order: int, now: float, stopped: bool) -> float:
    """Key of a job now, or its key once it is stopped."""
    if order == STATIC:
        return run.key
    if order == ATTAINED:
        attained = run.attained
        if run.units:
            attained += run.units * (now - run.since)
        return attained / run.weight
    pause = run.restart if run.started else 0.0
    if run.units and not stopped:
        pause = max(0.0, run.pause - (now - run.since))
    return (pause + (left_of(run, now) + run.hidden) * run.time) / run.weight


def sort_again(jobs: Sequence[Queued], order: int, running: list[Entry], now: float) -> None:
    """Update the keys of running jobs to now, and sort them."""
    for index in range(len(running)):
        job = running[index][1]
        key = job_key(jobs[job], order, now, False)
        jobs[job].place = key
        running[index] = (key, job)
    # Few jobs have passed another since the last event: they are inserted, unless that takes many moves.
    moves = _MOVES * len(running)
    for index in range(1, len(running)):
        entry = running[index]
        place = index
        while place and entry < running[place - 1]:
            running[place] = running[place - 1]
            place -= 1
        running[place] = entry
        moves -= index - place
        if moves < 0:
            running.sort()
            return


def _fits(
    jobs: Sequence[Queued],
    order: int,
    running: list[Entry],
    state: list[int],
    entry: Entry,
    shift: float,
    now: float,
) -> bool:
    """Whether a waiting job fits into the units that the running jobs before it leave free."""
    size, free = jobs[entry[1]].size, state[_FREE]
    if free >= size:
        return True
    limit = (entry[0] + shift, entry[1])
    index = len(running)
    while index:
        index -= 1
        behind = running[index]
        if behind < limit:
            return False
        free += jobs[behind[1]].size
        if free >= size:
            if order != FALLING_APART or state[_KNOWN]:
                return True
            sort_again(jobs, order, running, now)
            state[_KNOWN] = 1
            index, free = len(running), state[_FREE]
    return False


def _turn(jobs: Sequence[Queued], changes: list[int], event: int, job: int, runs: int) -> None:
    """Record that a job runs, or stops, from this event on."""
    run = jobs[job]
    if run.changed != event:
        run.changed = event
        changes.append(job)
    run.runs = runs


def _wait(jobs: Sequence[Queued], waiting: list[list[Entry]], filled: list[int], entry: Entry) -> None:
    """Let a job wait, in the heap of its size."""
    kind = jobs[entry[1]].kind
    queue = waiting[kind]
    if not len(queue):
        filled.append(kind)
    heappush(queue, entry)


def _admit(
    jobs: Sequence[Queued],
    order: int,
    running: list[Entry],
    waiting: list[list[Entry]],
    filled: list[int],
    state: list[int],
    stopped: list[Entry],
    changes: list[int],
    event: int,
    entry: Entry,
    shift: float,
    now: float,
) -> int:
    """Run a job that fits; stop jobs behind it that no longer fit; return their units minus its own."""
    job = entry[1]
    size = jobs[job].size
    key = entry[0] + shift
    jobs[job].place = key
    insort(running, (key, job))
    _turn(jobs, changes, event, job, 1)
    state[_FREE] -= size
    before = state[_FREE]
    if before >= 0:
        return -size
    # Whoever must make room is behind the job: from the last one on until no unit is missing.
    index, left = len(running), before
    while left < 0:
        index -= 1
        left += jobs[running[index][1]].size
    stay = index
    for place in range(index, len(running)):
        behind = running[place]
        job = behind[1]
        if jobs[job].size <= left:
            left -= jobs[job].size
            running[stay] = behind
            stay += 1
        else:
            _turn(jobs, changes, event, job, 0)
            if order == STATIC:  # its key as one that waits is no other
                _wait(jobs, waiting, filled, behind)
            else:
                stopped.append((behind[0] - shift, job))
    del running[stay:]
    state[_FREE] = left
    return left - before - size


def _fill(
    jobs: Sequence[Queued],
    order: int,
    running: list[Entry],
    waiting: list[list[Entry]],
    filled: list[int],
    state: list[int],
    stopped: list[Entry],
    changes: list[int],
    event: int,
    gain: int,
    shift: float,
    now: float,
) -> None:
    """Admit the first waiting job that fits, again and again, while units are left of the freed ``gain``.

    Who is admitted takes units from later jobs only, so an earlier one that did not fit is not looked at again.
    """
    best = (-math.inf, -1)
    while gain > 0:
        last_best, best, among = best, (0.0, -1), -1
        free = state[_FREE]
        last = running[-1][0] if len(running) else 0.0
        for kind in filled:
            head = waiting[kind][0]
            if head < last_best or (best[1] >= 0 and head > best):
                continue
            if jobs[head[1]].size <= free or (
                head[0] + shift <= last and _fits(jobs, order, running, state, head, shift, now)
            ):
                best = head
        for index, entry in enumerate(stopped):
            if (
                entry > last_best
                and (best[1] < 0 or entry < best)
                and _fits(jobs, order, running, state, entry, shift, now)
            ):
                best, among = entry, index
        if best[1] < 0:
            return
        if among >= 0:
            del stopped[among]
        else:
            kind = jobs[best[1]].kind
            queue = waiting[kind]
            heappop(queue)
            if not len(queue):
                filled.remove(kind)
        gain += _admit(jobs, order, running, waiting, filled, state, stopped, changes, event, best, shift, now)


def stop(run: Queued, now: float) -> bool:
    """End the period of a job before its work is done; return whether the job made progress in it."""
    elapsed = now - run.since
    run.left = left_of(run, now)
    run.attained += run.units * elapsed
    return elapsed - run.pause > IDLE * elapsed


def start(run: Queued, now: float) -> float:
    """Begin a period of a job; return its end."""
    run.pause = run.restart if run.started else 0.0
    run.started = 1
    return end_after(now, run.pause + run.left * run.time)


def block(ended: Sequence[tuple[int, float, float, int]]) -> Block:
    """Columns of ended periods, which Numba hands over much faster than a list."""
    starts_s, ends_s = np.array([period[1] for period in ended]), np.array([period[2] for period in ended])
    return np.array([period[0] for period in ended]), starts_s, ends_s, np.array([period[3] for period in ended])


def serve(
    jobs: Sequence[Queued], arriving: Sequence[int], order: int, units: int, kinds: int
) -> Iterator[tuple[Block, float, int, int, int]]:
    """Serve all jobs, which arrive in the order ``arriving``; each round of the loop is one event.

    Between events ``state[_FREE]`` plus the sizes of jobs in ``running``, sorted by stored keys, is ``units``; other jobs
    present are in the heap ``waiting`` of their size; ``filled`` lists the heaps in use. Yields,
    every ``_MOMENTS`` events or ``_PERIODS`` periods and at the end: ended periods, time, numbers of jobs arrived and
    present, and of periods in a row that ended in their pause, more than ``BARREN`` if no job makes progress.
    """
    ends = [(0.0, 0, 0) for _ in range(0)]  # heap of (end, stamp, job); Numba infers the types
    ended = [(0, 0.0, 0.0, 0) for _ in range(0)]
    running, stopped = [(0.0, 0) for _ in range(0)], [(0.0, 0) for _ in range(0)]
    waiting = [[(0.0, 0) for _ in range(0)] for _ in range(kinds)]
    filled, changes, gone = [0 for _ in range(0)], [0 for _ in range(0)], [0 for _ in range(0)]
    state = [units, 0]
    zero, now, shift = jobs[arriving[0]].arrival, 0.0, 0.0
    came = present = barren = stale = stamps = event = 0
    while came < len(arriving) or present:
        while len(ends) and jobs[ends[0][2]].stamp != ends[0][1]:  # drop ends of periods that were stopped
            heappop(ends)
            stale -= 1
        end = ends[0][0] if len(ends) else math.inf
        arrival = jobs[arriving[came]].arrival if came < len(arriving) else math.inf
        now = min(end, arrival)
        latest = now + ROUNDING * now  # ends and arrivals up to here are part of this event
        event += 1
        gain, first = 0, came
        while len(ends) and ends[0][0] <= latest:  # jobs that end
            end, stamp, job = heappop(ends)
            if jobs[job].stamp != stamp:
                stale -= 1
                continue
            now = max(now, end)
            ended.append((job, jobs[job].since, end, jobs[job].units))
            gone.append(job)
            barren = 0
        while came < len(arriving) and jobs[arriving[came]].arrival <= latest:  # jobs that arrive
            now = max(now, jobs[arriving[came]].arrival)
            came += 1
        shift = now - zero if order == FALLING else 0.0  # added to waiting keys: running ones fall with time
        state[_KNOWN] = 0
        for job in gone:  # take ended jobs out of the queue, and free their units
            place = bisect_left(running, (jobs[job].place, job))
            del running[place]
            gain += jobs[job].size
        present -= len(gone)
        gone.clear()
        state[_FREE] += gain
        _fill(jobs, order, running, waiting, filled, state, stopped, changes, event, gain, shift, now)
        for index in range(first, came):  # arriving jobs, one after another, run or wait
            job = arriving[index]
            if jobs[job].work == 0.0:
                continue  # a job without work ends at once
            present += 1
            entry = (job_key(jobs[job], order, now, False), job)
            if state[_FREE] < jobs[job].size and (
                entry[0] + shift > running[-1][0] or not _fits(jobs, order, running, state, entry, shift, now)
            ):
                _wait(jobs, waiting, filled, entry)
            else:
                gain = _admit(jobs, order, running, waiting, filled, state, stopped, changes, event, entry, shift, now)
                _fill(jobs, order, running, waiting, filled, state, stopped, changes, event, gain, shift, now)
        for entry in stopped:  # jobs stopped in this event wait from now on, with the key of a stopped job
            _wait(jobs, waiting, filled, (job_key(jobs[entry[1]], order, now, True), entry[1]))
        stopped.clear()
        for job in changes:  # end the period of each job that changed, and begin a new one if it runs
            run = jobs[job]
            held = run.size if run.runs else 0
            if held == run.units:  # stopped and started again within the event: the period goes on
                continue
            if run.units:
                stale += 1
                if now > run.since:
                    ended.append((job, run.since, now, run.units))
                barren = 0 if stop(run, now) else barren + 1
            stamps += 1
            run.units, run.since, run.stamp = held, now, stamps
            if held:
                heappush(ends, (start(run, now), stamps, job))
        changes.clear()
        if stale > FEW + len(ends) // 2:  # drop stale ends, so that the heap stays linear in the jobs
            ends = [entry for entry in ends if jobs[entry[2]].stamp == entry[1]]
            heapify(ends)
            stale = 0
        if barren > BARREN:  # only pauses for long: give up unless a running job is past its pause
            for entry in running:
                job = entry[1]
                if (now - jobs[job].since) * (1 - IDLE) > jobs[job].pause:
                    barren = 0  # this job makes progress
            if barren:
                yield block(ended), now, came, present, barren
        if event % _MOMENTS == 0 or len(ended) >= _PERIODS:
            yield block(ended), now, came, present, barren
            ended.clear()
    yield block(ended), now, came, present, barren


PERIODS = (left_of, job_key, stop, start, left_after, end_after, block)
PARTS = (*PERIODS, sort_again, _fits, _turn, _admit, _wait, _fill)
