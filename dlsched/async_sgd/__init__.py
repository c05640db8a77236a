"""async_sgd: throughput of asynchronous SGD with parameter servers, and nodes per job (Lin et al. 2018, abstract read only)."""

from dlsched.async_sgd.bounds import lagrange, relaxation
from dlsched.async_sgd.checker import batches_per_s, check, figures, infeasible, job_time_s, objective
from dlsched.async_sgd.generator import example, generate
from dlsched.async_sgd.heuristics import equal, fixed, knee, marginal, proportional
from dlsched.async_sgd.instance import Instance, Job
from dlsched.async_sgd.solution import Allocation
from dlsched.async_sgd.streams import draw_stops, random_stream, to_stream
from dlsched.catalogue.async_sgd import LISTED
from dlsched.core.family import Family
from dlsched.core.objective import Objective
from dlsched.core.status import Sense
from dlsched.queueing.cycle import chain_throughput
from dlsched.queueing.network import Network, Networks, Station, network_of, networks_of
from dlsched.queueing.profile import Profile, Range, refine, two_nodes
from dlsched.queueing.simulation import Simulated, simulate
from dlsched.queueing.throughput import Bounds, MeanValues, asymptotic, balanced_job, iterate, mean_values, throughputs

__all__ = [
    "Allocation",
    "Bounds",
    "Instance",
    "Job",
    "MeanValues",
    "Network",
    "Networks",
    "Profile",
    "Range",
    "Simulated",
    "Station",
    "asymptotic",
    "balanced_job",
    "batches_per_s",
    "chain_throughput",
    "check",
    "draw_stops",
    "equal",
    "example",
    "figures",
    "fixed",
    "generate",
    "iterate",
    "job_time_s",
    "knee",
    "lagrange",
    "marginal",
    "mean_values",
    "network_of",
    "networks_of",
    "objective",
    "proportional",
    "random_stream",
    "refine",
    "relaxation",
    "simulate",
    "solve",
    "throughputs",
    "to_stream",
    "two_nodes",
]

_OBJECTIVE = Objective(
    name="",
    sense=Sense.MINIMIZE,
    unit="seconds, summed over jobs",
    value=objective,
    quantity="sum of run times",
)

FAMILY = Family(
    **LISTED.stated(),
    summary="how many nodes each job of asynchronous SGD with parameter servers gets",
    objectives=[_OBJECTIVE],
    infeasible=infeasible,
    best_bound="lagrange",
    gpus=lambda instance: instance.nodes,
    figures=figures,
    stream=random_stream,
)

solve = FAMILY.solve
