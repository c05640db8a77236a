"""Certificates of async_sgd: exact seconds of a job on n nodes, minima over counts, and float intervals of a job's time."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlsched.async_sgd import Instance, Job, example, generate, lagrange, marginal, objective, relaxation
from dlsched.async_sgd import certificate as certificate_room
from dlsched.async_sgd.certificate import ExactTimes, Ratio, exact_times, least_values, price_below, price_bound, verify
from dlsched.async_sgd.costs import cost_table
from dlsched.certificates import DualsCertificate, PriceCertificate
from dlsched.core.errors import UsageError
from dlsched.core.limits import no_tick
from dlsched.testing.async_sgd import async_sgd_instances, brute_force_async, convolution, exact_throughput, networks

from .nasty import nasty

EXACT = settings(max_examples=40, derandomize=True, deadline=None, database=None)
CYCLES = Fraction(1000, 3)


def both(network, most):
    """The recursion on a network, and the seconds on 1 .. most nodes by convolution."""
    stations = [(Fraction(station.demand_s), station.copies) for station in network.stations]
    spelled_out = [demand for demand, copies in stations for _ in range(copies)]
    rates = convolution(Fraction(network.delay_s), spelled_out, most)
    return ExactTimes(Fraction(network.delay_s), stations, CYCLES), [CYCLES / rate for rate in rates]


def enclosed(times, nodes):
    """The two ends as fractions."""
    low, high = times.on(nodes)
    return Fraction(*low), Fraction(*high)


@EXACT
@given(networks(max_kinds=2), st.integers(1, 6))
def test_times_are_exact(network, most):
    """The recursion of integers gives the rational number that convolution gives, and none is below the least."""
    found, times = both(network, most)
    assert [enclosed(found, n) for n in range(1, most + 1)] == [(time, time) for time in times]
    assert found.least == CYCLES * Fraction(network.largest_s) <= times[-1]


def test_long_numbers_are_enclosed(monkeypatch):
    """Cut off to 150 bits, the two ends hold the rational number and are 2^-130 apart; and the cut-off is reached."""
    monkeypatch.setattr(certificate_room, "LONGEST", 160)
    monkeypatch.setattr(certificate_room, "KEPT", 150)
    cut = []

    @EXACT
    @given(networks(max_kinds=2))
    def enclosed_narrowly(network):
        found, times = both(network, 12)
        for n, exact in enumerate(times, 1):
            low, high = enclosed(found, n)
            assert low <= exact <= high <= low + exact / 2**130
            cut.append(low < high)

    enclosed_narrowly()
    assert sum(cut) > 20


def test_savings_against_a_price():
    """Linear speed-up, 12 s: the second node saves 6, more than 5, less than 7, as much as 6."""
    found = ExactTimes(Fraction(1), [], Fraction(12))
    assert [found.saves(1, Ratio(price, 1)) for price in (5, 7, 6)] == [True, False, None]


SETTINGS = settings(max_examples=20, derandomize=True, deadline=None, database=None)


def exact_times_of(instance):
    """Seconds of every job on 1 .. most nodes, as rational numbers."""
    for index, job in enumerate(instance.jobs):
        yield [job.exact_batches / exact_throughput(job, n) for n in range(1, instance.most(index) + 1)]


def naive_price(instance, price):
    """sum_j min_n (time_j(n) + price n) - price N."""
    price = Fraction(price)
    minima = (min(time + price * n for n, time in enumerate(times, 1)) for times in exact_times_of(instance))
    return sum(minima) - price * instance.nodes


def naive_duals(instance, rows):
    """The product y b + the negative part of every reduced cost."""
    capacity = Fraction(rows.get("capacity", 0.0))
    total = capacity * instance.nodes
    for job, times in zip(instance.jobs, exact_times_of(instance), strict=True):
        choice = Fraction(rows.get(f"choice_{job.id}", 0.0))
        total += choice + sum(min(Fraction(0), time - choice - capacity * n) for n, time in enumerate(times, 1))
    return total


@pytest.fixture
def short(monkeypatch):
    """Numbers are cut off after some digits."""
    monkeypatch.setattr(certificate_room, "LONGEST", 160)
    monkeypatch.setattr(certificate_room, "KEPT", 150)


def test_bounds_hold_with_long_numbers(short):
    """What prices and duals prove with cut numbers is below the rational number, by 2^-120 of what is added."""

    @SETTINGS
    @given(async_sgd_instances(), st.sampled_from([0.0, 1e-9, 1.0, 1e5]), st.sampled_from([0.0, 1.0, 1e6]))
    def hold(instance, price, choice):
        exact = naive_price(instance, price)
        slack = (exact + 2 * Fraction(price) * instance.nodes) / 2**120
        assert exact - slack <= price_bound(instance, price) <= exact
        rows = {"capacity": -price, "choice_j0": choice}
        exact = naive_duals(instance, rows)
        scale = (
            sum(sum(times) for times in exact_times_of(instance))
            + Fraction(price) * instance.nodes**2
            + Fraction(choice)
        )
        assert exact - scale / 2**100 <= verify(instance, DualsCertificate("milp", rows, 0.0)) <= exact

    hold()


def saturating(nodes, **fields):
    """One job whose update takes half of its cycle: two workers keep it busy."""
    usual = {"epochs": 1, "dataset_examples": 16, "batch_examples": 1, "parameter_bytes": 0, "bandwidth_bytes_per_s": 1}
    job = Job(id="a", **(usual | {"compute_s": 1.0, "update_s": 1.0} | fields))
    return Instance(name="busy", nodes=nodes, jobs=[job])


@pytest.mark.parametrize("nodes", [1000, 2**53])
@pytest.mark.parametrize("price", [0.0, 1e-9])
def test_a_busy_station_ends_the_walk(nodes, price):
    """16 batches of one second of update take 16 s at least, and hardly more with enough workers: the rest is not looked at."""
    found = price_bound(saturating(nodes), price) + Fraction(price) * nodes
    assert 16 <= found <= 16 + 60 * Fraction(price) + Fraction(1, 2**35)


def test_duals_with_a_busy_station():
    """Reduced costs below 0 on all further counts are added up by the floor: less than all of them, by 2^-40 each."""
    instance = saturating(200)
    rows = {"capacity": 0.0, "choice_a": 17.0}
    exact = naive_duals(instance, rows)
    assert exact - Fraction(200, 2**35) <= verify(instance, DualsCertificate("milp", rows, 0.0)) <= exact


def test_duals_end_on_many_counts(monkeypatch):
    """A multiplier that makes every count worth it: those beyond the ones looked at are added up by the floor, never above."""
    monkeypatch.setattr(certificate_room, "MOST", 20)
    instance = saturating(200, update_s=0.0)
    rows = {"capacity": -1e-3, "choice_a": 17.0}
    exact = naive_duals(instance, rows)
    found = verify(instance, DualsCertificate("milp", rows, 0.0))
    assert exact - sum(Fraction(16, n) for n in range(21, 201)) <= found <= exact


def test_jobs_without_work_end_the_walk():
    """No time on any count."""
    assert price_bound(saturating(2**53, epochs=0), 0.0) == 0


@SETTINGS
@given(async_sgd_instances(), st.sampled_from([0.0, 1e-9, 0.1, 1.0, 100.0, 1e5, 1e12]))
def test_prices_prove_what_rational_arithmetic_says(instance, price):
    """The same number."""
    assert price_bound(instance, price) == naive_price(instance, price)


@SETTINGS
@given(async_sgd_instances(), st.sampled_from([0.0, -0.5, -10.0, -1e6]), st.sampled_from([-5.0, 0.0, 1.0, 1e3, 1e9]))
def test_duals_prove_what_rational_arithmetic_says(instance, capacity, choice):
    """Any multipliers of the right sign, good or bad."""
    rows = {"capacity": capacity, "choice_j0": choice}
    assert verify(instance, DualsCertificate("milp", rows, 0.0)) == naive_duals(instance, rows)


@SETTINGS
@given(async_sgd_instances(), st.sampled_from([0.1, 100.0]))
def test_many_jobs_are_rounded_down(instance, price):
    """Where fractions are too long to add up the bound is below theirs by 2^-250 of what is added at most."""
    before, certificate_room._LONG = certificate_room._LONG, 0
    try:
        found = price_bound(instance, price)
    finally:
        certificate_room._LONG = before
    exact = naive_price(instance, price)
    assert exact - (exact + Fraction(price) * instance.nodes) / 2**250 <= found <= exact


@SETTINGS
@given(async_sgd_instances(feasible=True))
def test_the_best_price_meets_the_optimum(instance):
    """Convex times leave no gap: the bound is the brute-force optimum, up to rounding, and never above it."""
    best, _ = brute_force_async(instance)
    for certificate in (lagrange(instance), relaxation(instance)):
        assert best * (1 - 1e-7) - 1e-12 <= certificate.value <= best * (1 + 1e-15)
        assert Fraction(certificate.value) <= verify(instance, certificate)


def test_duals_by_hand():
    """One job of 12 s that scales linearly, three nodes: 12 / 3 = 4, with the price of a node 12 / 3 - 12 / 4 or dearer."""
    job = Job(
        id="a", epochs=1, dataset_examples=12, batch_examples=1, parameter_bytes=0, bandwidth_bytes_per_s=1, compute_s=1
    )
    instance = Instance(name="one", nodes=3, jobs=[job])
    assert price_bound(instance, 1.5) == 4  # min(12 + 1.5, 6 + 3, 4 + 4.5) - 4.5
    assert price_bound(instance, 0.0) == 4
    assert price_bound(instance, 6.0) == 0  # min(18, 18, 22) - 18
    assert verify(instance, DualsCertificate("milp", {"capacity": -2.0, "choice_a": 10.0}, 0.0)) == 4  # 6 + 4 - 6


@pytest.mark.parametrize(
    ("certificate", "message"),
    [
        (PriceCertificate(math.inf, 0.0), "must be from 0 to 1e.280"),
        (DualsCertificate("milp", {"capacity": -1e308}, 0.0), "beyond 1e.280"),
        (DualsCertificate("milp", {"budget": 1.0}, 0.0), "no row 'budget'"),
    ],
)
def test_what_is_no_certificate(certificate, message):
    """Named, whatever it claims; tests of ``allocation.certificate`` have the other reasons."""
    with pytest.raises(ValueError, match=message):
        verify(example(), certificate)


def test_a_claim_that_is_too_high_does_not_verify():
    """Raising the value by one unit in its last place passes what is proven."""
    honest = lagrange(example())
    raised = replace(honest, value=math.nextafter(honest.value, math.inf))
    assert Fraction(honest.value) <= verify(example(), honest) < Fraction(raised.value)


def test_many_nodes_are_verified():
    """One job on 3,000 nodes: enclosures do not widen with the count, and the bound meets marginal gain."""
    (job,) = generate(preset="update", jobs=1, nodes=1, seed=2).jobs
    instance = Instance(name="wide", nodes=3000, jobs=[job])
    assert lagrange(instance).value == pytest.approx(objective(instance, marginal(instance)), rel=1e-9)


def test_no_bound_of_an_infeasible_instance():
    """Every bound would hold; nor at a price that is none."""
    instance = example().model_copy(update={"nodes": 1, "known": None})
    for bound in (lagrange, relaxation):
        with pytest.raises(UsageError, match="infeasible"):
            bound(instance)
    with pytest.raises(UsageError, match="price: found nan"):
        lagrange(example(), price=math.nan)


UNIT = 2.0**-48
JOB = {
    "id": "a",
    "epochs": 1,
    "dataset_examples": 1e6,
    "batch_examples": 1,
    "parameter_bytes": 1e6,
    "bandwidth_bytes_per_s": 1e9,
    "compute_s": 1.0,
}


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
    monkeypatch.setattr(certificate_room, "_FURTHER", further)
    instance = Instance(name="wide", nodes=20_000, jobs=[JOB | {"parameter_bytes": 0.0, "max_nodes": 20_000}])
    price = 1e6 / 15_000**2  # 1e6 / n + price n is least at 15,000: 2e6 / 15,000
    value, count = certificate_room._walked(instance, 0, 14_000, price)
    found = Fraction(value) + Fraction(price) * count
    exact = Fraction(1_000_000, 15_000) + Fraction(price) * 15_000
    assert exact * (1 - Fraction(4 * 15_000 * UNIT)) <= found <= exact


def test_counts_that_end_too_early_do_not_tell():
    """The least lies at 15,000 nodes, and only some more than 5,000 are looked at."""
    instance = Instance(name="wide", nodes=20_000, jobs=[JOB | {"parameter_bytes": 0.0}])
    assert np.isnan(certificate_room._walked(instance, 0, 5000, 1e6 / 15_000**2)[0])


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
