"""Best prices of a supply over time, by a bundle method: in general, and for jobs of fixed counts and lengths.

*Bundle method.* maximise  sum_p least_p(y) - s y  over y >= 0,   least_p(y) = min over plans x of p of (own(x) + usage(x) y)

Every y gives a bound (``certificates.PricesCertificate``). The function is concave; a plan of p computed at one
y bounds least_p at every other y from above by own + usage y. A linear program maximises the sum of the
lowest of these planes within a box around the best y known, which grows when the planes were right, and
shrinks when they were not. The plans of a group of participants count as one plane: with one group for each
participant the bound rises fastest, with few groups the program stays small. Source: the disaggregated bundle method with a box,
Frangioni, Standard bundle methods, 2020; equal to column generation with a box-step, Marsten, Hogan and Blankenship 1975.

*Rigid jobs* take a fixed number of units for a fixed time without a pause: minimise sum_i C_i, and the units of the jobs that
run never exceed G. For all prices lambda(t) >= 0 of a unit and second

    sum_i (C_i - r_i) >= sum_i phi_i - G int lambda,   phi_i = min over s >= r_i of  s - r_i + L_i + g_i int_s^{s + L_i} lambda

Between breakpoints lambda is constant. So the function of s is linear as long as neither s nor s + L_i
passes a breakpoint, and it is least at r_i, or where s or s + L_i is a breakpoint (after the last one it
only grows). As lambda >= 0, only starts with s + L_i below the cost of starting at r_i count.
``certificates.time_prices`` verifies with code of its own. Source: the time-indexed relaxation of one machine,
Sousa and Wolsey 1992, whose linear program these prices solve.
"""

import heapq
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from dlsched.core.arrays import FloatArray, IntArray, dot
from dlsched.core.limits import Tick, no_tick
from dlsched.solvers.lp import linear_program

if TYPE_CHECKING:
    from scipy.sparse import csr_array


_SERIOUS = 0.1
"""Share of the promised rise that prices must bring for the box to move there and grow."""
_GROW, _SHRINK = 1.5, 0.6
_FLOOR = 0.05
"""Half the least width of the box, as a share of the largest price, so that prices of 0 can rise."""
_AGE = 6
"""Number of rounds after which the ascent drops a plane that did not matter."""


@dataclass(frozen=True, slots=True, eq=False)
class Cheapest:
    """The cheapest plans at some prices; ``least`` is a proven lower bound on the sum of their own + usage y.

    ``own``: costs without prices, shape (P,); ``usage``: amounts of each supply, shape (P, K).
    """

    least: float
    own: FloatArray
    usage: "csr_array"


