"""The relaxation of ``horizon`` with S-shaped utilities taken as they are: binaries choose the stretch in which z_i lies.

The worker-slots 0 .. Z_i of an S-shaped job are cut into stretches; on each its utility is below the concave envelope of
that stretch alone. One of them is chosen:

    sum_k b_ik = 1     lo_k b_ik <= z_ik <= hi_k b_ik     theta_ik <= tangents of the envelope of stretch k, times b_ik
    z_i = sum_k z_ik   theta_i = sum_k theta_ik

Rows of the relaxation stay. So every embedding is a point of the program, and its bound is one of the total utility, proven
by the solver and not verified.
"""

import numpy as np
import numpy.typing as npt

from dlsched.core.status import Sense
from dlsched.ring_embedding.horizon.relaxation import Program, Tangent
from dlsched.ring_embedding.utilities import Worth, hull
from dlsched.solvers.linear import LinearModel

_STRETCHES = 12
_TANGENTS = 24  # of one stretch
_VANISHING = 1e-9  # of the largest utility
_FLAT = 1e-6  # of the largest utility: a stretch nearer to its envelope is not cut


def stretches(worth: Worth, unit: float) -> list[tuple[int, int]]:
    """Cut 0 .. Z where mu is farthest below the envelope of a stretch, until it is near it everywhere."""
    found = [(0, len(worth.values) - 1)]
    while len(found) < _STRETCHES:
        worst, cut, place = max((*_farthest(worth, low, high), place) for place, (low, high) in enumerate(found))
        if worst <= _FLAT * unit:
            break
        low, high = found[place]
        found[place : place + 1] = [(low, cut - 1), (cut, high)] if cut > low else [(low, low), (low + 1, high)]
    return found


def _farthest(worth: Worth, low: int, high: int) -> tuple[float, int]:
    """How far mu is below the envelope of a stretch, and where the stretch is cut: at the corner above."""
    values = worth.values[low : high + 1]
    corners = hull(values)
    below = np.interp(np.arange(len(values)), corners, values[corners]) - values
    place = int(np.argmax(below))
    above = int(corners[np.searchsorted(corners, place)])
    cut = above if above < len(values) - 1 or place == 0 else place
    return float(below[place]), low + cut


def tangents(worth: Worth, low: int, high: int, unit: float) -> list[Tangent]:
    """Lines above a stretch, through neighbouring corners of its envelope, more of them where they are farthest above it."""
    corners = hull(worth.values[low : high + 1]) + low
    if len(corners) == 1:
        return [_visible(float(worth.values[low] - worth.values[0]), 0.0, high, _VANISHING * unit)]
    values = worth.values[corners] - worth.values[0]
    slopes = np.diff(values) / np.diff(corners)
    chosen: dict[int, Tangent] = {}
    above = np.full(len(corners), np.inf)
    wanted = [0, len(slopes) - 1]
    while wanted and len(chosen) < _TANGENTS:
        for place in wanted:
            offset = float(values[place + 1] - slopes[place] * corners[place + 1])
            chosen[place] = offset, float(slopes[place])
            above = np.minimum(above, offset + slopes[place] * corners)
        far = int(np.argmax(above - values))
        near = [place for place in (far - 1, far) if 0 <= place < len(slopes) and place not in chosen]
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
    jobs, first = len(program.worths), len(program.columns)
    entries, right = list(program.entries), list(program.right)
    upper = [*program.upper, *(float(len(worth.values) - 1) for worth in program.worths)]
    upper += [worth.most / program.unit for worth in program.worths]
    integer = [False] * len(upper)
    equal: list[int] = []

    def row(terms: list[tuple[int, float]], most: float) -> None:
        entries.extend((len(right), column, value) for column, value in terms)
        right.append(most)

    for (i, _), (offset, slope) in program.tangents.items():
        if slope <= _VANISHING * program.unit:
            continue
        row([(first + jobs + i, 1.0), (first + i, -slope / program.unit)], offset / program.unit)
    for i, worth in enumerate(program.worths):
        pieces = [(0, 0)] if worth.concave else stretches(worth, program.unit)
        if len(pieces) == 1:
            continue
        start = len(upper)
        for k, (low, high) in enumerate(pieces):
            b, z, theta = start + 3 * k, start + 3 * k + 1, start + 3 * k + 2
            upper += [1.0, float(high), worth.most / program.unit]
            integer += [True, False, False]
            row([(z, 1.0), (b, -float(high))], 0.0)
            row([(z, -1.0), (b, float(low))], 0.0)
            for offset, slope in tangents(worth, low, high, program.unit):
                row([(theta, 1.0), (z, -slope / program.unit), (b, -offset / program.unit)], 0.0)
        count = range(len(pieces))
        equal += [len(right), len(right) + 1]
        row([(start + 3 * k, 1.0) for k in count], 1.0)
        row([(first + i, 1.0), *((start + 3 * k + 1, -1.0) for k in count)], 0.0)
        row([(first + jobs + i, 1.0), *((start + 3 * k + 2, -1.0) for k in count)], 0.0)
    return _model(entries, right, upper, integer, equal, first + jobs, jobs)


def _model(
    entries: list[tuple[int, int, float]],
    right: list[float],
    upper: list[float],
    integer: list[bool],
    equal: list[int],
    first: int,
    jobs: int,
) -> LinearModel:
    from scipy.sparse import coo_array

    places, columns, values = zip(*entries, strict=True)
    matrix = coo_array((values, (places, columns)), shape=(len(right), len(upper))).tocsr()
    lower_row = np.full(len(right), -np.inf)
    lower_row[equal] = np.array(right)[equal]
    costs: npt.NDArray[np.float64] = np.zeros(len(upper))
    costs[first : first + jobs] = 1.0
    return LinearModel(
        sense=Sense.MAXIMIZE,
        names=[f"x{place}" for place in range(len(upper))],
        costs=costs,
        constant=0.0,
        lower=np.zeros(len(upper)),
        upper=np.array(upper),
        integer=np.array(integer),
        row_names=[f"r{place}" for place in range(len(right))],
        row_starts=matrix.indptr.astype(np.int64),
        columns=matrix.indices.astype(np.int64),
        coefficients=matrix.data,
        row_lower=lower_row,
        row_upper=np.array(right),
    )
