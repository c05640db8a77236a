"""Workers and goals: the variables, rows and objectives that the span and arc models share.

*Workers* and their use of servers:

==================================  ===================================================================================
name                                mathematics
==================================  ===================================================================================
``y_<job>_<server>_<slot>``         y_is[t], workers; there is none before the job arrives, or where no worker fits
``on_<server>_<slot>``              on_s[t], 1 if the server is on, binary; servers whose power has a price only
``workers_<job>_<slot>``            sum_s y_is[t] <= N_i
``budget_<job>``                    sum_ts y_is[t] <= F_i^r / l_i^r, rounded down, for the least of the resources, or
                                    the most worker-slots that are worth their energy
``capacity_<server>_<r>_<slot>``    sum_i l_i^r y_is[t] <= C_s^r, or C_s^r on_s[t]
``on_<job>_<server>_<slot>``        y_is[t] <= (what fits there) on_s[t]
==================================  ===================================================================================

Rows that hold for every choice of workers are left out. *Complete* models keep workers that are not worth their energy, and
their answer has every ring of the values.

*Goals* of a linear model with workers: the sum of utilities less energy, the least utility, or quotas.

==================================  ===================================================================================
name                                mathematics
==================================  ===================================================================================
``g_<job>_<step>``                  g_ik, the part of a step of the utility that is reached, 0 to 1
``utility_<job>``                   sum_k width_ik g_ik <= sum_ts y_is[t]
``step_<job>_<step>``               g_ik <= g_ik', utilities that are not concave only
objective ``sum``                   maximise sum_i mu_i(0) + sum_ik gain_ik g_ik - sum_st e_s on_s[t] - sum_ist e_i y_is[t]
``least``                           v - min_i mu_i(0), where v is the least utility
``least_<job>``                     v <= mu_i(0) + sum_k gain_ik g_ik
objective ``max_min``               maximise v
==================================  ===================================================================================

``something``: sum_ist y_is[t] >= 1, used if only embeddings that run a worker count, to prove that none
pays.

Steps are those of ``algorithms.utility_tables``; for ``least`` utilities are cut at the most that v can be. Quotas (``Stairs``)
have no steps and no fractions. With q_il the quota of job i for stair l:

==================================  ===================================================================================
``meets_<job>_<stair>``             m_il for l >= 1, binary: 1 if the job counts as having its quota
``quota_<job>``                     q_i0 + sum_l (q_il - q_i,l-1) m_il <= sum_ts y_is[t]
``stair_<job>_<stair>``             m_il <= m_i,l-1
``count_<stair>``                   sum_i m_il >= count_l
objective                           maximise sum_i m_il of the last stair, or nothing
==================================  ===================================================================================
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product
from typing import TYPE_CHECKING, Literal

import numpy as np

from dlsched.algorithms.utility_tables import UtilityTable, power_of_two, steps
from dlsched.algorithms.whole_rows import row
from dlsched.core.errors import UsageError
from dlsched.core.limits import Budget
from dlsched.core.messages import separable_labels
from dlsched.ring_embedding.instance import Instance
from dlsched.ring_embedding.objectives import objective_of
from dlsched.ring_embedding.rings.network import Network, Workers
from dlsched.ring_embedding.rings.placing import Slot, embedding
from dlsched.ring_embedding.solution import Embedding
from dlsched.solvers.formulation import Decided, Variables

if TYPE_CHECKING:
    import pulp


LARGEST = 200_000
"""Largest number of variables; PuLP builds a model of this size in some seconds."""

_ROUNDING = 2.0**-49  # relative rounding error of a utility's floats and their differences

Terms = list[tuple["pulp.LpVariable", float]]
Found = dict[int, dict[int, tuple[Workers, tuple[int, ...]]]]
"""By slot and job: workers by server, and the order of the ring."""


def require_few(variables: int) -> None:
    """Refuse a model with too many variables (UsageError)."""
    if variables > LARGEST:
        raise UsageError(f"the model has {variables} variables or more, allowed: up to {LARGEST}")


class UtilityModel:
    """A model whose goal is of worker-slots: ``of`` has those of every job as terms; what limits them is still to be added.

    ``tables``: every job's utility without energy, and by its length the most worker-slots.
    """

    def __init__(self, instance: Instance, network: Network, tables: Sequence[UtilityTable]) -> None:
        import pulp

        self.instance, self.network, self.tables = instance, network, list(tables)
        self.jobs = separable_labels([job.id for job in instance.jobs], "j")
        self.unit = 1.0
        self.problem = pulp.LpProblem("ring_embedding", pulp.LpMaximize)
        self.y: dict[tuple[int, int, int], pulp.LpVariable] = {}
        self.on: dict[tuple[int, int], pulp.LpVariable] = {}
        self.of: list[Terms] = [[] for _ in instance.jobs]

    def add(self, name: str, terms: Terms, right: float, *, sense: int = -1) -> None:
        """Add a row ``terms <= right``, or one with another PuLP sense."""
        import pulp

        self.problem.addConstraint(pulp.LpConstraint(pulp.LpAffineExpression(terms), sense, name, right))

    def maximise(self, terms: Terms, constant: float = 0.0, unit: float = 1.0) -> None:
        """Set the objective, in a unit that the model's name states where it is not 1."""
        import pulp

        self.unit = unit
        if unit != 1:
            self.problem.name += f"_in_units_of_2_to_the_{math.frexp(unit)[1] - 1}"
        self.problem.setObjective(pulp.LpAffineExpression(terms, constant))


