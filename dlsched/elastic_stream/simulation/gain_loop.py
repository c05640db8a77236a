"""The loop for policies that resize all jobs by gain per unit at every event: clock, steps, pauses.

It gives the streams of ``policies.gains.Doubling``, ``Marginal`` and ``Exploratory`` as the simulator plays them: the same
operations on the same floats. Numba compiles it for long streams (``core.imports``).

A job has pairs of a count and seconds per epoch, from its smallest count on; ``following`` leads from a pair to another of
the job, and what such a step saves per added unit is its gain. The policy takes the steps of largest gain that fit. Between two
passes over all jobs an event looks at *near* jobs only: those that came or changed, and those of which a step may come to
gain from ``low`` to ``high`` until ``until``. All steps of other jobs gain more and are taken, or less and are not. As
long as units run out on steps from ``low`` on, and all steps above ``high`` fit, a pass over all jobs would decide the same;
so it would while units stay idle and ``low`` is 0.

A job whose speeds have to be measured is resized by gain once it has held each count to measure for some seconds. Until then
it measures a pair, or asks for the next one to measure, on its smallest count.

Of the columns of ``Queued``, ``size`` is the smallest count, ``kind`` its pair, ``time`` that of the units held; ``runs`` and
``changed`` are those of ``resizing``.
"""

import math
from collections.abc import Iterator, Sequence
from heapq import heapify, heappop, heappush, heapreplace

from dlsched.elastic_stream.simulation.present_jobs import BARREN, Queued
from dlsched.elastic_stream.simulation.queue_loop import Block, block, left_of
from dlsched.elastic_stream.simulation.resizing import (
    ASKING,
    FAR,
    FAR_UNITS,
    GONE,
    LEAST,
    MEASURING,
    MEASURING_UNITS,
    NEAR,
    PAUSED,
    PRESENT,
    RESIZING,
    Pairs,
    admitted,
    comes_on,
    end_and_arrive,
    key_of,
    next_event,
    pause_of,
    resize,
)

_SETTLED_FROM, _SPAN = 32, 32  # jobs present from which some may be far; for each event until the next pass
_BAND = 1.006  # drift of the last gain at first
_TRIES, _WIDER = 12, 0.015  # bands, each wider on one side, before a pass without
_SLACK = 1e-12  # rounding of costs
_MOMENTS = 256  # between two yields

Measuring = tuple[float, int, int]  # arrival, or end of measuring; position of the job; pair


def _gain(run: Queued, pairs: Pairs, at: int, to: int, left: float, pause: float) -> float:
    """Weighted seconds saved per unit by the step from one pair to another."""
    counts, times_s, _, _ = pairs
    restart = run.restart if run.started else 0.0
    cost = run.weight * (left * times_s[at] + (pause if counts[at] == run.units else restart))
    saved = cost - run.weight * (left * times_s[to] + (pause if counts[to] == run.units else restart))
    return saved / (counts[to] - counts[at])


def _climb(
    jobs: Sequence[Queued], pairs: Pairs, some: list[int], order: int, free: int, band: list[float], now: float
) -> bool:
    """Divide free units among some jobs; False if the steps of the band do not decide.

    ``band``: low and high; then what it finds: least gain of the band that is taken, largest that is refused, units idle.
    """
    counts, _, following, _ = pairs
    low, high = band[0], band[1]
    steps = [(0.0, 0.0, 0) for _ in range(0)]
    # Above the band all steps are taken; the first step of each job that lies in it is a candidate.
    for job in some:
        run = jobs[job]
        left, pause, at = left_of(run, now) + run.hidden, pause_of(run, now), run.kind
        free -= run.size
        while following[at] >= 0:
            to = following[at]
            gain = _gain(run, pairs, at, to, left, pause)
            if gain <= high:
                if gain > 0 and gain >= low:
                    steps.append((-gain, key_of(run, order, pairs, now), job))
                break
            free -= counts[to] - counts[at]
            at = to
        run.runs = at
    band[4] = free
    if free < 0:
        return False
    heapify(steps)
    band[2], band[3] = math.inf, -math.inf
    while len(steps) and free:
        negated, key, job = steps[0]
        run = jobs[job]
        to = following[run.runs]
        added = counts[to] - counts[run.runs]
        if added > free:  # nor will it fit later
            band[3] = max(band[3], min(band[2], -negated))  # the job's first steps may have gained less
            heappop(steps)
            continue
        band[2] = min(band[2], -negated)
        free -= added
        run.runs = to
        gain = 0.0
        if following[to] >= 0:
            gain = _gain(run, pairs, to, following[to], left_of(run, now) + run.hidden, pause_of(run, now))
        if gain > 0 and gain >= low:
            heapreplace(steps, (-gain, key, job))
        else:
            heappop(steps)
    band[4] = free
    return free == 0 or low == 0


