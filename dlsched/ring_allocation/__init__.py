"""ring_allocation: how many GPUs each ring all-reduce job gets (Capes et al. 2018, arXiv 1908.08082, abstract read only)."""

from dlsched.catalogue.ring_allocation import LISTED
from dlsched.core.family import Family
from dlsched.core.objective import Objective
from dlsched.core.status import Sense
from dlsched.ring_allocation import certificate
from dlsched.ring_allocation.bounds import lagrange, relaxation
from dlsched.ring_allocation.checker import check, infeasible, objective
from dlsched.ring_allocation.figures import figures
from dlsched.ring_allocation.generator import example, generate
from dlsched.ring_allocation.heuristics import doubling, equal, fixed, hull, marginal
from dlsched.ring_allocation.instance import Instance, Job
from dlsched.ring_allocation.methods import METHODS
from dlsched.ring_allocation.solution import Allocation, read_solution

__all__ = [
    "Allocation",
    "Instance",
    "Job",
    "check",
    "doubling",
    "equal",
    "example",
    "figures",
    "fixed",
    "generate",
    "hull",
    "lagrange",
    "marginal",
    "objective",
    "relaxation",
    "solve",
]

_OBJECTIVE = Objective(
    name="",
    sense=Sense.MINIMIZE,
    unit="weighted seconds, summed over jobs",
    value=objective,
    quantity="weighted sum of remaining times",
)

FAMILY = Family(
    name="ring_allocation",
    summary="how many GPUs each ring all-reduce job gets",
    objectives=[_OBJECTIVE],
    instance=Instance,
    read_solution=read_solution,
    objective=objective,
    check=check,
    infeasible=infeasible,
    methods=METHODS,
    aliases=LISTED.aliases,
    cross_check="milp",
    best_bound="lagrange",
    formulations={name: LISTED.load(target) for name, target in LISTED.formulations.items()},
    verify=certificate.verify,
    presets=LISTED.presets,
    generate=generate,
    example=example,
    gpus=lambda instance: instance.gpus,
    figures=figures,
)

solve = FAMILY.solve
