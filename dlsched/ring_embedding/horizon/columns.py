"""Upper bounds with rings: prices of the relaxations over mappings, as certificates, and the bound over all slots.

*All slots.* At prices pi_i of worker-slots an embedding is worth at most

    sum_i max_(z <= Z_i) [mu_i(zeta_i z) - pi_i z] + sum_e L_e S_e(pi),   S_e(pi) = max over rings of a slot of sum_i pi_i n_i,

and ``mapping_program`` bounds S_e by column generation. The pi come from a program over the points n of slots found so far,

    maximise sum_i envelope_i(z_i),  z_i <= sum_e L_e sum_p lambda_ep n_ip,  sum_p lambda_ep <= 1     (Dantzig & Wolfe 1960),

whose optimum is below the bound and meets it in the end; trials lie between its prices and the best known (Wentges 1997).
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from dlsched.certificates import DualsCertificate, rounded_up
from dlsched.core.labels import separable_labels
from dlsched.core.limits import Limits
from dlsched.ring_embedding.certificate import prices_value
from dlsched.ring_embedding.horizon.relaxation import Relaxed, relax
from dlsched.ring_embedding.instance import Instance
from dlsched.ring_embedding.rings.network import Network
from dlsched.ring_embedding.rows import Epoch, epochs, rows
from dlsched.ring_embedding.slot.mapping_program import MappingProgram, Relaxation
from dlsched.ring_embedding.utilities import power_of_two
from dlsched.solvers.lp import linear_program

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

_ROUNDS = 60
_CLOSE = 1e-7
_SMOOTH = 0.5
_PIECES = 2**16  # of all envelopes in the program over the points; with fewer than all its value is a little too low


def columns(
    instance: Instance, *, tick: Callable[[], None] | None = None, limits: Callable[[], Limits] = Limits
) -> DualsCertificate:
    """Bound the total utility by column generation over rings (see the module).

    Parameters
    ----------
    instance
        Any.
    tick
        Called in every loop; it may raise to stop.
    limits
        Asked for the time that is left before every linear program.

    Guarantee: at least the optimum, and at most ``horizon``. In a forest it is the bound that prices of servers, links and
    worker-slots prove together. By listed paths no certificate has prices of links; there the method ``columns`` of
    ``solve`` has a stronger bound without one.

    Cost: linear programs, several for every different arrival in each round.

    Source: the decomposition of Dantzig and Wolfe 1960 with the smoothing of Wentges 1997; prices of rings are ours.

    >>> from dlsched import ring_embedding
    >>> round(ring_embedding.columns(ring_embedding.example()).value, 2)
    67.79
    """
    relaxed = relax(instance, tick=tick, limits=limits)
    network = Network(instance, tick, limits)
    if instance.one_slot:
        found = slot_certificate(network, MappingProgram(network).solve(slot_gains(network), {}))
    else:
        over = Columns(network, relaxed)
        over.search()
        found = over.certificate()
    return min(relaxed.certificate, found, key=lambda certificate: certificate.value)


def slot_gains(network: Network) -> dict[int, Floats]:
    """Gains of a slot in which nothing was earned before."""
    worths = enumerate(network.worths)
    return {job: worth.gains(0, int(network.most[job])) for job, worth in worths if network.total[job]}


def slot_certificate(network: Network, relaxation: Relaxation) -> DualsCertificate:
    """The prices of one slot's relaxation; for instances in which every job has one slot."""
    instance = network.instance
    prices = _named(instance, epochs(instance)[0], relaxation)
    return DualsCertificate("slot", prices, rounded_up(prices_value(instance, prices, alone=True, tick=network.tick)))


def columns_certificate(
    network: Network, pi: Sequence[float], relaxations: Mapping[Epoch, Relaxation]
) -> DualsCertificate:
    """Prices of worker-slots, and those of the relaxation of every epoch; links have none where paths are listed."""
    instance = network.instance
    labels = separable_labels([job.id for job in instance.jobs], "j")
    prices = {f"total_{label}": float(price) for label, price in zip(labels, pi, strict=True)}
    for epoch, relaxation in relaxations.items():
        prices |= _named(instance, epoch, relaxation)
    return DualsCertificate("columns", prices, rounded_up(prices_value(instance, prices, tick=network.tick)))


def _named(instance: Instance, epoch: Epoch, relaxation: Relaxation) -> dict[str, float]:
    servers = separable_labels([server.id for server in instance.servers], "s")
    resources = separable_labels(instance.resources, "r")
    units = {row.name: row for row in rows(instance)}
    prices: dict[str, float] = {}
    for r, (label, name) in enumerate(zip(resources, instance.resources, strict=True)):
        demands = zip(instance.jobs, units[label].demand, strict=True)
        unit = next(job.demand[name] / float(share) for job, share in demands if share)
        for s, server in enumerate(servers):
            price = float(relaxation.server[s, r]) * unit
            if price > 0:
                prices[f"capacity_{epoch.first}_{label}_{server}"] = price
    if instance.paths is None:
        for link, price in enumerate((relaxation.link[0::2] + relaxation.link[1::2]).tolist()):
            if price > 0:
                prices[f"bandwidth_{epoch.first}_l{link}"] = price
    return prices