@dataclass(slots=True, eq=False)
class Ascent:
    """Prices that rise to the best ones; one ``step`` prices the plans once and solves one linear program.

    ``price`` maps prices, shape (K,), to the cheapest plans; ``supply`` > 0 and ``start`` >= 0 have shape (K,). ``groups``: a
    number from 0 on for each participant, shape (P,); None: a group each. ``width``: of the first box, in parts of the prices.
    The ascent is ``closed`` when the planes promise at most the part ``close`` of the value beyond it.
    """

    price: Callable[[FloatArray], Cheapest]
    supply: FloatArray
    start: FloatArray
    groups: IntArray | None = None
    width: float = 1.0
    close: float = 1e-5
    best: FloatArray = field(init=False)
    value: float = field(init=False, default=-np.inf)
    promised: float = field(init=False, default=np.inf)
    """Upper bound, by the known planes, on what any prices in the box prove."""
    _trial: FloatArray = field(init=False)
    _centre: "_Planes | None" = field(init=False, default=None)
    """Planes at the best prices: without them the box would promise what is known to be false."""
    _planes: list["_Planes"] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        self.best = self._trial = np.array(self.start, dtype=np.float64)

    def step(self, time_s: float | None = None) -> bool:
        """Price the plans at the trial prices, and choose the next ones; return whether the bound rose."""
        found = self.price(self._trial)
        value = found.least - float(dot(self.supply, self._trial))
        rose = value > self.value
        if np.isfinite(self.value):
            serious = value - self.value >= _SERIOUS * (self.promised - self.value)
            self.width = min(1.0, self.width * _GROW) if serious else self.width * _SHRINK
        planes = self._grouped(found)
        if rose:
            self.value, self.best, self._centre = value, self._trial, planes
        self._planes.append(planes)
        self._solve(time_s)
        return rose

    @property
    def closed(self) -> bool:
        """Whether the box is so small, or the planes promise so little, that no step matters any more."""
        return self.promised - self.value <= self.close * abs(self.value) or self.width < 1e-6

    def _grouped(self, found: Cheapest) -> "_Planes":
        from scipy.sparse import csr_array

        if self.groups is None:
            return _Planes(np.arange(len(found.own)), found.own, found.usage, np.zeros(len(found.own), dtype=np.int64))
        number = int(self.groups.max()) + 1
        shape = number, len(self.groups)
        ones = csr_array((np.ones(len(self.groups)), (self.groups, np.arange(len(self.groups)))), shape=shape)
        return _Planes(np.arange(number), ones @ found.own, ones @ found.usage, np.zeros(number, dtype=np.int64))

    def _solve(self, time_s: float | None) -> None:
        """Maximise the sum of the lowest planes within the box."""
        from scipy.sparse import csr_array, hstack, vstack

        group = np.concatenate([planes.group for planes in self._planes])
        own = np.concatenate([planes.own for planes in self._planes])
        usage = vstack([planes.usage for planes in self._planes], format="csr")
        number = int(group.max()) + 1
        heights = csr_array((np.ones(len(group)), (np.arange(len(group)), group)), shape=(len(group), number))
        # Powers of two scale the program without changing a digit; zero prices get a box of their own.
        unit, scale = _power(np.append(own, self.best * self.supply)), _power(self.supply)
        half = self.width * np.maximum(self.best, _FLOOR * max(float(self.best.max()), float(np.max(self.start))))
        box = np.column_stack([np.maximum(0.0, self.best - half), self.best + half])
        free = np.tile([-np.inf, np.inf], (number, 1))
        answer = linear_program(
            np.concatenate([-np.ones(number), self.supply / scale]),
            a_ub=hstack([heights, -usage / scale], format="csr"),
            b_ub=own / unit,
            bounds=np.vstack([free, box * (scale / unit)]),
            time_s=time_s,
        )
        self._trial = np.maximum(0.0, answer.x[number:] * (unit / scale))
        self.promised = -answer.objective * unit
        self._forget(answer.upper)

    def _forget(self, marginals: FloatArray) -> None:
        """Drop planes that have not mattered for some rounds."""
        begin, retained = 0, []
        for planes in self._planes:
            end = begin + len(planes.group)
            # A binding row (negative marginal) resets a plane's age.
            planes.age[marginals[begin:end] < 0] = -1
            planes.age += 1
            begin = end
            retained.append(planes if planes is self._centre else planes.take(planes.age <= _AGE))
        self._planes = [planes for planes in retained if len(planes.group)]


def _power(numbers: FloatArray) -> float:
    """Return the power of two next to the largest of some numbers >= 0, by which they are divided for the solver; 1 for 0."""
    largest = float(numbers.max())
    return math.ldexp(1.0, math.frexp(largest)[1]) if largest > 0 else 1.0


@dataclass(slots=True, eq=False)
class _Planes:
    """Upper planes of groups: own + usage y, and the number of rounds for which each has not mattered."""

    group: IntArray
    own: FloatArray
    usage: "csr_array"
    age: IntArray

    def take(self, which: "np.typing.NDArray[np.bool_]") -> "_Planes":
        rows = np.flatnonzero(which)
        return _Planes(self.group[rows], self.own[rows], self.usage[rows], self.age[rows])


