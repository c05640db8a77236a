"""The rows of a study: one a cell, with what its answer is against the reference of its instance."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Literal

from dlsched.core.files import Json
from dlsched.core.verdict import ReferenceKind


@dataclass(frozen=True, slots=True)
class Row:
    """What came of one cell.

    Parameters
    ----------
    key
        Hash of all that decides the outcome.
    instance, family
        Name of the instance, and its family.
    source, preset, jobs, gpus, seed
        Where it is from: ``generate``, a file, or the window of a trace; with what it was generated. ``preset`` is empty and
        ``seed`` None for files.
    method
        Label of the method in the plan.
    status
        A status of dlsched's results, or ``timeout``, ``memory``, ``killed``, ``error``, ``rejected``.
    objective, bound
        In the unit of the family; None without.
    reference, reference_kind
        The denominator of the ratio, and what it is: a proven ``optimum``, a ``bound`` (the ratio is at most what stands
        there), or the ``answer`` of the method that the plan calls the reference; None and empty without.
    ratio, gap
        To the reference, both senses: a ratio above 1 is worse. None without an answer or a reference.
    time_s, cpu_s, memory_mib
        Wall-clock seconds and processor seconds of the cell, and its peak of resident memory in MiB; None where it died.
    message
        Why it has no answer; or a remark.
    figures
        Further figures of the answer, by name.
    instance_id
        Tells its instance from others of the same name; no column of exports.
    kind
        What its method is, whatever its label: ``exact``, ``heuristic`` (all that is not dlsched's own) or ``bound``; empty
        where that is not known. No column of exports.
    sense
        Of the objective of its instance; empty where it is not known: the family's. No column of exports.
    objective_name
        What the objective of its instance is called, where the family has several: figures of two are not to be put
        together. Empty where it has one, or where the instance was not made.
    arguments
        What its instance was made with, by name: of the generator, the function or the search; none of files. No column of
        exports.
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
        """Whether the ratio rests on a bound: the true one is at most this."""
        return self.reference_kind == "bound"

    def as_data(self) -> dict[str, object]:
        """The columns of every export."""
        return {column.name: column.of(self) for column in EXPORTED}


@dataclass(frozen=True, slots=True)
class RowColumn:
    """A column of every export, and of the tables of reports that show rows.

    Parameters
    ----------
    name
        In exports.
    of
        What a row says there; None: nothing.
    kind
        ``text``, ``integer`` (of 64 bits) or ``number``: its type in Parquet, and numbers stand to the right in tables.
    heading
        Over it in tables of reports; empty: it stands in none.
    form
        How its values are written there, as ``format`` takes it.
    derived
        Whether it follows from the others: then every table of rows of reports has it, behind its own columns.
    """

    name: str
    of: Callable[[Row], object]
    kind: Literal["text", "integer", "number"] = "text"
    heading: str = ""
    form: str = ""
    derived: bool = True

    def text(self, row: Row) -> str:
        """What a row says, as tables write it; a dash for nothing."""
        value = self.of(row)
        return "-" if value is None else format(value, self.form)


def _field(
    name: str, kind: Literal["text", "integer", "number"] = "text", heading: str = "", form: str = ""
) -> RowColumn:
    """Column of a field of rows."""
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
"""The columns in their order, which is pinned: a new one is the last."""
COLUMNS = tuple(column.name for column in EXPORTED)
"""Their names."""


def table_columns(*names: str) -> list[RowColumn]:
    """Columns of a table of rows: those of its own, and the derived ones that have a heading."""
    own = {column.name: column for column in EXPORTED}
    return [own[name] for name in names] + [column for column in EXPORTED if column.derived and column.heading]
