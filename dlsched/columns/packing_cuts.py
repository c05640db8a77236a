"""Best prices of single jobs over time, by cutting planes: which rigid jobs fit together decides what all may be charged.

Jobs take a fixed number of units of their part for a fixed time without a pause; ``certificates.packing_prices`` has the bound.
Its best rates on given breakpoints are the multipliers of a linear program over all starts that can be cheapest there:

    minimise  sum (s + L_i - r_i) x_is,   sum_s x_is = 1 for every job,   and rows with weights w of jobs of one part,

    *piece*:   sum w_i (share of the piece in which i runs) <= 1,
    *window*:  w_k (k touches it) + sum w_i (i runs throughout) <= 1,

where no packing weighs more than 1: first w_i = g_i / G on every piece. Then rounds follow. Each looks for weights that its
optimum breaks, on pieces and windows, and adds the starts and ends that the optimum mixes as breakpoints.

*Weights.* The shares v of the jobs on a piece are a mean of packings, or some w has w v > 1 >= w P for every packing P: a linear
program over the maximal packings of the jobs with v_i > 0. The other jobs get, one by one, what a knapsack leaves them. Rows
on pieces are valid as jobs that run at one time are a packing (Crowder, Johnson and Padberg, Operations Research 31, 1983, for a
single knapsack); those of windows are van den Akker, van Hoesel and Savelsbergh's (Mathematical Programming 85, 1999) for one
machine, with packings in place of single jobs.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dlsched.columns.price_ascent import RigidJobs, usage
from dlsched.core.arrays import BoolArray, FloatArray, IntArray
from dlsched.core.limits import Tick, no_tick
from dlsched.solvers.lp import linear_program

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_PIECES = 160
"""Largest number of pieces: all starts of 20 jobs are then 6,400 columns."""
_APART = 1e-3
"""Least distance of a new breakpoint from the others, as a share of the whole time."""
_NEAR = 1e-9
"""The same for two moments that count as one."""
_MIXED = 0.1
"""Least part of a job's starts that makes start and end breakpoints."""
_BROKEN = 5e-3
"""Excess over 1 from which a row is added."""
_SUPPORT = 14
"""Largest number of jobs whose packings are listed: at most 3,432."""
_A_JOB = 6
"""Largest number of windows that a job may touch and that a round tries."""
_SLOW = 1e-4
"""Relative rise in three rounds below which the rounds end."""


class Window(NamedTuple):
    """From ``begin_s`` to ``end_s``; the job that may touch it; charges of all jobs, shape (I,)."""

    begin_s: float
    end_s: float
    touching: int
    charges: FloatArray


class PackingPrices(NamedTuple):
    """Breakpoints, seconds, shape (K + 1,); rates of every job in between, shape (I, K); windows; about what they prove.

    ``flow_s``: the sum of flow times that they prove but for rounding.
    """

    times: FloatArray
    rates: FloatArray
    windows: Sequence[Window]
    flow_s: float


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """Jobs, by index, that share ``total`` units with no others."""

    jobs: IntArray
    total: int


class _Row(NamedTuple):
    """Weights of the jobs, shape (I,), on a piece or, where a job may touch it (else -1), on a window."""

    begin: float
    end: float
    touching: int
    weights: FloatArray


class _Columns(NamedTuple):
    """Jobs and their starts and ends, shape (X,); the share of every piece in which each runs, shape (X, K)."""

    job: IntArray
    start: FloatArray
    end: FloatArray
    shares: "csr_array"


