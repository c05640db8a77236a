"""Utilities of 0, 1, 2 ... units: envelopes, steps, stretches, quotas, and the price of a pool."""

import itertools
import random
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from dlsched.algorithms.utility_tables import Quotas, UtilityTable, hidden, hull, steps, stretches, tangents, upper_hull
from dlsched.cluster.utility import Sigmoid


@given(st.dictionaries(st.integers(1, 50), st.integers(-3, 40), min_size=1))
def test_it_is_the_least_concave_function_above(values: dict[int, int]) -> None:
    points = sorted(values.items())
    corners = upper_hull(points)
    assert set(corners) <= set(points)
    whole = [(0, 0), *corners]
    slopes = [(y1 - y0) / (x1 - x0) for (x0, y0), (x1, y1) in pairwise(whole)]
    assert all(slope > 0 for slope in slopes)
    assert all(first > second for first, second in pairwise(slopes))
    xs, ys = zip(*whole, strict=True)
    assert all(y <= np.interp(x, xs, ys) + 1e-9 for x, y in points)


@pytest.mark.parametrize("seed", range(6))
def test_lines_above_a_stretch(seed):
    """Stretches cover 0 .. Z without overlap; the lines of each are above what is gained, and touch it at the ends."""
    rng = np.random.default_rng(seed)
    steps = np.sort(rng.choice([0.0, 0.0, 1.0, rng.random(), 50.0], size=40))
    values = np.cumsum(np.concatenate((steps[::2], steps[1::2][::-1])))  # ever faster, then ever slower
    table = UtilityTable(values, 0.0, False)
    gains = values - values[0]
    unit = float(gains[-1])
    found = stretches(table, unit)
    assert [z for low, high in found for z in range(low, high + 1)] == list(range(40))
    for low, high in found:
        lines = tangents(table, low, high, unit)
        for z in range(low, high + 1):
            least = min(offset + slope * z for offset, slope in lines)
            assert least >= gains[z] * (1 - 1e-12) - 1e-12
            if z in (low, high):
                assert least == pytest.approx(gains[z], abs=1e-8 * unit)


def test_hull_by_hand():
    """Points below a line between others, and those on it, are no corners."""
    assert hull(np.array([0.0, 0.0, 3.0, 3.5, 4.0, 4.0])).tolist() == [0, 2, 4, 5]
    assert hull(np.array([1.0])).tolist() == [0]
    assert hull(np.array([1.0, 1.0, 1.0])).tolist() == [0, 2]


def profile(examples):
    """Deterministic, without a clock."""
    return settings(max_examples=examples, derandomize=True, deadline=None, database=None)


whole_tables = st.lists(st.sampled_from([0, 0, 1, 2, 3, 7, 20]), max_size=14).map(
    lambda rises: np.cumsum([5.0, *rises])
)
any_tables = st.lists(st.one_of(st.just(0.0), st.floats(0.0, 1e3), st.sampled_from([1e-12, 1e6])), max_size=14).map(
    lambda rises: np.cumsum([2.0, *rises])
)


def above(values, z, left, right):
    """The line from one unit to another, there."""
    return values[left] + (values[right] - values[left]) * (z - left) / (right - left)


@profile(150)
@given(whole_tables)
def test_corners_are_where_no_line_is_above(values):
    """Of any utility that does not fall, whole so that lines are exact: the ends, and what all lines are below, or on."""
    last = len(values) - 1

    def room(z):
        pairs = [(a, b) for a in range(z) for b in range(z + 1, last + 1)]
        return min((values[z] - values[a]) * (b - a) - (values[b] - values[a]) * (z - a) for a, b in pairs)

    corners = hull(values).tolist()
    assert corners == sorted(set(corners)) and {0, last} <= set(corners)
    for z in range(1, last):
        assert room(z) <= 0 if z not in corners else room(z) >= 0


@profile(150)
@given(st.one_of(whole_tables, any_tables))
def test_the_envelope_is_the_best_line(values):
    """Of any utility that does not fall: the largest of all lines over a unit between others, and of itself."""
    table = UtilityTable(values, 0.0, False)
    last = len(values) - 1
    for z in range(last + 1):
        lines = [above(values, z, a, b) for a in range(z) for b in range(z + 1, last + 1)]
        assert table.envelope[z] == pytest.approx(max([values[z], *lines]), rel=0, abs=1e-12 * values[-1])


@profile(80)
@given(st.one_of(whole_tables, any_tables), st.integers(0, 14))
def test_the_best_slope_is_that_of_a_unit_ahead(values, count):
    """It is attained, and no unit ahead has a larger one; no gain is a slope of 0."""
    table = UtilityTable(values, 0.0, False)
    slope, more = table.slope(count)
    ahead = [(values[count + n] - values[count]) / n for n in range(1, len(values) - count)]
    assert slope == max([*ahead, 0.0])
    assert not slope or ahead[more - 1] == slope


