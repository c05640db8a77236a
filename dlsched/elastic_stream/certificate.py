"""Verifier of elastic_stream certificates: exact or safe bounds from the instance's own numbers, no solver.

*Prices by slot.* Bound on the mean flow time of a stream with ticks, in exact arithmetic. A job pays, in every slot, the price
of a unit and second for the units it holds, and for each size s of a block the price of one for every whole block of s units.
At most C units, hence at most floor(C / s) such blocks, are held at a time: whole blocks of jobs do not overlap. So for all
prices >= 0 the flow times, each times its weight, add up to at least the sum of what each job costs at least, alone
(``certificates.slot_costs``), less what the cluster's units and blocks would bring if all were held. Counts no faster than a
smaller one are left out: holding the smaller costs no more, and pauses no more often.

*Area.* On w units job j does at most the fraction w / a_j of its work a second, a_j = min over w <= C of w work_j tau_j(w):
any stream is a schedule of jobs with sizes a_j / C on one machine of speed 1 that may serve many at a time, pauses left
out. Serving them one by one, in the order in which they end, makes each k-th end no later; so SRPT's sum is a lower bound on
the sum of completion times, and with smaller sizes too. With weights, omega the least of them, omega times that sum and the
sum of what the weights are above omega times least mean busy times (``busy_value``) is one; so is that of all of the weights
times mean busy times. The larger counts.

*Length.* No job takes less than work_j min over w <= C of tau_j(w) from when it can first hold units: with ticks the first one
at or after its arrival, which is also the release in SRPT; flow times count from the arrival all the same. Slot t begins at
t tick_s, exactly. Work is the float stops_at x epochs, which simulator and checker use.

*Prices.* Every job by itself costs at least so much, weight x flow time and the prices of what it holds; all units together
cost no more than C times the integral of the prices. What remains is a bound. What a job costs at least is computed with
safely rounded floats (``certificates.time_prices``).

*Completions.* Streams without ticks, their pauses left out: branches over who completes when, and multipliers at each leaf;
``completions_value`` verifies them by ``certificates.completion_orders``.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial
from itertools import pairwise
from operator import add, sub

import numpy as np
from numpy.typing import NDArray

from dlsched.certificates import (
    CompletionsCertificate,
    LengthsCertificate,
    PricesCertificate,
    SrptCertificate,
    busy_value,
    claimed,
    exact_sum,
    rounded_down,
    srpt_value,
)
from dlsched.certificates.completion_orders import Branch, Leaf, MalleableJob, Moment, Pair, order_value, too_many
from dlsched.certificates.kinds import BranchData
from dlsched.certificates.slot_costs import Paid, Run, Speeds
from dlsched.certificates.time_prices import Floats, Window, least_costs, mean_bound, require_steps
from dlsched.core.elementary import geometric
from dlsched.core.limits import Tick, no_tick
from dlsched.core.result import Certificate
from dlsched.elastic_stream.instance import Instance, Job

MOST_COUNTS = 256
"""Corners of the hull of its speeds up to which the pauses of a job are counted; leaving them out is valid too."""

_CELLS = 200_000  # jobs x intervals at a time
_ALL = 10_000  # counts of a law that are looked at one by one
_ABOVE = 1 + 2.0**-47
_LONGEST_SPAN, _SHORTEST_SPAN = 2.0**600, 2.0**-1000


def any_time_value(
    instance: Instance, breakpoints: Sequence[float], prices: Sequence[float], tick: Tick = no_tick
) -> Fraction:
    """The bound on the weighted mean of flow times that prices of a unit-second prove (see ``certificates.time_prices``).

    ``prices[k]`` holds from ``breakpoints[k]``, in seconds, on. Rounding takes some 1e-12 of the jobs' costs. Cost: about 30
    evaluations of O(intervals x counts). ValueError: prices that are no steps, or a job that fits no cluster of this size.
    """
    require_steps(breakpoints, prices)
    times, steps = np.array(breakpoints, dtype=float), np.array([0.0, *prices, 0.0])
    if not len(times):
        steps = steps[:1]
    index = [number for number, job in enumerate(instance.jobs) if job.work > 0]
    running = [instance.jobs[number] for number in index]
    releases = list(map(instance.release_s, index)) if instance.tick_s else []  # else arrivals, which are floats
    early = list(map(rounded_down, releases)) if releases else [job.arrival_s for job in running]
    jobs = _Jobs(running, early, instance.units, tick)
    found = jobs.least(times, steps) if running else np.empty(0)
    total = _weighted_sum(running, np.ldexp(found, jobs.powers).tolist())  # exact: from 2 ** -334 to 2 ** 934
    if releases:  # what rounding makes them earlier is no flow time
        later = map(sub, map(Fraction, early), releases)
        total += _weighted_sum(running, map(add, map(instance.wait_s, index), later))
    weight = exact_sum(job.weight for job in instance.jobs)
    return mean_bound(instance.units, [total], breakpoints, prices, Fraction(1), weight)


def _weighted_sum(jobs: Sequence[Job], numbers: Iterable[float | Fraction]) -> Fraction:
    """Sum of the jobs' weights times numbers, exactly."""
    weights = [job.weight for job in jobs]
    if len(set(weights)) == 1:
        return Fraction(weights[0]) * exact_sum(numbers)
    return exact_sum(Fraction(weight) * Fraction(number) for weight, number in zip(weights, numbers, strict=True))


