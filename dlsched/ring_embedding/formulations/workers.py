"""What the span model and the arc model have in common: workers, what they take of servers, and their utility.

==================================  ===================================================================================
name                                mathematics
==================================  ===================================================================================
``y_<job>_<server>_<slot>``         y_is[t], workers; there is none before the job arrives, or where no worker fits
``g_<job>_<step>``                  g_ik, the part of a step of the utility that is reached, 0 to 1
objective                           maximise sum_i mu_i(0) + sum_ik gain_ik g_ik
``utility_<job>``                   sum_k width_ik g_ik <= sum_ts y_is[t]
``step_<job>_<step>``               g_ik <= g_ik', S-shaped utilities only
``workers_<job>_<slot>``            sum_s y_is[t] <= N_i
``budget_<job>``                    sum_ts y_is[t] <= F_i^r / l_i^r, rounded down, for the least of the resources
``capacity_<server>_<r>_<slot>``    sum_i l_i^r y_is[t] <= C_s^r
==================================  ===================================================================================

Rows that hold whatever the workers are left out; steps are those of ``algorithms.utility_steps``.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from dlsched.algorithms.utility_steps import steps
from dlsched.algorithms.utility_table import UtilityTable, power_of_two
from dlsched.algorithms.whole_rows import row
from dlsched.core.budget import Budget
from dlsched.core.errors import UsageError
from dlsched.core.labels import separable_labels
from dlsched.ring_embedding.instance import Instance
from dlsched.ring_embedding.rings.network import Network, Workers
from dlsched.ring_embedding.rings.placing import Slot, embedding
from dlsched.ring_embedding.solution import Embedding

if TYPE_CHECKING:
    import pulp

LARGEST = 200_000
"""Variables; a model of that many takes PuLP some seconds."""

Terms = list[tuple["pulp.LpVariable", float]]
Found = dict[int, dict[int, tuple[Workers, tuple[int, ...]]]]
"""By slot and job: workers by server, and the order of the ring."""


def require_few(variables: int) -> None:
    """Refuse a model with too many variables (UsageError)."""
    if variables > LARGEST:
        raise UsageError(f"the model has {variables} variables or more, allowed: up to {LARGEST}")


class WorkersModel:
    """A model with workers, the rows of servers and budgets, and the objective; rings are still to be added.

    ``tables``: of every job, in place of its utility and of the most worker-slots that it can have.

    Raises
    ------
    UsageError
        More than ``LARGEST`` variables.
    """

    def __init__(self, instance: Instance, tables: Sequence[UtilityTable] | None, budget: Budget | None) -> None:
        import pulp

        self.instance, self.network = instance, Network(instance, budget)
        self.jobs = separable_labels([job.id for job in instance.jobs], "j")
        nodes = separable_labels([node.id for node in instance.nodes], "n")
        self.nodes = {node.id: label for node, label in zip(instance.nodes, nodes, strict=True)}
        self.servers = [self.nodes[server.id] for server in instance.servers]
        workers = instance.slots * int(np.count_nonzero(self.network.fits))
        require_few(workers)
        tables = tables or self.network.tables
        self.totals = [table.units for table in tables]
        self.steps = []
        for table in tables:
            self.network.tick()
            self.steps.append(steps(table))
        require_few(sum(map(len, self.steps)) + workers)
        most = sum(table.most for table in tables)
        self.unit = 1.0 if 1 <= most <= 2**14 or most == 0 else power_of_two(most) / 2**10
        name = "" if self.unit == 1 else f"_in_units_of_2_to_the_{math.frexp(self.unit)[1] - 1}"
        self.problem = pulp.LpProblem("ring_embedding" + name, pulp.LpMaximize)
        self.y: dict[tuple[int, int, int], pulp.LpVariable] = {}
        self.of: list[Terms] = [[] for _ in instance.jobs]
        for i, t in self.rings():
            for s in self.hosts(i):
                label = f"y_{self.jobs[i]}_{self.servers[s]}_{t}"
                self.y[i, s, t] = pulp.LpVariable(label, 0, int(self.network.fits[i, s]), pulp.LpInteger)
                self.of[i].append((self.y[i, s, t], 1))
        self._add_utilities(sum(table.nothing for table in tables))
        self._add_jobs()
        self._add_servers()

    def hosts(self, job: int) -> list[int]:
        """Servers that hold a worker of the job."""
        return list(map(int, np.flatnonzero(self.network.fits[job])))

    def rings(self) -> list[tuple[int, int]]:
        """Jobs and slots in which they may run."""
        jobs = enumerate(self.instance.jobs)
        return [(i, t) for i, job in jobs for t in range(job.arrival_slot, self.instance.slots + 1) if self.hosts(i)]

    def add(self, name: str, terms: Terms, right: float, *, sense: int = -1) -> None:
        """Add a row ``terms <= right``, or of another PuLP sense."""
        import pulp

        self.problem.addConstraint(pulp.LpConstraint(pulp.LpAffineExpression(terms), sense, name, right))

    def _add_utilities(self, nothing: float) -> None:
        import pulp

        gains: Terms = []
        for i, (label, held) in enumerate(zip(self.jobs, self.steps, strict=True)):
            if not held:
                continue
            reached = [
                pulp.LpVariable(f"g_{label}_{k}", 0, 1, pulp.LpInteger if step.binary else pulp.LpContinuous)
                for k, step in enumerate(held, start=1)
            ]
            self.network.tick()
            gains += [(g, step.gain / self.unit) for g, step in zip(reached, held, strict=True)]
            widths: Terms = [(g, step.width) for g, step in zip(reached, held, strict=True)]
            self.add(f"utility_{label}", widths + [(y, -1) for y, _ in self.of[i]], 0)
            for k, step in enumerate(held):
                if step.after is not None:
                    self.add(f"step_{label}_{k + 1}", [(reached[k], 1), (reached[step.after], -1)], 0)
        self.problem.setObjective(pulp.LpAffineExpression(gains, nothing / self.unit))

    def _add_jobs(self) -> None:
        for i, t in self.rings():
            self.network.tick()
            if self.network.fits[i].sum() > self.instance.jobs[i].max_workers:
                terms = [(self.y[i, s, t], 1.0) for s in self.hosts(i)]
                self.add(f"workers_{self.jobs[i]}_{t}", terms, self.instance.jobs[i].max_workers)
        for i, job in enumerate(self.instance.jobs):
            allowed = self.totals[i]
            together = min(job.max_workers, int(self.network.fits[i].sum()))
            if allowed < together * (self.instance.slots - job.arrival_slot + 1):
                self.add(f"budget_{self.jobs[i]}", self.of[i], allowed)

    def _add_servers(self) -> None:
        resources = separable_labels(self.instance.resources, "r")
        for s, r, users, capacity in shared_servers(self.network):
            demand = self.network.demand[users, r].tolist()
            amounts, right = row(demand, capacity, self.network.fits[users, s].tolist())
            for t in range(1, self.instance.slots + 1):
                self.network.tick()
                held = zip(users, amounts, strict=True)
                terms = [(self.y[i, s, t], a) for i, a in held if (i, s, t) in self.y]
                if sum(a * y.upBound for y, a in terms) > right:
                    self.add(f"capacity_{self.servers[s]}_{resources[r]}_{t}", terms, right)

    def workers(self, values: Mapping[str, float]) -> dict[int, dict[int, Workers]]:
        """Workers by slot, job and server."""
        found: dict[int, dict[int, Workers]] = {}
        for (i, s, t), y in self.y.items():
            count = round(values.get(y.name, 0.0))
            if count > 0:
                found.setdefault(t, {}).setdefault(i, {})[s] = count
        return found


def shared_servers(network: Network) -> Iterator[tuple[int, int, list[int], float]]:
    """Servers and resources, the jobs that can use them, and how much there is."""
    instance = network.instance
    for (s, server), (r, name) in product(enumerate(instance.servers), enumerate(instance.resources)):
        yield s, r, np.flatnonzero((network.demand[:, r] > 0) & (network.fits[:, s] > 0)).tolist(), server.holds(name)


def embedded(network: Network, found: Found) -> Embedding:
    """Name rings; one that what others leave does not hold, by a solver's tolerance, is left out."""
    slots = {}
    for number, rings in found.items():
        slots[number] = slot = Slot(network)
        for job, (workers, order) in rings.items():
            links = network.crossed(order)
            if links is not None and set(order) == set(workers):
                slot.fit(job, (workers, order, links))
    return embedding(network, slots)
