"""What floats say of a price, against rational arithmetic: never above it, and hardly below."""

from fractions import Fraction

import numpy as np
import pytest

from dlsched.async_sgd import Instance, certificate, generate, lagrange
from dlsched.async_sgd.certificate import exact_times, least_values, price_below, price_bound, verify
from dlsched.async_sgd.costs import cost_table
from dlsched.core.limits import no_tick

from .nasty import nasty

UNIT = 2.0**-48
JOB = {"id": "a", "epochs": 1, "dataset_examples": 1e6, "batch_examples": 1, "parameter_bytes": 1e6}
JOB |= {"bandwidth_bytes_per_s": 1e9, "compute_s": 1.0}


def exact_least(instance, index, price, most):
    """Least of time + price n over the counts up to ``most``, in rational arithmetic."""
    times = exact_times(instance.jobs[index], tick=no_tick)
    lows = (Fraction(*times.on(nodes).low) + Fraction(price) * nodes for nodes in range(1, most + 1))
    return min(lows)


def holds(instance, price):
    """How many jobs floats tell of; what they say is right, and off by two units for every node at most."""
    table = cost_table(instance)
    values, counts = least_values(instance, table, price)
    for index in np.flatnonzero(np.isfinite(values)).tolist():
        exact = exact_least(instance, index, price, instance.most(index))
        found = Fraction(float(values[index])) + Fraction(price) * int(counts[index])
        assert exact - exact * Fraction(2 * UNIT) * instance.most(index) <= found <= exact
    return int(np.isfinite(values).sum())


def test_values_of_drawn_instances():
    """All presets, at the best price and away from it."""
    told = 0
    for seed, preset in enumerate(("published", "network", "update", "compute", "mixed", "equal")):
        instance = generate(preset=preset, jobs=4, nodes=40, seed=seed)
        best = lagrange(instance).price
        told += sum(holds(instance, best * factor) for factor in (0.5, 0.97, 1.0, 1.03, 10.0))
    assert told >= 100  # of 120; cheap nodes lead beyond the table, and dear ones may be as good as none


def test_values_of_nasty_instances():
    """Ties, all magnitudes, jobs without work: also there, for some prices each."""
    told = 0
    for seed in range(150):
        generator = np.random.default_rng(seed)
        instance = nasty(generator)
        if len(instance.jobs) <= instance.nodes:
            told += sum(holds(instance, float(price)) for price in 10.0 ** generator.integers(-12, 12, size=3))
    assert told >= 300


def test_times_err_less_than_they_say():
    """Half a unit for every node is proven; 3 shards and half duplex, on up to 200 nodes."""
    for seed in range(4):
        drawn = generate(preset="mixed", jobs=3, nodes=3, seed=seed)
        jobs = [job.model_dump() | {"shards": 3, "duplex": "half"} for job in drawn.jobs]
        instance = Instance(name="long", nodes=200, jobs=jobs)
        table = cost_table(instance)
        for index, job in enumerate(instance.jobs):
            times = exact_times(job, tick=no_tick)
            for pair in range(table.starts[index], table.starts[index + 1]):
                nodes, time_s = int(table.counts[pair]), Fraction(float(table.costs[pair]))
                assert abs(time_s / Fraction(*times.on(nodes).low) - 1) <= nodes * Fraction(UNIT) / 2


@pytest.mark.parametrize("further", [0.25, 3.0])
def test_steps_that_tell_only_together(monkeypatch, further):
    """On 20,000 nodes a step saves 2.5e-9 of the time, of which 20,000 units of error are 7e-11: strides tell, and exactly."""
    monkeypatch.setattr(certificate, "_FURTHER", further)
    instance = Instance(name="wide", nodes=20_000, jobs=[JOB | {"parameter_bytes": 0.0, "max_nodes": 20_000}])
    price = 1e6 / 15_000**2  # 1e6 / n + price n is least at 15,000: 2e6 / 15,000
    value, count = certificate._walked(instance, 0, 14_000, price)
    found = Fraction(value) + Fraction(price) * count
    exact = Fraction(1_000_000, 15_000) + Fraction(price) * 15_000
    assert exact * (1 - Fraction(4 * 15_000 * UNIT)) <= found <= exact


def test_counts_that_end_too_early_do_not_tell():
    """The least lies at 15,000 nodes, and only some more than 5,000 are looked at."""
    instance = Instance(name="wide", nodes=20_000, jobs=[JOB | {"parameter_bytes": 0.0}])
    assert np.isnan(certificate._walked(instance, 0, 5000, 1e6 / 15_000**2)[0])


@pytest.mark.parametrize(
    "fields",
    [
        {"compute_s": 1e-95},  # too small for floats that must not underflow
        {"parameter_bytes": 1e-300, "bandwidth_bytes_per_s": 1e300},  # a demand that is 0 in floats
        {"update_s": 5e-324, "shards": 7},
    ],
)
def test_numbers_that_floats_lose_are_left_to_exact_arithmetic(fields):
    """The job is not told of, and the price proves what rational arithmetic says; the one beside it is told of."""
    instance = Instance(name="tiny", nodes=6, jobs=[JOB | fields, JOB | {"id": "b"}])
    table = cost_table(instance)
    values, _ = least_values(instance, table, 1e4)
    assert np.isnan(values).tolist() == [True, False]
    exact = price_bound(instance, 1e4)
    below = Fraction(price_below(table, instance, 1e4, no_tick))
    assert exact - (abs(exact) + 60_000) * Fraction(8 * UNIT) <= below <= exact


def test_a_certificate_of_many_pairs():
    """Above a thousand pairs the value is that of floats: proven, and below that of exact arithmetic by less than 1e-11."""
    instance = generate(preset="mixed", jobs=80, nodes=800, seed=3)
    assert cost_table(instance).pairs > 1000
    certificate = lagrange(instance)
    exact = verify(instance, certificate)
    assert exact * (1 - Fraction(1e-11)) <= Fraction(certificate.value) <= exact
    assert lagrange(instance, price=certificate.price).value >= certificate.value
