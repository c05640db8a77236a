"""The program of one slot: which rings gain the most together; and improvement of a slot part by part.

1. ``filling`` fills the slot greedily.
2. The linear program over mappings (``mapping_program``) bounds what any rings can gain.
3. Of the mappings held, the best set is chosen by a mixed-integer program; and what is left free is filled.
4. *Closing*, in a forest. At the prices of the bound, B = what servers and links get + sum_i best_i with best_i the most
   that a ring of job i gains over its price, or 0. A solution that uses a ring with best_i - (gain - price) > delta gains
   less than B - delta: its rings gain over their prices that much less than sum_i best_i, and of the prices that they pay
   servers that are on keep sum_r price_sr C_s^r - e_s at most, links their price times bandwidth. So the best set among
   *all* rings within delta, when it gains B - delta or more, is the best of all. delta grows from a part of the gap to the
   gap: what is found within a part lowers the gap, and fewer rings are within it. The set is chosen, and proven best, by a
   solver.

*Improvement* of one slot, part by part: the program over mappings places some of its rings anew.

Large neighbourhood search (Shaw 1998). Every part is a slot program of few jobs in a network of what the other rings leave,
whose relaxation and rings held (``slot_program.fill_slot``) are found in a fraction of a second. Which jobs are taken out is
drawn: some that run on servers near each other, and with them all that have no ring.
"""

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dlsched.algorithms.utility_tables import Floats
from dlsched.core.arrays import dot
from dlsched.core.gap import MEETING, meets
from dlsched.core.limits import Limits, TooMany
from dlsched.core.status import TerminationStatus
from dlsched.ring_embedding.rings.network import ForestPrices, Gains, Network, Placed
from dlsched.ring_embedding.rings.placing import Slot
from dlsched.ring_embedding.slot.filling import fill, shares
from dlsched.ring_embedding.slot.mapping_program import Column, MappingProgram, Relaxation, Rows
from dlsched.solvers.milp import solve_milp
from dlsched.solvers.outcome import Outcome

Rings = list[tuple[int, Placed]]
"""Rings and their jobs."""
Better = Callable[[Slot], None]
"""Receives better slots."""

NODES = 500
"""Nodes of the program over the mappings held."""
RINGS = 12_000
"""Rings that step 4 takes into one program."""
QUICK = 500
"""Largest number of rings for which a program of ``NODES`` nodes is solved in this process: a new one costs
more."""
PARTS = 0.05, 0.1, 0.2, 0.5, 1.0
"""Values of delta, as parts of the gap, in order; one is skipped if a later one adds few rings to it."""
SMALL = 2000
"""Few rings: up to this number delta grows at once."""
GROWTH = 4
"""It also does up to this many times the rings of the smallest part: a program over them takes hardly longer."""

_MARGIN = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Filled:
    """A slot, the gain of its rings, an upper bound on any slot's gain, and the relaxation that proves it."""

    slot: Slot
    gain: float
    bound: float
    relaxation: Relaxation
    solver: str | None = None

    @property
    def proven(self) -> bool:
        """Whether the bound meets the gain."""
        return self.closed(MEETING)

    def closed(self, within: float) -> bool:
        """Whether the relative gap of bound and gain is at most ``within``."""
        return meets(self.gain, self.bound, within=within)

    def improved(self, gains: Gains, slot: Slot, bound: float | None = None, solver: str | None = None) -> "Filled":
        """The same with another slot, and with a solver's bound if that is stronger."""
        gain = gained(slot, gains)
        known = self.bound if bound is None else min(self.bound, bound)
        return Filled(slot, gain, max(known, gain), self.relaxation, solver or self.solver)


def gained(slot: Slot, gains: Gains) -> float:
    """Gains of a slot's rings, less the price of the servers that are on."""
    return sum(float(gains[job][slot.count(job)]) for job in slot.rings) - slot.on_price


def better_of(first: Slot, second: Slot, gains: Gains) -> Slot:
    """The slot that gains more, the first of equals."""
    return max(first, second, key=lambda slot: gained(slot, gains))


