"""Cheapest schedules of malleable jobs at prices of units over time, with lower bounds; decisions at any time.

Work is 1, speeds are fractions of it a second. For a worth mu > 0 of the whole work, the best way to use units until T gains

    R(T) = max of integral from r to T of (mu f(w(t)) - price(t) w(t)) dt - sum over starts but the first of mu f(w) pause

Without pauses the best count is chosen anew in every interval. With pauses a dynamic program goes over the
intervals: prices are constant in each, so it is enough to start and stop at their ends. A period shorter
than the pause is charged more than it loses, but the job can wait in its place. The slope of R in mu is the
work done, less what pauses cost.

With this gain job j that ends at T costs at least  h(T, mu) = T - r + mu - R(T)  for every worth mu of its work.
On an interval of constant price h is concave in T, so within it the cost is at least the largest over mu of the lower of its
two ends: a concave function of mu whose maximum is found between two worths, by their tangents. Whatever the worths tried,
the least over intervals of the largest over worths is a bound. So the search goes on at the interval whose
bound is now the least, until it cannot rise there. A job of weight omega costs omega times as much as a job
of weight 1 at prices over omega.

After the last breakpoint units are free; an interval is added that is long enough for every job. A job that
ends at T costs at least T - r, so the search skips the intervals that this rules out.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from dlsched.columns.price_ascent import Cheapest
from dlsched.core.arrays import BoolArray, FloatArray, IntArray
from dlsched.core.limits import Tick, no_tick

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True, slots=True, eq=False)
class Jobs:
    """Jobs that have work, perhaps not all of the instance; arrays of shape (J,), ``counts`` and ``speeds`` (J, H).

    ``index``: positions in the instance; ``least_s``: seconds on its fastest count; ``restart_s``: seconds of its pauses, 0 if
    not counted; ``weight``: cost of a second of flow time. Counts and speeds ascend, and a job with fewer repeats its last;
    without pauses only those on the upper hull.
    """

    index: IntArray
    release_s: FloatArray
    least_s: FloatArray
    restart_s: FloatArray
    weight: FloatArray
    counts: FloatArray
    speeds: FloatArray

    def take(self, rows: IntArray) -> "Jobs":
        """Return some of the jobs, with no more columns than they need."""
        counts, speeds = self.counts[rows], self.speeds[rows]
        most = int((np.diff(counts, axis=1, prepend=0.0) > 0).sum(axis=1).max(initial=1))
        release_s, least_s, restart_s, weight = (
            each[rows] for each in (self.release_s, self.least_s, self.restart_s, self.weight)
        )
        return Jobs(self.index[rows], release_s, least_s, restart_s, weight, counts[:, :most], speeds[:, :most])


_NEVER = -1  # state of a job that has not run yet


@dataclass(frozen=True, slots=True, eq=False)
class Stretch:
    """Intervals of constant price from the release of each job on, equally many for all; arrays of shape (J, N)."""

    prices: FloatArray
    lasts_s: FloatArray

    def take(self, rows: IntArray) -> "Stretch":
        """Return the stretches of some of the jobs."""
        return Stretch(self.prices[rows], self.lasts_s[rows])


def rewards(jobs: Jobs, worth: FloatArray, stretch: Stretch) -> tuple[FloatArray, FloatArray]:
    """Return best gains by the ends of the intervals, and the work done for them; shape (J, N + 1) both."""
    return _pausing(jobs, worth, stretch) if jobs.restart_s.any() else _free(jobs, worth, stretch)


def plans(jobs: Jobs, worth: FloatArray, stretch: Stretch, ends: IntArray) -> FloatArray:
    """Units used in each interval on a best way to gain until the end of interval ``ends - 1``; shape (J, N)."""
    if not jobs.restart_s.any():
        units: FloatArray = np.zeros(stretch.prices.shape)
        for more, faster in zip(_steps(jobs.counts), _steps(jobs.speeds), strict=True):
            units += more * (worth[:, None] * faster > stretch.prices * more)
        units[np.arange(units.shape[1]) >= ends[:, None]] = 0.0
        return units
    return _traced(jobs, worth, stretch, ends)


def _free(jobs: Jobs, worth: FloatArray, stretch: Stretch) -> tuple[FloatArray, FloatArray]:
    """Rewards without pauses: on the hull each further step of units gains while it is worth its price."""
    rate, speed = np.zeros(stretch.prices.shape), np.zeros(stretch.prices.shape)
    for more, faster in zip(_steps(jobs.counts), _steps(jobs.speeds), strict=True):
        gain = worth[:, None] * faster - stretch.prices * more
        gains = gain > 0
        rate += gain * gains
        speed += gains * faster
    return _summed(rate * stretch.lasts_s), _summed(speed * stretch.lasts_s)


def _steps(rows: FloatArray) -> list[FloatArray]:
    """Differences of one column to the one before, of the first to 0; each of shape (J, 1)."""
    steps = np.diff(rows, axis=1, prepend=0.0)
    return [steps[:, [column]] for column in range(steps.shape[1])]


def _summed(amounts: FloatArray) -> FloatArray:
    sums = np.zeros((amounts.shape[0], amounts.shape[1] + 1))
    np.cumsum(amounts, axis=1, out=sums[:, 1:])
    return sums


def _pausing(jobs: Jobs, worth: FloatArray, stretch: Stretch) -> tuple[FloatArray, FloatArray]:
    walk = _Walk(jobs, worth, stretch)
    gains, works = np.zeros((walk.intervals + 1, walk.number)), np.zeros((walk.intervals + 1, walk.number))
    for interval in range(walk.intervals):
        walk.step(interval)
        best = walk.gain.argmax(axis=0)
        gains[interval + 1], works[interval + 1] = walk.gain[best, walk.rows], walk.work[best, walk.rows]
    # Not to run at all gains 0.
    idle = gains <= 0
    gains[idle] = works[idle] = 0.0
    return gains.T, works.T


class _Walk:
    """Dynamic program over intervals: gain and work by the last count used; last row: waiting again."""

    def __init__(self, jobs: Jobs, worth: FloatArray, stretch: Stretch) -> None:
        self.number, self.counts = jobs.counts.shape
        self.intervals = stretch.prices.shape[1]
        self.rows = np.arange(self.number)
        speeds = np.ascontiguousarray(jobs.speeds.T)
        self._lost_work = speeds * jobs.restart_s
        self._lost = self._lost_work * worth
        prices, lasts_s = stretch.prices.T[:, None], stretch.lasts_s.T[:, None]
        self._gained = (speeds * worth - prices * jobs.counts.T) * lasts_s
        self._worked = speeds * lasts_s
        self.gain = np.full((self.counts + 1, self.number), -np.inf)
        self.work = np.zeros((self.counts + 1, self.number))
        self._started, self._start_work = np.empty_like(self._lost), np.empty_like(self._lost)

    def step(self, interval: int) -> tuple[BoolArray, BoolArray, IntArray]:
        """Go over an interval; return which counts go on, which start for the first time, and the best row before it."""
        gain, work, last = self.gain, self.work, self.counts
        best = gain.argmax(axis=0)
        any_gain, any_work = gain[best, self.rows], work[best, self.rows]
        # A start loses the work of a pause at the worth, unless the job has never run.
        np.subtract(any_gain, self._lost, out=self._started)
        np.subtract(any_work, self._lost_work, out=self._start_work)
        fresh = self._started < 0
        self._started[fresh] = 0.0  # what never ran starts without a pause
        self._start_work[fresh] = 0.0
        goes_on = gain[:last] >= self._started
        np.maximum(gain[:last], self._started, out=gain[:last])
        np.copyto(work[:last], self._start_work, where=~goes_on)
        gain[:last] += self._gained[interval]
        work[:last] += self._worked[interval]
        gain[last], work[last] = any_gain, any_work
        return goes_on, fresh, best


# Forward once with all decisions stored, then backward from each job's own end.
def _traced(jobs: Jobs, worth: FloatArray, stretch: Stretch, ends: IntArray) -> FloatArray:
    """Trace back the units by interval of the best way to each end."""
    walk = _Walk(jobs, worth, stretch)
    rows, counts = walk.rows, walk.counts
    goes_on = np.zeros((walk.intervals, counts, walk.number), dtype=bool)
    before = np.zeros((walk.intervals, walk.number), dtype=np.int64)
    fresh = np.zeros_like(goes_on)
    state = np.full(walk.number, _NEVER)
    for interval in range(walk.intervals):
        goes_on[interval], fresh[interval], before[interval] = walk.step(interval)
        best = walk.gain.argmax(axis=0)
        state = np.where((ends == interval + 1) & (walk.gain[best, rows] > 0), best, state)
    units = np.zeros(stretch.prices.shape)
    # backward: a start for the first time ends the trace, another one comes from the best row before it
    for interval in range(walk.intervals - 1, -1, -1):
        active = (interval < ends) & (state != _NEVER)
        runs = active & (state < counts)
        units[runs, interval] = jobs.counts[rows[runs], state[runs]]
        count = np.clip(state, 0, counts - 1)
        starts = runs & ~goes_on[interval, count, rows]
        first = starts & fresh[interval, count, rows]
        state = np.where(first, _NEVER, np.where(starts | (active & ~runs), before[interval], state))
    return units


_CELLS = 60_000
"""Number of job-interval pairs in a batch."""
_FEW = 24
"""Number of intervals that the search tries first."""
_ROUNDS = 60  # of trials of worths, at most
_NEAR = 0.1
"""Share of the bracket by which further trials lie beside the point where the tangents meet."""
_WHOLE = 1 - 1e-11
"""Work from which a job counts as done: sums may miss the whole work by rounding."""


class AnyTime:
    """The jobs (at least one) of a stream on a grid of ascending breakpoints; ``cheapest`` takes one price per interval."""

    def __init__(self, jobs: Jobs, breakpoints: FloatArray) -> None:
        self.jobs = jobs
        free_s = 2 * float((jobs.least_s + jobs.restart_s).max())
        late_s = max(float(breakpoints[-1]), float(jobs.release_s.max()))
        self.times = np.append(breakpoints, late_s + free_s)
        # Each job begins with a few intervals; ``_price`` doubles them while its bound may come from a later end.
        self.first = np.clip(np.searchsorted(self.times, jobs.release_s, side="right") - 1, 0, len(self.times) - 2)
        soonest = np.searchsorted(self.times, jobs.release_s + jobs.least_s)
        self.looks = np.minimum(_FEW + soonest, len(self.times) - 1) - self.first
        self.worth = np.column_stack([jobs.least_s * times for times in (1.25, 8.0, 2.5, 30.0)])

    def least(self, prices: FloatArray, *, precision: float = 1e-10, tick: Tick = no_tick) -> FloatArray:
        """Lower bounds on every job's cost at these prices, shape (J,), mostly tight to ``precision``."""
        return self._price(prices, precision, tick, traced=False)[0]

    def cheapest(self, prices: FloatArray, *, precision: float = 1e-4, tick: Tick = no_tick) -> Cheapest:
        """Return the cheapest schedules: own costs are weighted flow times, usage is unit-seconds."""
        least, own, usage = self._price(prices, precision, tick, traced=True)
        return Cheapest(float(least.sum()), own, usage)

    def worths(self, prices: FloatArray, *, tick: Tick = no_tick) -> FloatArray:
        """Return the worth of each job's work at which its cheapest schedule does all of it, shape (J,)."""
        self._price(prices, 1e-6, tick, traced=False)
        mean: FloatArray = self.jobs.weight * self.worth[:, :2].mean(axis=1)
        return mean

    def _price(
        self, prices: FloatArray, precision: float, tick: Tick, *, traced: bool
    ) -> tuple[FloatArray, FloatArray, "csr_array"]:
        from scipy.sparse import coo_array, csr_array

        number = len(self.jobs.index)
        least, own = np.zeros(number), np.zeros(number)
        entries: list[tuple[IntArray, IntArray, FloatArray]] = []
        extended = np.append(prices, 0.0)
        todo = np.arange(number)
        while len(todo):
            again = []
            for rows in self._batches(todo):
                tick()
                batch = _Batch(self, rows, extended)
                bounds = batch.close(self.worth[rows], precision)
                self.worth[rows] = np.column_stack([batch.bracket, self.worth[rows, :2]])
                # The bound may be attained after the last interval so far: look at twice as many.
                short = (bounds >= batch.elapsed[:, -1]) & (self.first[rows] + self.looks[rows] < len(self.times) - 1)
                again.append(rows[short])
                done = ~short
                least[rows[done]] = bounds[done]
                if traced and done.any():
                    own_s, units = batch.mixed()
                    own[rows[done]] = own_s[done]
                    at, interval = np.nonzero(units * done[:, None])
                    entries.append((rows[at], self.first[rows[at]] + interval, units[at, interval]))
            todo = np.concatenate(again)
            self.looks[todo] = np.minimum(2 * self.looks[todo], len(self.times) - 1 - self.first[todo])
        shape = number, len(self.times) - 1
        least, own = self.jobs.weight * least, self.jobs.weight * own
        if not entries:
            return least, own, csr_array(shape)
        units, row, column = (np.concatenate([entry[part] for entry in entries]) for part in (2, 0, 1))
        return least, own, coo_array((units, (row, column)), shape=shape).tocsr()[:, :-1]

    def _batches(self, todo: IntArray) -> list[IntArray]:
        """Return batches of jobs: those with pauses apart, those with few intervals first."""
        batches = []
        for pauses in (False, True):
            rows = todo[(self.jobs.restart_s[todo] > 0) == pauses]
            rows = rows[np.argsort(self.looks[rows], kind="stable")]
            begin = 0
            while begin < len(rows):
                end = begin + 1
                while end < len(rows) and (end + 1 - begin) * self.looks[rows[end]] <= _CELLS:
                    end += 1
                batches.append(rows[begin:end])
                begin = end
        return batches


