"""Jobs of a stream with ticks, grouped by kind and first slot, and priced together."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from dlsched.columns.price_ascent import Cheapest
from dlsched.columns.slot_costs import Costs, Kind, SlotPrices, costs
from dlsched.core.limits import Tick
from dlsched.elastic_stream.instance import Instance

FEWEST_CELLS = 64
"""Of a job's work. Cells are powers of two, so that finer grids only give larger costs."""


@dataclass(frozen=True, slots=True, eq=False)
class Member:
    """A job with work: its position in the instance, its first slot, and the seconds that it waits for that."""

    job: int
    first: int
    wait_s: float


@dataclass(slots=True, eq=False)
class Run:
    """Jobs of one kind that arrive soon after each other and share their costs.

    Units count as free from ``span`` slots after the last first slot; it grows until no cheapest plan gets there.
    """

    kind: Kind
    members: list[Member]
    span: int

    def size(self) -> int:
        """Slots times rows of psi."""
        return (self.members[-1].first - self.members[0].first + self.span) * self.kind.rows


@dataclass(slots=True, eq=False)
class TickedJobs:
    """The jobs with work of an instance with ticks, each of ``cells`` cells; ``tick`` is called between runs and may raise."""

    tick_s: float
    runs: Sequence[Run]
    tick: Tick
    cells: int = field(default=FEWEST_CELLS)

    @property
    def size(self) -> int:
        """Slots times rows of psi, of all runs."""
        return sum(run.size() for run in self.runs)

    @property
    def lost(self) -> float:
        """Estimated loss by rounding, a cell per slot and job, as a part of the jobs' shortest times."""
        shortest = [(run.kind.runs_s[-1], len(run.members)) for run in self.runs]
        losses = sum(number * run_s * (run_s / self.tick_s / self.cells) for run_s, number in shortest)
        return losses / sum(number * run_s for run_s, number in shortest)

    def refine(self, most_cells: int, most: int) -> None:
        """Double the cells up to ``most_cells``, a power of two, while all costs have at most ``most`` entries."""
        while self.cells < most_cells and 2 * self.cells * self.size <= most:
            self.cells *= 2

    def settle(self, prices: SlotPrices) -> None:
        """Let spans grow as far as these prices need."""
        for _ in self.priced(prices):
            pass

    def cheapest(self, prices: SlotPrices) -> Cheapest:
        """The jobs' least weighted costs from arrival on, and relaxed plans that attain them."""
        from scipy.sparse import csr_array

        least, own, flat, used = 0.0, [], [], []
        sizes, intervals = np.array(prices.sizes), prices.prices.shape[1]
        for priced, members in self.priced(prices):
            for member in members:
                least += priced.kind.weight * (member.wait_s + priced.least_s(member.first))
                flow_s, units = priced.trace(member.first)
                when = np.flatnonzero(units)
                blocks, interval = units[when] // sizes[:, None], prices.interval(member.first + when)
                held = np.array([np.bincount(interval, weights=row, minlength=intervals) for row in blocks]).ravel()
                flat.append(np.flatnonzero(held))
                used.append(held[flat[-1]] * self.tick_s)
                own.append(priced.kind.weight * (member.wait_s + flow_s))
        starts = np.concatenate([[0], np.cumsum([len(each) for each in flat])])
        shape = len(own), len(sizes) * intervals
        return Cheapest(
            least, np.array(own), csr_array((np.concatenate(used), np.concatenate(flat), starts), shape=shape)
        )

    def priced(self, prices: SlotPrices, *, whole: bool = False) -> Iterator[tuple[Costs, Sequence[Member]]]:
        """Costs of every run up to a horizon that none of its cheapest plans reaches or, if ``whole``, to the last price."""
        for run in self.runs:
            self.tick()
            first, last = run.members[0].first, run.members[-1].first
            while True:
                end = max(last, prices.end)
                horizon = end if whole else min(end, last + run.span)
                found = costs(run.kind, first, horizon, self.tick_s, prices, self.cells)
                if horizon == end or all(
                    found.least_s(member.first) < (horizon - member.first) * self.tick_s for member in run.members
                ):
                    break
                run.span *= 2
            yield found, run.members


def ticked_jobs(instance: Instance, tick: Tick) -> TickedJobs:
    """The jobs with work of an instance with ticks, in runs."""
    assert instance.tick_s is not None
    kinds: dict[Kind, list[Member]] = {}
    for index, job in enumerate(instance.jobs):
        if job.work:
            times = job.useful_times_s(instance.units)
            seconds = tuple(job.work * time for time in times.values())
            kind = Kind(tuple(times), seconds, min(job.restart_s, instance.tick_s), job.weight)
            kinds.setdefault(kind, []).append(Member(index, instance.first_slot(index), float(instance.wait_s(index))))
    runs: list[Run] = []
    for kind, members in kinds.items():
        span = 4 * math.ceil(kind.runs_s[-1] / instance.tick_s) + 8
        before = -math.inf
        for member in sorted(members, key=lambda member: member.first):
            if member.first > before + span:
                runs.append(Run(kind, [], span))
            runs[-1].members.append(member)
            before = member.first
    return TickedJobs(instance.tick_s, runs, tick)
