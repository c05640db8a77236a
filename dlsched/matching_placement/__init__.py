"""matching_placement: which of heterogeneous workers each job gets (Liu et al., TPDS 2024, abstract read only)."""

from dlsched.catalogue.matching_placement import LISTED
from dlsched.core.family import Family
from dlsched.matching_placement.arrays import constant, infeasible
from dlsched.matching_placement.bounds import configuration_lp, lagrange, relaxation
from dlsched.matching_placement.checker import check, completion_times, figures, jain_index, objective
from dlsched.matching_placement.generator import example, generate
from dlsched.matching_placement.heuristics import beam, equal, fastest_first, local_search, marginal
from dlsched.matching_placement.instance import Instance, Job, Worker
from dlsched.matching_placement.markets import market, sampled_market
from dlsched.matching_placement.objectives import OBJECTIVES, objective_of
from dlsched.matching_placement.solution import Placement

__all__ = [
    "Instance",
    "Job",
    "Placement",
    "Worker",
    "beam",
    "check",
    "completion_times",
    "configuration_lp",
    "equal",
    "example",
    "fastest_first",
    "generate",
    "jain_index",
    "lagrange",
    "local_search",
    "marginal",
    "market",
    "objective",
    "relaxation",
    "sampled_market",
    "solve",
]

FAMILY = Family(
    **LISTED.stated(),
    summary="which of heterogeneous workers each job gets",
    objectives=list(OBJECTIVES.values()),
    objective_of=objective_of,
    constant=constant,
    infeasible=infeasible,
    best_bound="configuration-lp",
    gpus=lambda instance: len(instance.workers),
    figures=figures,
)

solve = FAMILY.solve
