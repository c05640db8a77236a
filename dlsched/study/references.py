"""References of instances: fills in reference, ratio and gap of the rows of one instance."""

from collections.abc import Sequence
from dataclasses import replace

from dlsched.core.status import Sense
from dlsched.core.verdict import Known, Reference, reference_of, verdict
from dlsched.study.rows import Row


def against_reference(rows: Sequence[Row], sense: Sense, known: Known, reference: str | None = None) -> list[Row]:
    """Fill in reference, ratio and gap of the rows of one instance.

    The reference is the proven optimum, if there is one: from a row with status optimal, an answer that
    meets the best bound, or the instance's file. Otherwise it is the best bound of any row or of the file.
    If the plan names a method, the reference is that method's optimum, else its bound; for a heuristic, its
    answer.
    """
    named = None if reference is None else [row for row in rows if row.method == reference]
    found = reference_of(rows, sense, known, named=named)
    return [_filled(row, found) for row in rows]


def _filled(row: Row, reference: Reference | None) -> Row:
    found = verdict(row.objective, reference)
    message = row.message
    if found.contradicts is not None:
        said = f"its objective {row.objective!r} contradicts the proven {found.contradicts!r}"
        message = f"{message}; {said}" if message else said
    return replace(
        row,
        reference=found.reference,
        reference_kind=found.kind,
        ratio=found.ratio,
        gap=found.gap,
        message=message,
    )


def without_reference(rows: Sequence[Row], reference: str | None) -> list[Row]:
    """Leave out the rows of the plan's reference method, if it only gives answers to compare with.

    Its ratio would always be 1. If it proved anything, it keeps all its rows.
    """
    kinds = {row.reference_kind for row in rows if row.method == reference}
    return [row for row in rows if row.method != reference or kinds != {"answer"}] or list(rows)
