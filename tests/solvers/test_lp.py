"""Linear programs of all magnitudes, against optima by hand."""

from fractions import Fraction

import numpy as np
import pulp
import pytest

from dlsched.catalogue.solvers import SOLVERS, able
from dlsched.core.errors import SolverError
from dlsched.core.limits import Stopped
from dlsched.core.status import Sense, TerminationStatus
from dlsched.matching_placement import generate, solve
from dlsched.solvers.linear import LinearModel, from_pulp
from dlsched.solvers.lp import linear_program, proven_by, relaxed_bound
from dlsched.solvers.milp import solve_milp


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


def knapsack(sense=pulp.LpMaximize):
    """Three items of 6, 5, 4 for weights 4, 3, 2 within 5 of them: relaxed 4 + 5 = 9, whole 9 too; with 4 of them 4 + 10/3."""
    problem = pulp.LpProblem("m", sense)
    x = [pulp.LpVariable(f"x{index}", 0, 1, pulp.LpInteger) for index in range(3)]
    sign = 1 if sense == pulp.LpMaximize else -1
    problem.setObjective(pulp.lpSum(sign * value * each for value, each in zip((6, 5, 4), x, strict=True)) + 7.5)
    problem += 4 * x[0] + 3 * x[1] + 2 * x[2] <= 4, "weight"
    return problem


def drawn(seed):
    """A model of all kinds of rows, of wild numbers, some columns without an upper bound."""
    rng = np.random.default_rng(seed)
    rows, columns = int(rng.integers(1, 7)), int(rng.integers(1, 9))
    matrix = rng.choice([0.0, 1.0, -1.0, 2**-3, 2**-20, 2**20], (rows, columns)) * rng.integers(1, 10, (rows, columns))
    point = rng.integers(0, 3, columns).astype(float)
    activity = matrix @ point  # exact
    kind = rng.integers(0, 4, rows)
    low = np.where(kind == 0, -np.inf, np.where(kind == 1, activity, activity - rng.random(rows)))
    high = np.where(kind == 1, activity, np.where(kind == 2, np.inf, activity + rng.random(rows)))
    costs = rng.choice([0.0, 1.0, -1.0, 1e-3, 1e5], columns) * rng.uniform(0.5, 2, columns)
    sense = Sense.MINIMIZE if rng.random() < 0.5 else Sense.MAXIMIZE
    open_ended = rng.random(columns) < 0.2
    coefficients = matrix[matrix != 0]
    model = LinearModel(
        sense=sense,
        names=[f"x{index}" for index in range(columns)],
        costs=costs,
        constant=float(rng.choice([0.0, 1e4])),
        lower=np.zeros(columns),
        upper=np.where(open_ended, np.inf, 3.0),
        integer=np.ones(columns, dtype=bool),
        row_names=[f"r{index}" for index in range(rows)],
        row_starts=np.concatenate([[0], np.cumsum((matrix != 0).sum(axis=1))]),
        columns=np.nonzero(matrix)[1],
        coefficients=coefficients,
        row_lower=low,
        row_upper=high,
    )
    return model, point


def exactly(model, multipliers):
    """What multipliers prove of a minimum, in rational numbers; None: nothing."""
    sign = int(model.sign)
    costs = [sign * Fraction(cost) for cost in model.costs.tolist()]
    total = Fraction(0)
    for index, y in enumerate(map(Fraction, multipliers.tolist())):
        end = model.row_lower[index] if y > 0 else model.row_upper[index]
        if y == 0:
            continue
        if np.isinf(end):
            return None
        total += y * Fraction(float(end))
        for column, value in zip(*model.row(index), strict=True):
            costs[column] -= y * Fraction(value)
    for reduced, low, high in zip(costs, model.lower.tolist(), model.upper.tolist(), strict=True):
        end = low if reduced > 0 else high
        if reduced != 0 and np.isinf(end):
            return None
        total += reduced * Fraction(end) if reduced != 0 else 0
    return sign * total + Fraction(model.constant)


def test_a_relaxation_by_hand():
    """The two lightest by value: 4 for 2 of the weight, then two thirds of 5; the constant counts once, in both senses."""
    best = 4 + 2 / 3 * 5
    assert relaxed_bound(from_pulp(knapsack())) == pytest.approx(best + 7.5, rel=1e-12)
    assert relaxed_bound(from_pulp(knapsack())) >= Fraction(22, 3) + Fraction(15, 2)
    assert relaxed_bound(from_pulp(knapsack(pulp.LpMinimize))) == pytest.approx(7.5 - best, rel=1e-12)
    assert relaxed_bound(from_pulp(knapsack(pulp.LpMinimize))) <= Fraction(15, 2) - Fraction(22, 3)


