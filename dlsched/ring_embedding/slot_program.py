"""The program of one slot: which rings gain the most together.

1. ``filling`` fills the slot greedily.
2. The linear program over mappings (``mapping_program``) bounds what any rings can gain.
3. Of the mappings held, the best set is chosen by a mixed-integer program; and what is left free is filled.
4. *Closing*, in a forest. At the prices of the bound, B = sum of prices + sum_i best_i with best_i the most that a ring of
   job i gains over its price, or 0. A solution that uses a ring with best_i - (gain - price) > delta gains less than
   B - delta. So the best set among *all* rings within delta, when it gains B - delta or more, is the best of all. delta
   grows from a part of the gap to the gap. The set is chosen, and proven best, by a solver.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from dlsched.core.gap import meets
from dlsched.core.limits import Limits
from dlsched.core.status import Sense, TerminationStatus
from dlsched.ring_embedding.filling import fill, shares
from dlsched.ring_embedding.mapping_program import MappingProgram, Relaxation
from dlsched.ring_embedding.near_rings import TooMany, near_rings
from dlsched.ring_embedding.network import Network
from dlsched.ring_embedding.placing import Placed, Slot
from dlsched.ring_embedding.ring_prices import ForestPrices
from dlsched.solvers.linear import LinearModel
from dlsched.solvers.milp import solve_milp

Floats = npt.NDArray[np.float64]
Gains = Mapping[int, Floats]

NODES = 500
"""Nodes of the program over the mappings held."""
FEW = 40
"""Rings of a job, of more of them, that are tried first."""
RINGS = 12_000
"""Rings that step 4 takes into one program."""
QUICK = 500
"""Rings up to which a program of ``NODES`` nodes is solved in this process: a process of its own costs more."""
PARTS = 0.2, 0.5, 1.0
"""delta as a part of the gap, one after the other."""

_MARGIN = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Filled:
    """A slot, what its rings gain, an upper bound on what any can, and the relaxation that proves it."""

    slot: Slot
    gain: float
    bound: float
    relaxation: Relaxation
    solver: str | None = None

    @property
    def proven(self) -> bool:
        """Whether the bound meets the gain."""
        return meets(self.gain, self.bound)


def gained(slot: Slot, gains: Gains) -> float:
    """Add up what the rings of a slot gain."""
    return sum(float(gains[job][slot.count(job)]) for job in slot.rings)


def fill_slot(
    network: Network,
    gains: Gains,
    program: MappingProgram,
    *,
    start: Mapping[int, Placed] | None = None,
    solver: str = "scip",
    tick: Callable[[], None] | None = None,
    limits: Limits | None = None,
) -> Filled:
    """Steps 1 to 3 for given gains, by job and number of workers from 0 on.

    ``start``: rings that fit, of which the slot returned is at least as good. ``tick`` may raise to stop. A limit on time
    or nodes ends step 3 with what it has found.
    """
    share = shares(network)
    best = Slot(network)
    fill(best, gains, share)
    if start is not None:
        other = filled(network, start, gains, share)
        best = max(best, other, key=lambda slot: gained(slot, gains))
    relaxation = program.solve(gains, best.rings, tick=tick)
    gain = gained(best, gains)
    if not meets(gain, relaxation.bound):
        rings = _chosen(network, gains, program, relaxation, gain, solver, limits or Limits())
        other = filled(network, rings, gains, share)
        best = max(best, other, key=lambda slot: gained(slot, gains))
    return Filled(best, gained(best, gains), max(relaxation.bound, gained(best, gains)), relaxation)


def filled(network: Network, rings: Mapping[int, Placed], gains: Gains, share: Floats) -> Slot:
    """Place rings, those that do not fit left out, and fill what is left."""
    slot = Slot(network)
    for job, placed in rings.items():
        slot.put(job, placed)
        if (slot.free < 0).any() or (slot.spare < 0).any():
            slot.take(job)
    fill(slot, gains, share)
    return slot


def close_slot(
    network: Network,
    gains: Gains,
    found: Filled,
    *,
    solver: str = "scip",
    limits: Callable[[], Limits] = Limits,
    better: Callable[[Slot], None] | None = None,
    tick: Callable[[], None] | None = None,
) -> Filled:
    """Step 4; returns what was found when there are too many rings, or a limit is reached; in a forest.

    ``limits``: what is left for the next program; ``better`` hears of better slots; ``tick`` may raise to stop.
    """
    best, share = found, shares(network)
    for part in PARTS:
        if best.proven:
            break
        if tick is not None:
            tick()
        delta = part * (best.relaxation.bound - best.gain)
        try:
            near = rings_within(network, gains, best.relaxation, delta * (1 + _MARGIN))
        except TooMany:
            break
        if not near:
            break
        outcome = solve_milp(_model(network, gains, near), solver=solver, limits=limits())
        if len(near) > FEW * len(gains):
            slot = filled(network, _picked(network, gains, _few(near), solver, limits()), gains, share)
            if gained(slot, gains) > best.gain:
                best = replace(best, slot=slot, gain=gained(slot, gains))
                if better is not None:
                    better(slot)
            if best.proven:
                break
            delta = min(delta, best.relaxation.bound - best.gain)
        unit = max(float(gains[job][sum(placed[0].values())]) for job, placed in near)
        values = outcome.values or {}
        rings = {job: placed for place, (job, placed) in enumerate(near) if values.get(f"x{place}", 0.0) > 0.5}
        slot = max(filled(network, rings, gains, share), best.slot, key=lambda slot: gained(slot, gains))
        bound = best.bound
        if outcome.bound is not None:
            bound = min(bound, max(best.relaxation.bound - delta, outcome.bound * unit))
        best = Filled(slot, gained(slot, gains), max(bound, gained(slot, gains)), best.relaxation, outcome.solver)
        if better is not None:
            better(slot)
        if outcome.status is not TerminationStatus.OPTIMAL:
            break
    return best


def _few(near: list[tuple[int, Placed]]) -> list[tuple[int, Placed]]:
    """Of the rings of every job so many, evenly chosen: their order is that of the servers, and many are alike."""
    by_job: dict[int, list[tuple[int, Placed]]] = {}
    for ring in near:
        by_job.setdefault(ring[0], []).append(ring)
    return [
        rings[place]
        for rings in by_job.values()
        for place in np.unique(np.linspace(0, len(rings) - 1, FEW).astype(int)).tolist()
    ]


def _picked(
    network: Network, gains: Gains, rings: list[tuple[int, Placed]], solver: str, limits: Limits
) -> dict[int, Placed]:
    """The best set of these rings that a solver finds in ``NODES`` nodes."""
    limits = Limits(time_s=limits.time_s, nodes=NODES, threads=limits.threads)
    model = _model(network, gains, rings)
    outcome = solve_milp(model, solver=solver, limits=limits, isolated=len(rings) > QUICK)
    values = outcome.values or {}
    return {job: placed for place, (job, placed) in enumerate(rings) if values.get(f"x{place}", 0.0) > 0.5}


def rings_within(network: Network, gains: Gains, relaxation: Relaxation, delta: float) -> list[tuple[int, Placed]]:
    """All rings whose gain over their price is within ``delta`` of their job's best; TooMany where they are too many."""
    jobs = [job for job, gain in gains.items() if len(gain) > 1]
    sizes = [len(gains[job]) - 1 for job in jobs]
    worker = network.demand[jobs] @ relaxation.server.T
    least = ForestPrices(network, jobs, sizes, worker, relaxation.link).least
    rings: list[tuple[int, Placed]] = []
    for row, job in enumerate(jobs):
        gain = np.asarray(gains[job])
        best = max(0.0, float(np.max(gain[1:] - least[row, 1 : len(gain)])))
        most = [-np.inf, *(gain[1:] - best + delta).tolist()]
        most = [price if price >= cheapest else -np.inf for price, cheapest in zip(most, least[row], strict=False)]
        for _, workers in near_rings(network, job, worker[row], relaxation.link, most, RINGS):
            (order,) = network.orders(workers)
            links = network.crossed(order)
            assert links is not None
            rings.append((job, (workers, order, links)))
        if len(rings) > RINGS:
            raise TooMany
    return rings


