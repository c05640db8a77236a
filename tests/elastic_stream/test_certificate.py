"""What prices prove, at any time and by slot: by hand, in rational arithmetic, against all plans; what is refused."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from conftest import profile
from hypothesis import given, settings
from hypothesis import strategies as st

import dlsched
from dlsched.certificates import PricesCertificate
from dlsched.elastic_stream import example, solve
from dlsched.elastic_stream.certificate import MOST_COUNTS, any_time_value, ticks_value, verify
from dlsched.testing import brute_force_stream, elastic_stream_instances

from .lone_jobs import (
    bound_of,
    cheapest,
    cost_of_a_path,
    cost_scale,
    cost_with_pauses,
    cost_without_pauses,
    random_prices,
)
from .streams import VAST, stream


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


@profile(90)
@given(
    elastic_stream_instances(ticked=False, feasible=True, max_units=5)
    | elastic_stream_instances(ticked=False, feasible=True, max_units=5, weighted=True),
    st.integers(0, 2**32),
)
def test_the_value_is_that_of_rational_arithmetic(instance, seed):
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
    jobs = []
    for job in instance.jobs:
        times = {count: job.speed.epoch_time_s(count) * factor for count in job.counts(instance.units)}
        jobs.append((job.arrival_s * factor, job.work, times, {"restart_s": job.restart_s * factor}))
    scaled = stream(*jobs, units=instance.units)
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
    vast = stream((0.0, 1.0, law), units=2**53)
    table = {
        count: 1e6 / count + 1e-6 * (count - 1) + 1.0 for count in (1, 10, 100, *range(1000, 1_000_001, 997), 10**6)
    }
    few = stream((0.0, 1.0, table), units=2**53)
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


PRICES = st.lists(st.sampled_from([0.0, 0.0, 0.125, 0.3, 0.5, 1.0, 4.0]), min_size=1, max_size=8)


def proven_alone(instance, prices, blocks):
    """Least cost of the only job: what is proven, and what all units and blocks bring."""
    brings = sum(
        instance.units // size * sum(map(Fraction, row)) for size, row in [(1, prices), (2, blocks.get("2", []))]
    )
    slots = range(len(prices) + 1)
    return ticks_value(instance, list(slots), prices, blocks) + Fraction(instance.tick_s) * brings


def lone_job(generator, times):
    """A job of powers of two: its work in a slot is a whole number of cells, except after some pauses."""
    chosen = sorted(generator.choice(len(times), 2, replace=False))
    table = {1: times[chosen[1]], int(generator.integers(2, 4)): times[chosen[0]]}
    return stream((0.0, 1.0, table, {"restart_s": float(generator.integers(0, 5))}), units=3, tick_s=4.0)


def cheapest_plan(instance, prices, blocks):
    """Least cost of all plans of the only job."""
    units, pairs = list(map(Fraction, prices)), list(map(Fraction, blocks))
    job = instance.jobs[0]
    seconds = {count: Fraction(job.epoch_time_s[count]) for count in job.epoch_time_s}
    return cheapest(seconds, int(job.restart_s), 4, lambda slot, n: 4 * (n * units[slot] + n // 2 * pairs[slot]))


def test_every_plan_of_a_job():
    """In whole cells the least cost of a job is that of its cheapest plan."""
    generator = np.random.default_rng(1)
    for _ in range(100):
        instance = lone_job(generator, [2.0, 4.0, 8.0, 16.0, 32.0])
        prices = generator.choice([0.0, 0.125, 0.5, 1.0, 2.0], 6).tolist()
        blocks = generator.choice([0.0, 0.25, 1.0], 6).tolist()
        least = cheapest_plan(instance, prices, blocks)
        assert proven_alone(instance, prices, {"2": blocks}) == pytest.approx(float(least), rel=1e-12)


@pytest.mark.parametrize("weight", [2.0, 0.25, 3.0])
def test_a_weight_makes_seconds_dearer(weight):
    """A job of weight 3 costs what one of weight 1 does whose seconds are all three times as long, and its slots pay as much."""
    generator = np.random.default_rng(3)
    for _ in range(40):
        instance = lone_job(generator, [2.0, 4.0, 8.0, 16.0, 32.0])
        job = instance.jobs[0].model_copy(update={"weight": weight})
        heavy = instance.model_copy(update={"jobs": (job,)})
        prices = generator.choice([0.0, 0.125, 0.5, 1.0, 2.0], 6).tolist()
        times = {count: Fraction(weight) * Fraction(job.epoch_time_s[count]) for count in job.epoch_time_s}
        pays = list(map(Fraction, prices))
        pause_s, tick_s = Fraction(weight) * int(job.restart_s), 4 * Fraction(weight)
        least = cheapest(times, pause_s, tick_s, lambda slot, n, pays=pays: 4 * n * pays[slot])
        proven = ticks_value(heavy, list(range(7)), prices) * Fraction(weight) + 4 * heavy.units * sum(pays)
        assert proven == pytest.approx(float(least), rel=1e-12)


def test_never_more_than_the_cheapest_plan():
    """Of work that is no whole number of cells, and little less than it."""
    generator = np.random.default_rng(2)
    below = []
    for _ in range(100):
        instance = lone_job(generator, [3.0, 5.0, 7.0, 11.0, 19.0, 23.0])
        prices = generator.uniform(0, 1, 6).tolist()
        least, proven = cheapest_plan(instance, prices, [0.0] * 6), proven_alone(instance, prices, {})
        assert proven <= least
        below.append(1 - proven / least)
    assert np.mean(below) < 2e-3


@settings(max_examples=60, derandomize=True, deadline=None, database=None)
@given(elastic_stream_instances(feasible=True), PRICES, st.integers(-2, 3), PRICES)
def test_never_more_than_the_best_stream(instance, prices, first, blocks):
    """Whatever the prices; the stream by brute force."""
    best, _ = brute_force_stream(instance)
    further = (blocks * len(prices))[: len(prices)]
    slots = [float(first + 2 * number) for number in range(len(prices) + 1)]
    assert ticks_value(instance, slots, prices, {"2": further}) <= best * (1 + 1e-9)
    assert ticks_value(instance, slots, prices) <= best * (1 + 1e-9)


def test_the_example_by_hand():
    """Only slot 1 has a price, p: a on two units in slots 0 and 2 pays nothing of it.

    a: 24 s alone, 20 p for slot 1; or it waits there and pauses 2 s, 36 s. b: 8 s and 10 p, or it waits a slot, 18 s. At
    p = .6 these are 36 and 14; less 12 for the two units of slot 1: 38 in all, 32 without prices.
    """
    found = ticks_value(example(), [1, 2], [0.6])
    assert 18.99 < found <= 19
    assert 15.99 < ticks_value(example(), [1, 2], [0.0]) <= 16


def test_blocks_part_jobs_that_do_not_fit_together():
    """Two jobs of two units of three, a slot each: one waits for the other, (9 + 19) / 2; units alone let 1.5 in."""
    instance = stream((0.0, 1.0, {2: 9.0}), (0.0, 1.0, {2: 9.0}), units=3, tick_s=10.0)
    assert 13.99 < ticks_value(instance, [0, 1], [0.0], {"2": [1.0]}) <= 14
    assert ticks_value(instance, [0, 1], [0.5], {}) < 12
    assert brute_force_stream(instance)[0] == 14


def test_a_moment_in_cells():
    """A job a hair longer than its slot is done in it, one that is longer by more is not."""
    paid = {"breakpoints": [0, 2], "prices": [1.0]}
    short, long = (stream((0.0, 1.0, {1: 10.0 * (1 + over)}), units=1, tick_s=10.0) for over in (2.0**-41, 2.0**-8))
    assert float(ticks_value(short, **paid)) == pytest.approx(20 - 20)
    assert float(ticks_value(long, **paid)) == pytest.approx(30 + 10 * 2.0**-8 - 20, abs=0.02)


def test_far_slots_and_large_prices():
    """Numbers of any size end soon, with a bound that holds."""
    times = {1: 20.0, 2: 12.0}
    pair = stream((0.0, 1.0, times, {"restart_s": 50.0}), (1e9, 1.0, times), units=2, tick_s=10.0)
    assert 11.9 < ticks_value(pair, [0, 10**8], [0.0]) <= 12
    assert ticks_value(pair, [0, 10**15], [1e300]) < 0
    assert ticks_value(pair, [-(10**15), -(10**14)], [0.0]) <= 12
    many = stream((0.0, 1.0, VAST), units=5000, tick_s=10.0)
    alone_s = many.fastest_s(0)
    assert alone_s * 0.99 < ticks_value(many, [0, 1], [0.0]) <= alone_s


@pytest.mark.parametrize(
    ("breakpoints", "prices", "blocks", "message"),
    [
        ([0, 1.5], [1.0], {}, "whole number"),
        ([0, math.inf], [1.0], {}, "whole number"),
        ([0, 2, 2], [1.0, 1.0], {}, "ascend"),
        ([2, 0], [1.0], {}, "ascend"),
        ([], [], {}, "ascend"),
        ([0, 1], [-1.0], {}, ">= 0"),
        ([0, 1], [math.nan], {}, ">= 0"),
        ([0, 1], [math.inf], {}, ">= 0"),
        ([0, 1], [1.0, 1.0], {}, "1 prices"),
        ([0, 1], [1.0], {"2": [-1.0]}, ">= 0"),
        ([0, 1], [1.0], {"2": []}, "1 prices"),
        ([0, 1], [1.0], {"1": [1.0]}, "size"),
        ([0, 1], [1.0], {"0": [1.0]}, "size"),
        ([0, 1], [1.0], {"02": [1.0]}, "size"),
        ([0, 1], [1.0], {"two": [1.0]}, "size"),
    ],
)
def test_what_is_no_price_by_slot(breakpoints, prices, blocks, message):
    """Refused with a reason."""
    with pytest.raises(ValueError, match=message):
        ticks_value(example(), breakpoints, prices, blocks)


def test_a_larger_value_is_refused():
    """A certificate that claims more than its prices prove."""
    found = solve(example(), method="prices")
    forged = replace(found, certificate=replace(found.certificate, value=math.nextafter(found.bound, math.inf)))
    dearer = replace(found, certificate=replace(found.certificate, prices=(9.0,) * len(found.certificate.prices)))
    assert not dlsched.verify(example(), found).failures
    assert all("is claimed, it proves" in dlsched.verify(example(), each).failures[0] for each in (forged, dearer))
