"""The HTML report of a study: one file that fetches nothing, also for print and dark mode.

Its content security policy forbids all requests: it allows only the page's own script, by its hash, and its styles.
"""

import base64
import hashlib
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from dlsched.core import quantities
from dlsched.core.files import write_text
from dlsched.core.imports import needing
from dlsched.core.messages import printable, several
from dlsched.core.quantities import duration
from dlsched.statistics.inference import Estimate
from dlsched.study.figures.groups import Comparison, Group, Line
from dlsched.study.figures.summary import SHIFT_S
from dlsched.study.figures.tables import answers_text, p_text, remarks, unbounded_text
from dlsched.study.reports.content import Content, Evidence, Trial, trials
from dlsched.study.reports.page_figures import against_size, distribution, profile
from dlsched.study.reports.page_parts import (
    NOTHING,
    Cell,
    Column,
    Look,
    Table,
    block,
    finite,
    labels,
    looks,
    name_cell,
    not_drawn,
    number_cell,
    short,
    span,
)
from dlsched.study.rows import Row, RowColumn, table_columns

TEMPLATES = Path(__file__).parent / "templates"


def embedded(template: str, *, folder: Path = TEMPLATES, **values: object) -> str:
    """Fill in a template from a folder or of reports, with policy, script and styles added to the values."""
    require_report()
    import jinja2
    from markupsafe import Markup

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader([folder, TEMPLATES], encoding="utf-8"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"printable": printable, "block": block, "several": several}
    script = _text("page.js")
    policy = [
        "default-src 'none'",
        f"script-src {_hash(script)}",
        "style-src 'unsafe-inline'",
        "img-src data:",
        "base-uri 'none'",
        "form-action 'none'",
    ]
    # These texts come from this folder, never from the study.
    trusted = {"script": Markup(script), "styles": Markup(_text("page.css"))}
    return environment.get_template(template).render(policy="; ".join(policy), **trusted, **values)


def require_report() -> None:
    """Raise a SolverMissingError early if Jinja2 or Matplotlib is not installed."""
    with needing("reports need Jinja2 and Matplotlib", "report"):
        import jinja2  # noqa: F401
        import matplotlib.figure  # noqa: F401


def _text(name: str) -> str:
    return (TEMPLATES / name).read_text(encoding="utf-8")


def _hash(script: str) -> str:
    """Hash of a script in the format of content security policies."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


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

    late = several(line.timeouts, "timeout") if line.timeouts else ""
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
        NOTHING if line.par10 is None else Cell(duration(line.par10), order=line.par10, note=late),
    ]
    return cells + (_comparison_cells(line.comparison) if compared else [])


def _of(part: int, whole: int) -> str:
    return quantities.percent(part / whole if whole else 0.0)


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
    # The best heuristic of each group, with a link to its section.
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


def specimens(
    instances: Sequence[Trial], looks: Mapping[str, Look], evidence: Evidence, groups: int
) -> list[dict[str, object]]:
    """Return the worst instances, by ratio: the worst of each method, then the next of each; ``groups`` share the room."""
    ranked: list[tuple[int, float, int, str]] = []
    for method in looks:
        ratios = [
            (-ratio, index)
            for index, trial in enumerate(instances)
            if (row := trial.rows.get(method)) is not None and (ratio := finite(row.ratio)) is not None and ratio > BAD
        ]
        # Rank before ratio: the worst of every method comes before the second worst of any.
        ranked += [(rank, *each, method) for rank, each in enumerate(sorted(ratios)[:WORST_SHOWN])]
    picked: dict[int, tuple[float, str]] = {}
    for _, ratio, index, method in sorted(ranked):
        if index not in picked and len(picked) < WORST_SHOWN:
            picked[index] = (ratio, method)
    longest = min(LONGEST, TOGETHER // (WORST_SHOWN * groups))
    order = sorted((ratio, index, method) for index, (ratio, method) in picked.items())
    return [_specimen(instances[index], method, looks, evidence, longest) for _, index, method in order]


def _specimen(
    trial: Trial, method: str, looks: Mapping[str, Look], evidence: Evidence, longest: int
) -> dict[str, object]:
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
    return {
        "head": short(trial.name),
        "tail": f"{looks[worst.method].label}: {ratio}",
        "name": printable(trial.name),
        "about": trial.about + reference,
        "table": Table("Every method on this instance", columns, cells),
        "command": block(command),
        "instance": block(text),
        "omitted": omitted,
    }


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
    omitted = len(counts) - len(cells)
    words = f"{several(omitted, 'other kind')} of failures, each at most as frequent, not listed." if omitted else ""
    return Table(f"{several(len(failed), 'cell')} without an answer", columns, cells), words


DOTS = 4_000
"""Approximate number of dots on the whole page, which keeps the file small."""
FEWEST, MOST = 30, 250
"""Least number of instances that a plot shows, whatever the number of plots."""


def write_report(content: Content, path: str | os.PathLike[str]) -> None:
    """Write the report of a study as one HTML file; equal contents give equal bytes."""
    write_text(path, render(content))


def render(content: Content) -> str:
    """Return the page."""
    sections = [_section(content, group, index) for index, group in enumerate(content.groups)]
    return embedded(
        "page.html",
        content=content,
        sentence=parts_of(content.sentence),
        sections=sections,
        overview=overview(content, looks(content.methods)) if len(sections) > 1 else None,
        remarks=remarks(content.groups),
        cells=sum(len(group.rows) for group in content.groups),
        instances=sum(group.instances for group in content.groups),
        families=list(dict.fromkeys(group.family for group in content.groups)),
        shift_s=SHIFT_S,
    )


def _section(content: Content, group: Group, index: int) -> dict[str, object]:
    """Return the section of one group of instances, for the template."""
    looks_of_all = looks(content.methods)
    here = {line.method: looks_of_all[line.method] for line in group.lines}
    of_group = trials(group.rows)
    # All plots of the page share the room for dots, so that the file stays small.
    room = max(FEWEST, min(MOST, DOTS // max(1, len(here) * len(content.groups))))
    figures = [
        distribution(of_group, here, room, group.ratio),
        profile(of_group, here, group.family),
        *against_size(of_group, here),
    ]
    kinds, omitted = failures(group.failed, here)
    return {
        "title": title_of(group),
        "anchor": anchor(index),
        "about": about(group),
        "looks": here,
        "methods": methods_table(group, here),
        "figures": [figure for figure in figures if figure.traces],
        "not_drawn": not_drawn(figures),
        "specimens": specimens(of_group, here, content.evidence, len(content.groups)),
        "failures": kinds,
        "failures_left": omitted,
    }


def parts_of(sentence: str) -> list[str]:
    """Split a sentence into text and names in turn; names are between backticks; unpaired ones are text."""
    parts = printable(sentence).split("`")
    return parts if len(parts) % 2 else [printable(sentence)]
