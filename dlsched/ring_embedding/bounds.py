"""Upper bounds: column generation over rings, for one slot and for all slots, and how methods run bounds.

*All slots.* At prices pi_i of worker-slots an embedding is worth at most

    sum_i max_(z <= Z_i) [mu_i(zeta_i z) - pi_i z] + sum_e L_e S_e(pi),
    S_e(pi) = max over rings of a slot of sum_i (pi_i - e_i) n_i - sum_(s on) e_s,

and ``slot.mapping_program`` bounds S_e by column generation. The pi come from a program over the points n of slots found so far,

    maximise sum_i envelope_i(z_i) - sum_e L_e sum_p lambda_ep (energy of p),
    z_i <= sum_e L_e sum_p lambda_ep n_ip,  sum_p lambda_ep <= 1     (Dantzig & Wolfe 1960),

whose optimum is below the bound and meets it in the end; trials lie between its prices and the best known (Wentges 1997).
"""

from collections.abc import Callable, Sequence

import numpy as np

from dlsched.algorithms.utility_tables import Floats, Integers, UtilityTable, power_of_two
from dlsched.certificates import DualsCertificate
from dlsched.columns.generation import Smoothing
from dlsched.core.arrays import dot
from dlsched.core.elementary import float_power, geometric
from dlsched.core.limits import Budget, Stopped
from dlsched.core.messages import separable_labels
from dlsched.core.search import Search
from dlsched.core.status import Sense, TerminationStatus
from dlsched.ring_embedding.certificate import certified
from dlsched.ring_embedding.checker import worth
from dlsched.ring_embedding.instance import Instance
from dlsched.ring_embedding.objectives import require_served
from dlsched.ring_embedding.relaxation import Relaxed, aggregated, relax
from dlsched.ring_embedding.rings.network import Gains, Network
from dlsched.ring_embedding.rings.rows import Ceilings, Epoch, epochs
from dlsched.ring_embedding.slot.mapping_program import MappingProgram, Relaxation
from dlsched.ring_embedding.slot.slot_program import Filled
from dlsched.ring_embedding.solution import Embedding
from dlsched.solvers.lp import linear_program
from dlsched.version import VERSION

_ROUNDS = 60
_CLOSE = 1e-7
_PIECES = 2**16  # of all envelopes in the program over the points; too few make its value a little too low


def columns(instance: Instance, budget: Budget | None = None) -> DualsCertificate:
    """Bound the total utility by column generation over rings (see the module).

    ``budget``: asked in every loop, and for the time that is left before every linear program.

    Guarantee: at least the optimum, and at most ``horizon``. In a forest it is the bound that prices of servers, links and
    worker-slots prove together. By listed paths no certificate has prices of links; there the method ``columns`` of
    ``solve`` has a stronger bound without one.

    Cost: linear programs, several for every different arrival in each round.

    Source: the decomposition of Dantzig and Wolfe 1960 with the smoothing of Wentges 1997; prices of rings are ours.

    >>> from dlsched import ring_embedding
    >>> round(ring_embedding.columns(ring_embedding.example()).value, 2)
    67.79
    """
    require_served(instance, "columns")
    relaxed = relax(instance, budget)
    network = Network(instance, budget)
    if instance.one_slot:
        found = slot_certificate(network, MappingProgram(network).solve(slot_gains(network), {}))
    else:
        over = Columns(network, relaxed)
        over.search()
        found = over.certificate()
    return min(relaxed.certificate, found, key=lambda certificate: certificate.value)


def slot_gains(network: Network) -> Gains:
    """Gains of a slot if jobs have no worker-slots yet."""
    return {job: network.gains(job, 0, int(most)) for job, most in enumerate(network.most) if network.total[job]}


def slot_certificate(network: Network, relaxation: Relaxation) -> DualsCertificate:
    """Certificate from the prices of one slot's relaxation, for instances with one slot."""
    ceilings = Ceilings(network.instance)
    prices = _named(ceilings, epochs(network.instance)[0], relaxation)
    return certified(ceilings, "slot", prices, network.tick)


def _named(ceilings: Ceilings, epoch: Epoch, relaxation: Relaxation) -> dict[str, float]:
    """Prices of an epoch by row name, in the units of the rows; links have none if paths are listed."""
    instance = ceilings.instance
    servers = separable_labels([server.id for server in instance.servers], "s")
    resources = separable_labels(instance.resources, "r")
    units = {row.name: row for row in ceilings.rows}
    prices: dict[str, float] = {}
    for r, (label, name) in enumerate(zip(resources, instance.resources, strict=True)):
        demands = zip(instance.jobs, units[label].demand, strict=True)
        unit = next(job.demand[name] / float(share) for job, share in demands if share)
        for s, server in enumerate(servers):
            prices[f"capacity_{epoch.first}_{label}_{server}"] = float(relaxation.server[s, r]) * unit
    if instance.paths is None:
        for link, price in enumerate((relaxation.link[0::2] + relaxation.link[1::2]).tolist()):
            prices[f"bandwidth_{epoch.first}_l{link}"] = price
    return {name: price for name, price in prices.items() if price > 0}


