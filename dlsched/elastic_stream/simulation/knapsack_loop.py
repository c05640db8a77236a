"""The loop for the policy that gives the admitted jobs, at every event, the counts of least total cost: clock, optimum, pauses.

It gives the streams of ``policies.gains.Myopic`` as the simulator plays them: the same operations on the same floats. Numba
compiles it for long streams (``core.imports``).

At a price of a unit, a job's *response* is the first of its pairs, a count and seconds per epoch, that minimises cost +
price x count; what another pair has more is its *regret*. The total of any choice is above the Lagrangian bound by its
*excess*, its regrets + price x idle units (``allocation.knapsack``). So an optimum has no regret above the excess of any choice.

Between two passes over all jobs an event looks at *near* jobs only: those that came or changed, and those that have a pair with
a regret up to ``reach`` at some price from ``low`` to ``high`` until ``until``. As long as the price of the near jobs is among
these, and their optimum has an excess up to ``reach``, all other jobs, the *far* ones, keep their units in every optimum.

Pairs with regrets up to a threshold are combined job after job: of each sum of their shifts, which are changes of counts, the
least regret is kept, and whether another choice comes *close* to it. If another choice is within rounding of the optimum, or if
there are too many sums, the policy is asked.

Of the columns of ``Queued``, ``size`` is the smallest count, ``kind`` its pair, ``time`` that of the units held; ``runs`` and
``changed`` are those of ``resizing``.
"""

import math
from collections.abc import Iterator, Sequence

import numpy as np

from dlsched.elastic_stream.simulation.present_jobs import BARREN, Queued
from dlsched.elastic_stream.simulation.queue_loop import Block, block, left_of
from dlsched.elastic_stream.simulation.resizing import (
    FAR,
    FAR_UNITS,
    GONE,
    LEAST,
    NEAR,
    PAUSED,
    PRESENT,
    RESIZING,
    Pairs,
    admitted,
    comes_on,
    end_and_arrive,
    next_event,
    pause_of,
    resize,
)

_SETTLED_FROM, _SPAN = 32, 32  # jobs present from which some may be far; for each event until the next pass
_WIDTH = 0.006  # share of the price on either side of it, at first
_WIDER, _NARROWER = 1.5, 0.95  # its factors where the price missed the band, and at a pass
_REACH, _PART = 2.0, 0.01  # multiple of the largest recent excess, and at least this share of the price
_RECENT = 0.99  # factor by which the largest recent excess falls at every event
_FIRST, _NEXT = 0.25, 4.0  # thresholds: multiple of the largest recent excess, and of the one before
_CLOSE = 1e-12  # share of all costs by which totals differ by more than rounding
_LARGEST = 1e300  # costs that are finite, and sums of them
_OPTIONS, _SUMS = 512, 2**20  # the most that are combined
_LOW, _HIGH, _WITHIN, _FAR_COSTS, _PRICE, _EXCESS, _USUAL = range(7)  # in ``band``
_MISSED, _DECIDED, _DOUBTED = range(3)
ASKING = -1
"""What is yielded in place of a number of periods where the policy has to choose."""
_MOMENTS = 256  # between two yields

Table = tuple[list[int], list[int], list[float]]
"""First pairs of all jobs, and the number of pairs; counts and costs of the pairs."""
Option = tuple[int, int, int, float]  # row of the job, pair, shift, regret


def _table(jobs: Sequence[Queued], pairs: Pairs, some: Sequence[int], now: float) -> Table:
    """Counts of some jobs, and their costs."""
    sizes, times_s, following, _ = pairs
    starts, counts, costs = [0], [0 for _ in range(0)], [0.0 for _ in range(0)]
    for job in some:
        run = jobs[job]
        left, pause, at = left_of(run, now) + run.hidden, pause_of(run, now), run.kind
        restart = run.restart if run.started else 0.0
        while at >= 0:
            counts.append(sizes[at])
            costs.append(run.weight * (left * times_s[at] + (pause if sizes[at] == run.units else restart)))
            at = following[at]
        starts.append(len(costs))
    return starts, counts, costs