MOST_BREAKPOINTS = 1_500
_AT_ONCE = 1_000_000
"""Number of starts that are priced together, which limits memory."""
_PLANES = 20
"""Number of groups of jobs, and so of planes a round, for more than ``_ALONE`` jobs."""
_ALONE = 200
_POWERS = (-3, -2, -1, 0)
_FEW, _SAMPLE = 5_000, 100_000
"""Jobs up to which ``MOST_BREAKPOINTS`` is the only limit, and up to which prices are sought with all of them."""
_PASSED = 100
"""Breakpoints, of more jobs, that a job passes in the mean from its release to its end, or linear programs are dense."""
_ROW = 16  # jobs that a sample takes in a row
_TURN = (5**0.5 - 1) / 2  # its multiples spread evenly modulo 1
_SHORTEST = 1e-7
"""Share of the whole time: breakpoints closer to each other count as one."""


@dataclass(frozen=True, slots=True, eq=False)
class RigidJobs:
    """Releases and lengths, seconds, and units, shape (I,); ``total`` is the number of units, of which a sample has a part."""

    release_s: FloatArray
    length_s: FloatArray
    units: FloatArray
    total: float


@dataclass(frozen=True, slots=True, eq=False)
class Priced:
    """For every job, shape (I,): phi_i, and a start that attains it."""

    least_s: FloatArray
    start_s: FloatArray


def cheapest_starts(jobs: RigidJobs, times: FloatArray, prices: FloatArray) -> Priced:
    """The cheapest start of every job; ``times`` ascending, shape (K + 1,), ``prices`` >= 0 in between, shape (K,)."""
    # Price paid for one unit up to each breakpoint: piecewise linear, so ``interp`` is exact in between.
    paid = np.concatenate([[0.0], np.cumsum(prices * np.diff(times))])

    def cost_s(start_s: FloatArray, which: IntArray | slice) -> FloatArray:
        end_s = start_s + jobs.length_s[which]
        charged = np.interp(end_s, times, paid) - np.interp(start_s, times, paid)
        return np.asarray(end_s - jobs.release_s[which] + jobs.units[which] * charged)

    now_s = cost_s(jobs.release_s, slice(None))
    # Waiting longer than the cost beyond the length cannot pay; it limits the windows of starts worth pricing.
    longest = now_s - jobs.length_s
    windows = []
    for after_s in (np.zeros_like(longest), jobs.length_s):
        first = np.searchsorted(times, jobs.release_s + after_s, side="right")
        windows.append((after_s, first, np.searchsorted(times, jobs.release_s + after_s + longest, side="left")))
    least_s, best_s = now_s.copy(), jobs.release_s.copy()
    for after_s, first, last in windows:
        counts = np.maximum(last - first, 0)
        ends = np.cumsum(counts)
        for begin, end in _chunks(ends):
            some = np.arange(begin, end)[counts[begin:end] > 0]
            if not len(some):
                continue
            # Ragged ranges flattened: the starts of all these jobs side by side, then one minimum per job.
            number = counts[some]
            offsets = np.cumsum(number) - number
            which = np.repeat(some, number)
            at = np.arange(int(number.sum())) - np.repeat(offsets, number) + np.repeat(first[some], number)
            starts_s = np.maximum(times[at] - after_s[which], jobs.release_s[which])
            costs_s = cost_s(starts_s, which)
            lowest = np.minimum.reduceat(costs_s, offsets)
            hits = np.flatnonzero(costs_s == np.repeat(lowest, number))
            found = starts_s[hits[np.searchsorted(hits, offsets)]]
            better = lowest < least_s[some]
            least_s[some[better]], best_s[some[better]] = lowest[better], found[better]
    return Priced(least_s, best_s)


def _chunks(ends: IntArray) -> list[tuple[int, int]]:
    """Ranges of jobs with about ``_AT_ONCE`` starts each."""
    bounds = np.searchsorted(ends, np.arange(_AT_ONCE, int(ends[-1]) + _AT_ONCE, _AT_ONCE), side="left") + 1
    edges = np.unique(np.minimum(np.concatenate([[0], bounds, [len(ends)]]), len(ends)))
    return list(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True))


