"""Weights: the weighted mean by hand, optima by brute force and HiGHS, bounds below them, orders for the weight."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from conftest import drawn, on_each

from dlsched import Limits
from dlsched.certificates import SrptCertificate, busy_value, srpt_value
from dlsched.core.errors import InstanceError, UsageError
from dlsched.elastic_stream import (
    Instance,
    area,
    check,
    flow_times,
    generate,
    length,
    objective,
    ordered,
    plan,
    prices,
    simulate,
    solve,
    weighted,
)
from dlsched.elastic_stream.certificate import verify
from dlsched.elastic_stream.methods import METHODS
from dlsched.testing import elastic_stream_instances

from .streams import POLICIES, stream


def heavier(instance, factor):
    """The same jobs, all weights times a factor."""
    jobs = [job.model_copy(update={"weight": job.weight * factor}) for job in instance.jobs]
    return instance.model_copy(update={"jobs": tuple(jobs)})


SHORT, HEAVY = (0.0, 1.0, {1: 10.0}), (0.0, 1.0, {1: 12.0}, {"weight": 3.0})


def test_the_heavy_job_first_by_hand():
    """10 s of weight 1 and 12 s of weight 3, one unit: the heavy one first is (22 + 3 x 12) / 4, the short one first 19."""
    for tick_s in (2.0, None):
        instance = stream(SHORT, HEAVY, units=1, tick_s=tick_s)
        result = solve(instance)
        assert result.objective == pytest.approx(14.5) and result.solution.periods["j1"][0].start_s == 0.0
        first = stream(SHORT, HEAVY[:3], units=1, tick_s=tick_s)
        assert solve(first).solution.periods["j0"][0].start_s == 0.0
        assert objective(instance, solve(first).solution) == 19.0
    assert solve(stream(SHORT, HEAVY, units=1, tick_s=2.0), method="milp").objective == pytest.approx(14.5)


def test_bounds_by_hand():
    """Two jobs on one unit: of all weights the mean busy times are 16 + 5 and 6 + 6; of weight 1 SRPT, of the rest 2 x 12.

    The heavy job is served first: M = 6 and 12 + 5 = 17, so 17 + 5 + 3 x (6 + 6) = 58, which the best stream attains. The
    split proves no more than 10 + 22 + 2 x 12 = 56. Lengths: 10 + 3 x 12.
    """
    instance = stream(SHORT, HEAVY, units=1)
    assert area(instance) == SrptCertificate({"j0": 10.0, "j1": 12.0}, 14.5)
    assert length(instance).value == 46 / 4
    assert verify(instance, SrptCertificate({"j1": 12.0}, 0.0)) == Fraction(3 * 12, 4)
    with pytest.raises(ValueError, match=r"12.5 s is claimed of job 'j1', it needs 12.0 s"):
        verify(instance, SrptCertificate({"j1": 12.5}, 0.0))


def test_orders_go_by_weight():
    """One unit, two jobs at once: the first to run is the least key over weight; of las the one that has had less for it."""
    cases = {
        "fifo": "j0",
        "srpt": "j1",
        "sjf": "j1",
        "efficiency": "j1",
        "las": "j0",
    }
    instance = stream(SHORT, HEAVY, units=1)
    for order, first in cases.items():
        made = ordered(instance, order, "fixed")
        assert min(made.periods, key=lambda job: made.periods[job][0].start_s) == first, order
    assert weighted(instance).periods["j1"][0].start_s == 0.0
    for method in ("doubling", "marginal", "myopic", "weighted", "priced"):
        # on 2 units a job takes 60 % of its time: the third unit goes to the heavy one, though the other is longer
        jobs = (0.0, 1.0, {1: 11.0, 2: 6.6}), (0.0, 1.0, {1: 10.0, 2: 6.0}, {"weight": 2.0})
        made = solve(stream(*jobs, units=3), method=method).solution
        assert [made.periods[job][0].units for job in ("j0", "j1")] == [1, 2], method


@pytest.mark.parametrize("tick", [60.0, None])
def test_only_ratios_of_weights_matter(tick):
    """All weights by a power of two: the same stream, objective and bound; all alike, also those of weight 1."""
    instance = generate(preset="slots", jobs=5, gpus=3, seed=2, tick=tick, weights="1,2,4")
    if tick is None:
        instance = instance.model_copy(update={"tick_s": None})
    plain = solve(instance, limits=Limits(nodes=20))
    for factor in (2.0**-200, 2.0**150):
        scaled = solve(heavier(instance, factor), limits=Limits(nodes=20))
        assert scaled.solution == plain.solution and scaled.objective == plain.objective
        assert scaled.bound == pytest.approx(plain.bound, rel=1e-9)
    alike = [job.model_copy(update={"weight": 1.0}) for job in instance.jobs]
    alike = instance.model_copy(update={"jobs": tuple(alike)})
    assert verify(heavier(alike, 3.0), area(alike)) == verify(alike, area(alike))
    for name in ("srpt-fixed", "las-equal", "priced", "weighted", "doubling"):
        assert solve(heavier(alike, 4.0), method=name).solution == solve(alike, method=name).solution


@pytest.mark.parametrize(("tick", "factor"), [(60.0, 1e-7 / 3), (None, 0.1)])
def test_weights_that_are_all_alike_change_no_bit(tick, factor):
    """Also those that are no power of two: the same streams, objectives and ends by every method; prices times the weight."""
    alike = generate(preset="slots", jobs=5, gpus=3, seed=3, tick=60.0).model_copy(update={"tick_s": tick})
    changed = heavier(alike, factor)
    limits = Limits(nodes=20)
    for name in METHODS:
        if name == "milp" and tick is None:
            continue
        plain, scaled = (solve(each, method=name, limits=limits) for each in (alike, changed))
        for said in ("solution", "objective", "status", "message", "figures"):
            assert getattr(scaled, said) == getattr(plain, said), (name, said)
        if plain.bound is not None:
            assert scaled.bound == pytest.approx(plain.bound, rel=1e-14)
        if scaled.certificate is not None:
            assert scaled.certificate.value <= verify(changed, scaled.certificate)
        if plain.certificate is not None and plain.certificate.kind == "prices":
            expected = tuple(factor * price for price in plain.certificate.prices)
            assert scaled.certificate.prices == expected and any(expected)
    found = prices(changed)
    assert found.prices == tuple(factor * price for price in prices(alike).prices)
    assert prices(changed, start=found).value >= found.value * (1 - 1e-3)
    assert plan(changed, effort=100.0) == plan(alike, effort=100.0)


def test_prices_and_plans_without_ticks():
    """Prices prove what they say, more than area and length; a plan comes to what the best policy does, or below."""
    instance = generate(jobs=12, gpus=8, load=1.2, seed=1, weights="1,4,16")
    certificate = prices(instance, rounds=12)
    assert verify(instance, certificate) >= certificate.value > max(area(instance).value, length(instance).value)
    made = plan(instance, effort=24000.0)
    assert not check(instance, made)
    best = min(objective(instance, simulate(instance, policy())) for policy in POLICIES.values())
    assert certificate.value <= objective(instance, made) <= best * 1.005


def test_weights_serve_heavy_jobs():
    """Over 200 jobs: heavy ones end sooner for their weight, and the weighted mean is less than where weights are unseen."""
    instance = generate(jobs=200, gpus=16, load=1.1, seed=3, weights="1,16")
    blind = heavier(instance, 1.0)
    blind = blind.model_copy(update={"jobs": tuple(job.model_copy(update={"weight": 1.0}) for job in instance.jobs)})
    heavy = np.array([job.weight > 1 for job in instance.jobs])
    for name in ("srpt-fixed", "sjf-knee", "efficiency-fixed", "priced", "weighted", "srpt-marginal"):
        seen, unseen = (solve(each, method=name).solution for each in (instance, blind))
        assert objective(instance, seen) < objective(instance, unseen), name
        assert np.mean(np.array(flow_times(instance, seen))[heavy]) < np.mean(
            np.array(flow_times(instance, unseen))[heavy]
        )


def unit_schedules(jobs):
    """All ways to serve jobs (release, size, weight) in whole seconds, one at a time, without idling on purpose."""

    def follow(now, left):
        if not any(left):
            yield ()
            return
        there = [j for j, (release, _, _) in enumerate(jobs) if left[j] and release <= now]
        for job in there or [None]:
            rest = tuple(n - (j == job) for j, n in enumerate(left))
            for others in follow(now + 1, rest):
                yield ((job, now), *others)

    return follow(0, tuple(size for _, size, _ in jobs))


def test_busy_values_are_the_least_of_all_schedules():
    """Mean busy times over all ways to serve whole seconds; the sum of weighted ends of every one is no less."""
    generator = np.random.default_rng(0)
    for _ in range(60):
        jobs = [
            (int(generator.integers(0, 5)), int(generator.integers(1, 4)), int(generator.choice([0, 1, 1, 2, 5])))
            for _ in range(int(generator.integers(1, 4)))
        ]
        busy, ends = [], []
        for ways in unit_schedules(jobs):
            served = [[now for job, now in ways if job == each] for each in range(len(jobs))]
            busy.append(
                sum(
                    weight * (Fraction(2 * sum(when) + size, 2 * size) + Fraction(size, 2))
                    for (_, size, weight), when in zip(jobs, served, strict=True)
                )
            )
            ends.append(sum(weight * (max(when) + 1) for (_, _, weight), when in zip(jobs, served, strict=True)))
        releases, sizes, weights = (list(map(float, column)) for column in zip(*jobs, strict=True))
        value = busy_value(releases, sizes, weights)
        assert min(busy) * (1 - Fraction(1, 2**62)) <= value <= min(busy) <= min(ends)


def test_busy_values_at_the_edges():
    """Nothing; sizes of 0; ties by hand; smaller sizes prove less; with equal weights at most what SRPT proves."""
    assert busy_value([], [], []) == 0
    assert busy_value([3.0, 0.5], [0.0, 0.0], [2.0, 0.1]) == 6 + Fraction(0.1) / 2
    assert busy_value([0.0, 1.0], [2.0, 1.0], [1.0, 3.0]) == Fraction(17, 2)
    generator = np.random.default_rng(1)
    for _ in range(50):
        releases, sizes = (generator.random(6) * scale for scale in (4.0, 2.0))
        weights = generator.choice([0.1, 1.0, 1e6, 1e-30], 6)
        value = busy_value(releases.tolist(), sizes.tolist(), weights.tolist())
        less = busy_value(releases.tolist(), (sizes * generator.random(6)).tolist(), weights.tolist())
        assert less <= value
        orders = itertools.permutations(range(6))
        assert value <= min(Fraction(in_order(order, releases, sizes, weights)) for order in orders) * (
            1 + Fraction(1e-12)
        )
        assert busy_value(releases.tolist(), sizes.tolist(), [1.0] * 6) <= srpt_value(releases.tolist(), sizes.tolist())
    for wrong in (-1.0, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="sizes must be numbers >= 0"):
            busy_value([0.0], [wrong], [1.0])


def in_order(order, releases, sizes, weights):
    """Weighted sum of ends of jobs one after the other."""
    now = total = 0.0
    for job in order:
        now = max(now, releases[job]) + sizes[job]
        total += weights[job] * now
    return total


def test_queues_with_weights_keep_the_rules():
    """Every policy at any time and at ticks; least attained service and remaining time with keys that move apart."""

    def holds(instance):
        for policy in POLICIES.values():
            assert not check(instance, simulate(instance, policy()))

    free = drawn(elastic_stream_instances, 10, feasible=True, max_jobs=8, max_units=6, ticked=False, weighted=True)
    on_each(free, holds)


@pytest.mark.parametrize("weight", [0.0, -1.0, 1e-101, 1e101, float("nan"), None])
def test_weights_out_of_range_are_refused(weight):
    """The field is named."""
    job = {"id": "a", "arrival_s": 0.0, "epochs": 1.0, "epoch_time_s": {1: 1.0}, "weight": weight}
    with pytest.raises(InstanceError, match=r"jobs\[0\].weight: found"):
        Instance(name="heavy", units=1, jobs=[job])


def test_generated_weights():
    """Drawn evenly after all else, so that the stream is the same without them; the command says so."""
    plain, made = generate(jobs=300, seed=5), generate(jobs=300, seed=5, weights="1,2.5,4")
    assert {job.weight for job in made.jobs} == {1.0, 2.5, 4.0}
    assert 70 < sum(job.weight == 2.5 for job in made.jobs) < 130
    assert [job.model_copy(update={"weight": 1.0}) for job in made.jobs] == list(plain.jobs)
    assert made.source == f"{plain.source} --weights 1,2.5,4"
    for wrong in ("", "1,x", "0,1", "1,inf", "-1"):
        with pytest.raises(UsageError, match="weights: found"):
            generate(weights=wrong)
