"""The content of a report as plain data, independent of the store and the engines."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from dlsched.study.figures.summary import Group
from dlsched.study.rows import Row

Evidence = Callable[[Row], tuple[str, str]]
"""Takes a row, returns its instance as JSON text and the command line that repeats the row; either may be
empty."""


@dataclass(frozen=True, slots=True)
class Content:
    """The content of a study's report.

    Parameters
    ----------
    name
        Name of the study.
    sentence
        Result of the study in one sentence, with its interval.
    groups
        Groups of instances, with their rows.
    evidence
        Returns instance and command for a row, so that readers can repeat it.
    plan
        Text of the plan file.
    limits
        Limits of a cell in words, by what is limited.
    environment
        Versions and the machine, by name.
    when
        When the study ran, in words; empty if unknown.
    reference
        Label of the plan's reference method; empty: ratios are to the best proven value.
    """

    name: str
    sentence: str
    groups: Sequence[Group]
    evidence: Evidence
    plan: str = ""
    limits: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    when: str = ""
    reference: str = ""

    @property
    def methods(self) -> list[str]:
        """Every method once, in the order of the plan."""
        return list(dict.fromkeys(line.method for group in self.groups for line in group.lines))
