"""Cuts of an S-shaped utility into stretches close below their concave envelopes, and lines above them."""

import numpy as np

from dlsched.algorithms.utility_table import UtilityTable, hull

Tangent = tuple[float, float]
"""Offset and slope."""

_STRETCHES = 12
_TANGENTS = 24  # largest number of tangents of one stretch
VANISHING = 1e-9
"""Of the largest utility: what rises less is level."""
_FLAT = 1e-6  # of the largest utility: a stretch nearer to its envelope is not cut


def stretches(table: UtilityTable, unit: float) -> list[tuple[int, int]]:
    """Cut 0 .. Z where mu is farthest below the envelope of its stretch, until it is near it everywhere."""
    found = [(0, table.units)]
    while len(found) < _STRETCHES:
        worst, cut, index = max((*_farthest(table, low, high), index) for index, (low, high) in enumerate(found))
        if worst <= _FLAT * unit:
            break
        low, high = found[index]
        found[index : index + 1] = [(low, cut - 1), (cut, high)] if cut > low else [(low, low), (low + 1, high)]
    return found


def _farthest(table: UtilityTable, low: int, high: int) -> tuple[float, int]:
    """Return how far mu is below the envelope of a stretch, and the corner above, at which it is cut."""
    values = table.values[low : high + 1]
    corners = hull(values)
    below = np.interp(np.arange(len(values)), corners, values[corners]) - values
    worst = int(np.argmax(below))
    above = int(corners[np.searchsorted(corners, worst)])
    cut = above if above < len(values) - 1 or worst == 0 else worst
    return float(below[worst]), low + cut


def tangents(table: UtilityTable, low: int, high: int, unit: float) -> list[Tangent]:
    """Lines above a stretch, through corners of its envelope, more where they are farthest above it."""
    corners = hull(table.values[low : high + 1]) + low
    if len(corners) == 1:
        return [_visible(float(table.values[low] - table.values[0]), 0.0, high, VANISHING * unit)]
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
        # Refine beside the corner at which the lines are farthest above the envelope.
        near = [line for line in (far - 1, far) if 0 <= line < len(slopes) and line not in chosen]
        wanted = near if above[far] - values[far] > _FLAT * unit else []
    return [_visible(offset, slope, high, VANISHING * unit) for offset, slope in chosen.values()]


def _visible(offset: float, slope: float, high: int, least: float) -> Tangent:
    """Raise a line a little, so that no coefficient is tiny: with some of 1e-272 HiGHS 1.12 proved a wrong optimum."""
    if slope <= least:
        offset, slope = offset + slope * high, 0.0
    if abs(offset) < least:
        offset = least if offset > 0 else 0.0
    return offset, slope
