"""Cases that are left out of a proof, since one above proves as much, by assumptions that the proof still makes."""

import io
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from dlsched.proofs.checker import Words, check_derivation
from dlsched.proofs.prover.cases import Case
from dlsched.proofs.prover.dual_bounds import Multipliers, nothing
from dlsched.proofs.prover.exact_model import ExactModel
from dlsched.proofs.prover.prover import finding_of
from dlsched.proofs.prover.search import TreeSearch

from .small_models import INF, model_of, written

Accepts = Callable[[Path], bool]
X, C, D = 0, 1, 2


def row_times(numerator: int, unit: int) -> Multipliers:
    """The only row, so often."""
    return Multipliers(np.array([0], dtype=np.int32), [numerator], unit)


def stopped(holds: bool) -> TreeSearch:
    """A search for the least x - c where 3 x - c >= 2, stopped with one case of d open: there the bound is -1/4.

    In the other case of d, c was split: where c <= 0 the objective is at least 0, and both cases of x below it prove this
    without c <= 0. So that assumption is in the proof no more (unless ``holds``, where the proof below needs it).
    """
    model = model_of(
        [1.0, -1.0, 0.0], [(0.0, 3.0, True), (0.0, 1.0, True), (0.0, 1.0, True)], [(2.0, {X: 3.0, C: -1.0}, INF)]
    )
    search = TreeSearch(ExactModel(model), lambda upper: upper, (Fraction(1), Fraction(1), Fraction(0)))
    first, second = search.root.split(D, 0, 0.5, -INF, None)
    second.proof = row_times(1, 4)
    low, high = first.split(C, 0, 0.5, 0.0, None)
    high.proof = row_times(1, 4)
    low.bound, low.proof = search.closer.scaled(Fraction(0)), nothing()
    least, most = low.split(X, 1, 1.5, 0.0, None)
    least.proof, most.proof = row_times(1, 1), nothing()
    least.close(frozenset({least, low} if holds else {least}))
    most.close(frozenset({most, first}))
    return search


@pytest.mark.parametrize("holds", [False, True])
def test_a_case_is_folded_by_assumptions_that_are_still_made(holds: bool, tmp_path: Path, viprchk: Accepts) -> None:
    """Both checkers accept what is written, and the bound is -1/4, as added up by hand; where it may, a case is folded."""
    search = stopped(holds)
    finding, path = finding_of(search.exact, search), tmp_path / "proof.vipr"
    proven = written(search, finding, path)
    assert finding.lower is not None
    assert Fraction(-1, 4) - Fraction(1, 10**8) <= finding.lower <= Fraction(-1, 4)
    assert proven == 0  # rounded up, as all is whole
    text = path.read_bytes()
    found = check_derivation(Words(io.BytesIO(text)), search.exact.model)
    assert found.lower == proven
    assert viprchk(path)
    [first, _] = search.root.children or ()
    assert (first.proven_as() is first) == holds
    assert (low_of(first).children is None) == holds


def low_of(first: Case) -> Case:
    """The case of c <= 0."""
    assert first.children is not None
    return first.children[0]