class _Jobs:
    """Jobs with work; job j counts time in units of 2 ** ``powers[j]`` s, of which its fastest run takes 1/2 to 1."""

    def __init__(self, jobs: Sequence[Job], releases: Sequence[float], units: int, tick: Tick) -> None:
        self._tick = tick
        self.releases, self.weights = np.array(releases), np.array([job.weight for job in jobs])
        self.powers = np.zeros(len(jobs), dtype=np.int64)
        self.pauses = np.zeros(len(jobs))
        self.counts: list[Floats] = []
        self.speeds: list[Floats] = []
        for index, job in enumerate(jobs):
            tick()
            counts, seconds = _useful_seconds(job, units)
            self.powers[index] = power = math.frexp(seconds[-1])[1]
            speeds = _ABOVE / np.ldexp(seconds, -power)
            counts, speeds = _hull(counts, speeds)
            if job.restart_s > 0 and len(counts) <= MOST_COUNTS:
                self.pauses[index] = math.ldexp(job.restart_s, -power)
            self.counts.append(counts)
            self.speeds.append(speeds)

    def least(self, times: Floats, steps: Floats) -> Floats:
        """Least cost of every job in its own unit; ``steps[i]`` is the price up to ``times[i]``, the last one thereafter."""
        first = np.searchsorted(times, self.releases, side="right")
        most = len(times) + 1 - first  # intervals: after the last breakpoint there is one in which to run alone
        limits = self._limits(times, steps)
        found = np.empty(len(most))
        pending = np.arange(len(most))
        while len(pending):
            with np.errstate(over="ignore"):
                until = np.searchsorted(times, self.releases + np.ldexp(limits, self.powers))
            sizes = np.clip(until + 1 - first, 1, most)
            # A job whose least cost reaches the end of its window may end later: it gets a window four times as long.
            cut = np.zeros(len(most), dtype=bool)
            for rows in self._alike(pending, sizes):
                self._tick()
                window = self._window(rows, times, steps, first[rows], sizes[rows], limits[rows])
                found[rows] = least_costs(window)
                cut[rows] = found[rows] >= window.nodes[:, -1] * (1 - 2.0**-40)
                cut[rows] &= (sizes[rows] < most[rows]) | (window.nodes[:, -1] >= limits[rows])
            pending = pending[cut[pending]]
            limits *= 4
        return found

    def _limits(self, times: Floats, steps: Floats) -> Floats:
        """Estimated cost of jobs that begin at once and keep one count; later ends need not be examined."""
        # A plan's cost bounds the latest end worth looking at; this estimate is checked afterwards, and may be wrong.
        clock = times if len(times) else np.zeros(1)
        limits = np.full(len(self.releases), np.inf)
        with np.errstate(all="ignore"):
            paid = np.concatenate(([0.0], np.cumsum(np.diff(clock) * steps[1:-1])))
            for index, (counts, speeds) in enumerate(zip(self.counts, self.speeds, strict=True)):
                release, power = self.releases[index], self.powers[index]
                pays = np.interp(release + np.ldexp(1 / speeds, power), clock, paid) - np.interp(release, clock, paid)
                pays /= self.weights[index]
                limits[index] = np.fmin.reduce(1 / speeds + counts * np.ldexp(pays, -power)) * (1 + 1e-6)
        least: Floats = np.fmin(limits, _LONGEST_SPAN)
        return least

    def _alike(self, rows: NDArray[np.intp], sizes: NDArray[np.intp]) -> list[NDArray[np.intp]]:
        """Jobs with about as many counts and intervals, with pauses or without, in groups that fit into memory."""
        kinds: dict[tuple[bool, int, int], list[int]] = {}
        for row in rows.tolist():
            kind = self.pauses[row] > 0, len(self.counts[row]).bit_length(), int(sizes[row]).bit_length()
            kinds.setdefault(kind, []).append(row)
        alike = []
        for (_, _, bits), members in kinds.items():
            step = max(1, _CELLS >> bits)
            alike += [np.array(members[start : start + step]) for start in range(0, len(members), step)]
        return alike

    def _window(
        self,
        rows: NDArray[np.intp],
        times: Floats,
        steps: Floats,
        first: NDArray[np.intp],
        sizes: NDArray[np.intp],
        limits: Floats,
    ) -> Window:
        """The intervals of some jobs; the first begins at the release, the last one ends at the limit."""
        powers, release = -self.powers[rows, None], self.releases[rows, None]
        column = np.arange(sizes.max())
        index = first[:, None] + column
        lengths = np.array([1 / self.speeds[row][-1] for row in rows])[:, None]
        # After the last breakpoint there is one more interval, as long as the job's fastest run.
        there, closing = column < sizes[:, None], index == len(times)
        ends = np.append(times, 0.0)[np.minimum(index, len(times))]
        with np.errstate(over="ignore"):
            nodes = np.ldexp(ends - release, powers)
            spans = np.ldexp(np.diff(ends, axis=1, prepend=release), powers)
        before = np.concatenate((np.zeros((len(rows), 1)), nodes[:, :-1]), axis=1)
        nodes, spans = np.where(closing, before + lengths, nodes), np.where(closing, lengths, spans)
        # Beyond the limit nothing is paid: the interval in which it lies ends there, rounded up.
        least = np.maximum(np.minimum(limits, _LONGEST_SPAN)[:, None], lengths)
        spans = np.where(nodes > least, np.minimum((least - before) + 2.0**-50 * least, spans), spans)
        there &= before < least
        nodes, spans = np.minimum(nodes, least), np.clip(spans, _SHORTEST_SPAN, _LONGEST_SPAN)
        last = np.take_along_axis(nodes, sizes[:, None] - 1, axis=1)
        nodes, spans = np.where(there, nodes, last), np.where(there, spans, 0.0)
        width = max(len(self.counts[row]) for row in rows)
        counts, speeds = np.ones((len(rows), width)), np.zeros((len(rows), width))
        for line, row in enumerate(rows):
            counts[line, : len(self.counts[row])] = self.counts[row]
            speeds[line, : len(self.speeds[row])] = self.speeds[row]
        nodes = np.concatenate((np.zeros((len(rows), 1)), nodes), axis=1)
        with np.errstate(over="ignore"):
            prices = steps[np.minimum(index, len(times))] / self.weights[rows, None]
        return Window(nodes, spans, prices, counts, speeds, self.pauses[rows])


