"""One slot: greedy filling, switching of servers, which rings gain the most together, and improvement part by part.

1. ``fill`` fills the slot greedily.
2. The linear program over mappings (``mapping_program``) bounds what any rings can gain.
3. Of the mappings held, the best set is chosen by a mixed-integer program; and what is left free is filled.
4. *Closing*, in a forest. At the prices of the bound, B = what servers and links get + sum_i best_i with best_i the most
   that a ring of job i gains over its price, or 0. A solution that uses a ring with best_i - (gain - price) > delta gains
   less than B - delta: its rings gain over their prices that much less than sum_i best_i, and of the prices that they pay
   servers that are on keep sum_r price_sr C_s^r - e_s at most, links their price times bandwidth. So the best set among
   *all* rings within delta, when it gains B - delta or more, is the best of all. delta grows from a part of the gap to the
   gap: what is found within a part lowers the gap, and fewer rings are within it. The set is chosen, and proven best, by a
   solver.

*Improvement* (``polish``), large neighbourhood search (Shaw 1998): the program places some rings of a slot anew. Every part is
a slot program (``fill_slot``) of few jobs in a network of what the other rings leave. Which jobs are taken out is drawn: some
that run on servers near each other, and with them all that have no ring.

*Switching* judges servers as a whole, which filling cannot, as it adds rings singly. *On*: a server that no single ring pays
for may be worth it when several share it, so it is filled as if it cost nothing. *Off*: the rings of a server are placed anew,
the densest first, on servers that are on or cost less; of a ring that does not fit there as many workers as do.
"""

import copy
import heapq
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dlsched.algorithms.utility_tables import Floats, Integers
from dlsched.core.arrays import dot
from dlsched.core.gap import MEETING, meets
from dlsched.core.limits import Limits, TooMany
from dlsched.core.status import TerminationStatus
from dlsched.ring_embedding.rings.network import ForestPrices, Gains, Network, Placed
from dlsched.ring_embedding.rings.placing import Slot, holding
from dlsched.ring_embedding.slot.mapping_program import Column, MappingProgram, Relaxation, Rows
from dlsched.solvers.milp import solve_milp
from dlsched.solvers.outcome import Outcome

_FEW = 16  # workers up to which a loop is faster than arrays
_LEAST = 1e-100  # every capacity > 0 is at least this


def fill(slot: Slot, gains: Gains) -> None:
    """Let rings grow and start while one of them gains and fits; a ring that grows may move.

    The next ring has the largest average gain of its next workers over their dominant share; of S-shaped gains as many workers
    as make that average largest. Where these do not fit, fewer do, or none. It has to gain more than the power of the servers
    costs that it switches on. Cost: one search for servers per worker placed, and for each job at most N_i in vain.
    """
    share = slot.network.share
    waiting: list[tuple[float, int, int]] = []

    def wait(job: int, count: int) -> None:
        average, step = steepest(gains[job], count)
        if step:
            heapq.heappush(waiting, (-average / share[job], job, count + step))

    for job in gains:
        wait(job, slot.count(job))
    while waiting:
        slot.network.tick()
        _, job, count = heapq.heappop(waiting)
        now = slot.count(job)
        while count > now and not slot.grow(job, count, float(gains[job][count] - gains[job][now])):
            count -= 1
        if count > now:
            wait(job, count)


def steepest(gain: Floats, count: int) -> tuple[float, int]:
    """Largest average gain of next workers after ``count``, and their number, the least of equals; (0, 0): none gains."""
    if len(gain) - count > _FEW:
        average = (gain[count + 1 :] - gain[count]) / np.arange(1, len(gain) - count)
        best = int(np.argmax(average))
        return (float(average[best]), best + 1) if average[best] > 0 else (0.0, 0)
    base, *more = gain[count:].tolist() if count < len(gain) else [0.0]
    most, step = 0.0, 0
    for workers, value in enumerate(more, start=1):
        if (value - base) / workers > most:
            most, step = (value - base) / workers, workers
    return most, step


_GAIN = 1e-12  # relative gain; less is rounding


def switched(slot: Slot, gains: Gains) -> Slot:
    """A slot worth no less, for gains by job and number of workers: servers switched on, then off, while that pays."""
    if not slot.network.on_price.any():
        return slot
    before = None
    while before is not slot:
        before = slot
        slot = emptied(opened(slot, gains), gains)
    return slot


def emptied(slot: Slot, gains: Gains) -> Slot:
    """A slot worth no less: servers switched off, the most expensive per worker first; ``gains`` may omit jobs without a ring."""
    price, tried = slot.network.on_price, set[int]()
    while True:
        on = [s for s in np.flatnonzero((slot.used > 0) & (price > 0)).tolist() if s not in tried]
        if not on:
            return slot
        server = max(on, key=lambda s: (price[s] / slot.used[s], -s))
        tried.add(server)
        slot = _better(slot, without(slot, server, gains, float(price[server])), gains)