def best_totals(tables: Sequence[UtilityTable], pi: Floats) -> float:
    """sum_i max_z [mu_i - pi_i z] at prices of worker-slots."""
    priced = zip(tables, pi.tolist(), strict=True)
    return sum(float(np.max(table.values - price * np.arange(len(table.values)))) for table, price in priced)


class Columns:
    """The search for the best prices of worker-slots, from those of the relaxation without rings on."""

    def __init__(self, network: Network, relaxed: Relaxed) -> None:
        self.instance, self.network, self.tables = network.instance, network, network.tables
        self.spans = epochs(network.instance)
        self.program = MappingProgram(network)
        self.points: list[tuple[int, float, Floats]] = []
        labels = separable_labels([job.id for job in network.instance.jobs], "j")
        self._names = [f"total_{label}" for label in labels]
        first = np.array([relaxed.certificate.rows.get(name, 0.0) for name in self._names])
        self.best = Smoothing(Sense.MAXIMIZE, first)
        self.nothing = sum(table.nothing for table in self.tables)
        self.relaxations: dict[Epoch, Relaxation] = {}
        self.by_epoch: dict[tuple[int, int], float] = {}
        self._pieces = self._cut()

    def search(self, *, better: Callable[[], None] = lambda: None, enough: Callable[[], None] | None = None) -> None:
        """Improve the prices of worker-slots, and the ``relaxations`` that prove them; ``better`` is called if the bound fell.

        ``enough`` is called in every round and epoch, and may raise to stop the search.
        """
        trial = self.pi
        for _ in range(_ROUNDS):
            fell = self._try(trial, enough or self.network.tick)
            if fell:
                better()
            value, prices = self._combine()
            if self.best.bound - value <= _CLOSE * (self.best.bound - self.nothing):
                break
            trial = self.best.between(prices) if fell else prices

    @property
    def pi(self) -> Floats:
        """The best prices of worker-slots known."""
        assert self.best.center is not None
        return self.best.center

    def certificate(self) -> DualsCertificate:
        """The certificate of the best prices."""
        ceilings = Ceilings(self.instance)
        prices = dict(zip(self._names, self.pi.tolist(), strict=True))
        for epoch, relaxation in self.relaxations.items():
            prices |= _named(ceilings, epoch, relaxation)
        return certified(ceilings, "columns", prices, self.network.tick)

    def _try(self, pi: Floats, tick: Callable[[], None]) -> bool:
        """Bound every epoch at these prices; return whether the bound fell."""
        total = best_totals(self.tables, pi)  # the S_e of the epochs are added below
        found: dict[Epoch, Relaxation] = {}
        for e, span in enumerate(self.spans):
            tick()
            gains = {
                i: (pi[i] - self.network.worker_price[i]) * np.arange(int(self.network.most[i]) + 1)
                for i, job in enumerate(self.instance.jobs)
                if job.arrival_slot <= span.first and self.network.most[i]
            }
            relaxation = self.program.solve(gains, {})
            point = np.zeros(len(pi))
            for mapping in relaxation.mappings:
                point[mapping.job] += mapping.size * mapping.weight
            self.points.append((e, relaxation.on_price + float(dot(self.network.worker_price, point)), point))
            found[span] = relaxation
            total += span.slots * relaxation.bound
        fell = self.best.keep(pi, total)
        if fell:
            self.relaxations = found
        return fell

    def _cut(self) -> tuple[Integers, Floats, Floats]:
        """Pieces of the envelopes (job, width, gain); of too many corners a part, denser where slopes change."""
        most = max(2, _PIECES // len(self.tables))
        jobs, widths, gains = [], [], []
        for i, table in enumerate(self.tables):
            corners = table.corners
            if len(corners) > most:
                corners = corners[np.unique(geometric(1, len(corners), most).astype(np.int64)) - 1]
            jobs.append(np.full(max(0, len(corners) - 1), i))
            widths.append(np.diff(corners).astype(np.float64))
            gains.append(np.diff(table.values[corners]))
        return np.concatenate(jobs), np.concatenate(widths), np.concatenate(gains)

    def _combine(self) -> tuple[float, Floats]:
        """Solve the program over the points: its value, and the prices of worker-slots."""
        from scipy.sparse import coo_array

        # Columns are the points, then the pieces; rows are z_i of the jobs, then the sum of lambda by epoch.
        jobs, count = len(self.tables), len(self.points)
        piece, width, gain = self._pieces
        unit = power_of_two(max(table.most for table in self.tables))
        epoch = np.array([e for e, _, _ in self.points])
        length = np.array([self.spans[e].slots for e in epoch.tolist()], dtype=np.float64)
        energy = length * np.array([price for _, price, _ in self.points])
        amounts = np.array([point for _, _, point in self.points]).T * -length
        rows, columns = np.nonzero(amounts)
        values = np.concatenate((amounts[rows, columns], np.ones(count), width))
        rows = np.concatenate((rows, jobs + epoch, piece))
        columns = np.concatenate((columns, np.arange(count), count + np.arange(len(piece))))
        right = np.concatenate((np.zeros(jobs), np.ones(len(self.spans))))
        answer = linear_program(
            np.concatenate((energy / unit, -gain / unit)),
            a_ub=coo_array((values, (rows, columns)), shape=(len(right), count + len(piece))).tocsr(),
            b_ub=right,
            bounds=[(0.0, np.inf)] * count + [(0.0, 1.0)] * len(piece),
            time_s=self.network.budget.left.time_s,
        )
        self.by_epoch = {}
        for (e, _, point), weight in zip(self.points, answer.x.tolist(), strict=False):
            for i in np.flatnonzero(point).tolist():
                key = i, e
                self.by_epoch[key] = self.by_epoch.get(key, 0.0) + self.spans[e].slots * weight * float(point[i])
        return self.nothing - answer.objective * unit, np.maximum(0.0, -answer.upper[:jobs]) * unit


COLUMNS = f"dlsched column generation {VERSION}"
CLOSE = 1e-9
"""Relative rounding error of bounds computed in floats, which is added to them."""
_SERVER_S, _NODE_S = 2e-6, 4e-7  # measured, for a job and a server, and for a job, a node and two workers
BOUNDED = 20_000
"""Largest number of jobs times servers times different arrivals for which ``bound`` without limits generates
columns."""


def run_columns(instance: Instance, search: Search[Embedding]) -> TerminationStatus:
    """Bound by column generation over mappings, from the prices of the relaxation on."""
    relaxed = prove_horizon(instance, search)
    network = Network(instance, search.budget)
    if instance.one_slot:
        prove_slot(network, MappingProgram(network).solve(slot_gains(network), {}), search)
    else:
        search_columns(network, relaxed, search)
    return TerminationStatus.FEASIBLE


def run_bound(instance: Instance, search: Search[Embedding]) -> TerminationStatus:
    """Bound by ``columns`` unless its search would take too long; by ``horizon`` otherwise."""
    size = len(instance.jobs) * len(instance.servers) * len({job.arrival_slot for job in instance.jobs})
    if size <= BOUNDED or search.budget.limited:
        return run_columns(instance, search)
    prove_horizon(instance, search)
    return TerminationStatus.FEASIBLE


def prove_horizon(instance: Instance, search: Search[Embedding]) -> Relaxed:
    """Certify the bound of all slots as one pool, then that of the relaxation without rings."""
    if search.bound is None:
        search.certify(aggregated(instance, search.budget))
    relaxed = relax(instance, search.budget)
    search.certify(relaxed.certificate)
    return relaxed


def search_columns(network: Network, relaxed: Relaxed, search: Search[Embedding]) -> Columns:
    """Run column generation over slots, and certify its last prices, even if stopped."""
    columns = Columns(network, relaxed)
    # The search must stop early enough to compute the certificate, which takes time itself.
    spare = _certificate_s(network)

    def enough() -> None:
        remaining_s = search.left.time_s
        if remaining_s is not None and remaining_s <= spare:
            raise Stopped(TerminationStatus.TIME_LIMIT)

    try:
        columns.search(better=lambda: search.report("columns"), enough=enough)
    finally:
        if columns.relaxations:
            try:
                search.certify(columns.certificate())
            finally:
                if not network.forest:
                    search.prove(columns.best.bound * (1 + CLOSE), source=COLUMNS)
    return columns


def _certificate_s(network: Network) -> float:
    """Estimated seconds to compute the certificate of the prices of all epochs."""
    instance = network.instance
    rings = sum(job.arrival_slot <= span.first for job in instance.jobs for span in epochs(instance))
    each = len(instance.servers) * len(instance.resources) * _SERVER_S
    if network.forest:
        each += len(network.tree.above) * float_power(float(np.mean(network.most)), 2) * _NODE_S
    return rings * each


def prove_slot(
    network: Network, relaxation: Relaxation, search: Search[Embedding], found: Filled | None = None
) -> None:
    """Certify a slot's relaxation; record the bound of ``found`` too if it is stronger."""
    instance = network.instance
    search.certify(slot_certificate(network, relaxation))
    nothing = sum(worth(job, 0) for job in instance.jobs)
    # With listed paths the certificate ignores links, so the relaxation's own bound is stronger. In a forest it
    # proves no more, and in floats may be too low for an answer that uses the last of the checker's tolerance.
    if found is not None and found.solver is not None and found.bound < relaxation.bound:
        search.prove((nothing + found.bound) * (1 + CLOSE), source=found.solver)
    elif instance.paths is not None:
        search.prove((nothing + relaxation.bound) * (1 + CLOSE), source=COLUMNS)
