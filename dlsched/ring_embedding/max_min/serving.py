"""The functions of the family that serve both objectives: the one or the other, by the instance."""

from dlsched.certificates import DualsCertificate
from dlsched.core.budget import Budget
from dlsched.ring_embedding.heuristics.plan import plan as plan_for_sum
from dlsched.ring_embedding.horizon import relaxation
from dlsched.ring_embedding.instance import Instance
from dlsched.ring_embedding.max_min import bounds
from dlsched.ring_embedding.max_min.plan import plan as plan_for_least
from dlsched.ring_embedding.solution import Embedding


def aggregated(instance: Instance, budget: Budget | None = None) -> DualsCertificate:
    """All slots and servers as one pool, see ``horizon.relaxation.aggregated`` and ``max_min.bounds.aggregated``."""
    return bounds.aggregated(instance, budget) if _least(instance) else relaxation.aggregated(instance, budget)


def horizon(instance: Instance, budget: Budget | None = None) -> DualsCertificate:
    """The relaxation over all slots, without rings, see ``horizon.relaxation.relax`` and ``max_min.bounds.Water``."""
    return bounds.horizon(instance, budget) if _least(instance) else relaxation.horizon(instance, budget)


def plan(instance: Instance, budget: Budget | None = None) -> Embedding:
    """Follow the relaxation over all slots, see ``heuristics.plan.plan`` and ``max_min.plan.plan``."""
    return plan_for_least(instance, budget) if _least(instance) else plan_for_sum(instance, budget)


def _least(instance: Instance) -> bool:
    return instance.objective == "max_min"
