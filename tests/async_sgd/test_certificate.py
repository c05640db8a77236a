"""What certificates prove, against rational arithmetic over every allowed count."""

import math
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlsched.async_sgd import Instance, Job, example, generate, lagrange, marginal, objective, relaxation
from dlsched.async_sgd import certificate as certificate_room
from dlsched.async_sgd.certificate import price_bound, verify
from dlsched.certificates import DualsCertificate, LengthsCertificate, PriceCertificate
from dlsched.core.errors import UsageError
from dlsched.queueing import exact_times
from dlsched.testing.async_sgd import async_sgd_instances, brute_force_async, exact_throughput

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
    monkeypatch.setattr(exact_times, "LONGEST", 160)
    monkeypatch.setattr(exact_times, "KEPT", 150)


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
        (PriceCertificate(-1.0, 0.0), "must be from 0 to 1e.280"),
        (PriceCertificate(math.inf, 0.0), "must be from 0 to 1e.280"),
        (PriceCertificate(math.nan, 0.0), "must be from 0 to 1e.280"),
        (PriceCertificate(1e308, 0.0), "must be from 0 to 1e.280"),
        (DualsCertificate("milp", {"capacity": -1e308}, 0.0), "beyond 1e.280"),
        (DualsCertificate("milp", {"choice_a": 1e308}, 0.0), "beyond 1e.280"),
        (DualsCertificate("arc", {}, 0.0), "no duals of a formulation 'arc'"),
        (DualsCertificate("milp", {"budget": 1.0}, 0.0), "no row 'budget'"),
        (DualsCertificate("milp", {"capacity": 1.0}, 0.0), "wrong sign"),
        (DualsCertificate("milp", {"choice_a": math.inf}, 0.0), "not finite"),
        (LengthsCertificate({}, 0.0), "no certificates of kind 'lengths'"),
    ],
)
def test_what_is_no_certificate(certificate, message):
    """Named, whatever it claims."""
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


@pytest.mark.parametrize("price", [-1.0, math.inf, math.nan])
def test_prices_out_of_range(price):
    """A located error."""
    with pytest.raises(UsageError, match="price: found"):
        lagrange(example(), price=price)


@pytest.mark.parametrize("bound", [lagrange, relaxation])
def test_no_bound_of_an_infeasible_instance(bound):
    """Every bound would hold."""
    instance = example().model_copy(update={"nodes": 1, "known": None})
    with pytest.raises(UsageError, match="infeasible"):
        bound(instance)