def best_packing_prices(
    jobs: RigidJobs,
    parts: Sequence[Part],
    begun: BoolArray,
    starts_s: FloatArray,
    rounds: int,
    tick: Tick = no_tick,
) -> Iterator[PackingPrices]:
    """Yield ever better prices, at most ``rounds`` times; ``starts_s``: those of a good schedule, whose events are breakpoints.

    ``begun``: jobs that start at their release. ``tick`` is called in every round and for each job in it; it may raise to stop.
    """
    first_s = float(jobs.release_s.min())
    # powers of two scale without rounding
    unit_s = 2.0 ** int(np.frexp(float((starts_s + jobs.length_s).max()) - first_s)[1])
    release, length = (jobs.release_s - first_s) / unit_s, jobs.length_s / unit_s
    starts = (starts_s - first_s) / unit_s
    times = _apart(np.concatenate([release, starts, starts + length]), np.empty(0), _APART)
    rows: list[_Row] = []
    values: list[float] = []
    for number in range(rounds):
        tick()
        columns = _columns(release, length, begun, times)
        always = [row for part in parts for row in _capacity(part, jobs.units, times)]
        matrix = _matrix([*always, *rows], columns, times)
        answer = linear_program(
            columns.end - release[columns.job],
            a_ub=matrix,
            b_ub=np.ones(matrix.shape[0]),
            a_eq=_indicator(columns.job, len(release)),
            b_eq=np.ones(len(release)),
        )
        values.append(answer.objective)
        yield _prices([*always, *rows], -answer.upper, times, first_s, unit_s, answer.objective)
        if len(values) > 3 and values[-1] - values[-4] <= _SLOW * values[-1]:
            return
        tight = (matrix @ answer.x)[len(always) :] >= 1 - 1e-6
        rows = [row for row, each in zip(rows, tight, strict=True) if each]
        added = []
        running = _running(columns, answer.x, times)
        for part in parts:
            seen = [(begin, end, -1, running[:, piece]) for piece, (begin, end) in enumerate(pairwise(times.tolist()))]
            if number:  # pieces first: windows matter where these are not enough
                seen += _window_shares(part, jobs.units, columns, answer.x, times, tick)
            weights = broken_weights(part, jobs.units, np.array([shares for *_, shares in seen]))
            added += [_Row(*each[:3], own) for each, own in zip(seen, weights, strict=True) if own.any()]
        rows = sorted([*rows, *added], key=lambda row: row.touching >= 0)
        mixed = np.flatnonzero(answer.x >= _MIXED)
        new = np.concatenate([columns.start[mixed], columns.end[mixed]])[
            np.argsort(-np.tile(answer.x[mixed], 2), kind="stable")
        ]
        finer = _apart(new, times, _APART)
        if not added and len(finer) == len(times):
            return
        times = finer


def _apart(moments: FloatArray, known: FloatArray, distance: float) -> FloatArray:
    """The known times and as many moments, in their order, as are apart from those before, at most ``_PIECES`` + 1; ascending."""
    times = sorted(known.tolist())
    for moment in moments.tolist():
        if len(times) > _PIECES:
            break
        if all(abs(moment - time) > distance for time in times):
            times.append(moment)
    if len(times) < 2:
        times.append(times[0] + 1.0)
    return np.array(sorted(times))


def _columns(release: FloatArray, length: FloatArray, begun: BoolArray, times: FloatArray) -> _Columns:
    """All starts that can be cheapest: at the release, or where start or end is a breakpoint."""
    which, starts = [], []
    for index, (at, lasts) in enumerate(zip(release.tolist(), length.tolist(), strict=True)):
        moments = np.sort(np.concatenate([times, times - lasts]))
        moments = np.concatenate([[at], moments[(moments > at + _NEAR) & (not begun[index])]])
        own = moments[np.concatenate([[True], np.diff(moments) > _NEAR])]
        which.append(np.full(len(own), index))
        starts.append(own)
    job, start = np.concatenate(which), np.concatenate(starts)
    expanded = RigidJobs(release[job], length[job], np.ones(len(job)), 1)
    shares = usage(expanded, start, times)
    shares.data /= np.diff(times)[shares.indices]
    return _Columns(job, start, start + length[job], shares)


def _indicator(job: IntArray, number: int) -> "csr_array":
    """1 for every column of a job, shape (I, X)."""
    from scipy.sparse import csr_array

    return csr_array((np.ones(len(job)), (job, np.arange(len(job)))), shape=(number, len(job)))


