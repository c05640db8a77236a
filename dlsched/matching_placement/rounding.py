"""Prices of the types and a placement rounded from them, in time that is linear in the jobs: for instances of many jobs.

*Prices.* Every job takes the configuration that is cheapest for it at prices p among those near the one that it has: a worker
more, less or of another type, or all workers of one type. A type of which more is demanded than there is gets dearer, and one
with idle workers cheaper (tatonnement; Walras 1874): p_g is multiplied by (D_g / s_g)^e_g at the demand D_g, where e_g rises as
long as the sign of D_g - s_g stays and falls when it turns. All p >= 0 prove a bound, which ``certificate`` computes.

*Rounding.* Jobs that have a worker of a type with too few give it up, for an idle one of another type if need be, those first
whose cost and price rise least, until all types suffice. Then jobs take idle workers, those first that gain most.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dlsched.core.arrays import dot, row_dots
from dlsched.core.elementary import exp, log
from dlsched.core.limits import Tick, no_tick
from dlsched.matching_placement.arrays import Arrays, Counts, Floats
from dlsched.matching_placement.configurations.pricing import first_prices
from dlsched.matching_placement.heuristics import POWER, improve

Flags = npt.NDArray[np.bool_]

_BLOCK = 8192  # jobs whose changes are evaluated together
_ROUNDS, _PASSES = 80, 3  # of prices, and of responses to them
_NEAR = 1e-3  # share of the workers by which demand and stock differ when prices are good enough
_RISE, _FALL, _FIRST, _MOST = 1.15, 0.6, 0.5, 2.0  # factors of the exponents, the first and the largest
_FACTOR = 2.0  # largest ratio of demand and stock that counts
_GAIN = 1e-12  # relative; a smaller improvement is rounding
_FEW = 50_000  # jobs times types up to which a local search follows
_STEADY = 1e-6  # relative gain of a round below which no other follows


@dataclass(frozen=True, slots=True, eq=False)
class Changes:
    """Each job's best change: by how much cost and price rise, the types given up and received (G: none), shape (N,).

    ``size``: workers of the type received, in place of all others; 0: one worker.
    """

    rise: Floats
    out: Counts
    into: Counts
    size: Counts

    def apply(self, counts: Counts, rows: Counts) -> None:
        """Change some rows of the jobs' counts, shape (N, G)."""
        out, into, size = self.out[rows], self.into[rows], self.size[rows]
        counts[rows[size > 0]] = 0
        for kind, change in ((out, -1), (into, 1)):
            single = (size == 0) & (kind < counts.shape[1])
            counts[rows[single], kind[single]] += change
        counts[rows[size > 0], into[size > 0]] = size[size > 0]


def best_changes(
    data: Arrays, jobs: Counts, counts: Counts, prices: Floats, out: Flags, into: Flags, *, whole: bool
) -> Changes:
    """Evaluate single changes of some jobs, and (``whole``) all workers of one type, as many as there are, one more or one less.

    ``counts``: those of the jobs, shape (N, G); ``out`` and ``into``: which types may be given up and received, shape (G + 1,).
    """
    kinds, every = data.types, np.arange(len(jobs))
    rates, slowness = np.ascontiguousarray(data.rates[jobs].T), 1 / data.bandwidth
    size, paid = counts.sum(axis=1), dot(counts, prices)
    best = Changes(np.full(len(jobs), np.inf), *(np.full(len(jobs), each) for each in (kinds, kinds, 0)))

    def offer(
        rows: Counts, rate: Floats, size: Counts, slow: Floats | float, paid: Floats, good: Flags, *which: Counts | int
    ) -> None:
        """Keep what is allowed and better."""
        rows, rate, size, paid = rows[good], rate[good], size[good], paid[good]
        each, slow = jobs[rows], slow[good] if isinstance(slow, np.ndarray) else slow
        times = data.work[each] / rate + data.traffic[each] * ((size - 1) / size) * slow
        values = data.costs.of(each, times) + paid
        better = np.flatnonzero(values < best.rise[rows])
        rows = rows[better]
        best.rise[rows] = values[better]
        for kept, new in zip((best.out, best.into, best.size), which, strict=True):
            kept[rows] = new[good][better] if isinstance(new, np.ndarray) else new

    # a worker of the type at each place among those that a job has, or none, for one of every type, or none
    present, number = np.argsort(counts == 0, axis=1, kind="stable"), (counts > 0).sum(axis=1)
    for place in range(int(number.max()) + 1):
        rows = every if place == 0 else np.flatnonzero(number >= place)
        given = np.full(len(rows), kinds) if place == 0 else present[rows, place - 1]
        rows, given = rows[out[given]], given[out[given]]
        if not len(rows):
            continue
        base = counts[rows]
        base[np.arange(len(rows))[given < kinds], given[given < kinds]] -= 1
        rate, left = row_dots(base, data.rates[jobs[rows]]), base.sum(axis=1)
        slow, rest = np.where(base > 0, slowness, 0.0).max(axis=1), dot(base, prices)
        fewest, most = data.least[jobs[rows]], data.most[jobs[rows]]
        if into[kinds] and place > 0:
            offer(rows, rate, left, slow, rest, (left >= fewest) & (left > 0), given, kinds, 0)
        for kind in np.flatnonzero(into[:kinds]).tolist():
            more, room = rates[kind][rows], (left < most) & (left + 1 >= fewest) & (base[:, kind] < data.stock[kind])
            slower, dearer = np.maximum(slow, slowness[kind]), rest + prices[kind]
            offer(rows, rate + more, left + 1, slower, dearer, (more > 0) & room & (given != kind), given, kind, 0)
    for change in (-1, 0, 1) if whole else ():
        count = size + change
        fits = (count >= np.maximum(1, data.least[jobs])) & (count <= data.most[jobs])
        for kind in range(kinds):
            good = fits & (rates[kind] > 0) & (count <= data.stock[kind])
            offer(every, count * rates[kind], count, slowness[kind], count * prices[kind], good, kinds, kind, count)
    return Changes(best.rise - (data.costs_of(jobs, counts) + paid), best.out, best.into, best.size)


