"""Upper bounds without rings: capacities, by epoch and class of servers; what proves them stands in ``certificate``.

Of links they know one thing: in a forest a job has no more workers in a slot than servers hold that links wide enough for it
connect.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dlsched.core.certificate import DualsCertificate, rounded_up
from dlsched.core.errors import SolverError
from dlsched.core.labels import separable_labels
from dlsched.ring_embedding.certificate import Most, aggregated_value, prices_value
from dlsched.ring_embedding.instance import Instance
from dlsched.ring_embedding.rows import classes, epochs, rows
from dlsched.ring_embedding.worths import Worth, worth_tables

Floats = npt.NDArray[np.float64]
Tick = Callable[[], None] | None
Tangent = tuple[float, float]
"""Offset and slope."""

_ROUNDS = 40
_CLOSE = 1e-7  # relative, of the relaxation with tangents to the one with the envelopes
_FIRST = 12  # tangents of a utility to begin with


@dataclass(frozen=True, eq=False)
class Relaxed:
    """The optimum of the relaxation: worker-slots by job, shape (I,), and by (job, epoch), and the certificate."""

    totals: Floats
    by_epoch: dict[tuple[int, int], float]
    certificate: DualsCertificate
    program: "Program"


def aggregated(instance: Instance, *, tick: Tick = None) -> DualsCertificate:
    """All slots and servers as one pool: for every row one fractional greedy, of which the least bound is kept.

    A worker-slot is served in order of the slope of its job's concave envelope per unit of the row; where the pool is used up
    the slope is the price. No solver; any size. ``tick`` is called for every row; it may raise to stop.
    Cost: O(Q (sum of Z_i)) for Q rows.
    """
    demands = rows(instance)
    members, _ = classes(instance)
    limit = Most(instance, demands)
    worths = worth_tables(instance.jobs, limit.total)
    slots = instance.slots - min(job.arrival_slot for job in instance.jobs) + 1
    nothing: dict[str, float] = {}
    found = [(nothing, aggregated_value(instance, nothing))]
    for row in demands:
        if tick is not None:
            tick()
        pool = slots * sum(float(each) * len(held) for each, held in zip(row.capacity, members, strict=True))
        price = _greedy_price(worths, [float(share) for share in row.demand], pool)
        prices = {f"pool_{row.name}": price}
        found.append((prices, aggregated_value(instance, prices)))
    prices, value = min(found, key=lambda each: each[1])
    return DualsCertificate("aggregated", prices, rounded_up(value))


def horizon(instance: Instance, *, tick: Tick = None) -> DualsCertificate:
    """The linear relaxation over all slots, without rings; see ``relax``."""
    return relax(instance, tick=tick).certificate


def relax(instance: Instance, *, tick: Tick = None) -> Relaxed:
    """Maximise the envelopes of the utilities over worker-slots by job, epoch and class of servers.

        z_i = sum_e sum_c w_iec <= Z_i        w_iec <= L_e m_c fits_ic        sum_c w_iec <= L_e N_i
        sum_i l_i^q w_iec <= L_e m_c C_c^q for every row q of every class c

    An embedding, averaged over the slots of each epoch and the servers of each class, keeps all of these, and so does the
    linear relaxation of ``span`` and ``arc``, whose rings cost nothing when workers are spread thinly. The envelopes enter as
    tangents, more of them where the last optimum lay (Kelley 1960). ``tick`` is called for every program; it may raise.

    Raises
    ------
    SolverError
        HiGHS found no optimum.
    """
    program = Program(instance)
    for _ in range(_ROUNDS):
        if tick is not None:
            tick()
        if program.solve():
            break
    prices = program.prices()
    certificate = DualsCertificate("horizon", prices, rounded_up(prices_value(instance, prices)))
    return Relaxed(program.totals, program.by_epoch(program.point), certificate, program)


def _greedy_price(worths: list[Worth], demand: list[float], pool: float) -> float:
    """The least price at which the worker-slots worth it need no more than the pool."""
    slopes = [
        np.diff(worth.values[worth.corners]) / np.diff(worth.corners) / share
        for worth, share in zip(worths, demand, strict=True)
        if share
    ]
    sizes = [np.diff(worth.corners) * share for worth, share in zip(worths, demand, strict=True) if share]
    slope, size = np.concatenate(slopes), np.concatenate(sizes)
    order = np.argsort(-slope, kind="stable")
    used = np.cumsum(size[order])
    place = int(np.searchsorted(used, pool, side="right"))
    return max(0.0, float(slope[order][place])) if place < len(order) else 0.0


class Program:
    """The relaxation as sparse arrays, its tangents, and its last optimum."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.rows, self.spans = rows(instance), epochs(instance)
        members, _ = classes(instance)
        limit = Most(instance, self.rows)
        self.worths = worth_tables(instance.jobs, limit.total)
        self.classes = len(members)
        one = len(self.rows) == 1 and all(share in (0, 1) for share in self.rows[0].demand)
        self.groups = [list(range(len(members)))] if one else [[number] for number in range(len(members))]
        jobs = range(len(instance.jobs))
        self.columns: list[tuple[int, int, int]] = []
        self.upper: list[float] = []
        self.pools: dict[int, tuple[int, int, int]] = {}
        entries: list[tuple[int, int, float]] = []
        right: list[float] = []
        for e, span in enumerate(self.spans):
            here = [i for i in jobs if instance.jobs[i].arrival_slot <= span.first]
            first: dict[int, list[int]] = {i: [] for i in here}
            for g, group in enumerate(self.groups):
                pool = {q: len(right) + q for q in range(len(self.rows))}
                for q, row in enumerate(self.rows):
                    self.pools[len(right)] = e, g, q
                    right.append(span.slots * sum(float(row.capacity[c]) * len(members[c]) for c in group))
                for i in here:
                    room = sum(limit.fits[i][members[c][0]] * len(members[c]) for c in group)
                    if room:
                        first[i].append(len(self.columns))
                        for q, row in enumerate(self.rows):
                            if row.demand[i]:
                                entries.append((pool[q], len(self.columns), float(row.demand[i])))
                        self.columns.append((i, e, g))
                        self.upper.append(float(span.slots * min(room, limit.most[i])))
            for i, held in first.items():
                if len(held) > 1:
                    entries += [(len(right), column, 1.0) for column in held]
                    right.append(float(span.slots * limit.most[i]))
        self._scale(entries, right)
        total = len(self.right)
        self.entries += [(total + i, column, -1.0) for column, (i, _, _) in enumerate(self.columns)]
        self.entries += [(total + i, len(self.columns) + i, 1.0) for i in jobs]
        self.right += [0.0] * len(instance.jobs)
        self.unit = max(float(worth.values[-1]) for worth in self.worths) or 1.0
        self.tangents: dict[tuple[int, int], Tangent] = {}
        for i, worth in enumerate(self.worths):
            ends = np.unique(np.round(np.geomspace(1, max(1, len(worth.corners) - 1), _FIRST)).astype(int))
            for corner in ends.tolist():
                self._touch(i, corner)
        self.totals: Floats = np.zeros(len(instance.jobs))

    def _scale(self, entries: list[tuple[int, int, float]], right: list[float]) -> None:
        """Rows in units in which their largest coefficient is near 1, by powers of two."""
        largest = np.zeros(len(right))
        for row, _, value in entries:
            largest[row] = max(value, largest[row])
        self.factor = 2.0 ** -np.round(np.log2(np.where(largest > 0, largest, 1.0)))
        self.entries = [(row, column, value * float(self.factor[row])) for row, column, value in entries]
        self.right = [value * float(factor) for value, factor in zip(right, self.factor, strict=True)]

    def _touch(self, job: int, corner: int) -> None:
        """Add the line through two neighbouring corners of an envelope, the second of them given."""
        worth = self.worths[job]
        if not 0 < corner < len(worth.corners):
            if len(worth.corners) == 1:
                self.tangents[job, 0] = (float(worth.values[0]), 0.0)
            return
        a, b = (int(z) for z in worth.corners[corner - 1 : corner + 1])
        slope = float(worth.values[b] - worth.values[a]) / (b - a)
        self.tangents[job, corner] = (float(worth.values[b]) - slope * b, slope)

    def solve(self) -> bool:
        """Solve with the tangents there are; add those of the optimum; say whether they were close enough."""
        from scipy.optimize import linprog
        from scipy.sparse import coo_array

        jobs, first = len(self.worths), len(self.columns)
        entries, right = list(self.entries), list(self.right)
        for (i, _), (offset, slope) in self.tangents.items():
            entries += [(len(right), first + jobs + i, 1.0), (len(right), first + i, -slope / self.unit)]
            right.append(offset / self.unit)
        places, columns, values = zip(*entries, strict=True)
        size = first + 2 * jobs
        bounds: list[tuple[float | None, float]] = []
        bounds += [(0.0, most) for most in self.upper] + [(0.0, float(len(w.values) - 1)) for w in self.worths]
        bounds += [(None, float(worth.values[-1]) / self.unit) for worth in self.worths]
        answer = linprog(
            np.concatenate((np.zeros(first + jobs), -np.ones(jobs))),
            A_ub=coo_array((values, (places, columns)), shape=(len(right), size)).tocsr(),
            b_ub=right,
            bounds=bounds,
            method="highs",
        )
        if answer.status != 0:
            raise SolverError(f"HiGHS found no optimum of the relaxation: {answer.message}")
        self.point = answer.x
        self.duals = np.maximum(0.0, -answer.ineqlin.marginals) * self.unit
        self.totals = answer.x[first : first + jobs]
        before, reached = len(self.tangents), 0.0
        for i, worth in enumerate(self.worths):
            z = float(self.totals[i])
            corner = int(np.searchsorted(worth.corners, z))
            reached += float(np.interp(z, worth.corners, worth.values[worth.corners]))
            for near in (corner, corner + 1, corner - 1):
                self._touch(i, near)
        claimed = -float(answer.fun) * self.unit
        return len(self.tangents) == before or claimed - reached <= _CLOSE * max(1e-300, abs(claimed))

    def prices(self) -> dict[str, float]:
        """Prices of the last optimum as a certificate names them."""
        labels = separable_labels([job.id for job in self.instance.jobs], "j")
        first = len(self.right) - len(labels)
        prices = {f"total_{label}": float(self.duals[first + i]) for i, label in enumerate(labels)}
        for place, (e, g, q) in self.pools.items():
            price = float(self.duals[place] * self.factor[place])
            if price:
                row = f"pool_{self.spans[e].first}_{self.rows[q].name}"
                prices |= {f"{row}_c{number}": price for number in self.groups[g]}
        return prices

    def by_epoch(self, point: Floats) -> dict[tuple[int, int], float]:
        """Worker-slots by (job, epoch) of a point whose first variables are those of the columns."""
        found: dict[tuple[int, int], float] = {}
        for (i, e, _), value in zip(self.columns, point[: len(self.columns)].tolist(), strict=True):
            found[i, e] = found.get((i, e), 0.0) + value
        return found