def _useful_seconds(job: Job, units: int) -> tuple[Floats, Floats]:
    """Counts that no smaller one matches, and the seconds of all work on them, descending, to 10 units of rounding."""
    if not job.fitting_counts(units):
        raise ValueError(f"job {job.id!r} needs more units than the cluster has")
    if job.speed_law is None or len(useful := job.useful_counts(units)) <= _ALL:
        times_s = job.useful_times_s(units)
        return np.array(list(times_s), dtype=float), job.work * np.array(list(times_s.values()))
    # Of a long law, which only gets faster, some counts are left out; the next one's time is below theirs.
    ends = np.unique(np.append(geometric(1, len(useful), _ALL).astype(np.int64), len(useful)))
    ends = ends[ends <= len(useful)]
    seconds = job.work * np.array([job.speed_law.epoch_time_s(count) for count in ends.tolist()])
    return np.concatenate(([1.0], ends[:-1] + 1.0)), np.minimum.accumulate(seconds)


def _hull(counts: Floats, speeds: Floats) -> tuple[Floats, Floats]:
    """Counts at the corners of the least concave curve from 0 above the speeds, with speeds raised above its rounding."""
    # Corners suffice with pauses too: mu f(w) (seconds - pause) - w x prices is linear in w and f(w).
    corners = [(0.0, 0.0)]
    for count, speed in zip(counts.tolist(), speeds.tolist(), strict=True):
        while len(corners) > 1:
            (count0, speed0), (count1, speed1) = corners[-2:]
            if (speed1 - speed0) * (count - count0) > (speed - speed0) * (count1 - count0):
                break
            corners.pop()
        corners.append((count, speed))
    found = np.array(corners)
    above = np.max(speeds / np.interp(counts, found[:, 0], found[:, 1]))
    return found[1:, 0], found[1:, 1] * (max(1.0, float(above)) * _ABOVE)


