"""Who gets units, by hand."""

import pytest

from dlsched.elastic_stream.fast_simulation import FRESH, STOPPED, Speeds, offers_of, share, worth_it
from tests.elastic_stream.streams import stream

SPEEDS = [{1: 1.0, 2: 1.5}, {2: 4.0, 3: 4.5, 8: 5.0}, {1: 0.5}]
"""Gains per unit: 1 and .5; 2, .5 and .1; .5."""


def offers(*weights, steps):
    return sorted(offer for job, weight in enumerate(weights) for offer in offers_of(job, weight, steps[job]))


STEPS = [
    [(1.0, 0, 1), (0.5, 1, 2)],
    [(2.0, 0, 2), (0.5, 2, 3), (0.1, 3, 8)],
    [(0.5, 0, 1)],
]


@pytest.mark.parametrize(
    ("weights", "units", "held"),
    [
        ((1, 1, 1), 2, {1: 2}),
        ((1, 1, 1), 3, {1: 2, 0: 1}),
        ((1, 1, 1), 4, {1: 2, 0: 2}),  # a tie of three: the first in the file
        ((1, 1, 3), 3, {1: 2, 2: 1}),
        ((3, 1, 1), 2, {0: 2}),  # the first unit is worth 3; that of two together 2 does not fit any more
        ((3, 1, 1), 1, {0: 1}),
        ((1, 1, 1), 10, {1: 3, 0: 2, 2: 1}),  # the step from 3 to 8 does not fit, and no count between them is useful
        ((1, 1, 1), 11, {1: 8, 0: 2, 2: 1}),
        ((1, 1, 1), 0, {}),
    ],
)
def test_units_go_to_the_largest_gain_that_fits(weights, units, held):
    assert share(offers(*weights, steps=STEPS), units, SPEEDS) == held


def test_what_is_left_goes_to_counts_off_the_hull():
    steps = [[(1.0, 0, 8)], [(0.5, 0, 2)]]
    speed = [{2: 1.0, 4: 2.0, 8: 8.0}, {2: 1.0}]
    assert share(offers(1, 1, steps=steps), 7, speed) == {1: 2, 0: 4}


def test_a_change_is_worth_its_pause_only_if_the_job_ends_earlier():
    assert worth_it(10.0, 1.0, 0.1, 0.02, 0.0)  # 10 + 10 s against 50 s
    assert not worth_it(10.0, 1.0, 0.1, 0.05, 0.0)  # against 20 s
    assert worth_it(10.0, 1.0, 0.1, 0.05, 1.0)  # against 1 s of the old pause and 20 s
    assert not worth_it(10.0, 1.0, 0.1, 0.05, -3.0)  # a pause that is over


def test_steps_follow_the_upper_hull_of_what_is_gained():
    # speeds 1/40, 1/40 (not useful), 1/8 and 1/6 of the job a second
    speeds = Speeds(stream((5, 1, {1: 40.0, 2: 40.0, 4: 8.0, 8: 6.0}, {"restart_s": 6}), units=8), patience=2.0)
    assert ways(speeds, FRESH) == [(pytest.approx(1 / 32), 0, 4), (pytest.approx(1 / 96), 4, 8)]
    # a change counts half: 1/80, 1/16, 1/12
    assert ways(speeds, STOPPED) == [(pytest.approx(1 / 64), 0, 4), (pytest.approx(1 / 192), 4, 8)]
    # held on 1 unit: 1/40, 1/16, 1/12
    assert ways(speeds, 1) == [
        (pytest.approx(1 / 40), 0, 1),
        (pytest.approx(1 / 80), 1, 4),
        (pytest.approx(1 / 192), 4, 8),
    ]
    # held on 4 units: 1/80, 1/8, and 1/12 on 8, which is less
    assert ways(speeds, 4) == [(pytest.approx(1 / 32), 0, 4)]


def ways(speeds, state):
    return [tuple(step) for step in speeds.steps(0, state)]


def test_without_pauses_all_states_are_alike():
    speeds = Speeds(stream((5, 1, {1: 40.0, 4: 8.0}), units=8), patience=2.0)
    assert ways(speeds, FRESH) == ways(speeds, STOPPED) == ways(speeds, 1) == ways(speeds, 4)
