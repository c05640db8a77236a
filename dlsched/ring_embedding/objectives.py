"""Objectives of ring_embedding, one record each; a further one is a name in ``Instance.objective`` and a record here."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from dlsched.core.errors import UsageError
from dlsched.core.limits import Budget
from dlsched.core.objective import Late, Objective, served_by
from dlsched.core.search import Search
from dlsched.core.status import Sense, TerminationStatus
from dlsched.ring_embedding.instance import Instance
from dlsched.ring_embedding.solution import Embedding

if TYPE_CHECKING:
    from dlsched.certificates import DualsCertificate


@dataclass(frozen=True, kw_only=True)
class RingObjective(Objective[Instance, Embedding]):
    """An objective of embeddings; further fields are its functions, and its methods by name.

    ``additive``: it is a sum over jobs, so gains of slots add up. ``goal`` adds it to a linear model (``formulations.workers``).
    ``proven``: upper bound at prices of worker-slots, given the worth of all other rows.
    ``run_program`` runs the model named ``program`` with a node limit.
    """

    additive: bool
    goal: Callable[..., None]
    proven: Callable[..., Fraction]
    aggregated: "Callable[[Instance, Budget | None], DualsCertificate]"
    horizon: "Callable[[Instance, Budget | None], DualsCertificate]"
    plan: Callable[[Instance, Budget | None], Embedding]
    warm: Callable[[Instance, Search[Embedding]], None]
    run_plan: Callable[[Instance, Search[Embedding]], TerminationStatus]
    run_bound: Callable[[Instance, Search[Embedding]], TerminationStatus]
    run_exact: Callable[[Instance, Search[Embedding]], TerminationStatus]
    run_program: Callable[..., TerminationStatus]


SUM = RingObjective(
    name="sum",
    sense=Sense.MAXIMIZE,
    unit="utility, the sum over the jobs",
    quantity="sum of utilities",
    additive=True,
    value=Late("ring_embedding.checker:total"),
    goal=Late("ring_embedding.formulations.workers:add_sum"),
    proven=Late("ring_embedding.certificate:total_proven"),
    aggregated=Late("ring_embedding.relaxation:aggregated"),
    horizon=Late("ring_embedding.relaxation:horizon"),
    plan=Late("ring_embedding.heuristics.plan:plan"),
    warm=Late("ring_embedding.heuristics.baselines:warm"),
    run_plan=Late("ring_embedding.exact:run_plan"),
    run_bound=Late("ring_embedding.bounds:run_bound"),
    run_exact=Late("ring_embedding.exact:run_exact"),
    run_program=Late("ring_embedding.exact:run_program"),
)

NET = replace(
    SUM,
    name="sum less energy",
    unit=f"{SUM.unit}, less energy",
    quantity="utility less energy",
    remark="the other way round below 0",
)
"""``sum`` where energy has a price."""

MAX_MIN = RingObjective(
    name="max_min",
    sense=Sense.MAXIMIZE,
    unit="utility, the least of a job",
    quantity="least utility of a job",
    lexicographic=True,
    refused=("slot-greedy", "gadget", "density", "columns"),
    instead="exact, milp, arc, circuit, plan, drf, las, fifo, bound, horizon, aggregated",
    additive=False,
    value=Late("ring_embedding.checker:least"),
    goal=Late("ring_embedding.formulations.workers:add_least"),
    proven=Late("ring_embedding.certificate:least_proven"),
    aggregated=Late("ring_embedding.max_min.plan:aggregated"),
    horizon=Late("ring_embedding.max_min.plan:horizon"),
    plan=Late("ring_embedding.max_min.plan:plan"),
    warm=Late("ring_embedding.max_min.methods:warm"),
    run_plan=Late("ring_embedding.max_min.methods:run_plan"),
    run_bound=Late("ring_embedding.max_min.methods:run_bound"),
    run_exact=Late("ring_embedding.max_min.methods:run_exact"),
    run_program=Late("ring_embedding.max_min.methods:run_rounds"),
)

OBJECTIVES: Mapping[str, RingObjective] = {"sum": SUM, "max_min": MAX_MIN}
"""By their names in instances."""


def objective_of(instance: Instance) -> RingObjective:
    """The record of an instance's objective."""
    found = OBJECTIVES[instance.objective]
    return NET if found is SUM and instance.charges else found


def require_served(instance: Instance, method: str) -> None:
    """Raise ``UsageError`` if the method cannot serve the instance's objective."""
    found = OBJECTIVES[instance.objective]
    if method in found.refused:
        allowed = served_by(method, OBJECTIVES.values())
        raise UsageError(
            where=method, found=f"the objective {found.name}", allowed=f"{allowed}; methods for others: {found.instead}"
        )


def aggregated(instance: Instance, budget: Budget | None = None) -> "DualsCertificate":
    """All slots and servers as one pool, see ``relaxation.aggregated`` and ``max_min.plan.aggregated``."""
    return objective_of(instance).aggregated(instance, budget)


def horizon(instance: Instance, budget: Budget | None = None) -> "DualsCertificate":
    """The relaxation over all slots, without rings, see ``relaxation.relax`` and ``max_min.plan.Water``."""
    return objective_of(instance).horizon(instance, budget)


def plan(instance: Instance, budget: Budget | None = None) -> Embedding:
    """Follow the relaxation over all slots, see ``heuristics.plan.plan`` and ``max_min.plan.plan``."""
    return objective_of(instance).plan(instance, budget)
