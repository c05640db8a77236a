"""Settings of proofs: a method, the numbers of jobs and GPUs, the counts offered, and the class of tables.

====================  =====================================================================================
code                  mathematics
====================  =====================================================================================
``counts``            1 = n_0 < n_1 < ..., the counts offered that fit beside one GPU for every other job
``tables``            class of the tables of costs c_j(n) >= 0, see ``TABLES``
``targets(n)``        the counts to which one step of the method may lead from n
====================  =====================================================================================

Counts that do not fit beside one GPU for every other job are never used. Leaving them out of a table keeps
it in its class, and a table without them, extended by its last cost, is in the class again.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from dlsched.core.errors import UsageError

TABLES = {
    "any": "any costs",
    "monotone": "costs that do not rise with the count",
    "sublinear": "monotone, and count times cost does not fall: no speed beyond linear",
    "convex": "sublinear, and the saving per added unit does not rise",
}
OFFERED = ("powers", "all")
OWN = ", one of your own, which cannot be proven yet"
"""What is said of a user's method that a proof is asked of."""
METHODS = {"ring_allocation": ("doubling", "marginal", "hull"), "async_sgd": ("marginal",)}
NONE = 0
"""Target of a job that no further step improves."""


@dataclass(frozen=True)
class Setting:
    """The question how bad a method is at worst on tables of a class.

    Parameters
    ----------
    family, method
        The method's family and its name.
    jobs, gpus
        Number of jobs, and number of GPUs that they share.
    tables
        One of ``TABLES``.
    offered
        ``powers`` of two, or ``all`` counts.

    Raises
    ------
    UsageError
        A name is unknown, or there are fewer than 1 job or fewer GPUs than jobs.
    """

    family: str
    method: str
    jobs: int
    gpus: int
    tables: str
    offered: str

    def __post_init__(self) -> None:
        _among("family", self.family, METHODS)
        _among("method", self.method, METHODS[self.family])
        _among("tables", self.tables, TABLES)
        _among("counts", self.offered, OFFERED)
        if self.family == "async_sgd" and (self.tables, self.offered) != ("convex", "all"):
            raise UsageError(
                where="async_sgd: its times are convex in the nodes", found="other tables", allowed="convex, all"
            )
        if self.jobs < 1 or self.gpus < self.jobs:
            raise UsageError(where="jobs and gpus", found=f"{self.jobs} and {self.gpus}", allowed="1 <= jobs <= gpus")

    @cached_property
    def counts(self) -> tuple[int, ...]:
        """The counts offered that can fit, ascending."""
        return self.up_to(self.gpus - self.jobs + 1)

    @cached_property
    def held(self) -> tuple[int, ...]:
        """The counts that the method may hold on its way."""
        return _powers(self.counts[-1]) if self.method == "doubling" else self.counts

    def up_to(self, most: int) -> tuple[int, ...]:
        """Return the counts offered that are at most ``most``."""
        return tuple(range(1, most + 1)) if self.offered == "all" else _powers(most)

    @property
    def assumed(self) -> str:
        """The class of tables that suffices for the proof.

        ``hull`` sees the same vertices, and the optimum is the same, when every cost becomes the least up to its count.
        """
        return "monotone" if self.method == "hull" and self.tables == "any" else self.tables

    @property
    def falling(self) -> bool:
        """Whether costs do not rise with the count."""
        return self.assumed != "any"

    @property
    def leaps(self) -> bool:
        """Whether a step may pass over counts: on ``convex`` tables all counts that save lie on the hull."""
        return self.method == "hull" and self.tables != "convex"

    def targets(self, count: int) -> tuple[int, ...]:
        """Return the counts to which a step may lead: any larger one if steps leap, else the next one held."""
        later = self.held[self.held.index(count) + 1 :]
        return later if self.leaps else later[:1]

    def sources(self, count: int) -> tuple[int, ...]:
        """Return the counts from which a step may lead to ``count``."""
        earlier = self.held[: self.held.index(count)]
        return earlier if self.leaps else earlier[-1:]


def _powers(most: int) -> tuple[int, ...]:
    return tuple(2**k for k in range(most.bit_length()))


def _among(field: str, found: str, allowed: Iterable[str]) -> None:
    names = tuple(allowed)
    if found not in names:
        raise UsageError(where=field, found=repr(found) + OWN * (":" in found), allowed=", ".join(names))
