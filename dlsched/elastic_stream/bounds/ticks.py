"""Lower bounds of streams with ticks: search for the prices by slot of best bound.

It begins with prices by the jobs present in a known stream, which the bundle method of ``columns.price_ascent`` improves. A
unit has a price in every slot; so has a block of s units, and at most C / s blocks, rounded down, can be held: without block
prices, half of each of two jobs that need more than half of the units would fit.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from dlsched.certificates import PricesCertificate, rounded_down
from dlsched.columns.price_ascent import Ascent, Cheapest
from dlsched.columns.slot_costs import Costs, Kind, SlotPrices, costs
from dlsched.core.arrays import FloatArray, IntArray, dot
from dlsched.core.limits import Tick, no_tick
from dlsched.elastic_stream.bounds.any_time import Better, ignore
from dlsched.elastic_stream.certificate import ticks_value
from dlsched.elastic_stream.heuristics import in_turn
from dlsched.elastic_stream.instance import Instance
from dlsched.elastic_stream.solution import Stream

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
    """Jobs of one kind that arrive soon after each other; they share costs up to ``span`` slots after the last first slot."""

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
                totals = np.array([np.bincount(interval, weights=row, minlength=intervals) for row in blocks]).ravel()
                flat.append(np.flatnonzero(totals))
                used.append(totals[flat[-1]] * self.tick_s)
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


_ROUNDS, _FEWEST_ROUNDS = 200, 15
_MOST_ENTRIES = 2**30
"""Entries of the costs of all jobs at all rounds."""
_LARGEST = 2**24
"""Entries of the costs of all jobs at one round."""
_CELLS = 1024
"""Of each job's work while prices are looked for; what they prove is computed with more."""
_MOST_PRICES = 512
_MOST_COUNTS = 64  # of a job
_MOST_UNITS = 16  # of a cluster whose blocks have prices
_TAIL = 0.25
"""Further slots with prices after the end of the known stream, as a part of its slots."""
_LOST = 0.05
"""Largest loss by the rounding of cells, as a part of the jobs' shortest times."""


def refusal(instance: Instance) -> str | None:
    """The reason why prices by slot would take too long for a feasible instance, or None."""
    if instance.tick_s is None:
        return "tick_s: found null, allowed: a number of seconds, since decisions at any time have no slots"
    for index, job in enumerate(instance.jobs):
        if job.work and len(job.useful_counts(instance.units)) > _MOST_COUNTS:
            return f"jobs[{index}]: found more than {_MOST_COUNTS} useful counts, allowed: fewer (limit max_gpus)"
    if not any(job.work for job in instance.jobs):
        return "jobs: found none with work, allowed: one at least"
    jobs = ticked_jobs(instance, no_tick)
    jobs.refine(_CELLS, _LARGEST)
    if jobs.size * jobs.cells > _LARGEST or jobs.lost > _LOST:
        return f"tick_s: found {instance.tick_s}, allowed: longer, of which the jobs take fewer"
    return None