def _look_ahead(run: Queued, pairs: Pairs, now: float, until: float) -> tuple[float, float]:
    """Bound, until then, the gains of the steps that a job takes, from below, and of the next one, from above."""
    counts, times_s, following, _ = pairs
    taken = math.inf
    if counts[run.runs] != run.units:
        return -math.inf, -math.inf
    # Pauses pass first, then work is done: between now and then a gain is largest and least at one of three moments.
    left, pause = left_of(run, now) + run.hidden, pause_of(run, now)
    later, shorter = left_of(run, until) + run.hidden, pause_of(run, until)
    at, to = run.kind, following[run.kind]
    while to >= 0:
        slack = _SLACK * run.weight * (left * (times_s[at] + times_s[to]) + 2 * (pause + run.restart))
        first = _gain(run, pairs, at, to, left, pause)
        second = _gain(run, pairs, at, to, left, shorter)
        third = _gain(run, pairs, at, to, later, shorter)
        if at == run.runs:
            return taken, max(first, second, third) + slack
        taken = min(taken, min(first, second, third) - slack)
        at, to = to, following[to]
    return taken, -math.inf


def _measure(
    jobs: Sequence[Queued],
    pairs: Pairs,
    asking: list[Measuring],
    measuring: list[Measuring],
    state: list[int],
    free: int,
    now: float,
) -> list[int]:
    """Let jobs begin to measure, in order of arrival, where the free units allow; return those that have nothing to measure."""
    counts, _, _, measure_s = pairs
    known, stay = [0 for _ in range(0)], 0
    for entry in asking:
        _, job, at = entry
        run = jobs[job]
        if not measure_s[at]:
            run.changed = NEAR
            known.append(job)
        elif run.runs >= 0 and counts[at] - run.size <= free:
            free -= counts[at] - run.size
            state[LEAST] -= run.size
            state[MEASURING_UNITS] += counts[at]
            run.runs, run.changed = at, MEASURING
            heappush(measuring, (now + measure_s[at], job, at))
        else:
            asking[stay] = entry
            stay += 1
    del asking[stay:]
    return known