def _response(table: Table, price: float, first: int, last: int) -> int:
    """The first of the pairs from one to another that has the least cost + price x count."""
    _, counts, costs = table
    best = first
    least = costs[first] + price * counts[first]
    for pair in range(first + 1, last + 1):
        value = costs[pair] + price * counts[pair]
        if value < least:
            best, least = pair, value
    return best


def _priced(table: Table, room: int, fits: list[int], exceeds: list[int]) -> float:
    """Close in on the best price between responses that fit and others; ``fits`` becomes responses at that price."""
    _, counts, costs = table
    undecided, taken = [0 for _ in range(0)], 0
    for row in range(len(fits)):
        taken += counts[fits[row]]
        if fits[row] < exceeds[row]:
            undecided.append(row)
    while True:
        saved, added, more = 0.0, 0, 0
        for row in undecided:
            saved += costs[fits[row]] - costs[exceeds[row]]
            added += counts[exceeds[row]] - counts[fits[row]]
        price = saved / added
        middle = [_response(table, price, fits[row], exceeds[row]) for row in undecided]
        for index in range(len(middle)):
            more += counts[middle[index]] - counts[fits[undecided[index]]]
        if more <= 0 or more >= added:
            return price
        taken, fit = (taken + more, True) if taken + more <= room else (taken, False)
        remaining = [0 for _ in range(0)]
        for index in range(len(middle)):
            row = undecided[index]
            if fit:
                fits[row] = middle[index]
            else:
                exceeds[row] = middle[index]
            if fits[row] < exceeds[row]:
                remaining.append(row)
        undecided = remaining


def _near_pairs(table: Table, price: float, base: list[int], threshold: float) -> list[Option]:
    """Pairs with a regret up to the threshold beside the base, job after job."""
    starts, counts, costs = table
    options = [(0, 0, 0, 0.0) for _ in range(0)]
    for row in range(len(base)):
        at = base[row]
        for pair in range(starts[row], starts[row + 1]):
            shift = counts[pair] - counts[at]
            regret = max(0.0, costs[pair] - costs[at] + price * shift)
            if shift and regret <= threshold:
                options.append((row, pair, shift, regret))
    return options


def _combine(
    options: list[Option], price: float, slack: int, most: float, margin: float
) -> tuple[float, bool, list[int]]:
    """Least excess of all choices among the options, at most ``most``; whether another comes close; the pairs taken.

    An infinite excess: there are too many sums.
    """
    firsts, down, up = [0 for _ in range(0)], [0], [0]
    low = high = 0
    for index in range(len(options)):
        row, _, shift, _ = options[index]
        if index == 0 or options[index - 1][0] != row:
            firsts.append(index)
            down.append(down[-1] + low)
            up.append(up[-1] + high)
            low = high = 0
        low, high = max(low, -shift), max(high, shift)
    firsts.append(len(options))
    down.append(down[-1] + low)
    up.append(up[-1] + high)
    zero, size, jobs = down[-1], down[-1] + up[-1] + 1, len(firsts) - 1
    if size * (jobs + 1) > _SUMS:
        return math.inf, True, firsts
    # By job and shift: the option taken last, -1 for none.
    trail = [-1 for _ in range(jobs * size)]
    least, close = [math.inf for _ in range(size)], [False for _ in range(size)]
    least[zero] = 0.0
    for job in range(jobs):
        before, near = least.copy(), close.copy()
        # Sums from which the remaining jobs cannot reach the slack, or come near enough to it, are dropped.
        falls, rises = down[-1] - down[job + 2], up[-1] - up[job + 2]
        for index in range(firsts[job], firsts[job + 1]):
            _, _, shift, regret = options[index]
            for place in range(zero - down[job + 1], zero + up[job + 1] + 1):
                value, to = before[place] + regret, place + shift
                idle = slack - (to - zero)
                if value > most or idle < -falls or value + price * (idle - rises) > most:
                    continue
                if value < least[to]:
                    close[to] = near[place] or least[to] - value <= margin
                    least[to] = value
                    trail[job * size + to] = index
                elif value - least[to] <= margin:
                    close[to] = True
    best, at, tied = math.inf, zero, False
    for place in range(size):
        idle = slack - (place - zero)
        if idle < 0 or least[place] == math.inf:
            continue
        excess = least[place] + price * idle
        if excess < best:
            tied = close[place] or best - excess <= margin
            best, at = excess, place
        elif excess - best <= margin:
            tied = True
    taken = [0 for _ in range(0)]
    for job in range(jobs - 1, -1, -1):
        index = trail[job * size + at]
        if index >= 0:
            taken.append(index)
            at -= options[index][2]
    return best, tied, taken


