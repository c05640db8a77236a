"""SRPT at a speed that rises: by hand, and as plain SRPT where it does not."""

import random

import numpy as np
import pytest

from dlsched.algorithms.rising_speed import srpt_ends
from dlsched.algorithms.srpt import srpt_completions


def test_nothing_is_served_before_there_is_speed():
    """Units are there from 3 on: two of them, then four."""
    assert srpt_ends([(0.0, 4.0), (1.0, 2.0)], [(3.0, 2), (4.0, 2)], 0) == [4.0, 5.0]


@pytest.mark.parametrize("seed", range(10))
def test_at_speed_one_it_is_srpt(seed):
    """The same ends as of the virtual machine of the policies."""
    rng = random.Random(seed)
    jobs = sorted((float(rng.randint(0, 9)), float(rng.randint(1, 5))) for _ in range(8))
    plain = srpt_completions(np.array([release for release, _ in jobs]), np.array([work for _, work in jobs]))
    assert srpt_ends(jobs, [], 1) == sorted(plain.tolist())