def _capacity(part: Part, units: FloatArray, times: FloatArray) -> list[_Row]:
    """The units of a part on every piece."""
    weights = np.zeros(len(units))
    weights[part.jobs] = units[part.jobs] / part.total
    return [_Row(begin, end, -1, weights) for begin, end in zip(times[:-1].tolist(), times[1:].tolist(), strict=True)]


def _matrix(rows: Sequence[_Row], columns: _Columns, times: FloatArray) -> "csr_array":
    """The rows of the linear program, those on pieces first, shape (R, X)."""
    from scipy.sparse import csr_array, vstack

    weights = np.array([row.weights for row in rows])
    on_pieces = [row for row in rows if row.touching < 0]
    # a row of coarser pieces is a mean of those of the finer ones
    begins, ends = np.array([[row.begin, row.end] for row in on_pieces]).T
    inside = (times[None, :-1] >= begins[:, None]) & (times[None, 1:] <= ends[:, None])
    parts = csr_array(inside * np.diff(times) / (ends - begins)[:, None])
    built = csr_array(parts @ columns.shares.T)
    entries = built.tocoo()
    built = csr_array(
        (entries.data * weights[entries.row, columns.job[entries.col]], (entries.row, entries.col)), built.shape
    )
    windows = []
    for row in rows[len(on_pieces) :]:
        throughout = (columns.start < row.begin - _NEAR) & (columns.end > row.end + _NEAR)
        touches = (columns.start < row.end - _NEAR) & (columns.end > row.begin + _NEAR)
        windows.append(row.weights[columns.job] * np.where(columns.job == row.touching, touches, throughout))
    return vstack([built, csr_array(np.array(windows))], format="csr") if windows else built


def _prices(
    rows: Sequence[_Row], multipliers: FloatArray, times: FloatArray, first_s: float, unit_s: float, flow: float
) -> PackingPrices:
    """Rates and charges of the rows' multipliers, on the jobs' clock."""
    rates = np.zeros((len(rows[0].weights), len(times) - 1))
    windows: dict[tuple[float, float, int], FloatArray] = {}
    for row, multiplier in zip(rows, multipliers.tolist(), strict=True):
        if not multiplier > 0:
            continue
        if row.touching < 0:
            first, last = np.searchsorted(times, [row.begin, row.end])
            rates[:, first:last] += (multiplier / (row.end - row.begin) * row.weights)[:, None]
        else:
            key = (first_s + unit_s * row.begin, first_s + unit_s * row.end, row.touching)
            windows[key] = windows.get(key, 0.0) + unit_s * multiplier * row.weights
    return PackingPrices(
        first_s + unit_s * times, rates, [Window(*key, charges) for key, charges in windows.items()], unit_s * flow
    )


def _running(columns: _Columns, x: FloatArray, times: FloatArray) -> FloatArray:
    """The share of every piece in which each job runs, shape (I, K)."""
    used = np.flatnonzero(x > _NEAR)
    running = np.zeros((int(columns.job.max()) + 1, len(times) - 1))
    np.add.at(running, columns.job[used], columns.shares[used].toarray() * x[used, None])
    return running


