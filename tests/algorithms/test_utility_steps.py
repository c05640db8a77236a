"""Steps of utilities: whole they are the utility, relaxed its concave envelope, and what is too small is named."""

import itertools

import numpy as np
import pulp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from dlsched.algorithms.utility_steps import hidden, steps
from dlsched.algorithms.utility_table import UtilityTable
from dlsched.cluster.utility import Capped, Log, Sigmoid, Sqrt
from dlsched.solvers.milp import solve_milp

KINDS = {"sqrt": Sqrt, "log": Log, "capped": Capped, "sigmoid": Sigmoid}
SOLVED = 1e-6  # relative, of what a solver with tolerances calls optimal


def table(utility, total):
    """Utilities of a kind for 0 .. ``total`` units."""
    kind = KINDS[utility["kind"]](**utility)
    return UtilityTable(kind.values(np.arange(total + 1.0)), kind.error(1.0), kind.concave)


@pytest.mark.parametrize(
    ("utility", "total"),
    [
        ({"kind": "sqrt", "scale": 2.0}, 9),
        ({"kind": "log", "scale": 3.0}, 9),
        ({"kind": "capped", "slope": 1.0, "cap": 4.5}, 9),
        ({"kind": "sigmoid", "height": 5.0, "steepness": 1.0, "midpoint": 0.0}, 9),
        ({"kind": "sigmoid", "height": 5.0, "steepness": 1.0, "midpoint": 4.0}, 9),
        ({"kind": "sigmoid", "height": 5.0, "steepness": 0.7, "midpoint": 30.0}, 9),
        ({"kind": "sigmoid", "height": 5.0, "steepness": 2000.0, "midpoint": 4.3}, 9),
        ({"kind": "sigmoid", "height": 5.0, "steepness": 2000.0, "midpoint": 4.0}, 9),
        ({"kind": "sigmoid", "height": 5.0, "steepness": 60.0, "midpoint": 4.3}, 9),
        ({"kind": "sigmoid", "height": 5.0, "steepness": 2000.0, "midpoint": 30.0}, 9),
        ({"kind": "sqrt", "scale": 2.0}, 0),
    ],
)
def test_steps_are_the_utility_and_their_relaxation_its_envelope(utility, total):
    """The best whole g of every z, and the best of all g: the best line over z between two points of the utility."""
    utilities = table(utility, total)
    found = steps(utilities)
    values = utilities.values.tolist()
    for z in range(total + 1):
        problem = pulp.LpProblem("steps", pulp.LpMaximize)
        g = [pulp.LpVariable(f"g{k:02}", 0, 1, pulp.LpInteger if step.binary else None) for k, step in enumerate(found)]
        problem += pulp.lpSum(step.gain * each for step, each in zip(found, g, strict=True)) + values[0]
        problem += pulp.lpSum(step.width * each for step, each in zip(found, g, strict=True)) <= z
        for step, each in zip(found, g, strict=True):
            if step.after is not None:
                problem += each <= g[step.after]
        assert solve_milp(problem, isolated=False).objective == pytest.approx(values[z], rel=1e-9, abs=SOLVED)
        for each in g:
            each.cat = pulp.LpContinuous
        lines = [
            values[a] + (values[b] - values[a]) * (z - a) / (b - a) for a in range(z) for b in range(z + 1, total + 1)
        ]
        assert solve_milp(problem, isolated=False).objective == pytest.approx(
            max([values[z], *lines]), rel=1e-9, abs=SOLVED
        )


def test_a_jump_is_one_wide_step():
    """A sigmoid that is 0 up to 4 worker-slots and its height from 5 on."""
    utilities = table({"kind": "sigmoid", "height": 5.0, "steepness": 2000.0, "midpoint": 4.3}, 9)
    assert steps(utilities) == [(5, 5.0, True, None)]


def test_a_run_needs_all_of_the_run_before():
    """Gains 1, 1, 1, 5, 5: four of five units have no way around the third one."""
    found = steps(UtilityTable(np.array([0.0, 1.0, 2.0, 3.0, 8.0, 13.0]), 0.0, False))
    assert [(step.binary, step.after) for step in found] == [
        (True, None),
        (False, 0),
        (False, 1),
        (True, 2),
        (False, 3),
    ]


def test_what_is_too_small_for_a_step_is_hidden():
    """Of 1, 1 + 2**-70 the second gain is none; two units are then 2**-70 above what the steps reach."""
    small = UtilityTable(np.array([0.0, 2.0**-70, 1.0]), 0.0, False)
    assert steps(small) == [(2, 1.0, True, None)]
    assert hidden(small, steps(small)) == 2.0**-70


def test_no_step_of_a_run_is_left_out():
    """Gains of 3, 2, 1 and 5: three units are worth 6, not the 3 + 1 + 5 of the last step and two before it."""
    found = steps(UtilityTable(np.cumsum([0.0, 3.0, 2.0, 1.0, 5.0]), 0.0, False))
    assert found == [(1, 3.0, True, None), (1, 2.0, False, 0), (1, 1.0, False, 1), (1, 5.0, True, 2)]
    assert max(gain for width, gain in whole(found) if width <= 3) == 6


RISES = st.one_of(st.sampled_from([0.0, 1.0, 2.0, 2.0, 5.0]), st.floats(1e-3, 10.0))
tables = st.lists(RISES, max_size=8).map(lambda rises: UtilityTable(np.cumsum([1.5, *rises]), 0.0, False))


def profile(examples):
    """Deterministic, without a clock."""
    return settings(max_examples=examples, derandomize=True, deadline=None, database=None)


def whole(found):
    """Widths and gains of all whole g in which every step has the one that it needs."""
    for g in itertools.product((0, 1), repeat=len(found)):
        if all(step.after is None or taken <= g[step.after] for step, taken in zip(found, g, strict=True)):
            chosen = list(itertools.compress(found, g))
            yield sum(step.width for step in chosen), sum(step.gain for step in chosen)


@profile(120)
@given(tables)
def test_whole_steps_of_any_table_are_the_utility(utilities):
    """Plateaus, rises after them, anything that does not fall: the best of all whole g for every z."""
    found, values = steps(utilities), utilities.values
    ways = list(whole(found))
    for z in range(len(values)):
        best = max(gain for width, gain in ways if width <= z)
        assert values[0] + best == pytest.approx(values[z], rel=1e-12)
    assert hidden(utilities, found) <= 1e-12 * values[-1]


@profile(120)
@given(tables)
def test_what_is_not_binary_needs_none(utilities):
    """What may be a fraction is one unit wide, and gains no more than the step before; all but the first need another."""
    found = steps(utilities)
    for number, step in enumerate(found):
        if not step.binary:
            assert step.width == 1
            assert step.gain <= found[number - 1].gain * (1 + 1e-8)
            assert step.after < number
        assert step.gain > 0 and (step.after is None) == (number == 0)


@profile(50)
@given(tables)
def test_relaxed_steps_are_not_below_the_envelope(utilities):
    """As the bound of a linear program needs it; and they meet it where the utility is concave."""
    found, values = steps(utilities), utilities.values
    if not found:
        return
    rows = [[step.width for step in found]]
    for number, step in enumerate(found):
        if step.after is not None:
            rows.append([float(k == number) - float(k == step.after) for k in range(len(found))])
    for z in range(len(values)):
        relaxed = linprog([-step.gain for step in found], rows, [z, *[0.0] * (len(rows) - 1)], bounds=(0, 1))
        assert values[0] - relaxed.fun >= utilities.envelope[z] - SOLVED
