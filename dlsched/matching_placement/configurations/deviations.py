"""Every configuration of a case (``pricing``) that costs at most a threshold: the cheapest units, and deviations from them.

At a case's R0 the n cheapest units are those below some p - lambda rho, its margin. Another vector of n workers costs more than
the bound by at least the summed distances of units from the margin: of its units above the margin, and of
missing units below it. So types further from the margin than threshold minus bound are fixed; the others,
furthest first, extend labels as long as the threshold allows the deviations. The labels left at the end are
evaluated.
"""

import numpy as np

from dlsched.algorithms.count_vectors import run_lengths
from dlsched.core.arrays import dot, row_dots
from dlsched.core.limits import Tick, TooMany
from dlsched.matching_placement.arrays import Counts, Floats
from dlsched.matching_placement.configurations.cases import CaseCosts, Cases, Flags

Rows = tuple[Counts, Floats, Counts]
_ROUNDING = 1e-12  # relative tolerance on the cost of a deviation
_BATCH = 100_000  # largest number of cases times types handled at once


def deviations(
    costs: CaseCosts,
    cases: Cases,
    at: Floats,
    bound: Floats,
    prices: Floats,
    upto: Floats,
    many: Flags,
    cells: int,
    tick: Tick,
) -> list[Rows]:
    """List job, J(c) + p c and c of all vectors of the cases up to the jobs' thresholds.

    ``many`` marks jobs with too many labels: the labels of one case may have ``cells`` numbers, and so may a
    job's list. ``at`` is the R0 of each case, at which its bound was computed.
    """
    found: list[Rows] = []
    listed = np.zeros(len(many), dtype=np.int64)
    step = max(1, _BATCH // costs.data.types)
    parts = [np.arange(begin, min(begin + step, len(at))) for begin in range(0, len(at), step)][::-1]
    while parts:
        tick()
        part = parts.pop()
        part = part[~many[cases.job[part]]]
        if not len(part):
            continue
        try:
            rows = _extended(costs, cases.take(part), at[part], bound[part], prices, upto, cells, tick)
        except TooMany:
            if len(part) == 1:
                many[cases.job[part]] = True
            else:
                parts += [part[len(part) // 2 :], part[: len(part) // 2]]
            continue
        found.append(rows)
        listed += np.bincount(rows[0], minlength=len(many))
        many |= listed * (costs.data.types + 10) > cells
    return found


def _extended(
    costs: CaseCosts,
    cases: Cases,
    at: Floats,
    bound: Floats,
    prices: Floats,
    upto: Floats,
    cells: int,
    tick: Tick,
) -> Rows:
    data = costs.data
    budget = upto[cases.job] - bound + _ROUNDING * np.abs(upto[cases.job])
    _, linear, _, order, taken = costs.units(cases, at, prices)
    rows = np.arange(len(at))[:, None]
    base = np.zeros_like(taken)
    np.put_along_axis(base, order, taken, axis=1)
    margin = np.where(base > 0, linear, -np.inf).max(axis=1)
    away = linear - margin[:, None]
    stock = np.minimum(data.stock, cases.size[:, None])
    with np.errstate(divide="ignore", invalid="ignore"):
        ways = np.where(away == 0, np.inf, np.floor(budget[:, None] / np.abs(away)))
    low = np.where(away < 0, np.maximum(0, stock - np.minimum(ways, stock)), 0).astype(np.int64)
    high = np.where(away < 0, stock, np.minimum(stock, ways)).astype(np.int64)
    free = low < high
    width = max(1, int(free.sum(axis=1).max()))
    chosen = np.argsort(np.where(free, -np.abs(away), np.inf), axis=1, kind="stable")[:, :width]
    fixed = low.copy()
    np.put_along_axis(fixed, chosen, 0, axis=1)
    lows, highs, step, there = (each[rows, chosen] for each in (low, high, np.where(free, away, 0.0), stock))
    least = np.append(np.cumsum(lows[:, ::-1], axis=1)[:, ::-1], np.zeros((len(at), 1), dtype=np.int64), axis=1)
    most = np.append(np.cumsum(highs[:, ::-1], axis=1)[:, ::-1], np.zeros((len(at), 1), dtype=np.int64), axis=1)
    of, left, spent = np.arange(len(at)), cases.size - fixed.sum(axis=1), np.zeros(len(at))
    added = np.zeros((len(at), 0), dtype=np.int64)
    for kind in range(width):
        tick()
        distance = step[of, kind]
        with np.errstate(divide="ignore", invalid="ignore"):
            can = np.where(distance == 0, np.inf, np.floor((budget[of] - spent) / np.abs(distance)))
        fewest = np.maximum(lows[of, kind], left - most[of, kind + 1])
        largest = np.minimum(highs[of, kind], left - least[of, kind + 1])
        below = distance < 0
        fewest = np.where(below, np.maximum(fewest, there[of, kind] - can), fewest).astype(np.int64)
        largest = np.where(below, largest, np.minimum(largest, can)).astype(np.int64)
        number = np.maximum(0, largest - fewest + 1)
        if int(number.sum()) * (kind + 10) > cells:
            raise TooMany
        parent = np.repeat(np.arange(len(of)), number)
        count = run_lengths(number) + fewest[parent]
        off = np.where(below[parent], there[of[parent], kind] - count, count)
        spent = spent[parent] + off * np.abs(distance[parent])
        left = left[parent] - count
        of = of[parent]
        added = np.concatenate((added[parent], count[:, None]), axis=1)
    counts = fixed[of]
    np.put_along_axis(counts, chosen[of], added, axis=1)
    ended = cases.take(of)
    rate = row_dots(counts, data.rates[ended.job])
    value = costs.value(ended, rate) + dot(counts, prices)
    slowest = np.where(counts > 0, data.bandwidth, np.inf).min(axis=1)
    own = (slowest == costs.bandwidths[ended.level]) | (data.traffic[ended.job] == 0)
    kept = np.flatnonzero((value <= upto[ended.job]) & own)
    return ended.job[kept], value[kept], counts[kept]
