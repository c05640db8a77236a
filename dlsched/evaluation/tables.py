"""The tables of the page: policies, sizes of jobs, users, clusters. All times of a page are in one unit."""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from dlsched.core.arrays import FloatArray, IntArray
from dlsched.core.messages import printable, several
from dlsched.core.quantities import duration, percent, ratio, rounded, time_unit
from dlsched.evaluation.clusters import HAPPENED, Cluster, in_common
from dlsched.evaluation.figures import Part, means_by
from dlsched.statistics.fairness import fairness
from dlsched.study.reports.html.figure import Look
from dlsched.study.reports.html.tables import NOTHING, Cell, Column, Table, name_cell, number_cell
from dlsched.study.reports.html.words import labels

CLASSES: Final = ((1, 1), (2, 4), (5, 8), (9, None))
"""Classes of job sizes: GPUs from and to."""
MOST_USERS = 10


class Unit(NamedTuple):
    """The unit of the times of a page, and its seconds."""

    name: str
    seconds: float

    def text(self, seconds: float) -> str:
        """Write a time without its unit; with one of its own where it is much shorter than that.

        >>> Unit("h", 3600.0).text(5400.0), Unit("s", 1.0).text(12345.6), Unit("h", 3600.0).text(1.0)
        ('1.50', '12,300', '1 s')
        """
        return duration(seconds) if 0 < abs(seconds) < self.seconds / 10 else rounded(seconds / self.seconds)

    def cell(self, seconds: float, note: str = "") -> Cell:
        """A cell with a time; a dash for nan."""
        return NOTHING if np.isnan(seconds) else number_cell(seconds, self.text(seconds), note=note)


def unit_of(seconds: float) -> Unit:
    """Choose a readable unit for a mean flow time, that in which sentences write it.

    >>> unit_of(50.0).name, unit_of(3000.0).name, unit_of(20000.0).name, unit_of(864000.0).name
    ('s', 'min', 'h', 'days')
    """
    return Unit(*time_unit(seconds))


def sizes_of(gpus: IntArray) -> tuple[IntArray, list[str]]:
    """Class of every job by its GPUs, and the names of the classes.

    >>> sizes_of(np.array([1, 2, 4, 8, 9]))[0].tolist()
    [0, 1, 1, 2, 3]
    """
    names = [
        f"{low} GPU" if low == high == 1 else f"{low}–{high} GPUs" if high else f"{low}+ GPUs" for low, high in CLASSES
    ]
    return np.searchsorted([low for low, _ in CLASSES], gpus, side="right") - 1, names


def policies(cluster: Cluster, looks: dict[str, Look], unit: Unit) -> Table:
    """A row for each policy: waiting, flow, slowdown, use of the cluster, distance from the bound, change."""
    base, rows = cluster.baseline, []
    for name, fate in cluster.fates.items():
        change = NOTHING
        if base is not None and name != base:
            found = cluster.change(name, base)
            between = (
                "" if found.low is None or found.high is None else f"{unit.text(found.low)} to {unit.text(found.high)}"
            )
            change = unit.cell(found.value, between)
        times = [
            unit.cell(value)
            for seconds in (fate.waiting_s, fate.flow_s)
            for value in (float(seconds.mean()), *np.percentile(seconds, (50, 95)).tolist())
        ]
        over = None if not cluster.least_flow_s else float(fate.flow_s.mean()) / cluster.least_flow_s
        rows.append([
            name_cell(name, looks[name].label),
            change,
            *times,
            _plain(float(fate.slowdown.mean())),
            _plain(float(np.median(fate.slowdown))),
            _share(fate.used),
            NOTHING if fate.scattered is None else _share(fate.scattered),
            NOTHING if over is None else number_cell(over, ratio(over), at_most=True),
            _jain(cluster, fate.slowdown),
        ])  # fmt: skip
    for name, why in cluster.unanswered.items():
        rows.append([name_cell(name, looks[name].label), Cell("no answer", note=printable(why)), *[NOTHING] * 12])
    if cluster.least_flow_s is not None:
        least = unit.cell(cluster.least_flow_s)
        rows.append([Cell("the bound"), *[NOTHING] * 4, least, *[NOTHING] * 8])
    against = f"change against {looks[base].label}, {unit.name}" if base else "change"
    columns = [
        Column("policy", numbers=False),
        Column(against, "Mean difference of the time from submission to end of a job, with its 95 % interval."),
        *(
            Column(f"{what}{which}, {unit.name}", f"{means}.")
            for what, means in (("waiting", "Start - submission"), ("flow", "End - submission"))
            for which in (" mean", " median", " 95 %")
        ),
        Column("slowdown mean", "Bounded: flow over running time, the latter at least 10 s."),
        Column("median", "Of the bounded slowdown."),
        Column("used", "GPU-seconds held, of those from the first submission to the last end."),
        Column("scattered", "Of the free GPU-seconds, the part on nodes of which another GPU was in use."),
        Column("flow / bound", "Mean flow time over the least that is proven possible."),
        Column("Jain's index", "Of the users' mean slowdowns: 1 is equal."),
    ]
    intervals = f"intervals over {cluster.units}" if cluster.units else "too few jobs for intervals"
    caption = f"{several(len(cluster.jobs.ids), 'job')} on {several(cluster.gpus, 'GPU')}; {intervals}"
    return Table(caption, columns, rows)