def usage(jobs: RigidJobs, starts_s: FloatArray, times: FloatArray) -> "csr_array":
    """Unit-seconds of every job between breakpoints, shape (I, K)."""
    from scipy.sparse import csr_array

    ends_s = starts_s + jobs.length_s
    first = np.maximum(np.searchsorted(times, starts_s, side="right") - 1, 0)
    last = np.minimum(np.searchsorted(times, ends_s, side="left"), len(times) - 1)
    counts = np.maximum(last - first, 0)
    rows = np.concatenate([[0], np.cumsum(counts)])
    which = np.repeat(np.arange(len(counts)), counts)
    at = np.arange(int(rows[-1])) - np.repeat(rows[:-1], counts) + np.repeat(first, counts)
    held_s = np.minimum(times[at + 1], ends_s[which]) - np.maximum(times[at], starts_s[which])
    return csr_array((jobs.units[which] * held_s, at, rows), shape=(len(counts), len(times) - 1))


def pooled_starts(jobs: RigidJobs, tick: Tick = no_tick) -> FloatArray:
    """Starts on one pool: when units are free, the waiting job of the least unit-seconds starts if it fits; none may pass it."""
    work, units = (jobs.units * jobs.length_s).tolist(), jobs.units.tolist()
    arriving = np.argsort(jobs.release_s, kind="stable")[::-1].tolist()
    release_s, length_s = jobs.release_s.tolist(), jobs.length_s.tolist()
    starts_s, free = np.empty(len(work)), float(jobs.total)
    waiting: list[tuple[float, int]] = []
    running: list[tuple[float, int]] = []
    while arriving or running:
        now_s = min(release_s[arriving[-1]] if arriving else np.inf, running[0][0] if running else np.inf)
        while running and running[0][0] <= now_s:
            free += units[heapq.heappop(running)[1]]
        while arriving and release_s[arriving[-1]] <= now_s:
            job = arriving.pop()
            heapq.heappush(waiting, (work[job], job))
        while waiting and units[waiting[0][1]] <= free:
            tick()
            job = heapq.heappop(waiting)[1]
            free -= units[job]
            starts_s[job] = now_s
            heapq.heappush(running, (now_s + length_s[job], job))
    return starts_s


def waiting_prices(
    jobs: RigidJobs, starts_s: FloatArray, most: int = MOST_BREAKPOINTS
) -> tuple[FloatArray, FloatArray]:
    """Return the releases, starts and ends of a schedule as breakpoints, and jobs waiting per unit as prices.

    Of more than ``most`` breakpoints, a selection shares the seconds waited evenly; without waiting there are none.
    """
    ends_s = starts_s + jobs.length_s
    times = np.unique(np.concatenate([jobs.release_s, starts_s, ends_s]))
    distinct = np.concatenate([[True], np.diff(times) > _SHORTEST * (times[-1] - times[0])])
    times = times[distinct]
    waiting = _waiting(jobs, starts_s, times)
    busy = np.concatenate([waiting > 0, [False]])
    times = times[busy | np.concatenate([[False], busy[:-1]])]
    if len(times) < 2:
        return np.array([jobs.release_s.min(), ends_s.max()]), np.zeros(1)
    if len(times) > most:
        waited_s = np.concatenate([[0.0], np.cumsum(np.sqrt(_waiting(jobs, starts_s, times)) * np.diff(times))])
        marks = np.searchsorted(waited_s, np.linspace(0.0, waited_s[-1], most), side="left")
        times = times[np.unique(np.minimum(marks, len(times) - 1))]
    return times, _waiting(jobs, starts_s, times) / jobs.total


