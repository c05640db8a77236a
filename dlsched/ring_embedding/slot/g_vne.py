"""G-VNE: one slot by randomised rounding of the linear program over ring mappings (Yu et al., INFOCOM 2022, Alg. 2).

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
that pays (``switching``). It has no guarantee.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dlsched.core.errors import UsageError
from dlsched.ring_embedding.rings.network import Gains, Network, Placed
from dlsched.ring_embedding.rings.placing import Slot
from dlsched.ring_embedding.slot.mapping_program import MappingProgram, Relaxation, Weighted
from dlsched.ring_embedding.slot.slot_program import fill, switched

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
    rng: np.random.Generator,
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


def _draw(likely: Mapping[int, Sequence[Weighted]], rng: np.random.Generator) -> dict[int, Placed]:
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
