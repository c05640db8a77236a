"""Groups of instances of a study, a line of figures for each method, and comparisons of methods."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from dlsched.core.gap import MEETING
from dlsched.core.instance import InstanceFile
from dlsched.core.objective import Objective
from dlsched.core.result import Solution
from dlsched.core.status import Sense, TerminationStatus
from dlsched.families import FAMILIES
from dlsched.statistics.inference import Estimate, Tally, wilson_share
from dlsched.study.rows import Row

Kind = Literal["exact", "heuristic", "bound"]
Instance = tuple[object, ...]  # identity of an instance within a study

NO_FAILURE = (TerminationStatus.OPTIMAL, TerminationStatus.FEASIBLE, TerminationStatus.INFEASIBLE)
"""Statuses that are no failure even without an answer: the cell has a bound, or proved infeasibility."""


def instance_of(row: Row) -> Instance:
    """Identity of a row's instance, which differs even for instances of the same name."""
    return (row.instance_id, row.source, row.instance, row.preset, row.jobs, row.gpus, row.seed)


def sense_of(row: Row) -> Sense:
    """Whether the objective of a row is minimised; its family's sense if the row does not say."""
    if row.sense:
        return Sense(row.sense)
    return FAMILIES[row.family].sense if row.family in FAMILIES else Sense.MINIMIZE


FILES = "files"  # stands for the preset of instances that have none
SEARCHED = "worst known"
"""Stands for the preset of instances that a search for the worst one of a method has found: they are no sample of anything."""


def part_of(row: Row) -> str:
    """The preset of a row's instance, or what stands for it; ``dlsched worst`` calls what it finds ``worst-METHOD``."""
    return row.preset or (SEARCHED if row.instance.startswith("worst-") else FILES)


UNNAMED = "objective not known"
"""Stands for the unknown objective of instances that were not made, if their group has several
objectives."""


def by_objective(rows: Sequence[Row]) -> Iterator[tuple[str, list[Row]]]:
    """Yield the name and the rows of each objective and sense, in order; the name of a single one is empty."""
    named = dict.fromkeys((row.objective_name, sense_of(row)) for row in rows if row.objective_name or row.sense)
    by_name: dict[tuple[str, Sense], list[Row]] = {}
    # Rows that name no objective are of instances that were not made: they join the only objective there is.
    for row in rows:
        silent = not (row.objective_name or row.sense)
        objective = next(iter(named)) if silent and len(named) == 1 else (row.objective_name, sense_of(row))
        by_name.setdefault(objective, []).append(row)
    for (name, _), rows_of_objective in by_name.items():
        yield (name or UNNAMED) if len(by_name) > 1 else "", rows_of_objective


def has_failed(row: Row, infeasible: bool, kind: str) -> bool:
    """Whether a cell should have an answer and has none, as ``Line`` says; ``infeasible``: a method proved infeasibility."""
    if row.objective is not None or row.status in NO_FAILURE or (kind == "bound" and row.bound is not None):
        return False
    return not (infeasible and row.status == TerminationStatus.NO_SOLUTION)


@dataclass(frozen=True, slots=True)
class Comparison(Tally):
    """Comparison of a method with another on the instances on which at least one of the two has an answer.

    A method without an answer loses to one with an answer. ``difference``: mean paired difference of ratios, the method's minus
    the other's, over instances that both answered. ``p_value``: Wilcoxon's signed-rank test of these differences, with Holm's
    correction; None: nothing to test.
    """

    against: str
    difference: Estimate | None
    p_value: float | None


