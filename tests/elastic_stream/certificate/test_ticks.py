"""What prices by slot prove: by hand, against all plans of a job, against brute force; what is refused."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlsched import verify
from dlsched.elastic_stream import Instance, example, solve
from dlsched.elastic_stream.certificate import ticks_value
from dlsched.testing import brute_force_stream, elastic_stream_instances
from elastic_stream.slot_plans import cheapest
from elastic_stream.streams import stream

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
    law = {"theta": [50.0, 0.0, 0.0, 1.0], "samples": 1.0, "model_bytes": 0.0}
    jobs = [{"id": "a", "arrival_s": 0, "epochs": 1, "speed_law": law}]
    many = Instance(name="many", units=5000, tick_s=10.0, jobs=jobs)
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
    assert not verify(example(), found).failures
    assert all("is claimed, it proves" in verify(example(), each).failures[0] for each in (forged, dearer))
