"""Tables of a comparison, as texts: its answers, their further figures, a summary by method; and its remarks."""

from collections import Counter
from collections.abc import Sequence
from statistics import median
from typing import TYPE_CHECKING

from dlsched.comparison.rows import Compared
from dlsched.core.instance import InstanceFile
from dlsched.core.quantities import duration, number, percent
from dlsched.core.table import Table
from dlsched.families import family_of

if TYPE_CHECKING:
    from dlsched.study.rows import Row as StudyRow

FIELDS = (
    *("instance", "method", "kind", "status", "objective", "bound", "gap", "ratio", "ratio_is_at_most", "runtime_s"),
    "message",
)
"""Columns of a comparison as data, before the further figures."""


def data_of(rows: Sequence[Compared]) -> list[dict[str, object]]:
    """Return the rows as data, without the further figures."""
    return [{field: getattr(row, field) for field in FIELDS} for row in rows]


def figures_of(rows: Sequence[Compared]) -> list[str]:
    """Return the names of all further figures."""
    return list(dict.fromkeys(name for row in rows for name in row.figures))


def tables_of(rows: Sequence[Compared]) -> list[Table]:
    """Return the tables: the answers; their figures, if any; and a summary, if there are several instances."""
    return [*details_of(rows), *([summary_of(rows)] if has_summary(rows) else [])]


def has_summary(rows: Sequence[Compared]) -> bool:
    """Whether the rows are of several instances."""
    return len({row.index for row in rows if row.family}) > 1


def details_of(rows: Sequence[Compared]) -> list[Table]:
    """Return the tables of answers, and of their figures, if any."""
    columns = ("instance", "method", "status", "objective", "bound", "gap", "ratio", "time")
    tables = [Table(columns, tuple(map(_cells, rows)), columns[3:])]
    figures = figures_of(rows)
    if figures:
        tables.append(_of_figures(rows, figures))
    return tables


def remarks_of(instances: Sequence[InstanceFile]) -> list[str]:
    """Say what the ratios of each family and objective are of."""
    objectives = {(one.family, found.name): found for one in instances for found in [family_of(one).objective_for(one)]}
    several = Counter(family for family, _ in objectives)
    return [
        f"ratios of {family}{f', {name}' * (several[family] > 1)}: {found.ratio_sentence()}"
        for (family, name), found in objectives.items()
    ]


def _of_figures(rows: Sequence[Compared], figures: Sequence[str]) -> Table:
    """One line an answer: its further figures."""
    cells = [
        (row.instance, row.label, *(number(row.figures.get(name)) for name in figures)) for row in rows if row.figures
    ]
    return Table(("instance", "method", *figures), tuple(cells), tuple(figures))


def summary_of(rows: Sequence[Compared]) -> Table:
    """One line a method of a family: on how many instances it answered, its ratios and gaps, and who wins."""
    from dlsched.study.figures.groups import FILES
    from dlsched.study.figures.summary import summarise
    from dlsched.study.figures.tables import HEADS, KEYS
    from dlsched.study.figures.tables import table as table_of_group

    columns = (
        *("family", "method", "answers", "at the optimum", "mean ratio", HEADS["shared"], "median gap", "worst gap"),
        *("against best", "total time"),
    )
    summary = []
    groups = summarise([_of_study(row) for row in rows if row.family])
    for group in groups:
        names, lines = table_of_group(group, KEYS)
        held = {row.source for row in group.rows}
        for line, cells in zip(group.lines, lines, strict=True):
            of_method = [row for row in rows if str(row.index) in held and row.label == line.method]
            gaps = [row.gap for row in of_method if row.gap is not None]
            at_most = "<= " if line.at_most else ""
            said = dict(zip(names, cells, strict=True))
            summary.append(
                (
                    ", ".join(name for name in group.names if name != FILES),
                    line.method,
                    said["answers"],
                    str(sum(row.verdict.met for row in of_method)),
                    said["mean ratio"],
                    said[HEADS["shared"]],
                    at_most + percent(median(gaps) if gaps else None),
                    at_most + percent(max(gaps, default=None)),
                    said["against best"],
                    duration(sum(row.runtime_s or 0.0 for row in of_method)),
                )
            )
    kept = [
        place
        for place, name in enumerate(columns)
        if (name != "family" or len(groups) > 1) and (name != HEADS["shared"] or any(group.uneven for group in groups))
    ]
    chosen = tuple(columns[place] for place in kept)
    lines_of_methods = tuple(tuple(cells[place] for place in kept) for cells in summary)
    return Table(chosen, lines_of_methods, tuple(columns[2:]), grouped=len(groups) > 1)


def _of_study(row: Compared) -> "StudyRow":
    from dlsched.study.rows import Row as StudyRow

    return StudyRow(
        *("", row.instance, row.family, str(row.index), "", None, None, None, row.label, row.status),
        *(row.objective, row.bound),
        reference_kind="" if row.ratio is None else "bound" if row.ratio_is_at_most else "optimum",
        ratio=row.ratio,
        gap=row.gap,
        time_s=row.runtime_s,
        objective_name=row.objective_name,
        sense=row.sense,
    )


def _cells(row: Compared) -> tuple[str, ...]:
    at_most = "<= " if row.ratio_is_at_most else ""
    return (
        row.instance,
        row.label,
        ", ".join(filter(None, (row.status, row.message, "" if row.left is None else f"gap {percent(row.left)}"))),
        number(row.objective),
        number(row.bound),
        "-" if row.gap is None else at_most + percent(row.gap),
        "-" if row.ratio is None else f"{at_most}{row.ratio:.6f}",
        duration(row.runtime_s),
    )
