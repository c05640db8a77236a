"""The plots of the page: distribution of waiting, flow by size of jobs, waiting by size of the cluster."""

from collections.abc import Iterable, Sequence

import numpy as np

from dlsched.evaluation.clusters import Cluster, in_common
from dlsched.evaluation.figures import means_by
from dlsched.evaluation.tables import Unit, sizes_of
from dlsched.study.reports.html.figure import Axis, Figure, Look, Trace, axis
from dlsched.study.reports.html.tables import Table
from dlsched.study.reports.html.words import drawn

POINTS = 101
LEAST_S = 1.0
"""Shorter waits are drawn at this value."""


def spread(cluster: Cluster, looks: dict[str, Look], table: Table) -> Figure:
    """Plot the share of jobs over their waiting time, as a cumulative distribution."""
    title = "How long jobs wait"
    longest_s = max((float(fate.waiting_s.max()) for fate in cluster.fates.values()), default=0.0)
    if longest_s <= LEAST_S:
        return Figure(title, missing="no job waits")
    shares = np.linspace(0, 100, POINTS)
    traces = [
        _line(looks[name], np.maximum(np.percentile(fate.waiting_s, shares), LEAST_S) / 3600, shares)
        for name, fate in cluster.fates.items()
    ]
    return Figure(
        title,
        "Further up and to the left is better. Waits below 1 s are drawn at 1 s.",
        traces=traces,
        x=axis(LEAST_S / 3600, longest_s / 3600, "waiting time, h"),
        y=Axis("jobs that wait no longer", 0.0, 102.0, ending=" %"),
        tables=[table],
    )


def by_size(cluster: Cluster, looks: dict[str, Look], unit: Unit, table: Table) -> Figure:
    """Mean flow time by size of the job."""
    index, names = sizes_of(cluster.jobs.gpus)
    there = [each for each in range(len(names)) if (index == each).any()]
    traces: list[Trace] = []
    every: list[float] = []
    for name, fate in cluster.fates.items():
        means = means_by(fate.flow_s, index, len(names))[there] / unit.seconds
        every += means.tolist()
        traces.append(_line(looks[name], range(len(there)), means, marks=True))
    return Figure(
        "Flow time by size of the job",
        "Mean time from submission to end. Lower is better.",
        traces=traces,
        x=Axis("", -0.4, len(there) - 0.6, marks={place: names[each] for place, each in enumerate(there)}),
        y=axis(min(every), max(every), f"mean flow time, {unit.name}", margin=0.08),
        tables=[table],
    )


def by_cluster(clusters: Sequence[Cluster], looks: dict[str, Look], unit: Unit, table: Table | None) -> Figure:
    """Mean waiting time by size of the cluster."""
    title = "Clusters of other sizes"
    if table is None:
        return Figure(title, missing="only one number of GPUs was asked for")
    indices = in_common(clusters)
    traces: list[Trace] = []
    top = 0.0
    for name, look in looks.items():
        points = sorted(
            (cluster.gpus, float(cluster.fates[name].waiting_s[index].mean() / unit.seconds))
            for cluster, index in zip(clusters, indices, strict=True)
            if name in cluster.fates
        )
        if points:
            top = max(top, *(wait for _, wait in points))
            traces.append(_line(look, [gpus for gpus, _ in points], [wait for _, wait in points], marks=True))
    gpus = [cluster.gpus for cluster in clusters]
    return Figure(
        title,
        "Mean waiting time of the jobs that fit every cluster.",
        traces=traces,
        x=axis(min(gpus), max(gpus), "GPUs", margin=0.06),
        y=Axis(f"mean waiting time, {unit.name}", 0.0, 1.05 * top or 1.0),
        tables=[table],
    )


def _line(look: Look, x: Iterable[float], y: Iterable[float], *, marks: bool = False) -> Trace:
    symbol = look.symbol if marks else ""
    return Trace(list(map(drawn, x)), list(map(drawn, y)), look.colour, look.label, dash=look.dash, symbol=symbol)