class WorkersModel(UtilityModel):
    """A model with workers, the rows of servers and budgets, and a goal; rings are still to be added.

    ``tables``: every job's utility without energy, and by its length the most worker-slots; None: the instance's.
    ``complete``: keep all choices of workers, worth their energy or not. UsageError: more than ``LARGEST`` variables.
    """

    def __init__(
        self,
        instance: Instance,
        tables: Sequence[UtilityTable] | None,
        budget: Budget | None,
        goal: "Callable[[WorkersModel], None]",
        *,
        complete: bool = False,
    ) -> None:
        import pulp

        network = Network(instance, budget)
        super().__init__(instance, network, tables or network.tables)
        nodes = separable_labels([node.id for node in instance.nodes], "n")
        self.nodes = {node.id: label for node, label in zip(instance.nodes, nodes, strict=True)}
        self.servers = [self.nodes[server.id] for server in instance.servers]
        require_few(instance.slots * int(np.count_nonzero(self.network.fits)))
        self.complete = complete
        if not complete:
            self.tables = paying(network, self.tables)
        # Workers of every job on every server that holds one; ``on`` only where the power of a server has a price.
        for i, t in self.rings():
            for s in self.hosts(i):
                label = f"y_{self.jobs[i]}_{self.servers[s]}_{t}"
                self.y[i, s, t] = pulp.LpVariable(label, 0, int(self.network.fits[i, s]), pulp.LpInteger)
                self.of[i].append((self.y[i, s, t], 1))
                if self.network.on_price[s] and (s, t) not in self.on:
                    self.on[s, t] = pulp.LpVariable(f"on_{self.servers[s]}_{t}", 0, 1, pulp.LpInteger)
        goal(self)
        self._add_jobs()
        self._add_servers()

    @property
    def variables(self) -> Variables:
        """Workers by the ids of job and server, and slot; none before the job arrives, or where no worker fits."""
        jobs, servers = self.instance.jobs, self.instance.servers
        return Variables(workers={(jobs[i].id, servers[s].id, t): y for (i, s, t), y in self.y.items()})

    @staticmethod
    def chosen(found: Embedding) -> Decided:
        """Return the workers of an embedding, by job, server and slot."""
        rings = ((job, slot, ring) for slot, by_job in found.slots.items() for job, ring in by_job.items())
        return {"workers": {(job, server, t): float(n) for job, t, ring in rings for server, n in ring.workers.items()}}

    def hosts(self, job: int) -> list[int]:
        """Servers that hold a worker of the job."""
        return list(map(int, np.flatnonzero(self.network.fits[job])))

    def rings(self) -> list[tuple[int, int]]:
        """Jobs and slots in which they may run."""
        jobs = enumerate(self.instance.jobs)
        return [(i, t) for i, job in jobs for t in range(job.arrival_slot, self.instance.slots + 1) if self.hosts(i)]

    def _add_jobs(self) -> None:
        for i, t in self.rings():
            self.network.tick()
            if self.network.fits[i].sum() > self.instance.jobs[i].max_workers:
                terms = [(self.y[i, s, t], 1.0) for s in self.hosts(i)]
                self.add(f"workers_{self.jobs[i]}_{t}", terms, self.instance.jobs[i].max_workers)
        for i, job in enumerate(self.instance.jobs):
            allowed = self.tables[i].units
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
                pairs = zip(users, amounts, strict=True)
                terms = [(self.y[i, s, t], a) for i, a in pairs if (i, s, t) in self.y]
                # A row that the bounds of its workers imply is left out.
                if sum(a * y.upBound for y, a in terms) > right:
                    name, on = f"capacity_{self.servers[s]}_{resources[r]}_{t}", self.on.get((s, t))
                    self.add(name, terms if on is None else [*terms, (on, -right)], right if on is None else 0.0)
        for (i, s, t), y in self.y.items():
            if (s, t) in self.on:
                self.add(f"on_{self.jobs[i]}_{self.servers[s]}_{t}", [(y, 1), (self.on[s, t], -y.upBound)], 0)

    def workers(self, values: Mapping[str, float]) -> dict[int, dict[int, Workers]]:
        """Workers by slot, job and server."""
        found: dict[int, dict[int, Workers]] = {}
        for (i, s, t), y in self.y.items():
            count = round(values.get(y.name, 0.0))
            if count > 0:
                found.setdefault(t, {}).setdefault(i, {})[s] = count
        return found


