"""Heuristics that fill slot after slot: the slot greedy, Gadget with its G-VNE, and steady plans.

*G-VNE*: one slot by randomised rounding of the linear program over ring mappings (Yu et al., INFOCOM 2022, Alg. 2).

1. Solve the linear relaxation of the slot's embedding program with ring-size choice: chi_ik is the part to which job i
   runs with k workers, sum_k chi_ik <= 1, and earns pi_ik chi_ik with pi_ik = gain_i(k).
2. Keep for each job the size with the largest pi_ik chi_ik.
3. Decompose its chi_ik into valid mappings with weights that add up to chi_ik.
4. Draw for each job at most one mapping, with the weights as probabilities; retry up to ``tries`` times.

The relaxation is solved over mappings (``mapping_program``). That is the same program as one over arcs with one copy per
server that hosts worker 1: within the copy of root s a request is cut at worker 1, so it is a path from s back to s
through layers, one for each number of workers placed; a flow from s to s in this acyclic graph is a sum of such paths,
each of which is a mapping, with the weights of the flow; and every mapping is such a path. Without the copies, a flow may
join the first half of one walk and the second of another, which is not a ring: a cyclic request does not decompose (Rost and
Schmid, IFIP Networking 2018). In a forest the root is the first server in depth-first order. Solved over mappings, the
decomposition is the solution itself.

Where the paper leaves it open, our reading:

* A mapping leaves at a server at most the workers that the empty server holds. Without that, k workers on one server
  would be a mapping of any request: replacing a mapping of servers s_1 .. s_k by k mappings on s_j alone, of weight 1/k
  each, keeps every server's load and frees all links, so the program would not see the network.
* Weights are probabilities as they are, not scaled up to 1: with probability 1 - chi_ik the job does not run.
* The first try that gains at least a third of the program's value is taken, the third being that of Theorem 8; if none
  does, the one that gains the most, the first of equals. Overuse of servers and links does not reject a try: the theorem
  bounds it, and it is reported.

Guarantee [Theorem 8 and its selection of sizes]: 1/(3 Gamma) of the slot's optimum, Gamma the largest ring size, with
overuse of capacity and bandwidth whose probability is at most |V|^-4 and |E|^-4. ``repair=True`` is ours: nothing is
overused, the rings that do not fit move, shrink or go, and what is left free is filled; servers are switched on and off where
that pays. It has no guarantee.

*Steady* plans have the same rings in all slots of a stretch; all stretches are equally long. The first slot of a stretch is
filled greedily with what n workers gain in all of it, for each slot, on the concave envelope if a utility is S-shaped. So the
work does not grow with the number of slots, and in large instances a search holds this answer before it solves the
relaxation. Jobs that arrive within a stretch wait for the next one.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dlsched.algorithms.utility_tables import Floats, UtilityTable
from dlsched.core.elementary import float_power
from dlsched.core.errors import UsageError
from dlsched.core.family import Guarantee
from dlsched.core.limits import Budget
from dlsched.ring_embedding.instance import Instance
from dlsched.ring_embedding.objectives import SUM, objective_of, require_served
from dlsched.ring_embedding.rings.network import Gains, Network, Placed
from dlsched.ring_embedding.rings.placing import Slot, embedding
from dlsched.ring_embedding.slot.mapping_program import MappingProgram, Relaxation, Weighted
from dlsched.ring_embedding.slot.slot_program import fill, switched
from dlsched.ring_embedding.solution import Embedding

THIRD = 1 / 3


@dataclass(frozen=True, slots=True, eq=False)
class Rounded:
    """One slot by G-VNE; ``gain`` is less energy, ``bound`` the linear program's value, above every slot's gain.

    The rest is of the try taken, before repair: its gain ``drawn``; ``capacity`` and ``bandwidth``, the largest part used of
    a server's resource and of a directed link; ``revisits``, rings that pass a server twice, on listed paths only.
    """

    slot: Slot
    gain: float
    bound: float
    tries: int
    drawn: float
    capacity: float
    bandwidth: float
    revisits: int


def g_vne(
    network: Network,
    gains: Gains,
    rng: "np.random.Generator",
    *,
    tries: int = 10,
    repair: bool = True,
    program: MappingProgram | None = None,
    close: float = 1e-6,
) -> Rounded:
    """Embed rings in one slot; see the module.

    Parameters
    ----------
    network
        Of the instance.
    gains
        Of every job that may run, by number of workers: shape (n + 1,) for at most n workers, the first 0.
    rng
        Draws the mappings.
    tries
        ub, >= 1.
    repair
        Whether to make the rings feasible and fill what they leave free.
    program
        Mappings of earlier slots of this network; by default none.
    close
        Relative precision of the linear program.

    Raises
    ------
    UsageError
        ``tries`` < 1.

    Cost: the linear program; then O(I) a try.
    """
    if tries < 1:
        raise UsageError(where="tries", found=tries, allowed="a number >= 1")
    full = Slot(network)
    fill(full, gains)
    relaxation = (program or MappingProgram(network)).solve(gains, full.rings, close=close)
    likely = likeliest(relaxation, gains)
    # Draw until a try gains a third of the program's value; else the best of all tries counts.
    drawn, turn = 0.0, 0
    best: dict[int, Placed] = {}
    while turn == 0 or (turn < tries and drawn < THIRD * relaxation.value):
        turn += 1
        rings = _draw(likely, rng)
        gain = _worth(network, rings, gains)
        if gain > drawn:
            drawn, best = gain, rings
    slot = Slot(network)
    for job, placed in best.items():
        slot.put(job, placed)
    positive = network.capacity > 0
    capacity = 1 - float((slot.free[positive] / network.capacity[positive]).min(initial=1.0))
    bandwidth = 1 - float((slot.spare / network.bandwidth).min(initial=1.0))
    revisits = sum(len(order) > len(workers) for workers, order, _ in best.values())
    if repair:
        slot = _repaired(network, best, gains)
    return Rounded(slot, slot.worth(gains), relaxation.bound, turn, drawn, capacity, bandwidth, revisits)


def likeliest(relaxation: Relaxation, gains: Gains) -> dict[int, list[Weighted]]:
    """The mappings of each job's size with the largest pi_ik chi_ik, the smallest of equals."""
    chosen: dict[int, dict[int, list[Weighted]]] = {}
    for each in relaxation.mappings:
        chosen.setdefault(each.job, {}).setdefault(each.size, []).append(each)
    return {
        job: max(
            (sizes[size] for size in sorted(sizes)),
            key=lambda mappings: gains[mappings[0].job][mappings[0].size] * sum(each.weight for each in mappings),
        )
        for job, sizes in sorted(chosen.items())
    }


