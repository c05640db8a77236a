"""matching_placement: which of heterogeneous workers each job gets (Liu et al., TPDS 2024, abstract read only)."""

from dlsched.catalogue.matching_placement import LISTED
from dlsched.core.family import Family
from dlsched.core.status import Sense
from dlsched.matching_placement import certificate
from dlsched.matching_placement.arrays import constant
from dlsched.matching_placement.bounds import configuration_lp, relaxation
from dlsched.matching_placement.checker import check, completion_times, figures, jain_index, objective
from dlsched.matching_placement.feasibility import infeasible
from dlsched.matching_placement.generator import example, generate
from dlsched.matching_placement.heuristics.beam import beam
from dlsched.matching_placement.heuristics.fastest_first import equal, fastest_first
from dlsched.matching_placement.heuristics.local_search import local_search
from dlsched.matching_placement.heuristics.marginal import marginal
from dlsched.matching_placement.instance import Instance, Job, Worker
from dlsched.matching_placement.markets.placing import market
from dlsched.matching_placement.markets.sampling import sampled_market
from dlsched.matching_placement.methods import METHODS
from dlsched.matching_placement.solution import Placement, read_solution

UNITS = {
    "mean": "mean seconds to completion",
    "max_rho": "times the time of an equal share, of the job that is worst off",
    "alpha_fair": "alpha-fair utility of speed against an equal share",
}


def _objective_name(instance: Instance) -> str:
    alpha = "" if instance.alpha is None else f" {instance.alpha}".removesuffix(".0")
    return instance.objective + alpha


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
    "local_search",
    "marginal",
    "market",
    "objective",
    "relaxation",
    "sampled_market",
    "solve",
]

FAMILY = Family(
    name="matching_placement",
    summary="which of heterogeneous workers each job gets",
    sense=Sense.MINIMIZE,
    unit=UNITS["mean"],
    sense_of=lambda instance: Sense.MAXIMIZE if instance.objective == "alpha_fair" else Sense.MINIMIZE,
    unit_of=lambda instance: UNITS[instance.objective],
    objective_of=_objective_name,
    constant=constant,
    instance=Instance,
    read_solution=read_solution,
    objective=objective,
    check=check,
    infeasible=infeasible,
    methods=METHODS,
    cross_check="milp",
    best_bound="configuration-lp",
    formulations={name: LISTED.load(target) for name, target in LISTED.formulations.items()},
    verify=certificate.verify,
    presets=LISTED.presets,
    generate=generate,
    example=example,
    gpus=lambda instance: len(instance.workers),
    figures=figures,
    options=LISTED.options,
)

solve = FAMILY.solve
