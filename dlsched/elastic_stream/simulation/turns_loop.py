"""The compiled loop for jobs that take turns: the least attained service first, each job on its own size.

It gives the streams of the policies ``las`` as the simulator plays them: the same operations on the same floats. Numba
compiles it for long streams (``core.imports``).

The jobs that run are those of one greedy pass over all jobs present, by key: each takes its size if as many units are free.
Keys of running jobs grow, those of waiting ones stay. So at an event only jobs *near* the end of the line start or stop: the
running jobs with the largest keys, and the waiting ones with the least. The other running jobs are *far*: their keys are less
than ``_bound`` of all of them, and as long as all waiting jobs are beyond this bound, and all running ones before it fit, a
pass over all jobs would let them run.

Of the columns of ``Queued``, ``runs`` is 1 for a far job, and ``key`` is the end of the period that a running job is in.
"""

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from heapq import heapify, heappop, heappush

import numpy as np

from dlsched.core.gap import ROUNDING
from dlsched.elastic_stream.simulation.present_jobs import ATTAINED, BARREN, FEW, IDLE, Queued
from dlsched.elastic_stream.simulation.queue_loop import PERIODS, Block, Entry, block, sort_again, start, stop

_NEAR, _PART = 32, 16  # running jobs that are near: at least so many, and one in so many
_BLOCK = 512  # waiting jobs of one size in a block; one of more than twice as many is halved
_SLACK = 1 + 1e-12  # rounding of keys
_MOMENTS, _PERIODS = 256, 512  # between two yields, at most; more periods would leave the cache
# in ``known``: keys of far jobs are at most this, at this time, and grow at most so fast
_KEY, _SINCE, _RATE = range(3)


def _bound(known: list[float], now: float) -> float:
    """Upper bound on the keys of far jobs."""
    return (known[_KEY] + known[_RATE] * (now - known[_SINCE])) * _SLACK


def _wait(blocks: list[list[Entry]], batch: list[Entry]) -> None:
    """Merge a sorted batch into sorted blocks, from the last entries on, the least of all."""
    done, index = 0, len(blocks) - 1
    while done < len(batch):
        # What is less than all of the block before belongs into this one.
        until = bisect_left(batch, blocks[index - 1][-1]) if index > 0 else len(batch)
        if until > done:
            part = blocks[index]
            old = len(part) - 1
            part.extend(batch[done:until])
            place = len(part) - 1
            while done < until:
                if old >= 0 and part[old] < batch[done]:
                    part[place] = part[old]
                    old -= 1
                else:
                    part[place] = batch[done]
                    done += 1
                place -= 1
            if len(part) > 2 * _BLOCK:
                middle = len(part) // 2
                blocks[index] = part[middle:]
                blocks.insert(index, part[:middle])
        index -= 1


def _least(jobs: Sequence[Queued], waiting: list[list[list[Entry]]], filled: list[int], free: int) -> Entry:
    """The first waiting job that needs at most the free units; an infinite key if there is none."""
    least = (math.inf, -1)
    for kind in filled:
        head = waiting[kind][-1][-1]
        if head < least and jobs[head[1]].size <= free:
            least = head
    return least


def _divide(
    jobs: Sequence[Queued],
    near: list[Entry],
    waiting: list[list[list[Entry]]],
    filled: list[int],
    free: int,
    stopped: list[Entry],
) -> list[Entry]:
    """Give the free units to near and waiting jobs in order; return the new near jobs, with ``stopped`` the others of before."""
    line, index = [(0.0, 0) for _ in range(0)], 0
    head = _least(jobs, waiting, filled, free)
    while True:
        while index < len(near) and near[index] < head:
            entry = near[index]
            index += 1
            size = jobs[entry[1]].size
            if size > free:
                stopped.append(entry)
                continue
            line.append(entry)
            free -= size
            if head[1] >= 0 and jobs[head[1]].size > free:
                head = _least(jobs, waiting, filled, free)
        if head[1] < 0:
            return line
        line.append(head)
        free -= jobs[head[1]].size
        kind = jobs[head[1]].kind
        blocks = waiting[kind]
        blocks[-1].pop()
        if not len(blocks[-1]):
            blocks.pop()
            if not len(blocks):
                filled.remove(kind)
        head = _least(jobs, waiting, filled, free)


