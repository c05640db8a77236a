"""What prices prove at any time: by hand, held to rational arithmetic, at extreme numbers, and where they are no prices."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlsched.certificates import PricesCertificate
from dlsched.elastic_stream import Instance
from dlsched.elastic_stream.certificate import MOST_COUNTS, any_time_value, verify
from dlsched.testing import elastic_stream_instances
from elastic_stream.lone_jobs import (
    bound_of,
    cost_of_a_path,
    cost_scale,
    cost_with_pauses,
    cost_without_pauses,
    random_prices,
)
from elastic_stream.streams import stream


def profile(examples):
    """Deterministic, without a clock."""
    return settings(max_examples=examples, derandomize=True, deadline=None, database=None)


def close_below(value, expected, scale=None):
    """At most what is expected, and by no more than rounding less."""
    return expected - Fraction(1e-11) * abs(Fraction(scale or expected)) <= value <= expected


def without_pauses(instance):
    """The same stream whose restarts cost nothing."""
    return instance.model_copy(
        update={"jobs": tuple(job.model_copy(update={"restart_s": 0.0}) for job in instance.jobs)}
    )


def test_one_after_the_other_by_hand():
    """Two jobs of 10 s, one unit, price 1 for 10 s: each pays 20, at once or after waiting; (40 - 10) / 2 is the optimum."""
    instance = stream((0.0, 1.0, {1: 10.0}), (0.0, 1.0, {1: 10.0}), units=1)
    assert close_below(any_time_value(instance, [0.0, 10.0], [1.0]), 15)


def test_a_dear_moment_by_hand():
    """A job of 10 s and a price of 5 from 4 s to 6 s.

    Running through pays 10 + 2 x 5, beginning at 6 s ends at 16 s, stopping meanwhile at 12 s. With a pause of 2 s it
    ends at 14 s, and the breakpoint at 8 s, where the pause is over, shows that nothing is better.
    """
    instance = stream((0.0, 1.0, {1: 10.0}), units=1)
    assert close_below(any_time_value(instance, [4.0, 6.0], [5.0]), 12 - 10)
    paused = stream((0.0, 1.0, {1: 10.0}, {"restart_s": 2.0}), units=1)
    assert close_below(any_time_value(paused, [4.0, 6.0, 8.0], [5.0, 0.0]), 14 - 10)


def test_a_mix_of_counts_by_hand():
    """12 s on one unit, 8 s on two; price 1/2 for 4 s. One unit, then two: 4 + 16/3 s and 2 paid; waiting or two: 12."""
    instance = stream((0.0, 1.0, {1: 12.0, 2: 8.0}), units=2)
    assert close_below(any_time_value(instance, [0.0, 4.0], [0.5]), Fraction(34, 3) - 4)


@pytest.mark.parametrize(
    ("breakpoints", "prices"), [([], []), ([3.0], []), ([0.0, 100.0], [0.0]), ([50.0, 60.0], [0.0])]
)
def test_without_prices_jobs_are_alone(breakpoints, prices):
    """Every job takes its time on its fastest count: 6 s and 12 s; one without work takes none, wherever it fits."""
    idle = (5.0, 0.0, {4: 1.0})
    instance = stream((0.0, 1.0, {1: 10.0, 2: 6.0}), (1.0, 1.0, {1: 30.0, 2: 12.0, 3: 1.0}), idle, units=2)
    assert close_below(any_time_value(instance, breakpoints, prices), 6)


@profile(60)
@given(elastic_stream_instances(ticked=False, feasible=True, max_units=5), st.integers(0, 2**32))
def test_the_value_is_that_of_rational_arithmetic(instance, seed):
    """Without weights."""
    is_rational(instance, seed)


@profile(30)
@given(elastic_stream_instances(ticked=False, feasible=True, max_units=5, weighted=True), st.integers(0, 2**32))
def test_the_value_with_weights_is_that_of_rational_arithmetic(instance, seed):
    """A job of weight 3 at prices by 3, whose quotients are no floats."""
    is_rational(instance, seed)


def is_rational(instance, seed):
    """With free restarts that of a continuous knapsack, less rounding; with pauses between two numbers.

    It is no less than that of all paths on the same breakpoints (the last interval may be cut short, which proves more),
    and no more than the cheapest path pays.
    """
    breakpoints, prices = random_prices(instance, np.random.default_rng(seed))
    scale = cost_scale(instance, breakpoints, prices)
    free = without_pauses(instance)
    assert close_below(any_time_value(free, breakpoints, prices), bound_of(free, breakpoints, prices), scale)
    if len(breakpoints) <= 4 and all(len(instance.counts(index)) <= 3 for index in range(len(instance.jobs))):
        value = any_time_value(instance, breakpoints, prices)
        assert value >= bound_of(instance, breakpoints, prices, cost_with_pauses) - Fraction(1e-11) * scale
        assert value <= bound_of(instance, breakpoints, prices, cost_of_a_path)


@profile(40)
@given(
    elastic_stream_instances(ticked=False, feasible=True, max_units=4),
    st.integers(0, 2**32),
    st.sampled_from([-300, -40, 41, 300]),
)
def test_other_units_of_time_change_nothing(instance, seed, power):
    """All times by a power of two, up to 1e90 s and down to 1e-90 s: the value by the same, to the last digit."""
    breakpoints, prices = random_prices(instance, np.random.default_rng(seed))
    factor = 2.0**power
    jobs = [
        {
            "id": job.id,
            "arrival_s": job.arrival_s * factor,
            "restart_s": job.restart_s * factor,
            "epochs": job.work,
            "epoch_time_s": {count: job.speed.epoch_time_s(count) * factor for count in job.counts(instance.units)},
        }
        for job in instance.jobs
    ]
    scaled = Instance(name="scaled", units=instance.units, jobs=jobs)
    value = any_time_value(scaled, [time * factor for time in breakpoints], prices)
    assert value == any_time_value(instance, breakpoints, prices) * Fraction(2) ** power


@profile(40)
@given(elastic_stream_instances(ticked=False, feasible=True, max_units=4), st.integers(0, 2**32))
def test_the_time_of_day_changes_nothing(instance, seed):
    """All times later by as much as Unix times are: whole seconds are subtracted exactly."""
    instance = without_pauses(instance)
    breakpoints, prices = random_prices(instance, np.random.default_rng(seed))
    whole = sorted(set(map(round, breakpoints)))
    late = instance.model_copy(
        update={"jobs": tuple(job.model_copy(update={"arrival_s": job.arrival_s + 1.7e9}) for job in instance.jobs)}
    )
    steps = prices[: max(0, len(whole) - 1)]
    value, early = any_time_value(late, [time + 1.7e9 for time in whole], steps), any_time_value(instance, whole, steps)
    assert abs(value - early) <= Fraction(1e-12) * cost_scale(instance, whole, steps)


@pytest.mark.parametrize("price", [5e-324, 1.0, 1.7e308])
@pytest.mark.parametrize(
    "breakpoints",
    [
        [-1.7e308, 1.7e308],
        [-5e-324, 0.0, 5e-324, 1e-320],
        [0.0, 1e-100, 1.0, 1e100],
        [1e100, 1e101],
        [99.99999999999999, 100.0],
    ],
    ids=str,
)
@pytest.mark.parametrize("restart_s", [0.0, 5e-324, 1.0, 1e100])
def test_extreme_numbers(price, breakpoints, restart_s):
    """Nothing overflows, and what comes is no more than the rational number; jobs from 1e-100 to 1e100 s."""
    jobs = [
        (arrival, 1.0, {1: seconds, 3: seconds / 2}, {"restart_s": restart_s})
        for arrival, seconds in ((0.0, 2e-100), (0.0, 1e100), (100.0, 7.0), (1e100, 1.0))
    ]
    instance = stream(*jobs, units=4)
    prices = [price] * (len(breakpoints) - 1)
    value = any_time_value(instance, breakpoints, prices)
    cheapest = cost_of_a_path if restart_s else cost_without_pauses
    assert value <= bound_of(instance, breakpoints, prices, cheapest)
    free = any_time_value(without_pauses(instance), breakpoints, prices)
    assert free <= value + Fraction(1e-9) * abs(value)


def test_many_counts():
    """Of a law on 2^53 units few counts are looked at: its value is below that on the counts that matter, and near."""
    law = {"theta": [1e6, 1e-6, 0.0, 1.0], "samples": 1.0, "model_bytes": 0.0}
    job = {"id": "a", "arrival_s": 0.0, "epochs": 1.0, "speed_law": law}
    vast = Instance(name="vast", units=2**53, jobs=[job])
    table = {
        count: 1e6 / count + 1e-6 * (count - 1) + 1.0 for count in (1, 10, 100, *range(1000, 1_000_001, 997), 10**6)
    }
    few = Instance(name="few", units=2**53, jobs=[{"id": "a", "arrival_s": 0.0, "epochs": 1.0, "epoch_time_s": table}])
    breakpoints, prices = [0.0, 500.0], [1e-3]
    value, rough = any_time_value(vast, breakpoints, prices), any_time_value(few, breakpoints, prices)
    paid = Fraction(1e-3) * 500 * 2**53
    assert 0.99 * float(rough + paid) <= float(value + paid) <= float(rough + paid)


def test_pauses_are_counted_of_few_corners():
    """Speeds that are strictly concave, so that each count is a corner; with one corner too many pauses are left out."""
    for number, more in ((MOST_COUNTS, True), (MOST_COUNTS + 1, False)):
        table = {count: 10.0 / count**0.5 for count in range(1, number + 1)}
        paused = stream((0.0, 1.0, table, {"restart_s": 5.0}), units=300)
        arguments = ([0.2, 0.4], [5.0])
        assert (any_time_value(paused, *arguments) > any_time_value(without_pauses(paused), *arguments)) == more


@pytest.mark.parametrize(
    ("breakpoints", "prices", "message"),
    [
        ([0.0, math.nan], [1.0], "breakpoints must be finite numbers"),
        ([0.0, math.inf], [1.0], "breakpoints must be finite numbers"),
        ([0.0, 0.0], [1.0], "breakpoints must ascend: 0.0 follows 0.0"),
        ([0.0, 2.0, 1.0], [1.0, 1.0], "breakpoints must ascend: 1.0 follows 2.0"),
        ([0.0, 1.0], [], "2 breakpoints have 1 prices between them, found 0"),
        ([], [1.0], "0 breakpoints have 0 prices between them, found 1"),
        ([0.0, 1.0], [-1.0], "price -1.0 must be a finite number >= 0"),
        ([0.0, 1.0], [math.nan], "price nan must be a finite number >= 0"),
        ([0.0, 1.0], [math.inf], "price inf must be a finite number >= 0"),
    ],
    ids=str,
)
def test_what_are_no_prices(breakpoints, prices, message):
    """Refused with a sentence, by the verifier of the family too."""
    instance = stream((0.0, 1.0, {1: 10.0}), units=1)
    with pytest.raises(ValueError, match=message):
        any_time_value(instance, breakpoints, prices)
    with pytest.raises(ValueError, match=message):
        verify(instance, PricesCertificate(tuple(breakpoints), tuple(prices), 1.0))


def test_a_job_that_fits_nowhere():
    """No stream exists, and nothing is said of it."""
    with pytest.raises(ValueError, match="job 'j0' needs more units than the cluster has"):
        any_time_value(stream((0.0, 1.0, {8: 10.0}), units=1), [0.0, 1.0], [1.0])


def test_blocks_are_for_ticks():
    """A certificate with prices of blocks says nothing of streams at any time."""
    with pytest.raises(ValueError, match="blocks have prices only where the instance has ticks"):
        verify(stream((0.0, 1.0, {1: 10.0})), PricesCertificate((0.0, 1.0), (1.0,), 1.0, {"2": (1.0,)}))


def test_a_forged_value_is_not_proven():
    """Verification returns what the prices prove, whatever the certificate says."""
    instance = stream((0.0, 1.0, {1: 10.0}), (0.0, 1.0, {1: 10.0}), units=1)
    assert close_below(verify(instance, PricesCertificate((0.0, 10.0), (1.0,), 17.0)), 15)