def fill_slot(
    network: Network,
    gains: Gains,
    program: MappingProgram,
    *,
    start: Mapping[int, Placed] | None = None,
    within: float = MEETING,
) -> Filled:
    """Steps 1 to 3, for gains by job and number of workers from 0 on; step 3 if the relative gap is above ``within``.

    ``start``: rings that fit; the result is at least as good. A limit on time or nodes ends step 3 with its incumbent.
    """
    share = shares(network)
    best = Slot(network)
    fill(best, gains, share)
    best = better_of(best, Slot(network), gains)
    if start is not None:
        best = better_of(best, filled(network, start, gains, share), gains)
    relaxation = program.solve(gains, best.rings)
    gain = gained(best, gains)
    if not meets(gain, relaxation.bound, within=within):
        rings = _chosen(network, gains, program, relaxation, gain)
        best = better_of(best, filled(network, rings, gains, share), gains)
    return Filled(best, gain, relaxation.bound, relaxation).improved(gains, best)


def filled(network: Network, rings: Mapping[int, Placed], gains: Gains, share: Floats) -> Slot:
    """A slot with the rings that fit, then filled up."""
    slot = Slot(network)
    for job, placed in rings.items():
        slot.fit(job, placed)
    fill(slot, gains, share)
    return slot


def close_slot(
    network: Network,
    gains: Gains,
    found: Filled,
    *,
    nodes: int | None = None,
    better: Better = lambda slot: None,
    within: float = MEETING,
) -> Filled:
    """Step 4, in a forest, down to a relative gap of ``within``; ends early at a limit, or if there are too many rings.

    ``nodes``: node limit of a program over all rings within delta, if the network's limits set none; ``better`` receives
    better slots.
    """
    best, share, parts = found, shares(network), list(PARTS)
    while parts and not best.closed(within):
        network.tick()
        try:
            part, near = _within_parts(network, gains, best, parts)
        except TooMany:
            break
        parts = [later for later in parts if later > part]
        if not near:
            continue
        rings, outcome, unit = _best_of(network, gains, near, ending(network.budget.left, nodes))
        slot = better_of(filled(network, rings, gains, share), best.slot, gains)
        beyond = best.relaxation.bound - part * (best.relaxation.bound - best.gain)
        bound = None if outcome.bound is None else max(beyond, outcome.bound * unit)
        best = best.improved(gains, slot, bound, outcome.solver)
        better(slot)
        if outcome.status is not TerminationStatus.OPTIMAL:
            break
    return best


def ending(limits: Limits, nodes: int | None) -> Limits:
    """The limits, with ``nodes`` if they set none."""
    return replace(limits, nodes=nodes) if limits.nodes is None else limits


def _within_parts(network: Network, gains: Gains, best: Filled, parts: Sequence[float]) -> tuple[float, Rings]:
    """The first part of the gap, or a later one that adds few rings, and its rings; else TooMany."""
    gap = (best.relaxation.bound - best.gain) * (1 + _MARGIN)
    chosen, near = parts[0], rings_within(network, gains, best.relaxation, parts[0] * gap)
    few = max(SMALL, GROWTH * len(near))
    for part in parts[1:]:
        try:
            more = rings_within(network, gains, best.relaxation, part * gap)
        except TooMany:
            break
        if len(more) > few:
            break
        chosen, near = part, more
    return chosen, near


def _best_of(
    network: Network, gains: Gains, rings: Rings, limits: Limits, *, isolated: bool = True
) -> tuple[dict[int, Placed], Outcome, float]:
    """The best set of these rings by SCIP, its outcome, and the unit of its objective."""
    rows = Rows(network, sorted({job for job, _ in rings}), gains)
    for job, placed in rings:
        rows.add(Column(job, placed))
    isolated = isolated or limits.time_s is not None
    outcome = solve_milp(rows.whole(), solver="scip", limits=limits, isolated=isolated)
    chosen = rows.chosen(outcome.values or {})
    return {column.job: column.placed for column in chosen}, outcome, rows.unit


