"""The summary of a study as an object: its groups, which print as tables in a terminal and in a notebook."""

import html
from collections.abc import Sequence
from dataclasses import dataclass

from dlsched.core.messages import printable
from dlsched.study.figures.groups import Group
from dlsched.study.figures.overview import overview, remarks
from dlsched.study.figures.tables import note_of, table, title
from dlsched.study.figures.words import sentence


@dataclass(frozen=True, slots=True)
class Summary:
    """Figures of a study.

    Parameters
    ----------
    groups
        Groups of instances, each with a line of figures for each method.
    """

    groups: Sequence[Group]

    @property
    def sentence(self) -> str:
        """The result in one sentence, with its interval."""
        return sentence(self.groups)

    def __repr__(self) -> str:
        parts = [printable(self.sentence)]
        for group in self.groups:
            parts.append(f"{printable(title(group))}\n{_text(*table(group))}")
        return "\n\n".join([*parts, *remarks(self.groups)])

    def _repr_html_(self) -> str:
        if len(self.groups) > 1:
            tables = [_html(*overview(self.groups))]
        else:
            tables = [f"<p>{html.escape(printable(title(group)))}</p>{_html(*table(group))}" for group in self.groups]
        said = [*remarks(self.groups), *([note_of(self.groups)] if len(self.groups) == 1 else [])]
        return "".join([*tables, *(f"<p><small>{html.escape(words)}</small></p>" for words in said)])


def _text(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Write a table in columns of equal width, the first one aligned to the left."""
    lines = [list(map(printable, row)) for row in (columns, *rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    aligned = [[line[0].ljust(widths[0]), *map(str.rjust, line[1:], widths[1:])] for line in lines]
    return "\n".join("  ".join(line).rstrip() for line in aligned)


def _html(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f"<th>{html.escape(name)}</th>" for name in columns)
    body = "".join(f"<tr>{''.join(f'<td>{html.escape(printable(cell))}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
