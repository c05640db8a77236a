"""Gains of jobs at prices over time, from the work done by some time, paid at one rate.

For a worth mu > 0 of the whole work, the best way to use units until T gains

    R(T) = max of integral from r to T of (mu f(w(t)) - price(t) w(t)) dt - sum over starts but the first of mu f(w) pause

Without pauses the best count is chosen anew in every interval. With pauses a dynamic program goes over the
intervals: prices are constant in each, so it is enough to start and stop at their ends. A period shorter
than the pause is charged more than it loses, but the job can wait in its place. The slope of R in mu is the
work done, less what pauses cost.
"""

from dataclasses import dataclass

import numpy as np

from dlsched.columns.malleable.jobs import Jobs
from dlsched.core.arrays import BoolArray, FloatArray, IntArray

_NEVER = -1


@dataclass(frozen=True, slots=True, eq=False)
class Stretch:
    """Intervals of constant price from the release of each job on, equally many for all jobs.

    ``prices`` and ``lasts_s`` (lengths) have shape (J, N); lengths are 0 after a job's last interval.
    """

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
        held: FloatArray = np.zeros(stretch.prices.shape)
        for more, faster in zip(_steps(jobs.counts), _steps(jobs.speeds), strict=True):
            held += more * (worth[:, None] * faster > stretch.prices * more)
        held[np.arange(held.shape[1]) >= ends[:, None]] = 0.0
        return held
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
    held = np.zeros(stretch.prices.shape)
    for interval in range(walk.intervals - 1, -1, -1):
        active = (interval < ends) & (state != _NEVER)
        runs = active & (state < counts)
        held[runs, interval] = jobs.counts[rows[runs], state[runs]]
        count = np.clip(state, 0, counts - 1)
        starts = runs & ~goes_on[interval, count, rows]
        first = starts & fresh[interval, count, rows]
        state = np.where(first, _NEVER, np.where(starts | (active & ~runs), before[interval], state))
    return held
