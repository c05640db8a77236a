"""What other policies would have made of four weeks of two public traces, and how far the best is from what was possible.

Alibaba's openb (gpu-v2023), whose pods say when they were scheduled, so that what happened is known; and Microsoft's Philly,
which does not say it, so that FIFO stands for it. Neither is part of this repository. Policies know how long jobs really ran.
Jobs on parts of GPUs, of which openb has many, are given whole ones.
A run goes on where it was stopped; a page whose runs have ended is written again in seconds.

    python benchmarks/whatif.py            # writes results/whatif.md
    python benchmarks/whatif.py --quick    # a day of each, printed
"""

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from table import machine, markdown

from dlsched.evaluation import answer
from dlsched.evaluation.answer import Unit, unit_of
from dlsched.evaluation.clusters import HAPPENED, Cluster, clusters_of
from dlsched.evaluation.page import clusters_table, policies_table, sizes_table
from dlsched.evaluation.question import POLICIES, Question, audit_of, pieces, plan_of
from dlsched.study.leader import run
from dlsched.study.plans.plan import CellLimits
from dlsched.study.reports.export import markdown_text
from dlsched.study.reports.page_parts import Look, Table, looks
from dlsched.traces import read_queue
from dlsched.traces.queue import queue_window

HERE = Path(__file__).parent
DATA = HERE.parents[1] / "shared" / "data"
LARGEST_SOLUTION = 1 << 30
LIMITS = CellLimits(time_s=600.0)
POLICIES_RUN = ("fifo", "fifo-backfill", "shortest-first", "shortest-backfill", "a-srpt", "work-patient")


@dataclass(frozen=True)
class Trace:
    """A trace: its source, file, four weeks, a day of them, and sizes of the cluster, that of today first."""

    source: str
    file: str
    weeks: tuple[str, str]
    day: tuple[str, str]
    gpus: tuple[int | None, ...]
    says: str


TRACES = {
    "openb": Trace(
        *("openb", "openb/openb_pod_list_default.csv", ("10281600", "12700800"), ("10281600", "10368000")),
        (None, 64, 48, 32, 24, 16),
        "Four weeks of the busiest part of openb, on its nodes, and on clusters that are a hundred times as small.",
    ),
    "philly": Trace(
        *("philly", "philly_jobs.csv", ("2017-10-02", "2017-10-30"), ("2017-10-02", "2017-10-03")),
        (640, 576, 704),
        "Four weeks of Philly, its virtual clusters as one, on servers of 8 GPUs. The trace does not say how many GPUs there "
        "were: 640 are some more than are asked for on average.",
    ),
}


def section(name: str, says: str, question: Question, store: Path) -> str:
    """Run a question, and word what came of it."""
    made = pieces(question)
    names = question.policies or POLICIES[question.family]
    with run(
        plan_of(question, made, f"benchmarks/whatif.py: {name}"), store, largest_solution=LARGEST_SOLUTION
    ) as study:
        clusters = clusters_of(study, made, names)
    of_all, unit = looks([HAPPENED, *names]), unit_of(clusters[0])
    today = clusters[0]
    sentences = [answer.due(today), answer.saving(today), answer.starvation(today), answer.distance(today)]
    sentences += [answer.why_baseline(today), answer.smallest(clusters)]
    parts = [f"## {name}", says, f"**{sentences[0]}** {' '.join(filter(None, sentences[1:]))}"]
    for cluster in clusters:
        parts += _cluster(cluster, of_all, unit, first=cluster is today)
    sizes = clusters_table(clusters, of_all, unit)
    if sizes is not None:
        parts += ["### Clusters of other sizes", _markdown(sizes)]
    parts += ["### What was read, left out and assumed", markdown_text(" ".join(audit_of(made)))]
    return "\n\n".join(parts)


def _cluster(cluster: Cluster, of_all: dict[str, Look], unit: Unit, *, first: bool) -> list[str]:
    users = answer.winners(cluster)
    found = [f"### {cluster.gpus:,} GPUs", _markdown(policies_table(cluster, of_all, unit))]
    found += [] if first else [answer.saving(cluster), answer.distance(cluster)]
    found += [_markdown(sizes_table(cluster, of_all, unit)), users]
    return [part for part in found if part]


def _markdown(table: Table) -> str:
    rows = [[f"{cell.text} ({cell.note})" if cell.note else cell.text for cell in row] for row in table.rows]
    written = markdown(
        [markdown_text(column.head) for column in table.columns], [list(map(markdown_text, row)) for row in rows]
    )
    return f"{table.caption}:\n\n{written.rstrip()}"


def asked(trace: Trace, path: Path, *, quick: bool) -> Question:
    """The question about a trace."""
    queue = read_queue(trace.source, str(path), slices="whole")
    window = queue_window(queue, *(trace.day if quick else trace.weeks))
    return Question(queue, policies=POLICIES_RUN, gpus=trace.gpus, window=window, limits=LIMITS)


def main() -> None:
    """Run and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a day of each trace, printed; no store and no page")
    parser.add_argument("--data", type=Path, default=DATA, help=f"folder of the traces (default: {DATA})")
    options = parser.parse_args()
    sections = []
    for name, trace in TRACES.items():
        path = options.data / trace.file
        if not path.is_file():
            print(f"{name}: skipped, as {path} is not there", file=sys.stderr)
            continue
        with TemporaryDirectory() as folder:
            stores = Path(folder) if options.quick else HERE / ".stores"
            stores.mkdir(exist_ok=True)
            question = asked(trace, path, quick=options.quick)
            sections.append(section(name, trace.says, question, stores / f"whatif_{name}.sqlite"))
    question, _, protocol = (__doc__ or "").partition("\n\n")
    text = "\n\n".join([
        "# What switching the policy would save",
        f"*{question}*",
        f"Command: `python benchmarks/whatif.py`, {machine()}. Figures are defined in `docs/whatif.md`.",
        *sections,
        f"## Protocol\n\n{protocol.partition('    python')[0].strip()}",
    ])  # fmt: skip
    if options.quick:
        print(text)
    elif sections:
        (HERE / "results" / "whatif.md").write_text(text + "\n", encoding="utf-8")
        print(f"{HERE / 'results' / 'whatif.md'}", file=sys.stderr)


if __name__ == "__main__":
    main()
