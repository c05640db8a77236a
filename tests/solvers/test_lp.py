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


def test_rows_are_kept_by_their_own_measure():
    """Three times: z at most w; y below lines that saturate at .5, the flattest of slope 1e-14. So w >= z >= 1, y = .5 almost.

    With costs and rows brought to a common magnitude, w = 0 beside z = 1 was within HiGHS' tolerance.
    """
    slopes = [0.49966464986953363, 3.352375953042941e-4, 1.124974107202803e-7, 3.77387e-11, 1.26565e-14, 0.0]
    rights = [0.0, 0.49932941227422933, 0.4999996624700165, 0.49999999984903254, 0.4999999999999367, 0.5]
    rows, right = [[1.0] * 3 + [0.0] * 6], [6.0]
    for job in range(3):
        rows.append([0.0] * 9)
        rows[-1][job], rows[-1][3 + job] = -1.0, 1.0
        right.append(0.0)
    for job in range(3):
        for slope, most in zip(slopes, rights, strict=True):
            rows.append([0.0] * 9)
            rows[-1][3 + job], rows[-1][6 + job] = -slope, 1.0
            right.append(most)
    bounds = [(0.0, 6.0)] * 6 + [(-np.inf, 0.5)] * 3
    answer = linear_program([0.0] * 6 + [-1.0] * 3, a_ub=rows, b_ub=right, bounds=bounds)
    assert (np.array(rows) @ answer.x - right).max() <= 1e-6
    assert answer.objective == pytest.approx(-1.5, abs=1e-6)


def test_bounds_beyond_what_highs_takes_for_infinite():
    """Maximise t, t <= x <= 4, and z <= 2**-80: in that unit x <= 2**82, which HiGHS takes for no bound."""
    rows, right = [[-1.0, 1.0, 0.0], [0.0, 0.0, 1.0]], [0.0, 2.0**-80]
    answer = linear_program(
        [0.0, -1.0, 0.0], a_ub=rows, b_ub=right, bounds=[(0.0, 4.0), (-np.inf, np.inf), (0.0, 2.0**-70)]
    )
    assert (answer.x[:2].tolist(), answer.objective) == ([4.0, 4.0], -4.0)


@pytest.mark.parametrize("status", [2, 3, 4])
@pytest.mark.parametrize("failures", [1, 5, 11, 23])
def test_whatever_is_no_optimum_is_asked_again(monkeypatch, status, failures):
    """Infeasible, unbounded, or a status that SciPy does not know: the other ways come before an error, 24 in all."""
    import scipy.optimize

    plain, asked = scipy.optimize.linprog, []

    def failing(*arguments, **options):
        asked.append((options["method"], options["options"]))
        answer = plain(*arguments, **options)
        if len(asked) <= failures:
            answer.status, answer.message = status, "The HiGHS status code was not recognized."
        return answer

    monkeypatch.setattr(scipy.optimize, "linprog", failing)
    answer = linear_program([-1.0, -2.0], a_ub=[[1.0, 1.0]], b_ub=[3.0], bounds=(0.0, 2.0))
    assert answer.objective == pytest.approx(-5.0, rel=1e-9)
    assert len(asked) == failures + 1
    assert len({str(each) for each in asked[:6]}) == min(6, len(asked))  # no way is tried twice in one scaling
    asked.clear()
    failures = 24
    with pytest.raises(SolverError, match="was not recognized"):
        linear_program([-1.0, -2.0], a_ub=[[1.0, 1.0]], b_ub=[3.0], bounds=(0.0, 2.0))


def test_right_hand_sides_that_rounding_left_of_nothing():
    """Two totals of up to 2 and 4 worth .0076537 and .2173125 each, .00625 to pay for the second: .025 - .0153074 - .86925."""
    slope, steps = -0.00765370820011591, [-0.2173125, -0.2173125000000001, -0.21731249999999985, -0.2173124999999999]
    rows = [
        [-1, 0, 1, 0, 0, 0],
        [0, -1, 0, 1, 0, 0],
        [0, 0, slope, 0, 1, 0],
        *([0, 0, 0, step, 0, 1] for step in steps),
    ]
    noise = [0.0, 0.0, 0.0, 0.0, -1.1102230246251565e-16, 3.3306690738754696e-16, 2.220446049250313e-16]
    bounds = [(0, 2), (0, 4), (0, 2), (0, 4), (-np.inf, (0.01530741640023182)), (-np.inf, (0.8692499999999999))]
    rows, noise = [[0] * 6, *rows], [0.0, *noise]
    answer = linear_program([0, 0.00625, 0, 0, -1, -1], a_ub=rows, b_ub=noise, bounds=bounds)
    assert answer.objective == pytest.approx(0.025 - 0.0153074164 - 0.86925, rel=1e-9)