_FEWEST, _MOST = 64, 4096  # cells, powers of two
_EFFORT = 2**24  # entries of all costs up to which cells are made finer, and slots are followed
_NEAR = 64  # slots
_MOST_COUNTS = 1024  # jobs with more run at their fastest without holding units


def ticks_value(
    instance: Instance,
    breakpoints: Sequence[float],
    prices: Sequence[float],
    blocks: Mapping[str, Sequence[float]] | None = None,
) -> Fraction:
    """Weighted mean of flow times that prices by slot prove, exactly; ``blocks``: prices of a block and second by size >= 2.

    ValueError: no ticks; breakpoints that are no ascending whole ticks; other than one price >= 0 between two of them.
    """
    if instance.tick_s is None:
        raise ValueError("prices by slot are of instances with ticks")
    paid = Paid(Fraction(instance.tick_s), _whole(breakpoints), _by_size(len(breakpoints) - 1, prices, blocks or {}))
    waited: list[Fraction] = []
    runs = [Run(speeds, piece, paid) for speeds, firsts in _kinds(instance, waited).items() for piece in _near(firsts)]
    share = _EFFORT // (_FEWEST * max(1, len(runs)))
    least = [run.least_s(_FEWEST, share) for run in runs]
    size = sum(run.size for run in runs)
    cells = _FEWEST
    while cells < _MOST and 2 * cells * size <= _EFFORT:
        cells *= 2
    if cells > _FEWEST:
        least = [run.least_s(cells, share) for run in runs]
    total = exact_sum(waited) + exact_sum(least) - paid.supply_s(instance.units)
    return total / exact_sum(job.weight for job in instance.jobs)


