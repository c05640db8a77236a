"""The HTML page of an evaluation: the answer, tables, plots, the audit; all times of a page are in one unit."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from dlsched.core.arrays import BoolArray, FloatArray
from dlsched.core.files import write_text
from dlsched.core.messages import printable, several
from dlsched.core.quantities import percent, rounded
from dlsched.evaluation import answer
from dlsched.evaluation.answer import Unit, unit_of
from dlsched.evaluation.clusters import HAPPENED, Cluster, in_common
from dlsched.evaluation.measures import THRESHOLD_S, Part, means_by, sizes_of
from dlsched.evaluation.question import Question
from dlsched.statistics.samples import fairness
from dlsched.study.reports.page import embedded, parts_of
from dlsched.study.reports.page_parts import (
    NOTHING,
    Axis,
    Cell,
    Column,
    Figure,
    Look,
    Table,
    Trace,
    axis,
    count_cell,
    drawn,
    labels,
    looks,
    name_cell,
    not_drawn,
    number_cell,
    ratio_cell,
)

MOST_USERS = 10
LEFT = {
    "fragment": "Share of the GPU time that is free and that a job of the queue cannot use; mean over all jobs (FGD).",
    "fragment_of_free": "The same as a share of the free GPU time.",
    "gpus_touched": "Share of the GPUs on which a job has a part at some time.",
    "gpus_touched_at_once": "The most at one time.",
    "lost": "Share of the GPU time in free parts that no waiting job could use, while one waits.",
}
"""What is left of GPUs where jobs take slices: columns, in words."""


def cell_of(seconds: float, unit: Unit, note: str = "") -> Cell:
    """A cell with a time; a dash for nan."""
    return NOTHING if np.isnan(seconds) else number_cell(seconds, unit.text(seconds), note=note)


def policies_table(cluster: Cluster, looks: dict[str, Look], unit: Unit) -> Table:
    """A row for each policy: waiting, flow, slowdown, use of the cluster, distance from the bound, change."""
    base, least_s = cluster.baseline, cluster.least_flow_s

    def change(name: str) -> Cell:
        # against the baseline, with the interval of the mean paired difference
        if base is None or name == base:
            return NOTHING
        estimate = cluster.change(name, base)
        ends = [unit.text(end) for end in (estimate.low, estimate.high) if end is not None]
        return cell_of(estimate.value, unit, " to ".join(ends))

    def times(seconds: FloatArray, parts: Sequence[int]) -> list[Cell]:
        return [cell_of(value, unit) for value in (float(seconds.mean()), *np.percentile(seconds, parts).tolist())]

    left = [figure for figure in LEFT if any(figure in fate.parts for fate in cluster.fates.values())]
    rows = [
        [
            name_cell(name, looks[name].label),
            change(name),
            *times(fate.waiting_s, (50, 95, 99, 100)),
            *times(fate.flow_s, (50, 95)),
            _plain(float(fate.slowdown.mean())),
            _plain(float(np.median(fate.slowdown))),
            _share(fate.used),
            _share(fate.scattered),
            ratio_cell(float(fate.flow_s.mean()) / least_s if least_s else None, at_most=True),
            _jain(cluster, fate.slowdown),
            *(_share(fate.parts.get(figure)) for figure in left),
        ]
        for name, fate in cluster.fates.items()
    ]
    for name, why in cluster.unanswered.items():
        rows.append(
            [name_cell(name, looks[name].label), Cell("no answer", note=printable(why)), *[NOTHING] * (14 + len(left))]
        )
    if least_s is not None:
        rows.append([Cell("the bound"), *[NOTHING] * 6, cell_of(least_s, unit), *[NOTHING] * (8 + len(left))])
    limits = "" if cluster.preemptive else " beyond users' limits"
    against = f"change{limits} against {looks[base].label}, {unit.name}" if base else "change"
    waits, flows = ("mean", "median", "95 %", "99 %", "longest"), ("mean", "median", "95 %")
    columns = [
        Column("policy", numbers=False),
        Column(
            against, f"Mean difference of the time from submission to end of a job{limits}, with its 95 % interval."
        ),
        *(Column(f"waiting {which}, {unit.name}", "Start - submission.") for which in waits),
        *(Column(f"flow {which}, {unit.name}", "End - submission.") for which in flows),
        Column("slowdown mean", "Bounded: flow over running time, the latter at least 10 s."),
        Column("median", "Of the bounded slowdown."),
        Column("used", "GPU-seconds in use, as a share of those from the first submission to the last end."),
        Column("scattered", "Share of the free GPU-seconds on nodes with another GPU in use."),
        Column("flow / bound", "Mean flow time over the least that is proven possible."),
        Column("Jain's index", "Of the users' mean slowdowns: 1 is equal."),
        *(Column(figure.replace("_", " "), LEFT[figure]) for figure in left),
    ]
    intervals = f"intervals over {cluster.units}" if cluster.units else "too few jobs for intervals"
    caption = f"{several(len(cluster.jobs.ids), 'job')} on {several(cluster.gpus, 'GPU')}; {intervals}"
    return Table(caption, columns, rows)


def waits_table(
    kind: str, parts: Mapping[str, tuple[int, BoolArray]], cluster: Cluster, looks: dict[str, Look], unit: Unit
) -> Table | None:
    """GPUs (0: not shown), jobs and mean waiting time by policy of parts of the jobs, by name; None for one part."""
    if len(parts) < 2:
        return None
    rows = [
        [
            name_cell(name or "(none)", name or "(none)"),
            *([count_cell(gpus)] if gpus else []),
            count_cell(int(of.sum())),
            *(cell_of(float(fate.waiting_s[of].mean()), unit) for fate in cluster.fates.values()),
        ]
        for name, (gpus, of) in parts.items()
    ]
    heads = [
        *(["GPUs"] if next(iter(parts.values()))[0] else []),
        "jobs",
        *(looks[name].label for name in cluster.fates),
    ]
    columns = [Column(kind, numbers=False), *map(Column, heads)]
    return Table(f"Mean waiting time by {kind}, {unit.name}", columns, rows)


def _plain(value: float) -> Cell:
    return number_cell(value, rounded(value))


def _share(part: Part | None) -> Cell:
    return NOTHING if part is None else number_cell(part.share, percent(part.share))


def _jain(cluster: Cluster, slowdown: FloatArray) -> Cell:
    index, names = cluster.jobs.by_users()
    known = index >= 0
    if len(names) < 2:
        return NOTHING
    return _plain(fairness(means_by(slowdown[known], index[known], len(names)).tolist())["jain_index"])


def sizes_table(cluster: Cluster, looks: dict[str, Look], unit: Unit) -> Table:
    """Mean waiting and flow time by policy and size of the job."""
    index, names = sizes_of(cluster.jobs.gpus)
    counts = np.bincount(index, minlength=len(names))
    there = [each for each in range(len(names)) if counts[each]]
    rows = [
        [
            name_cell(name, looks[name].label),
            *(
                cell_of(float(mean), unit)
                for of in (fate.waiting_s, fate.flow_s)
                for mean in means_by(of, index, len(names))[there]
            ),
        ]
        for name, fate in cluster.fates.items()
    ]
    heads = [
        Column(f"{what}, {names[each]}", f"{several(counts[each], 'job')}.")
        for what in ("waiting", "flow")
        for each in there
    ]
    numbers = ", ".join(f"{names[each]}: {counts[each]:,}" for each in there)
    return Table(f"Means, {unit.name}. Jobs of {numbers}", [Column("policy", numbers=False), *heads], rows)


def users_table(cluster: Cluster, looks: dict[str, Look], unit: Unit) -> Table | None:
    """Table of the users with most GPU time: waiting and flow, before and after; None without users."""
    base, best = cluster.baseline, cluster.best
    index, names = cluster.jobs.by_users()
    if base is None or best is None or base == best or not names:
        return None
    known = index >= 0
    gpu_s = cluster.jobs.gpus * cluster.jobs.run_s
    jobs = np.bincount(index[known], minlength=len(names))
    held_s = np.bincount(index[known], weights=gpu_s[known], minlength=len(names))
    before, after = (means_by(cluster.fates[name].flow_s[known], index[known], len(names)) for name in (base, best))
    shown = labels(names[:MOST_USERS])
    rows = []
    # Users stand in order of their GPU time; each mean is over the same jobs before and after.
    for user, name in enumerate(names[:MOST_USERS]):
        change = (after[user] - before[user]) / before[user] if before[user] > 0 else 0.0
        share = float(held_s[user] / gpu_s.sum())
        cells = [number_cell(float(jobs[user]), f"{jobs[user]:,}"), number_cell(share, percent(share))]
        cells += [cell_of(float(flows_s[user]), unit) for flows_s in (before, after)]
        rows.append([name_cell(name, shown[name]), *cells, number_cell(change, percent(change, signed=True))])
    heads = ("jobs", "of the GPU time", *(f"flow, {looks[name].label}, {unit.name}" for name in (base, best)), "change")
    return Table(
        f"The {len(rows)} users of the most GPU time, of {len(names):,}: mean time from submission to end",
        [Column("user", numbers=False), *map(Column, heads)],
        rows,
    )


def clusters_table(clusters: Sequence[Cluster], looks: dict[str, Look], unit: Unit) -> Table | None:
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
        rows.append([count_cell(cluster.gpus), *(cell_of(wait_s, unit) for wait_s in waits), used])
    caption = f"Mean waiting time, {unit.name}, of the {len(indices[0]):,} jobs that fit every cluster; today's cluster is first"
    heads = [Column(HAPPENED if name == HAPPENED else looks[name].label) for name in names]
    return Table(caption, [Column("GPUs"), *heads, Column("used", "Under the policy of the least flow time.")], rows)


POINTS = 101
LEAST_S = 1.0  # shorter waits are drawn at this value


def waits_figure(cluster: Cluster, looks: dict[str, Look], table: Table) -> Figure:
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


def flow_figure(cluster: Cluster, looks: dict[str, Look], unit: Unit, table: Table) -> Figure:
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


def waiting_figure(clusters: Sequence[Cluster], looks: dict[str, Look], unit: Unit, table: Table | None) -> Figure:
    """Mean waiting time by size of the cluster."""
    title = "Clusters of other sizes"
    if table is None:
        return Figure(title, missing="only one number of GPUs was asked for")
    indices = in_common(clusters)
    traces: list[Trace] = []
    top = 0.0
    # A line through the clusters on which the policy has an answer, by their GPUs.
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


TEMPLATES = Path(__file__).parent / "templates"


@dataclass(frozen=True, slots=True)
class PageContent:
    """The content of a page: what was asked, and results on each cluster, today's first.

    ``windows``: how many each cluster was run on; ``audit``: sentences of the import for today's cluster; ``command`` writes
    the page again; ``environment``: versions and the machine, by name.
    """

    question: Question
    clusters: Sequence[Cluster]
    windows: int
    audit: Sequence[str]
    command: str
    environment: Mapping[str, str]

    @property
    def title(self) -> str:
        """Name of the trace's file."""
        return os.path.basename(self.question.queue.path)

    @property
    def submitted(self) -> str:
        """First and last submission of the window, as dates where the trace has dates; empty without any."""
        queue = self.question.queue
        times_s = [job.submit_s for job in queue.jobs if self.question.window.holds(job.submit_s)]
        ends = [queue.moment(end_s).replace("T", " ") for end_s in (min(times_s), max(times_s))] if times_s else []
        return f"{' to '.join(ends)}{'' if queue.dated else ' s'}" if ends else ""

    @property
    def sentences(self) -> list[str]:
        """The answer: what switching saves, distance to the best possible, sufficient clusters, remarks."""
        today = self.clusters[0]
        sentences = [
            answer.due(today),
            answer.saving(today),
            self._still_waiting(),
            answer.starvation(today),
            answer.distance(today),
            answer.lost(today),
            answer.smallest(self.clusters),
            answer.why_baseline(today),
            answer.known(self.question.estimates, today.silent),
        ]
        return [sentence for sentence in sentences if sentence]

    def _still_waiting(self) -> str:
        """Say how many jobs the record has not seen start, whose lengths nobody knows."""
        count = self.question.queue.waiting
        words = f"Jobs that still wait at the end of the record are left out: {count:,}; with them waits would change."
        return words if count else ""


