"""Plans of worker-slots for the whole horizon: a relaxation sets each job's worker-slots by epoch; then rings are placed.

1. *Totals.* The optimum of ``relaxation.relax``; where it lies between two corners of an S-shaped envelope it is
   worth less than the envelope says, so it is brought down to the corner below, and what that frees is used by step 4.
2. *Slots.* A job's worker-slots of an epoch are spread as evenly as integers can be; the odd ones go round the slots from
   one job to the next, so that slots differ by one in all.
3. *Rings.* Slot by slot, the largest rings first, each where it does least harm (``rings.placing``); where it does not fit,
   with fewer workers.
4. *Filling.* Worker-slots go, one after the other, to the job with the largest average gain per share of the resources (up
   to the next corner of its envelope), in a slot in which its ring can be closed, until nothing fits or gains any more.
   They have to gain more than their energy costs, with the power of the servers that they switch on; slots that need no
   further server come first. Where servers that are on cost something, ``merge`` comes before that. If the answer is
   worth less than running nothing, the slots are filled from nothing.

*Merging* switches servers off and on, slot after slot, if that pays. *Off*: the rings of a server move to servers that are on
in the slot or cost less; workers that do not fit there get worker-slots in other slots, if those need no further server;
what fits nowhere is lost. Servers that cost the most for each of their workers come first. *On*: servers that several rings
pay for together (``slot.slot_program``). Then free capacity is filled.

*Ascent* chooses the rings of each slot anew, best for the other slots' rings, until no slot gains: by the program of one slot
(``slot.slot_program``), with gains mu_i(zeta_i (z_i' + n)) - mu_i(zeta_i z_i') where z_i' are the worker-slots in the others,
less what energy costs. The objective never falls.

A plan has no guarantee by itself; the relaxation's certificate bounds it. Ours; no paper.
"""

import heapq
import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from dlsched.algorithms.utility_tables import Floats, UtilityTable
from dlsched.core.gap import MEETING
from dlsched.core.limits import Budget
from dlsched.ring_embedding.heuristics.slot_greedy import net_tables
from dlsched.ring_embedding.instance import Instance
from dlsched.ring_embedding.relaxation import relax
from dlsched.ring_embedding.rings.network import Gains, Network
from dlsched.ring_embedding.rings.placing import Slot, embedding
from dlsched.ring_embedding.rings.rows import epochs
from dlsched.ring_embedding.slot.mapping_program import MappingProgram
from dlsched.ring_embedding.slot.slot_program import fill_slot, opened, without
from dlsched.ring_embedding.solution import Embedding

Full = set[tuple[int, float]]
"""Slots that are full, by the price that may be paid there."""
FREE = 1e-300
"""Price up to which a worker-slot counts as free."""

MERGING_ROUNDS = 10
_LITTLE = 1e-3  # relative gain; the first round below it is the last
_MERGING_ROUNDING = 1e-9

Split = Mapping[tuple[int, int], float]
"""Worker-slots by job and epoch."""
_ROUNDING = 1e-6


def plan(instance: Instance, budget: Budget | None = None) -> Embedding:
    """Follow the relaxation over all slots (see the module); it knows all jobs from the first slot on.

    ``budget``: asked for every slot and worker-slot, and for the time left before every linear program.

    Guarantee: none; ``horizon`` bounds it, and where the two meet it is optimal.

    Cost: linear programs of some rounds, as ``horizon``, then one search for servers per worker.

    Source: ours.

    >>> from dlsched import ring_embedding
    >>> instance = ring_embedding.example()
    >>> ring_embedding.check(instance, ring_embedding.plan(instance))
    []
    """
    relaxed = relax(instance, budget)
    placement = Plan(Network(instance, budget))
    placement.place(relaxed.by_epoch, relaxed.totals)
    return placement.embedding()