def _choose(jobs: Sequence[Queued], pairs: Pairs, some: list[int], room: int, band: list[float], now: float) -> int:
    """Choose the counts of some jobs; return whether they are decided, the band missed, or the optimum doubted."""
    table = _table(jobs, pairs, some, now)
    starts, counts, costs = table
    rows = range(len(some))
    # At both ends of the band: responses that shall exceed the room, and others that shall fit.
    exceeds = [_response(table, band[_LOW], starts[row], starts[row + 1] - 1) for row in rows]
    slack, total = room, band[_FAR_COSTS]
    for row in rows:
        slack -= counts[exceeds[row]]
        total += costs[exceeds[row]]
    if not total < _LARGEST:
        return _DOUBTED
    if slack >= 0:
        if band[_LOW] > 0:
            band[_EXCESS] = 0.0
            return _MISSED
        band[_PRICE] = band[_EXCESS] = 0.0
        for row in rows:
            jobs[some[row]].runs = jobs[some[row]].kind + exceeds[row] - starts[row]
        return _DECIDED
    base = [
        starts[row] if band[_HIGH] == math.inf else _response(table, band[_HIGH], starts[row], exceeds[row])
        for row in rows
    ]
    slack = room
    for row in rows:
        slack -= counts[base[row]]
    if slack < 0:
        band[_EXCESS] = 0.0
        return _MISSED
    price = max(_priced(table, room, base, exceeds), band[_LOW])
    slack, total = room, band[_FAR_COSTS]
    for row in rows:
        slack -= counts[base[row]]
        total += costs[base[row]] + price * counts[base[row]]
    margin, excess, tied = _CLOSE * total, price * slack, False
    threshold = max(margin, min(excess + margin, max(_FIRST * band[_USUAL], excess / _OPTIONS)))
    while True:
        if threshold > band[_WITHIN]:
            band[_EXCESS] = threshold
            return _MISSED
        options = _near_pairs(table, price, base, threshold)
        if len(options) > _OPTIONS:
            return _DOUBTED
        best, tied, taken = _combine(options, price, slack, excess + margin, margin)
        excess = min(excess, best)
        if best == math.inf or (tied and excess + margin <= threshold):
            return _DOUBTED
        if excess + margin <= threshold:
            break
        threshold = min(excess + margin, _NEXT * threshold)
    band[_PRICE], band[_EXCESS] = price, excess
    for index in taken:
        row, pair, _, _ = options[index]
        base[row] = pair
    for row in rows:
        jobs[some[row]].runs = jobs[some[row]].kind + base[row] - starts[row]
    return _DECIDED


def _least_regret(run: Queued, pairs: Pairs, band: list[float], now: float, until: float) -> float:
    """Bound from below, at prices of the band until then, the regret of a job's other pairs beside the one it holds."""
    counts, times_s, following, _ = pairs
    least, at = math.inf, run.kind
    # Its pause passes and its work is done meanwhile.
    left, later, pause = left_of(run, now) + run.hidden, left_of(run, until) + run.hidden, pause_of(run, now)
    while at >= 0:
        if at != run.runs:
            longer, more = times_s[at] - run.time, counts[at] - run.units
            dearer = run.weight * ((left if longer < 0 else later) * longer + run.restart - pause)
            slack = _CLOSE * run.weight * (left * (times_s[at] + run.time) + run.restart + pause)
            price = band[_LOW] * (1 - _CLOSE) if more > 0 else band[_HIGH] * (1 + _CLOSE)
            least = min(least, dearer - slack + more * price)
        at = following[at]
    return least


