"""Groups of instances of a study, a line of figures for each method, and comparisons of methods; ``summarise`` computes them."""

import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import count
from typing import Literal

from dlsched.core.gap import MEETING
from dlsched.core.instance import InstanceFile
from dlsched.core.objective import Objective
from dlsched.core.result import Solution
from dlsched.core.status import Sense, TerminationStatus
from dlsched.core.verdict import Reference, verdict
from dlsched.families import FAMILIES
from dlsched.statistics.inference import (
    Estimate,
    Tally,
    bootstrap_mean,
    differences,
    holm,
    signed_rank,
    tally,
)
from dlsched.statistics.samples import mean, median, par10, percentile, shifted_geometric_mean, worst
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
"""Stands for the unknown objective of instances that were not made, if their group has several objectives."""


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


SHIFT_S = 1.0  # shift in seconds of the geometric mean of times: differences far below it do not count
TIMEOUTS = ("timeout", TerminationStatus.TIME_LIMIT)  # statuses of cells that the time limit ended

Cells = Mapping[Instance, Row]  # rows of one method, by instance
Figures = Mapping[Instance, float | None]  # one for each cell, less is better; None: no answer


def summarise(rows: Sequence[Row], limit_s: float | None = None) -> list[Group]:
    """Group rows by family, preset and objective, in order, and compute the figures of each group.

    Every method of a group is compared with the best method that is not exact, since that is what one would use instead of an
    exact one; if all are exact, with the best of these. The best method has the smallest mean ratio, where a cell without an
    answer counts as the worst ratio of the group, so that no method gains by failing. If no instance of a group has a
    reference, ratios are to the best answer of the methods instead. Cells are paired by instance; instances on which one of
    two methods did not run are left out. ``limit_s``: limit of time of a cell, for PAR10.
    """
    grouped: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        grouped.setdefault((row.family, part_of(row)), []).append(row)
    return [
        _group(*of, objective, cells, limit_s)
        for of, together in grouped.items()
        for objective, cells in by_objective(together)
    ]


def _group(family: str, preset: str, objective: str, rows: Sequence[Row], limit_s: float | None) -> Group:
    sense = sense_of(next((row for row in rows if row.sense), rows[0]))
    methods = _by_method(rows)
    every = [(method, instance, row) for method, cells in methods.items() for instance, row in cells.items()]
    instances = dict.fromkeys(instance for _, instance, _ in every)
    infeasible = {instance for _, instance, row in every if row.status == TerminationStatus.INFEASIBLE}
    references = {instance: row.reference_kind for _, instance, row in every if row.reference_kind}
    of_kind = {method: _kind(family, method, cells) for method, cells in methods.items()}
    failed = {
        (method, instance)
        for method, instance, row in every
        if has_failed(row, instance in infeasible, of_kind[method])
    }
    figures = _figures(sense, methods, {each for each in failed if of_kind[each[0]] != "bound"})
    ranking = _ranking(figures, of_kind)
    comparisons = _comparisons(figures, ranking[0])
    rated = [{i: row.ratio for i, row in cells.items() if row.ratio is not None} for cells in methods.values()]
    shared = set[Instance].intersection(*[set(each) for each in rated if each]) if any(rated) else set[Instance]()
    uneven = any(each and len(each) > len(shared) for each in rated)
    lines, of_failures = [], set[int]()
    # Means of `shared` are over the same instances for all methods, where not all answered the same ones.
    for (method, cells), ratios in zip(methods.items(), rated, strict=True):
        own = [cells[instance] for instance in cells if (method, instance) in failed]
        of_failures.update(map(id, own))
        unbounded = [row for row in cells.values() if _is_unbounded(sense, row)]
        line = _line(method, list(cells.values()), own, unbounded, limit_s, of_kind[method], comparisons.get(method))
        mean_of_shared = bootstrap_mean([ratio for i, ratio in ratios.items() if i in shared]) if uneven else None
        lines.append(replace(line, shared=mean_of_shared))
    return Group(
        family,
        preset,
        len(instances),
        tuple(lines),
        tuple(rows),
        ranking,
        Counter(references.get(instance, "") for instance in instances),
        len(infeasible),
        tuple(row for row in rows if id(row) in of_failures),
        objective,
        len(shared),
    )


def _by_method(rows: Sequence[Row]) -> dict[str, dict[Instance, Row]]:
    """Rows of every method by instance; several rows for one instance are numbered."""
    methods: dict[str, dict[Instance, Row]] = {}
    for row in rows:
        cells = methods.setdefault(row.method, {})
        instance = instance_of(row)
        number = next(number for number in count(1) if (*instance, number) not in cells)
        cells[(*instance, number)] = row
    return methods


def _kind(family: str, method: str, cells: Cells) -> Kind:
    """Return the kind of a method, as its rows or the family's record have it; else exact if it proved an optimum."""
    named: str = next((row.kind for row in cells.values() if row.kind), "")
    known = FAMILIES[family].methods.get(method) if family in FAMILIES else None
    if not named and known is not None:
        named = known.kind
    elif not named and any(row.status == TerminationStatus.OPTIMAL for row in cells.values()):
        named = "exact"
    return "exact" if named == "exact" else "bound" if named == "bound" else "heuristic"


