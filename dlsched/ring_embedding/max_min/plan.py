"""Bounds and plans for the least utility (``max_min``).

*Upper bounds* on the least utility: the largest v whose quotas z_i >= n_i(v) a relaxation can meet, with certificates.

All worker-slots that jobs need for v, or all that they can have, are asked of the relaxation of ``relaxation``,

    maximise theta:  theta n_i(v) <= z_i = sum_ec w_iec,  theta <= 1,

over its rows. Where theta < 1, v is out of reach, and at the prices pi of the rows of z_i the largest v' with
sum_i pi_i n_i(v') <= theta sum_i pi_i n_i(v) is the next to be tried: it is below v, and no v between them is in reach
(Newton's method for the root of theta(v) = 1, as Dinkelbach 1967 has it). In the end theta = 1, and w are a fractional plan.

The heuristic ``plan``: levels of the relaxation set quotas, for which rings are placed.

1. *Levels.* The largest level that all jobs can have in the relaxation (``Water``); the jobs that limit it keep their
   quotas, the others rise to the next level, and so on.
2. *Rings.* Quotas are spread over the slots as the relaxation spreads them, as ``heuristics.plan`` does.
3. *Filling.* The job with the least utility gets the next worker-slots that raise it, in slots in which its ring can be
   closed, until no job can have more.
4. *Repair.* A job that finds no room takes worker-slots from another job, the richest first, if the donor keeps a higher
   utility than the taker had. Every step makes the ascending utilities lexicographically larger, so it ends.

Where the least utility stays below the first level, 2 to 4 begin again: from quotas a little lower, and from the largest rings
of every slot.

The plan has no guarantee by itself; the relaxation's certificate bounds it. Ours; it fills progressively, as
max-min fairness does in networks (Bertsekas and Gallager 1992, section 6.5).
"""

import heapq
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import islice

import numpy as np

from dlsched.algorithms.utility_tables import Floats, Quotas
from dlsched.certificates import DualsCertificate, exact_sum
from dlsched.core.gap import meets
from dlsched.core.limits import Budget
from dlsched.ring_embedding.certificate import certified
from dlsched.ring_embedding.checker import utilities
from dlsched.ring_embedding.heuristics.plan import Plan
from dlsched.ring_embedding.instance import Instance
from dlsched.ring_embedding.relaxation import Program
from dlsched.ring_embedding.rings.network import Network
from dlsched.ring_embedding.rings.placing import Slot
from dlsched.ring_embedding.rings.rows import Ceilings
from dlsched.ring_embedding.solution import Embedding
from dlsched.solvers.lp import linear_program

_ROUNDS = 60
_CLOSE = 1e-9  # distance of theta from 1
_LOOSE = 1e-7  # relative slack of quotas that a solver with tolerances has met before
_BLOCKS = 1e-6  # share of the prices of all quotas; a job with a larger share limits the least utility


def aggregated(instance: Instance, budget: Budget | None = None) -> DualsCertificate:
    """All slots and servers as one pool: the largest v whose quotas fit, for the tightest row. No solver."""
    tick, ceilings = (budget or Budget()).tick, Ceilings(instance)
    prices = ({}, *({f"pool_{row.name}": 1.0} for row in ceilings.rows))
    found = [certified(ceilings, "aggregated", each, tick) for each in prices]
    return min(found, key=lambda certificate: certificate.value)


def horizon(instance: Instance, budget: Budget | None = None) -> DualsCertificate:
    """The largest v that the relaxation over all slots can meet; errors as ``relaxation.relax``."""
    water = Water(instance, budget)
    water.rise(float(water.quotas.tops.min()))
    return water.certificate()