def optimise(
    jobs: Sequence[Queued], arriving: Sequence[int], order: int, units: int, pairs: Pairs
) -> Iterator[tuple[Block, float, int, int, int]]:
    """Serve all jobs, which arrive in the order ``arriving``; yields what ``queue_loop.serve`` does.

    Where it asks, with ``ASKING`` in place of the number of periods, the block has the first pairs of all admitted jobs and the
    number of pairs, costs twice, and counts; first pairs are to be replaced by the chosen ones. ``here`` and ``near`` may still
    hold jobs that are gone.
    """
    ends = [(0.0, 0, 0) for _ in range(0)]  # heap of (end, stamp, job)
    ended = [(0, 0.0, 0.0, 0) for _ in range(0)]
    here, near = [0 for _ in range(0)], [0 for _ in range(0)]
    band = [0.0, math.inf, math.inf, 0.0, 0.0, 0.0, 0.0]
    zero, now, until, width = jobs[arriving[0]].arrival, 0.0, -math.inf, _WIDTH
    state = [0, 0, 0, 0, 0, 0, 0]
    came = event = 0
    while came < len(arriving) or state[PRESENT]:
        now = next_event(jobs, ends, arriving, came, state)
        event += 1
        new, came, now = end_and_arrive(jobs, ends, ended, arriving, came, state, now)
        here.extend(new)
        near.extend(new)
        near = [job for job in near if jobs[job].changed == NEAR]
        some, fits, decided = near, state[LEAST] <= units, _MISSED
        if fits and now <= until:
            decided = _choose(jobs, pairs, near, units - state[FAR_UNITS], band, now)
            if decided == _MISSED and band[_EXCESS] <= band[_WITHIN]:
                width *= _WIDER
        close = decided == _DECIDED
        if not close:
            here = [job for job in here if jobs[job].changed != GONE]
            some = here if fits else admitted(jobs, pairs, here, order, units, now)
            until, state[FAR_UNITS] = -math.inf, 0
            band[_LOW], band[_HIGH], band[_WITHIN], band[_FAR_COSTS] = 0.0, math.inf, math.inf, 0.0
            if decided == _MISSED:
                decided = _choose(jobs, pairs, some, units, band, now)
            if decided == _DOUBTED:
                starts, counts, costs = _table(jobs, pairs, some, now)
                asked = np.array(starts), np.array(costs), np.array(costs), np.array(counts)
                yield asked, now, came, state[PRESENT], ASKING
                for row in range(len(some)):
                    jobs[some[row]].runs = jobs[some[row]].kind + asked[0][row] - starts[row]
            some = here
        if decided == _DECIDED:
            band[_USUAL] = max(band[_EXCESS], _RECENT * band[_USUAL])
        ends = resize(jobs, pairs, some, ends, ended, state, now)
        if decided == _DECIDED and not close and fits and state[PRESENT] >= _SETTLED_FROM:
            near.clear()
            width *= _NARROWER
            band[_LOW], band[_HIGH] = band[_PRICE] / (1 + width), band[_PRICE] * (1 + width)
            band[_WITHIN] = max(_REACH * band[_USUAL], _PART * band[_PRICE])
            until = now + (now - zero) / event * max(1, state[PRESENT] // _SPAN)
            for job in here:
                run = jobs[job]
                run.changed = FAR if _least_regret(run, pairs, band, now, until) > band[_WITHIN] else NEAR
                if run.changed == NEAR:
                    near.append(job)
                else:
                    state[FAR_UNITS] += run.units
                    cost = run.weight * ((left_of(run, now) + run.hidden) * run.time + run.pause)
                    band[_FAR_COSTS] += cost + band[_HIGH] * run.units
        elif not close:
            for job in here:
                jobs[job].changed = NEAR
            near = here.copy()
        if state[PAUSED] > BARREN and comes_on(jobs, here, now):
            state[PAUSED] = 0
        if state[PAUSED] > BARREN or event % _MOMENTS == 0:
            yield block(ended), now, came, state[PRESENT], state[PAUSED]
            ended.clear()
    yield block(ended), now, came, state[PRESENT], state[PAUSED]


PARTS = (*RESIZING, _table, _response, _priced, _near_pairs, _combine, _choose, _least_regret)
