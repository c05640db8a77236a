"""Instances on which a policy is as bad as it can be, or nearly, with a schedule that is as good as the optimum.

The largest bound is reached at lengths d of the run's intervals, and times x on the allocations of the
optimum's. If ties go the policy's way there, this instance attains the supremum, for some order of the file.
Else the run happens at d + e d', e > 0, with d' inside the run's region: the limit is approached.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import permutations

from dlsched.core.errors import SolverError
from dlsched.elastic_stream.instance import Instance, Job
from dlsched.elastic_stream.simulation.view import Policy
from dlsched.worst.competitive.programs import Allocation, Prefix, allocations, speed
from dlsched.worst.competitive.runs import Whole
from dlsched.worst.competitive.stream import Near, Speeds, common, epoch_times, play
from dlsched.worst.proving.branch_and_bound import RIGHT, Equation, value_of, vertex

_MET, _LARGEST = (1e-9, 1e-11), 2**53
_ROUNDED = Fraction(2**40)
"""Largest number of an instance that floats cannot say exactly."""
_CLOSE = (24, 16, 12, 10, 8, 6)
"""Powers of one half: how far the instance shown is from a limit, as far as floats can say it exactly."""
Piece = tuple[Near, Allocation]


@dataclass(frozen=True, eq=False)
class Point:
    """An instance, by class of the tables of speeds, and a schedule in pieces with its flow time, in numbers a + b e."""

    classes: tuple[int, ...]
    arrivals: tuple[Near, ...]
    works: tuple[Near, ...]
    pieces: tuple[Piece, ...]
    flow: Near

    def ordered(self, order: Sequence[int]) -> "Point":
        """Return it with its jobs in another order."""
        pieces = tuple((seconds, tuple(units[job] for job in order)) for seconds, units in self.pieces)
        arrivals, works = (tuple(each[job] for job in order) for each in (self.arrivals, self.works))
        classes = tuple(self.classes[job] for job in order)
        return Point(classes, arrivals, works, pieces, self.flow)

    def at(self, e: Fraction) -> "Point":
        """Return it with a number for e."""
        return self.mapped(lambda number: Near(number.at + e * number.toward))

    def mapped(self, change: Callable[[Near], Near]) -> "Point":
        """Return it with every number changed."""
        arrivals, works = (tuple(map(change, each)) for each in (self.arrivals, self.works))
        pieces = tuple((change(seconds), units) for seconds, units in self.pieces)
        return Point(self.classes, arrivals, works, pieces, change(self.flow))


class Region:
    """The lengths of a run and the times of an optimum's order of events, as one cone."""

    def __init__(
        self, tables: Sequence[Speeds], weights: Sequence[int], classes: tuple[int, ...], run: Whole, prefix: Prefix
    ) -> None:
        self.tables, self.weights, self.classes, self.run = tables, weights, classes, run
        self.intervals = prefix.intervals
        self.lengths = len(run.present)
        self.uses = [(m, v) for m, each in enumerate(self.intervals) for v in allocations(tables, each.present)]
        at = self.lengths
        jobs = range(len(tables))
        # each use of an allocation is a variable: the seconds that the optimum spends on it
        self.flow_optimum: Equation = {
            at + k: Fraction(sum(weights[job] for job in self.intervals[m].present))
            for k, (m, _) in enumerate(self.uses)
        }
        self.flow_policy: Equation = {k: Fraction(weight) for k, weight in enumerate(run.present)}
        self.arrivals: list[Equation] = []
        self.works: list[Equation] = []
        for job in jobs:
            arrival: Equation = {
                at + k: Fraction(1) for k, (m, _) in enumerate(self.uses) if self.intervals[m].arrived <= job
            }
            work: Equation = {at + k: speed(tables[job], v[job]) for k, (_, v) in enumerate(self.uses)}
            self.arrivals.append(arrival | {k: -each for k, each in enumerate(run.arrivals[job])})
            self.works.append(work | {k: -each for k, each in enumerate(run.works[job])})
        # with a largest coefficient of 1: those of gains are as small as 1e-20
        largest = [max(map(abs, row)) or 1 for row in run.rows]
        self.splits: list[Equation] = [
            {k: each / size for k, each in enumerate(row)} for row, size in zip(run.rows, largest, strict=True)
        ]

    def worst(self) -> list[Fraction]:
        """Return the vertex of the largest ratio."""
        return self._vertex(self.flow_policy, [*self.works, *self.splits], [])

    def inside(self) -> list[Fraction] | None:
        """Return a point with all lengths and all splits > 0; None if there is none."""
        size = self.lengths + len(self.uses)
        strict: list[Equation] = [{k: Fraction(1)} for k in range(self.lengths)]
        found = self._vertex(
            {size: Fraction(1)}, self.works, [{**row, size: Fraction(-1)} for row in (*strict, *self.splits)]
        )
        return found[:size] if found[size] > 0 else None

    def _vertex(self, cost: Equation, rows: list[Equation], more: list[Equation]) -> list[Fraction]:
        """Maximise a form for a flow time of 1; rows >= 0."""
        size = self.lengths + len(self.uses) + bool(more)
        equal: list[Equation] = [*self.arrivals, {**self.flow_optimum, RIGHT: Fraction(1)}]
        tries = (vertex(cost, [*rows, *more], equal, size, met, method="highs-ds") for met in _MET)
        exact = next(filter(None, tries), None)
        if exact is None:
            raise SolverError("a worst instance: no rationals confirm the one that floats found")
        return exact

    def point(self, at: Sequence[Fraction], toward: Sequence[Fraction]) -> Point:
        """Return the instance and schedule of a point plus e times another."""

        def near(equation: Equation) -> Near:
            return Near(value_of(equation, at), value_of(equation, toward))

        pieces = tuple((Near(at[self.lengths + k], toward[self.lengths + k]), v) for k, (_, v) in enumerate(self.uses))
        return Point(
            self.classes,
            tuple(near(dict(enumerate(row))) for row in self.run.arrivals),
            tuple(near(dict(enumerate(row))) for row in self.run.works),
            tuple((seconds, units) for seconds, units in pieces if seconds),
            near(self.flow_optimum),
        )


