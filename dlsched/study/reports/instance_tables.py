"""Markdown tables of every method on every instance from files, one for each group."""

from collections.abc import Iterator, Sequence

from dlsched.core.quantities import UNKNOWN, duration, ratio
from dlsched.core.status import TerminationStatus
from dlsched.study.figures.groups import Group, Instance, instance_of
from dlsched.study.reports.typeset import markdown_table
from dlsched.study.rows import Row

MOST_INSTANCES = 100
"""Largest number of instances of a table; larger groups get none."""
NOTE = (
    "Ratio and seconds; the status where there is no answer, or where a limit ended the search. Of methods for bounds the bound "
    "over the reference."
)


def instance_tables(groups: Sequence[Group]) -> Iterator[str]:
    """Yield heading, text and table of every group of files, the instances in order."""
    for group in groups:
        if group.generated or group.instances > MOST_INSTANCES:
            continue
        cells: dict[Instance, dict[str, Row]] = {}
        for row in group.rows:
            cells.setdefault(instance_of(row), {})[row.method] = row
        methods = [line.method for line in group.lines]
        table = [
            (
                next(iter(of.values())).instance,
                _reference(list(of.values())),
                *(_cell(of.get(method)) for method in methods),
            )
            for of in cells.values()
        ]
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
    said = [] if row.time_s is None else [duration(row.time_s)]
    if row.status not in (TerminationStatus.OPTIMAL, TerminationStatus.FEASIBLE):
        said.append(row.status)
    if row.ratio is not None:
        said.insert(0, ratio(row.ratio, row.at_most))
    elif row.objective is None and row.bound is not None and row.reference:
        said.insert(0, ratio(row.bound / row.reference))
    return ", ".join(said)
