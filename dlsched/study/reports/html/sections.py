"""Sections of the page for a group of instances: methods, worst instances, failures; and the overview."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dlsched.core import quantities
from dlsched.core.messages import printable, several
from dlsched.core.quantities import duration
from dlsched.statistics.estimate import Estimate
from dlsched.study.figures.groups import Comparison, Group, Line
from dlsched.study.figures.tables import answers_text, p_text, unbounded_text
from dlsched.study.reports.content import Content, Evidence
from dlsched.study.reports.html.figure import Look
from dlsched.study.reports.html.matrix import Trial
from dlsched.study.reports.html.tables import NOTHING, Cell, Column, Table, name_cell, number_cell
from dlsched.study.reports.html.words import block, finite, labels, short, span
from dlsched.study.rows import Row, RowColumn, table_columns

WORST_SHOWN = 5
"""Number of worst instances of a group that are shown in full."""
BAD = 1 + 1e-6
"""Ratios above this are worse than the reference."""
MESSAGES = 20
"""Largest number of different failures that are listed for a group."""
MESSAGE_LENGTH = 300
"""Largest number of characters of a message."""
LONGEST, TOGETHER = 40_000, 1_200_000
"""Largest number of characters of an instance, and of all on the page; longer ones show only their
command."""


def methods_table(group: Group, looks: Mapping[str, Look]) -> Table:
    """Table with one line for each method, as in the summary."""
    against = next((line.comparison.against for line in group.lines if line.comparison), "")
    columns = [
        Column("method", numbers=False),
        Column("answered", "cells with an answer that was checked, of all that ended"),
        Column("mean ratio", f"{group.ratio}, with its 95 % interval"),
        Column("median"),
        Column("95 %", "95th percentile of the ratios"),
        Column("worst"),
        Column("at optimum", "answers that are the proven optimum, of all cells"),
        Column("proven", "cells that proved their optimum themselves"),
        Column("time", "shifted geometric mean of the cells that ended"),
        Column("PAR10", "mean, a timeout counted as ten times the limit"),
    ]
    if against:
        columns += [
            Column("better / equal / worse", f"instances, against {printable(against)}"),
            Column("p", "Wilcoxon signed-rank of the paired ratios, after Holm's correction"),
        ]
    rows = [_method_cells(line, looks[line.method], bool(against)) for line in group.lines]
    if group.uneven:
        columns.insert(
            3, Column("where all answered", f"mean over the {several(group.shared, 'instance')} that all answered")
        )
        for line, row in zip(group.lines, rows, strict=True):
            row.insert(3, NOTHING if line.shared is None else _estimate_cell(line.shared, line.at_most))
    caption = f"Methods; the last two columns compare with {short(against)}" if against else "Methods"
    return Table(caption, columns, rows)


def _method_cells(line: Line, look: Look, compared: bool) -> list[Cell]:
    def ratio(value: float | None, at_most: bool) -> Cell:
        return NOTHING if value is None else number_cell(value, quantities.ratio(value), at_most)

    cells = [
        name_cell(line.method, look.label),
        Cell(answers_text(line, "/"), order=line.answers),
        mean_cell(line),
        ratio(line.median, line.at_most),
        ratio(line.p95, line.at_most),
        ratio(line.worst, line.worst_at_most),
        Cell(_of(line.at_optimum, line.cells), order=line.at_optimum),
        Cell(_of(line.proven, line.cells), order=line.proven),
        NOTHING if line.time_s is None else Cell(duration(line.time_s), order=line.time_s),
        NOTHING if line.par10 is None else Cell(duration(line.par10), order=line.par10, note=_timeouts(line.timeouts)),
    ]
    return cells + (_comparison_cells(line.comparison) if compared else [])


def _of(part: int, whole: int) -> str:
    return quantities.percent(part / whole if whole else 0.0)


def _timeouts(number: int) -> str:
    return several(number, "timeout") if number else ""


def mean_cell(line: Line) -> Cell:
    """A mean with its interval, and the number of answers left out for lack of a finite ratio."""
    unbounded = unbounded_text(line.unbounded)
    if line.mean is None:
        return Cell(unbounded) if unbounded else NOTHING
    return _estimate_cell(line.mean, line.at_most, unbounded)


def _estimate_cell(mean: Estimate, at_most: bool, also: str = "") -> Cell:
    text, _, interval = quantities.mean(mean).partition(" ")
    return number_cell(mean.value, text, at_most, ", ".join(filter(None, (interval, also))))


def _comparison_cells(comparison: Comparison | None) -> list[Cell]:
    if comparison is None:
        return [NOTHING, NOTHING]
    counts = f"{comparison.wins:,} / {comparison.ties:,} / {comparison.losses:,}"
    p_value = comparison.p_value
    return [
        Cell(counts, order=comparison.wins - comparison.losses),
        NOTHING if p_value is None else number_cell(p_value, p_text(p_value)),
    ]


def overview(content: Content, looks: Mapping[str, Look]) -> Table:
    """Table of one row for each group: its best heuristic, that one's ratios, and the methods that tie with it."""
    rows = []
    for index, group in enumerate(content.groups):
        best, tied = group.best, [looks[method].label for method in group.tied]
        worst = (
            NOTHING if best.worst is None else number_cell(best.worst, quantities.ratio(best.worst), best.worst_at_most)
        )
        rows.append(
            [
                Cell(title_of(group), link=anchor(index)),
                Cell(f"{group.instances:,}", order=group.instances),
                Cell(_of(group.references.get("optimum", 0), group.instances)),
                name_cell(best.method, looks[best.method].label),
                mean_cell(best),
                worst,
                Cell(", ".join(tied)) if tied else NOTHING,
            ]
        )
    columns = [
        Column("family", numbers=False),
        Column("instances"),
        Column("optima proven", "share of the instances whose optimum is known"),
        Column("best heuristic", numbers=False),
        Column("mean ratio", "with its 95 % interval; of what, is said below"),
        Column("worst"),
        Column("tied with it", "methods of the same mean ratio", numbers=False),
    ]
    return Table("The best heuristic of each group", columns, rows)


