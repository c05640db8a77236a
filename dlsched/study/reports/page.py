"""The HTML report of a study: one file that fetches nothing, also for print and dark mode.

Its content security policy forbids all requests: it allows only the page's own script, by its hash, and its styles.
"""

import base64
import hashlib
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from dlsched.core import quantities
from dlsched.core.files import write_text
from dlsched.core.imports import needing
from dlsched.core.messages import printable, several
from dlsched.statistics.inference import Estimate
from dlsched.study.figures.summary import SHIFT_S, Group, Line
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
    count_cell,
    finite,
    labels,
    looks,
    name_cell,
    not_drawn,
    number_cell,
    ratio_cell,
    short,
    span,
    time_cell,
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


WORST_SHOWN = 5  # number of worst instances of a group that are shown in full
BAD = 1 + 1e-6  # ratios above this are worse than the reference
MESSAGES = 20  # largest number of different failures that are listed for a group
MESSAGE_LENGTH = 300  # largest number of characters of a message
LONGEST, TOGETHER = 40_000, 1_200_000
"""Largest number of characters of an instance, and of all on the page; longer ones show only their command."""


def methods_table(group: Group, looks: Mapping[str, Look]) -> Table:
    """Table with one line for each method, as in the summary."""
    against = next((line.comparison.against for line in group.lines if line.comparison), "")
    optimum, proven = "answers that are the proven optimum, of all cells", "cells that proved their optimum themselves"
    shared = f"mean over the {several(group.shared, 'instance')} that all answered"
    better, paired = f"instances, against {printable(against)}", "Wilcoxon signed-rank of the paired ratios"
    # Each column with the cell of a line; those of uneven groups and of comparisons only where they say something.
    columns: list[tuple[Column, Callable[[Line], Cell]]] = [
        (Column("method", numbers=False), lambda line: name_cell(line.method, looks[line.method].label)),
        (
            Column("answered", "cells with an answer that was checked, of all that ended"),
            lambda line: Cell(answers_text(line, "/"), order=line.answers),
        ),
        (Column("mean ratio", f"{group.ratio}, with its 95 % interval"), mean_cell),
        *([(Column("where all answered", shared), _shared_cell)] if group.uneven else []),
        (Column("median"), lambda line: ratio_cell(line.median, line.at_most)),
        (Column("95 %", "95th percentile of the ratios"), lambda line: ratio_cell(line.p95, line.at_most)),
        (Column("worst"), lambda line: ratio_cell(line.worst, line.worst_at_most)),
        (Column("at optimum", optimum), lambda line: _share_cell(line.at_optimum, line.cells)),
        (Column("proven", proven), lambda line: _share_cell(line.proven, line.cells)),
        (Column("time", "shifted geometric mean of the cells that ended"), lambda line: time_cell(line.time_s)),
        (
            Column("PAR10", "mean, a timeout counted as ten times the limit"),
            lambda line: time_cell(line.par10, several(line.timeouts, "timeout") if line.timeouts else ""),
        ),
    ]
    if against:
        columns.append((Column("better / equal / worse", better), _wins_cell))
        columns.append((Column("p", f"{paired}, after Holm's correction"), _p_cell))
    caption = f"Methods; the last two columns compare with {short(against)}" if against else "Methods"
    return Table(
        caption, [column for column, _ in columns], [[cell(line) for _, cell in columns] for line in group.lines]
    )


def _share_cell(part: int, whole: int) -> Cell:
    return Cell(quantities.percent(part / whole if whole else 0.0), order=part)


def mean_cell(line: Line) -> Cell:
    """A mean with its interval, and the number of answers left out for lack of a finite ratio."""
    unbounded = unbounded_text(line.unbounded)
    if line.mean is None:
        return Cell(unbounded) if unbounded else NOTHING
    return _estimate_cell(line.mean, line.at_most, unbounded)


def _estimate_cell(mean: Estimate, at_most: bool, also: str = "") -> Cell:
    text, _, interval = quantities.mean(mean).partition(" ")
    return number_cell(mean.value, text, at_most, ", ".join(filter(None, (interval, also))))


def _shared_cell(line: Line) -> Cell:
    return NOTHING if line.shared is None else _estimate_cell(line.shared, line.at_most)


def _wins_cell(line: Line) -> Cell:
    if (of := line.comparison) is None:
        return NOTHING
    return Cell(f"{of.wins:,} / {of.ties:,} / {of.losses:,}", order=of.wins - of.losses)


def _p_cell(line: Line) -> Cell:
    p_value = None if line.comparison is None else line.comparison.p_value
    return NOTHING if p_value is None else number_cell(p_value, p_text(p_value))


def overview(content: Content, looks: Mapping[str, Look]) -> Table:
    """Table of one row for each group: its best heuristic, that one's ratios, and the methods that tie with it."""
    rows = []
    # The best heuristic of each group, with a link to its section.
    for index, group in enumerate(content.groups):
        best, tied = group.best, [looks[method].label for method in group.tied]
        rows.append(
            [
                Cell(title_of(group), link=anchor(index)),
                count_cell(group.instances),
                Cell(quantities.percent(group.references.get("optimum", 0) / group.instances)),
                name_cell(best.method, looks[best.method].label),
                mean_cell(best),
                ratio_cell(best.worst, best.worst_at_most),
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
    ratio = ratio_cell(worst.ratio, worst.at_most).text
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
    if column.name == "ratio":
        return ratio_cell(row.ratio, row.at_most)
    if column.name == "time_s":
        return time_cell(row.time_s)
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
        line = [name_cell(method, looks[method].label), Cell(printable(status)), count_cell(count)]
        line += [name_cell(message, short(message, MESSAGE_LENGTH)), name_cell(first[key], names[first[key]])]
        cells.append(line)
    columns = [
        Column(head, numbers=head == "cells") for head in ("method", "status", "cells", "message", "for example")
    ]
    omitted = len(counts) - len(cells)
    words = f"{several(omitted, 'other kind')} of failures, each at most as frequent, not listed." if omitted else ""
    return Table(f"{several(len(failed), 'cell')} without an answer", columns, cells), words


DOTS = 4_000  # approximate number of dots on the whole page, which keeps the file small
FEWEST, MOST = 30, 250  # numbers of instances that a plot shows, however many plots there are


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