def _waiting(jobs: RigidJobs, starts_s: FloatArray, times: FloatArray) -> FloatArray:
    """Mean number of released jobs that have not started, between breakpoints."""
    # Integral of the jobs that have come less that of those that have started, at every breakpoint.
    waited = np.zeros(len(times))
    for moments_s, sign in ((jobs.release_s, 1.0), (starts_s, -1.0)):
        ordered = np.sort(moments_s)
        sums = np.concatenate([[0.0], np.cumsum(ordered)])
        before = np.searchsorted(ordered, times, side="right")
        waited += sign * (before * times - sums[before])
    return np.asarray(np.maximum(np.diff(waited) / np.diff(times), 0.0))


def best_prices(jobs: RigidJobs, rounds: int, tick: Tick = no_tick) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Yield breakpoints and ever better prices: first 0, then from jobs waiting in ``pooled_starts``.

    These are multiplied by the best of some powers of two; then at most ``rounds`` rounds of ``Ascent`` follow. Seconds are
    multiples of the whole time, and units are shares of all, so that the linear programs have one magnitude. Of very many
    jobs this is true of a sample, whose prices are good for all.
    """
    if len(jobs.units) > _SAMPLE:
        areas = jobs.units * jobs.length_s
        rows = sample(jobs.release_s, areas, -(-len(areas) // _SAMPLE))
        units = jobs.units[rows]
        total = max(float(units.max()), jobs.total * float(areas[rows].sum() / areas.sum()))
        jobs = RigidJobs(jobs.release_s[rows], jobs.length_s[rows], units, total)
    starts_s = pooled_starts(jobs, tick)
    times, waiting = waiting_prices(jobs, starts_s)
    first, last = (np.searchsorted(times, each) for each in (jobs.release_s, starts_s + jobs.length_s))
    passed = float((last - first).mean())
    if len(jobs.units) > _FEW and passed > _PASSED:
        times, waiting = waiting_prices(jobs, starts_s, max(2, int(len(times) * _PASSED / passed)))
    yield times, np.zeros_like(waiting)
    if not waiting.any():
        return  # no job waits in the pool: no prices prove more than lengths
    unit_s = float(times[-1] - times[0])
    scaled = RigidJobs(jobs.release_s / unit_s, jobs.length_s / unit_s, jobs.units / jobs.total, 1)
    moments = times / unit_s
    supply = np.diff(moments)

    def price(tried: FloatArray) -> Cheapest:
        tick()
        found = cheapest_starts(scaled, moments, tried)
        own = found.start_s + scaled.length_s - scaled.release_s
        return Cheapest(float(found.least_s.sum()), own, usage(scaled, found.start_s, moments))

    def proven(tried: FloatArray) -> float:
        tick()
        return float(cheapest_starts(scaled, moments, tried).least_s.sum() - dot(supply, tried))

    start = max((waiting * jobs.total * 2.0**power for power in _POWERS), key=proven)
    reached = proven(np.zeros_like(start))
    ascent = Ascent(price, supply, start, None if len(jobs.units) <= _ALONE else _grouped(jobs))
    for _ in range(rounds):
        if ascent.step() and ascent.value > reached:
            reached = ascent.value
            yield times, ascent.best / jobs.total
        if ascent.closed:
            return


def sample(release_s: FloatArray, areas: FloatArray, step: int) -> IntArray:
    """Indices, ascending, of each ``step``-th job of those released in a row, sorted by unit-seconds ``areas``; shapes (I,)."""
    rank = np.empty(len(areas), dtype=np.int64)
    rank[np.argsort(release_s, kind="stable")] = np.arange(len(areas))
    order = np.lexsort((rank, areas, rank // (_ROW * step)))
    place = np.arange(len(areas))
    # which of each ``step`` jobs is taken differs from row to row, or large jobs would never be
    turn = (place // (_ROW * step) * _TURN % 1.0 * step).astype(np.int64)
    return np.sort(order[place % step == turn])


def _grouped(jobs: RigidJobs) -> IntArray:
    """Groups of jobs that follow one another, of equally many each."""
    order = np.argsort(jobs.release_s, kind="stable")
    groups = np.empty(len(order), dtype=np.int64)
    groups[order] = np.arange(len(order)) * _PLANES // len(order)
    return groups