def _kinds(instance: Instance, waited: list[Fraction]) -> dict[Speeds, list[int]]:
    """First slots of the jobs with work, ascending, by their speeds; ``waited`` receives weight x seconds to that slot."""
    kinds: dict[Speeds, list[int]] = {}
    assert instance.tick_s is not None
    for index, job in enumerate(instance.jobs):
        if job.work == 0:
            continue
        weight = Fraction(job.weight)
        waited.append(weight * instance.wait_s(index))
        allowed = job.useful_counts(instance.units)
        counts: dict[int, Fraction] = {}
        if len(allowed) > _MOST_COUNTS:
            counts[0] = Fraction(job.work) * job.speed.exact_epoch_time_s(job.fastest_count(instance.units))
            allowed = ()
        for count in allowed:
            seconds = Fraction(job.work) * job.speed.exact_epoch_time_s(count)
            if not counts or seconds < min(counts.values()):
                counts[count] = seconds
        pause_s = min(Fraction(job.restart_s), Fraction(instance.tick_s))
        speeds = Speeds(tuple(counts), tuple(counts.values()), pause_s, weight)
        kinds.setdefault(speeds, []).append(instance.first_slot(index))
    return {speeds: sorted(firsts) for speeds, firsts in kinds.items()}


def _near(firsts: Sequence[int]) -> Iterator[Sequence[int]]:
    """Pieces of ascending slots without large gaps."""
    begin = 0
    for index in range(1, len(firsts) + 1):
        if index == len(firsts) or firsts[index] - firsts[index - 1] > _NEAR:
            yield firsts[begin:index]
            begin = index


def _whole(breakpoints: Sequence[float]) -> tuple[int, ...]:
    for number in breakpoints:
        if not math.isfinite(number) or number != math.floor(number):
            raise ValueError(f"breakpoint {number!r} must be a whole number of ticks")
    slots = tuple(map(int, breakpoints))
    if len(slots) < 2 or any(begin >= end for begin, end in pairwise(slots)):
        raise ValueError("breakpoints must ascend, and be two at least")
    return slots


def _by_size(
    number: int, prices: Sequence[float], blocks: Mapping[str, Sequence[float]]
) -> dict[int, tuple[Fraction, ...]]:
    """Exact prices by block size, 1 for units; ValueError for others than K numbers >= 0 each."""
    exact = {}
    for name, values in (("1", prices), *blocks.items()):
        if not name.isdecimal() or str(int(name)) != name or int(name) < 1 or int(name) in exact:
            raise ValueError(f"{name!r} must be a size of blocks, a whole number >= 2")
        if len(values) != number:
            raise ValueError(f"blocks of {name}: there must be {number} prices, found {len(values)}")
        for price in values:
            if not (math.isfinite(price) and price >= 0):
                raise ValueError(f"price {price!r} must be a number >= 0")
        exact[int(name)] = tuple(map(Fraction, values))
    return exact


def exact_size_s(instance: Instance, index: int) -> Fraction:
    """a_j / C: seconds that the job's work takes on the whole cluster at its most efficient count."""
    job = instance.jobs[index]
    return Fraction(job.work) * job.least_area_s(instance.units) / instance.units if job.work else Fraction(0)


def exact_length_s(instance: Instance, index: int) -> Fraction:
    """Least seconds from the job's arrival to its end: to its first tick, and its work on its fastest count."""
    job = instance.jobs[index]
    if job.work == 0:
        return Fraction(0)
    time_s = job.speed.exact_epoch_time_s(job.fastest_count(instance.units))
    return (instance.wait_s(index) if instance.tick_s else 0) + Fraction(job.work) * time_s


def area_value(instance: Instance, sizes: Sequence[float]) -> Fraction:
    """Weighted mean of flow times that sizes prove, one per job, none larger than ``exact_size_s``."""
    arrivals = [job.arrival_s for job in instance.jobs]
    starts: Sequence[float | Fraction] = [*map(instance.release_s, range(len(sizes)))] if instance.tick_s else arrivals
    weights = [Fraction(job.weight) for job in instance.jobs]
    least = min(weights)
    ends = least * srpt_value(starts, sizes)
    if least < max(weights):
        ends += busy_value(starts, sizes, [weight - least for weight in weights])
        ends = max(ends, busy_value(starts, sizes, weights))
    # an arrival that rounding takes for the tick just before it counts as that tick
    return (ends - _weighted_sum(instance.jobs, map(min, starts, arrivals))) / exact_sum(weights)


def length_value(instance: Instance, lengths: Sequence[float]) -> Fraction:
    """Weighted mean of flow times that lengths prove, one per job, none larger than ``exact_length_s``."""
    return _weighted_sum(instance.jobs, lengths) / exact_sum(job.weight for job in instance.jobs)