class Water:
    """Levels of utility that the relaxation can meet, one after the other; ``level`` is the last one found.

    ``fixed``: by job, quotas of those that can have no more than an earlier level.
    """

    def __init__(self, instance: Instance, budget: Budget | None = None) -> None:
        self.budget = budget or Budget()
        self.program = Program(instance, self.budget.tick)
        self.quotas = Quotas(self.program.tables)
        self.level = float(self.quotas.tops.max())
        self.fixed: dict[int, int] = {}
        self._proof: dict[str, float] = {}
        self._pi: Floats = np.zeros(len(instance.jobs))

    def certificate(self) -> DualsCertificate:
        """The certificate of the prices found before any job was fixed."""
        return certified(self.program.ceilings, "horizon", self._proof, self.budget.tick)

    def rise(self, most: float) -> None:
        """Set ``level`` to the largest, up to ``most``, that all jobs which are not fixed can have, or their maxima."""
        self.level, self._pi = most, np.zeros_like(self._pi)
        for _ in range(_ROUNDS):
            self.budget.tick()
            quotas = [0 if job in self.fixed else n for job, n in enumerate(self.quotas.at(self.level))]
            theta = self._solve(quotas)
            if theta >= 1 - _CLOSE:
                break
            # Newton's method: at these prices no level between the next one and this one is in reach.
            self._pi = np.where(quotas, self.program.duals[self.program.spent], 0.0)
            if not self.fixed:
                self._proof = self.program.prices()
            prices = [Fraction(price) for price in self._pi.tolist()]
            supply = Fraction(theta) * exact_sum(price * n for price, n in zip(prices, quotas, strict=True))
            lower = self.quotas.largest(prices, supply, self.level)
            if lower >= self.level:
                break
            self.level = lower

    def fix(self) -> bool:
        """Fix the jobs that limit the others or are at their maximum; return whether any is still free."""
        blocks = self._pi > _BLOCKS * self._pi.sum()
        for job, quota in enumerate(self.quotas.at(self.level)):
            if job not in self.fixed and (blocks[job] or self.quotas.tops[job] <= self.level):
                self.fixed[job] = quota
        return len(self.fixed) < len(blocks)

    def wanted(self) -> list[int]:
        """Fewest worker-slots that the last optimum gives every job."""
        return [self.fixed.get(job, quota) for job, quota in enumerate(self.quotas.at(self.level))]

    def _solve(self, quotas: Sequence[int]) -> float:
        """The largest fraction of these quotas, up to 1, that can be met beside the fixed ones."""
        program, jobs, first = self.program, len(quotas), len(self.program.columns)
        rows = program.rows.copy()
        for job, quota in enumerate(quotas):
            if quota:
                rows.add([(first + job, -1.0), (first + jobs, float(quota))], 0.0)
        for job, quota in self.fixed.items():
            rows.add([(first + job, -1.0)], -quota * (1 - _LOOSE))
        costs = np.zeros(first + jobs + 1)
        costs[-1] = -1.0
        bounds = [(0.0, most) for most in program.upper] + [(0.0, float(table.units)) for table in program.tables]
        answer = linear_program(
            costs,
            a_ub=rows.matrix(len(costs)),
            b_ub=rows.right,
            bounds=[*bounds, (0.0, 1.0)],
            time_s=self.budget.left.time_s,
        )
        program.point, program.duals = answer.x, np.maximum(0.0, -answer.upper)
        return -answer.objective


TRIES = 60
"""Number of rings from which a job tries to take workers before it gives up."""
ROUNDS = 20
"""How often jobs that gave up try again after others have changed."""
_HAIR = 1e-12  # relative; utilities that differ by less are equal