def _is_unbounded(sense: Sense, row: Row) -> bool:
    """Whether a row's answer is worse than its reference without a finite ratio to it."""
    if row.ratio is not None or row.objective is None or row.reference is None:
        return False
    return sense.better(row.reference, row.objective)


def _figures(
    sense: Sense, methods: Mapping[str, Cells], failed: Collection[tuple[str, Instance]]
) -> dict[str, dict[Instance, float | None]]:
    """Ratios by method and instance; if no cell has one, ratios to the best answer of the methods."""
    tried = {
        method: {i: row for i, row in cells.items() if row.objective is not None or (method, i) in failed}
        for method, cells in methods.items()
    }
    if any(row.ratio is not None for cells in tried.values() for row in cells.values()):
        return {method: {instance: row.ratio for instance, row in cells.items()} for method, cells in tried.items()}
    # Nothing has a reference: the best answer of any method stands in, so that methods can still be ranked.
    best: dict[Instance, float] = {}
    for cells in tried.values():
        for instance, row in cells.items():
            if row.objective is not None and not sense.better(best.get(instance, row.objective), row.objective):
                best[instance] = row.objective
    references = {instance: Reference(objective, "answer", sense) for instance, objective in best.items()}
    return {
        method: {i: verdict(row.objective, references.get(i)).ratio for i, row in cells.items()}
        for method, cells in tried.items()
    }


def _ranking(figures: Mapping[str, Figures], kinds: Mapping[str, Kind]) -> tuple[str, ...]:
    """Rank the methods, best first, as defined at ``Group.ranking``."""
    every = [figure for cells in figures.values() for figure in cells.values() if figure is not None]
    most = max(every, default=1.0)
    reached = {instance for cells in figures.values() for instance, figure in cells.items() if figure is not None}

    def place(method: str) -> tuple[bool, bool, float]:
        cells = figures[method]
        penalised = [most if figure is None else figure for instance, figure in cells.items() if instance in reached]
        answered = any(figure is not None for figure in cells.values())
        return not answered, kinds[method] == "exact", mean(penalised) or 0.0

    return tuple(sorted(figures, key=place))


def _comparisons(figures: Mapping[str, Figures], best: str) -> dict[str, Comparison]:
    """Compare every method with the best one, on instances on which both ran."""
    if all(figure is None for figure in figures[best].values()):
        return {}
    pairs = {}
    for method, cells in figures.items():
        if method != best and cells:
            shared = [instance for instance in cells if instance in figures[best]]
            pairs[method] = ([cells[i] for i in shared], [figures[best][i] for i in shared])
    p_values = holm([signed_rank(*pair) for pair in pairs.values()])
    # Holm's correction is over all comparisons of the group together.
    return {
        method: Comparison(
            **asdict(tally(*pair)), against=best, difference=bootstrap_mean(differences(*pair)), p_value=p_value
        )
        for (method, pair), p_value in zip(pairs.items(), p_values, strict=True)
    }


def _line(
    method: str,
    rows: Sequence[Row],
    failed: Sequence[Row],
    unbounded: Sequence[Row],
    limit_s: float | None,
    kind: Kind,
    comparison: Comparison | None,
) -> Line:
    late = [row for row in rows if row.status in TIMEOUTS]
    rated = [row for row in rows if row.ratio is not None]
    ratios = [row.ratio for row in rated if row.ratio is not None]
    times_s = [row.time_s for row in rows if row.time_s is not None]
    unreached = {id(row) for row in (*failed, *late)}
    last = worst(ratios)
    worst_row = unbounded[0] if unbounded else None if last is None else rated[last[0]]
    return Line(
        method=method,
        cells=len(rows),
        answers=sum(row.objective is not None for row in rows),
        failures=Counter(row.status for row in failed),
        proven=sum(row.status == TerminationStatus.OPTIMAL for row in rows),
        at_optimum=sum(_is_optimum(row) for row in rows),
        mean=bootstrap_mean(ratios),
        median=median(ratios),
        p95=percentile(ratios, 95),
        worst=math.inf if unbounded else None if last is None else last[1],
        worst_instance="" if worst_row is None else worst_row.instance,
        at_most=any(row.at_most and not _is_optimum(row) for row in rated),
        time_s=shifted_geometric_mean(times_s, SHIFT_S),
        par10=par10([None if id(row) in unreached else row.time_s for row in rows], limit_s),
        timeouts=len(late),
        comparison=comparison,
        ratios=len(ratios),
        worst_at_most=worst_row is not None and not unbounded and worst_row.at_most and not _is_optimum(worst_row),
        kind=kind,
        unbounded=len(unbounded),
    )


def _is_optimum(row: Row) -> bool:
    """Whether the row's own method proved the answer, or it meets the optimum or a bound of the instance."""
    if row.objective is None:
        return False
    met = row.ratio is not None and abs(row.ratio - 1) <= MEETING and row.reference_kind in ("optimum", "bound")
    return met or row.status == TerminationStatus.OPTIMAL
