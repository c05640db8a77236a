"""The summary of a study as an object: its groups, which print as tables in a terminal and in a notebook."""

import html
from collections.abc import Sequence
from dataclasses import dataclass

from dlsched.core.messages import printable
from dlsched.core.table import Table
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
            parts.append(f"{printable(title(group))}\n{_table(*table(group)).text(between=2, ruled=False)}")
        return "\n\n".join([*parts, *remarks(self.groups)])

    def _repr_html_(self) -> str:
        if len(self.groups) > 1:
            tables = [_table(*overview(self.groups)).html()]
        else:
            tables = [
                f"<p>{html.escape(printable(title(group)))}</p>{_table(*table(group)).html()}" for group in self.groups
            ]
        said = [*remarks(self.groups), *([note_of(self.groups)] if len(self.groups) == 1 else [])]
        return "".join([*tables, *(f"<p><small>{html.escape(words)}</small></p>" for words in said)])


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    return Table(columns, rows, columns[1:])