def ticked_prices(
    instance: Instance,
    known: Stream | None = None,
    *,
    better: Better = ignore,
    solved: Tick = no_tick,
    tick: Tick = no_tick,
) -> PricesCertificate | None:
    """The certificate of the best prices by slot, from those of a known stream on; None where ``refusal`` has a reason."""
    if refusal(instance) is not None:
        return None
    stream = in_turn(instance) if known is None else known
    assert stream is not None, "feasible"
    jobs = ticked_jobs(instance, tick)
    prices = _start(instance, jobs, stream)
    for _ in jobs.priced(prices):
        pass  # spans grow as far as these prices need
    jobs.refine(_CELLS, _LARGEST)
    shape = prices.prices.shape
    supply = np.outer([instance.units // size for size in prices.sizes], np.diff(prices.slots) * jobs.tick_s)
    ascent = Ascent(lambda flat: jobs.cheapest(_at(prices, flat, shape)), supply.ravel(), prices.prices.ravel())
    best: PricesCertificate | None = None
    handed = -math.inf

    def hand_on() -> None:
        nonlocal best, handed
        if ascent.value > handed:
            found = _certificate(instance, _at(prices, ascent.best, shape))
            handed = ascent.value
            if best is None or found.value > best.value:
                best = found
                better(best)

    try:
        for number in range(1, max(_FEWEST_ROUNDS, min(_ROUNDS, _MOST_ENTRIES // (jobs.size * jobs.cells))) + 1):
            tick()
            ascent.step()
            solved()
            if ascent.closed:
                break
            if number.bit_count() == 1:  # rarely, since a proof takes longer than a round
                hand_on()
    finally:  # whatever stops the rounds
        hand_on()
    return best


def slot_prices(certificate: PricesCertificate) -> SlotPrices:
    """The prices of a certificate as arrays."""
    table = {1: certificate.prices} | {int(size): prices for size, prices in certificate.blocks.items()}
    return SlotPrices(np.array(certificate.breakpoints, dtype=np.int64), tuple(table), np.array(list(table.values())))


def _at(prices: SlotPrices, flat: FloatArray, shape: tuple[int, ...]) -> SlotPrices:
    return SlotPrices(prices.slots, prices.sizes, flat.reshape(shape))


def _start(instance: Instance, jobs: TickedJobs, stream: Stream) -> SlotPrices:
    """Prices by the jobs present in a stream, half a weight over C each: what one more slot for all of them costs."""
    assert instance.tick_s is not None
    firsts = np.array([instance.first_slot(index) for index, job in enumerate(instance.jobs) if job.work])
    ends = np.array(
        [round(stream.periods[job.id][-1].end_s / instance.tick_s + 0.5) for job in instance.jobs if job.work]
    )
    last = int(ends.max())
    last += math.ceil(_TAIL * (last - int(firsts.min()))) + 2
    sizes = [1, *_sizes(instance)]
    slots = _breakpoints(firsts, ends, last, _MOST_PRICES // len(sizes))
    weight = np.array([job.weight for job in instance.jobs if job.work])
    present = dot(((firsts[:, None] <= slots[:-1]) & (slots[:-1] < ends[:, None])).T, weight)
    prices = np.zeros((len(sizes), len(slots) - 1))
    prices[0] = 0.5 * present / instance.units
    return SlotPrices(slots, tuple(sizes), prices)


def _sizes(instance: Instance) -> list[int]:
    """Sizes of blocks that some job can use whole and that do not divide the units; the others add nothing."""
    if instance.units > _MOST_UNITS:
        return []
    counts = {count for job in instance.jobs if job.work for count in job.useful_counts(instance.units)}
    return sorted(count for count in counts if instance.units % count)


def _breakpoints(firsts: IntArray, ends: IntArray, last: int, most: int) -> IntArray:
    """Every slot or, if these are too many, half of them evenly and half where jobs arrive and end."""
    first = int(firsts.min())
    if last - first <= most:
        return np.arange(first, last + 1)
    events = np.unique(np.concatenate([firsts, ends]))
    chosen = events[np.linspace(0, len(events) - 1, most // 2).astype(np.int64)]
    return np.unique(np.concatenate([chosen, np.linspace(first, last, most // 2).astype(np.int64)]))


def _certificate(instance: Instance, prices: SlotPrices) -> PricesCertificate:
    """The certificate of prices; neighbouring slots of equal prices are one."""
    table = prices.prices
    positive = np.flatnonzero((table > 0).any(axis=0))
    end = int(positive[-1]) + 1 if len(positive) else 1
    starts = np.flatnonzero(np.concatenate([[True], (np.diff(table[:, :end], axis=1) != 0).any(axis=0)]))
    breakpoints = tuple(float(slot) for slot in (*prices.slots[starts], prices.slots[end]))
    first, *others = (tuple(row[starts].tolist()) for row in table)
    blocks = {str(size): row for size, row in zip(prices.sizes[1:], others, strict=True) if any(row)}
    value = ticks_value(instance, breakpoints, first, blocks)
    return PricesCertificate(breakpoints, first, rounded_down(value), blocks)
