"""Certificates ``packing``, of srpt_mapping, in whole numbers: prices of single jobs over time, and what a packing brings.

Minimise the sum of the ends C_i = s_i + L_i, s_i >= r_i, where the jobs that run at any time fit together: those of a part
take at most G units, job i g_i. A *packing* is a set of jobs that fit together; V(w) is the largest sum of w over one.

*Rates.* At rates mu_i(t) >= 0 the jobs that run at t bring at most V(mu(t)).

*Windows.* A window has times a <= b, charges nu_i >= 0 and one job k that may touch it. Job k is charged if it runs at some
time in it (s_k < b and C_k > a), every other job if it runs throughout (s_i < a and C_i > b). At a time when k runs all jobs
charged run; so they bring at most V(nu). Without k those that run throughout fit together, too.

So any schedule's sum of ends is at least

    sum_i phi_i - int V(mu(t)) dt - sum over windows of V(nu),
    phi_i = min over s >= r_i of  s + L_i + int_s^{s + L_i} mu_i + charges of i at s.

*Where the minimum lies.* The cost is linear in s between the points at which s or s + L_i passes a breakpoint or an end of a
window, and at these points no larger than beside them, as windows charge on open intervals of starts. So it is least at r_i
or at one of these. It does not fall when L_i grows: lengths that no job undercuts prove the bound. A job that has
begun starts at r_i.
"""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import NamedTuple

from dlsched.certificates.time_prices import common_unit, scaled

_MOST_CELLS = 30_000_000
"""Sums that packings may need: number of priced jobs times units, over all pieces and windows."""


class PackedJob(NamedTuple):
    """r_i, L_i (or anything below), g_i; the number of its part; whether it has begun."""

    release: float
    length: float
    units: int
    part: int
    begun: bool


class PricedWindow(NamedTuple):
    """a <= b; the index of the job that may touch it; charges by the index of the job, >= 0."""

    begin: float
    end: float
    touching: int
    charges: Mapping[int, float]


def packing_value(
    jobs: Sequence[PackedJob],
    totals: Sequence[int],
    breakpoints: Sequence[float],
    rates: Mapping[int, Sequence[float]],
    windows: Sequence[PricedWindow],
) -> Fraction:
    """Return the bound on the sum of ends, exactly.

    ``totals``: units of every part. ``breakpoints``: ascending, shape (K + 1,); ``rates``: by the index of the job, from each
    breakpoint to the next, >= 0, shape (K,); jobs not named have none. ValueError: breakpoints that do not ascend, windows that
    end before they begin, numbers that are negative or not finite, not one rate fewer than breakpoints, or too many packings.
    """
    _require_form(breakpoints, rates, windows)
    _require_few(jobs, totals, rates, windows)
    ends = [time for window in windows for time in window[:2]]
    lengths, releases = [job.length for job in jobs], [job.release for job in jobs]
    second = common_unit((*releases, *lengths, *breakpoints, *ends))
    flat = [rate for row in rates.values() for rate in row] + [x for each in windows for x in each.charges.values()]
    dear = common_unit(flat)
    times = scaled(breakpoints, second)
    spans = [after - before for before, after in pairwise(times)]
    rows = {index: scaled(row, dear) for index, row in rates.items()}
    value = 0
    for number, span in enumerate(spans):
        value -= span * _most(jobs, totals, {index: row[number] for index, row in rows.items() if row[number]})
    # every job's open intervals of starts at which a window charges it
    intervals: dict[int, list[tuple[int, int, int]]] = {}
    for window in windows:
        begin, end = scaled(window[:2], second)
        charges = dict(zip(window.charges, scaled(list(window.charges.values()), dear), strict=True))
        value -= second * _most(jobs, totals, charges)
        for index, charge in charges.items():
            (length,) = scaled([lengths[index]], second)
            low, high = (begin - length, end) if index == window.touching else (end - length, begin)
            if low < high and charge:
                intervals.setdefault(index, []).append((low, high, charge * second))
    for index, job in enumerate(jobs):
        release, length = scaled([job.release, job.length], second)
        row = rows.get(index)
        value += _least(release, length, job.begun, dear, times if row else [], row or [], intervals.get(index, []))
    return Fraction(value, second * dear)


