"""The plots of the page: distribution of waiting, flow by size of jobs, waiting by size of the cluster."""

from collections.abc import Sequence

import numpy as np

from dlsched.core.files import Json
from dlsched.core.messages import several
from dlsched.evaluation.clusters import Cluster, in_common
from dlsched.evaluation.figures import means_by
from dlsched.evaluation.tables import Unit, sizes_of
from dlsched.study.reports.html.figure import Figure, Look, axis
from dlsched.study.reports.html.tables import Table

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
    traces: list[Json] = []
    for name, fate in cluster.fates.items():
        waits_s = np.maximum(np.percentile(fate.waiting_s, shares), LEAST_S)
        hours = [float(f"{each / 3600:.6g}") for each in waits_s]
        hover = [
            f"{looks[name].text}<br>{share:.0f} % of jobs wait {wait:.3g} h or less"
            for share, wait in zip(shares, hours, strict=True)
        ]
        traces.append(_line(looks[name], hours, [float(share) for share in shares], hover))
    layout: dict[str, Json] = {
        "xaxis": axis(LEAST_S / 3600, longest_s / 3600, "waiting time, h"),
        "yaxis": {"title": {"text": "jobs that wait no longer"}, "range": [0, 102], "ticksuffix": " %"},
    }
    return Figure(
        title,
        "Further up and to the left is better. Waits below 1 s are drawn at 1 s.",
        340,
        traces,
        layout,
        [],
        [table],
    )


def by_size(cluster: Cluster, looks: dict[str, Look], unit: Unit, table: Table) -> Figure:
    """Mean flow time by size of the job."""
    index, names = sizes_of(cluster.jobs.gpus)
    there = [each for each in range(len(names)) if (index == each).any()]
    traces: list[Json] = []
    every = []
    for name, fate in cluster.fates.items():
        means = [float(f"{each / unit.seconds:.6g}") for each in means_by(fate.flow_s, index, len(names))[there]]
        every += means
        hover = [
            f"{looks[name].text}<br>{names[each]}: {mean:.3g} {unit.name}"
            for each, mean in zip(there, means, strict=True)
        ]
        traces.append(_line(looks[name], list(range(len(there))), means, hover, marks=True))
    layout: dict[str, Json] = {
        "xaxis": {
            "tickvals": list(range(len(there))),
            "ticktext": [names[each] for each in there],
            "range": [-0.4, len(there) - 0.6],
        },
        "yaxis": axis(min(every), max(every), f"mean flow time, {unit.name}", margin=0.08),
    }
    return Figure(
        "Flow time by size of the job",
        "Mean time from submission to end. Lower is better.",
        340,
        traces,
        layout,
        [],
        [table],
    )


def by_cluster(clusters: Sequence[Cluster], looks: dict[str, Look], unit: Unit, table: Table | None) -> Figure:
    """Mean waiting time by size of the cluster."""
    title = "Clusters of other sizes"
    if table is None:
        return Figure(title, missing="only one number of GPUs was asked for")
    indices = in_common(clusters)
    traces: list[Json] = []
    top = 0.0
    for name, look in looks.items():
        points = sorted(
            (cluster.gpus, float(f"{cluster.fates[name].waiting_s[index].mean() / unit.seconds:.6g}"))
            for cluster, index in zip(clusters, indices, strict=True)
            if name in cluster.fates
        )
        if points:
            top = max(top, *(wait for _, wait in points))
            hover = [f"{look.text}<br>{several(gpus, 'GPU')}: {wait:.3g} {unit.name}" for gpus, wait in points]
            traces.append(
                _line(look, [float(gpus) for gpus, _ in points], [wait for _, wait in points], hover, marks=True)
            )
    gpus = [cluster.gpus for cluster in clusters]
    layout: dict[str, Json] = {
        "xaxis": axis(min(gpus), max(gpus), "GPUs", margin=0.06),
        "yaxis": {"title": {"text": f"mean waiting time, {unit.name}"}, "range": [0, 1.05 * top or 1.0]},
    }
    says = "Mean waiting time of the jobs that fit every cluster."
    return Figure(title, says, 340, traces, layout, [], [table])


def _line(look: Look, x: Sequence[float], y: Sequence[float], hover: Sequence[str], *, marks: bool = False) -> Json:
    trace: dict[str, Json] = {
        "type": "scatter",
        "mode": "lines+markers" if marks else "lines",
        "name": look.text,
        "x": list(x),
        "y": list(y),
        "hovertext": list(hover),
        "line": {"color": look.colour, "dash": look.dash, "width": 2},
    }
    if marks:
        trace["marker"] = {"color": look.colour, "symbol": look.symbol, "size": 7}
    return trace
