"""The figures of schedules small enough to be followed by hand."""

import math

import numpy as np
import pytest

from dlsched.core.arrays import FloatArray, IntArray
from dlsched.evaluation.measures import (
    Held,
    Part,
    bounded_slowdown,
    fragmentation,
    mean_of_jobs,
    means_by,
    stretches,
    together,
    utilisation,
)


def held(*rows: tuple[float, float, int, int]) -> Held:
    """From start, end, GPUs and node of every piece."""
    start_s, end_s, gpus, node = zip(*rows, strict=True)
    return Held(np.array(start_s), np.array(end_s), np.array(gpus), np.array(node))


def test_slowdown_is_bounded_below_by_one_and_by_the_threshold() -> None:
    """90 s for 30 s of work are 3; a job of 1 s counts as one of 10 s; none is below 1."""
    found = bounded_slowdown(np.array([90.0, 20.0, 5.0]), np.array([30.0, 1.0, 5.0]))
    assert found.tolist() == [3.0, 2.0, 1.0]


def test_utilisation_is_what_is_held_of_what_there_is() -> None:
    """2 GPUs for 10 s and 4 for 5 s are 40 GPU-seconds, of 4 GPUs for 20 s."""
    assert utilisation(held((0, 10, 2, 0), (10, 15, 4, 0)), 4, 0.0, 20.0) == Part(40.0, 80.0)


def test_parts_add_up_and_nothing_has_no_share() -> None:
    """40 of 80 and 0 of 80 are a quarter."""
    assert together([Part(40.0, 80.0), Part(0.0, 80.0)]).share == 0.25
    assert Part(0.0, 0.0).share is None


@pytest.mark.parametrize(
    ("rows", "last_s", "expected"),
    [
        ([(0, 10, 4, 0)], 10.0, Part(0.0, 40.0)),  # one node full, the other empty
        ([(0, 10, 2, 0), (0, 10, 2, 1)], 10.0, Part(40.0, 40.0)),  # both half full
        ([(0, 10, 1, 0), (5, 10, 3, 0)], 10.0, Part(15.0, 55.0)),  # 3 free beside 1 for 5 s, then full
        ([(0, 5, 3, 1), (5, 10, 3, 1)], 20.0, Part(10.0, 130.0)),  # one ends as the next begins, and 10 s of nothing
    ],
)
def test_fragmentation_is_of_what_is_free(
    rows: list[tuple[float, float, int, int]], last_s: float, expected: Part
) -> None:
    """Two nodes of 4 GPUs from 0 s on."""
    assert fragmentation(held(*rows), [4, 4], 0.0, last_s) == expected


def test_parts_of_gpus_count_by_their_units() -> None:
    """Half of one of two GPUs for 10 s: a GPU and a half beside it are free; then both halves of it."""
    halves = held((0, 10, 1, 0), (5, 10, 1, 0))._replace(units=2)
    assert utilisation(halves, 2, 0.0, 20.0) == Part(7.5, 40.0)
    assert fragmentation(halves, [2], 0.0, 10.0) == Part(12.5, 12.5)


def test_fragmentation_agrees_with_a_clock_of_seconds() -> None:
    """Pieces with whole seconds, against a table of every second and node."""
    random = np.random.default_rng(3)
    sizes, horizon = [4, 2, 8], 60
    free = np.tile(np.array(sizes), (horizon, 1))
    rows = []
    for _ in range(80):
        node, gpus = int(random.integers(3)), int(random.integers(1, 5))
        start = int(random.integers(horizon - 1))
        end = int(random.integers(start + 1, horizon))
        if (free[start:end, node] >= gpus).all():
            free[start:end, node] -= gpus
            rows.append((float(start), float(end), gpus, node))
    partly = (free > 0) & (free < np.array(sizes))
    found = fragmentation(held(*rows), sizes, 0.0, float(horizon))
    assert found.part == pytest.approx((free * partly).sum()) and found.whole == pytest.approx(free.sum())
    assert found.part > 0


def test_means_of_groups() -> None:
    """A group without members has none."""
    found = means_by(np.array([1.0, 2.0, 6.0]), np.array([0, 2, 2]), 3)
    assert found[0] == 1.0 and math.isnan(found[1]) and found[2] == 4.0


def jackknife(values: FloatArray, unit: IntArray) -> float:
    """Standard error of a ratio of sums, by leaving out one unit after another: another method than the linear part."""
    units = np.unique(unit)
    left = np.array([values[unit != each].mean() for each in units])
    return float(np.sqrt((len(units) - 1) / len(units) * ((left - left.mean()) ** 2).sum()))


def test_the_interval_is_that_of_a_mean_over_units() -> None:
    """Its width is that of the jackknife's standard error, not that of independent jobs, of which there are 50 times as many."""
    random = np.random.default_rng(5)
    unit = np.repeat(np.arange(40), random.integers(20, 80, 40))
    values = random.normal(0.0, 1.0, 40)[unit] + random.normal(0.0, 1.0, len(unit))
    found = mean_of_jobs(values, unit)
    assert found.value == pytest.approx(values.mean())
    assert found.low is not None and found.high is not None and found.low < found.value < found.high
    assert (found.high - found.low) / (2 * 1.96 * jackknife(values, unit)) == pytest.approx(1.0, abs=0.15)


def test_no_interval_of_few_units() -> None:
    """Five windows say too little of a sixth."""
    assert mean_of_jobs(np.arange(10.0), np.arange(10) // 2).low is None
    assert mean_of_jobs(np.arange(12.0), np.arange(12) // 2).low is not None


def test_stretches_hold_equally_many() -> None:
    """Twenty of them where there are jobs enough, else as many as hold five jobs."""
    assert np.bincount(stretches(1000)).tolist() == [50] * 20
    assert np.bincount(stretches(33)).tolist() == [6, 5, 6, 5, 6, 5]
    assert stretches(3).tolist() == [0, 0, 0]
