"""elastic_stream: malleable jobs that arrive over time (the dynamic half of Capes et al. 2018 and of Lin et al., abstracts)."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from dlsched.catalogue.elastic_stream import LISTED
from dlsched.core.family import Family
from dlsched.core.objective import Objective
from dlsched.core.status import Sense
from dlsched.elastic_stream import policies
from dlsched.elastic_stream.bounds import area, bound, length, prices
from dlsched.elastic_stream.checker import check, flow_times, infeasible, objective
from dlsched.elastic_stream.generator import example, generate
from dlsched.elastic_stream.heuristics import (
    doubling,
    equal,
    exploratory,
    fixed,
    marginal,
    myopic,
    ordered,
    priced,
    weighted,
)
from dlsched.elastic_stream.instance import EarlyStop, Instance, Job
from dlsched.elastic_stream.planning import plan
from dlsched.elastic_stream.simulation.figures import figures
from dlsched.elastic_stream.simulation.simulator import run, simulate
from dlsched.elastic_stream.simulation.view import Policy, View
from dlsched.elastic_stream.solution import Period, Stream

__all__ = [
    "EarlyStop",
    "Instance",
    "Job",
    "Period",
    "Policy",
    "Stream",
    "View",
    "area",
    "bound",
    "check",
    "doubling",
    "equal",
    "example",
    "exploratory",
    "figures",
    "fixed",
    "flow_times",
    "generate",
    "length",
    "marginal",
    "myopic",
    "objective",
    "ordered",
    "plan",
    "policies",
    "priced",
    "prices",
    "run",
    "simulate",
    "solve",
    "weighted",
]


def draw(instance: Instance, answers: Sequence[tuple[str, Stream]], path: Path, width_in: float) -> Path:
    """Draw labelled streams, one below the other."""
    from dlsched.plots import StreamRow, draw_streams

    restart_s = {job.id: job.restart_s for job in instance.jobs}
    rows = [StreamRow(label, stream.periods, flow_times(instance, stream), restart_s) for label, stream in answers]
    arrivals_s = {job.id: job.arrival_s for job in instance.jobs}
    return draw_streams(rows, path, units=instance.units, arrivals_s=arrivals_s, title=instance.name, width=width_in)


_MEAN = Objective(
    name="mean",
    sense=Sense.MINIMIZE,
    unit="seconds of flow time, mean of jobs",
    value=objective,
    quantity="mean flow time",
    remark="flow times count from the arrival",
)
_WEIGHTED = replace(
    _MEAN,
    name="weighted mean",
    unit="seconds of flow time, weighted mean of jobs",
    quantity="weighted mean flow time",
)

FAMILY = Family(
    **LISTED.stated(),
    summary="malleable jobs that arrive over time: how many units each holds when",
    objectives=[_MEAN, _WEIGHTED],
    objective_of=lambda instance: _WEIGHTED if len({job.weight for job in instance.jobs}) > 1 else _MEAN,
    infeasible=infeasible,
    best_bound="bound",
    gpus=lambda instance: instance.units,
    figures=figures,
    draw=draw,
    simulate=simulate,
)

solve = FAMILY.solve