def unverified(instance: Instance, tree: Sequence[BranchData]) -> str | None:
    """Why a tree of completions is not verified, or None."""
    jobs = [job for job in instance.jobs if job.work]
    counts = sum(len(job.useful_counts(instance.units)) for job in jobs)
    return too_many(len(jobs), counts, instance.units, len(tree))


def completions_value(instance: Instance, tree: Sequence[BranchData]) -> Fraction:
    """Weighted mean of flow times that a tree over completions proves, exactly; see ``CompletionsCertificate``.

    ValueError: ticks, a job that does not fit, a node that is none, or a tree that is ``unverified`` or not complete.
    """
    reason = unverified(instance, tree) if instance.tick_s is None else "completions are of instances without ticks"
    if reason is not None:
        raise ValueError(reason)
    records = [job for job in instance.jobs if job.work]
    jobs = []
    for job in records:
        seconds: dict[int, Fraction] = {}
        least: Fraction | None = None
        for count in job.useful_counts(instance.units):
            lasts = Fraction(job.work) * job.speed.exact_epoch_time_s(count)
            if least is None or lasts < least:
                seconds[count] = least = lasts
        if least is None:
            raise ValueError(f"job {job.id!r} needs more units than the cluster has")
        jobs.append(MalleableJob(Fraction(job.arrival_s), Fraction(job.weight), seconds))
    if not jobs:
        raise ValueError("completions are of instances in which some job has work")
    names = {job.id: number for number, job in enumerate(records)}
    windows = {start: number for number, start in enumerate(sorted({job.arrival_s for job in records}))}

    def node_of(node: BranchData) -> Branch | Leaf:
        match node:
            case {"multipliers": multipliers} if len(node) == 1:
                return Leaf(multipliers)
            case {"first": first, "then": then} if (
                len(node) == 2 and first in names and then in names and first != then
            ):
                return Pair(names[first], names[then])
            case {"first": first, "by_s": by_s} if len(node) == 2 and first in names and by_s in windows:
                return Moment(names[first], windows[by_s], by=True)
        raise ValueError("a node must be two jobs with work, such a job and an arrival, or multipliers")

    return order_value(jobs, instance.units, exact_sum(job.weight for job in instance.jobs), list(map(node_of, tree)))


def verify(instance: Instance, certificate: Certificate) -> Fraction:
    """Return the bound on the weighted mean of flow times that the certificate proves, exactly; jobs not named count as 0.

    ValueError: it is not one of this family, names an unknown job, claims more than a job needs, or its prices are no steps.
    """
    names = [job.id for job in instance.jobs]
    if isinstance(certificate, SrptCertificate) and not certificate.lengths:
        return area_value(instance, claimed(names, certificate.sizes, partial(exact_size_s, instance)))
    if isinstance(certificate, LengthsCertificate):
        return length_value(instance, claimed(names, certificate.lengths, partial(exact_length_s, instance)))
    if isinstance(certificate, PricesCertificate):
        return _prices_value(instance, certificate)
    if isinstance(certificate, CompletionsCertificate):
        return completions_value(instance, certificate.tree)
    raise ValueError(f"there are no certificates of kind {certificate.as_data()['kind']!r} in this family")


def _prices_value(instance: Instance, certificate: PricesCertificate) -> Fraction:
    """The better of prices by slot and, without blocks, of prices at any time; without ticks the latter."""
    breakpoints, prices, blocks = certificate.breakpoints, certificate.prices, certificate.blocks
    tick_s = instance.tick_s
    if tick_s is None:
        if blocks:
            raise ValueError("blocks have prices only where the instance has ticks")
        return any_time_value(instance, breakpoints, prices)
    by_slot = ticks_value(instance, breakpoints, prices, blocks)
    if blocks:
        return by_slot
    return max(by_slot, any_time_value(instance, [tick * tick_s for tick in breakpoints], prices))
