"""srpt_mapping: when and where gangs of pipeline and data-parallel jobs run (A-SRPT, Luo et al., INFOCOM 2025)."""

from dlsched.catalogue.srpt_mapping import LISTED
from dlsched.core.family import Family
from dlsched.core.objective import Objective
from dlsched.core.status import Sense
from dlsched.srpt_mapping import certificate, checker
from dlsched.srpt_mapping.bounds import bound, combined, length, machine, prices
from dlsched.srpt_mapping.checker import check, completion_times, iteration_time, objective
from dlsched.srpt_mapping.dispatching.annealing import anneal
from dlsched.srpt_mapping.dispatching.dispatch import dispatch
from dlsched.srpt_mapping.dispatching.predictor import errors, predict, with_error
from dlsched.srpt_mapping.dispatching.waiting import Waiting
from dlsched.srpt_mapping.drawing import draw
from dlsched.srpt_mapping.formulations.placement import BestPlacement, best_placement
from dlsched.srpt_mapping.generator import example, generate
from dlsched.srpt_mapping.heuristics import a_srpt, fifo, least_work_first, shortest_first
from dlsched.srpt_mapping.instance import Instance, Job, Server, Stage
from dlsched.srpt_mapping.methods import METHODS
from dlsched.srpt_mapping.placing.heavy_edge import compact, heavy_edge
from dlsched.srpt_mapping.placing.servers import Servers
from dlsched.srpt_mapping.solution import Schedule, Share, Start, read_solution

__all__ = [
    "BestPlacement",
    "Instance",
    "Job",
    "Schedule",
    "Server",
    "Servers",
    "Share",
    "Stage",
    "Start",
    "Waiting",
    "a_srpt",
    "anneal",
    "best_placement",
    "bound",
    "check",
    "combined",
    "compact",
    "completion_times",
    "dispatch",
    "errors",
    "example",
    "fifo",
    "generate",
    "heavy_edge",
    "iteration_time",
    "least_work_first",
    "length",
    "machine",
    "objective",
    "predict",
    "prices",
    "shortest_first",
    "solve",
    "with_error",
]

_OBJECTIVE = Objective(
    name="",
    sense=Sense.MINIMIZE,
    unit="seconds, the sum of completion times",
    value=objective,
    quantity="mean flow time",
    remark="releases are subtracted from both",
)

FAMILY = Family(
    name="srpt_mapping",
    summary="when and where rigid gangs run",
    objectives=[_OBJECTIVE],
    instance=Instance,
    read_solution=read_solution,
    objective=objective,
    check=check,
    infeasible=checker.infeasible,
    methods=METHODS,
    cross_check="milp",
    best_bound="bound",
    formulations={name: LISTED.load(target) for name, target in LISTED.formulations.items()},
    verify=certificate.verify,
    presets=LISTED.presets,
    generate=generate,
    example=example,
    gpus=lambda instance: instance.total_gpus,
    constant=checker.constant,
    figures=checker.figures,
    options=LISTED.options,
    draw=draw,
)

solve = FAMILY.solve
