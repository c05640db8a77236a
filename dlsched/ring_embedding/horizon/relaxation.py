"""Upper bounds without rings: capacities, by epoch and class of servers; what proves them stands in ``certificate``.

Of links they know one thing: in a forest a job has no more workers in a slot than servers hold that links wide enough for it
connect.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dlsched.certificates import DualsCertificate, rounded_up
from dlsched.core.budget import Stopped
from dlsched.core.labels import separable_labels
from dlsched.core.limits import Limits
from dlsched.core.status import TerminationStatus
from dlsched.ring_embedding.certificate import Most, aggregated_value, prices_value
from dlsched.ring_embedding.instance import Instance
from dlsched.ring_embedding.rows import epochs
from dlsched.ring_embedding.utilities import Worth, power_of_two
from dlsched.solvers.lp import linear_program

Floats = npt.NDArray[np.float64]
Tick = Callable[[], None] | None
Tangent = tuple[float, float]
"""Offset and slope."""

LARGEST = 2**19
"""Worker-slots by job, epoch and class that the relaxation counts: 200 MB."""
_ROUNDS = 40
_CLOSE = 1e-7  # relative, of the relaxation with tangents to the one with the envelopes
_VANISHING = 2.0**-60  # of the largest utility, what a line may rise and count as level
_FIRST = 12  # tangents of a utility to begin with


@dataclass(frozen=True, eq=False)
class Relaxed:
    """The optimum of the relaxation: worker-slots by job, shape (I,), and by (job, epoch), and the certificate."""

    totals: Floats
    by_epoch: dict[tuple[int, int], float]
    certificate: DualsCertificate
    program: "Program"


def aggregated(instance: Instance, *, tick: Tick = None, limits: Callable[[], Limits] = Limits) -> DualsCertificate:
    """All slots and servers as one pool: for every row one fractional greedy, of which the least bound is kept.

    A worker-slot is served in order of the slope of its job's concave envelope per unit of the row; where the pool is used up
    the slope is the price. No solver; any size. ``tick`` is called for every row and job; it may raise to stop. ``limits`` is
    not asked: there is no linear program.
    Cost: O(Q (sum of Z_i)) for Q rows.
    """
    del limits
    limit = Most(instance)
    slots = instance.slots - min(job.arrival_slot for job in instance.jobs) + 1
    nothing: dict[str, float] = {}
    found = [(nothing, aggregated_value(instance, nothing, limit=limit, tick=tick))]
    for row in limit.rows:
        pool = slots * sum(float(each) * len(held) for each, held in zip(row.capacity, limit.members, strict=True))
        price = _greedy_price(limit.worths, [float(share) for share in row.demand], pool, tick)
        prices = {f"pool_{row.name}": price}
        found.append((prices, aggregated_value(instance, prices, limit=limit, tick=tick)))
    prices, value = min(found, key=lambda each: each[1])
    return DualsCertificate("aggregated", prices, rounded_up(value))


def horizon(instance: Instance, *, tick: Tick = None, limits: Callable[[], Limits] = Limits) -> DualsCertificate:
    """The linear relaxation over all slots, without rings; see ``relax``."""
    return relax(instance, tick=tick, limits=limits).certificate


def relax(instance: Instance, *, tick: Tick = None, limits: Callable[[], Limits] = Limits) -> Relaxed:
    """Maximise the envelopes of the utilities over worker-slots by job, epoch and class of servers.

        z_i = sum_e sum_c w_iec <= Z_i        w_iec <= L_e m_c fits_ic        sum_c w_iec <= L_e N_i
        sum_i l_i^q w_iec <= L_e m_c C_c^q for every row q of every class c

    An embedding, averaged over the slots of each epoch and the servers of each class, keeps all of these, and so does the
    linear relaxation of ``span`` and ``arc``, whose rings cost nothing when workers are spread thinly. The envelopes enter as
    tangents, more of them where the last optimum lay (Kelley 1960). Where that would be more than ``LARGEST`` w, all servers
    are one class.

    Parameters
    ----------
    instance
        Any.
    tick
        Called in every loop; it may raise to stop.
    limits
        Asked for the time that is left before every linear program.

    Raises
    ------
    SolverError
        HiGHS found no optimum.
    Stopped
        There are more than ``LARGEST`` w even so, or the time is up.
    """
    program = Program(instance, tick or _go_on)
    for _ in range(_ROUNDS):
        program.tick()
        if program.solve(limits().time_s):
            break
    prices = program.prices()
    value = prices_value(instance, prices, limit=program.limit, tick=tick)
    certificate = DualsCertificate("horizon", prices, rounded_up(value))
    return Relaxed(program.totals, program.by_epoch(program.point), certificate, program)


def _go_on() -> None:
    """No limit."""


def _greedy_price(worths: list[Worth], demand: list[float], pool: float, tick: Tick) -> float:
    """The least price at which the worker-slots worth it need no more than the pool, by bisection."""
    held = []
    for worth, share in zip(worths, demand, strict=True):
        if tick is not None:
            tick()
        if share and len(worth.corners) > 1:
            slopes = np.diff(worth.values[worth.corners]) / np.diff(worth.corners) / share
            held.append((np.minimum.accumulate(slopes)[::-1], worth.corners, share))

    def needed(price: float) -> float:
        return sum(
            share * float(corners[len(slopes) - int(np.searchsorted(slopes, price, side="right"))])
            for slopes, corners, share in held
        )

    if needed(0.0) <= pool:
        return 0.0
    low, high = 0, _bits(max(float(slopes[-1]) for slopes, _, _ in held))
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if needed(_float(middle)) <= pool else (middle, high)
    return _float(high)


def _bits(value: float) -> int:
    """Number of a float > 0 in the order of all."""
    return int(np.float64(value).view(np.int64))


def _float(bits: int) -> float:
    return float(np.int64(bits).view(np.float64))


class Program:
    """The relaxation as sparse arrays, its tangents, and its last optimum; utilities are those beyond that of nothing."""

    def __init__(self, instance: Instance, tick: Callable[[], None]) -> None:
        self.instance, self.tick = instance, tick
        self.limit = limit = Most(instance)
        self.rows, self.spans, members = limit.rows, epochs(instance), limit.members
        self.worths = limit.worths
        one = len(self.rows) == 1 and all(share in (0, 1) for share in self.rows[0].demand)
        jobs = range(len(instance.jobs))
        pairs = sum(record.arrival_slot <= span.first for record in instance.jobs for span in self.spans)
        if pairs > LARGEST:
            raise Stopped(TerminationStatus.MEMORY_LIMIT)
        one = one or pairs * len(members) > LARGEST
        self.groups = [list(range(len(members)))] if one else [[number] for number in range(len(members))]
        self.columns: list[tuple[int, int, int]] = []
        self.upper: list[float] = []
        self.pools: dict[int, tuple[int, int, int]] = {}
        entries: list[tuple[int, int, float]] = []
        right: list[float] = []
        for e, span in enumerate(self.spans):
            tick()
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
        entries = self._that_bind(entries, right)
        self._scale(entries, right)
        total = len(self.right)
        self.entries += [(total + i, column, -1.0) for column, (i, _, _) in enumerate(self.columns)]
        self.entries += [(total + i, len(self.columns) + i, 1.0) for i in jobs]
        self.right += [0.0] * len(instance.jobs)
        self.unit = power_of_two(max(worth.most for worth in self.worths))
        self.tangents: dict[tuple[int, int], Tangent] = {}
        for i, worth in enumerate(self.worths):
            tick()
            ends = np.unique(np.round(np.geomspace(1, max(1, len(worth.corners) - 1), _FIRST)).astype(int))
            for corner in ends.tolist():
                self._touch(i, corner)
        self.totals: Floats = np.zeros(len(instance.jobs))

    def _that_bind(self, entries: list[tuple[int, int, float]], right: list[float]) -> list[tuple[int, int, float]]:
        """Empty rows that hold whatever the columns are: their large right-hand sides would blur the others."""
        used = [0.0] * len(right)
        for row, column, value in entries:
            used[row] += value * self.upper[column]
        loose = [use <= most for use, most in zip(used, right, strict=True)]
        right[:] = [0.0 if free else most for free, most in zip(loose, right, strict=True)]
        return [entry for entry in entries if not loose[entry[0]]]

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
                self.tangents[job, 0] = 0.0, 0.0
            return
        a, b = (int(z) for z in worth.corners[corner - 1 : corner + 1])
        slope = float(worth.values[b] - worth.values[a]) / (b - a)
        self.tangents[job, corner] = float(worth.values[b] - worth.values[0]) - slope * b, slope

    def solve(self, time_s: float | None) -> bool:
        """Solve with the tangents there are; add those of the optimum; say whether they were close enough."""
        from scipy.sparse import coo_array

        jobs, first = len(self.worths), len(self.columns)
        entries, right = list(self.entries), list(self.right)
        for (i, _), (offset, slope) in self.tangents.items():
            rise = slope * (len(self.worths[i].values) - 1)
            if rise > _VANISHING * self.unit:
                entries.append((len(right), first + i, -slope / self.unit))
            else:  # a coefficient of 1e-200 beside those of 1 is none that HiGHS takes: the line is raised to its end
                offset += rise
            entries.append((len(right), first + jobs + i, 1.0))
            right.append(offset / self.unit)
        places, columns, values = zip(*entries, strict=True)
        size = first + 2 * jobs
        bounds = [(0.0, most) for most in self.upper] + [(0.0, float(len(w.values) - 1)) for w in self.worths]
        bounds += [(-np.inf, worth.most / self.unit) for worth in self.worths]
        answer = linear_program(
            np.concatenate((np.zeros(first + jobs), -np.ones(jobs))),
            a_ub=coo_array((values, (places, columns)), shape=(len(right), size)).tocsr(),
            b_ub=right,
            bounds=bounds,
            time_s=time_s,
        )
        self.point = answer.x
        self.duals = np.maximum(0.0, -answer.upper) * self.unit
        self.totals = answer.x[first : first + jobs]
        before, reached = len(self.tangents), 0.0
        for i, worth in enumerate(self.worths):
            z = float(self.totals[i])
            corner = int(np.searchsorted(worth.corners, z))
            reached += float(np.interp(z, worth.corners, worth.values[worth.corners])) - float(worth.values[0])
            for near in (corner, corner + 1, corner - 1):
                self._touch(i, near)
        claimed = -answer.objective * self.unit
        return len(self.tangents) == before or claimed - reached <= _CLOSE * claimed

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
