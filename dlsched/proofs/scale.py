"""From objectives of a model to those of its instance, and what of them a proof has to reach."""

from dataclasses import dataclass
from fractions import Fraction

from dlsched.core.status import Sense
from dlsched.core.tolerance import FEASIBLE
from dlsched.proofs.prover.derivation import Derivation
from dlsched.proofs.prover.starting import shortened
from dlsched.solvers.parametric import bound_of_all

MEETING = Fraction(1, 10**9)
"""Part of the instance's objective within which the two sides of a proof meet."""


@dataclass(frozen=True)
class Scale:
    """How objectives of the model, as a minimum and without its constant, become those of the instance.

    ``shift``: the part of the instance's objective that no solution changes, which relative gaps leave out.
    ``limit``: as formulations have it.
    """

    sign: int
    unit: Fraction
    constant: Fraction
    shift: Fraction
    limit: float | None = None

    @property
    def sense(self) -> Sense:
        """Whether the instance's objective is minimised or maximised."""
        return Sense.MINIMIZE if self.sign > 0 else Sense.MAXIMIZE

    def of(self, value: Fraction) -> Fraction:
        """Return the instance's objective."""
        return self.unit * self.sign * value + self.constant

    def bound(self, derivation: Derivation | None, *, infeasible: bool = False) -> Fraction | None:
        """Return the bound that is proven of all solutions; None: none."""
        proven = None if derivation is None or infeasible else derivation.proven
        return bound_of_all(None if proven is None else self.of(proven), self.limit, self.sense, infeasible=infeasible)

    def met(self, derivation: Derivation | None, upper: Fraction | None) -> bool:
        """Whether the two sides meet, exactly as the checker judges it."""
        bound = self.bound(derivation)
        if bound is None or upper is None:
            return False
        sides = bound, self.of(upper)
        return abs(sides[0] - sides[1]) <= Fraction(FEASIBLE) * max(abs(side - self.shift) for side in sides)

    def target(self, upper: Fraction, gap: float, step: Fraction | None) -> Fraction:
        """Return what has to be proven for a point of that objective."""
        room = max(MEETING, Fraction(gap)) * abs(self.of(upper) - self.shift) / self.unit
        target = shortened(upper - room * 9 / 10, upper - room / 2) if room else upper
        if step is not None:
            target = min(target, shortened(upper - step * Fraction(999, 1000), upper - step * Fraction(99, 100)))
        return target
