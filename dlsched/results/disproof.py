"""``disproof``: what shows that an instance's file calls something known that is not so."""

from typing import TYPE_CHECKING, TypeAlias

from dlsched.core.gap import meets
from dlsched.core.instance import InstanceFile
from dlsched.core.result import Result, Solution

if TYPE_CHECKING:
    from dlsched.proofs.proof import Proof

Answer: TypeAlias = "Result[Solution] | Proof"
"""What states an objective and a bound."""


def disproof(instance: InstanceFile, result: Answer) -> str | None:
    """Return a sentence when a result or a proof disproves what the instance's file calls known."""
    if instance.known is None:
        return None
    answer, bound = instance.known.answer(result.sense), instance.known.bound(result.sense)
    for better, worse, words in (
        (result.objective, bound, f"a solution of {result.objective!r} is held"),
        (answer, result.bound, f"the bound {result.bound!r} is proven"),
    ):
        if better is None or worse is None or meets(better, worse, result.constant):
            continue
        if result.sense.better(better, worse):
            known = f"{answer!r}" if answer == bound else f"{bound!r} to {answer!r}"
            return f"{instance.name}: the file calls {known} known, but {words}"
    return None
