"""The shipped streams: optima of those with ticks by HiGHS, bounds of the others by what a short search proves."""

from pathlib import Path

import pytest
from shipped import assert_proven_again, each_of, known

import dlsched
from dlsched import Limits
from dlsched.elastic_stream import area, length
from dlsched.elastic_stream.certificate import verify

LARGE = 120
"""Jobs from which on eight linear programs take seconds."""


@pytest.mark.long
@each_of("elastic_stream")
def test_known_optimum_by_another_code_base(path: Path) -> None:
    """HiGHS proves the stated optima with decisions at ticks."""
    instance = known(path)
    if instance.tick_s is None:
        pytest.skip("the linear program is of decisions at ticks")
    assert_proven_again(instance, "milp", "highs")


@each_of("elastic_stream")
def test_known_bounds_after_some_rounds(path: Path) -> None:
    """Eight linear programs prove more than area and length; stream and bound do not contradict what is known.

    ``tests/test_instances.py`` proves the bounds again in full.
    """
    instance = dlsched.read(path)
    if instance.known.optimum is not None:
        pytest.skip("its optimum is known")
    if len(instance.jobs) > LARGE:
        pytest.skip("a large one: its bounds are proven again in full only")
    result = dlsched.solve(instance, limits=Limits(nodes=8))
    assert result.status == "node_limit"
    assert max(area(instance).value, length(instance).value) < result.bound <= instance.known.upper
    assert result.objective >= instance.known.lower
    assert result.bound == result.certificate.value <= verify(instance, result.certificate)