def _plain(value: float) -> Cell:
    return number_cell(value, rounded(value))


def _share(part: Part) -> Cell:
    return NOTHING if part.share is None else number_cell(part.share, percent(part.share))


def _jain(cluster: Cluster, slowdown: FloatArray) -> Cell:
    index, names = users_of(cluster)
    known = index >= 0
    if len(names) < 2:
        return NOTHING
    return _plain(fairness(means_by(slowdown[known], index[known], len(names)).tolist())["jain_index"])


def users_of(cluster: Cluster) -> tuple[IntArray, list[str]]:
    """User of every job, -1 where none is named, and the users, that of the most GPU time first."""
    names = list(dict.fromkeys(name for name in cluster.jobs.users if name))
    place = {name: index for index, name in enumerate(names)}
    index = np.array([place.get(name, -1) for name in cluster.jobs.users], dtype=np.int64)
    known = index >= 0
    gpu_s = np.bincount(index[known], weights=(cluster.jobs.gpus * cluster.jobs.run_s)[known], minlength=len(names))
    order = np.argsort(-gpu_s, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(len(names))
    if len(names):
        index = np.where(known, rank[index], -1)
    return index, [names[each] for each in order.tolist()]


def by_size(cluster: Cluster, looks: dict[str, Look], unit: Unit) -> Table:
    """Mean waiting and flow time by policy and size of the job."""
    index, names = sizes_of(cluster.jobs.gpus)
    counts = np.bincount(index, minlength=len(names))
    there = [each for each in range(len(names)) if counts[each]]
    rows = []
    for name, fate in cluster.fates.items():
        means = [means_by(seconds, index, len(names)) for seconds in (fate.waiting_s, fate.flow_s)]
        rows.append(
            [name_cell(name, looks[name].label), *(unit.cell(float(of[each])) for of in means for each in there)]
        )
    heads = [
        Column(f"{what}, {names[each]}", f"{several(counts[each], 'job')}.")
        for what in ("waiting", "flow")
        for each in there
    ]
    numbers = ", ".join(f"{names[each]}: {counts[each]:,}" for each in there)
    return Table(f"Means, {unit.name}. Jobs of {numbers}", [Column("policy", numbers=False), *heads], rows)


def by_user(cluster: Cluster, looks: dict[str, Look], unit: Unit) -> Table | None:
    """Table of the users with most GPU time: waiting and flow, before and after; None without users."""
    base, best = cluster.baseline, cluster.best
    index, names = users_of(cluster)
    if base is None or best is None or base == best or not names:
        return None
    known = index >= 0
    gpu_s = cluster.jobs.gpus * cluster.jobs.run_s
    jobs = np.bincount(index[known], minlength=len(names))
    held_s = np.bincount(index[known], weights=gpu_s[known], minlength=len(names))
    before, after = (means_by(cluster.fates[name].flow_s[known], index[known], len(names)) for name in (base, best))
    shown = labels(names[:MOST_USERS])
    rows = []
    for user, name in enumerate(names[:MOST_USERS]):
        change = (after[user] - before[user]) / before[user] if before[user] > 0 else 0.0
        share = float(held_s[user] / gpu_s.sum())
        rows.append([
            name_cell(name, shown[name]),
            number_cell(float(jobs[user]), f"{jobs[user]:,}"),
            number_cell(share, percent(share)),
            unit.cell(float(before[user])),
            unit.cell(float(after[user])),
            number_cell(change, percent(change, signed=True)),
        ])  # fmt: skip
    heads = ("jobs", "of the GPU time", *(f"flow, {looks[name].label}, {unit.name}" for name in (base, best)), "change")
    return Table(
        f"The {len(rows)} users of the most GPU time, of {len(names):,}: mean time from submission to end",
        [Column("user", numbers=False), *map(Column, heads)],
        rows,
    )


def by_cluster(clusters: Sequence[Cluster], looks: dict[str, Look], unit: Unit) -> Table | None:
    """Mean waiting time by cluster and policy, of the jobs that all clusters hold; None for one cluster."""
    if len(clusters) < 2:
        return None
    indices = in_common(clusters)
    names = [name for name in looks if any(name in cluster.fates for cluster in clusters)]
    rows = []
    for cluster, index in zip(clusters, indices, strict=True):
        waits = [
            float(cluster.fates[name].waiting_s[index].mean()) if name in cluster.fates else np.nan for name in names
        ]
        best = cluster.best
        used = NOTHING if best is None else _share(cluster.fates[best].used)
        rows.append([Cell(f"{cluster.gpus:,}", order=cluster.gpus), *map(unit.cell, waits), used])
    caption = f"Mean waiting time, {unit.name}, of the {len(indices[0]):,} jobs that fit every cluster; today's cluster is first"
    heads = [Column(HAPPENED if name == HAPPENED else looks[name].label) for name in names]
    return Table(caption, [Column("GPUs"), *heads, Column("used", "Under the policy of the least flow time.")], rows)
