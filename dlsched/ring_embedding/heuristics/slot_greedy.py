"""Heuristics that fill slot after slot: the slot greedy, Gadget, and steady plans.

*Steady* plans have the same rings in all slots of a stretch; all stretches are equally long. The first slot of a stretch is
filled greedily with what n workers gain in all of it, for each slot, on the concave envelope if a utility is S-shaped. So the
work does not grow with the number of slots, and in large instances a search holds this answer before it solves the
relaxation. Jobs that arrive within a stretch wait for the next one.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from dlsched.algorithms.utility_tables import Floats, UtilityTable
from dlsched.core.elementary import float_power
from dlsched.core.family import Guarantee
from dlsched.core.limits import Budget
from dlsched.ring_embedding.instance import Instance
from dlsched.ring_embedding.objectives import SUM, objective_of, require_served
from dlsched.ring_embedding.rings.network import Gains, Network
from dlsched.ring_embedding.rings.placing import Slot, embedding
from dlsched.ring_embedding.slot.g_vne import g_vne
from dlsched.ring_embedding.slot.mapping_program import MappingProgram
from dlsched.ring_embedding.slot.slot_program import fill
from dlsched.ring_embedding.solution import Embedding

SolveSlot = Callable[[Network, Sequence[int], Gains], Slot]
Keep = Callable[[Embedding], None]
"""Receives the slots filled so far, a feasible embedding, if anything raises."""


def forget(embedding: Embedding) -> None:
    """The ``keep`` of callers that need no answer if stopped."""


def net_tables(network: Network) -> list[UtilityTable]:
    """Utilities less the price of the workers' energy, so they may fall; without the power of servers."""
    found = []
    for table, price in zip(network.tables, network.worker_price.tolist(), strict=True):
        values = table.values - price * np.arange(len(table.values)) if price else table.values
        found.append(replace(table, values=values) if price else table)
    return found


class Progress:
    """Worker-slots of every job so far; a job is finished if its budget is spent or more would gain nothing.

    ``tables``: utilities less the price of the workers' energy; ``count``, shape (I,): what jobs have; ``enough``: the least
    worker-slots that are worth as much as any that a job can have.
    """

    def __init__(self, network: Network) -> None:
        self.network, self.tables = network, net_tables(network)
        self.enough = np.array([int(np.argmax(table.values)) for table in self.tables])
        self.count = np.zeros(len(self.tables), dtype=np.int64)

    def available(self, number: int) -> list[int]:
        """Jobs that have arrived by this slot and are not finished."""
        jobs = self.network.instance.jobs
        return [i for i, job in enumerate(jobs) if job.arrival_slot <= number and self.most(i) > 0]

    def most(self, job: int) -> int:
        """The most workers that are of use in one slot."""
        return min(int(self.network.most[job]), int(self.enough[job] - self.count[job]))

    def gains(self, job: int) -> Floats:
        """mu(zeta (z + n)) - mu(zeta z), less the price of energy, for n = 0 .. ``most(job)``."""
        return self.network.gains(job, int(self.count[job]), self.most(job))

    def add(self, slot: Slot) -> None:
        """Count the workers of a slot."""
        for job in slot.rings:
            self.count[job] += slot.count(job)


FillSlot = Callable[[Progress, int, Slot], Slot]
"""Fills a slot, given the progress of jobs, the slot's number and the slot before."""


def slot_by_slot(network: Network, fill_slot: FillSlot, keep: Keep) -> Embedding:
    """Fill slot after slot until every job is finished; if anything raises, ``keep`` receives the slots so far."""
    slots: dict[int, Slot] = {}
    rings, last = 0, max(job.arrival_slot for job in network.instance.jobs)
    try:
        progress, before = Progress(network), Slot(network)
        for number in network.slots:
            network.tick(rings)
            if number > last and not progress.available(number):
                break
            slots[number] = before = fill_slot(progress, number, before)
            progress.add(before)
            rings += len(before.rings)
    except BaseException:
        keep(embedding(network, slots))
        raise
    return embedding(network, slots)


def slot_greedy(
    instance: Instance, solve_slot: SolveSlot, budget: Budget | None = None, keep: Keep = forget
) -> Embedding:
    """Take in every slot the rings that increase total utility the most.

    Parameters
    ----------
    solve_slot
        Given the network, the jobs that gain something in the slot, and gains[job][n] for n = 0 .. the most workers of use,
        returns a slot of largest total gain. Gains need not be concave. What is left, it can ask of the network's budget.
    budget
        Asked before every slot, and in all that takes long on the network.
    keep
        Hears of the slots filled so far, a feasible embedding, when anything raises.

    Guarantee: at least 1/2 of the optimum when every mu is concave and non-decreasing with mu(0) >= 0, and a slot's rings
    stay feasible when workers are taken away: in a forest they do. Proof: where the optimum's z*_i passes the greedy's
    z_i, keep z*_i - z_i of the optimum's workers of job i, and drop all others. What is kept in slot t was open to the
    greedy in slot t (the budget too: its z_i so far and what is kept are at most z*_i), and by concavity it would have
    gained there at least what it adds to the greedy's end. So U(z*) - U(z) <= U(z) - U(0), summed over the slots. If all
    jobs arrive at once, with T slots to go, what is kept of any slot is open in all, so that each gains a T-th of
    U(z*) - U(z) or more: at least 1 - (1 - 1/T)^T of the optimum.

    When ``solve_slot`` reaches only alpha of the largest increase: alpha / (1 + alpha) (Yu et al., INFOCOM 2022, Theorem
    6, said of the increase). It does not apply to a sigmoid with a midpoint > 0; nor by listed paths, where a ring
    without one of its servers may have no route, or may cross a narrow link more often. Nor where energy costs something: a
    server that is on for the optimum's other workers is not paid for by those kept. The objective ``max_min`` is refused
    (``UsageError``).

    Cost: T times that of ``solve_slot``.
    """
    require_served(instance, "slot-greedy")
    network = Network(instance, budget)

    def fill_slot(progress: Progress, number: int, before: Slot) -> Slot:
        gains = {job: progress.gains(job) for job in progress.available(number)}
        gains = {job: gain for job, gain in gains.items() if gain.max() > 0}
        return solve_slot(network, list(gains), gains) if gains else Slot(network)

    return slot_by_slot(network, fill_slot, keep)


