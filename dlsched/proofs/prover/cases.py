"""The tree of cases of a proof: each narrows one whole variable, and is closed by multipliers or by two cases of its own.

``Closer`` finds multipliers, rounded to as few bits as suffice, that prove a target or that there is no point.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dlsched.core.limits import Tick
from dlsched.proofs.prover.dual_bounds import (
    BITS,
    DualBound,
    Multipliers,
    Narrowed,
    case_in_rationals,
    nothing,
    other_multipliers,
    proven,
    rounded,
    whole_multipliers,
)
from dlsched.proofs.prover.exact_model import ExactModel
from dlsched.proofs.prover.rational_simplex import RationalOptimum, rational_optimum
from dlsched.proofs.prover.relaxation import Basis, Relaxation, Relaxed
from dlsched.solvers.linear import Floats


@dataclass(eq=False, slots=True)
class Case:
    """One case: that of ``parent`` in which a variable, ``column``, is at least (``rising``) or at most ``value``.

    The first, without a parent, narrows nothing. ``bound``: about what its parent's relaxation proves, in scaled costs;
    ``basis``, ``proof``: the basis to start from; multipliers that prove something of this case, or those of its parent;
    ``children``: the two cases that it is split into; ``stands_for``: a case further down that proves all of this one, as it
    needs no assumption in between; ``uses``: the cases above (or this one) whose assumption its proof needs; None: it is open;
    ``dropped``: whether a case above is proven without it; ``moved``: how far the variable had to move from where the parent's
    relaxation had it.
    """

    parent: "Case | None" = None
    column: int = -1
    rising: bool = False
    value: int = 0
    bound: float = float("-inf")
    basis: Basis | None = None
    proof: Multipliers | None = None
    children: "tuple[Case, Case] | None" = None
    stands_for: "Case | None" = None
    uses: "frozenset[Case] | None" = None
    dropped: bool = False
    moved: float = 0.0

    def above(self) -> "Iterator[Case]":
        """Yield this case and those above that assume something, from here upwards."""
        case: Case | None = self
        while case is not None and case.parent is not None:
            yield case
            case = case.parent

    def assumptions(self) -> dict[tuple[int, bool], "Case"]:
        """Return the case that holds for each narrowed side of a variable: the one nearest to this."""
        nearest: dict[tuple[int, bool], Case] = {}
        for case in self.above():
            nearest.setdefault((case.column, case.rising), case)
        return nearest

    def bounds(self, lower: Floats, upper: Floats) -> tuple[Floats, Floats]:
        """Return the bounds of all variables in this case, from those of the model."""
        lower, upper = lower.copy(), upper.copy()
        for (column, rising), case in self.assumptions().items():
            (lower if rising else upper)[column] = case.value
        return lower, upper

    def narrowed(self, exact: ExactModel) -> Narrowed:
        """Return the narrowed bounds in whole numbers."""
        bounds: dict[int, tuple[int | None, int | None]] = {}
        for (column, rising), case in self.assumptions().items():
            low, high = bounds.get(column, (exact.lower[column], exact.upper[column]))
            number = case.value << exact.sides
            bounds[column] = (number, high) if rising else (low, number)
        return bounds

    def needs(self, proven: DualBound) -> frozenset["Case"]:
        """Return the cases whose assumption a bound needs."""
        assumed = self.assumptions()
        sides = ((j, d > 0) for j, d in proven.reduced.items())
        return frozenset(assumed[side] for side in sides if side in assumed)

    def split(self, column: int, below: int, x: float, bound: float, basis: Basis | None) -> "tuple[Case, Case]":
        """Split into x <= below and x >= below + 1; both have the proof of this one until they are solved."""
        down, up = (Case(self, column, rising, below + rising, bound, basis, self.proof) for rising in (False, True))
        down.moved, up.moved = x - below, below + 1 - x
        self.children = down, up
        self.basis = None
        return self.children

    def close(self, uses: frozenset["Case"]) -> None:
        """Record that this case is proven, and what follows for those above."""
        # a proof that needs no assumption of the case is one of its parent, whose other child is dropped
        case = self
        case.uses = uses
        while (parent := case.parent) is not None:
            if case not in uses:
                parent.stands_for = case
                for child in parent.children or ():
                    if child is not case:
                        child.drop()
            else:
                assert parent.children is not None
                first, second = parent.children
                if first.uses is None or second.uses is None:
                    return
                uses = (first.uses | second.uses) - {first, second}
            case = parent
            case.uses = uses
            case.basis = None

    def fold(self) -> None:
        """Leave out the cases below: multipliers of this one prove enough."""
        for child in self.children or ():
            child.drop()
        self.children = self.stands_for = None

    def drop(self) -> None:
        """Leave out this case and all below."""
        stack = [self]
        while stack:
            case = stack.pop()
            case.dropped = True
            stack += case.children or ()

    def leaves(self) -> "Iterator[Case]":
        """Yield the cases that are proven by multipliers, or open, in the order of the proof."""
        stack = [self]
        while stack:
            case = stack.pop().proven_as()
            if case.children is None:
                yield case
            else:
                stack += reversed(case.children)

    def proven_as(self) -> "Case":
        """Return the case whose proof is that of this one."""
        case = self
        while case.stands_for is not None:
            case = case.stands_for
        return case


_RAY_BITS = 12
"""Rays have multipliers up to 1, those of a bound up to 2**17 or so."""
_HAIR = 1e-10
"""Part of an objective by which floats may be wrong."""
_SHARE = 1e-9
"""Part by which multipliers shrink where an unbounded variable's reduced cost has the wrong sign by a hair."""
_SMALL = 5000
"""Coefficients of a model up to which a case is solved in rationals as soon as floats are at odds with exact numbers."""


class Closer:
    """Finds proofs of cases; the relaxation has the bounds of the case at hand."""

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

    def close_exactly(self, case: Case, optimum: RationalOptimum, target: Fraction | None) -> bool:
        """Close a case as ``close`` does, by an optimum in rationals."""
        if target is None and optimum.point is not None:
            return False
        multipliers = whole_multipliers(self.relaxation.rows.tolist(), optimum)
        return multipliers is not None and self._accept(case, multipliers, target or Fraction(0))

    def others(self) -> Iterator[Relaxed]:
        """Yield another solver's answer to the case at hand."""
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
        # the fewest bits whose multipliers suffice in floats, then exactly, make the shortest proof
        for candidate in (y, y * (1 - _SHARE)) if costs else (y,):
            for bits in BITS:
                multipliers = rounded(candidate, bits if costs else bits + _RAY_BITS, power, costs=costs)
                foreseen = self.relaxation.float_bound(self._floats(multipliers), costs=costs)
                if foreseen >= least - hair and self._accept(case, multipliers, target):
                    return True
        return False

    def _accept(self, case: Case, multipliers: Multipliers, target: Fraction) -> bool:
        """Close the case if the multipliers prove the target, exactly."""
        bound = proven(self.exact, multipliers, case.narrowed(self.exact))
        if bound is None or not enough(bound, multipliers, target):
            return False
        case.proof = multipliers
        case.close(case.needs(bound))
        return True


def enough(bound: DualBound, multipliers: Multipliers, target: Fraction) -> bool:
    """Whether a bound reaches the target, or a ray shows a contradiction."""
    return bound.bound >= target if multipliers.costs else bound.value > 0
