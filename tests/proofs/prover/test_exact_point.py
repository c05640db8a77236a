"""Exact points of answers in floats."""

from fractions import Fraction

import numpy as np
import pytest

from dlsched.proofs.prover.exact_model import ExactModel
from dlsched.proofs.prover.exact_point import exact_point
from proofs.prover.small_models import INF, model_of, searched

HAIR = 6e-11


def test_a_basis_that_misses_a_row_by_a_hair() -> None:
    """With the whole variable at 1: 16 u - y = 1, z >= u, and z + 16 u - y >= 17/16 less a hair, which floats mistake for z >= u.

    The least z is 1/16, with y = 0.
    """
    model = model_of(
        [16.0, 0.0, 0.0, 0.0],
        [(0.0, 1.0, False), (0.0, 1.0, False), (0.0, 1.0, False), (0.0, 1.0, True)],
        [
            (1.0, {1: 16.0, 2: -1.0}, 1.0),
            (0.0, {0: 1.0, 1: -1.0}, INF),
            (1.0625 - HAIR, {0: 1.0, 1: 16.0, 2: -1.0}, INF),
            (-INF, {1: 1.0, 3: -1.0}, 0.0),
        ],
    )
    point = exact_point(ExactModel(model), np.array([0.0625, 0.0625, 0.0, 1.0]))
    assert point == (Fraction(1, 16), Fraction(1, 16), 0, 1)


def test_whole_numbers_without_a_point() -> None:
    """Rows x + y = 1 and x - y = 1/3 with x <= 1/2 have none; both rows have two variables."""
    model = model_of(
        [1.0, 1.0, 0.0],
        [(0.0, 0.5, False), (0.0, 1.0, False), (0.0, 1.0, True)],
        [(1.0, {0: 1.0, 1: 1.0}, 1.0), (1 / 3, {0: 1.0, 1: -1.0}, 1 / 3)],
    )
    assert exact_point(ExactModel(model), np.array([0.5, 0.5, 0.0])) is None


@pytest.mark.parametrize("least", [1e-12, 1e-23, 2.0**-200])
def test_an_optimum_far_below_the_other_costs(least: float) -> None:
    """The larger of ``least`` x and y, one of which is chosen: floats see 0, and the proof is exact."""
    model = model_of(
        [1.0, 0.0, 0.0],
        [(0.0, INF, False), (0.0, 1.0, True), (0.0, 1.0, True)],
        [(1.0, {1: 1.0, 2: 1.0}, 1.0), (0.0, {0: 1.0, 1: -least, 2: -1.0}, INF)],
    )
    search, finding = searched(model)
    assert search.closed
    assert search.upper == Fraction(least)
    assert finding.lower is not None
    assert Fraction(least) * (1 - Fraction(1, 10**8)) <= finding.lower <= Fraction(least)
