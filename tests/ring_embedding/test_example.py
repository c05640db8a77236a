"""The example by hand."""

import math

import pytest

from dlsched.ring_embedding import example, solve


def test_the_optimum_by_hand() -> None:
    """66.78, as its docstring adds it up."""
    by_hand = 6 * math.sqrt(36) + 10 * math.log(9) + 10 / (1 + math.exp(-2))
    assert solve(example()).objective == pytest.approx(by_hand, rel=1e-12)
