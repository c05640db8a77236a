"""The examples of the families whose docstrings add their optimum up by hand."""

import math

import pytest

from dlsched import FAMILIES, async_sgd

BY_HAND = {
    "ring_embedding": 6 * math.sqrt(36) + 10 * math.log(9) + 10 / (1 + math.exp(-2)),
    "srpt_mapping": 25.5,
    "async_sgd": 3906.25 * 4920513 / 36956800 + 4000 * 133 / 1600,
}
"""Utility, seconds, and seconds on 4 nodes and 2, whose times are fractions by convolution."""


@pytest.mark.parametrize("family", BY_HAND)
def test_the_optimum_by_hand(family: str) -> None:
    """The exact method finds it."""
    record = FAMILIES[family]
    assert record.solve(record.example()).objective == pytest.approx(BY_HAND[family], rel=1e-12)


def test_the_allocation_of_async_sgd() -> None:
    """4 nodes and 2."""
    assert async_sgd.solve(async_sgd.example()).solution == async_sgd.Allocation({"a": 4, "b": 2})
