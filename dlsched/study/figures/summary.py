"""Summary of a study: computes groups by family, preset and objective, a line of figures for each method."""

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import count

from dlsched.core.gap import MEETING
from dlsched.core.status import Sense, TerminationStatus
from dlsched.core.verdict import Reference, verdict
from dlsched.families import FAMILIES
from dlsched.statistics.inference import bootstrap_mean, differences, holm, signed_rank, tally
from dlsched.statistics.samples import mean, median, par10, percentile, shifted_geometric_mean, worst
from dlsched.study.figures.groups import (
    Comparison,
    Group,
    Instance,
    Kind,
    Line,
    by_objective,
    has_failed,
    instance_of,
    part_of,
    sense_of,
)
from dlsched.study.figures.sentence import sentence
from dlsched.study.rows import Row

__all__ = ["SHIFT_S", "Comparison", "Group", "Line", "sentence", "summarise"]

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