def paying(network: Network, tables: Sequence[UtilityTable]) -> list[UtilityTable]:
    """Cut tables after the largest count worth its energy; jobs and servers never worth it fit nothing.

    Some best embedding keeps to that. So no price in a model exceeds what jobs can earn.
    """
    if not network.instance.charges:
        return list(tables)
    shortened = []
    for i, (table, price) in enumerate(zip(tables, network.worker_price, strict=True)):
        # The largest count whose utility, less energy, is not below that of nothing by more than rounding.
        earned = table.values - table.nothing - price * np.arange(len(table.values))
        most = int(np.flatnonzero(earned >= -_ROUNDING * table.values.max())[-1])
        shortened.append(replace(table, values=table.values[: most + 1]))
        network.fits[i] *= most > 0
    network.fits[:, network.on_price > (1 + _ROUNDING) * sum(table.most for table in shortened)] = 0
    return shortened


def shared_servers(network: Network) -> Iterator[tuple[int, int, list[int], float]]:
    """Yield servers and resources, the jobs that can use them, and their capacity."""
    instance = network.instance
    for (s, server), (r, name) in product(enumerate(instance.servers), enumerate(instance.resources)):
        yield s, r, np.flatnonzero((network.demand[:, r] > 0) & (network.fits[:, s] > 0)).tolist(), server.holds(name)


def embedded(network: Network, found: Found, *, complete: bool = False) -> Embedding:
    """Name rings; unless ``complete``, omit those that by a solver's tolerance do not fit beside the others."""
    slots = {}
    for number, rings in found.items():
        slots[number] = slot = Slot(network)
        for job, (workers, order) in rings.items():
            links = network.crossed(order)
            if complete:
                slot.put(job, (workers, order, links or []))
            elif links is not None and set(order) == set(workers):
                slot.fit(job, (workers, order, links))
    return embedding(network, slots)


@dataclass(frozen=True)
class Stairs:
    """Quotas of worker-slots over all slots, by stair (from 0) and job; they never fall from stair to stair, None: out of reach.

    All jobs must meet stair 0. ``counts``: by stair, how many jobs must meet their quota at least. ``maximise``: as many as
    possible meet the last one; otherwise any answer will do.
    """

    quotas: tuple[tuple[int | None, ...], ...]
    counts: tuple[int, ...]
    maximise: bool = False

    def rises(self) -> Iterator[tuple[int, int, list[int]]]:
        """Yield each job, its quota of stair 0, and the rises to the stairs from 1 on that it can reach."""
        for job, quotas in enumerate(zip(*self.quotas, strict=True)):
            known = [quota for quota in quotas if quota is not None]
            yield job, known[0], [there - here for here, there in pairwise(known)]


Goal = Stairs | Literal["something"]
"""Goals other than the instance's objective: quotas, or the objective over embeddings that run a worker."""