def attaining(policy: Callable[[], Policy], region: Region, ratio: Fraction) -> Point | None:
    """Return an instance that attains a ratio, with its jobs in the order that makes ties go so; None if none does."""
    at = region.worst()
    point = region.point(at, [Fraction(0)] * len(at))
    return next(_reaching(policy, region, point, ratio), None) if all(point.works) else None


def approaching(policy: Callable[[], Policy], region: Region, ratio: Fraction) -> tuple[Point, bool] | None:
    """Return an instance that approaches a ratio, or the one that should, and whether it does; None: the order has ties alone."""
    inside = region.inside()
    if inside is None:
        return None
    point = region.point(region.worst(), inside)
    found = next(_reaching(policy, region, point, ratio), None)
    return (point, False) if found is None else (found, True)


def _reaching(policy: Callable[[], Policy], region: Region, point: Point, ratio: Fraction) -> Iterator[Point]:
    for order in permutations(range(len(region.tables))):
        ordered = point.ordered(order)
        tables, weights = [region.tables[job] for job in order], [region.weights[job] for job in order]
        flow, _ = play(policy(), tables, weights, ordered.arrivals, ordered.works)
        if flow.at == ratio * point.flow.at:
            yield ordered


def shown(point: Point, tables: Sequence[Speeds], weights: Sequence[int], name: str) -> tuple[Instance, Point]:
    """Return an instance in floats that are exact, and its schedule, the point or one close to it, with the flow that it has."""
    # a limit is shown at a small e, as small as floats can write exactly
    limit = any(number.toward for number in (*point.arrivals, *point.works))
    for power in _CLOSE if limit else (0,):
        real = point.at(Fraction(1, 2**power))
        epochs = [work.at / common(table) for work, table in zip(real.works, tables, strict=True)]
        numbers = [*epochs, *(arrival.at for arrival in real.arrivals)]
        scale = Fraction(
            math.lcm(*(each.denominator for each in numbers)), math.gcd(*(each.numerator for each in numbers))
        )
        if max(numbers) * scale < _LARGEST:
            break
    else:
        # work and arrivals are rounded down and a schedule's pieces up, so that it stays a schedule
        scale = _ROUNDED / max(numbers)
        epochs = [Fraction(math.floor(each * scale)) / scale for each in epochs]
        works = [Near(each * common(table)) for each, table in zip(epochs, tables, strict=True)]
        arrivals = [Near(math.floor(each.at * scale) / scale) for each in real.arrivals]
        pieces = [(Near(math.ceil(seconds.at * scale) / scale), units) for seconds, units in real.pieces]
        real = Point(point.classes, tuple(arrivals), tuple(works), tuple(pieces), real.flow)
    jobs = [
        Job(
            id=f"job{k}",
            arrival_s=float(real.arrivals[k].at * scale),
            epochs=float(epochs[k] * scale),
            epoch_time_s={units: float(time) for units, time in epoch_times(tables[k]).items()},
            weight=float(weights[k]),
        )
        for k in range(len(tables))
    ]
    schedule = real.mapped(lambda number: number * scale)
    return Instance(name=name, units=len(tables[0]), jobs=jobs), replace(
        schedule, flow=_measured(schedule, tables, weights)
    )


def _measured(schedule: Point, tables: Sequence[Speeds], weights: Sequence[int]) -> Near:
    """Weighted flow time of a schedule; a job ends with the piece in which its work is done."""
    remaining, flow, now = [work.at for work in schedule.works], Near(0), Near(0)
    for seconds, units in schedule.pieces:
        now = now + seconds
        for job, count in enumerate(units):
            before = remaining[job]
            remaining[job] = before - seconds.at * speed(tables[job], count)
            if before > 0 >= remaining[job]:
                flow = flow + (now - schedule.arrivals[job]) * weights[job]
    return flow
