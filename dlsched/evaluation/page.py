"""The HTML page of an evaluation: the answer, figures, plots, the audit, and the command that repeats it."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dlsched.core.files import write_text
from dlsched.core.messages import several
from dlsched.evaluation import answer, plots, tables
from dlsched.evaluation.clusters import HAPPENED, Cluster
from dlsched.evaluation.figures import THRESHOLD_S
from dlsched.study.reports.html.embedding import embedded
from dlsched.study.reports.html.figure import Figure, Look, looks, not_drawn
from dlsched.study.reports.html.page import parts_of
from dlsched.study.reports.html.tables import Table

TEMPLATES = Path(__file__).parent / "templates"


@dataclass(frozen=True, slots=True)
class PageContent:
    """The content of a page.

    Parameters
    ----------
    title
        Name of the trace.
    clusters
        Results of the policies on each cluster, today's first.
    policies
        In the order of the question.
    windows
        How many windows each cluster was run on.
    family
        Family of the instances.
    audit
        Sentences of the import for today's cluster.
    command
        Command that writes the page again.
    environment
        Versions and the machine, by name.
    estimates
        Whether policies know users' estimates instead of true running times.
    submitted
        First and last submission, as dates where the trace has dates; empty: not told.
    """

    title: str
    clusters: Sequence[Cluster]
    policies: tuple[str, ...]
    windows: int
    family: str
    audit: Sequence[str]
    command: str
    environment: Mapping[str, str]
    estimates: bool = False
    submitted: str = ""

    @property
    def sentences(self) -> list[str]:
        """The answer: what switching saves, distance to the best possible, sufficient clusters, remarks."""
        today = self.clusters[0]
        said = [
            answer.saving(today),
            answer.distance(today),
            answer.smallest(self.clusters),
            answer.why_baseline(today),
            answer.known(self.estimates, today.silent),
        ]
        return [sentence for sentence in said if sentence]


@dataclass(frozen=True, slots=True)
class _Section:
    title: str
    anchor: str
    looks: Mapping[str, Look]
    policies: Table
    sizes: Table
    users: Table | None
    winners: list[str]
    figures: list[Figure]
    missing: str


def write_page(told: PageContent, path: str | os.PathLike[str]) -> None:
    """Write the page (``-``: standard output); equal contents give equal bytes.

    Raises
    ------
    SolverMissingError
        Jinja2 or Matplotlib is not installed.
    InputError
        The file cannot be written.
    """
    write_text(path, render(told))


def render(told: PageContent) -> str:
    """Return the page."""
    of_all = looks([HAPPENED, *told.policies])
    unit = unit_of(told.clusters)
    sizes = tables.by_cluster(told.clusters, of_all, unit)
    first, *more = told.sentences
    sections = [_section(cluster, of_all, unit, index) for index, cluster in enumerate(told.clusters)]
    sizes_figure = plots.by_cluster(told.clusters, of_all, unit, sizes)
    return embedded(
        "whatif.html",
        folder=TEMPLATES,
        told=told,
        answer=parts_of(first),
        more=[parts_of(sentence) for sentence in more],
        sections=sections,
        sizes=sizes,
        sizes_figure=sizes_figure if sizes_figure.traces else None,
        keys=[look for name, look in of_all.items() if any(name in cluster.fates for cluster in told.clusters)],
        threshold_s=THRESHOLD_S,
    )


def unit_of(clusters: Sequence[Cluster]) -> tables.Unit:
    """The unit of the times of a page: that of the mean flow time on today's cluster."""
    today = clusters[0]
    return tables.unit_of(float(today.fates[today.baseline].flow_s.mean()) if today.baseline else 0.0)


def _section(cluster: Cluster, of_all: dict[str, Look], unit: tables.Unit, index: int) -> _Section:
    sizes = tables.by_size(cluster, of_all, unit)
    policies = tables.policies(cluster, of_all, unit)
    figures = []
    if cluster.fates:
        figures = [plots.spread(cluster, of_all, policies), plots.by_size(cluster, of_all, unit, sizes)]
    return _Section(
        several(cluster.gpus, "GPU"),
        f"gpus-{index}",
        of_all,
        policies,
        sizes,
        tables.by_user(cluster, of_all, unit),
        parts_of(answer.winners(cluster)),
        [figure for figure in figures if figure.traces],
        not_drawn(figures),
    )