def _window_shares(
    part: Part, units: FloatArray, columns: _Columns, x: FloatArray, times: FloatArray, tick: Tick
) -> Iterator[tuple[float, float, int, FloatArray]]:
    """The most promising windows from one breakpoint to another for each job of a part, and the shares of the jobs."""
    number = len(times)
    throughout, touching = np.zeros((2, len(units), number, number))
    for column in np.flatnonzero(x > _NEAR).tolist():
        job, start, end = columns.job[column], columns.start[column], columns.end[column]
        throughout[job] += x[column] * np.outer(start < times - _NEAR, end > times + _NEAR)
        touching[job] += x[column] * np.outer(end > times + _NEAR, start < times - _NEAR)
    loads = units[:, None, None] * throughout
    full = sum(loads[job] for job in part.jobs)
    for job in part.jobs.tolist():
        tick()
        # excess of the units, and of the job with one other that cannot run beside it
        excess = (full - loads[job] + units[job] * touching[job]) / part.total
        others = [each for each in part.jobs.tolist() if each != job and units[each] + units[job] > part.total]
        if others:
            excess = np.maximum(excess, touching[job] + np.max(throughout[others], axis=0))
        excess = np.triu(excess, 1)
        for _ in range(_A_JOB):
            begin, end = np.unravel_index(excess.argmax(), excess.shape)
            if excess[begin, end] < 1 + _BROKEN:
                break
            shares = throughout[:, begin, end].copy()
            shares[job] = touching[job, begin, end]
            yield float(times[begin]), float(times[end]), job, shares
            excess[max(0, begin - 2) : begin + 3, max(0, end - 2) : end + 3] = 0.0


def broken_weights(part: Part, units: FloatArray, shares: FloatArray) -> FloatArray:
    """Weights of the jobs for each row of shares, shape (N, I): at most 1 on every packing of the part, but more on these shares.

    Rows of 0 where there are none. One linear program has the blocks of all rows.
    """
    from scipy.sparse import block_diag

    weights = np.zeros(shares.shape)
    rows, blocks = [], []
    for number, row in enumerate(shares):
        jobs = part.jobs[row[part.jobs] > 1e-6]
        if units[jobs].sum() > part.total:
            jobs = jobs[np.argsort(-(units * row)[jobs], kind="stable")][:_SUPPORT]
            rows.append((number, jobs))
            blocks.append(_maximal(units[jobs], part.total))
    if not rows:
        return weights
    costs = np.concatenate([-shares[number, jobs] for number, jobs in rows])
    packings = block_diag(blocks, format="csr")
    answer = linear_program(costs, a_ub=packings, b_ub=np.ones(packings.shape[0]), bounds=(0.0, 1.0))
    first = 0
    for number, jobs in rows:
        own = answer.x[first : first + len(jobs)]
        first += len(jobs)
        if float((shares[number, jobs] * own).sum()) >= 1 + _BROKEN:
            weights[number] = _lifted(part, units, jobs, own)
    return weights


def _lifted(part: Part, units: FloatArray, jobs: IntArray, own: FloatArray) -> FloatArray:
    """Weights of some jobs, and of the others, largest first, as much as the fullest knapsack beside each leaves."""
    weights = np.zeros(len(units))
    weights[jobs] = own
    best = np.zeros(part.total + 1)
    for job in jobs.tolist():
        _take(best, int(units[job]), float(weights[job]))
    rest = [job for job in part.jobs.tolist() if job not in set(jobs.tolist())]
    for job in sorted(rest, key=lambda job: -units[job]):
        size = int(units[job])
        weights[job] = max(0.0, 1.0 - float(best[part.total - size]))
        _take(best, size, float(weights[job]))
    return weights


def _take(best: FloatArray, size: int, weight: float) -> None:
    """Let a knapsack, whose largest weight is known for every room, have one more item."""
    if weight > 0:
        best[size:] = np.maximum(best[size:], best[: len(best) - size] + weight)


def _maximal(units: FloatArray, total: int) -> FloatArray:
    """The packings to which none of these jobs can be added, as rows of 0 and 1."""
    order = np.argsort(-units, kind="stable").tolist()
    found: list[list[float]] = []
    packing = [0.0] * len(order)

    def extend(position: int, room: float, smallest: float) -> None:
        """Go on with the next largest job; ``smallest``: the least units of a job left out."""
        if position == len(order):
            if smallest > room:
                found.append(packing.copy())
            return
        job = order[position]
        if units[job] <= room:
            packing[job] = 1.0
            extend(position + 1, room - units[job], smallest)
            packing[job] = 0.0
        extend(position + 1, room, min(smallest, units[job]))

    extend(0, float(total), np.inf)
    return np.array(found)
