"""The game between adversary and policy on a grid: histories, what a policy knows, what a plan costs, and optima, in rationals.

The search for a value and its verifier have these rules in common, and nothing else.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import accumulate, pairwise, product
from typing import TypeAlias

from dlsched.elastic_stream.instance import Instance, Job

History: TypeAlias = tuple[tuple[int, int, int], ...]
"""Jobs as they arrive: moment, table of speeds and work of each, as positions in the grid."""
Cell: TypeAlias = tuple[int, tuple[tuple[int, int, int | None, int, bool], ...]]
"""Window; of each job its moment, table, work (None: not known on arrival), stages done, and whether it has ended."""
Pieces: TypeAlias = Sequence[tuple[Fraction, Sequence[int]]]
"""Seconds and the units of a cell's jobs, in turn; the last piece goes on until the cell is left."""
Plan: TypeAlias = Mapping[Cell, Pieces]
_Placed: TypeAlias = tuple[Fraction, Fraction, int]  # arrival, work and table of a job


@dataclass(frozen=True)
class Grid:
    """Tables of speeds on 1, 2, ... units, the most jobs, works and moments (ascending), and whether works are known on arrival.

    A job has a stage to each work that may be its own: where works are known, one.
    """

    speeds: tuple[tuple[Fraction, ...], ...]
    jobs: int
    works: tuple[Fraction, ...]
    releases: tuple[Fraction, ...]
    clairvoyant: bool
    _optima: dict[object, Fraction] = field(default_factory=dict, compare=False, repr=False)

    @property
    def units(self) -> int:
        """Units of the cluster."""
        return len(self.speeds[0])

    def histories(self, before: History = ()) -> Iterator[History]:
        """Yield all histories that begin so; works that are not known on arrival come in each order."""
        if before:
            yield before
        if len(before) == self.jobs:
            return
        shown = 3 if self.clairvoyant else 2
        for moment, table, work in product(*(range(len(each)) for each in (self.releases, self.speeds, self.works))):
            job = moment, table, work
            if not before or job[:shown] >= before[-1][:shown]:
                yield from self.histories((*before, job))

    def instance(self, history: History) -> Instance:
        """Return a history as a stream, on which policies of the simulator play."""
        jobs = [
            Job(
                id=f"job{number}",
                arrival_s=float(self.releases[moment]),
                epochs=float(self.works[work]),
                epoch_time_s={units: float(1 / speed) for units, speed in enumerate(self.speeds[table], 1)},
            )
            for number, (moment, table, work) in enumerate(history)
        ]
        return Instance(name="history", units=self.units, jobs=jobs)

    def ends(self, work: int) -> list[Fraction]:
        """Work at which each stage of a job of a work ends."""
        return list(self.works[work : work + 1] if self.clairvoyant else self.works[: work + 1])

    def stages(self, work: int) -> list[Fraction]:
        """Lengths of the stages of a job of a work."""
        return [end - before for before, end in pairwise((Fraction(0), *self.ends(work)))]

    def cell(self, history: History, window: int, done: Sequence[int]) -> Cell:
        """Return the cell of a history in a window, after some stages of each job."""
        known = [(*job, stages) for job, stages in zip(history, done, strict=True) if job[0] <= window]
        if self.clairvoyant:
            return window, tuple((k, table, work, stages, stages > 0) for k, table, work, stages in known)
        return window, tuple((k, table, None, stages, stages > work) for k, table, work, stages in known)

    def allocations(self, cell: Cell) -> list[tuple[int, ...]]:
        """All divisions of all units among the jobs of a cell that have not ended."""
        choices = [range(1 if job[-1] else self.units + 1) for job in cell[1]]
        open_ = any(not job[-1] for job in cell[1])
        return [units for units in product(*choices) if sum(units) == self.units * open_]

    def speed(self, table: int, units: int) -> Fraction:
        """Speed on some units."""
        return self.speeds[table][units - 1] if units else Fraction(0)

    def turn(
        self, plan: Plan, cell: Cell, since: Fraction, needs: Mapping[int, Fraction]
    ) -> tuple[Sequence[int], list[Fraction]]:
        """Return the units of a cell's jobs ``since`` seconds after it was entered, and the seconds to the next piece, if any.

        Where the plan has no pieces, the job that needs least to the end of its stage has all units.
        """
        if cell not in plan:
            first = min(needs, key=lambda job: (needs[job], job), default=None)
            return [self.units * (job == first) for job in range(len(cell[1]))], []
        *pieces, last = plan[cell]
        for end, (_, held) in zip(accumulate(seconds for seconds, _ in pieces), pieces, strict=True):
            if since < end:
                return held, [end - since]
        return last[1], []

    def flow(self, plan: Plan, history: History) -> Fraction:
        """Return the total flow time of a plan on a history; ValueError where jobs wait for ever, or share too many units."""
        left = [self.stages(work) for *_, work in history]
        done, window, since, flow = [0] * len(history), history[0][0], Fraction(0), Fraction(0)
        now = self.releases[window]
        while any(left):
            here = [j for j, job in enumerate(history) if left[j] and job[0] <= window]
            cell, following = self.cell(history, window, done), self.releases[window + 1 : window + 2]
            needs = {j: left[j][0] / self.speeds[history[j][1]][-1] for j in here}
            units, until = self.turn(plan, cell, since, needs)
            if len(units) != len(cell[1]) or min(units) < 0 or sum(units) > self.units:
                raise ValueError(f"plan: {units} of {self.units} units for {len(cell[1])} jobs")
            rates = {j: self.speed(history[j][1], units[j]) for j in here if units[j]}
            until += [*(left[j][0] / rate for j, rate in rates.items()), *(moment - now for moment in following)]
            if not until:
                raise ValueError(f"plan: jobs wait for ever in {cell}")
            now, since, flow = now + min(until), since + min(until), flow + min(until) * len(here)
            for j, rate in rates.items():
                left[j][0] -= min(until) * rate
                if not left[j][0]:
                    done[j], since = done[j] + 1, Fraction(0)
                    del left[j][0]
            if now in following:
                window, since = window + 1, Fraction(0)
        return flow

    def optimum(self, history: History) -> Fraction:
        """Return the least total flow time in hindsight: of the linear programs of all orders of events."""
        begin = self.releases[history[0][0]]
        jobs = tuple(sorted((self.releases[k] - begin, self.works[work], table) for k, table, work in history))
        if jobs not in self._optima:
            found = [self._of_order(jobs, order) for order in _orders(jobs, ())]
            self._optima[jobs] = min(each for each in found if each is not None)
        return self._optima[jobs]

    def _of_order(self, jobs: Sequence[_Placed], order: Sequence[int]) -> Fraction | None:
        """Least flow time for one order of events, ends j and arrivals -1, by the dual program; None: it is impossible."""
        many, arrived, ended, rows = len(jobs), 1, set[int](), []
        gaps = [after[0] - before[0] for before, after in pairwise(jobs)]
        # a row for each allocation between two events: multipliers of works, and of gaps, which may have any sign
        for event in order:
            here = [j for j in range(arrived) if j not in ended]
            for units in product(range(self.units + 1), repeat=len(here)):
                if sum(units) == self.units * bool(here):
                    row = [Fraction(0)] * (3 * many - 2)
                    for j, held in zip(here, units, strict=True):
                        row[j] = self.speed(jobs[j][2], held)
                    if arrived < many:
                        row[many + arrived - 1], row[2 * many + arrived - 2] = Fraction(1), Fraction(-1)
                    rows.append([*row, Fraction(len(here))])
            arrived += event < 0
            ended |= {event} - {-1}
        return _largest(rows, [*(work for _, work, _ in jobs), *gaps, *(-each for each in gaps)])


