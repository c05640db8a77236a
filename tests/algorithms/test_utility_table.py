"""Utility tables: their hull, and the stretches and lines that S-shaped ones are cut into."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlsched.algorithms.utility_stretches import stretches, tangents
from dlsched.algorithms.utility_table import UtilityTable, hull


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
