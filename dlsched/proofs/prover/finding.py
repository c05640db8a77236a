"""What a search has proven, finished or not."""

from dataclasses import dataclass
from fractions import Fraction

from dlsched.proofs.prover.cases import Case
from dlsched.proofs.prover.derivation import Derivation
from dlsched.proofs.prover.dual_bounds import nothing, proven
from dlsched.proofs.prover.exact_model import ExactModel
from dlsched.proofs.prover.search import TreeSearch
from dlsched.proofs.prover.starting import shortened

_ROOM = Fraction(1, 10**9)


@dataclass(frozen=True)
class Finding:
    """The proven bound of the minimum (None: none), or that there is no point."""

    lower: Fraction | None
    infeasible: bool

    def derivation(self, search: TreeSearch) -> Derivation | None:
        """Return the lines that prove it; None: nothing is proven."""
        if self.lower is None and not self.infeasible:
            return None
        return Derivation(search.exact, search.cuts, search.root, self.lower, search.exact.step())


def finding_of(exact: ExactModel, search: TreeSearch) -> Finding:
    """Return what is proven: the target, or of a search that was stopped the least bound of its cases."""
    if search.closed:
        pointless = search.point is None and not any(case.proof and case.proof.costs for case in search.root.leaves())
        return Finding(None if pointless else search.target, pointless)
    least = search.target
    for case in search.root.leaves():
        multipliers = case.proof or nothing()
        found = proven(exact, multipliers, case.narrowed(exact))
        if found is None:
            return Finding(None, False)
        if multipliers.costs and (least is None or found.bound < least):
            least = found.bound
    if least is not None and least != search.target:
        least = shortened(least - _ROOM * (1 + abs(least)), least)
        _fold(exact, search, least)
    return Finding(least, False)


def _fold(exact: ExactModel, search: TreeSearch, least: Fraction) -> None:
    """Leave out what is below cases that prove the bound on their own, as far as it goes."""
    enough = search.closer.scaled(least)
    stack: list[tuple[Case, frozenset[Case]]] = [(search.root.proven_as(), frozenset())]
    while stack:
        case, assumed = stack.pop()
        if case.children is None:
            continue
        if case.proof is not None and case.proof.costs and case.bound >= enough:
            found = proven(exact, case.proof, case.narrowed(exact))
            # the proof of a case that stands for others above has lost the assumptions in between
            if found is not None and found.bound >= least and case.needs(found) <= assumed:
                case.fold()
                continue
        stack += [(child.proven_as(), assumed | {child}) for child in case.children]
