"""Rows of a study: one for each cell, with ratio and gap of its answer to the reference of its instance."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Literal

from dlsched.core.files import Json
from dlsched.core.status import Sense
from dlsched.core.verdict import Known, Reference, ReferenceKind, reference_of, verdict


@dataclass(frozen=True, slots=True)
class Row:
    """The result of one cell.

    Parameters
    ----------
    key
        Hash of all that decides the outcome of the cell.
    instance, family
        Name of the instance, and its family.
    source, preset, jobs, gpus, seed
        ``generate``, a file, or the window of a trace; the instance's preset and seed (empty and None for files), and size.
    method
        Label of the method in the plan.
    status
        A status of dlsched's results, or ``timeout``, ``memory``, ``killed``, ``error``, ``rejected``.
    objective, bound
        In the unit of the family; None if there is none.
    reference, reference_kind
        The denominator of the ratio, and its kind: a proven ``optimum``, a ``bound`` (the true ratio is at most the
        one given), or the ``answer`` of the plan's reference method; None and empty without a reference.
    ratio, gap
        Of the answer to the reference, None without either; a ratio above 1 is worse, for both senses.
    time_s, cpu_s, memory_mib
        Wall-clock and processor seconds of the cell, and its peak of resident memory; None where it died.
    message
        Reason why there is no answer, or a remark.
    figures
        Further figures of the answer, by name.
    instance_id
        Number that identifies the instance, even among instances of the same name; not exported.
    kind
        ``exact``, ``heuristic`` (also all users' methods) or ``bound``; empty if unknown. Not exported.
    sense
        Of the instance's objective; empty: unknown, use the family's. Not exported.
    objective_name
        Of the instance, if its family has several objectives, whose figures must not be mixed; else empty.
    arguments
        With which the generator, function or search made the instance; none for files. Not exported.
    """

    key: str
    instance: str
    family: str
    source: str
    preset: str
    jobs: int | None
    gpus: int | None
    seed: int | None
    method: str
    status: str
    objective: float | None = None
    bound: float | None = None
    reference: float | None = None
    reference_kind: ReferenceKind = ""
    ratio: float | None = None
    gap: float | None = None
    time_s: float | None = None
    cpu_s: float | None = None
    memory_mib: float | None = None
    message: str = ""
    figures: Mapping[str, float] = field(default_factory=dict)
    instance_id: int = 0
    kind: str = ""
    sense: str = ""
    objective_name: str = ""
    arguments: Mapping[str, Json] = field(default_factory=dict)

    @property
    def at_most(self) -> bool:
        """Whether the ratio is to a bound, so that the true one is at most this."""
        return self.reference_kind == "bound"

    def as_data(self) -> dict[str, object]:
        """Return the exported columns."""
        return {column.name: column.of(self) for column in EXPORTED}


@dataclass(frozen=True, slots=True)
class RowColumn:
    """A column of exports and of tables of rows: its name, and how its value is read from a row (None: none).

    ``kind`` is the type in Parquet; tables right-align numbers. ``heading`` and ``form`` (for ``format``) are those of tables in
    reports; none has a column without heading. ``derived``: it follows from other columns, so every table has it, at the end.
    """

    name: str
    of: Callable[[Row], object]
    kind: Literal["text", "integer", "number"] = "text"
    heading: str = ""
    form: str = ""
    derived: bool = True

    def text(self, row: Row) -> str:
        """Write the value of a row for tables; a dash for none."""
        value = self.of(row)
        return "-" if value is None else format(value, self.form)


def _field(
    name: str, kind: Literal["text", "integer", "number"] = "text", heading: str = "", form: str = ""
) -> RowColumn:
    """Make the column of a field of rows."""
    return RowColumn(name, attrgetter(name), kind, heading, form, derived=False)


EXPORTED = (
    _field("key"),
    _field("instance", heading="instance"),
    _field("family"),
    _field("source"),
    _field("preset", heading="preset"),
    _field("jobs", "integer"),
    _field("gpus", "integer"),
    _field("seed", "integer"),
    _field("method", heading="method"),
    _field("status", heading="status"),
    _field("objective", "number", "objective", ".10g"),
    _field("bound", "number"),
    _field("reference", "number"),
    _field("reference_kind"),
    _field("ratio", "number", "ratio"),
    _field("gap", "number"),
    _field("time_s", "number", "time, s"),
    _field("cpu_s", "number"),
    _field("memory_mib", "number"),
    _field("message"),
    _field("objective_name"),
)
"""The exported columns in their fixed order; new columns are added at the end."""
COLUMNS = tuple(column.name for column in EXPORTED)
"""Their names."""


def table_columns(*names: str) -> list[RowColumn]:
    """Return the columns of a table of rows: the named ones, and the derived ones that have a heading."""
    own = {column.name: column for column in EXPORTED}
    return [own[name] for name in names] + [column for column in EXPORTED if column.derived and column.heading]


def against_reference(rows: Sequence[Row], sense: Sense, known: Known, reference: str | None = None) -> list[Row]:
    """Fill in reference, ratio and gap of the rows of one instance.

    The reference is the proven optimum, else the best bound, of any row or of the instance's file; where the plan names a method,
    that method's optimum, else its bound; for a heuristic, its answer.
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
    """Leave out the rows of a reference method that only gives answers to compare with: their ratio would always be 1."""
    kinds = {row.reference_kind for row in rows if row.method == reference}
    return [row for row in rows if row.method != reference or kinds != {"answer"}] or list(rows)