def goal_of(instance: Instance, goal: Goal | None) -> Callable[[WorkersModel], None]:
    """The function that adds a goal to a model; None: the instance's objective."""
    if isinstance(goal, Stairs):
        return lambda model: _add_stairs(model, goal)
    if goal == "something":
        return _add_something
    return objective_of(instance).goal


def _add_something(model: WorkersModel) -> None:
    import pulp

    add_sum(model)
    model.add("something", [(y, 1) for y in model.y.values()], 1, sense=pulp.LpConstraintGE)


def add_sum(model: UtilityModel) -> None:
    """Add the goal ``sum``."""
    unit = _unit(sum(table.most for table in model.tables))
    terms = [(g, gain / unit) for reached in _add_utilities(model, model.tables) for g, gain in reached]
    prices = model.network.worker_price.tolist(), model.network.on_price.tolist()
    terms += [(y, -prices[0][i] / unit) for (i, _, _), y in model.y.items() if prices[0][i]]
    terms += [(on, -prices[1][s] / unit) for (s, _), on in model.on.items()]
    model.maximise(terms, sum(table.nothing for table in model.tables) / unit, unit)


def add_least(model: UtilityModel) -> None:
    """Add the goal ``max_min``."""
    import pulp

    top = min(float(table.values.max()) for table in model.tables)
    base = min(table.nothing for table in model.tables)
    unit = _unit(top - base)
    # No job needs more than the least of all maxima: utilities above it are cut.
    cut = [replace(table, values=np.minimum(table.values, top)) for table in model.tables]
    least = pulp.LpVariable("least", 0, (top - base) / unit)
    for i, reached in enumerate(_add_utilities(model, cut)):
        if reached:
            terms = [(least, 1.0), *((g, -gain / unit) for g, gain in reached)]
            model.add(f"least_{model.jobs[i]}", terms, (cut[i].nothing - base) / unit)
    model.maximise([(least, 1.0)], base / unit, unit)


def _unit(most: float) -> float:
    """1 for gains up to ``most`` of 1 to 2**14, else the power of two that scales them to 2**9 to 2**10."""
    return 1.0 if 1 <= most <= 2**14 or most == 0 else power_of_two(most) / 2**10


def _add_utilities(model: UtilityModel, tables: Sequence[UtilityTable]) -> list[Terms]:
    """Add steps of every job's utility; return them with what they gain."""
    import pulp

    ladders = []
    for table in tables:
        model.network.tick()
        ladders.append(steps(table))
    require_few(sum(map(len, ladders)) + len(model.y))
    gains: list[Terms] = []
    for i, (label, found) in enumerate(zip(model.jobs, ladders, strict=True)):
        model.network.tick()
        reached = [
            pulp.LpVariable(f"g_{label}_{k}", 0, 1, pulp.LpInteger if step.binary else pulp.LpContinuous)
            for k, step in enumerate(found, start=1)
        ]
        gains.append([(g, step.gain) for g, step in zip(reached, found, strict=True)])
        widths: Terms = [(g, step.width) for g, step in zip(reached, found, strict=True)]
        if found:
            model.add(f"utility_{label}", widths + [(y, -count) for y, count in model.of[i]], 0)
        for k, step in enumerate(found):
            if step.after is not None:
                model.add(f"step_{label}_{k + 1}", [(reached[k], 1), (reached[step.after], -1)], 0)
    return gains


def _add_stairs(model: WorkersModel, stairs: Stairs) -> None:
    import pulp

    count: list[Terms] = [[] for _ in stairs.counts]
    for i, quota, rises in stairs.rises():
        model.network.tick()
        label = model.jobs[i]
        meets = [pulp.LpVariable(f"meets_{label}_{k}", 0, 1, pulp.LpInteger) for k in range(1, len(rises) + 1)]
        terms: Terms = [(m, rise) for m, rise in zip(meets, rises, strict=True) if rise]
        if quota or terms:
            model.add(f"quota_{label}", [*terms, *((y, -1) for y, _ in model.of[i])], -quota)
        for k, (before, after) in enumerate(pairwise(meets), start=2):
            model.add(f"stair_{label}_{k}", [(after, 1), (before, -1)], 0)
        for k, m in enumerate(meets, start=1):
            count[k].append((m, 1))
    for k, least in enumerate(stairs.counts[1:], start=1):
        model.add(f"count_{k}", count[k], least, sense=pulp.LpConstraintGE)
    model.maximise(count[-1] if stairs.maximise else [])
