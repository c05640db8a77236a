"""Linear programs of all magnitudes, against optima by hand."""

import numpy as np
import pytest

from dlsched.core.budget import Stopped
from dlsched.core.errors import SolverError
from dlsched.core.status import TerminationStatus
from dlsched.solvers.lp import linear_program


@pytest.mark.parametrize("cost", [1e-14, 1e-6, 1.0, 1e12])
@pytest.mark.parametrize("size", [1e-12, 1.0, 1e11])
def test_magnitudes(cost, size):
    """Minimise 3 x + 2 y, x + y >= 4, x >= 1 (a row), y <= 2: x = 2, y = 2, 10 in all, in whatever units."""
    answer = linear_program(
        [3 * cost, 2 * cost],
        a_ub=[[-1.0, -1.0], [-1e9, 0.0]],
        b_ub=[-4 * size, -1e9 * size],
        bounds=[(0.0, np.inf), (0.0, 2 * size)],
    )
    assert answer.x == pytest.approx([2 * size, 2 * size], rel=1e-12)
    assert answer.objective == pytest.approx(10 * cost * size, rel=1e-12)
    assert answer.upper == pytest.approx([-3 * cost, 0.0], rel=1e-12)


def test_equalities():
    """Minimise x + 5 y, 2**40 x + 2**40 y = 3 * 2**40, x <= 1: x = 1, y = 2; a unit more of the row costs 5 / 2**40."""
    answer = linear_program([1.0, 5.0], a_eq=[[2.0**40, 2.0**40]], b_eq=[3 * 2.0**40], bounds=[(0, 1), (0, 9)])
    assert answer.x.tolist() == [1.0, 2.0]
    assert answer.equal.tolist() == [5 / 2**40]


@pytest.mark.parametrize("isolated", [False, True])
def test_infeasible_is_an_error(isolated):
    """Who calls it knows that there is an optimum."""
    with pytest.raises(SolverError, match="found no optimum of a linear program"):
        linear_program([1.0], a_ub=[[-1.0]], b_ub=[-2.0], bounds=(0.0, 1.0), isolated=isolated)


def test_no_time():
    """A dense program of 400 x 400 takes longer than nothing."""
    matrix = np.random.default_rng(1).random((400, 400))
    with pytest.raises(Stopped) as stopped:
        linear_program(-np.ones(400), a_ub=matrix, b_ub=np.ones(400), time_s=0.0)
    assert stopped.value.status is TerminationStatus.TIME_LIMIT