class Plan:
    """Slots, and the worker-slots of every job in them; ``net``: utilities less the price of the workers' energy."""

    def __init__(self, network: Network) -> None:
        self.network, self.tables, self.net = network, network.tables, net_tables(network)
        self.slots: dict[int, Slot] = {}
        for number in network.slots:
            network.tick()
            self.slots[number] = Slot(network)
        self._rings = 0  # placed so far, including those removed again
        self.spent = [0] * len(self.tables)

    def tick(self) -> None:
        """Stop at a limit, or earlier by the time that making and checking the answer takes."""
        self.network.tick(self._rings)

    def embedding(self) -> Embedding:
        """The embedding of the slots as they are."""
        return embedding(self.network, self.slots)

    def gain(self) -> float:
        """Total utility beyond that of running nothing, less the price of energy, in floats."""
        pairs = zip(self.net, self.spent, strict=True)
        gained = sum(float(table.values[count] - table.values[0]) for table, count in pairs)
        return gained - sum(slot.on_price for slot in self.slots.values())

    def gains(self, number: int) -> Gains:
        """What each job gains by workers in a slot, beside its worker-slots in the others."""
        gains = {}
        for job, record in enumerate(self.network.instance.jobs):
            other = self.spent[job] - self.slots[number].count(job)
            most = min(int(self.network.most[job]), int(self.network.total[job]) - other)
            if record.arrival_slot <= number and most > 0:
                gains[job] = self.network.gains(job, other, most)
        return gains

    def resize(self, job: int, number: int, count: int, worth: float = math.inf) -> bool:
        """Give the job ``count`` workers in a slot if its ring can be closed and its further servers cost less than ``worth``.

        The caller keeps the job's limits.
        """
        slot = self.slots[number]
        before = slot.count(job)
        done = slot.grow(job, count, worth)
        if done:
            self.spent[job] += count - before
            self._rings += not before
        return done

    def replace(self, number: int, slot: Slot) -> None:
        """Replace a slot by another."""
        for job in range(len(self.spent)):
            self.spent[job] += slot.count(job) - self.slots[number].count(job)
        self.slots[number] = slot

    def fill(self) -> None:
        """Fill the slots (see the module); the objective never falls."""
        queue = [entry for job in range(len(self.spent)) for entry in self._next(job)]
        heapq.heapify(queue)
        full: dict[int, Full] = {job: set() for job in range(len(self.spent))}
        while queue:
            # An entry is stale when its job has got worker-slots in the meantime.
            _, job, steps, spent = heapq.heappop(queue)
            if spent != self.spent[job]:
                continue
            self.tick()
            if self._grow(job, steps, full[job]):
                for entry in self._next(job):
                    heapq.heappush(queue, entry)

    def _next(self, job: int) -> list[tuple[float, int, int, int]]:
        slope, steps = self.net[job].slope(self.spent[job])
        return [(-slope / float(self.network.share[job]), job, steps, self.spent[job])] if slope > 0 else []

    def _grow(self, job: int, steps: int, full: Full) -> bool:
        """Give a job ``steps`` more worker-slots, or none; ``full``: slots known to take none."""
        most, begin = int(self.network.most[job]), self.network.instance.jobs[job].arrival_slot
        values = self.net[job].values
        worth = float(values[self.spent[job] + steps] - values[self.spent[job]])
        done: list[tuple[int, int]] = []
        # First slots in which no further server has to be switched on, then those whose power the gain pays for.
        for limit in (FREE, math.inf) if self.network.on_price.any() else (math.inf,):
            for number in range(begin, self.network.instance.slots + 1):
                if (number, limit) in full:
                    continue
                slot = self.slots[number]
                before, paid = slot.count(job), slot.on_price
                count = before
                while len(done) < steps and count < most and self.resize(job, number, count + 1, min(limit, worth)):
                    count += 1
                    done.append((number, before))
                    worth, paid = worth - (slot.on_price - paid), slot.on_price
                if len(done) == steps:
                    return True
                full.add((number, limit))
        for number, before in reversed(done):
            self.resize(job, number, before)
        return False

    def place(self, by_epoch: Split, totals: Floats) -> None:
        """All steps, from worker-slots by job and epoch, and by job, shape (I,)."""
        self.follow(by_epoch, whole_totals(totals, self.tables))
        if self.network.on_price.any():
            merge(self)
        else:
            self.fill()
        if self.gain() < 0:
            for number in self.slots:
                self.replace(number, Slot(self.network))
            self.fill()

    def follow(self, by_epoch: Split, totals: list[int]) -> None:
        """Steps 2 and 3: place what the relaxation gives, up to ``totals``, from which it is subtracted."""
        wanted: dict[int, list[tuple[int, int]]] = {number: [] for number in self.slots}
        for e, span in enumerate(epochs(self.network.instance)):
            turn = 0
            for job in range(len(totals)):
                most = int(self.network.most[job])  # a solver may exceed it by rounding
                whole = min(int(by_epoch.get((job, e), 0.0) + _ROUNDING), totals[job], most * span.slots)
                totals[job] -= whole
                # A job's odd worker-slots begin where those of the job before ended, so slots differ by one in all.
                each, odd = divmod(whole, span.slots)
                self.network.tick()
                for index in range(span.slots):
                    count = min(each + ((index - turn) % span.slots < odd), most)
                    if count:
                        wanted[span.first + index].append((count, job))
                turn += odd
        for number, rings in wanted.items():
            self.network.tick(self._rings)
            # Largest share first: small rings fit between large ones, not the other way round.
            for count, job in sorted(rings, key=lambda ring: (-ring[0] * self.network.share[ring[1]], ring[1])):
                self._place_most(job, number, count)

    def concentrate(self) -> None:
        """Without a relaxation: place the largest rings in every slot, those that gain the most first."""
        for number in self.slots:
            self.network.tick(self._rings)
            # With listed paths a ring may exist for many workers but not for few.
            waiting = []
            for job, record in enumerate(self.network.instance.jobs):
                most = min(int(self.network.most[job]), int(self.network.total[job]) - self.spent[job])
                if record.arrival_slot <= number and most > 0:
                    values = self.net[job].values
                    waiting.append((-float(values[self.spent[job] + most] - values[self.spent[job]]), job, most))
            for gain, job, most in sorted(waiting):
                self._place_most(job, number, most if gain < 0 else 0)

    def _place_most(self, job: int, number: int, count: int) -> None:
        """Give the job the most workers, up to ``count``, in a slot in which it has none."""
        while count and not self.resize(job, number, count):
            count -= 1


