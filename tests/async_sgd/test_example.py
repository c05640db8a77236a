"""The example by hand."""

import pytest

from dlsched.async_sgd import Allocation, example, solve


def test_the_optimum_by_hand() -> None:
    """4 nodes and 2, whose times are fractions by convolution."""
    result = solve(example())
    assert result.solution == Allocation({"a": 4, "b": 2})
    assert result.objective == pytest.approx(3906.25 * 4920513 / 36956800 + 4000 * 133 / 1600, rel=1e-12)