@pytest.mark.parametrize("block", range(4))
def test_relaxations_of_wild_models_are_bounds(block):
    """Never better than a point of the model, by no rounding; HiGHS' own multipliers or any others."""
    proven = 0
    for seed in range(100 * block, 100 * (block + 1)):
        model, point = drawn(seed)
        value = sum(Fraction(c) * int(x) for c, x in zip(model.costs.tolist(), point.tolist(), strict=True))
        activity = model.matrix() @ point
        assert (activity <= model.row_upper).all() and (activity >= model.row_lower).all()
        rng = np.random.default_rng(seed)
        for multipliers in (None, rng.normal(size=len(model.row_names)) * 10.0 ** rng.integers(-6, 6)):
            bound = relaxed_bound(model) if multipliers is None else proven_by(model, multipliers)
            if bound is None:
                continue
            proven += multipliers is None
            assert model.sign * (value + Fraction(model.constant) - Fraction(bound)) >= 0
            if multipliers is not None and (known := exactly(model, multipliers)) is not None:
                assert model.sign * (known - Fraction(bound)) >= 0  # never more than the multipliers prove
                size = 1e-9 * (np.abs(multipliers).sum() * 1e8 + 1e6)
                assert abs(float(known) - bound) <= size
    assert proven >= 50


def test_a_column_without_an_end():
    """Minimise r, r >= .1 + .2 in floats by a row: its reduced cost is 0 but for rounding, and still something is proven."""
    problem = pulp.LpProblem("m", pulp.LpMinimize)
    r, x = pulp.LpVariable("r", 0), pulp.LpVariable("x", 0, 1, pulp.LpInteger)
    problem += r + 0 * x
    problem += 3 * r - x >= 0.9, "row"
    bound = relaxed_bound(from_pulp(problem))
    assert 0.3 * (1 - 1e-9) <= bound <= 0.3


def test_no_multipliers_prove_nothing_of_what_falls_for_ever():
    """Minimise -x, x >= 0 without end."""
    problem = pulp.LpProblem("m", pulp.LpMinimize)
    x, y = pulp.LpVariable("x", 0), pulp.LpVariable("y", 0, 1)
    problem += -1 * x + y
    problem += x + y >= 1, "row"
    assert relaxed_bound(from_pulp(problem)) is None
    assert proven_by(from_pulp(problem), np.array([0.5])) is None


@pytest.mark.parametrize("solver", able("milp"))
def test_the_first_bound_is_heard_before_a_solver_searches(solver):
    """Of the knapsack it is at most the relaxation's, 4 + 10/3, and at least the optimum, 6; none when nobody listens."""
    heard = []
    outcome = solve_milp(knapsack(), solver=solver, bounded=heard.append, isolated=False)
    assert outcome.status is TerminationStatus.OPTIMAL and outcome.bound == pytest.approx(13.5, rel=1e-6)
    if not SOLVERS[solver].tells_bounds:  # others may solve it before they solve a relaxation
        assert heard[0].bound == pytest.approx(4 + 10 / 3 + 7.5, rel=1e-9)
        assert heard[0].solver.startswith("HiGHS")
    assert all(each.bound >= 13.5 * (1 - 1e-9) for each in heard)


class Ended(KeyboardInterrupt):
    """Ctrl-C at a moment of the test's choice."""


@pytest.mark.parametrize("solver", ["highs", "cbc", "scip"])
def test_ctrl_c_leaves_the_bound_of_the_relaxation(solver):
    """A model whose root takes long: stopped as soon as a solver's bound is known, the result holds one near the relaxation's.

    SCIP and CBC say 13,014.97 of the relaxation; SCIP knows another one before.
    """

    def stop(progress):
        if progress.bound is not None and progress.bound > 13_000.0:
            raise Ended

    instance = generate(seed=5, jobs=14, gpus=40)
    result = solve(instance, method="assignment", solver=solver, progress=stop)
    assert result.status is TerminationStatus.INTERRUPTED
    assert 13_000.0 < result.bound < 15_000.0
    assert result.bound_source.startswith({"cbc": "HiGHS", "scip": "SCIP", "highs": "HiGHS"}[solver])
    if solver != "scip":
        assert result.bound == pytest.approx(13_014.97346, abs=1e-3)