def anchor(index: int) -> str:
    """Id of a group on the page."""
    return f"group-{index + 1}"


def title_of(group: Group) -> str:
    """Name of a group."""
    return " · ".join(map(printable, group.names))


REFERENCES = {
    "optimum": "a proven optimum",
    "bound": "a bound (≤)",
    "answer": "the answer of the reference method",
    "": "nothing",
}


def about(group: Group) -> str:
    """Describe the instances of a group, and the reference of their ratios."""
    jobs, gpus = span(row.jobs for row in group.rows), span(row.gpus for row in group.rows)
    sizes = [f"{jobs} jobs" if jobs else "", f"{gpus} GPUs" if gpus else ""]
    text = ", ".join(part for part in (several(group.instances, "instance"), *sizes) if part)
    kinds = [
        f"{words} on {group.references[kind]:,}" for kind, words in REFERENCES.items() if group.references.get(kind)
    ]
    text += f"; ratios: {group.ratio_sentence}; the reference is {', '.join(kinds)}" if kinds else ""
    return text + (f"; {group.infeasible:,} proven to have no solution" if group.infeasible else "")


@dataclass(frozen=True, slots=True)
class Specimen:
    """One of the worst instances: the rows of all methods, the command that repeats one, and the instance.

    ``omitted`` says why the instance is left out, if it is.
    """

    head: str
    tail: str
    name: str
    about: str
    table: Table
    command: str
    instance: str
    omitted: str


def specimens(found: Sequence[Trial], looks: Mapping[str, Look], evidence: Evidence, groups: int) -> list[Specimen]:
    """Return the worst instances, by ratio: the worst of each method, then the next of each, none twice.

    ``groups``: number of groups that share the room for instances.
    """
    ranked: list[tuple[int, float, int, str]] = []
    for method in looks:
        ratios = [
            (-ratio, index)
            for index, trial in enumerate(found)
            if (row := trial.rows.get(method)) is not None and (ratio := finite(row.ratio)) is not None and ratio > BAD
        ]
        ranked += [(rank, *each, method) for rank, each in enumerate(sorted(ratios)[:WORST_SHOWN])]
    picked: dict[int, tuple[float, str]] = {}
    for _, ratio, index, method in sorted(ranked):
        if index not in picked and len(picked) < WORST_SHOWN:
            picked[index] = (ratio, method)
    longest = min(LONGEST, TOGETHER // (WORST_SHOWN * groups))
    order = sorted((ratio, index, method) for index, (ratio, method) in picked.items())
    return [_specimen(found[index], method, looks, evidence, longest) for _, index, method in order]


def _specimen(trial: Trial, method: str, looks: Mapping[str, Look], evidence: Evidence, longest: int) -> Specimen:
    worst = trial.rows[method]
    text, command = evidence(worst)
    ratio = number_cell(worst.ratio, quantities.ratio(worst.ratio), worst.at_most).text
    shown = table_columns("method", "status", "objective", "ratio", "time_s")
    cells = [[_row_cell(column, row, looks) for column in shown] for row in trial.rows.values()]
    columns = [Column(column.heading, numbers=column.kind != "text") for column in shown]
    reference = "" if worst.reference is None else f"; reference {worst.reference:.10g} ({worst.reference_kind})"
    omitted = ""
    if len(text) > longest:
        text, omitted = "", f"The instance has {len(text):,} characters and is not shown; the command makes it."
    return Specimen(
        short(trial.name),
        f"{looks[worst.method].label}: {ratio}",
        printable(trial.name),
        trial.about + reference,
        Table("Every method on this instance", columns, cells),
        block(command),
        block(text),
        omitted,
    )


def _row_cell(column: RowColumn, row: Row, looks: Mapping[str, Look]) -> Cell:
    """A row's value in a column; names, ratios and seconds are written as everywhere on the page."""
    value = column.of(row)
    if column.name == "method":
        return name_cell(row.method, looks[row.method].label)
    if value is None:
        return NOTHING
    if column.name == "ratio" and row.ratio is not None:
        return number_cell(row.ratio, quantities.ratio(row.ratio), row.at_most)
    if column.name == "time_s" and row.time_s is not None:
        return Cell(duration(row.time_s), order=row.time_s)
    text = printable(column.text(row))
    return number_cell(float(value), text) if isinstance(value, int | float) else Cell(text)


def failures(failed: Sequence[Row], looks: Mapping[str, Look]) -> tuple[Table | None, str]:
    """Return a table of failures by method, status and message, most frequent first, and what it omits."""
    counts = Counter((row.method, row.status, row.message) for row in failed)
    if not counts:
        return None, ""
    first = {(row.method, row.status, row.message): row.instance for row in reversed(failed)}
    names = labels(first.values())
    cells = []
    for key, count in counts.most_common(MESSAGES):
        method, status, message = key
        line = [name_cell(method, looks[method].label), Cell(printable(status)), Cell(f"{count:,}", order=count)]
        cells.append(
            [*line, name_cell(message, short(message, MESSAGE_LENGTH)), name_cell(first[key], names[first[key]])]
        )
    columns = [
        Column(head, numbers=head == "cells") for head in ("method", "status", "cells", "message", "for example")
    ]
    left = len(counts) - len(cells)
    words = f"{several(left, 'other kind')} of failures, each at most as frequent, not listed." if left else ""
    return Table(f"{several(len(failed), 'cell')} without an answer", columns, cells), words
