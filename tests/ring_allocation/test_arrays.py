"""The flat arrays of the jobs against the jobs themselves, one at a time."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlsched.ring_allocation import Allocation, Instance
from dlsched.ring_allocation.checker import job_cost, seconds_left
from dlsched.testing import ring_allocation_instances

SETTINGS = settings(max_examples=30, derandomize=True, deadline=None, database=None)
LAW = {"theta": [1.0, 0.5, 0.0, 2.0], "samples": 12.0, "model_bytes": 0.0}
MIXED = Instance(
    name="x",
    gpus=9,
    jobs=[
        {
            "id": "gaps",
            "epochs": 2.0,
            "epoch_time_s": {"2": 9.0, "5": 4.0, "8": 5.0},
            "current_gpus": 5,
            "restart_s": 7.0,
        },
        {"id": "law", "epochs": 3.0, "speed_law": LAW, "max_gpus": 4},
        {"id": "row", "epochs": 1.0, "epoch_time_s": {"1": 3.0, "2": 1.5}, "weight": 2.0},
    ],
)


@SETTINGS
@given(ring_allocation_instances())
def test_costs_are_those_of_the_checker(instance):
    """Of every pair of every table, in the same floats."""
    arrays = instance.arrays
    expected = [job_cost(instance.jobs[job], count) for job in arrays.tables for count in instance.counts(job)]
    assert arrays.costs.tolist() == expected


@SETTINGS
@given(ring_allocation_instances(), st.data())
def test_seconds_left_are_those_of_the_checker(instance, data):
    """For counts of which some are not allowed: None then, else every job's seconds in the same floats."""
    given_counts = {}
    for index, job in enumerate(instance.jobs):
        allowed = instance.counts(index)
        given_counts[job.id] = data.draw(st.one_of(st.sampled_from([allowed[0], allowed[-1]]), st.integers(-1, 40)))
    found = instance.arrays.seconds_left(given_counts)
    if any(given_counts[job.id] not in instance.counts(index) for index, job in enumerate(instance.jobs)):
        assert found is None
    else:
        assert found[0].tolist() == list(given_counts.values())
        assert found[1].tolist() == [seconds_left(job, given_counts[job.id]) for job in instance.jobs]


def test_by_hand():
    """2 x 4 s on the current 5; 3 (12 / 2 + 0.5 + 2) on 2; 1.5 on 2. A restart of 7 s elsewhere."""
    counts, seconds = MIXED.arrays.seconds_left({"gaps": 5, "law": 2, "row": 2})
    assert counts.tolist() == [5, 2, 2]
    assert seconds.tolist() == [8.0, 25.5, 1.5]
    assert MIXED.arrays.seconds_left({"gaps": 8, "law": 2, "row": 2})[1].tolist() == [17.0, 25.5, 1.5]
    assert MIXED.arrays.least.tolist() == [2, 1, 1]
    assert MIXED.arrays.largest.tolist() == [8, 4, 2]
    assert MIXED.minimum_gpus == 4


def test_the_fastest_within_a_share():
    """Of counts up to a number, or the smallest: 9, 4 (not the 5 s on 8) and 3, 1.5 seconds."""
    assert MIXED.arrays.fastest_s(1).tolist() == [9.0, 3.0]
    assert MIXED.arrays.fastest_s(5).tolist() == [4.0, 1.5]
    assert MIXED.arrays.fastest_s(100).tolist() == [4.0, 1.5]


@pytest.mark.parametrize(
    "given_counts",
    [
        {"gaps": 5, "law": 2},
        {"gaps": 5, "law": 2, "row": 2, "more": 1},
        {"gaps": 5, "law": 2, "row": None},
        {"gaps": 5, "law": 2, "row": 2.0},
        {"gaps": 5, "law": 2, "row": True},
        {"gaps": 5, "law": 2, "row": 2**70},
        {"gaps": 4, "law": 2, "row": 2},
        {"gaps": 5, "law": 5, "row": 2},
    ],
)
def test_no_allocation(given_counts):
    """A job without a count or too many jobs, what is no integer, counts that are not allowed."""
    assert MIXED.arrays.seconds_left(given_counts) is None


def test_only_laws():
    """No table, no pair."""
    instance = Instance(name="x", gpus=4, jobs=[{"id": "a", "epochs": 1.0, "speed_law": LAW}])
    assert len(instance.arrays.costs) == len(instance.arrays.fastest_s(2)) == 0
    assert instance.arrays.seconds_left({"a": 1})[1].tolist() == [14.0]
    assert instance.arrays is instance.arrays


def test_times_are_not_touched():
    """What is computed from the arrays leaves them as they were."""
    before = MIXED.arrays.times_s.copy()
    MIXED.arrays.fastest_s(3), MIXED.arrays.costs, MIXED.arrays.seconds_left({"gaps": 5, "law": 2, "row": 2})
    assert np.array_equal(before, MIXED.arrays.times_s)


def test_the_latest_allocation_is_kept_and_no_other():
    """The same immutable counts give the same answer again; others, and mappings that can change, are looked at."""
    first, second = Allocation({"gaps": 5, "law": 2, "row": 2}).gpus, Allocation({"gaps": 8, "law": 2, "row": 2}).gpus
    assert MIXED.arrays.seconds_left(first) is MIXED.arrays.seconds_left(first)
    assert MIXED.arrays.seconds_left(second)[1].tolist() == [17.0, 25.5, 1.5]
    assert MIXED.arrays.seconds_left(first)[1].tolist() == [8.0, 25.5, 1.5]
    changing = {"gaps": 5, "law": 2, "row": 2}
    MIXED.arrays.seconds_left(changing)
    changing["gaps"] = 8
    assert MIXED.arrays.seconds_left(changing)[1].tolist() == [17.0, 25.5, 1.5]


def test_the_order_of_the_jobs_does_not_matter():
    """Counts are found by name."""
    assert MIXED.arrays.seconds_left({"row": 2, "gaps": 5, "law": 2})[0].tolist() == [5, 2, 2]
