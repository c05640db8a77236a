"""srpt_mapping: when and where gangs of pipeline and data-parallel jobs run (A-SRPT, Luo et al., INFOCOM 2025)."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from dlsched.catalogue.srpt_mapping import LISTED
from dlsched.core.family import Family
from dlsched.core.objective import Objective
from dlsched.core.status import Sense
from dlsched.srpt_mapping import checker
from dlsched.srpt_mapping.bounds import bound, combined, length, machine, packing, prices
from dlsched.srpt_mapping.checker import check, completion_times, iteration_time, objective
from dlsched.srpt_mapping.dispatching import Waiting, dispatch
from dlsched.srpt_mapping.formulations.placement import BestPlacement, best_placement
from dlsched.srpt_mapping.generator import example, generate
from dlsched.srpt_mapping.heuristics import a_srpt, fifo, least_work_first, shortest_first
from dlsched.srpt_mapping.instance import Instance, Job, Server, Stage
from dlsched.srpt_mapping.layouts import usage_of
from dlsched.srpt_mapping.placing import Servers, compact, heavy_edge
from dlsched.srpt_mapping.planning import anneal
from dlsched.srpt_mapping.predictor import errors, predict, with_error
from dlsched.srpt_mapping.solution import Schedule, Share, Start

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
    "packing",
    "predict",
    "prices",
    "shortest_first",
    "solve",
    "with_error",
]


def draw(instance: Instance, answers: Sequence[tuple[str, Schedule]], path: Path, width_in: float) -> Path:
    """Draw labelled answers."""
    from dlsched.plots import Gang, GangRow, draw_gangs

    releases_s = {job.id: job.release_s for job in instance.jobs}
    lanes, rows = _lanes(instance), []
    for label, schedule in answers:
        ends_s = completion_times(instance, schedule)
        gangs = {}
        for job, start in schedule.jobs.items():
            usage = usage_of(instance, instance.jobs[instance.index[job]], start.placement)
            taken = Counter({lane: sum(usage[each.start : each.stop]) for lane, each in enumerate(lanes.values())})
            gangs[job] = Gang(start.start_s, ends_s[job], +taken)
        flows_s = [max(ends_s[job] - release_s, 0.0) for job, release_s in releases_s.items()]
        rows.append(GangRow(label, gangs, flows_s))
    sizes = {name: sum(instance.capacities[each.start : each.stop]) for name, each in lanes.items()}
    return draw_gangs(
        rows,
        path,
        servers=sizes,
        releases_s=releases_s,
        title=instance.name,
        width=width_in,
        parts=instance.units,
    )


def _lanes(instance: Instance) -> dict[str, range]:
    """The columns of what a figure shows, by name: servers; where jobs take slices, also single GPUs."""
    lanes: dict[str, range] = {}
    for server, columns in zip(instance.servers, instance.columns, strict=True):
        if not instance.sliced or server.slicing == "none":
            lanes[server.id] = columns
            continue
        slots = len(columns) // server.gpus
        lanes |= {f"{server.id}/{gpu}": columns[gpu * slots : (gpu + 1) * slots] for gpu in range(server.gpus)}
    return lanes


_OBJECTIVE = Objective(
    name="",
    sense=Sense.MINIMIZE,
    unit="seconds, the sum of completion times",
    value=objective,
    quantity="mean flow time",
    remark="releases are subtracted from both",
)

FAMILY = Family(
    **LISTED.stated(),
    summary="when and where rigid gangs run",
    objectives=[_OBJECTIVE],
    infeasible=checker.infeasible,
    best_bound="bound",
    gpus=lambda instance: instance.total_gpus,
    constant=checker.constant,
    figures=checker.figures,
    draw=draw,
)

solve = FAMILY.solve
