"""Counts of a job that fit into a cluster, those that are of use, and the best of them."""

from fractions import Fraction

import pytest

from dlsched.cluster.training_job import TrainingJob

TABLE = TrainingJob(id="table", epochs=1, epoch_time_s={1: 9.0, 2: 9.0, 4: 3.0, 8: 4.0})
LAW = TrainingJob(id="law", epochs=1, speed_law={"theta": (8.0, 0.5, 0.0, 0.0), "samples": 1.0, "model_bytes": 0.0})


def test_counts_of_a_table():
    """Those that fit; those that no smaller one matches; the fastest; the most efficient."""
    assert tuple(TABLE.fitting_counts(4)) == (1, 2, 4) and not TrainingJob(
        id="a", epochs=1, epoch_time_s={2: 1.0}
    ).fitting_counts(1)
    assert TABLE.useful_times_s(8) == {1: 9.0, 4: 3.0}
    assert (TABLE.fastest_count(2), TABLE.fastest_count(8)) == (1, 4)
    assert (TABLE.least_area_s(2), TABLE.least_area_s(8)) == (9, 9)


@pytest.mark.parametrize("gpus", [1, 2, 4, 40])
def test_counts_of_a_law_are_those_of_its_table(gpus):
    """8 / w + (w - 1) / 2 is least at 4."""
    times = {count: LAW.speed.epoch_time_s(count) for count in range(1, gpus + 1)}
    assert tuple(LAW.useful_counts(gpus)) == tuple(range(1, min(gpus, 4) + 1))
    assert LAW.fastest_count(gpus) == min(times, key=times.get)
    assert LAW.least_area_s(gpus) == min(count * Fraction(time) for count, time in times.items())
