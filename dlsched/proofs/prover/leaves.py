"""Closes cases: finds multipliers, rounded to as few bits as do, that prove a target or that there is no point."""

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from dlsched.core.budget import Tick
from dlsched.proofs.prover.cases import Case
from dlsched.proofs.prover.dual_bounds import BITS, DualBound, Multipliers, nothing, proven, rounded
from dlsched.proofs.prover.exact_model import ExactModel
from dlsched.proofs.prover.rational_simplex import RationalOptimum, rational_optimum
from dlsched.proofs.prover.refinement import case_in_rationals, other_multipliers, whole_multipliers
from dlsched.proofs.prover.relaxation import Relaxation, Relaxed
from dlsched.solvers.linear import Floats

_RAY_BITS = 12
"""Rays have multipliers up to 1, those of a bound up to 2**17 or so."""
_HAIR = 1e-10
"""Part of an objective by which floats may be wrong."""
_SHARE = 1e-9
"""Part by which multipliers shrink where an unbounded variable's reduced cost has the wrong sign by a hair."""
_SMALL = 5000
"""Coefficients of a model up to which a case is solved in rationals as soon as floats are at odds with exact numbers."""


class Closer:
    """Finds proofs of cases.

    Parameters
    ----------
    exact, relaxation
        The model in whole numbers, and its relaxation with the bounds of the case at hand.
    """

    def __init__(self, exact: ExactModel, relaxation: Relaxation) -> None:
        self.exact, self.relaxation = exact, relaxation

    def close(self, case: Case, answer: Relaxed | None, target: Fraction | None) -> bool:
        """Close a case if multipliers of an answer prove that its objective is the target or more; say whether.

        ``target``: None where no solution is known, so that only cases without a point can be closed.
        """
        if answer is None:
            return False
        if answer.objective == math.inf:
            return self._try(case, answer.y, Fraction(0), costs=False)
        if target is None or answer.objective < self.scaled(target) * (1 - 1e-11) - 1e-7:
            return False
        return self._try(case, answer.y, target, costs=True)

    def insist(self, case: Case, answer: Relaxed | None, target: Fraction | None) -> bool:
        """Do the same by another solver, where floats have a proof within their tolerance."""
        least = math.inf if target is None else self.scaled(target)
        if answer is not None and answer.objective < min(least - _HAIR * abs(answer.objective), math.inf):
            return False
        return any(self.close(case, other, target) for other in self.others())

    @property
    def small(self) -> bool:
        """Whether rationals are of use for every case that floats do not close."""
        return len(self.exact.model.columns) <= _SMALL

    def in_rationals(self, case: Case, tick: Tick) -> RationalOptimum | None:
        """Solve the case at hand without rounding; None: that takes too long."""
        rows = self.relaxation.rows.tolist()
        program = case_in_rationals(self.exact, rows, case.narrowed(self.exact))
        return rational_optimum(program, self.relaxation.basis, tick)

    def close_exactly(self, case: Case, found: RationalOptimum, target: Fraction | None) -> bool:
        """Close a case as ``close`` does, by what was found in rationals."""
        if target is None and found.point is not None:
            return False
        multipliers = whole_multipliers(self.relaxation.rows.tolist(), found)
        return multipliers is not None and self._accept(case, multipliers, target or Fraction(0))

    def others(self) -> Iterator[Relaxed]:
        """Yield what another solver says of the case at hand."""
        return other_multipliers(self.relaxation)

    def scaled(self, target: Fraction) -> float:
        """Return a target in scaled costs."""
        return math.ldexp(float(target), -self.relaxation.power)

    def anything(self, case: Case, answer: Relaxed) -> Multipliers:
        """Return multipliers that prove about the answer's objective, for a case that stays open; else no multipliers."""
        for bits in (20, 36):
            for y in (answer.y, answer.y * (1 - _SHARE)):
                multipliers = rounded(y, bits, self.relaxation.power)
                if self.relaxation.float_bound(self._floats(multipliers)) >= answer.objective - 1e-6 * abs(
                    answer.objective
                ):
                    return multipliers
        return case.proof or nothing()

    def _floats(self, multipliers: Multipliers) -> Floats:
        y = np.zeros(len(self.relaxation.row_lower))
        power = self.relaxation.power if multipliers.costs else 0
        shift = multipliers.unit.bit_length() - 1 + power
        y[multipliers.rows] = np.ldexp(np.array(multipliers.values, dtype=np.float64), -shift)
        return y

    def _try(self, case: Case, y: Floats, target: Fraction, *, costs: bool) -> bool:
        power = self.relaxation.power if costs else 0
        least = self.scaled(target) if costs else 0.0
        hair = 1e-9 * abs(least)
        ways = (y, y * (1 - _SHARE)) if costs else (y,)
        for way in ways:
            for bits in BITS:
                multipliers = rounded(way, bits if costs else bits + _RAY_BITS, power, costs=costs)
                foreseen = self.relaxation.float_bound(self._floats(multipliers), costs=costs)
                if foreseen >= least - hair and self._accept(case, multipliers, target):
                    return True
        return False

    def _accept(self, case: Case, multipliers: Multipliers, target: Fraction) -> bool:
        """Close the case if the multipliers prove the target, exactly."""
        found = proven(self.exact, multipliers, case.narrowed(self.exact))
        if found is None or not enough(found, multipliers, target):
            return False
        case.proof = multipliers
        case.close(case.needs(found))
        return True


def enough(found: DualBound, multipliers: Multipliers, target: Fraction) -> bool:
    """Whether a bound reaches the target, or a ray shows a contradiction."""
    return found.bound >= target if multipliers.costs else found.value > 0
