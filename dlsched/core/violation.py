"""A broken rule of a solution: which constraint, where, by how much."""

from dataclasses import dataclass

from dlsched.core.messages import printable


@dataclass(frozen=True, slots=True)
class Violation:
    """One violated constraint.

    Parameters
    ----------
    rule
        Name of the constraint, as in the mathematics and in the model's rows, e.g. ``capacity``.
    where
        The job, server, slot ... that it concerns; empty for a single global constraint.
    amount
        By how much it is violated, in the constraint's unit; None where a number makes no sense.
    message
        One readable sentence.
    """

    rule: str
    where: str = ""
    amount: float | None = None
    message: str = ""

    def __str__(self) -> str:
        place = f"[{printable(self.where)}]" if self.where else ""
        return f"{self.rule}{place}: {self.message}"
