"""What a report is made of: plain data, so that it knows neither the store nor the engines."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from dlsched.study.figures.summary import Group
from dlsched.study.rows import Row

Evidence = Callable[[Row], tuple[str, str]]
"""From a row to its instance as JSON text, and the command line that gives the row again; either may be empty."""


@dataclass(frozen=True, slots=True)
class Content:
    """A study, ready to be written down.

    Parameters
    ----------
    name
        Of the study.
    sentence
        The answer in one sentence, with its interval.
    groups
        Its families and presets, with their rows.
    evidence
        What lets a reader try a row himself.
    plan
        Text of the plan file.
    limits
        Limits of a cell in words, by what is limited.
    environment
        Versions and the machine, by name.
    when
        When it ran, in words; empty where that is not known.
    reference
        Label of the method that the plan calls the reference; empty where ratios are to the best that is proven.
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