def opened(slot: Slot, gains: Gains) -> Slot:
    """A slot worth no less: servers switched on while that pays, the cheapest for their capacity first."""
    network, vain = slot.network, set[tuple[float, ...]]()
    average, most = _ahead(slot, gains)
    for server in np.argsort(network.on_price / holding(network), kind="stable").tolist():
        price = float(network.on_price[server])
        kind = price, *network.capacity[server].tolist()
        if not price or slot.used[server] or kind in vain:
            continue
        # A server is filled as if it cost nothing: several rings may pay for it together, though none does alone.
        other = slot
        if _could(network, server, average, most) > price:
            other = slot.copy()
            other.price = np.where(np.arange(len(network.on_price)) == server, 0.0, network.on_price)
            fill(other, gains)
            other.price = network.on_price
        before, slot = slot, _better(slot, other, gains)
        if slot is before:
            vain.add(kind)
        else:
            average, most = _ahead(slot, gains)
    return slot


def _ahead(slot: Slot, gains: Gains) -> tuple[Floats, Integers]:
    """Best average gain of further workers of every job, and their largest number, shape (I,) each."""
    average, most = np.zeros(len(slot.network.demand)), np.zeros(len(slot.network.demand), dtype=np.int64)
    for job, gain in gains.items():
        count = slot.count(job)
        more = gain[count + 1 :] - gain[count]
        if len(more):
            average[job], most[job] = (more / np.arange(1, len(more) + 1)).max(), len(more)
    return average, most


def _could(network: Network, server: int, average: Floats, most: Integers) -> float:
    """Estimated gain of a server that is off: workers of the best average gains, until it is full."""
    capacity = network.capacity[server]
    jobs = np.flatnonzero((average > 0) & (network.demand <= capacity).all(axis=1))
    takes = (network.demand[jobs] / np.maximum(capacity, _LEAST)).max(axis=1)
    # The jobs with the most gain per part of the server first, until it is full.
    order = np.argsort(-average[jobs] / takes, kind="stable")
    jobs, takes = jobs[order], takes[order]
    filled = np.cumsum(most[jobs] * takes)
    workers = np.clip(most[jobs] - (filled - len(capacity)) / takes, 0, most[jobs])
    return float(dot(workers, average[jobs]))


def without(slot: Slot, server: int, gains: Gains, below: float = 0.0) -> Slot:
    """The slot after the rings of a server move to others that are on or cost less than ``below``, as far as they fit."""
    other, price, share = slot.copy(), slot.network.on_price, slot.network.share
    rings = {job: other.count(job) for job, (workers, _, _) in other.rings.items() if server in workers}
    for job in rings:
        other.clear(job)
    # Servers that must stay off have no room meanwhile.
    closed = np.flatnonzero((other.used == 0) & (price >= below))
    free = other.free[closed]
    other.free[closed] = 0.0
    for job in sorted(rings, key=lambda job: (-gains[job][rings[job]] / (rings[job] * share[job]), job)):
        any(other.resize(job, count) for count in range(rings[job], 0, -1) if gains[job][count] > 0)
    other.free[closed] = free
    return other


def _better(slot: Slot, other: Slot, gains: Gains) -> Slot:
    """The other slot if it is worth more, else the first."""
    worth = slot.worth(gains)
    return other if other.worth(gains) > worth + _GAIN * abs(worth) else slot


Rings = list[tuple[int, Placed]]
"""Rings and their jobs."""
Better = Callable[[Slot], object]
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
        gain = slot.worth(gains)
        known = self.bound if bound is None else min(self.bound, bound)
        return Filled(slot, gain, max(known, gain), self.relaxation, solver or self.solver)


def better_of(first: Slot, second: Slot, gains: Gains) -> Slot:
    """The slot that gains more, the first of equals."""
    return max(first, second, key=lambda slot: slot.worth(gains))


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
    best = Slot(network)
    fill(best, gains)
    best = better_of(best, Slot(network), gains)
    if start is not None:
        best = better_of(best, filled(network, start, gains), gains)
    relaxation = program.solve(gains, best.rings)
    gain = best.worth(gains)
    if not meets(gain, relaxation.bound, within=within):
        rings = _chosen(network, gains, program, relaxation, gain)
        best = better_of(best, filled(network, rings, gains), gains)
    return Filled(best, gain, relaxation.bound, relaxation).improved(gains, best)


def filled(network: Network, rings: Mapping[int, Placed], gains: Gains) -> Slot:
    """A slot with the rings that fit, then filled up."""
    slot = Slot(network)
    for job, placed in rings.items():
        slot.fit(job, placed)
    fill(slot, gains)
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

    ``nodes``: node limit of a program over all rings within delta, if the network's limits set none.
    """
    best, parts = found, list(PARTS)
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
        slot = better_of(filled(network, rings, gains), best.slot, gains)
        # A set with a ring outside this part of the gap gains less than ``beyond``.
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
    rng: "np.random.Generator",
    *,
    tries: int = TRIES,
    within: float = MEETING,
) -> Slot:
    """A slot that gains no less; ends at a relative gap to the bound of ``within``. ``rng`` draws the parts."""
    best, gain = slot, slot.worth(gains)
    for _ in range(tries):
        if meets(gain, bound, within=within):
            break
        network.tick()
        found = _anew(network, gains, best, _drawn(network, best, rng))
        value = found.worth(gains)
        if value >= gain:
            best, gain = found, value
    return best


def _drawn(network: Network, slot: Slot, rng: "np.random.Generator") -> set[int]:
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
