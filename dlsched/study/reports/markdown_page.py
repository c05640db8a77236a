"""The Markdown page of a study: plan, result, tables (also of every instance from files), worst instances, failures, environment.

The comment at the head of the plan gives the title (its first line) and the introduction (the rest).
"""

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from dlsched.core.files import write_text
from dlsched.core.quantities import UNKNOWN, duration, mean, ratio
from dlsched.core.status import TerminationStatus
from dlsched.statistics.inference import Estimate
from dlsched.statistics.samples import median
from dlsched.study.figures.summary import Group, Instance, Line, instance_of
from dlsched.study.figures.tables import mean_text, overview, remarks
from dlsched.study.reports.content import Content
from dlsched.study.reports.export import markdown, markdown_table, markdown_text
from dlsched.study.rows import Row, table_columns

MOST_INSTANCES = 100  # largest number of instances of a table; larger groups get none
NOTE = (
    "Ratio and seconds; the status where there is no answer, or where a limit ended the search. Of methods for bounds the bound "
    "over the reference."
)


def instance_tables(groups: Sequence[Group]) -> Iterator[str]:
    """Yield heading, text and table of every group of files, the instances in order."""
    # Only files: drawn instances have no names that readers could look up.
    for group in groups:
        if group.generated or group.instances > MOST_INSTANCES:
            continue
        cells: dict[Instance, dict[str, Row]] = {}
        for row in group.rows:
            cells.setdefault(instance_of(row), {})[row.method] = row
        methods = [line.method for line in group.lines]
        table = []
        for of in cells.values():
            rows = list(of.values())
            table.append((rows[0].instance, _reference(rows), *(_cell(of.get(method)) for method in methods)))
        yield f"## Every instance of {', '.join(group.names)}"
        yield NOTE
        yield markdown_table(("instance", "reference", *methods), table).rstrip()


def _reference(rows: Sequence[Row]) -> str:
    known = next((row for row in rows if row.reference is not None), None)
    if known is None or known.reference is None:
        return UNKNOWN
    return f"{known.reference:,.6g}" + (" (bound)" if known.at_most else "")


def _cell(row: Row | None) -> str:
    if row is None:
        return UNKNOWN
    parts = [] if row.time_s is None else [duration(row.time_s)]
    if row.status not in (TerminationStatus.OPTIMAL, TerminationStatus.FEASIBLE):
        parts.append(row.status)
    if row.ratio is not None:
        parts.insert(0, ratio(row.ratio, row.at_most))
    elif row.objective is None and row.bound is not None and row.reference:
        parts.insert(0, ratio(row.bound / row.reference))
    return ", ".join(parts)


MOST_TABLES = 12  # groups up to which each gets a table; more groups share one table of means
MOST_LINES = 60  # groups up to which each gets a line in that table; for more it shows the spread of their means
MOST_WORST = 10  # number of worst instances that are listed


def write_page(content: Content, path: str | os.PathLike[str]) -> None:
    """Write a study as Markdown to a file (``-``: standard output); InputError: it cannot be written."""
    write_text(path, page(content))


