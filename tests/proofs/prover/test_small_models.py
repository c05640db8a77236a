"""Proofs of small models, against enumeration and HiGHS, and as viprchk sees them."""

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from dlsched.core.status import TerminationStatus
from dlsched.proofs.prover.exact_model import ExactModel
from dlsched.proofs.prover.prover import finding_of
from dlsched.proofs.prover.search import TreeSearch
from dlsched.solvers.milp import solve_milp
from proofs.prover.small_models import INF, drawn, enumerated, model_of, searched, written

Accepts = Callable[[Path], bool]


@pytest.mark.parametrize("seed", range(60))
def test_whole_models_are_proven_exactly(seed: int, tmp_path: Path, viprchk: Accepts) -> None:
    """Lower and upper are the optimum by enumeration, or there is no point."""
    model = drawn(np.random.default_rng(seed))
    search, finding = searched(model)
    optimum = enumerated(model)
    assert search.closed
    assert search.upper == optimum
    path = tmp_path / "proof.vipr"
    proven = written(search, finding, path)
    assert finding.infeasible == (optimum is None)
    if optimum is not None and search.exact.step() is not None:
        assert proven == optimum
    elif optimum is not None:
        assert proven is not None
        assert optimum - abs(optimum) / 10**9 <= proven <= optimum
    assert viprchk(path)


@pytest.mark.parametrize("seed", range(60))
def test_mixed_models_are_proven_as_highs_solves_them(seed: int, tmp_path: Path, viprchk: Accepts) -> None:
    """The optimum of HiGHS lies in the range that is proven, up to its tolerance."""
    model = drawn(np.random.default_rng(1000 + seed), real=True)
    search, finding = searched(model)
    outcome = solve_milp(model, isolated=False)
    path = tmp_path / "proof.vipr"
    proven = written(search, finding, path)
    assert search.closed
    assert viprchk(path)
    if outcome.status is TerminationStatus.INFEASIBLE:
        assert finding.infeasible
        return
    assert outcome.objective is not None
    assert proven is not None
    assert search.upper is not None
    assert float(proven) - 1e-6 <= model.sign * outcome.objective <= float(search.upper) + 1e-6
    assert search.upper - proven <= abs(search.upper) / 10**9


@pytest.mark.parametrize("real", [False, True])
def test_cuts_are_derived_in_the_proof(real: bool, tmp_path: Path, viprchk: Accepts) -> None:
    """The range with cuts is that without; every derived row keeps the best point, and viprchk accepts all lines."""
    derived = 0
    for seed in range(40):
        model = drawn(np.random.default_rng(2000 + seed), real=real)
        plain, _ = searched(model)
        search, finding = searched(model, cut=True)
        path = tmp_path / f"{seed}.vipr"
        written(search, finding, path)
        assert search.closed
        assert search.upper == plain.upper
        assert viprchk(path)
        for cut in search.cuts:
            assert search.point is not None
            total = sum(value * search.point[j] for j, value in zip(cut.columns, cut.values, strict=True))
            assert total * 2**search.exact.sides >= cut.side * 2**search.exact.scale
        derived += path.read_text(encoding="ascii").count("\nk")
    assert derived > 0


@pytest.mark.parametrize("nodes", [0, 1, 2, 5])
@pytest.mark.parametrize("seed", range(8))
def test_a_stopped_search_leaves_a_valid_proof(seed: int, nodes: int, tmp_path: Path, viprchk: Accepts) -> None:
    """What it proves holds, and viprchk accepts it."""
    model = drawn(np.random.default_rng(seed))
    search, finding = searched(model, nodes)
    path = tmp_path / "proof.vipr.gz"
    proven = written(search, finding, path)
    optimum = enumerated(model)
    if proven is not None and optimum is not None:
        assert proven <= optimum
    path = tmp_path / "proof.vipr"
    written(search, finding, path)
    assert viprchk(path)


