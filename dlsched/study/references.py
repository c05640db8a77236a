"""Rows of one instance against its reference: the best that is proven of it, or what the plan says."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from dlsched.core.gap import gap, meets, ratio
from dlsched.core.status import Sense
from dlsched.study.rows import ReferenceKind, Row


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of an instance without the study: the constant of its objectives, and what its file calls proven."""

    constant: float = 0.0
    optimum: float | None = None
    bound: float | None = None


def against_reference(rows: Sequence[Row], sense: Sense, known: Known, reference: str | None = None) -> list[Row]:
    """Fill in reference, ratio and gap of the rows of one instance.

    The reference is the optimum where one is proven: by a row whose status says so, by an answer that meets the best bound,
    or by the instance's file. Else it is the best bound of any row or of the file. Where the plan names a method it is what
    that method proved: its optimum, else its bound; of a heuristic, its answer.
    """
    if reference is not None:
        rows_of_reference = [row for row in rows if row.method == reference]
        value, kind = _named(rows_of_reference, sense, known.constant)
    else:
        value, kind = _best(rows, sense, known)
    return [_filled(row, value, kind, sense, known.constant) for row in rows]


def _best(rows: Sequence[Row], sense: Sense, known: Known) -> tuple[float | None, ReferenceKind]:
    optima = [row.objective for row in rows if row.status == "optimal" and row.objective is not None]
    if optima or known.optimum is not None:
        return (optima[0] if optima else known.optimum), "optimum"
    bounds = [bound for bound in (*(row.bound for row in rows), known.bound) if bound is not None]
    if not bounds:
        return None, ""
    bound = max(bounds) if sense is Sense.MINIMIZE else min(bounds)
    for row in rows:
        if row.objective is not None and meets(row.objective, bound, known.constant):
            return row.objective, "optimum"
    return bound, "bound"


def _named(rows: Sequence[Row], sense: Sense, constant: float) -> tuple[float | None, ReferenceKind]:
    for row in rows:
        if row.status == "optimal":
            return row.objective, "optimum"
        if row.bound is not None:
            met = row.objective is not None and meets(row.objective, row.bound, constant)
            return row.bound, "optimum" if met else "bound"
        if row.objective is not None:
            return row.objective, "answer"
    return None, ""


def _filled(row: Row, value: float | None, kind: ReferenceKind, sense: Sense, constant: float) -> Row:
    if value is None:
        return row
    if row.objective is None:
        return replace(row, reference=value, reference_kind=kind)
    better = sense.better(row.objective, value)
    rounded = better and meets(row.objective, value, constant)
    message = row.message
    if better and kind != "answer" and not rounded:
        said = f"its objective {row.objective!r} contradicts the proven {value!r}"
        message = f"{message}; {said}" if message else said
    return replace(
        row,
        reference=value,
        reference_kind=kind,
        ratio=1.0 if rounded else ratio(row.objective, value, sense, constant),
        gap=0.0 if rounded else gap(row.objective, value, constant),
        message=message,
    )