def _next_ends(jobs: Sequence[Queued], near: list[Entry], far: list[int]) -> tuple[list[tuple[float, int, int]], float]:
    """The next ends of running jobs, a heap, and the time before which there are no others."""
    running = [job for _, job in near]
    for job in far:
        if jobs[job].runs:
            running.append(job)
    count, horizon = max(_NEAR, len(running) // _PART), math.inf
    if len(running) > count:
        # Ends within the rounding of the clock belong to one event.
        horizon = np.partition(np.array([jobs[job].key for job in running]), count)[count] * (1 + 4 * ROUNDING)
    ends = [(jobs[job].key, jobs[job].stamp, job) for job in running if jobs[job].key < horizon]
    heapify(ends)
    return ends, horizon


def take_turns(
    jobs: Sequence[Queued], arriving: Sequence[int], order: int, units: int, kinds: int
) -> Iterator[tuple[Block, float, int, int, int]]:
    """Serve all jobs, which arrive in the order ``arriving``, by attained service; yields what ``queue_loop.serve`` does.

    ``order`` is ``ATTAINED``. Between events ``near`` are running jobs, sorted by their keys at the last event; ``far`` may
    still hold jobs that are gone; other jobs present are in ``waiting``: by size, falling blocks.
    """
    ends = [(0.0, 0, 0) for _ in range(0)]  # heap of (end, stamp, job); Numba infers the types
    ended = [(0, 0.0, 0.0, 0) for _ in range(0)]
    near, stopped, far = [(0.0, 0) for _ in range(0)], [(0.0, 0) for _ in range(0)], [0 for _ in range(0)]
    waiting = [[[(0.0, 0) for _ in range(0)] for _ in range(0)] for _ in range(kinds)]
    batches = [[(0.0, 0) for _ in range(0)] for _ in range(kinds)]
    filled, fresh, known = [0 for _ in range(0)], [0 for _ in range(0)], [-math.inf, 0.0, 0.0]
    now, horizon = 0.0, math.inf
    came = present = barren = stamps = event = away = taken = 0  # far jobs, and their units
    while came < len(arriving) or present:
        while len(ends) and jobs[ends[0][2]].stamp != ends[0][1]:  # drop ends of periods that were stopped
            heappop(ends)
        arrival = jobs[arriving[came]].arrival if came < len(arriving) else math.inf
        now = min(ends[0][0] if len(ends) else math.inf, arrival)
        if now >= horizon or len(ends) > FEW + 2 * len(near):
            ends, horizon = _next_ends(jobs, near, far)
            now = min(ends[0][0] if len(ends) else math.inf, arrival)
        latest = now + ROUNDING * now  # ends and arrivals up to here are part of this event
        event += 1
        while len(ends) and ends[0][0] <= latest:  # jobs that end
            end, stamp, job = heappop(ends)
            run = jobs[job]
            if run.stamp != stamp:
                continue
            now = max(now, end)
            ended.append((job, run.since, end, run.units))
            if run.runs:
                run.runs = 0
                away -= 1
                taken -= run.units
            run.units = 0
            present -= 1
            barren = 0
        near = [entry for entry in near if jobs[entry[1]].units]
        while came < len(arriving) and jobs[arriving[came]].arrival <= latest:  # jobs that arrive
            job = arriving[came]
            now = max(now, jobs[job].arrival)
            came += 1
            if jobs[job].work > 0.0:  # a job without work ends at once
                near.append((0.0, job))
                present += 1
        sort_again(jobs, ATTAINED, near, now)
        most = _bound(known, now) if away else -math.inf
        first, free = 0, units - taken
        while first < len(near) and near[first][0] <= most:
            free -= jobs[near[first][1]].size
            first += 1
        if free < 0 or _least(jobs, waiting, filled, units)[0] <= most:  # all running jobs are near
            line = [(0.0, job) for job in far if jobs[job].runs]  # in about the order of their keys
            for _, job in line:
                jobs[job].runs = 0
            line.extend(near)
            near = line
            far.clear()
            away, taken, most = 0, 0, -math.inf
            sort_again(jobs, ATTAINED, near, now)
        near = _divide(jobs, near, waiting, filled, units - taken, stopped)
        for entry in stopped:
            run = jobs[entry[1]]
            batches[run.kind].append(entry)
            if len(batches[run.kind]) == 1:
                fresh.append(run.kind)
            if not run.units:  # it has only arrived
                continue
            if now > run.since:
                ended.append((entry[1], run.since, now, run.units))
            barren = 0 if stop(run, now) else barren + 1
            stamps += 1
            run.units, run.since, run.stamp = 0, now, stamps
        stopped.clear()
        for kind in fresh:
            if not len(waiting[kind]):
                filled.append(kind)
                waiting[kind].append(batches[kind][:0])
            _wait(waiting[kind], batches[kind])
            batches[kind].clear()
        fresh.clear()
        for entry in near:
            run = jobs[entry[1]]
            if not run.units:
                stamps += 1
                run.units, run.since, run.stamp = run.size, now, stamps
                run.key = start(run, now)
                if run.key < horizon:
                    heappush(ends, (run.key, stamps, entry[1]))
        least = max(_NEAR, (away + len(near)) // _PART)
        if len(near) > 2 * least:  # the first ones are far from now on, up to the first that waits
            first = min(len(near) - least, bisect_left(near, _least(jobs, waiting, filled, units)))
            known[_RATE] = known[_RATE] if away else 0.0
            for index in range(first):
                run = jobs[near[index][1]]
                run.runs = 1
                far.append(near[index][1])
                away += 1
                taken += run.units
                known[_KEY], known[_SINCE] = max(most, near[index][0]), now
                known[_RATE] = max(known[_RATE], run.size / run.weight)
            del near[:first]
        if barren > BARREN:  # only pauses for long: give up unless a running job is past its pause
            for job in arriving[:came]:
                if jobs[job].units and (now - jobs[job].since) * (1 - IDLE) > jobs[job].pause:
                    barren = 0  # this job makes progress
            if barren:
                yield block(ended), now, came, present, barren
        if event % _MOMENTS == 0 or len(ended) >= _PERIODS:
            yield block(ended), now, came, present, barren
            ended.clear()
    yield block(ended), now, came, present, barren


PARTS = (*PERIODS, _bound, sort_again, _wait, _least, _divide, _next_ends)
