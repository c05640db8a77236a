"""The relaxation of ``horizon`` with S-shaped utilities taken as they are: binaries choose the stretch in which z_i lies.

The worker-slots 0 .. Z_i of an S-shaped job are cut into stretches; on each its utility is below the concave envelope of
that stretch alone. One of them is chosen:

    sum_k b_ik = 1     lo_k b_ik <= z_ik <= hi_k b_ik     theta_ik <= tangents of the envelope of stretch k, times b_ik
    z_i = sum_k z_ik   theta_i = sum_k theta_ik

Rows of the relaxation stay. So every embedding is a point of the program, and its bound is one of the total utility, proven
by the solver and not verified.
"""

import numpy as np

from dlsched.algorithms.utility_table import UtilityTable, hull
from dlsched.ring_embedding.horizon.relaxation import Program, Tangent
from dlsched.solvers.linear import LinearModel
from dlsched.solvers.rows import maximisation

_STRETCHES = 12
_TANGENTS = 24  # of one stretch
_VANISHING = 1e-9  # of the largest utility
_FLAT = 1e-6  # of the largest utility: a stretch nearer to its envelope is not cut


def stretches(table: UtilityTable, unit: float) -> list[tuple[int, int]]:
    """Cut 0 .. Z where mu is farthest below the envelope of a stretch, until it is near it everywhere."""
    found = [(0, table.units)]
    while len(found) < _STRETCHES:
        worst, cut, index = max((*_farthest(table, low, high), index) for index, (low, high) in enumerate(found))
        if worst <= _FLAT * unit:
            break
        low, high = found[index]
        found[index : index + 1] = [(low, cut - 1), (cut, high)] if cut > low else [(low, low), (low + 1, high)]
    return found


def _farthest(table: UtilityTable, low: int, high: int) -> tuple[float, int]:
    """How far mu is below the envelope of a stretch, and where the stretch is cut: at the corner above."""
    values = table.values[low : high + 1]
    corners = hull(values)
    below = np.interp(np.arange(len(values)), corners, values[corners]) - values
    worst = int(np.argmax(below))
    above = int(corners[np.searchsorted(corners, worst)])
    cut = above if above < len(values) - 1 or worst == 0 else worst
    return float(below[worst]), low + cut


def tangents(table: UtilityTable, low: int, high: int, unit: float) -> list[Tangent]:
    """Lines above a stretch, through neighbouring corners of its envelope, more of them where they are farthest above it."""
    corners = hull(table.values[low : high + 1]) + low
    if len(corners) == 1:
        return [_visible(float(table.values[low] - table.values[0]), 0.0, high, _VANISHING * unit)]
    values = table.values[corners] - table.values[0]
    slopes = np.diff(values) / np.diff(corners)
    chosen: dict[int, Tangent] = {}
    above = np.full(len(corners), np.inf)
    wanted = [0, len(slopes) - 1]
    while wanted and len(chosen) < _TANGENTS:
        for line in wanted:
            offset = float(values[line + 1] - slopes[line] * corners[line + 1])
            chosen[line] = offset, float(slopes[line])
            above = np.minimum(above, offset + slopes[line] * corners)
        far = int(np.argmax(above - values))
        near = [line for line in (far - 1, far) if 0 <= line < len(slopes) and line not in chosen]
        wanted = near if above[far] - values[far] > _FLAT * unit else []
    return [_visible(offset, slope, high, _VANISHING * unit) for offset, slope in chosen.values()]


def _visible(offset: float, slope: float, high: int, least: float) -> Tangent:
    """Raise a line a little, so that no coefficient is tiny: with some of 1e-272 HiGHS 1.12 proved a wrong optimum."""
    if slope <= least:
        offset, slope = offset + slope * high, 0.0
    if abs(offset) < least:
        offset = least if offset > 0 else 0.0
    return offset, slope


def build_totals(program: Program) -> LinearModel:
    """Build the program of what is gained, in the unit of ``program``; its first variables are the relaxation's w and z."""
    jobs, first, unit, rows = len(program.tables), len(program.columns), program.unit, program.rows.copy()
    upper = [*program.upper, *(float(table.units) for table in program.tables)]
    upper += [table.most / unit for table in program.tables]
    equal: list[int] = []
    binaries: list[int] = []
    for (i, _), (offset, slope) in program.tangents.items():
        if slope > _VANISHING * unit:
            rows.add([(first + jobs + i, 1.0), (first + i, -slope / unit)], offset / unit)
    for i, table in enumerate(program.tables):
        pieces = [(0, 0)] if table.concave else stretches(table, unit)
        if len(pieces) == 1:
            continue
        start, end = len(upper), len(upper) + 3 * len(pieces)
        for b, (low, high) in zip(range(start, end, 3), pieces, strict=True):
            z, theta = b + 1, b + 2
            upper += [1.0, float(high), table.most / unit]
            binaries.append(b)
            rows.add([(z, 1.0), (b, -float(high))], 0.0)
            rows.add([(z, -1.0), (b, float(low))], 0.0)
            for offset, slope in tangents(table, low, high, unit):
                rows.add([(theta, 1.0), (z, -slope / unit), (b, -offset / unit)], 0.0)
        equal.append(rows.add([(b, 1.0) for b in range(start, end, 3)], 1.0))
        equal.append(rows.add([(first + i, 1.0), *((z, -1.0) for z in range(start + 1, end, 3))], 0.0))
        rows.add([(first + jobs + i, 1.0), *((theta, -1.0) for theta in range(start + 2, end, 3))], 0.0)
    costs, integer = np.zeros(len(upper)), np.zeros(len(upper), dtype=bool)
    costs[first + jobs : first + 2 * jobs] = 1.0
    integer[binaries] = True
    return maximisation(costs, rows.matrix(len(upper)), rows.right, upper=upper, integer=integer, equal=equal)
