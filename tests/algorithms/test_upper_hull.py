"""The upper hull: lies above all points, is concave, and touches a point at every corner."""

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dlsched.algorithms.upper_hull import upper_hull


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
