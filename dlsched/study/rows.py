"""The rows of a study: one a cell, with what its answer is against the reference of its instance."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from dlsched.core.files import Json
from dlsched.core.verdict import ReferenceKind

COLUMNS = (
    "key",
    "instance",
    "family",
    "source",
    "preset",
    "jobs",
    "gpus",
    "seed",
    "method",
    "status",
    "objective",
    "bound",
    "reference",
    "reference_kind",
    "ratio",
    "gap",
    "time_s",
    "cpu_s",
    "memory_mib",
    "message",
    "objective_name",
)
"""Names of the columns of every export, in this order."""


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
        return {name: getattr(self, name) for name in COLUMNS}
