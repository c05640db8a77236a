"""What a study says: groups of instances, a line for each method in each, and its comparison with another."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from dlsched.core.status import Sense, TerminationStatus
from dlsched.families import FAMILIES
from dlsched.statistics.estimate import Estimate
from dlsched.statistics.intervals import wilson_share
from dlsched.study.rows import Row

Kind = Literal["exact", "heuristic", "bound"]
Instance = tuple[object, ...]
"""What tells an instance from others."""

NO_FAILURE = (TerminationStatus.OPTIMAL, TerminationStatus.FEASIBLE, TerminationStatus.INFEASIBLE)
"""Statuses that are no failure though no answer may be held: a bound, or the proof that there is none."""


def instance_of(row: Row) -> Instance:
    """What tells the instance of a row from others, of one name too."""
    return (row.instance_id, row.source, row.instance, row.preset, row.jobs, row.gpus, row.seed)


def sense_of(row: Row) -> Sense:
    """Whether the objective of a row is minimised; its family's sense where the row does not say."""
    if row.sense:
        return Sense(row.sense)
    return FAMILIES[row.family].sense if row.family in FAMILIES else Sense.MINIMIZE


UNNAMED = "objective not known"
"""What stands for the objective of instances that were not made, where others of their family and preset have several."""


def by_objective(rows: Sequence[Row]) -> Iterator[tuple[str, list[Row]]]:
    """Yield the rows of each objective and sense in their order, with its name; the name is empty where there is one only.

    Rows that do not say what their objective is, as their instances were not made, belong to the only one that others have.
    """
    said = dict.fromkeys((row.objective_name, sense_of(row)) for row in rows if row.objective_name or row.sense)
    found: dict[tuple[str, Sense], list[Row]] = {}
    for row in rows:
        silent = not (row.objective_name or row.sense)
        objective = next(iter(said)) if silent and len(said) == 1 else (row.objective_name, sense_of(row))
        found.setdefault(objective, []).append(row)
    for (name, _), held in found.items():
        yield (name or UNNAMED) if len(found) > 1 else "", held


def has_failed(row: Row, infeasible: bool, kind: str) -> bool:
    """Whether a cell should have an answer and has none, as ``Line.failures`` says.

    Parameters
    ----------
    row
        Of the cell.
    infeasible
        Whether any method has proven that its instance has no solution.
    kind
        Of its method.
    """
    if row.objective is not None or row.status in NO_FAILURE or (kind == "bound" and row.bound is not None):
        return False
    return not (infeasible and row.status == TerminationStatus.NO_SOLUTION)


@dataclass(frozen=True, slots=True)
class Comparison:
    """A method against another on the same instances.

    Parameters
    ----------
    against
        The other method.
    instances
        On which both have an answer, or one has: wins + ties + losses.
    wins, ties, losses
        Instances on which it is better, as good, worse; without an answer it loses to one that has one.
    difference
        Mean paired difference of the ratios, its own less the other's, over the instances that both answered.
    p_value
        Of Wilcoxon's signed-rank test of these differences, after Holm's correction; None where there is nothing to test.
    """

    against: str
    instances: int
    wins: int
    ties: int
    losses: int
    difference: Estimate | None
    p_value: float | None


@dataclass(frozen=True, slots=True)
class Line:
    """One method on the instances of a group.

    Parameters
    ----------
    method
        Its label.
    cells, answers
        Cells that have ended, and those with an answer that was checked.
    failures
        Cells that should have an answer and have none, by status. It is no failure to prove that there is none, to find
        none where that is proven, or to give a bound where the method gives nothing else.
    proven, at_optimum
        Cells that proved their optimum; answers that are the optimum.
    mean, median, p95, worst
        Of the ratios to the reference, over the cells that have one; None without any. The worst is infinite where an
        answer has no finite ratio.
    worst_instance
        Name of the instance of the worst ratio, empty without.
    at_most
        Whether a ratio among them rests on a bound.
    time_s
        Shifted geometric mean of the seconds of cells that ended, None without.
    par10
        Mean of the seconds, a cell that failed or was ended by the limit of time counted as ten times the limit; None
        where there was one and the limit is not known.
    timeouts
        Cells that were ended by the limit of time.
    comparison
        Against the method that the group's lines are compared with; None for that one.
    ratios
        Cells with a ratio: of mean, median, p95 and worst.
    worst_at_most
        Whether the worst ratio rests on a bound.
    kind
        ``exact``: it proves optima; ``heuristic``; or ``bound``: it gives no answers, and fails where it has no bound.
    unbounded
        Answers that are worse than a reference to which there is no finite ratio, such as an optimum of 0; they are in none
        of mean, median and p95.
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
    """Instances of one family, preset and objective, and what each method reached on them.

    Parameters
    ----------
    family, preset
        ``preset`` is empty for files.
    objective
        What the objective of the instances is called, where others of the family and preset have another; else empty.
    instances
        How many.
    lines
        A line a method, in the order of the plan.
    rows
        The rows that they are made of.
    ranking
        The methods from the best: those without any answer last, exact ones behind the others, and then by mean ratio, a
        failure, and an answer without a finite ratio, counted with the worst ratio of the group. The lines are compared with
        the first, if it has an answer.
    references
        Number of instances by what their reference is: ``optimum``, ``bound``, ``answer``, and empty without.
    infeasible
        Instances proven to have no solution.
    failed
        The rows among them that are failures of their methods.
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

    @property
    def sense(self) -> Sense:
        """Whether the objectives are minimised."""
        return sense_of(next((row for row in self.rows if row.sense), self.rows[0]))

    @property
    def names(self) -> tuple[str, ...]:
        """What tells the group from others: family, preset and objective, where it has one to name."""
        return tuple(name for name in (self.family, self.preset, self.objective) if name)

    def line(self, method: str) -> Line:
        """Line of a method; KeyError without."""
        return {line.method: line for line in self.lines}[method]