@dataclass(frozen=True, slots=True)
class Line:
    """One method on the instances of a group; figures are None where there is nothing to compute them from.

    ``cells`` and ``answers`` count cells that ended, and those with a checked answer; ``proven`` and ``at_optimum`` cells that
    proved their optimum, and answers that are the optimum; ``ratios`` cells with a ratio, over which ``mean``, ``median``,
    ``p95`` and ``worst`` are taken (``worst`` is infinite if an answer has no finite ratio); ``unbounded`` answers that are
    worse than a reference without finite ratios, such as an optimum of 0, which the others leave out. ``at_most``: a ratio is
    to a bound.

    ``failures`` counts cells that should have an answer and have none, by status. A proof of infeasibility, no answer to an
    instance that is proven infeasible, and the bound of a bound method are no failures; a bound method fails without a bound.

    ``time_s`` is the shifted geometric mean of cells that ended; ``par10`` the mean seconds, where a cell that failed or hit
    the time limit counts as ten times the limit. ``comparison`` is with the group's best method, None for that one. ``shared``
    is the mean over the instances on which every method of the group has a ratio; None where these are all instances, or none.
    """

    method: str
    cells: int
    answers: int
    failures: Mapping[str, int]
    proven: int
    at_optimum: int
    mean: Estimate | None
    median: float | None
    p95: float | None
    worst: float | None
    worst_instance: str
    at_most: bool
    time_s: float | None
    par10: float | None
    timeouts: int
    comparison: Comparison | None
    ratios: int = 0
    worst_at_most: bool = False
    kind: Kind = "heuristic"
    unbounded: int = 0
    shared: Estimate | None = None

    @property
    def exact(self) -> bool:
        """Whether it proves optima."""
        return self.kind == "exact"

    @property
    def failed(self) -> int:
        """Number of failures."""
        return sum(self.failures.values())

    @property
    def proven_share(self) -> Estimate | None:
        """Share of cells that proved their optimum, with Wilson's interval."""
        return wilson_share(self.proven, self.cells)


@dataclass(frozen=True, slots=True)
class Group:
    """Instances of one family, preset and objective, with a line of figures for each method, in the order of the plan.

    ``preset`` is ``FILES`` or ``SEARCHED`` for instances that have none; ``objective`` is named if there are several.

    ``ranking`` has the methods, best first. Methods without any answer come last, exact methods after the others; within these,
    order is by mean ratio, where a failure or an answer without a finite ratio counts as the worst ratio of the group. The
    lines are compared with the first method, if it has an answer.

    ``references`` counts instances by kind of reference (``optimum``, ``bound``, ``answer``, or empty); ``infeasible`` those
    proven infeasible; ``shared`` those on which every method that has ratios has one. ``failed``: the rows that are failures.
    """

    family: str
    preset: str
    instances: int
    lines: tuple[Line, ...]
    rows: tuple[Row, ...]
    ranking: tuple[str, ...] = ()
    references: Mapping[str, int] = field(default_factory=dict)
    infeasible: int = 0
    failed: tuple[Row, ...] = ()
    objective: str = ""
    shared: int = 0

    @property
    def uneven(self) -> bool:
        """Whether the means of the methods are over different instances."""
        return any(line.shared is not None for line in self.lines)

    @property
    def sense(self) -> Sense:
        """Whether the objectives are minimised."""
        return sense_of(next((row for row in self.rows if row.sense), self.rows[0]))

    @property
    def ratio(self) -> str:
        """What its ratios are of, in a clause."""
        return self.ratio_sentence.partition(";")[0]

    @property
    def ratio_sentence(self) -> str:
        """What its ratios are of, with what readers should know of that."""
        return self._measure.ratio_sentence("the reference method" if self.references.get("answer") else "")

    @property
    def _measure(self) -> Objective[InstanceFile, Solution]:
        named = next((row.objective_name for row in self.rows if row.objective_name), "")
        if self.family not in FAMILIES:
            return Objective(name=named, sense=self.sense, unit="", value=lambda instance, solution: 0.0)
        return FAMILIES[self.family].objective_named(named)

    @property
    def best(self) -> Line:
        """Line of the first method of the ranking."""
        return self.line(self.ranking[0])

    @property
    def tied(self) -> tuple[str, ...]:
        """Methods that share the first place: of the best one's kind and mean ratio, with as many ratios and failures."""
        first = self.best
        if first.mean is None:
            return ()
        alike, slack = (first.kind, first.ratios, first.failed, first.unbounded), MEETING * first.mean.value
        return tuple(
            line.method
            for line in map(self.line, self.ranking[1:])
            if (line.kind, line.ratios, line.failed, line.unbounded) == alike
            and line.mean is not None
            and abs(line.mean.value - first.mean.value) <= slack
        )

    @property
    def names(self) -> tuple[str, ...]:
        """Family, preset and objective, if named: together they identify the group."""
        named = self.objective if self.objective in ("", UNNAMED) else f"objective {self.objective}"
        return tuple(name for name in (self.family, self.preset, named) if name)

    @property
    def generated(self) -> bool:
        """Whether its instances have a preset."""
        return self.preset not in (FILES, SEARCHED)

    def line(self, method: str) -> Line:
        """Return the line of a method; KeyError if there is none."""
        return {line.method: line for line in self.lines}[method]