def respond(data: Arrays, counts: Counts, prices: Floats, passes: int, tick: Tick) -> None:
    """Let every job change its ``counts``, shape (S, G), up to ``passes`` times as long as it gains at the prices."""
    free = np.ones(data.types + 1, dtype=bool)
    for begin in range(0, data.jobs, _BLOCK):
        tick()
        jobs = np.arange(begin, min(begin + _BLOCK, data.jobs))
        for _ in range(passes):
            if not len(jobs):
                break
            own = counts[jobs]
            changes = best_changes(data, jobs, own, prices, free, free, whole=True)
            gaining = np.flatnonzero(changes.rise < -_GAIN * (data.costs_of(jobs, own) + dot(own, prices)))
            changes.apply(own, gaining)
            counts[jobs] = own
            jobs = jobs[gaining]


def softened(data: Arrays, start: Counts) -> Arrays:
    """For the largest ratio, the sum of a power of the ratios."""
    return data.softened(POWER, data.total(start)) if data.bottleneck else data


def tatonnement(data: Arrays, start: Counts, tick: Tick = no_tick) -> tuple[Floats, Floats, Counts]:
    """Return the prices that seem to prove most, shape (G,), and the last ones with the jobs' responses to them, shape (S, G).

    ``start`` is a placement, whose configurations are the first.
    """
    data = softened(data, start)
    upper = data.total(start)
    prices, counts = first_prices(data, upper), start.copy()
    power, sign, most, best = np.full(data.types, _FIRST), np.zeros(data.types), -np.inf, prices
    for turn in range(_ROUNDS):
        respond(data, counts, prices, _PASSES if turn else 8 * _PASSES, tick)
        demand = counts.sum(axis=0)
        value = data.total(counts) + float(dot(prices, demand - data.stock))
        if value > most:
            most, best = value, prices
        if np.abs(demand - data.stock).sum() <= _NEAR * data.stock.sum() or turn == _ROUNDS - 1:
            break
        turned = np.sign(demand - data.stock) * sign < 0
        sign = np.sign(demand - data.stock)
        power = np.where(turned, power * _FALL, np.minimum(power * _RISE, _MOST))
        prices = prices * exp(power * log(np.clip(demand / data.stock, 1 / _FACTOR, _FACTOR)))
        prices = np.clip(prices, upper * 1e-30, upper)
    return best, prices, counts


def rounded(data: Arrays, start: Counts, prices: Floats, counts: Counts, tick: Tick = no_tick) -> Counts:
    """Round the jobs' responses to prices to a placement, shape (S, G); or improve ``start`` where that fails or is worse."""
    data = softened(data, start)
    kinds, counts, total = data.types, counts.copy(), 0.0
    while (counts.sum(axis=0) > data.stock).any():
        idle = data.stock - counts.sum(axis=0)
        if not _exchanged(data, counts, prices, np.append(idle < 0, False), idle, tick):
            counts = start.copy()
    free = np.ones(kinds + 1, dtype=bool)
    if data.total(counts) > data.total(start):
        counts = start.copy()
    # jobs take idle workers, and what they give up is idle then
    while _exchanged(data, counts, np.zeros(kinds), free, data.stock - counts.sum(axis=0), tick):
        if abs(data.total(counts) - total) <= _STEADY * total:
            break
        total = data.total(counts)
    return improve(data, counts, tick) if data.jobs * kinds <= _FEW else counts


def _exchanged(data: Arrays, counts: Counts, prices: Floats, out: Flags, idle: Counts, tick: Tick) -> bool:
    """Let jobs change ``counts``, each once, best changes first, as long as there are idle workers; False: none can.

    Workers that are missing (``idle`` < 0) are given up at any loss; with none missing jobs only change when they gain.
    """
    kinds = data.types
    missing, room = np.append(np.maximum(0, -idle), 0), np.append(np.maximum(0, idle), np.iinfo(np.int64).max)
    short = bool(missing.any())
    rows, parts = (np.flatnonzero(counts[:, out[:kinds]].any(axis=1)) if short else np.arange(data.jobs)), []
    for begin in range(0, len(rows), _BLOCK):
        tick()
        jobs = rows[begin : begin + _BLOCK]
        parts.append(best_changes(data, jobs, counts[jobs], prices, out, room > 0, whole=False))
    if not parts:
        return False
    changes = Changes(*(np.concatenate([getattr(part, name) for part in parts]) for name in Changes.__slots__))
    limit = np.inf if short else -_GAIN * data.total(counts) / data.jobs
    good = np.flatnonzero(changes.rise < limit)
    taken, left, spare = [], missing.tolist(), room.tolist()
    for row in good[np.argsort(changes.rise[good], kind="stable")].tolist():
        given, received = int(changes.out[row]), int(changes.into[row])
        if spare[received] > 0 and (not short or left[given] > 0):
            spare[received] -= 1
            left[given] -= 1
            taken.append(row)
    own = counts[rows]
    changes.apply(own, np.array(taken, dtype=np.int64))
    counts[rows] = own
    return bool(taken)