class Filling:
    """Raises the utilities of a plan in place, the least first."""

    def __init__(self, plan: Plan) -> None:
        self.plan, self.network = plan, plan.network
        self._values = [np.maximum.accumulate(table.values) for table in plan.tables]
        self._open: list[list[int]] = []
        self._reopen()

    def fill(self) -> None:
        """Repeatedly raise the least utility by free capacity."""
        self._least_first(self._grow)

    def repair(self) -> None:
        """Repeatedly raise the least utility by free capacity or by workers of richer jobs."""
        for _ in range(ROUNDS):
            self._reopen()
            if not self._least_first(lambda job: self._grow(job) or self._take(job)):
                break

    def _value(self, job: int, less: int = 0) -> float:
        return float(self._values[job][self.plan.spent[job] - less])

    def _reopen(self) -> None:
        """Assume again that every slot from its arrival on can take a worker of a job."""
        slots, jobs = self.network.slots, self.network.instance.jobs
        self._open = [[number for number in slots if number >= job.arrival_slot] for job in jobs]

    def _least_first(self, lift: Callable[[int], set[int]]) -> bool:
        """Raise the job with the least utility until none can be raised; ``lift`` returns the jobs that it changed."""
        queue = [(self._value(job), job) for job in range(len(self._values))]
        heapq.heapify(queue)
        lifted = False
        while queue:
            value, job = heapq.heappop(queue)
            # An entry is stale when the job's utility has changed since.
            if value == self._value(job):
                self.plan.tick()
                for other in lift(job):
                    heapq.heappush(queue, (self._value(other), other))
                    lifted = True
        return lifted

    def _missing(self, job: int) -> int:
        """Further worker-slots with which the utility of a job rises; 0 if none do."""
        values, spent = self._values[job], self.plan.spent[job]
        after = int(np.searchsorted(values, values[spent] * (1 + _HAIR), side="right"))
        return after - spent if after < len(values) else 0

    def _grow(self, job: int) -> set[int]:
        """Raise a job by free capacity, or change nothing; return the jobs changed."""
        target = self.plan.spent[job] + self._missing(job)
        room, before, saved = self._open[job], self.plan.spent[job], dict[int, Slot]()
        while self.plan.spent[job] < target and room:
            saved.setdefault(room[-1], self.plan.slots[room[-1]].copy())
            if not self._widen(job, room[-1]):
                room.pop()
        if before < target <= self.plan.spent[job]:
            return {job}
        # Not enough room for a higher utility: undo, and open the slots again that were closed on the way.
        if self.plan.spent[job] > before:
            self._restore(saved)
            self._open[job] = sorted({*room, *saved})
        return set()

    def _widen(self, job: int, number: int) -> bool:
        """Give a job the fewest further workers in a slot with which its ring can be closed; in a forest one."""
        count = self.plan.slots[number].count(job)
        remaining = int(self.network.total[job]) - self.plan.spent[job]
        most = min(int(self.network.most[job]), count + (min(remaining, 1) if self.network.forest else remaining))
        return any(self.plan.resize(job, number, more) for more in range(count + 1, most + 1))

    def _take(self, job: int) -> set[int]:
        """Raise a job by free capacity and workers of richer jobs, or change nothing; return the jobs changed."""
        target, floor = self.plan.spent[job] + self._missing(job), self._value(job) * (1 + _HAIR)
        if target == self.plan.spent[job]:
            return set()
        changed, saved = {job}, dict[int, Slot]()
        while self.plan.spent[job] < target:
            for donor, number in islice(self._donors(job, floor), TRIES):
                slot = self._exchanged(job, donor, number, floor)
                if slot is not None:
                    saved.setdefault(number, self.plan.slots[number])
                    self.plan.replace(number, slot)
                    changed.add(donor)
                    break
            else:
                self._restore(saved)
                return set()
        return changed

    def _donors(self, job: int, floor: float) -> Iterator[tuple[int, int]]:
        """Jobs and slots from which a job could take workers, the richest first."""
        first, most = self.network.instance.jobs[job].arrival_slot, int(self.network.most[job])
        slots = {number: slot for number, slot in self.plan.slots.items() if number >= first and slot.count(job) < most}
        for donor in sorted(range(len(self._values)), key=lambda other: (-self._value(other), other)):
            if self._value(donor) <= floor:
                break
            yield from ((donor, number) for number, slot in slots.items() if donor != job and donor in slot.rings)

    def _exchanged(self, job: int, donor: int, number: int, floor: float) -> Slot | None:
        """The slot with one worker more of the job and fewer of the donor, which stays above ``floor``; else None."""
        slot = self.plan.slots[number].copy()
        more, workers = slot.count(job) + 1, slot.count(donor)
        for less in range(1, workers + 1):
            if self._value(donor, less) <= floor:
                return None
            if slot.resize(donor, workers - less) and slot.resize(job, more):
                return slot
        return None

    def _restore(self, saved: dict[int, Slot]) -> None:
        for number, slot in saved.items():
            self.plan.replace(number, slot)


LEVELS = 40
"""Largest number of levels of the relaxation that the plan follows."""
_LOWER = 0.97  # of the first level: the lower level whose quotas leave some room


def plan(instance: Instance, budget: Budget | None = None) -> Embedding:
    """Follow the relaxation's levels of utility (see the module).

    Guarantee: none; ``horizon`` bounds its least utility.

    Cost: linear programs, some for each level, then one search for servers per worker.
    """
    water, plans = Water(instance, budget), list[Embedding]()
    most = raise_levels(water)

    def keep(found: Embedding) -> bool:
        plans.append(found)
        return meets(ascending(instance, found)[0], most)

    place(Network(instance, budget), water, most, keep)
    return max(plans, key=lambda found: ascending(instance, found))


def ascending(instance: Instance, embedding: Embedding) -> list[float]:
    """Utilities of all jobs, the least first."""
    return sorted(utilities(instance, embedding).values())


def raise_levels(water: Water, first: Callable[[], None] = lambda: None) -> float:
    """Step 1; ``first`` is called at the first level, which is returned, or the least maximum of a job if lower."""
    most = float(water.quotas.tops.max())
    water.rise(most)
    least = min(water.level, float(water.quotas.tops.min()))
    first()
    for _ in range(LEVELS):
        if not water.fix():
            break
        water.rise(most)
    return least


def place(network: Network, water: Water, least: float, keep: Callable[[Embedding], bool]) -> None:
    """Steps 2 to 4, from one start after another until ``keep`` accepts a plan; it also receives unfinished ones."""

    def lower() -> Water:
        other = Water(network.instance, network.budget)
        other.rise(_LOWER * least)
        return other

    for start in (lambda: water, lower, None):
        placement = Plan(network)
        try:
            if start is None:
                placement.concentrate()
            else:
                levels = start()
                placement.follow(levels.program.by_epoch(levels.program.point), levels.wanted())
            filling = Filling(placement)
            filling.fill()
            filling.repair()
        finally:
            enough = keep(placement.embedding())
        if enough:
            break
