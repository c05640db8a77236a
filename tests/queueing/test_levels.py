"""Levels: gains step by step; what allocations need of them is asked in tests/async_sgd."""

import numpy as np
import pytest

from dlsched.queueing.levels import levels
from dlsched.queueing.network import Network


def walked(most, spare):
    """The steps of one job of 12 cycles of a second in which nobody waits, by the seconds that they save."""
    return levels(
        [Network(1.0, ())],
        np.array([12.0]),
        np.array([most]),
        spare,
        lambda step: step.batches / step.before - step.batches / step.after,
        least=0,
    )


def test_gains_fall_and_begin_with_none():
    """Linear speed-up by hand: 12 batches of a second on 1, 2, 3, 4 nodes take 12, 6, 4, 3 s."""
    found = walked(4, 3)
    assert found.counts.tolist() == [1, 2, 3, 4]
    assert found.throughputs.tolist() == [1.0, 2.0, 3.0, 4.0]
    assert np.isnan(found.gains[0])
    assert found.gains[1:] == pytest.approx([6.0, 2.0, 1.0])


def test_no_job_goes_beyond_its_most():
    """One node is one step, which gains nothing."""
    assert walked(1, 3).counts.tolist() == [1]
