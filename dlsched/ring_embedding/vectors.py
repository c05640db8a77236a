"""ring_embedding in a forest without a price of energy: how often each vector of workers stands in the slots of an epoch.

``slot.vectors`` lists what a slot can hold in all. Slots of an epoch are alike, so only how often they hold each vector matters.

==================================  ===================================================================================
name                                mathematics
==================================  ===================================================================================
``x_<first slot>_<number>``         slots of the epoch that hold the vector n_p, whole, 0 to L_e
``slots_<first slot>``              sum_p x_p <= L_e
``utility_<job>``, steps            as in ``workers``, with sum_p n_pi x_p worker-slots of job i
==================================  ===================================================================================

*Theorem.* At prices pi of worker-slots let S_e be the most that a vector is worth in epoch e, and

    D  =  sum_i max_z [mu_i(zeta_i z) - pi_i z]  +  sum_e L_e S_e.

In an embedding worth U or more every slot of epoch e holds a vector with pi n >= S_e - (D - U).

*Proof.* The embedding is worth sum_i [mu_i(zeta_i z_i) - pi_i z_i] + sum_t pi n(t). Each term is at most its term of D. So what
n(t) lacks of S_e is at most D - U.

So only these vectors are variables: the optimum is the model's or less than the cutoff U, whatever the prices are. Those of the
linear program over vectors, to which ``VectorColumns`` comes close, leave few. Floats may be off: D - U is raised by ``ROOM`` of
all that is added up, so that only too many vectors are listed.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from dlsched.algorithms.utility_tables import Floats
from dlsched.columns.generation import Smoothing
from dlsched.core.arrays import dot
from dlsched.core.errors import UsageError
from dlsched.core.gap import CLOSED
from dlsched.core.limits import Limits
from dlsched.core.search import Search
from dlsched.core.status import Sense
from dlsched.ring_embedding.bounds import Columns, best_totals
from dlsched.ring_embedding.checker import check, total
from dlsched.ring_embedding.formulations.linear import build_span
from dlsched.ring_embedding.formulations.workers import Found, UtilityModel, embedded, require_few
from dlsched.ring_embedding.heuristics.plan import Plan, ascend
from dlsched.ring_embedding.instance import Instance
from dlsched.ring_embedding.objectives import objective_of
from dlsched.ring_embedding.relaxation import Relaxed, relax
from dlsched.ring_embedding.rings.network import Network
from dlsched.ring_embedding.rings.rows import Epoch, epochs
from dlsched.ring_embedding.slot.vectors import Servers, SlotVectors, best_vectors
from dlsched.ring_embedding.solution import Embedding
from dlsched.solvers.conclude import conclude
from dlsched.solvers.formulation import Formulation, Parametric
from dlsched.solvers.milp import solve_milp
from dlsched.solvers.outcome import Incumbent
from dlsched.version import VERSION

if TYPE_CHECKING:
    import pulp

ROOM = 2.0**-32
"""Part of all that is added up by which D - U is raised."""
NODES = 2000
"""Node limit of the solver if there are no limits."""
LISTED = f"dlsched vectors of slots {VERSION}"
_PARTS = 1 / 16, 1 / 4, 1.0
"""Parts of the way from the bound to the incumbent, where cutoffs lie one after the other."""


def build(
    instance: Instance, *, prices: str | None = None, cutoff: str | None = None, complete: bool = False
) -> "Formulation[pulp.LpProblem, Embedding]":
    """Build the model; ``complete``: all embeddings, which is ``span``.

    ``prices``: numbers by job, separated by blanks; ``cutoff``: an objective; None: those of a plan and the program over vectors.

    UsageError: paths are listed, energy has a price, the objective is no sum, a parameter is wrong, or too much is to be listed.
    """
    if complete:
        return build_span(instance, complete=True)
    if instance.paths is not None or instance.charges or not objective_of(instance).additive:
        found = "listed paths, a price of energy, or another objective"
        raise UsageError(where="vectors", found=found, allowed="sums of utilities in a forest")
    network = Network(instance)
    if prices is None or cutoff is None:
        default_prices, default_cutoff = _parameters(network)
        prices, cutoff = prices or " ".join(map(repr, default_prices)), cutoff or repr(default_cutoff)
    try:
        pi, upto = np.array(list(map(float, prices.split()))), float(cutoff)
    except ValueError:
        raise UsageError(where="prices, cutoff", found=repr((prices, cutoff)), allowed="numbers") from None
    if len(pi) != len(instance.jobs) or not all(0 <= price <= 1e100 for price in pi) or not math.isfinite(upto):
        raise UsageError(where="prices, cutoff", found=repr((prices, cutoff)), allowed="numbers >= 0 by job, and one")
    return replace(build_vectors(network, pi, upto), limit=upto, parameters={"prices": prices, "cutoff": cutoff})


VECTORS = Parametric(build, ("prices", "cutoff"))
"""The builder of ``vectors``."""


def build_vectors(network: Network, pi: Floats, cutoff: float) -> "Formulation[pulp.LpProblem, Embedding]":
    """Build the model of all embeddings worth ``cutoff`` or more, at prices of worker-slots >= 0; UsageError as ``build``."""
    import pulp

    model = UtilityModel(network.instance, network, network.tables)
    listed = vectors_within(network, pi, cutoff)
    require_few(sum(len(vectors.rows) for vectors in listed.values()))
    chosen: dict[Epoch, list[pulp.LpVariable]] = {}
    for span, vectors in listed.items():
        names = [f"x_{span.first}_{number}" for number in range(1, len(vectors.rows) + 1)]
        chosen[span] = [pulp.LpVariable(name, 0, span.slots, pulp.LpInteger) for name in names]
        for x, vector in zip(chosen[span], vectors.rows.tolist(), strict=True):
            for terms, count in zip(model.of, vector, strict=True):
                terms += [(x, count)] * (count > 0)
    objective_of(network.instance).goal(model)
    for span, several in chosen.items():
        model.add(f"slots_{span.first}", [(x, 1) for x in several], span.slots)

    def decode(values: Incumbent) -> Embedding:
        found: Found = {}
        left = network.total.copy()  # worker-slots that the budget allows
        for span, several in chosen.items():
            counts = [round(values.get(x.name, 0.0)) for x in several]
            for t, p in enumerate(np.repeat(np.arange(len(counts)), counts).tolist()):
                vector = np.minimum(listed[span].rows[p], left)
                left -= vector
                workers = listed[span].workers(vector)
                orders = {job: next(iter(network.orders(where))) for job, where in workers.items()}
                found[span.first + t] = {job: (where, orders[job]) for job, where in workers.items()}
        return embedded(network, found)

    return Formulation(model.problem, decode, model.unit)


def vectors_within(network: Network, pi: Floats, cutoff: float) -> dict[Epoch, SlotVectors]:
    """Vectors that the slots of each epoch can hold in an embedding worth ``cutoff`` or more, and maybe some more."""
    able = {span: _servers(network, span) for span in epochs(network.instance)}
    best = {span: best_vectors(servers, pi) for span, servers in able.items()}
    at_most = best_totals(network.tables, pi) + math.fsum(span.slots * most for span, (_, most) in best.items())
    slack = max(0.0, at_most - cutoff) + _room(network, at_most, cutoff)
    return {span: SlotVectors(able[span], pi, most - slack) for span, (_, most) in best.items()}


def _room(network: Network, *values: float) -> float:
    """What rounding may take from a sum of these values and of utilities."""
    return ROOM * (sum(float(table.upper[-1]) for table in network.tables) + math.fsum(map(abs, values)))


def _servers(network: Network, span: Epoch) -> Servers:
    """What servers hold in an epoch."""
    return Servers(network, [i for i, job in enumerate(network.instance.jobs) if job.arrival_slot <= span.first])


class VectorColumns(Columns):
    """The search for the best prices of worker-slots, from ``prices`` on, by vectors of slots in place of their relaxations."""

    def __init__(self, network: Network, relaxed: Relaxed, prices: Floats) -> None:
        super().__init__(network, relaxed)
        self.best = Smoothing(Sense.MAXIMIZE, prices)
        self._servers = [_servers(network, span) for span in self.spans]

    def approach(self) -> Floats:
        """Prices of worker-slots whose bound is near the least that such prices prove."""
        trial = self.pi
        for _ in range(_ROUNDS):
            self._try(trial, self.network.tick)
            value, trial = self._combine()
            if self.best.bound - value <= _NEAR * (self.best.bound - self.nothing):
                break
        return self.pi

    def _try(self, pi: Floats, tick: object) -> bool:
        value = best_totals(self.tables, pi)
        for e, span in enumerate(self.spans):
            known = max((float(dot(vector, pi)) for epoch, _, vector in self.points if epoch == e), default=0.0)
            found, most = best_vectors(self._servers[e], pi, known)
            order = np.argsort(-dot(found.rows, pi), kind="stable")[:_JOINING]
            self.points += [(e, 0.0, vector) for vector in found.rows[order].astype(np.float64)]
            value += span.slots * most
        return self.best.keep(pi, value + _room(self.network, value))


_ROUNDS, _NEAR = 20, 1e-5
_JOINING = 100  # vectors of an epoch that join the program in a round


def solve_vectors(search: Search[Embedding], columns: VectorColumns, limits: Callable[[], Limits]) -> None:
    """Prove the bound of vectors; then solve their model with SCIP for cutoffs from near the bound down to the incumbent.

    A cutoff near the bound leaves few vectors, whose best embedding is the optimum if it is worth the cutoff.
    UsageError: too much is to be listed.
    """
    try:
        pi = columns.approach()
    finally:
        if math.isfinite(top := columns.best.bound):
            search.prove(top, source=LISTED)
    for part in _PARTS:
        if search.objective is None or search.closed(CLOSED):
            return
        cutoff = search.objective if part == 1 else top - part * (top - search.objective)
        built = replace(build_vectors(columns.network, pi, cutoff), limit=cutoff)
        conclude(search, solve_milp(built.model, solver="scip", limits=limits()), built)


def _parameters(network: Network) -> tuple[list[float], float]:
    """Prices of worker-slots, and the objective of the best embedding that a plan and the model lead to."""
    instance = network.instance
    relaxed = relax(instance)
    plan = Plan(network)
    plan.place(relaxed.by_epoch, relaxed.totals)
    ascend(plan)
    rings = Columns(network, relaxed)
    rings.search()
    columns = VectorColumns(network, relaxed, rings.pi)
    search = Search[Embedding](
        objective=partial(total, instance), check=partial(check, instance), sense=Sense.MAXIMIZE, limits=Limits()
    )
    search.offer(plan.embedding(), source="plan")
    solve_vectors(search, columns, lambda: Limits(nodes=NODES))
    assert search.objective is not None
    return columns.pi.tolist(), search.objective