def _orders(jobs: Sequence[_Placed], before: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Orders of ends j and of arrivals -1; with equal speeds, who neither comes later nor has more work ends first."""
    arrived = 1 + before.count(-1)
    if len(before) == 2 * len(jobs) - 1:
        yield before
    if arrived < len(jobs):
        yield from _orders(jobs, (*before, -1))
    open_ = [j for j in range(arrived) if j not in before]
    for j in open_:
        if not any(i < j and jobs[i][2] == jobs[j][2] and jobs[i][1] <= jobs[j][1] for i in open_):
            yield from _orders(jobs, (*before, j))


def _largest(rows: list[list[Fraction]], gain: list[Fraction]) -> Fraction | None:
    """Largest gain y over y >= 0 whose rows, each with its right side >= 0 last, hold as <=; None: there is none."""
    value, basic, free = Fraction(0), [-1 - k for k in range(len(rows))], list(range(len(gain)))
    while True:
        # the first unknown enters that gains, and the first that limits it leaves (Bland)
        enters = min((k for k, each in enumerate(gain) if each > 0), key=lambda k: free[k], default=None)
        if enters is None:
            return value
        limits = [(row[-1] / row[enters], basic[i], i) for i, row in enumerate(rows) if row[enters] > 0]
        if not limits:
            return None
        at = min(limits)[2]
        pivot = rows[at][enters]
        basic[at], free[enters] = free[enters], basic[at]
        rows[at] = [each / pivot for each in rows[at]]
        rows[at][enters] = 1 / pivot
        for i, row in enumerate(rows):
            if i != at and (factor := row[enters]):
                rows[i] = [each - factor * other for each, other in zip(row, rows[at], strict=True)]
                rows[i][enters] = -factor / pivot
        factor = gain[enters]
        value += factor * rows[at][-1]
        gain = [each - factor * other for each, other in zip(gain, rows[at], strict=False)]
        gain[enters] = -factor / pivot
