"""``Worst``, the result of a search for the worst instance of a method."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from dlsched.core.display import lines, table
from dlsched.core.instance import InstanceFile, Known
from dlsched.core.messages import cut, printable, several
from dlsched.core.quantities import number
from dlsched.core.verdict import ReferenceKind
from dlsched.version import VERSION
from dlsched.worst.judging import Failure

if TYPE_CHECKING:
    from dlsched.worst.competitive.proven import Supremum
    from dlsched.worst.proving import Proven

Ended = Literal["budget", "limit", "interrupted"]
LONGEST = 200
"""Characters of a fact that is shown."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Worst:
    """The worst instance that a search has found.

    Parameters
    ----------
    family, method
        Family of the instance, and the method that does badly on it.
    ratio, found
        Ratio of the instance, and the ratio before it was shrunk; None: unbounded.
    objective, reference, reference_kind
        The method's objective (None: no answer), the value that it is compared with, and the kind of this
        value: if it is a ``bound``, the true ratio is at most the one stated.
    evaluations, seed
        Number of instances evaluated, including those of shrinking, and the seed of the search.
    instance
        The worst instance; its source names command and ratio.
    ended
        Why the search ended: budget used up (or nothing more to gain), time limit, or Ctrl-C.
    command
        The command that finds the instance again.
    space, wider
        Descriptions for people: which instances were searched, and the options that widen the space.
    failures
        Instances on which the method raised an error, or broke a rule, its guarantee or a proof: one per
        message.
    proof
        If asked for, the proof of how bad the method can be on any instance: the one with the largest
        supremum.
    proofs
        Proofs, one for every number of jobs that the search may end with.
    """

    family: str
    method: str
    ratio: float | None
    found: float | None
    objective: float | None
    reference: float
    reference_kind: ReferenceKind
    evaluations: int
    seed: int
    instance: InstanceFile
    ended: Ended
    command: str
    space: str = ""
    wider: tuple[str, ...] = ()
    failures: tuple[Failure, ...] = ()
    proof: "Proven | Supremum | None" = None
    proofs: "tuple[Proven, ...] | tuple[Supremum, ...]" = ()

    @property
    def ratio_text(self) -> str:
        """The ratio as text for people: with ``<=`` if a bound replaces the optimum."""
        if self.ratio is None:
            return "without bound"
        return f"{'<= ' if self.reference_kind == 'bound' else ''}{self.ratio:.6g}"

    def __repr__(self) -> str:
        """Return a few lines: how bad, against what, and the command that finds it again."""
        return lines(self._summary())

    def _repr_html_(self) -> str:
        """Return the same as a table, for notebooks."""
        return table(self._summary())

    def _summary(self) -> dict[str, str]:
        """The facts that a person wants to know first."""
        objective = "no answer" if self.objective is None else f"objective {number(self.objective)}"
        judged = {"optimum": "optimum", "bound": "bound", "answer": "reference"}[self.reference_kind]
        how = {"budget": "", "limit": ", ended by the limit", "interrupted": ", interrupted"}[self.ended]
        said = {
            "Worst": printable(cut(f"{self.method} on {self.family}: ratio {self.ratio_text}", LONGEST)),
            "of": f"{objective}, {judged} {number(self.reference)}",
            "instance": f"{printable(self.instance.name)}, {several(len(self.instance.as_data()['jobs']), 'job')}",
            "search": f"{several(self.evaluations, 'evaluation')}, seed {self.seed}{how}",
            "again": printable(self.command),
        }
        if self.failures:
            said["failures"] = f"{len(self.failures)}, the first: {printable(cut(self.failures[0].message, LONGEST))}"
        return said

    def as_data(self) -> dict[str, object]:
        """Return it as ``dlsched worst --json`` prints it."""
        return {
            "family": self.family,
            "method": self.method,
            "ratio": self.ratio,
            "reference_kind": self.reference_kind,
            "evaluations": self.evaluations,
            "seed": self.seed,
            "proven": None if self.proof is None or self.proof.supremum is None else str(self.proof.supremum),
            "instance": self.instance.as_data(),
            "found": self.found,
            "objective": self.objective,
            "reference": self.reference,
            "ended": self.ended,
            "command": self.command,
            "space": self.space,
            "wider": list(self.wider),
            "failures": [{"message": each.message, "instance": each.instance.as_data()} for each in self.failures],
            **(
                {}
                if self.proof is None
                else {"proof": self.proof.as_data(), "suprema": [each.brief() for each in self.proofs]}
            ),
        }


def said_of(worst: Worst, instance: InstanceFile, reference: str) -> InstanceFile:
    """Return an instance with command and ratio as its source, and with its optimum if that is proven."""
    proof = f"{reference}, dlsched {VERSION}"
    known = Known(optimum=worst.reference, proof=proof) if worst.reference_kind == "optimum" else None
    source = f"{worst.command}: {worst.method} {worst.ratio_text}"
    return instance.model_copy(update={"source": source, "known": known})


def finite(ratio: float) -> float | None:
    """Return a ratio as results hold it: None if it is unbounded."""
    return None if math.isinf(ratio) else ratio