def rings_within(network: Network, gains: Gains, relaxation: Relaxation, delta: float) -> Rings:
    """All rings whose gain over their price is within ``delta`` of their job's best; TooMany if above ``RINGS``."""
    jobs = [job for job, gain in gains.items() if len(gain) > 1]
    sizes = [len(gains[job]) - 1 for job in jobs]
    worker = dot(network.demand[jobs], relaxation.server.T)
    prices = ForestPrices(network, jobs, sizes, worker, relaxation.link)
    rings: Rings = []
    for row, job in enumerate(jobs):
        gain = np.asarray(gains[job])
        best = max(0.0, float(np.max(gain[1:] - prices.least[row, 1 : len(gain)])))
        most = [-np.inf, *(gain[1:] - best + delta).tolist()]
        rings += [(job, network.placed(workers)) for _, workers in prices.near(row, most, RINGS)]
        if len(rings) > RINGS:
            raise TooMany
    return rings


def _chosen(
    network: Network, gains: Gains, program: MappingProgram, relaxation: Relaxation, gain: float
) -> dict[int, Placed]:
    """The best rings of the known mappings together, without those that no better set can contain."""
    columns = [Column(job, placed) for job, placed in program.known]
    columns = [column for column in columns if column.size < len(gains.get(column.job, ()))]
    if not columns:
        return {}
    rows = Rows(network, sorted({column.job for column in columns}), gains)
    free, prices = np.zeros(len(rows.jobs)), rows.prices(relaxation.server, relaxation.link)
    surplus = [rows.surplus(column, free, prices) for column in columns]
    best: dict[int, float] = {}
    for column, value in zip(columns, surplus, strict=True):
        best[column.job] = max(best.get(column.job, 0.0), value)
    # A better set has no ring that is worse than its job's best by more than the gap.
    gap, valued = relaxation.bound - gain, zip(columns, surplus, strict=True)
    near = [(column.job, column.placed) for column, value in valued if best[column.job] - value <= gap]
    if not near:
        return {}
    limits = network.budget.left
    limits = replace(limits, nodes=NODES if limits.nodes is None else min(NODES, limits.nodes))
    return _best_of(network, gains, near, limits, isolated=len(near) > QUICK)[0]


TRIES = 40
"""Number of parts that are tried."""
PART = 9
"""Number of rings that are taken out at a time."""


def polish(
    network: Network,
    gains: Gains,
    slot: Slot,
    bound: float,
    rng: np.random.Generator,
    *,
    tries: int = TRIES,
    within: float = MEETING,
) -> Slot:
    """A slot that gains no less; ends at a relative gap to the bound of ``within``. ``rng`` draws the parts."""
    best, gain = slot, gained(slot, gains)
    for _ in range(tries):
        if meets(gain, bound, within=within):
            break
        network.tick()
        found = _anew(network, gains, best, _drawn(network, best, rng))
        value = gained(found, gains)
        if value >= gain:
            best, gain = found, value
    return best


def _drawn(network: Network, slot: Slot, rng: np.random.Generator) -> set[int]:
    """Jobs with rings near a random server, and some from anywhere."""
    jobs = sorted(slot.rings)
    if len(jobs) <= PART:
        return set(jobs)
    center = int(network.position[rng.integers(len(network.position))])
    far = {job: min(abs(int(network.position[server]) - center) for server in slot.rings[job][0]) for job in jobs}
    near = sorted(jobs, key=lambda job: (far[job], job))[: PART // 2]
    others = [job for job in jobs if job not in near]
    return {*near, *(int(job) for job in rng.choice(others, PART - len(near), replace=False))}


def _anew(network: Network, gains: Gains, slot: Slot, out: set[int]) -> Slot:
    """The slot with new rings for the jobs ``out`` and for jobs without rings, chosen together."""
    rest = Slot(network)
    for job, placed in slot.rings.items():
        if job not in out:
            rest.put(job, placed)
    # A network of what the other rings leave, in which servers that are on anyway cost nothing.
    part = copy.copy(network)
    part.capacity, part.bandwidth = np.maximum(rest.free, 0.0), np.maximum(rest.spare, 0.0)
    part.on_price = np.where([server in rest.on for server in range(len(rest.free))], 0.0, network.on_price)
    chosen = {job: gain for job, gain in gains.items() if job not in rest.rings}
    part.fits = np.array([part.free(job, part.capacity) for job in range(len(network.fits))])
    start = {job: slot.rings[job] for job in sorted(out)}
    found = fill_slot(part, chosen, MappingProgram(part), start=start)
    for job, placed in found.slot.rings.items():
        rest.put(job, placed)
    return rest