def _draw(likely: Mapping[int, Sequence[Weighted]], rng: "np.random.Generator") -> dict[int, Placed]:
    """At most one mapping per job, each with its weight as probability."""
    rings = {}
    for (job, mappings), number in zip(likely.items(), rng.random(len(likely)), strict=True):
        at = int(np.searchsorted(np.cumsum([each.weight for each in mappings]), number, side="right"))
        if at < len(mappings):
            rings[job] = mappings[at].placed
    return rings


def _worth(network: Network, rings: Mapping[int, Placed], gains: Gains) -> float:
    """Gains of the rings, less the price of the servers that are on."""
    on = sorted({server for workers, _, _ in rings.values() for server in workers})
    gained = sum(gains[job][sum(workers.values())] for job, (workers, _, _) in rings.items())
    return float(gained - network.on_price[on].sum())


def _repaired(network: Network, rings: Mapping[int, Placed], gains: Gains) -> Slot:
    """Feasible rings, densest first: as drawn if that fits, else elsewhere, else smaller; then filled up."""
    slot = Slot(network)
    size = {job: sum(workers.values()) for job, (workers, _, _) in rings.items()}
    for job in sorted(rings, key=lambda job: (-gains[job][size[job]] / (size[job] * network.share[job]), job)):
        workers, order, _ = placed = rings[job]
        if len(order) == len(workers) and slot.fit(job, placed):
            continue
        any(slot.resize(job, count) for count in range(size[job], 0, -1) if gains[job][count] > 0)
    if slot.worth(gains) < 0:
        slot = Slot(network)
    fill(slot, gains)
    return switched(slot, gains)


SolveSlot = Callable[[Network, Sequence[int], Gains], Slot]
Keep = Callable[[Embedding], object]
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
    rng: "np.random.Generator",
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
