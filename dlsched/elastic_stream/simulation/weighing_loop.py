"""The loop for policies that weigh all jobs and give units by gain in weighted speed per unit: clock, steps, pauses.

It gives the streams of ``policies.prices.Weighted`` as the simulator plays them: the same operations on the same floats. Numba
compiles it for long streams (``core.imports``).

A job has points, counts with the speeds on them, from its smallest count on; ``following`` leads from a point to the next one.
Steps lead from corner to corner of the upper hull of weighted speeds, from no units (-1) on. The policy takes the steps of
largest gain that fit. Between two passes over all jobs an event looks at *near* jobs only. The units of another job, a *far*
one, stay: whatever it can give up gains more than ``high``, whatever it can add gains less than ``low``. As long as units run
out on steps of near jobs from ``low`` to ``high``, a pass over all jobs would decide the same; so it would while units stay
idle and ``low`` is 0.

Where a change pauses, speed is a mean over a *span* of time, in which two events are expected. What a stopped job gains
is nearly proportional to the span, and what a running job gives up does not depend on it. So ``low`` is a share of the span.

Of the columns of ``Queued``, ``kind`` is the first point, ``key`` the speed on the fastest count, ``place`` the event since which
a job is far; ``runs`` and ``changed`` are those of ``resizing``.
"""

import math
from collections.abc import Iterator, Sequence
from heapq import heapify, heappop, heappush

from dlsched.elastic_stream.simulation.present_jobs import BARREN, Queued
from dlsched.elastic_stream.simulation.queue_loop import Block, block, left_of
from dlsched.elastic_stream.simulation.resizing import (
    FAR,
    FAR_UNITS,
    GONE,
    NEAR,
    PAUSED,
    PRESENT,
    RESIZING,
    Pairs,
    comes_on,
    end_and_arrive,
    next_event,
    resize,
)

LINE = 1 + 1e-12  # ratio of slopes up to which they are equal
LEAST_LEFT = 1e-150  # epochs that a job is taken to have left at least
RECENT = 0.1  # weight of the latest time between events in the running mean of these times
_SLACK = 1e-11  # rounding of speeds, and more than slopes that are equal may differ
_NEAR = 8  # far jobs on each side of the last gain that become near at a choice of near jobs
_EVENTS, _PASS = 16, 1024  # until the next choice of near jobs, and until the next pass
_WIDER = 4  # factor of that number, until the near jobs decide
_DRIFT = 2.5  # ratio by which the span may change until then
_LOW, _HIGH, _TAKEN, _REFUSED = range(4)  # in ``band``
_MOMENTS = 256  # between two yields

Points = tuple[Sequence[int], Sequence[float], Sequence[int]]
"""Counts, speeds on them in epochs a second, and the job's next points, -1 where there is none."""
Corners = tuple[list[int], list[int], list[float]]
"""Points of a job with their counts and weighted speeds, from no units on."""
Bound = tuple[float, int, int]
"""What a far job's steps gain at least, or at most as a negative number; the event since which it is far; its position."""


def _weigh(run: Queued, span_s: float, now: float) -> tuple[float, float, float]:
    """Weight of a job per epoch left; its mean speeds on other counts and on its own, as shares of the speeds."""
    left = left_of(run, now) + run.hidden
    weight = run.weight / max(left, LEAST_LEFT)
    restart = run.restart if run.started else 0.0
    if restart == 0:
        return weight, 1.0, 1.0
    span_s = min(span_s, left / run.key)
    pause = max(0.0, run.pause - (now - run.since)) if run.units else 0.0
    return weight, span_s / (span_s + restart), span_s / (span_s + pause)


def _is_below(corners: Corners, last: int, count: int, value: float, ratio: float) -> bool:
    """Whether a corner is no bend of the line from the one before it to a new one, up to a ratio of slopes."""
    _, sizes, heights = corners
    if last == 0:
        return False
    before, after = sizes[last] - sizes[last - 1], count - sizes[last]
    return (heights[last] - heights[last - 1]) * after <= (value - heights[last]) * before * ratio


def _hull(run: Queued, points: Points, corners: Corners, span_s: float, now: float) -> int:
    """Find the corners of a job's upper hull; return the last one. Steps of one slope but for rounding are one step."""
    counts, speeds, following = points
    places, sizes, heights = corners
    weight, other, own = _weigh(run, span_s, now)
    last, at = 0, run.kind
    while at >= 0:
        count = counts[at]
        value = weight * speeds[at] * (own if count == run.units else other)
        if value > heights[last]:
            while _is_below(corners, last, count, value, 1.0):
                last -= 1
            last += 1
            if last == len(places):
                places.append(0)
                sizes.append(0)
                heights.append(0.0)
            places[last], sizes[last], heights[last] = at, count, value
        at = following[at]
    merged = 0
    for index in range(1, last + 1):
        count, value = sizes[index], heights[index]
        if _is_below(corners, merged, count, value, LINE):
            merged -= 1
        merged += 1
        places[merged], sizes[merged], heights[merged] = places[index], count, value
    return merged