def page(content: Content, conclusions: str = "") -> str:
    """Return the page of a study; ``conclusions``: further Markdown after the result, with numbers computed from the rows."""
    title, opening = _head(content)
    parts = [
        f"# {title}",
        opening,
        _compared(content),
        f"**{markdown_text(content.sentence.replace('`', ''))}**",
        conclusions.strip(),
        "## Ratios",
        _tables(content.groups),
        *map(markdown_text, remarks(content.groups)),
        *instance_tables(content.groups),
        *_worst(content),
        *_failures([row for group in content.groups for row in group.failed]),
        "## Limits and environment",
        f"Limits: {_pairs(content.limits)}. {_pairs(content.environment)}.",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _head(content: Content) -> tuple[str, str]:
    """Title and introduction, from the comment with which the plan begins."""
    lines: list[str] = []
    for line in content.plan.splitlines():
        if not line.startswith("#"):
            break
        lines.append(line[1:].strip())
    return (lines[0], "\n".join(lines[1:]).strip()) if lines else (markdown_text(content.name), "")


def _compared(content: Content) -> str:
    instances = sum(group.instances for group in content.groups)
    cells = sum(len(group.rows) for group in content.groups)
    families = ", ".join(dict.fromkeys(group.family for group in content.groups))
    reference = f"what {content.reference} found on" if content.reference else "the best optimum or bound proven of"
    compared = f"{len(content.methods)} methods on {instances:,} instances of {families}: {cells:,} cells."
    return markdown_text(f"{compared} Ratios are to {reference} the same instance.")


def _tables(groups: Sequence[Group]) -> str:
    if len(groups) <= MOST_TABLES:
        return markdown(groups).strip()
    if len(groups) > MOST_LINES:
        return _spread(groups)
    if len({group.family for group in groups}) > 1:
        return markdown_table(*overview(groups), numbers=False).rstrip()
    return _means(groups)


def _means(groups: Sequence[Group]) -> str:
    """Table of means: a row for each group, a column for each method that has a ratio."""
    methods = list(dict.fromkeys(line.method for group in groups for line in group.lines if line.mean is not None))
    rows = []
    for name, group in zip(_names(groups), groups, strict=True):
        lines = {line.method: line for line in group.lines}
        means = [UNKNOWN if line is None else _mean(line) for line in map(lines.get, methods)]
        rows.append((name, str(group.shared if group.uneven and group.shared else group.instances), *means))
    note = "Means, over the instances that every method of the row answered."
    return f"{note}\n\n{markdown_table(('instances', 'number', *methods), rows)}".rstrip()


def _mean(line: Line) -> str:
    return mean_text(line, interval=False) if line.shared is None else mean(Estimate(line.shared.value), line.at_most)


def _spread(groups: Sequence[Group]) -> str:
    """Table of the spread of each method's mean ratios over the groups, a row for each method."""
    means: dict[str, list[tuple[float, str]]] = {}
    for name, group in zip(_names(groups), groups, strict=True):
        for line in group.lines:
            if line.mean is not None:
                means.setdefault(line.method, []).append((line.mean.value, name))
    rows = []
    for method, of_method in means.items():
        (least, best), (most, last) = min(of_method), max(of_method)
        middle = median([value for value, _ in of_method])
        rows.append((method, f"{len(of_method):,}", ratio(least), best, ratio(middle), ratio(most), last))
    table = markdown_table(
        ("method", "groups", "least mean", "in", "median", "largest mean", "in"), rows, numbers=False
    )
    return f"Mean ratios of {len(groups):,} groups; `dlsched study export` has every row.\n\n{table.rstrip()}"


def _names(groups: Sequence[Group]) -> list[str]:
    """Names that identify the groups; they contain the family only if there are several."""
    several = len({group.family for group in groups}) > 1
    return [", ".join(group.names[0 if several else 1 :]) for group in groups]


def _worst(content: Content) -> Iterator[str]:
    """Yield the worst instance of the best method of every group, worst ratio first."""
    worst = []
    for group in content.groups:
        best = [row for row in group.rows if row.method == group.ranking[0] and row.ratio is not None]
        if best:
            worst.append(max(best, key=lambda row: row.ratio or 0.0))
    if not worst:
        return
    worst.sort(key=lambda row: -(row.ratio or 0.0))
    yield "## Where the best methods are worst"
    columns = table_columns("method", "preset", "instance", "ratio")
    rows = []
    for row in worst[:MOST_WORST]:
        command = "; ".join(content.evidence(row)[1].splitlines()) or row.source
        texts = (ratio(row.ratio, row.at_most) if column.name == "ratio" else column.text(row) for column in columns)
        rows.append((*texts, command))
    heads = (*(column.heading for column in columns), "command")
    yield markdown_table(heads, rows, numbers=False).rstrip()


def _failures(failed: Sequence[Row]) -> Iterator[str]:
    if not failed:
        return
    counts = Counter((row.method, row.status) for row in failed)
    first = {(row.method, row.status): row for row in reversed(failed)}
    yield "## Failures"
    yield markdown_table(
        ("method", "status", "cells", "first instance", "its message"),
        [(*key, f"{count:,}", first[key].instance, first[key].message) for key, count in counts.items()],
        numbers=False,
    ).rstrip()


def _pairs(values: Mapping[str, str]) -> str:
    return markdown_text(", ".join(f"{name} {value}" for name, value in values.items()))