def _least(
    release: int,
    length: int,
    begun: bool,
    dear: int,
    times: Sequence[int],
    row: Sequence[int],
    intervals: Sequence[tuple[int, int, int]],
) -> int:
    """Return the least cost of a job, in whole units."""
    paid = list(accumulate((rate * (b - a) for rate, (a, b) in zip(row, pairwise(times), strict=True)), initial=0))
    lows, highs = (
        sorted((low, charge) for low, _, charge in intervals),
        sorted((h, charge) for _, h, charge in intervals),
    )
    opened = list(accumulate((charge for _, charge in lows), initial=0))
    closed = list(accumulate((charge for _, charge in highs), initial=0))
    low_ends, high_ends = [low for low, _ in lows], [high for high, _ in highs]

    def until(time: int) -> int:
        """Return what is paid from the first breakpoint to a time."""
        index = bisect_right(times, time) - 1
        if index < 0:
            return 0
        return paid[-1] if index >= len(row) else paid[index] + row[index] * (time - times[index])

    def cost(start: int) -> int:
        charged = opened[bisect_left(low_ends, start)] - closed[bisect_right(high_ends, start)]
        return (start + length) * dear + until(start + length) - until(start) + charged

    least = cost(release)
    if begun:
        return least
    moments = {*times, *(time - length for time in times), *low_ends, *high_ends}
    for start in sorted(moment for moment in moments if moment > release):
        if (start + length) * dear >= least:
            break
        least = min(least, cost(start))
    return least


def _most(jobs: Sequence[PackedJob], totals: Sequence[int], worth: Mapping[int, int]) -> int:
    """Return the largest worth of a packing: in every part a knapsack, by the units it takes."""
    most = 0
    for part, total in enumerate(totals):
        items = [(jobs[index].units, each) for index, each in worth.items() if jobs[index].part == part]
        items = [item for item in items if item[0] <= total]
        if sum(units for units, _ in items) <= total:
            most += sum(each for _, each in items)
            continue
        best = [0] * (total + 1)
        for units, each in items:
            for taken in range(total, units - 1, -1):
                best[taken] = max(best[taken], best[taken - units] + each)
        most += best[total]
    return most


def _require_form(
    breakpoints: Sequence[float], rates: Mapping[int, Sequence[float]], windows: Sequence[PricedWindow]
) -> None:
    if not all(map(math.isfinite, breakpoints)) or any(first >= second for first, second in pairwise(breakpoints)):
        raise ValueError("breakpoints must ascend")
    for row in rates.values():
        if len(row) != max(0, len(breakpoints) - 1):
            allowed = max(0, len(breakpoints) - 1)
            raise ValueError(f"{len(breakpoints)} breakpoints have {allowed} rates between them, found {len(row)}")
        if not all(math.isfinite(rate) and rate >= 0 for rate in row):
            raise ValueError("rates must be numbers >= 0")
    for window in windows:
        if not (math.isfinite(window.begin) and math.isfinite(window.end) and window.begin <= window.end):
            raise ValueError("a window must not end before it begins")
        if not all(math.isfinite(charge) and charge >= 0 for charge in window.charges.values()):
            raise ValueError("charges must be numbers >= 0")


def _require_few(
    jobs: Sequence[PackedJob],
    totals: Sequence[int],
    rates: Mapping[int, Sequence[float]],
    windows: Sequence[PricedWindow],
) -> None:
    """Refuse what would take too long, before anything is summed."""
    largest = max(totals)
    cells = sum(len(row) for row in rates.values()) + sum(len(window.charges) for window in windows)
    if cells * min(largest, sum(job.units for job in jobs)) > _MOST_CELLS:
        raise ValueError(f"packings of {cells:,} rates and charges on {largest:,} units are too many to verify")