def _cut(run: Queued, points: Points, at: int, free: int, span_s: float, now: float) -> int:
    """The fastest point after one that free units allow, or that one if none is faster than all up to it."""
    counts, speeds, following = points
    weight, other, own = _weigh(run, span_s, now)
    held = counts[at] if at >= 0 else 0
    best, most, place = at, 0.0, run.kind
    while place >= 0 and counts[place] <= held + free:
        value = weight * speeds[place] * (own if counts[place] == run.units else other)
        if value > most:
            most, best = value, place if counts[place] > held else at
        place = following[place]
    return best


def _share(
    jobs: Sequence[Queued], points: Points, some: list[int], free: int, band: list[float], span_s: float, now: float
) -> bool:
    """Divide free units among some jobs; False if the steps of the band do not decide.

    ``band``: low and high; then what it finds: least gain that is taken, 0 if units stay idle, and largest that is refused.
    """
    counts = points[0]
    corners: Corners = [-1], [0], [0.0]
    steps = [(0.0, 0, 0, 0) for _ in range(0)]
    # Steps above the band are taken, those in it are candidates.
    for job in some:
        run = jobs[job]
        run.runs = -1
        places, sizes, heights = corners
        for index in range(1, _hull(run, points, corners, span_s, now) + 1):
            gain = (heights[index] - heights[index - 1]) / (sizes[index] - sizes[index - 1])
            if gain > band[_HIGH]:
                free -= sizes[index] - sizes[index - 1]
                run.runs = places[index]
            elif gain >= band[_LOW]:
                steps.append((-gain, job, places[index - 1], places[index]))
    if free < 0:
        return False
    heapify(steps)
    taken, refused = math.inf, 0.0
    while len(steps) and free:
        negated, job, at, to = heappop(steps)
        held = counts[at] if at >= 0 else 0
        if jobs[job].runs != at:
            continue  # it was cut short before
        if counts[to] - held > free:
            refused = max(refused, -negated)
            to = _cut(jobs[job], points, at, free, span_s, now)
            if to == at:
                continue
        taken = -negated
        free -= counts[to] - held
        jobs[job].runs = to
    if free and band[_LOW] > 0:
        return False
    band[_TAKEN] = 0.0 if free else min(taken, band[_HIGH])
    band[_REFUSED] = max(refused, band[_TAKEN])
    return True


def _look_ahead(
    run: Queued, points: Points, least_s: float, most_s: float, now: float, until: float
) -> tuple[float, float]:
    """Bound what a job's steps gain if it keeps its units: those taken from below, others from above, as a share of the span.

    The bounds hold until then, for spans from ``least_s`` to ``most_s``.
    """
    counts, speeds, following = points
    if run.units and run.pause > now - run.since:
        return -math.inf, math.inf
    restart = run.restart if run.started else 0.0
    # The share span / (span + restart) that a change leaves of a speed rises with the span.
    other = most_s / (most_s + restart) * (1 + _SLACK)
    speed = (1 - _SLACK) / run.time if run.units else 0.0
    taken, beyond, at = speed / run.units if run.units else math.inf, 0.0, run.kind
    while at >= 0:
        if counts[at] < run.units:
            taken = min(taken, (speed - other * speeds[at]) / (run.units - counts[at]))
        elif counts[at] > run.units:
            beyond = max(beyond, (other * speeds[at] - speed) / (counts[at] - run.units))
        at = following[at]
    # Its weight rises while it runs. A job that waits gains 1 / (span + restart) of its speed, as a share of the span.
    taken *= run.weight / max(left_of(run, now) + run.hidden, LEAST_LEFT) * (1 - _SLACK)
    beyond *= run.weight / max(left_of(run, until) + run.hidden, LEAST_LEFT) * (1 + _SLACK)
    return taken, beyond / least_s if run.units else beyond / most_s * ((most_s + restart) / (least_s + restart))


def _set_aside(
    jobs: Sequence[Queued],
    points: Points,
    near: list[int],
    above: list[Bound],
    below: list[Bound],
    state: list[int],
    spans_s: tuple[float, float],
    now: float,
    until: float,
    event: int,
) -> None:
    """Make near jobs far, with bounds until then for the least to the most span; those that pause stay near."""
    least_s, most_s = spans_s
    stay = 0
    for job in near:
        run = jobs[job]
        if run.units and run.pause > now - run.since:
            near[stay] = job
            stay += 1
            continue
        taken, beyond = _look_ahead(run, points, least_s, most_s, now, until)
        run.changed, run.place = FAR, event
        state[FAR_UNITS] += run.units
        if run.units:
            heappush(above, (taken, event, job))
        if beyond > 0:
            heappush(below, (-beyond, event, job))
    del near[stay:]