def merge(plan: Plan) -> None:
    """Switch servers off and on in place and fill free capacity, in rounds; the objective never falls."""
    worth = plan.gain()
    for _ in range(MERGING_ROUNDS):
        full: dict[int, set[int]] = {job: set() for job in range(len(plan.spent))}
        for number, server in _by_use(plan):
            plan.tick()
            # First onto servers that are on already; if that does not pay, onto cheaper ones too.
            for below in (0.0, float(plan.network.on_price[server])):
                if plan.slots[number].used[server] and _switch_off(plan, number, server, below, full):
                    break
        for number in plan.slots:
            plan.tick()
            plan.replace(number, opened(plan.slots[number], plan.gains(number)))
        plan.fill()
        before, worth = worth, plan.gain()
        if worth <= before + _LITTLE * abs(before):
            break


def _by_use(plan: Plan) -> list[tuple[int, int]]:
    """Pairs of a slot and a server that is on and costs something, the highest cost per worker first."""
    price = plan.network.on_price
    rates = {
        (number, server): float(price[server] / slot.used[server])
        for number, slot in plan.slots.items()
        for server in np.flatnonzero((slot.used > 0) & (price > 0)).tolist()
    }
    return sorted(rates, key=lambda place: (-rates[place], place))


def _switch_off(plan: Plan, number: int, server: int, below: float, full: dict[int, set[int]]) -> bool:
    """Switch a server off, and servers cheaper than ``below`` on; if that does not pay, undo it: False.

    ``full``: slots known to take no further worker, by job.
    """
    slot, spent_before = plan.slots[number], list(plan.spent)
    counts = {job: slot.count(job) for job, (workers, _, _) in slot.rings.items() if server in workers}
    gains = {job: plan.network.gains(job, spent_before[job] - count, count) for job, count in counts.items()}
    other, touched = without(slot, server, gains, below), {number: slot}
    saved = slot.on_price - other.on_price
    plan.replace(number, other)
    # Worker-slots that fit on no other server of this slot go to other slots; what fits nowhere is lost.
    for job in counts:
        if plan.spent[job] < spent_before[job]:
            _elsewhere(plan, job, spent_before[job], touched, full[job])
    lost = sum(float(plan.net[job].values[spent_before[job]] - plan.net[job].values[plan.spent[job]]) for job in counts)
    pays = saved - lost > _MERGING_ROUNDING * saved
    if not pays:
        for changed, before in touched.items():
            plan.replace(changed, before)
    return pays


def _elsewhere(plan: Plan, job: int, total: int, touched: dict[int, Slot], full: set[int]) -> None:
    """Give a job up to ``total`` worker-slots on servers that are on; ``touched``: the slots before any change."""
    most, begin = int(plan.network.most[job]), plan.network.instance.jobs[job].arrival_slot
    for number in range(begin, plan.network.instance.slots + 1):
        if number in full or plan.spent[job] == total:
            continue
        slot = plan.slots[number]
        before, known = slot.copy(), number in touched
        while (
            plan.spent[job] < total and slot.count(job) < most and plan.resize(job, number, slot.count(job) + 1, FREE)
        ):
            touched.setdefault(number, before)
        if not known and number not in touched:
            full.add(number)


def whole_totals(totals: Floats, tables: Sequence[UtilityTable]) -> list[int]:
    """Step 1: whole worker-slots by job, on a corner of the envelope where it is above the utility."""
    found = []
    for total, table in zip(totals.tolist(), tables, strict=True):
        whole = min(int(total + _ROUNDING), table.units)
        if not table.concave and table.envelope[whole] > table.values[whole] * (1 + _ROUNDING):
            whole = int(table.corners[np.searchsorted(table.corners, whole, side="right") - 1])
        found.append(whole)
    return found


ASCENT_ROUNDS = 20
_GAIN = 1e-9  # relative; less is rounding


def ascend(plan: Plan, *, better: Callable[[], None] = lambda: None, within: float = MEETING) -> None:
    """Improve a plan in place; ``better`` is called on every improvement; a slot is optimal at a gap of ``within``."""
    network, program = plan.network, MappingProgram(plan.network)
    for _ in range(ASCENT_ROUNDS):
        before = plan.gain()
        for number, slot in plan.slots.items():
            network.tick()
            gains = plan.gains(number)
            start = {job: placed for job, placed in slot.rings.items() if job in gains}
            found = fill_slot(network, gains, program, start=start, within=within)
            if found.gain > slot.worth(gains) + _GAIN * before:
                plan.replace(number, found.slot)
                better()
        if plan.gain() <= before * (1 + _GAIN):
            break