_Tried = tuple[IntArray, FloatArray, FloatArray, FloatArray]
"""Rows of a batch, a worth of each, costs of ending and work done by every end of an interval."""


@dataclass(slots=True, eq=False)
class _Batch:
    """Some jobs at some prices, with the intervals that each job has to consider."""

    oracle: AnyTime
    rows: IntArray
    extended: FloatArray
    jobs: Jobs = field(init=False)
    stretch: Stretch = field(init=False)
    elapsed: FloatArray = field(init=False)
    """Seconds from the release to the ends of the intervals, shape (B, N + 1)."""
    possible: BoolArray = field(init=False)
    low: FloatArray = field(init=False)
    end: IntArray = field(init=False)
    bracket: FloatArray = field(init=False)
    """A worth at which the job does less than its work by ``sides``, and one at which it does as much; shape (B, 2)."""
    sides: IntArray = field(init=False)
    done: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        oracle, rows = self.oracle, self.rows
        self.jobs = oracle.jobs.take(rows)
        most = int(oracle.looks[rows].max())
        at = oracle.first[rows][:, None] + np.arange(most + 1)
        last = (oracle.first[rows] + oracle.looks[rows])[:, None]
        ends = oracle.times[np.minimum(at, last)]
        self.elapsed = np.maximum(ends - self.jobs.release_s[:, None], 0.0)
        prices = self.extended[np.minimum(at[:, :-1], last - 1)] / self.jobs.weight[:, None]
        self.stretch = Stretch(prices, np.diff(self.elapsed, axis=1))
        self.possible = (self.elapsed[:, 1:] >= self.jobs.least_s[:, None]) & (at[:, 1:] <= last)

    def close(self, worth: FloatArray, precision: float) -> FloatArray:
        """Return the bounds of all jobs; ``end`` is the interval of each, ``bracket`` the worths around the best one there."""
        number = len(self.rows)
        self.low = np.where(self.possible, 0.0, np.inf)
        self.end = np.zeros(number, dtype=np.int64)
        tried: list[_Tried] = []
        self._try(np.arange(number), worth, tried)
        best = np.zeros(number)
        for _ in range(_ROUNDS):
            self.end = np.where(self.possible.any(axis=1), self.low.argmin(axis=1), 0)
            best = self.low[np.arange(number), self.end]
            trial, promised = self._tangents(tried)
            rows = np.flatnonzero(np.isfinite(best) & (promised > best * (1 + precision)))
            if not len(rows):
                break
            low, high = self.bracket[rows].T
            near = np.column_stack(
                [trial[rows] - _NEAR * (trial[rows] - low), trial[rows] + _NEAR * (high - trial[rows])]
            )
            self._try(rows, np.column_stack([trial[rows], near]), tried)
        return np.minimum(best, self.elapsed[:, -1])

    def _try(self, rows: IntArray, worths: FloatArray, tried: list[_Tried]) -> None:
        """Evaluate some worths of some jobs, shape (R, M)."""
        many = np.repeat(rows, worths.shape[1])
        gains, work = rewards(self.jobs.take(many), worths.ravel(), self.stretch.take(many))
        costs = self.elapsed[many] + worths.reshape(-1, 1) - gains
        # h is concave on an interval, so the lower of its ends bounds it there; over worths the largest bound counts.
        lower = np.minimum(costs[:, :-1], costs[:, 1:]).reshape(*worths.shape, -1).max(axis=1)
        self.low[rows] = np.where(self.possible[rows], np.maximum(self.low[rows], lower), np.inf)
        for number in range(worths.shape[1]):
            each = slice(number, None, worths.shape[1])
            tried.append((rows, worths[:, number], costs[each], work[each]))

    def _tangents(self, tried: list[_Tried]) -> tuple[FloatArray, FloatArray]:
        """Return where the tangents of the bracket meet, for each job at its interval, and how high."""
        number, count = len(self.rows), len(tried)
        worth, cost, work = (np.full((number, count), np.nan) for _ in range(3))
        side = np.zeros((number, count), dtype=np.int64)
        for column, (rows, worths, costs, works) in enumerate(tried):
            at = self.end[rows]
            each = np.arange(len(rows))
            lower = (costs[each, at + 1] < costs[each, at]).astype(np.int64)
            worth[rows, column], side[rows, column] = worths, lower
            cost[rows, column], work[rows, column] = costs[each, at + lower], works[each, at + lower]
        # Costs are concave in the worth, of slope 1 - work: rising up to the whole work, falling from there.
        rising = work < _WHOLE
        below = np.where(rising, worth, -np.inf).argmax(axis=1)
        above = np.where(work >= _WHOLE, worth, np.inf).argmin(axis=1)
        each = np.arange(number)
        has_below, has_above = rising[each, below], work[each, above] >= _WHOLE
        self.bracket = np.column_stack([worth[each, below], worth[each, above]])
        self.sides = np.column_stack([side[each, below], side[each, above]])
        self.done = np.column_stack([work[each, below], work[each, above]])
        slope_up, slope_down = 1 - self.done[:, 0], self.done[:, 1] - 1
        (low_mu, high_mu), (low_h, high_h) = self.bracket.T, (cost[each, below], cost[each, above])
        # Where the two tangents meet; if one side is unknown, the trial goes four times as far.
        step = high_h - low_h + slope_down * (high_mu - low_mu)
        meet = low_mu + step / np.where(has_below & has_above, slope_up + slope_down, 1.0)
        promised = low_h + slope_up * (meet - low_mu)
        trial = np.where(has_below & has_above, meet, np.where(has_below, 4 * low_mu, high_mu / 4))
        both, tiny = has_below & has_above, has_above & (high_mu < 1e-12 * self.jobs.least_s)
        lone = np.where(has_below, 0, 1)  # the side that is known
        for pair in (self.bracket, self.sides, self.done):
            pair[~both] = pair[each, lone][~both, None]
        return trial, np.where(both, promised, np.where(tiny, 0.0, np.inf))

    def mixed(self) -> tuple[FloatArray, FloatArray]:
        """Flow times and unit-seconds by interval, of the mix of the bracket's two schedules that does the work of each job."""
        below, above = self.done.T
        # The mix of both schedules that does exactly all the work.
        share = np.clip((1 - below) / np.where(above > below, above - below, 1.0), 0.0, 1.0)
        own, units = np.zeros(len(self.rows)), np.zeros(self.stretch.prices.shape)
        each = np.arange(len(self.rows))
        for weight, worth, side in zip((1 - share, share), self.bracket.T, self.sides.T, strict=True):
            ends = self.end + side
            own += weight * self.elapsed[each, ends]
            units += weight[:, None] * plans(self.jobs, worth, self.stretch, ends)
        return own, units * self.stretch.lasts_s
