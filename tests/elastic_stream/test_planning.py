"""Plans in hindsight and their fast simulation: feasible, repeatable, never worse than their start; units shared by hand."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlsched.certificates import PricesCertificate
from dlsched.core.errors import UsageError
from dlsched.elastic_stream import bound, example, generate, planning
from dlsched.elastic_stream.bounds.any_time import worths
from dlsched.elastic_stream.checker import check, infeasible, objective
from dlsched.elastic_stream.fast_simulation import FRESH, STOPPED, Course, Speeds, Weighed, offers_of, share, worth_it
from dlsched.elastic_stream.planning import improve, plan_stream
from dlsched.elastic_stream.simulation.simulator import simulate

from .nasty import nasty
from .streams import stream


def drawn(seed, tick_s=None, jobs=14, within_s=200.0):
    """Jobs of all kinds, at a Unix time every third time: speeds that rise and fall, single counts, none to do, alike."""
    generator = np.random.default_rng(seed)
    zero = 1.7e9 if seed % 3 == 0 else 0.0
    made = []
    for _ in range(jobs):
        counts = sorted({int(count) for count in generator.integers(1, 9, size=int(generator.integers(1, 5)))})
        times = {count: float(generator.uniform(5, 60)) for count in counts}
        further = {"restart_s": float(generator.choice([0.0, generator.uniform(0, 20)]))}
        if generator.random() < 0.3:
            further["stops_at"] = 0.4
        epochs = float(generator.choice([0.0, generator.uniform(0.2, 5), generator.uniform(0.2, 5)]))
        job = (zero + float(generator.uniform(0, within_s)), epochs, times, further)
        made += [job] * (2 if generator.random() < 0.2 else 1)
    return stream(*made, units=8, tick_s=tick_s)


def weights_of(instance, seed):
    return np.random.default_rng(seed).uniform(1, 9, len(instance.jobs)).tolist()


def total_s(instance, speeds, weights):
    found = simulate(instance, Weighed(speeds, weights))
    assert check(instance, found) == []
    return objective(instance, found) * len(instance.jobs)


@pytest.mark.parametrize("tick_s", [None, 7.0])
@pytest.mark.parametrize("seed", range(25))
def test_agrees_with_the_simulator(seed, tick_s):
    instance = drawn(seed, tick_s)
    weights, speeds = weights_of(instance, seed), Speeds(instance, (1.5, 20.0)[seed % 2])
    assert Course(speeds, weights).total_s == pytest.approx(total_s(instance, speeds, weights), rel=1e-6)


@pytest.mark.parametrize("preset", ["poisson", "bursts", "daynight", "resnet110", "search"])
def test_agrees_on_generated_streams(preset):
    instance = generate(preset=preset, jobs=40, gpus=16, seed=3)
    speeds = Speeds(instance)
    weights = weights_of(instance, 3)
    assert Course(speeds, weights).total_s == pytest.approx(total_s(instance, speeds, weights), rel=1e-9)


@pytest.mark.parametrize("tick_s", [None, 7.0])
@pytest.mark.parametrize("spread", [1, 30])
@pytest.mark.parametrize("seed", range(4))
def test_other_weights_give_what_they_give_from_the_beginning(seed, spread, tick_s):
    """Some tries are kept; where jobs come in long intervals the cluster is empty now and then."""
    instance = drawn(seed, tick_s, 30, 200.0 * spread)
    speeds, generator = Speeds(instance), np.random.default_rng(seed)
    course = Course(speeds, weights_of(instance, seed))
    for number in range(40):
        jobs = generator.choice(speeds.order, size=int(generator.integers(1, 4)), replace=False)
        changed = {int(job): float(generator.uniform(1, 9)) for job in jobs}
        whole = [changed.get(job, weight) for job, weight in enumerate(course.weights)]
        fresh_s = Course(speeds, whole).total_s
        assert course.tried(changed) == pytest.approx(fresh_s, rel=1e-9)
        if number % 3 == 0:
            course.keep()
            assert course.weights == whole
            assert course.total_s == pytest.approx(fresh_s, rel=1e-9)


def test_by_hand():
    # 1 unit; the job of 10 s stops that of 30 s at 5 s if it weighs more; a pause of 4 s
    jobs = (0, 1, {1: 30.0}, {"restart_s": 4.0}), (5, 1, {1: 10.0})
    speeds = Speeds(stream(*jobs, units=1))
    assert Course(speeds, [1.0, 1.0]).total_s == pytest.approx(10 + 44)
    assert Course(speeds, [9.0, 1.0]).total_s == pytest.approx(35 + 30)
    # with ticks of 4 s it begins at 8 and ends at 18; the other goes on at 20, with 22 s to do
    ticked = Speeds(stream(*jobs, units=1, tick_s=4.0))
    assert Course(ticked, [1.0, 1.0]).total_s == pytest.approx(13 + 46)


class Enough(Exception):  # noqa: N818  a signal
    """Stops a plan."""


def planned(instance, tries=30, seed=0, weights=None, **further):
    """A plan, and the objectives of the streams handed over on the way."""
    met = []
    made = plan_stream(
        instance,
        [1.0] * len(instance.jobs) if weights is None else weights,
        generator=np.random.default_rng(seed),
        effort=tries * len(instance.jobs),
        better=lambda found: met.append(objective(instance, found)),
        **further,
    )
    assert check(instance, made) == []
    assert met[-1] == objective(instance, made)
    return made, met


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_nasty_streams(seed):
    instance = nasty(np.random.default_rng(seed), most_jobs=6)
    if infeasible(instance) is not None:
        with pytest.raises(UsageError, match="no stream"):
            planned(instance)
        return
    made, met = planned(instance)
    assert met == sorted(met, reverse=True)
    assert objective(instance, made) >= bound(instance).value * (1 - 1e-9)


@pytest.mark.parametrize("tick_s", [None, 7.0])
@pytest.mark.parametrize("seed", range(6))
def test_a_search_gains(seed, tick_s):
    instance = drawn(seed, tick_s)
    made, met = planned(instance, 400)
    assert met == sorted(set(met), reverse=True)
    assert len(met) > 1
    assert planned(instance, 400)[0] == made


@pytest.mark.parametrize("tick_s", [None, 5.0])
def test_laws(tick_s):
    """Seconds of an epoch on w units: 8 / w + .5, plus nothing that rises with w."""
    law = {"theta": (8.0, 0.5, 0.0, 0.0), "samples": 1.0, "model_bytes": 0.0}
    instance = stream(*[(2.0 * k, 5 + k, law, {"restart_s": 1.0}) for k in range(5)], units=12, tick_s=tick_s)
    _, met = planned(instance, 100)
    assert met[-1] >= bound(instance).value


def test_jobs_without_work():
    made, met = planned(stream((0, 0, {1: 9.0}), (2, 0.0, {2: 9.0}), units=4))
    assert not made.periods
    assert met == [0.0]


def test_finds_what_is_best_by_hand():
    """The short job first, though the long one weighs more: 8 + 32, not 24 + 32 s."""
    instance = stream((0, 1, {1: 24.0}), (0, 1, {1: 8.0}), units=1)
    assert planned(instance, 100, weights=[900.0, 1.0])[1][-1] == pytest.approx(20.0)
    # the optimum of the example, proven in the documentation
    assert planned(example(), 100)[1][-1] == pytest.approx(19.6)


def test_weights_count_at_least_the_fastest_run():
    """A multiplier of 0 says nothing: both count 8 and 24 s, equal gains per unit, and the first in the file goes first."""
    instance = stream((0, 1, {1: 24.0}), (0, 1, {1: 8.0}), units=1)
    _, met = planned(instance, 0, weights=[0.0, 0.0])
    assert met == [pytest.approx(20.0)]  # the better of that, 28, and least work first


def test_a_limit_keeps_what_was_found():
    instance, kept, ticks = drawn(1), [], iter(range(300))

    def limited():
        if next(ticks, None) is None:
            raise Enough

    with pytest.raises(Enough):
        plan_stream(
            instance,
            [1.0] * len(instance.jobs),
            generator=np.random.default_rng(0),
            effort=400 * len(instance.jobs),
            better=kept.append,
            tick=limited,
        )
    met = [objective(instance, made) for made in kept]
    assert check(instance, kept[-1]) == []
    assert len(met) > 1
    assert met == planned(instance, 400)[1][: len(met)]


@pytest.mark.parametrize("seed", range(20))
def test_own_prices_of_nasty_streams(seed, monkeypatch):
    """What many jobs are given, asked of few: an interval an arrival, at Unix times and with ticks too."""
    monkeypatch.setattr(planning, "_SMALL", 0)
    monkeypatch.setattr(planning, "_ARRIVALS", 1)
    instance = nasty(np.random.default_rng(seed), most_jobs=6)
    if infeasible(instance) is None:
        made, met = planned(instance)
        assert met == sorted(met, reverse=True)
        assert objective(instance, made) >= bound(instance).value * (1 - 1e-9)


def test_the_price_of_an_event_by_hand():
    """One unit: the second job, of gain 1 / 10 a unit, waits from 5 s to 30 s for the first one, of gain 9 / 30."""
    instance = stream((0, 1, {1: 30.0}), (5, 1, {1: 10.0}), units=1)
    policy = planning._Recording(Speeds(instance), [9.0, 1.0], 0)
    simulate(instance, policy)
    assert policy.times.tolist() == [0.0, 5.0, 30.0, 40.0]
    assert policy.prices.tolist() == pytest.approx([0.0, 0.1, 0.0, 0.0])


def test_own_prices_gain():
    """Steady use, and worths at one price for all times: the streams from their own prices have less flow time."""
    instance = generate(jobs=3_000, gpus=60, seed=1)
    last_s = max(job.arrival_s for job in instance.jobs)
    weights = worths(instance, PricesCertificate((0.0, last_s), (1.0,), 0.0)).tolist()
    _, met = planned(instance, 0, weights=weights)
    assert len(met) > 1
    assert met[-1] < 0.97 * met[0]


def test_improve_hands_over_its_best():
    instance = drawn(4)
    speeds = Speeds(instance)
    course = Course(speeds, [1.0] * len(instance.jobs))
    start_s, handed = course.total_s, []
    improve(course, 300, np.random.default_rng(1), better=handed.append)
    totals = [Course(speeds, weights).total_s for weights in handed]
    assert totals == sorted(totals, reverse=True)
    assert totals[-1] < start_s
    assert totals[-1] <= course.total_s * (1 + 1e-9)


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
