"""Steps of utilities: whole they are the utility, relaxed its concave envelope, and what is too small is named."""

import numpy as np
import pulp
import pytest

from dlsched.algorithms.utility_steps import hidden, steps
from dlsched.algorithms.utility_table import UtilityTable
from dlsched.cluster.utility import Capped, Log, Sigmoid, Sqrt
from dlsched.solvers.milp import solve_milp

KINDS = {"sqrt": Sqrt, "log": Log, "capped": Capped, "sigmoid": Sigmoid}
SOLVED = 1e-6  # relative, of what a solver with tolerances calls optimal


def table(utility, total):
    """Utilities of a kind for 0 .. ``total`` units."""
    kind = KINDS[utility["kind"]](**utility)
    return UtilityTable(kind.values(np.arange(total + 1.0)), kind.error, kind.concave)


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


def test_what_is_too_small_for_a_step_is_hidden():
    """Of 1, 1 + 2**-70 the second gain is none; two units are then 2**-70 above what the steps reach."""
    small = UtilityTable(np.array([0.0, 2.0**-70, 1.0]), 0.0, False)
    assert steps(small) == [(2, 1.0, True, None)]
    assert hidden(small, steps(small)) == 2.0**-70