def write_page(content: PageContent, path: str | os.PathLike[str]) -> None:
    """Write the page (``-``: standard output), equal contents as equal bytes; errors as ``embedded`` and ``write_text``."""
    write_text(path, render(content))


def render(content: PageContent) -> str:
    """Return the page."""
    of_all = looks([HAPPENED, *content.question.policies])
    unit = unit_of(content.clusters[0])
    # what happened did so on today's cluster only
    others = [
        replace(each, fates={name: fate for name, fate in each.fates.items() if name != HAPPENED})
        for each in content.clusters[1:]
    ]
    clusters = [content.clusters[0], *others]
    sizes = clusters_table(clusters, of_all, unit)
    first, *more = content.sentences
    sections = [
        _section(cluster, of_all, unit, index) | {"title": answer.size_in_words(cluster, clusters[0], "GPU")}
        for index, cluster in enumerate(clusters)
    ]
    sizes_figure = waiting_figure(clusters, of_all, unit, sizes)
    return embedded(
        "whatif.html",
        folder=TEMPLATES,
        content=content,
        answer=parts_of(first),
        more=[parts_of(sentence) for sentence in more],
        sections=sections,
        sizes=sizes,
        sizes_figure=sizes_figure if sizes_figure.traces else None,
        keys=[look for name, look in of_all.items() if any(name in cluster.fates for cluster in content.clusters)],
        threshold_s=THRESHOLD_S,
    )


def _section(cluster: Cluster, of_all: dict[str, Look], unit: Unit, index: int) -> dict[str, object]:
    sizes = sizes_table(cluster, of_all, unit)
    policies = policies_table(cluster, of_all, unit)
    figures = []
    if cluster.fates:
        figures = [waits_figure(cluster, of_all, policies), flow_figure(cluster, of_all, unit, sizes)]
    return {
        "anchor": f"gpus-{index}",
        "policies": policies,
        "sizes": sizes,
        "parts": [
            waits_table("pool", cluster.pools, cluster, of_all, unit),
            waits_table("class", {name: (0, of) for name, of in cluster.classes.items()}, cluster, of_all, unit),
        ],
        "users": users_table(cluster, of_all, unit),
        "winners": parts_of(answer.winners(cluster)),
        "figures": [figure for figure in figures if figure.traces],
        "missing": not_drawn(figures),
    }
