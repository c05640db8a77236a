"""The example by hand."""

import pytest

from dlsched.srpt_mapping import example, solve


def test_the_optimum_by_hand() -> None:
    """25.5 s, as its docstring adds it up."""
    assert solve(example()).objective == pytest.approx(25.5, rel=1e-12)
