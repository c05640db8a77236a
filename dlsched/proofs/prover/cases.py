"""The tree of cases of a proof: each narrows one whole variable, and is closed by multipliers or by two cases of its own."""

from collections.abc import Iterator
from dataclasses import dataclass

from dlsched.proofs.prover.dual_bounds import DualBound, Multipliers, Narrowed
from dlsched.proofs.prover.exact_model import ExactModel
from dlsched.proofs.prover.relaxation import Basis
from dlsched.solvers.linear import Floats


@dataclass(eq=False, slots=True)
class Case:
    """One case; the first, without a parent, narrows nothing.

    Parameters
    ----------
    parent, column, rising, value
        It is the case of ``parent`` in which the variable is at least (``rising``) or at most ``value``.
    bound
        About what its parent's relaxation proves, in scaled costs.
    basis, proof
        The basis to start from; multipliers that prove something of this case, or those of its parent.
    children
        The two cases that it is split into.
    stands_for
        A case further down that proves all of this one, as it needs no assumption in between.
    uses
        The cases above (or this one) whose assumption its proof needs; None: it is open.
    dropped
        Whether a case above is proven without it.
    moved
        How far the variable had to move from where the parent's relaxation had it.
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
        held: dict[tuple[int, bool], Case] = {}
        for case in self.above():
            held.setdefault((case.column, case.rising), case)
        return held

    def bounds(self, lower: Floats, upper: Floats) -> tuple[Floats, Floats]:
        """Return the bounds of all variables in this case, from those of the model."""
        lower, upper = lower.copy(), upper.copy()
        for (column, rising), case in self.assumptions().items():
            (lower if rising else upper)[column] = case.value
        return lower, upper

    def narrowed(self, exact: ExactModel) -> Narrowed:
        """Return the narrowed bounds in whole numbers."""
        held: dict[int, tuple[int | None, int | None]] = {}
        for (column, rising), case in self.assumptions().items():
            low, high = held.get(column, (exact.lower[column], exact.upper[column]))
            number = case.value << exact.sides
            held[column] = (number, high) if rising else (low, number)
        return held

    def needs(self, proven: DualBound) -> frozenset["Case"]:
        """Return the cases whose assumption a bound needs."""
        held = self.assumptions()
        sides = ((j, d > 0) for j, d in proven.reduced.items())
        return frozenset(held[side] for side in sides if side in held)

    def split(self, column: int, below: int, x: float, bound: float, basis: Basis | None) -> "tuple[Case, Case]":
        """Split into x <= below and x >= below + 1; both hold what is proven of this one till they are solved."""
        down, up = (Case(self, column, rising, below + rising, bound, basis, self.proof) for rising in (False, True))
        down.moved, up.moved = x - below, below + 1 - x
        self.children = down, up
        self.basis = None
        return self.children

    def close(self, uses: frozenset["Case"]) -> None:
        """Say that this case is proven, and what follows for those above."""
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
