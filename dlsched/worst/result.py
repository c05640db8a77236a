"""``Worst``: what a search for the worst instance of a method has found."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from dlsched.core.instance import InstanceFile, Known
from dlsched.core.verdict import ReferenceKind
from dlsched.version import VERSION
from dlsched.worst.judging import Failure

if TYPE_CHECKING:
    from dlsched.worst.proving import Proven

Ended = Literal["budget", "limit", "interrupted"]


@dataclass(frozen=True, kw_only=True)
class Worst:
    """The worst instance that a search has found.

    Parameters
    ----------
    family, method
        Whose instance, and what does badly on it.
    ratio, found
        Of the instance, and before it was shrunk; None: without bound.
    objective, reference, reference_kind
        The method's objective (None: no answer), what it is held against, and what that is: where it is a ``bound``, the ratio
        is at most what is said.
    evaluations, seed
        Evaluated instances, shrinking too; and the seed of the search.
    instance
        Its source says command and ratio.
    ended
        The budget is used up (or nothing more would help), the time limit was reached, or Ctrl-C.
    command
        What finds it again.
    space, wider
        For people: which instances were searched, and the options that open the space further.
    failures
        Instances on which the method raised an error or broke a rule, its guarantee or a proof: one for each message.
    proof
        Of how bad it can be at all, where that was asked for: of the largest of the suprema.
    proofs
        One for every number of jobs that the search may end with.
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
    proof: "Proven | None" = None
    proofs: "tuple[Proven, ...]" = ()

    @property
    def ratio_text(self) -> str:
        """The ratio for people: with ``<=`` where a bound stands in."""
        if self.ratio is None:
            return "without bound"
        return f"{'<= ' if self.reference_kind == 'bound' else ''}{self.ratio:.6g}"

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
    """Return an instance with command and ratio as its source, and with its optimum where that is proven."""
    proof = f"{reference}, dlsched {VERSION}"
    known = Known(optimum=worst.reference, proof=proof) if worst.reference_kind == "optimum" else None
    source = f"{worst.command}: {worst.method} {worst.ratio_text}"
    return instance.model_copy(update={"source": source, "known": known})


def finite(ratio: float) -> float | None:
    """Return a ratio as results hold it: None where it is without bound."""
    return None if math.isinf(ratio) else ratio