SOLVED = 1e-6  # relative, of what a solver with tolerances calls optimal


def sigmoid(steepness, midpoint):
    """Utilities of 0 .. 9 units."""
    kind = Sigmoid(height=5.0, steepness=steepness, midpoint=midpoint)
    return UtilityTable(kind.values(np.arange(10.0)), kind.error(1.0), kind.concave)


def test_a_jump_is_one_wide_step():
    """A sigmoid that is 0 up to 4 worker-slots and its height from 5 on."""
    utilities = sigmoid(2000.0, 4.3)
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


def relaxed(utilities):
    """The best of all g between 0 and 1, for every number of units."""
    found = steps(utilities)
    rows = [[step.width for step in found]]
    for number, step in enumerate(found):
        if step.after is not None:
            rows.append([float(k == number) - float(k == step.after) for k in range(len(found))])
    for z in range(len(utilities.values)):
        answer = linprog([-step.gain for step in found], rows, [z, *[0.0] * (len(rows) - 1)], bounds=(0, 1))
        yield utilities.values[0] - answer.fun


@profile(50)
@given(tables)
def test_relaxed_steps_are_not_below_the_envelope(utilities):
    """As the bound of a linear program needs it."""
    if steps(utilities):
        assert (np.fromiter(relaxed(utilities), float) >= utilities.envelope - SOLVED).all()


@pytest.mark.parametrize(
    ("steepness", "midpoint"),
    [(1.0, 0.0), (1.0, 4.0), (0.7, 30.0), (60.0, 4.3), (2000.0, 4.0), (2000.0, 4.3)],
)
def test_relaxed_steps_of_sigmoids_are_their_envelope(steepness, midpoint):
    """Concave, S-shaped, with a jump at a unit or between two."""
    utilities = sigmoid(steepness, midpoint)
    assert list(relaxed(utilities)) == pytest.approx(utilities.envelope.tolist(), rel=1e-9, abs=SOLVED)


def quotas(*values, error=0.0):
    """Quotas of tables with these values."""
    return Quotas([UtilityTable(np.array(each, dtype=np.float64), error, False) for each in values])


def test_quotas_by_hand():
    """The least units that are worth 2; all units where that is out of reach, or all that are worth as much as these."""
    found = quotas([0, 1, 2, 2], [2, 3], [0, 1, 1])
    assert found.at(2.0) == [2, 0, 1]
    assert found.at(0.0) == [0, 0, 0]
    assert found.tops.tolist() == pytest.approx([2, 3, 1], rel=1e-15)


def test_rounding_is_given_to_utilities():
    """A utility that floats may have rounded by 0.25 can be 2 at one unit; one that falls by rounding is made to rise."""
    assert quotas([0, 1.75, 4], error=0.25).at(2.0) == [1]
    assert quotas([0, 2 + 1e-16, 2, 3]).at(2.0) == [1]


def test_largest_by_hand():
    """Two jobs worth 1 and 3 a unit, four units: 3 of one and 1 of the other; with all free, what the first can reach."""
    found = quotas([0, 1, 2, 3, 4], [0, 3, 6, 9, 12])
    one = Fraction(1)
    assert found.largest([one, one], Fraction(4)) == pytest.approx(3, rel=1e-15)
    assert found.largest([one, one], Fraction(0)) == 0
    assert found.largest([one, one], Fraction(100)) == pytest.approx(4, rel=1e-15)
    assert found.largest([0 * one, one], Fraction(1)) == pytest.approx(3, rel=1e-15)
    assert found.largest([one, one], Fraction(8), 13.0) == pytest.approx(
        12, rel=1e-15
    )  # the first has all it can: 4 + 4


@pytest.mark.parametrize("seed", range(40))
def test_largest_against_trying_all(seed):
    """Of all values in the tables, the largest that all can reach and whose quotas, counted one by one, cost no more."""
    rng = random.Random(seed)
    values = [sorted(rng.randrange(20) for _ in range(rng.randint(1, 6))) for _ in range(rng.randint(1, 4))]
    prices = [Fraction(rng.randrange(4), 3) for _ in values]
    supply = Fraction(rng.randrange(30), 2)

    def cost(level):
        return sum(price * sum(value < level for value in each) for price, each in zip(prices, values, strict=True))

    reached = [level for each in values for level in each if all(level <= other[-1] for other in values)]
    best = max(level for level in [*reached, min(each[0] for each in values)] if cost(level) <= supply)
    assert quotas(*values).largest(prices, supply) == pytest.approx(best, rel=1e-15)