class Columns:
    """The search for the best prices of worker-slots.

    ``relaxed``: the relaxation without rings, whose prices come first.
    """

    def __init__(self, network: Network, relaxed: Relaxed) -> None:
        self.instance, self.network, self.worths = network.instance, network, network.worths
        self.spans = epochs(network.instance)
        self.program = MappingProgram(network)
        self.points: list[tuple[int, Floats]] = []
        labels = separable_labels([job.id for job in network.instance.jobs], "j")
        self.pi: Floats = np.array([relaxed.certificate.rows.get(f"total_{label}", 0.0) for label in labels])
        self.nothing = sum(float(worth.values[0]) for worth in self.worths)
        self.bound = np.inf
        self.relaxations: dict[Epoch, Relaxation] = {}
        self.by_epoch: dict[tuple[int, int], float] = {}
        self._pieces = self._cut()

    def search(self, *, better: Callable[[], None] | None = None, enough: Callable[[], None] | None = None) -> None:
        """Lower ``bound``, with its prices ``pi`` and ``relaxations``.

        ``better`` is called when it fell; ``enough`` in every round and epoch: it may raise to stop before time is up.
        """
        trial = self.pi
        for _ in range(_ROUNDS):
            fell = self._try(trial, enough or self.network.tick)
            if fell and better is not None:
                better()
            value, prices = self._combine()
            if self.bound - value <= _CLOSE * (self.bound - self.nothing):
                break
            trial = _SMOOTH * self.pi + (1 - _SMOOTH) * prices if fell else prices

    def certificate(self) -> DualsCertificate:
        """What the best prices prove."""
        return columns_certificate(self.network, self.pi.tolist(), self.relaxations)

    def _try(self, pi: Floats, tick: Callable[[], None]) -> bool:
        """Bound every epoch at these prices; say whether the bound fell."""
        total = sum(
            float(np.max(worth.values - price * np.arange(len(worth.values))))
            for worth, price in zip(self.worths, pi.tolist(), strict=True)
        )
        found: dict[Epoch, Relaxation] = {}
        for e, span in enumerate(self.spans):
            tick()
            gains = {
                i: pi[i] * np.arange(int(self.network.most[i]) + 1)
                for i, job in enumerate(self.instance.jobs)
                if job.arrival_slot <= span.first and self.network.most[i]
            }
            relaxation = self.program.solve(gains, {})
            point = np.zeros(len(pi))
            for mapping in relaxation.mappings:
                point[mapping.job] += mapping.size * mapping.weight
            self.points.append((e, point))
            found[span] = relaxation
            total += span.slots * relaxation.bound
        if total >= self.bound:
            return False
        self.bound, self.pi, self.relaxations = total, pi, found
        return True

    def _cut(self) -> tuple[Integers, Floats, Floats]:
        """Pieces of the envelopes: job, width and gain; of many corners some, evenly spread where slopes change most."""
        most = max(2, _PIECES // len(self.worths))
        jobs, widths, gains = [], [], []
        for i, worth in enumerate(self.worths):
            corners = worth.corners
            if len(corners) > most:
                corners = corners[np.unique(np.geomspace(1, len(corners), most).astype(np.int64)) - 1]
            jobs.append(np.full(max(0, len(corners) - 1), i))
            widths.append(np.diff(corners).astype(np.float64))
            gains.append(np.diff(worth.values[corners]))
        return np.concatenate(jobs), np.concatenate(widths), np.concatenate(gains)

    def _combine(self) -> tuple[float, Floats]:
        """The program over the points: its value, and the prices of worker-slots."""
        from scipy.sparse import coo_array

        jobs, count = len(self.worths), len(self.points)
        piece, width, gain = self._pieces
        unit = power_of_two(max(worth.most for worth in self.worths))
        epoch = np.array([e for e, _ in self.points])
        length = np.array([self.spans[e].slots for e in epoch.tolist()], dtype=np.float64)
        amounts = np.array([point for _, point in self.points]).T * -length
        rows, columns = np.nonzero(amounts)
        places = np.concatenate((rows, jobs + epoch, piece))
        numbers = np.concatenate((columns, np.arange(count), count + np.arange(len(piece))))
        values = np.concatenate((amounts[rows, columns], np.ones(count), width))
        right = np.concatenate((np.zeros(jobs), np.ones(len(self.spans))))
        answer = linear_program(
            np.concatenate((np.zeros(count), -gain / unit)),
            a_ub=coo_array((values, (places, numbers)), shape=(len(right), count + len(piece))).tocsr(),
            b_ub=right,
            bounds=[(0.0, np.inf)] * count + [(0.0, 1.0)] * len(piece),
            time_s=self.network.limits().time_s,
        )
        self.by_epoch = {}
        for (e, point), weight in zip(self.points, answer.x.tolist(), strict=False):
            for i in np.flatnonzero(point).tolist():
                key = i, e
                self.by_epoch[key] = self.by_epoch.get(key, 0.0) + self.spans[e].slots * weight * float(point[i])
        return self.nothing - answer.objective * unit, np.maximum(0.0, -answer.upper[:jobs]) * unit