@pytest.mark.parametrize("maximum", [False, True])
def test_a_column_without_bound_is_proven(maximum: bool, tmp_path: Path, viprchk: Accepts) -> None:
    """The largest of three loads, a real variable without upper bound."""
    turn = -1.0 if maximum else 1.0
    loads = [0.1, 0.7, 1 / 3]
    rows = [(0.0, {0: 1.0, 1 + i: -load, 4 + i: -load / 2}, INF) for i, load in enumerate(loads)]
    rows += [(1.0, {1 + i: 1.0, 4 + i: 1.0}, 1.0) for i in range(3)]
    rows += [(-INF, {4: 1.0, 5: 1.0, 6: 1.0}, 1.0)]
    model = model_of([turn] + [0.0] * 6, [(0.0, INF, False)] + [(0.0, 1.0, True)] * 6, rows, maximum=maximum)
    search, finding = searched(model)
    proven = written(search, finding, tmp_path / "proof.vipr")
    assert search.closed
    assert proven is not None
    assert float(proven) == pytest.approx(0.35, rel=1e-8)
    assert viprchk(tmp_path / "proof.vipr")


def test_a_free_column_is_proven(tmp_path: Path, viprchk: Accepts) -> None:
    """A real variable without any bound needs a reduced cost of exactly 0."""
    rows = [(0.0, {0: 0.3, 1: -0.7}, 0.0), (1.5, {1: 1.0, 2: 0.1}, INF)]
    model = model_of([0.1, 0.0, 0.01], [(-INF, INF, False), (0.0, 9.0, True), (0.0, 4.0, True)], rows)
    search, finding = searched(model)
    proven = written(search, finding, tmp_path / "proof.vipr")
    assert search.closed
    assert proven is not None
    assert float(proven) == pytest.approx(0.1 * 0.7 / 0.3 * 2, rel=1e-8)
    assert viprchk(tmp_path / "proof.vipr")


def test_an_unbounded_model_proves_nothing(tmp_path: Path) -> None:
    """The side of the bound stays open."""
    model = model_of([-1.0], [(0.0, INF, True)], [(0.0, {0: 1.0}, INF)])
    search, finding = searched(model, 3)
    assert written(search, finding, tmp_path / "proof.vipr") is None
    assert "RTP range -inf" in (tmp_path / "proof.vipr").read_text(encoding="ascii")


def test_an_objective_that_is_known_to_be_reached_is_proven_without_its_point(tmp_path: Path, viprchk: Accepts) -> None:
    """The largest of 3 x + 2 y where 2 x + 2 y <= 3 is 3; the relaxation says 4, and what is known closes the cases."""
    model = model_of([3.0, 2.0], [(0.0, 1.0, True), (0.0, 1.0, True)], [(-INF, {0: 2.0, 1: 2.0}, 3.0)], maximum=True)
    exact = ExactModel(model)
    search = TreeSearch(exact, lambda upper: upper)
    search.expect(Fraction(-3))
    search.run()
    finding = finding_of(exact, search)
    assert search.closed
    assert not finding.infeasible
    assert finding.lower == -3
    written(search, finding, tmp_path / "proof.vipr")
    assert viprchk(tmp_path / "proof.vipr")


def test_what_is_known_to_be_reached_gives_way_to_a_proof_that_there_is_no_point(
    tmp_path: Path, viprchk: Accepts
) -> None:
    """A start may keep its rules up to tolerances that the model does not have: x >= 1/2 and x <= 1/4."""
    model = model_of([1.0], [(0.0, 1.0, True)], [(0.5, {0: 1.0}, INF), (-INF, {0: 1.0}, 0.25)])
    exact = ExactModel(model)
    search = TreeSearch(exact, lambda upper: upper)
    search.expect(Fraction(1))
    search.run()
    finding = finding_of(exact, search)
    assert search.closed
    assert finding.infeasible
    written(search, finding, tmp_path / "proof.vipr")
    assert viprchk(tmp_path / "proof.vipr")
