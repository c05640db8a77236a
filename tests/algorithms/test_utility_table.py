"""Utility tables: their hull, and the stretches and lines that S-shaped ones are cut into."""

import numpy as np
import pytest

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
