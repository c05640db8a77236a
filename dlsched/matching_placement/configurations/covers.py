"""Covers: minimal configurations with which a job ends within given seconds.

Labels are extended type by type, by rising bandwidth, so the first type that gives a worker is the ring's
slowest. A label is complete once it ends soon enough: more workers would be superfluous. A label is dropped
if it is too slow even with its present ring and the fastest units to come, or too dear even if fractions of
workers supplied the rate that it lacks.
"""

import numpy as np

from dlsched.columns.slack import CELLS
from dlsched.core.arrays import dot
from dlsched.core.limits import Tick, TooMany, no_tick
from dlsched.matching_placement.arrays import Arrays, Counts, Floats

_ROOM = 1 + 1e-9  # relative tolerance for rounding


def covers(
    data: Arrays,
    job: int,
    most_s: float,
    *,
    prices: Floats | None = None,
    limit: float = np.inf,
    cheapest: bool = False,
    cells: int = CELLS,
    tick: Tick = no_tick,
) -> Counts:
    """List configurations of at most ``most_s``, shape (N, G), so that each other one contains a listed one.

    Parameters
    ----------
    prices, limit
        Leave out configurations that cost more than the limit at these prices of the types, shape (G,).
    cheapest
        Leave out all but one of the cheapest, and some others.
    cells
        Largest number of entries that labels may have at once; with more, ``TooMany`` is raised.
    tick
        Called at every type; it may raise to stop.
    """
    able = data.able(job)
    kinds = able[np.argsort(data.bandwidth[able], kind="stable")]
    rates, least, most = data.rates[job, kinds], int(data.least[job]), int(data.most[job])
    ring_s, stock = data.traffic[job] / data.bandwidth[kinds], np.minimum(data.stock[kinds], most)
    rows = np.zeros((1, data.types), dtype=np.int64)
    size, slow, ended = np.zeros(1, dtype=np.int64), np.full(1, -1), []
    for at, kind in enumerate(kinds.tolist()):
        tick()
        ways = np.minimum(stock[at], most - size) + 1
        if int(ways.sum()) * (len(kinds) + 10) > cells:
            raise TooMany
        parent = np.repeat(np.arange(len(size)), ways)
        added = np.arange(len(parent)) - np.repeat(np.cumsum(ways) - ways, ways)
        rows, size = rows[parent], size[parent] + added
        rows[:, kind] = added
        slow = np.where((slow[parent] < 0) & (added > 0), at, slow[parent])
        rate = dot(rows, data.rates[job])
        soon = (size >= max(1, least)) & (_times(data, job, rate, ring_s[slow], size) <= most_s)
        first = np.full(len(ways), len(added), dtype=np.int64)
        np.minimum.at(first, parent[soon], added[soon])
        ended.append(rows[soon & (added == first[parent])])
        fast, units = _fastest(rates[at + 1 :], stock[at + 1 :])
        more = np.minimum(most - size, units)
        final = np.maximum(size, least)
        ring = ring_s[np.where(slow < 0, len(kinds) - 1, slow)]
        best = _times(data, job, rate + fast[more], ring, final)
        good = (added < first[parent]) & (size + more >= least) & (more > 0) & (best <= most_s)
        if prices is not None:
            left_s = most_s - ring * (np.maximum(final - 1, 0) / final)
            lacking = np.divide(data.work[job], left_s, out=np.full(len(rate), np.inf), where=left_s > 0) - rate
            dearest = _bought(rates[at + 1 :], stock[at + 1 :], prices[kinds[at + 1 :]], lacking)
            good &= dot(rows, prices) + dearest <= limit * _ROOM
        kept = np.flatnonzero(good)
        if prices is not None and cheapest:
            kept = kept[_unbeaten(size[kept], slow[kept], rate[kept], dot(rows[kept], prices))]
        rows, size, slow = rows[kept], size[kept], slow[kept]
    found = np.concatenate(ended) if ended else rows[:0]
    if prices is not None:
        found = found[dot(found, prices) <= limit * _ROOM]
    return _spare(data, job, found, most_s)


def some_price(data: Arrays, job: int, most_s: float, prices: Floats) -> float:
    """Price of a good cover: tries the fastest and the cheapest workers of every ring and size, or inf."""
    able, least, best = data.able(job), int(data.least[job]), np.inf
    for slowest in np.unique(data.bandwidth[able]).tolist():
        kinds = able[data.bandwidth[able] >= slowest]
        rates, paid = data.rates[job, kinds], prices[kinds]
        for order in (np.argsort(-rates, kind="stable"), np.argsort(paid / rates, kind="stable")):
            unit = np.repeat(kinds[order], data.stock[kinds[order]])[: data.most[job]]
            size = np.arange(1, len(unit) + 1)
            ring = np.maximum.accumulate(data.traffic[job] / data.bandwidth[unit])
            times = _times(data, job, np.cumsum(data.rates[job, unit]), ring, size)
            soon = np.flatnonzero((times <= most_s) & (size >= least))
            if len(soon):
                best = min(best, float(prices[unit[: soon[0] + 1]].sum()))
    return best


def _unbeaten(size: Counts, slow: Counts, rate: Floats, paid: Floats) -> Counts:
    """Positions of labels that no label of the same size and ring matches in rate and price."""
    if not len(size):
        return size
    order = np.lexsort((paid, -rate, slow, size))
    new = np.append(True, (np.diff(size[order]) != 0) | (np.diff(slow[order]) != 0))
    group, position = np.cumsum(new), np.argsort(np.argsort(paid[order], kind="stable"), kind="stable")
    # ranks of prices, each group's below those of the group before: one running minimum serves all
    rank = position - group * len(order)
    before = np.append(np.iinfo(np.int64).max, np.minimum.accumulate(rank)[:-1])
    kept: Counts = order[rank < before]
    return kept


def _bought(rates: Floats, stock: Counts, prices: Floats, lacking: Floats) -> Floats:
    """Least price of some rates from fractions of workers; infinite if there are too few workers."""
    order = np.argsort(prices / rates, kind="stable")
    reached = np.append(0.0, np.cumsum((rates * stock)[order]))
    paid = np.append(0.0, np.cumsum((prices * stock)[order]))
    bought: Floats = np.interp(np.minimum(lacking / _ROOM, reached[-1]), reached, paid)
    return bought


def _times(data: Arrays, job: int, rate: Floats, ring_s: Floats, size: Counts) -> Floats:
    """Seconds at some rates; infinite without any."""
    times: Floats = np.divide(data.work[job], rate, out=np.full(len(rate), np.inf), where=rate > 0)
    times += ring_s * (np.maximum(size - 1, 0) / np.maximum(size, 1))
    return times


def _fastest(rates: Floats, stock: Counts) -> tuple[Floats, int]:
    """Rate of the 0, 1, 2 ... fastest units of some types, and how many there are."""
    order = np.argsort(-rates)
    fast = np.append(0.0, np.cumsum(np.repeat(rates[order], stock[order])))
    return fast, len(fast) - 1


def _spare(data: Arrays, job: int, rows: Counts, most_s: float) -> Counts:
    """Leave out configurations that are fast enough without one of their workers."""
    kept = np.ones(len(rows), dtype=bool)
    for kind in data.able(job).tolist():
        some = np.flatnonzero(kept & (rows[:, kind] > 0) & (rows.sum(axis=1) > max(1, data.least[job])))
        fewer = rows[some]
        fewer[:, kind] -= 1
        kept[some[data.times(job, fewer) <= most_s / _ROOM]] = False
    return rows[kept]
