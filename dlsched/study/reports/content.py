"""The content of a report as plain data: groups of rows, and the trials (rows of one instance) that plots show."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from dlsched.core.messages import printable, several
from dlsched.study.figures.summary import Group, instance_of
from dlsched.study.rows import Row

Evidence = Callable[[Row], tuple[str, str]]
"""Takes a row, returns its instance as JSON text and the command line that repeats the row; either may be empty."""


@dataclass(frozen=True, slots=True)
class Content:
    """The content of a study's report.

    ``sentence`` is the result with its interval; ``evidence`` returns instance and command of a row, ``plan`` is the text of
    the plan file. ``limits`` are those of a cell in words, by what is limited. ``reference``: label of the plan's reference
    method; empty: ratios are to the best proven value.
    """

    name: str
    sentence: str
    groups: Sequence[Group]
    evidence: Evidence
    plan: str = ""
    limits: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    reference: str = ""

    @property
    def methods(self) -> list[str]:
        """Every method once, in the order of the plan."""
        return list(dict.fromkeys(line.method for group in self.groups for line in group.lines))


WORST = 10  # number of worst instances of each method that every plot shows


@dataclass(frozen=True, slots=True)
class Trial:
    """One instance, with the row of every method."""

    name: str
    rows: Mapping[str, Row]

    @property
    def about(self) -> str:
        """The arguments with which it was generated, in words."""
        first = next(iter(self.rows.values()))
        sizes = [
            several(first.jobs, "job") if first.jobs is not None else "",
            f"{first.gpus:,} GPUs" if first.gpus is not None else "",
        ]
        origin = f"seed {first.seed}" if first.seed is not None else printable(first.source)
        return ", ".join(part for part in (*sizes, origin) if part)


def trials(rows: Iterable[Row]) -> list[Trial]:
    """Group rows by instance, in order; if a method ran twice on one, the second row makes a second trial."""
    by_instance: dict[tuple[object, ...], dict[str, Row]] = {}
    times: Counter[tuple[object, ...]] = Counter()
    for row in rows:
        home = instance_of(row)
        by_instance.setdefault((*home, times[*home, row.method]), {})[row.method] = row
        times[*home, row.method] += 1
    return [Trial(next(iter(of.values())).instance, of) for of in by_instance.values()]


def chosen(all_of_them: Sequence[Trial], methods: Sequence[str], room: int) -> tuple[list[Trial], str]:
    """Return about `room` trials, and a sentence that names them: the worst of every method, and every n-th of the others."""
    if len(all_of_them) <= room:
        return list(all_of_them), ""
    worst: set[int] = set()
    for method in methods:
        ratios = [
            (-ratio, index)
            for index, trial in enumerate(all_of_them)
            if (row := trial.rows.get(method)) is not None and (ratio := row.ratio) is not None
        ]
        worst |= {index for _, index in sorted(ratios)[:WORST]}
    step = -(-len(all_of_them) // max(room - len(worst), 1))
    shown = [trial for index, trial in enumerate(all_of_them) if index in worst or index % step == 0]
    return shown, (
        f"Shown are {len(shown):,} of {len(all_of_them):,} instances: the {WORST} worst of every method and every "
        f"{ordinal(step)} of all; bars and figures are of all."
    )


def ordinal(number: int) -> str:
    """Write 2nd, 3rd, 11th.

    >>> ordinal(2), ordinal(11), ordinal(23), ordinal(51)
    ('2nd', '11th', '23rd', '51st')
    """
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number:,}{ending}"