def divide(
    jobs: Sequence[Queued], arriving: Sequence[int], order: int, units: int, pairs: Pairs
) -> Iterator[tuple[Block, float, int, int, int]]:
    """Serve all jobs, which arrive in the order ``arriving``; yields what ``queue_loop.serve`` does.

    ``here``, all but those that measure or ask, and ``near`` may still hold jobs that are gone, ``far``, with the bounds of
    their gains, those that are near by now. The end of measuring at ``wake`` is an event, even if its job is gone.
    """
    measure_s = pairs[3]
    ends = [(0.0, 0, 0) for _ in range(0)]  # heap of (end, stamp, job)
    ended = [(0, 0.0, 0.0, 0) for _ in range(0)]
    here, near, far = [0 for _ in range(0)], [0 for _ in range(0)], [(0.0, 0.0, 0) for _ in range(0)]
    band = [0.0, 0.0, 0.0, 0.0, 0.0]
    asking, measuring = [(0.0, 0, 0) for _ in range(0)], [(0.0, 0, 0) for _ in range(0)]  # one sorted, one a heap
    zero, now, until, wake = jobs[arriving[0]].arrival, 0.0, -math.inf, math.inf
    state = [0, 0, 0, 0, 0, 0, 0]
    came = event = 0
    while came < len(arriving) or state[PRESENT]:
        now = min(next_event(jobs, ends, arriving, came, state), wake if state[PRESENT] else math.inf)
        event += 1
        new, came, now = end_and_arrive(jobs, ends, ended, arriving, came, state, now)
        for job in new:
            run = jobs[job]
            run.changed = ASKING
            asking.append((run.arrival, job, run.kind if measure_s[run.kind] else run.kind + 1))
        if wake <= now:
            wake = math.inf
        while len(measuring) and (measuring[0][0] <= now or jobs[measuring[0][1]].changed == GONE):
            _, job, at = heappop(measuring)  # a job that has measured a pair, or is gone
            run = jobs[job]
            if run.changed == MEASURING:
                run.changed = ASKING
                asking.append((run.arrival, job, at + 1))
                state[MEASURING_UNITS] -= run.units
                state[LEAST] += run.size
        asking = [entry for entry in asking if jobs[entry[1]].changed == ASKING]
        asking.sort()
        asked = [job for _, job, _ in asking]
        for job in asked:
            jobs[job].runs = jobs[job].kind
        free = units - state[MEASURING_UNITS] - state[LEAST]
        close, fits = now <= until and free >= 0, free >= 0  # whether the near jobs decide; whether none has to wait
        here = here if close else [job for job in here if jobs[job].changed != GONE]
        some = here
        if not fits:
            free = units - state[MEASURING_UNITS]
            some = admitted(jobs, pairs, here + asked, order, free, now)
            for job in some:
                free -= jobs[job].size
        known = _measure(jobs, pairs, asking, measuring, state, free, now)
        if len(measuring) and measuring[0][0] > now:
            wake = min(wake, measuring[0][0])
        here.extend(known)
        near.extend(known)
        near = [job for job in near if jobs[job].changed == NEAR]
        some = near if close else here if fits else [job for job in some if jobs[job].changed < ASKING]
        room = units - state[MEASURING_UNITS]
        for _, job, _ in asking:
            room -= jobs[job].size if jobs[job].runs >= 0 else 0
        free, tries = room - state[FAR_UNITS] if close else room, 0
        while not _climb(jobs, pairs, some, order, free, band, now):
            tries += 1
            if tries >= _TRIES:  # all jobs, down to no gain, and if need be without a band
                if close:
                    here = [job for job in here if jobs[job].changed != GONE]
                    close, some, free = False, here, room
                band[0] = 0.0
                if band[4] < 0:
                    band[1] = math.inf
                continue
            if band[4] < 0:
                band[1] *= 1 + _WIDER * tries
            else:
                band[0] /= 1 + _WIDER * tries
            if close:
                for taken, beyond, job in far:
                    if (taken <= band[1] or beyond >= band[0]) and jobs[job].changed == FAR:
                        jobs[job].changed = NEAR
                        near.append(job)
                        state[FAR_UNITS] -= jobs[job].units
                        free += jobs[job].units
        if not close:
            some, until, state[FAR_UNITS] = here, -math.inf, 0
            near.clear()
            far.clear()
            if band[4] == 0:
                band[0], band[1] = band[2] / _BAND, max(band[2], band[3]) * _BAND
            elif band[1] == math.inf:
                band[0], band[1] = 0.0, band[2]
            if state[PRESENT] >= _SETTLED_FROM and fits and band[1] < math.inf:
                until = now + (now - zero) / event * max(1, state[PRESENT] // _SPAN)
                for job in here:
                    run = jobs[job]
                    taken, beyond = _look_ahead(run, pairs, now, until)
                    run.changed = NEAR if taken <= band[1] or beyond >= band[0] else FAR
                    if run.changed == NEAR:
                        near.append(job)
                    else:
                        state[FAR_UNITS] += run.units
                        far.append((taken, beyond, job))
        some = some + [job for job in asked if jobs[job].changed >= ASKING]
        ends = resize(jobs, pairs, some, ends, ended, state, now)
        if state[PAUSED] > BARREN and comes_on(jobs, here + [job for _, job, _ in asking + measuring], now):
            state[PAUSED] = 0
        if state[PAUSED] > BARREN or event % _MOMENTS == 0:
            yield block(ended), now, came, state[PRESENT], state[PAUSED]
            ended.clear()
    yield block(ended), now, came, state[PRESENT], state[PAUSED]


PARTS = (*RESIZING, _gain, _climb, _look_ahead, _measure)