def _chosen(
    network: Network,
    gains: Gains,
    program: MappingProgram,
    relaxation: Relaxation,
    gain: float,
    solver: str,
    limits: Limits,
) -> dict[int, Placed]:
    """Rings of the mappings held that together gain the most; without those that no better set can hold."""
    held = [(job, placed) for job, placed in program.held if sum(placed[0].values()) < len(gains.get(job, ()))]
    surplus = np.array([_surplus(network, gains, relaxation, job, placed) for job, placed in held])
    best: dict[int, float] = {}
    for (job, _), value in zip(held, surplus.tolist(), strict=True):
        best[job] = max(best.get(job, 0.0), value)
    near = [
        (job, placed)
        for (job, placed), value in zip(held, surplus.tolist(), strict=True)
        if best[job] - value <= relaxation.bound - gain
    ]
    if not near:
        return {}
    return _picked(network, gains, near, solver, limits)


def _surplus(network: Network, gains: Gains, relaxation: Relaxation, job: int, placed: Placed) -> float:
    workers, _, links = placed
    size = sum(workers.values())
    paid = sum(count * float(relaxation.server[server] @ network.demand[job]) for server, count in workers.items())
    return float(gains[job][size]) - paid - network.load[job] * float(relaxation.link[links].sum())


def _model(network: Network, gains: Gains, held: list[tuple[int, Placed]]) -> LinearModel:
    """Choose at most one mapping of a job, within what servers and links hold; every row divided by its right-hand side."""
    from scipy.sparse import coo_array

    jobs = sorted({job for job, _ in held})
    place = {job: row for row, job in enumerate(jobs)}
    resources, first = network.capacity.shape[1], len(jobs) + network.capacity.size
    entries: list[tuple[int, int, float]] = []
    for column, (job, (workers, _, links)) in enumerate(held):
        entries.append((place[job], column, 1.0))
        for server, count in workers.items():
            for r in np.flatnonzero(network.demand[job]).tolist():
                part = float(count * network.demand[job, r] / network.capacity[server, r])
                entries.append((len(jobs) + server * resources + r, column, part))
        if network.load[job]:
            for link, times in Counter(links).items():
                entries.append((first + link, column, times * network.load[job] / float(network.bandwidth[link])))
    rows, columns, values = zip(*entries, strict=True)
    matrix = coo_array((values, (rows, columns)), shape=(first + len(network.bandwidth), len(held))).tocsr()
    kept = np.flatnonzero(np.asarray(matrix.sum(axis=1)).ravel() > 1)
    matrix = matrix[kept]
    worth = np.array([float(gains[job][sum(placed[0].values())]) for job, placed in held])
    return LinearModel(
        sense=Sense.MAXIMIZE,
        names=[f"x{column}" for column in range(len(held))],
        costs=worth / worth.max(),
        constant=0.0,
        lower=np.zeros(len(held)),
        upper=np.ones(len(held)),
        integer=np.ones(len(held), dtype=bool),
        row_names=[f"r{row}" for row in kept.tolist()],
        row_starts=matrix.indptr.astype(np.int64),
        columns=matrix.indices.astype(np.int64),
        coefficients=matrix.data,
        row_lower=np.full(len(kept), -np.inf),
        row_upper=np.ones(len(kept)),
    )
