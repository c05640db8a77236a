"""Lower bounds of streams without ticks: search for prices over time of good bounds; they hold with ticks too.

1. Breakpoints are the releases and the ends of periods of a stream that is known: prices jump where jobs come and go. Long
   intervals are cut. Of large streams some thousands are kept.
2. Prices begin at the best of some guesses: by the jobs present per unit, and by how long a queue stands.
3. The bundle method of ``columns.price_ascent`` raises them, first on few intervals without pauses, which is fast, then with
   them on ever more.

The search chooses by an estimate of the bound; a certificate's value is what the verifier proves of the prices handed out.
With ticks all breakpoints are ticks.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np

from dlsched.algorithms.utility_tables import upper_hull
from dlsched.certificates import PricesCertificate, rounded_down
from dlsched.columns.malleable import AnyTime, Jobs
from dlsched.columns.price_ascent import Ascent, Cheapest, sample
from dlsched.core.arrays import FloatArray, IntArray, dot
from dlsched.core.elementary import geometric
from dlsched.core.limits import Tick, no_tick
from dlsched.elastic_stream.certificate import any_time_value
from dlsched.elastic_stream.instance import Instance
from dlsched.elastic_stream.solution import Stream

_MOST_CORNERS = 16  # of a job's speed hull for which its pauses are counted
MOST_LOOKED_AT = 256  # useful counts of a law that are examined


@lru_cache(maxsize=1)
def jobs_of(instance: Instance) -> Jobs:
    """The jobs with work as arrays, remembered of one instance."""
    index = [number for number, job in enumerate(instance.jobs) if job.work]
    rows, pauses = [], []
    known: dict[tuple[object, ...], list[tuple[float, float]]] = {}
    for number in index:
        job = instance.jobs[number]
        key = job.speed, job.work, job.max_gpus
        if key not in known:
            known[key] = _speeds(instance, number)
        rows.append(known[key])
        # Pauses count only where the verifier, with its larger limits, counts them too.
        few = len(job.useful_counts(instance.units)) <= MOST_LOOKED_AT and len(known[key]) <= _MOST_CORNERS
        pauses.append(job.restart_s if few else 0.0)
    most = max(map(len, rows), default=1)
    padded = np.array([row + row[-1:] * (most - len(row)) for row in rows]).reshape(len(rows), most, 2)
    return Jobs(
        np.array(index, dtype=np.int64),
        np.array([float(instance.release_s(number)) for number in index]),
        1 / padded[:, -1, 1],
        np.array(pauses),
        np.array([instance.jobs[number].weight for number in index]),
        padded[:, :, 0],
        padded[:, :, 1],
    )


def _speeds(instance: Instance, number: int) -> list[tuple[float, float]]:
    """Units and speeds of a job at the corners of the upper hull; between them a period gains no more, as gain is linear."""
    job = instance.jobs[number]
    useful = job.useful_counts(instance.units)
    if job.speed_law is None or len(useful) <= MOST_LOOKED_AT:
        times_s = job.useful_times_s(instance.units)
        return upper_hull((float(count), 1 / (job.work * time_s)) for count, time_s in times_s.items())
    # Of a long law some counts are examined; those in between get the time of the next, which is never slower.
    ends = np.unique(geometric(1, len(useful), MOST_LOOKED_AT).astype(np.int64)).tolist()
    starts = [1, *(end + 1 for end in ends[:-1])]
    times = [job.speed.epoch_time_s(end) for end in ends]
    return upper_hull((float(start), 1 / (job.work * time_s)) for start, time_s in zip(starts, times, strict=True))


MOST_INTERVALS = 1600
ROUNDS = 30
"""Largest number of steps of the bundle method on every level."""

_LEVELS = 50, 200, 800
"""Numbers of intervals on the coarser levels."""
_SHARE, _LOOSE, _TIGHT = 0.05, 1e-3, 1e-6
"""Precision of the cheapest ways as a part of what the planes promise; its largest and least relative values."""
_NARROW = 0.25  # width of the box if fairly good prices are known
_COARSE, _CLOSE = 2e-3, 1e-3
"""Part of the bound that the planes may still promise when a level ends, and when the last one ends."""
_FINEST = 3  # by which the finest level with pauses, whose steps take longest and gain least, has fewer steps
_PIECES = 4  # of a long interval
_FEWEST = 96  # intervals, of streams of few jobs
_LARGE = 400  # jobs from which on consecutive jobs share a plane
_ALL, _SAMPLE = 50_000, 20_000  # jobs up to which prices are sought with all; else with how many
_FEW_INTERVALS = 50  # more would follow what is peculiar to a sample

Better = Callable[[PricesCertificate], None]


def ignore(certificate: PricesCertificate) -> None:
    """The ``better`` of callers that need the last certificate only."""


def any_time_prices(
    instance: Instance,
    stream: Stream,
    *,
    rounds: int = ROUNDS,
    most: int = MOST_INTERVALS,
    start: PricesCertificate | None = None,
    better: Better = ignore,
    solved: Tick = no_tick,
    tick: Tick = no_tick,
) -> PricesCertificate:
    """Search for prices that prove much, on at most ``most`` intervals at the events of a stream, or from ``start`` on."""
    jobs = jobs_of(instance)
    if not len(jobs.index):
        return PricesCertificate((0.0, 1.0), (0.0,), 0.0)
    some, units = sampled(jobs, instance.units)
    breakpoints = breakpoints_of(instance, jobs, stream, most if some is jobs else min(most, _FEW_INTERVALS))
    ascents = _Levels(instance, some, units, breakpoints, rounds, better, solved, tick)
    try:
        if start is None:
            for known in guesses(instance, jobs, ascents.breakpoints, stream):
                if known.any():
                    ascents.look(known)
        else:
            times = np.array(start.breakpoints) * (instance.tick_s or 1.0)
            ascents.look(resampled(times, start.prices, ascents.breakpoints))
        ascents.climb(coarse=start is None)
        if some is not jobs and instance.tick_s is None:
            ascents.smooth()
    finally:  # whatever stops the search
        ascents.hand_on(no_tick if some is jobs else tick)  # of few jobs at once, even at a limit
    assert ascents.handed is not None, "prices were looked at"
    return ascents.handed


def sampled(jobs: Jobs, units: int) -> tuple[Jobs, float]:
    """Of very many jobs some, and the part of the units that goes with their least unit-seconds; else all of both.

    Of jobs that are released in a row, sorted by these unit-seconds, each of some is taken. Prices that are good for the
    sample are good for all jobs; what they prove is computed of all.
    """
    if len(jobs.index) <= _ALL:
        return jobs, units
    areas = (jobs.counts / jobs.speeds).min(axis=1)
    rows = sample(jobs.release_s, areas, -(-len(areas) // _SAMPLE))
    return jobs.take(rows), units * float(areas[rows].sum() / areas.sum())


class _Levels:
    """Ascents on ever finer breakpoints, each from the prices of the one before."""

    def __init__(
        self,
        instance: Instance,
        jobs: Jobs,
        units: float,
        breakpoints: FloatArray,
        rounds: int,
        better: Better,
        solved: Tick,
        tick: Tick,
    ) -> None:
        self.jobs, self.breakpoints = jobs, breakpoints
        self._instance, self._units = instance, units
        self._rounds, self._better, self._solved, self._tick = rounds, better, solved, tick
        self._free = replace(jobs, restart_s=np.zeros_like(jobs.restart_s))
        self._estimate = -np.inf
        self._best: tuple[FloatArray, FloatArray] | None = None
        self.handed: PricesCertificate | None = None
        self.known = np.zeros(len(breakpoints) - 1)

    def look(self, known: FloatArray) -> None:
        """Remember prices on the finest breakpoints if they are the best."""
        found = AnyTime(self._free, self.breakpoints).cheapest(known, tick=self._tick)
        self._keep(self.breakpoints, known, found.least)

    def climb(self, *, coarse: bool) -> None:
        """Raise the prices level by level, without pauses on the first one only, whose best are handed on."""
        counts = [most for most in _LEVELS if coarse and 2 * most < len(self.breakpoints)]
        last = len(self.breakpoints) - 1
        some = (np.unique(np.linspace(0, last, most + 1).astype(np.int64)) for most in counts)
        levels = [*(self.breakpoints[places] for places in some), self.breakpoints]
        width = 1.0 if coarse else _NARROW
        if coarse and self.jobs.restart_s.any():
            self._ascend(self._free, levels[0], width, _COARSE)
            width = _NARROW
        for breakpoints in levels:
            self._ascend(self.jobs, breakpoints, width, _CLOSE if breakpoints is self.breakpoints else _COARSE)
            if breakpoints is levels[0] and self._units == self._instance.units:
                self.hand_on()  # a first bound soon; every one takes as long as some rounds
            width = _NARROW

    def smooth(self) -> None:
        """Keep prices on finer breakpoints, along lines between the middles of intervals, if they are better."""
        if self._best is not None:
            times, known = self._best
            places = np.arange(len(times))
            finer = np.interp(np.arange(_PIECES * places[-1] + 1) / _PIECES, places, times)
            lines = np.interp((finer[:-1] + finer[1:]) / 2, (times[:-1] + times[1:]) / 2, known)
            self._keep(finer, lines, AnyTime(self.jobs, finer).cheapest(lines, tick=self._tick).least)

    def hand_on(self, tick: Tick = no_tick) -> None:
        """Hand on the best prices since the last time, if the verifier proves more of them."""
        if self._best is None:
            return
        (breakpoints, known), self._best = self._best, None
        certificate = _certificate(self._instance, breakpoints, known, tick)
        if self.handed is None or certificate.value > self.handed.value:
            self.handed = certificate
            self._better(certificate)

    def _ascend(self, jobs: Jobs, breakpoints: FloatArray, width: float, close: float) -> None:
        known = averaged(self.breakpoints, self.known, breakpoints)
        oracle = AnyTime(jobs, breakpoints)
        supply = self._units * np.diff(breakpoints)

        def price(at: FloatArray) -> Cheapest:
            precision = _SHARE * (ascent.promised / ascent.value - 1) if 0 < ascent.value < ascent.promised else 1.0
            return oracle.cheapest(at, precision=min(_LOOSE, max(_TIGHT, precision)), tick=self._tick)

        ascent = Ascent(price, supply, known, groups_of(jobs), width=width, close=close)
        finest = breakpoints is self.breakpoints and jobs.restart_s.any()
        for _ in range(self._rounds // _FINEST if finest else self._rounds):
            if ascent.step():
                self._keep(breakpoints, ascent.best, ascent.value + float(dot(supply, ascent.best)))
            self._solved()
            if ascent.closed:
                break

    def _keep(self, breakpoints: FloatArray, known: FloatArray, least: float) -> None:
        estimate = least - self._units * float(dot(np.diff(breakpoints), known))
        if estimate > self._estimate or (self._best is None and self.handed is None):
            self._estimate, self._best = estimate, (breakpoints, known)
            self.known = resampled(breakpoints, known, self.breakpoints)


def _certificate(instance: Instance, breakpoints: FloatArray, known: FloatArray, tick: Tick) -> PricesCertificate:
    """Certificate of prices at any time; with ticks, its breakpoints are whole numbers of ticks."""
    tick_s, prices = instance.tick_s, tuple(known.tolist())
    clock = breakpoints if tick_s is None else np.rint(breakpoints / tick_s)
    value = any_time_value(instance, (clock * (tick_s or 1.0)).tolist(), prices, tick)
    return PricesCertificate(tuple(clock.tolist()), prices, rounded_down(value))


def breakpoints_of(instance: Instance, jobs: Jobs, stream: Stream, most: int) -> FloatArray:
    """Releases and events of a stream, long intervals cut, at most ``most`` intervals; ascending, shape (K + 1,)."""
    moments = [time_s for spans in stream.periods.values() for period in spans for time_s in period[:2]]
    events = np.unique(np.concatenate([jobs.release_s, moments]))
    span_s = float(events[-1] - events[0]) + float(jobs.least_s.max())
    if len(events) < 2:
        events = np.append(events[:1], events[0] + span_s)
    if len(events) > most + 1:
        events = events[np.unique(np.linspace(0, len(events) - 1, most + 1).astype(np.int64))]
    lasts_s = np.diff(events)
    pieces = np.clip(np.ceil(lasts_s / (2 * np.median(lasts_s))), 1, _PIECES).astype(np.int64)
    if pieces.sum() > most:
        pieces[:] = 1
    if pieces.sum() < _FEWEST:
        pieces = np.maximum(pieces, np.ceil(lasts_s * (_FEWEST / lasts_s.sum())).astype(np.int64))
    cut = np.concatenate(
        [np.linspace(a, b, n, endpoint=False) for a, b, n in zip(events[:-1], events[1:], pieces, strict=True)]
    )
    cut = np.append(cut, events[-1])
    if instance.tick_s is not None:
        cut = np.unique(np.ceil(cut / instance.tick_s * (1 - 1e-12))) * instance.tick_s
    # Breakpoints closer than the clock's digits, or than a billionth of the mean interval, count as one.
    apart = np.diff(cut) > np.maximum(1e-9 * span_s / len(cut), 16 * np.spacing(cut[1:]))
    distinct: FloatArray = cut[np.concatenate([[True], apart])]
    if len(distinct) == 1:  # all within the clock's last digits
        tick_s = instance.tick_s or max(span_s, 32 * float(np.spacing(distinct[0])))
        distinct = np.append(distinct, distinct[0] + tick_s * np.ceil(span_s / tick_s))
    return distinct


def worths(instance: Instance, known: PricesCertificate, *, tick: Tick = no_tick) -> FloatArray:
    """Weighted seconds that all work of each job is worth at prices, shape (J,); no ticks, and of very many jobs no pauses."""
    jobs = jobs_of(instance)
    if len(jobs.index) > _ALL:
        jobs = replace(jobs, restart_s=np.zeros_like(jobs.restart_s))
    found = np.zeros(len(instance.jobs))
    if len(jobs.index):
        times = np.array(known.breakpoints) * (instance.tick_s or 1.0)
        found[jobs.index] = AnyTime(jobs, times).worths(np.array(known.prices), tick=tick)
    return found


def guesses(instance: Instance, jobs: Jobs, breakpoints: FloatArray, stream: Stream) -> list[FloatArray]:
    """First prices: roughly what one more unit-second saves, at several scales."""
    middle = (breakpoints[:-1] + breakpoints[1:]) / 2
    ran = [instance.jobs[instance.index[name]] for name in stream.periods]
    weight = np.array([job.weight for job in ran])
    come = np.array([job.arrival_s for job in ran])
    gone = np.array([spans[-1].end_s for spans in stream.periods.values()])
    present = _until(middle, come, np.ones(len(ran))) - _until(middle, gone, np.ones(len(ran)))
    weighs = _until(middle, come, weight) - _until(middle, gone, weight)
    area = float(np.mean((jobs.counts / jobs.speeds).min(axis=1)))
    queue = present * float(np.median(jobs.counts[:, 0])) >= instance.units
    empties = np.append(breakpoints[:-1][~queue], breakpoints[-1])
    waits_s = np.where(queue, empties[np.searchsorted(empties, middle)] - middle, 0.0)
    # One more unit-second advances the jobs present, by their weights per unit; if there is a queue, it serves a part of
    # a job of mean weight, and saves the time until the queue is gone.
    by_weight, by_wait = np.maximum(weighs, 0) / instance.units, waits_s / area * float(weight.mean())
    return [scale * shape for shape in (by_weight, by_wait, by_weight + by_wait) for scale in (0.3, 1.0)]


def _until(middle: FloatArray, moments: FloatArray, weight: FloatArray) -> FloatArray:
    """Sum of the weights whose moments are before each time."""
    order = np.argsort(moments, kind="stable")
    return np.concatenate([[0.0], np.cumsum(weight[order])])[np.searchsorted(moments[order], middle)]


def resampled(times: Sequence[float] | FloatArray, values: Sequence[float] | FloatArray, at: FloatArray) -> FloatArray:
    """Prices on other breakpoints: those in the middle of each interval."""
    middle = (at[:-1] + at[1:]) / 2
    index = np.searchsorted(times, middle, side="right") - 1
    within = (index >= 0) & (index < len(values))
    return np.where(within, np.append(values, 0.0)[np.where(within, index, -1)], 0.0)


def averaged(times: FloatArray, values: FloatArray, at: FloatArray) -> FloatArray:
    """Prices on some of the breakpoints: the mean over time between them."""
    sums = np.concatenate([[0.0], np.cumsum(np.diff(times) * values)])
    mean: FloatArray = np.diff(np.interp(at, times, sums)) / np.diff(at)
    return np.maximum(mean, 0.0)


def groups_of(jobs: Jobs) -> IntArray | None:
    """In large streams, the group of each job: some hundred groups of jobs that arrive in a row; else None."""
    number = len(jobs.index)
    if number <= _LARGE:
        return None
    groups = np.empty(number, dtype=np.int64)
    groups[np.argsort(jobs.release_s, kind="stable")] = np.arange(number) * _LARGE // number
    return groups
