"""Exact search for the least sum of flow times, the bound that it uses, and the separation of an instance into parts."""

import random

import numpy as np
import pytest

from dlsched.algorithms.one_machine import srpt_completions
from dlsched.algorithms.start_tree import separated, srpt_ends


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


def test_one_part_without_room_between():
    """A second to spare in the sum of flow times is as long as the gap."""
    assert separated([0.0, 3.0], [2.0, 2.0], [3.0, 3.0]) == [[0, 1]]


def test_parts_part_again():
    """All three together have 2 s to spare; the last two on their own have none."""
    assert separated([0.0, 5.0, 7.5], [2.0, 2.0, 2.0], [4.0, 2.0, 2.0]) == [[0], [1], [2]]


def test_parts_are_in_order_of_release():
    """Jobs stand in any order."""
    assert separated([50.0, 0.0, 100.0], [1.0, 1.0, 1.0], [1.0, 1.0, 1.0]) == [[1], [0], [2]]