def gadget(
    instance: Instance,
    rng: np.random.Generator,
    *,
    repair: bool = True,
    tries: int = 10,
    budget: Budget | None = None,
    keep: Keep = forget,
) -> Embedding:
    """Embed rings slot by slot.

    Parameters
    ----------
    rng
        Draws the mappings.
    repair
        Whether every slot is made feasible and what its rings leave free is filled (ours). Without it the embedding is that
        of the paper, which may overuse servers and links: ``check`` says by how much.
    tries
        As ``g_vne`` takes it.
    budget, keep
        As ``slot_greedy`` takes them.

    Guarantee: 1/(3 Gamma + 1) of the optimum, Gamma the largest ring size, for concave mu, with overuse of probability at
    most ``|V|^-4`` and ``|E|^-4`` a slot (Theorem 10). None for a sigmoid with a midpoint > 0, with repair, or where energy
    costs something. The objective ``max_min`` is refused (``UsageError``).

    Cost: that of T linear programs; a slot finds the mappings that were good before.
    """
    require_served(instance, "gadget")
    programs: list[MappingProgram] = []

    def solve_slot(network: Network, jobs: Sequence[int], gains: Gains) -> Slot:
        del jobs
        if not programs:
            programs.append(MappingProgram(network))
        return g_vne(network, gains, rng, tries=tries, repair=repair, program=programs[0]).slot

    return slot_greedy(instance, solve_slot, budget, keep)


STRETCHES = 40


def steady(network: Network, keep: Keep = forget) -> Embedding:
    """Fill stretch after stretch (see the module); if anything raises, ``keep`` receives the stretches so far.

    Guarantee: none. Cost: ``STRETCHES`` times that of ``slot.slot_program.fill``, and the rings of all slots. Source: ours.
    """
    progress, last = Progress(network), network.slots[-1]
    length = -(-len(network.slots) // STRETCHES)
    slots: dict[int, Slot] = {}
    rings = 0
    try:
        for first in network.slots[::length]:
            network.tick(rings)
            numbers = range(first, min(first + length, last + 1))
            slot = Slot(network)
            fill(slot, {job: _gains(progress, job, len(numbers)) for job in progress.available(first)})
            slots |= dict.fromkeys(numbers, slot)
            for job in slot.rings:
                progress.count[job] += slot.count(job) * len(numbers)
            rings += len(slot.rings) * len(numbers)
    except BaseException:
        keep(embedding(network, slots))
        raise
    return embedding(network, slots)


def rings_wanted(network: Network) -> int:
    """Rough upper bound on useful rings: each job has all its workers until more are useless."""
    progress, last = Progress(network), network.slots[-1]
    slots = (last + 1 - job.arrival_slot for job in network.instance.jobs)
    of_use = -(-progress.enough // np.maximum(network.most, 1))
    return sum(min(each, int(most)) for each, most in zip(slots, of_use, strict=True))


def _gains(progress: Progress, job: int, slots: int) -> Floats:
    """Gains of 0, 1, 2 ... workers in each of ``slots`` slots, less the price of their energy."""
    table, count = progress.tables[job], int(progress.count[job])
    most = min(int(progress.network.most[job]), int(progress.enough[job] - count) // slots)
    at = count + slots * np.arange(most + 1)
    values = table.values if table.concave else table.envelope
    gains: Floats = (values[at] - values[count]) / slots
    return gains


_ROUNDING = 1e-9
_SOLVED = 1e-6  # relative precision to which the programs of slots are solved


def applies(instance: Instance) -> bool:
    """Whether utilities are concave, the network is a forest (rings may lose workers), and energy costs nothing."""
    if objective_of(instance) is not SUM:
        return False
    return instance.paths is None and all(job.utility.concave for job in instance.jobs)


def share(instance: Instance) -> float:
    """Part of the optimum: 1/2, and 1 - (1 - 1/T)^T, above 1 - 1/e, where all jobs arrive with T slots to go."""
    arrivals = {job.arrival_slot for job in instance.jobs}
    slots = instance.slots - min(arrivals) + 1
    return 0.5 if len(arrivals) > 1 else 1 - float_power(1 - 1 / slots, slots)


HALF = Guarantee[Instance](
    "at least 1/2 of the optimum (tight) when utilities are concave, the network is a forest and every slot was proven; "
    "1 - 1/e if all jobs arrive at once; nothing for a sigmoid, or where energy costs something",
    applies,
    lambda instance, optimum: max((1 - _ROUNDING) / 2, share(instance) * (1 - _SOLVED)) * optimum,
)
