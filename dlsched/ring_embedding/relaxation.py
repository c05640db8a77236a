"""The relaxation of the horizon, without rings: a linear program over epochs and classes of servers, and its bounds.

``certificate`` proves the bounds. They use one fact about links: in a forest a job has no more workers in a slot than fit on
servers that links wide enough for it connect.

*S-shaped utilities* (``build_totals``) are taken as they are by binaries. The worker-slots 0 .. Z_i of a job are cut into
stretches; on each its utility is below the concave envelope of that stretch alone. One of them is chosen:

    sum_k b_ik = 1     lo_k b_ik <= z_ik <= hi_k b_ik     theta_ik <= tangents of the envelope of stretch k, times b_ik
    z_i = sum_k z_ik   theta_i = sum_k theta_ik

Every theta is in a unit of its own job, so that a solver's tolerance is small beside that job's utility. The rows of the
relaxation stay, so every embedding is a point of the program. The solver proves its bound, and no certificate verifies it.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from dlsched.algorithms.utility_tables import VANISHING, Floats, Tangent, pool_price, power_of_two, stretches, tangents
from dlsched.certificates import DualsCertificate
from dlsched.core.arrays import dot
from dlsched.core.elementary import geometric
from dlsched.core.limits import Budget, Stopped, Tick
from dlsched.core.messages import separable_labels
from dlsched.core.status import TerminationStatus
from dlsched.ring_embedding.certificate import certified
from dlsched.ring_embedding.instance import Instance
from dlsched.ring_embedding.rings.rows import Ceilings, epochs
from dlsched.solvers.linear import LinearModel, Rows, maximisation
from dlsched.solvers.lp import linear_program

if TYPE_CHECKING:
    from scipy.sparse import csr_array


LARGEST = 2**19
"""Largest number of variables for worker-slots by job, epoch and class: 200 MB."""
_ROUNDS = 40
_CLOSE = 1e-7  # relative, of the relaxation with tangents to the one with the envelopes
_VANISHING = 2.0**-60  # of the largest utility; a line that rises less counts as level
_FIRST = 12  # tangents of a utility to begin with


@dataclass(frozen=True, eq=False)
class Relaxed:
    """The optimum of the relaxation: worker-slots by job, shape (I,), and by (job, epoch), and the certificate."""

    totals: Floats
    by_epoch: dict[tuple[int, int], float]
    certificate: DualsCertificate
    program: "Program"


def aggregated(instance: Instance, budget: Budget | None = None) -> DualsCertificate:
    """All slots and servers as one pool: for every row one fractional greedy, of which the least bound is kept. No solver.

    A worker-slot is served in order of the slope of its job's concave envelope, less the price of its energy, per unit of the
    row; where that is more than the servers have that are worth their energy at this price, it is the price.
    Cost: O(Q (sum of Z_i)) for Q rows.
    """
    tick = (budget or Budget()).tick
    ceilings = Ceilings(instance)
    slots = instance.slots - min(job.arrival_slot for job in instance.jobs) + 1
    found = [certified(ceilings, "aggregated", {}, tick)]
    costs = [float(price) for price in instance.worker_prices]
    for row in ceilings.rows:
        servers = [
            (float(instance.on_prices[alike[0]]), float(each), len(alike))
            for each, alike in zip(row.capacity, ceilings.members, strict=True)
        ]

        def pool(price: float, servers: list[tuple[float, float, int]] = servers) -> float:
            return slots * sum(capacity * count for on, capacity, count in servers if on <= price * capacity)

        price = pool_price(ceilings.tables, [float(share) for share in row.demand], costs, pool, tick)
        found.append(certified(ceilings, "aggregated", {f"pool_{row.name}": price}, tick))
    return min(found, key=lambda certificate: certificate.value)


def horizon(instance: Instance, budget: Budget | None = None) -> DualsCertificate:
    """The linear relaxation over all slots, without rings; see ``relax``."""
    return relax(instance, budget).certificate


def relax(instance: Instance, budget: Budget | None = None) -> Relaxed:
    """Maximise the envelopes of the utilities, less the price of energy, over worker-slots by job, epoch and class of servers.

        z_i = sum_e sum_c w_iec <= Z_i        w_iec <= L_e m_c fits_ic        sum_c w_iec <= L_e N_i
        sum_i l_i^q w_iec <= C_c^q on_ec for every row q of every class c        on_ec <= L_e m_c, which costs e_c each

    Servers that cost nothing are always on. An embedding, averaged over the slots of each epoch and the servers of each class,
    keeps all of these, and so does the linear relaxation of ``span`` and ``arc``, whose rings cost nothing when workers are
    spread thinly. The envelopes enter as tangents, more of them where the last optimum lay (Kelley 1960). Where that would be
    more than ``LARGEST`` w, all classes share one row, sum_i l_i^q w_ie <= sum_c C_c^q on_ec: as strong if a worker takes one
    unit of the only resource. Stopped: more than ``LARGEST`` w even so, or a limit. SolverError: HiGHS has no optimum.
    """
    budget = budget or Budget()
    program = Program(instance, budget.tick)
    for _ in range(_ROUNDS):
        budget.tick()
        if program.solve(budget.left.time_s):
            break
    certificate = certified(program.ceilings, "horizon", program.prices(), budget.tick)
    return Relaxed(program.totals, program.by_epoch(program.point), certificate, program)


class Program:
    """The relaxation's rows, its tangents, and its last optimum; utilities are those beyond that of nothing.

    ``columns``: w by job, epoch and group of classes, and on, without a job, by epoch and class; then come z and theta of jobs.
    """

    def __init__(self, instance: Instance, tick: Tick) -> None:
        self.instance, self.ceilings, self.spans = instance, Ceilings(instance), epochs(instance)
        ceilings, members = self.ceilings, self.ceilings.members
        self.tables = ceilings.tables
        one = len(ceilings.rows) == 1 and all(share in (0, 1) for share in ceilings.rows[0].demand)
        pairs = sum(record.arrival_slot <= span.first for record in instance.jobs for span in self.spans)
        if pairs > LARGEST:
            raise Stopped(TerminationStatus.MEMORY_LIMIT)
        # Too many columns of single classes: all classes of an epoch share one column for each job.
        one = one or pairs * len(members) > LARGEST
        self.groups = [list(range(len(members)))] if one else [[number] for number in range(len(members))]
        self.columns: list[tuple[int | None, int, int]] = []
        self.upper: list[float] = []
        self.costs: list[float] = []
        self.worker_cost, self.on_cost = _costs(ceilings)
        self.rows = Rows()
        self.pools: dict[int, tuple[int, int, int, float]] = {}
        for e in range(len(self.spans)):
            tick()
            self._add_epoch(e)
        # One row for each job: its worker-slots z are those of all its columns.
        spent: list[list[tuple[int, float]]] = [[] for _ in instance.jobs]
        for column, (i, _, _) in enumerate(self.columns):
            if i is not None:
                spent[i].append((column, -1.0))
        self.spent = [self.rows.add([*terms, (len(self.columns) + i, 1.0)], 0.0) for i, terms in enumerate(spent)]
        self.unit = power_of_two(max(table.most for table in self.tables))
        self.tangents: dict[tuple[int, int], Tangent] = {}
        for i, table in enumerate(self.tables):
            tick()
            ends = np.unique(np.round(geometric(1, max(1, len(table.corners) - 1), _FIRST)).astype(int))
            for corner in ends.tolist():
                self._touch(i, corner)
        self.totals: Floats = np.zeros(len(instance.jobs))

    def _add_epoch(self, epoch: int) -> None:
        """Add columns and rows of one epoch."""
        ceilings, members, span = self.ceilings, self.ceilings.members, self.spans[epoch]
        here = [i for i, record in enumerate(self.instance.jobs) if record.arrival_slot <= span.first]
        columns: dict[int, list[int]] = {i: [] for i in here}
        for g, group in enumerate(self.groups):
            first = len(self.columns)
            for i in here:
                room = sum(ceilings.fits[i][members[c][0]] * len(members[c]) for c in group)
                if room:
                    columns[i].append(len(self.columns))
                    self._hold((i, epoch, g), span.slots * min(room, ceilings.most[i]), self.worker_cost[i])
            workers = list(enumerate(self.columns[first:], start=first))
            # Servers whose power has a price get a column ``on``; the capacity of the others is there for nothing.
            paid = {}
            for c in group:
                if self.on_cost[c]:
                    paid[c] = len(self.columns)
                    self._hold((None, epoch, c), span.slots * len(members[c]), self.on_cost[c])
            for q, row in enumerate(ceilings.rows):
                terms = [
                    (column, float(row.demand[i])) for column, (i, _, _) in workers if i is not None and row.demand[i]
                ]
                terms += [(column, -float(row.capacity[c])) for c, column in paid.items() if row.capacity[c]]
                pool = span.slots * sum(float(row.capacity[c]) * len(members[c]) for c in group if c not in paid)
                index, factor = self._add(terms, pool)
                self.pools[index] = epoch, g, q, factor
        for i, several in columns.items():
            if len(several) > 1:
                self._add([(column, 1.0) for column in several], float(span.slots * ceilings.most[i]))

    def _hold(self, column: tuple[int | None, int, int], upper: int, cost: float) -> None:
        self.columns.append(column)
        self.upper.append(float(upper))
        self.costs.append(cost)

    def _add(self, terms: list[tuple[int, float]], right: float) -> tuple[int, float]:
        """Add a row scaled by a power of two to a largest coefficient near 1; return its index and factor."""
        # A redundant row stays empty: its large right-hand side would blur the others.
        if sum(value * self.upper[column] for column, value in terms if value > 0) <= right:
            terms, right = [], 0.0
        factor = 2.0 ** -math.frexp(math.sqrt(0.5) * max((abs(value) for _, value in terms), default=1.0))[1]
        return self.rows.add([(column, value * factor) for column, value in terms], right * factor), factor

    def _touch(self, job: int, corner: int) -> None:
        """Add the line through two neighbouring corners of an envelope, of which ``corner`` is the second."""
        table = self.tables[job]
        if not 0 < corner < len(table.corners):
            if len(table.corners) == 1:
                self.tangents[job, 0] = 0.0, 0.0
            return
        a, b = (int(z) for z in table.corners[corner - 1 : corner + 1])
        slope = float(table.values[b] - table.values[a]) / (b - a)
        self.tangents[job, corner] = float(table.values[b] - table.values[0]) - slope * b, slope

    def solve(self, time_s: float | None) -> bool:
        """Solve with the present tangents and add those at the optimum; return whether they were close."""
        from scipy.sparse import vstack

        # Columns of w and on, then z, then theta; theta_i <= offset + slope z_i for every tangent.
        jobs, first, rows = len(self.tables), len(self.columns), Rows()
        for (i, _), (offset, slope) in self.tangents.items():
            z, theta, rise = first + i, first + jobs + i, slope * self.tables[i].units
            if rise > _VANISHING * self.unit:
                rows.add([(z, -slope / self.unit), (theta, 1.0)], offset / self.unit)
            else:  # HiGHS takes no coefficient of 1e-200 beside those of 1: the line is raised to its end
                rows.add([(theta, 1.0)], (offset + rise) / self.unit)
        bounds = [(0.0, most) for most in self.upper] + [(0.0, float(table.units)) for table in self.tables]
        bounds += [(-np.inf, table.most / self.unit) for table in self.tables]
        answer = linear_program(
            np.concatenate((np.array(self.costs) / self.unit, np.zeros(jobs), -np.ones(jobs))),
            a_ub=vstack([self._plain, rows.matrix(first + 2 * jobs)], format="csr"),
            b_ub=[*self.rows.right, *rows.right],
            bounds=bounds,
            time_s=time_s,
        )
        self.point = answer.x
        self.duals = np.maximum(0.0, -answer.upper) * self.unit
        self.totals = answer.x[first : first + jobs]
        # Utility that the envelopes have at the optimum; the tangents claim at least as much.
        before, reached = len(self.tangents), -float(dot(np.array(self.costs), answer.x[:first]))
        for i, table in enumerate(self.tables):
            z_i = float(self.totals[i])
            corner = int(np.searchsorted(table.corners, z_i))
            reached += float(np.interp(z_i, table.corners, table.values[table.corners])) - table.nothing
            for near in (corner, corner + 1, corner - 1):
                self._touch(i, near)
        claimed = -answer.objective * self.unit
        return len(self.tangents) == before or claimed - reached <= _CLOSE * claimed

    @cached_property
    def _plain(self) -> "csr_array":
        """The rows without tangents, which are the same in every round."""
        return self.rows.matrix(len(self.columns) + 2 * len(self.tables))

    def prices(self) -> dict[str, float]:
        """Prices of the last optimum as a certificate names them."""
        labels = separable_labels([job.id for job in self.instance.jobs], "j")
        prices = {f"total_{label}": float(self.duals[row]) for row, label in zip(self.spent, labels, strict=True)}
        for row, (e, g, q, factor) in self.pools.items():
            price = float(self.duals[row] * factor)
            if price:
                name = f"pool_{self.spans[e].first}_{self.ceilings.rows[q].name}"
                prices |= {f"{name}_c{number}": price for number in self.groups[g]}
        return prices

    def by_epoch(self, point: Floats) -> dict[tuple[int, int], float]:
        """Worker-slots by (job, epoch) of a point whose first variables are those of the columns."""
        found: dict[tuple[int, int], float] = {}
        for (i, e, _), value in zip(self.columns, point[: len(self.columns)].tolist(), strict=True):
            if i is not None:
                found[i, e] = found.get((i, e), 0.0) + value
        return found


def _costs(ceilings: Ceilings) -> tuple[list[float], list[float]]:
    """Prices of the energy of a worker by job, and of a server by class, cut to twice their largest possible worth."""
    instance, tables = ceilings.instance, ceilings.tables
    # Nothing uses what costs more than it can be worth, so cutting the price changes no optimum; solvers see no 1e100.
    steepest = [float(t.values[t.corners[1]] - t.values[0]) / int(t.corners[1]) if t.units else 0.0 for t in tables]
    workers = [min(float(price), 2 * slope) for price, slope in zip(instance.worker_prices, steepest, strict=True)]
    least = [min((float(share) for share in row.demand if share), default=1.0) for row in ceilings.rows]
    servers = []
    for c, alike in enumerate(ceilings.members):
        room = max((float(row.capacity[c]) / each for row, each in zip(ceilings.rows, least, strict=True)), default=0.0)
        servers.append(min(float(instance.on_prices[alike[0]]), 2 * room * sum(steepest)))
    return workers, servers


def build_totals(program: Program) -> LinearModel:
    """Build the program, gains in the unit of ``program``; w, on and z of the relaxation come first."""
    jobs, first, rows = len(program.tables), len(program.columns), program.rows.copy()
    units = [power_of_two(table.most) for table in program.tables]
    upper = [*program.upper, *(float(table.units) for table in program.tables)]
    upper += [table.most / unit for table, unit in zip(program.tables, units, strict=True)]
    equal: list[int] = []
    binaries: list[int] = []
    for (i, _), (offset, slope) in program.tangents.items():
        if slope > VANISHING * units[i]:
            rows.add([(first + jobs + i, 1.0), (first + i, -slope / units[i])], offset / units[i])
    for i, (table, unit) in enumerate(zip(program.tables, units, strict=True)):
        pieces = [(0, 0)] if table.concave else stretches(table, program.unit)
        if len(pieces) == 1:
            continue
        # Three columns for every stretch: whether it is chosen, its worker-slots, its utility.
        start, end = len(upper), len(upper) + 3 * len(pieces)
        for b, (low, high) in zip(range(start, end, 3), pieces, strict=True):
            z, theta = b + 1, b + 2
            upper += [1.0, float(high), table.most / unit]
            binaries.append(b)
            rows.add([(z, 1.0), (b, -float(high))], 0.0)
            rows.add([(z, -1.0), (b, float(low))], 0.0)
            for offset, slope in tangents(table, low, high, program.unit):
                rows.add([(theta, 1.0), (z, -slope / unit), (b, -offset / unit)], 0.0)
        equal.append(rows.add([(b, 1.0) for b in range(start, end, 3)], 1.0))
        equal.append(rows.add([(first + i, 1.0), *((z, -1.0) for z in range(start + 1, end, 3))], 0.0))
        rows.add([(first + jobs + i, 1.0), *((theta, -1.0) for theta in range(start + 2, end, 3))], 0.0)
    costs, integer = np.zeros(len(upper)), np.zeros(len(upper), dtype=bool)
    costs[:first] = -np.array(program.costs) / program.unit
    costs[first + jobs : first + 2 * jobs] = np.array(units) / program.unit
    integer[binaries] = True
    return maximisation(costs, rows.matrix(len(upper)), rows.right, upper=upper, integer=integer, equal=equal)
