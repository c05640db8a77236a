"""The fast simulation against the real one, and other weights from the middle against the same from the beginning."""

import numpy as np
import pytest

from dlsched.elastic_stream import generate
from dlsched.elastic_stream.checker import check, objective
from dlsched.elastic_stream.fast_simulation import Course, Speeds
from dlsched.elastic_stream.planning import Weighed
from dlsched.elastic_stream.simulation.simulator import simulate
from tests.elastic_stream.streams import stream


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