def _draw_near(
    jobs: Sequence[Queued], bounds: list[Bound], near: list[int], state: list[int], last: float, wanted: int
) -> float:
    """Make far jobs of least bounds near, until so many exceed the last gain; return a bound that those left exceed."""
    most = math.inf
    while len(bounds) and (wanted > 0 or bounds[0][0] <= most):
        bound, event, job = heappop(bounds)
        run = jobs[job]
        if run.changed != FAR or run.place != event:
            continue
        most, wanted = bound, wanted - (bound > last)
        run.changed = NEAR
        near.append(job)
        state[FAR_UNITS] -= run.units
    return most if len(bounds) else math.inf


def _settle(
    jobs: Sequence[Queued],
    points: Points,
    near: list[int],
    above: list[Bound],
    below: list[Bound],
    state: list[int],
    units: int,
    band: list[float],
    span_s: float,
    now: float,
) -> float:
    """Make far jobs near until near ones decide, and divide the units; return low as a share of the span."""
    # Once no job is far, the band is open at both ends, and the near jobs decide.
    low, wanted, decided = 0.0, _NEAR, False
    while not decided:
        band[_HIGH] = _draw_near(jobs, above, near, state, band[_REFUSED], wanted)
        low = max(0.0, -_draw_near(jobs, below, near, state, -band[_TAKEN] / span_s, wanted))
        band[_LOW] = low * span_s
        decided = _share(jobs, points, near, units - state[FAR_UNITS], band, span_s, now)
        wanted *= _WIDER
    return low


def weigh(
    jobs: Sequence[Queued], arriving: Sequence[int], order: int, units: int, pairs: Pairs
) -> Iterator[tuple[Block, float, int, int, int]]:
    """Serve all jobs, which arrive in the order ``arriving``; yields what ``queue_loop.serve`` does.

    ``here`` and ``near`` may still hold jobs that are gone; ``above`` and ``below``, heaps of bounds of far jobs, also jobs that
    are near by now, and bounds from before.
    """
    counts, times_s, following, _ = pairs
    points = (counts, [1 / time_s if time_s else 0.0 for time_s in times_s], following)
    ends = [(0.0, 0, 0) for _ in range(0)]  # heap of (end, stamp, job)
    ended = [(0, 0.0, 0.0, 0) for _ in range(0)]
    here, near = [0 for _ in range(0)], [0 for _ in range(0)]
    above, below = [(0.0, 0, 0) for _ in range(0)], [(0.0, 0, 0) for _ in range(0)]
    band = [0.0, math.inf, 0.0, 0.0]
    zero, now, last_s, gap_s = jobs[arriving[0]].arrival, 0.0, 0.0, math.inf
    until, least_s, most_s, low = -math.inf, 0.0, 0.0, 0.0
    state = [0, 0, 0, 0, 0, 0, 0]
    came = event = again = 0
    while came < len(arriving) or state[PRESENT]:
        now = next_event(jobs, ends, arriving, came, state)
        event += 1
        asked = state[PRESENT]
        new, came, now = end_and_arrive(jobs, ends, ended, arriving, came, state, now)
        here.extend(new)
        near.extend(new)
        passed_s = now - zero - last_s
        if (asked or state[PRESENT]) and passed_s > 0:
            last_s = now - zero
            gap_s = passed_s if gap_s == math.inf else gap_s + RECENT * (passed_s - gap_s)
        span_s = 2 * gap_s
        near = [job for job in near if jobs[job].changed == NEAR]
        known, decided = now <= until and least_s <= span_s <= most_s, False  # bounds of far jobs
        if (known and event < again) or gap_s == math.inf:
            band[_LOW] = low * span_s if low else 0.0
            decided = _share(jobs, points, near, units - state[FAR_UNITS], band, span_s, now)
        if not decided:
            again = event + _EVENTS
            if not known:
                here = [job for job in here if jobs[job].changed != GONE]
                near = here.copy()
                for job in here:
                    jobs[job].changed = NEAR
                above.clear()
                below.clear()
                state[FAR_UNITS] = 0
                mean_s = (now - zero) / event
                until = now + _PASS * max(mean_s, gap_s)
                least_s, most_s = 2 * min(mean_s, gap_s) / _DRIFT, 2 * max(mean_s, gap_s) * _DRIFT
            _set_aside(jobs, points, near, above, below, state, (least_s, most_s), now, until, event)
            low = _settle(jobs, points, near, above, below, state, units, band, span_s, now)
        ends = resize(jobs, pairs, near, ends, ended, state, now)
        if state[PAUSED] > BARREN and comes_on(jobs, here, now):
            state[PAUSED] = 0
        if state[PAUSED] > BARREN or event % _MOMENTS == 0:
            yield block(ended), now, came, state[PRESENT], state[PAUSED]
            ended.clear()
    yield block(ended), now, came, state[PRESENT], state[PAUSED]


PARTS = (*RESIZING, _weigh, _is_below, _hull, _cut, _share, _look_ahead, _set_aside, _draw_near, _settle)
