"""What certificates prove, against a naive implementation in rational arithmetic over every allowed count."""

import itertools
import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlsched.certificates import DualsCertificate, PriceCertificate
from dlsched.core.errors import UsageError
from dlsched.ring_allocation import example, lagrange, relaxation
from dlsched.ring_allocation.certificate import verify
from dlsched.testing import ring_allocation_instances

from .jobs import build

SETTINGS = settings(max_examples=25, derandomize=True, deadline=None, database=None)


def exact_costs(instance):
    """{count: cost} of every job, all counts, from the instance's fields and the formulas of formulations.md."""
    for index, job in enumerate(instance.jobs):
        costs = {}
        for w in instance.counts(index):
            if job.epoch_time_s is not None:
                time = Fraction(job.epoch_time_s[w])
            else:
                t0, t1, t2, t3 = map(Fraction, job.speed_law.theta)
                m, n = Fraction(job.speed_law.samples), Fraction(job.speed_law.model_bytes)
                time = t0 * m / w + t1 * (w - 1) + t2 * (w - 1) * n / w + t3
            restart = Fraction(job.restart_s) if job.current_gpus not in (None, w) else 0
            costs[w] = Fraction(job.weight) * (Fraction(job.epochs) * time + restart)
        yield costs


def exact_optimum(instance):
    """The least total over all allocations, as a rational number."""
    every = list(exact_costs(instance))
    totals = (
        sum(costs[w] for costs, w in zip(every, counts, strict=True))
        for counts in itertools.product(*every)
        if sum(counts) <= instance.gpus
    )
    return min(totals)


def naive_price(instance, price):
    """sum_j min_w (cost_j(w) + price w) - price C."""
    price = Fraction(price)
    return sum(min(c + price * w for w, c in costs.items()) for costs in exact_costs(instance)) - price * instance.gpus


def naive_duals(instance, rows):
    """The product y b + the negative part of every reduced cost, columns of the counts that can fit."""
    spare = max(0, instance.gpus - instance.minimum_gpus)
    capacity = Fraction(rows.get("capacity", 0.0))
    total = capacity * instance.gpus
    for job, costs in zip(instance.jobs, exact_costs(instance), strict=True):
        choice = Fraction(rows.get(f"choice_{job.id}", 0.0))
        fitting = {w: c for w, c in costs.items() if w <= min(costs) + spare}
        total += choice + sum(min(Fraction(0), c - choice - capacity * w) for w, c in fitting.items())
    return total


@SETTINGS
@given(ring_allocation_instances(), st.one_of(st.just(0.0), st.floats(0, 1e6)))
def test_a_price_proves_what_the_naive_formula_says(instance, price):
    """Exactly the same rational number, for any price, laws and restarts included."""
    assert verify(instance, PriceCertificate(price, 0.0)) == naive_price(instance, price)


@SETTINGS
@given(ring_allocation_instances(), st.one_of(st.just(0.0), st.sampled_from([0.5, 12.5]), st.floats(0, 1e6)))
def test_the_value_is_the_float_below_what_is_proven(instance, price):
    """Never above the rational number, and the next float is; where laws need over 200 bits, the one after it at the latest."""
    exact, value = naive_price(instance, price), lagrange(instance, price=price).value
    above = math.nextafter(value, math.inf)
    laws = any(job.speed_law is not None for job in instance.jobs)
    assert Fraction(value) <= exact < Fraction(math.nextafter(above, math.inf) if laws else above)


@pytest.mark.parametrize("scale", [1e-320, 1e-200, 1.0, 1e200])
def test_values_of_any_size_are_not_above_what_is_proven(scale):
    """Costs whose products would underflow, or which are too large to be split, are added up as rational numbers."""
    instance = build(3, *[{1: 3.3 * scale, 2: 1.7 * scale}] * 2, epochs=0.7, weight=1.3)
    certificate = lagrange(instance)
    exact = naive_price(instance, certificate.price)
    assert Fraction(certificate.value) <= exact < Fraction(math.nextafter(certificate.value, math.inf))


@SETTINGS
@given(ring_allocation_instances(max_jobs=3, max_gpus=9, feasible=True))
def test_the_best_price_proves_a_bound(instance):
    """The stated value is proven, close to it, and no more than the exact optimum; no other candidate price proves more."""
    certificate = lagrange(instance)
    proven = naive_price(instance, certificate.price)
    assert Fraction(certificate.value) <= proven <= exact_optimum(instance)
    assert float(proven) == pytest.approx(certificate.value, rel=1e-9, abs=1e-9)
    prices = {Fraction(0)}
    for costs in exact_costs(instance):
        pairs = itertools.combinations(sorted(costs), 2)
        prices |= {max(Fraction(0), (costs[v] - costs[w]) / (w - v)) for v, w in pairs}
    best = max(naive_price(instance, price) for price in prices)
    assert float(best) == pytest.approx(float(proven), rel=1e-9, abs=1e-9)


@SETTINGS
@given(ring_allocation_instances(max_jobs=4, max_gpus=9, laws=False), st.data())
def test_duals_prove_what_the_naive_formula_says(instance, data):
    """Any multipliers of the right sign prove exactly the naive value."""
    rows = {"capacity": -data.draw(st.floats(0, 1e4))}
    rows |= {f"choice_{job.id}": data.draw(st.floats(-1e5, 1e5)) for job in instance.jobs if data.draw(st.booleans())}
    assert verify(instance, DualsCertificate("milp", rows, 0.0)) == naive_duals(instance, rows)


@settings(SETTINGS, max_examples=20)
@given(ring_allocation_instances(max_jobs=3, max_gpus=9, feasible=True))
def test_the_duals_of_the_relaxation_prove_a_bound(instance):
    """Rounded down from what is proven, no more than the optimum, no less than the Lagrangian bound (LP duality)."""
    certificate = relaxation(instance)
    proven = verify(instance, certificate)
    assert Fraction(certificate.value) <= proven <= exact_optimum(instance)
    assert math.nextafter(certificate.value, math.inf) > proven
    best = lagrange(instance).value
    assert certificate.value >= best - 1e-6 * max(1.0, best)


def test_the_relaxation_is_as_strong_as_the_best_price():
    """Two GPUs for two jobs, 1 / w s each, weight 1 / 4: one GPU each, 0.5; price 1 / 8 proves it, so must the duals."""
    law = {"theta": [1.0, 0.0, 0.0, 0.0], "samples": 1.0, "model_bytes": 0.0}
    instance = build(2, law, law, weight=0.25)
    assert lagrange(instance).value == pytest.approx(0.5)
    assert relaxation(instance).value == pytest.approx(0.5)


EIGHT = build(16, [1.0] * 8, [1.0] * 8)


@pytest.mark.parametrize(
    ("certificate", "message"),
    [
        (PriceCertificate(-1.0, 0.0), "price"),
        (PriceCertificate(float("nan"), 0.0), "price"),
        (PriceCertificate(float("inf"), 0.0), "price inf must be finite and >= 0"),
        (PriceCertificate(1e308, 0.0), "below all floats"),
        (DualsCertificate("milp", {"capacity": -1e308}, 0.0), "below all floats"),
        (DualsCertificate("milp", {"choice_a": 1e308, "choice_b": -1e308}, 0.0), "below all floats"),
        (DualsCertificate("milp", {"choice_z": 1.0}, 0.0), "no row 'choice_z'"),
        (DualsCertificate("milp", {"capacity": 1.0}, 0.0), "wrong sign"),
        (DualsCertificate("milp", {"choice_a": float("nan")}, 0.0), "not finite"),
        (DualsCertificate("minlp", {}, 0.0), "formulation 'minlp'"),
    ],
)
def test_false_certificates_are_refused(certificate, message):
    """A negative price, a value that no float holds, an unknown row or formulation, a wrong sign: ValueError says which."""
    with pytest.raises(ValueError, match=message):
        verify(EIGHT, certificate)


@pytest.mark.parametrize("certificate", [lagrange(example()), relaxation(example())], ids=["price", "duals"])
def test_a_value_that_claims_more_is_not_proven(certificate):
    """A billionth more than the value stated exceeds what the certificate proves."""
    proven = verify(example(), certificate)
    assert Fraction(certificate.value) <= proven < Fraction(certificate.value * (1 + 1e-9))


def test_price_by_hand():
    """One job, 10 s on 1 GPU, 4 s on 4, two GPUs, price 2: min(12, 12) - 4 = 8."""
    instance = build(2, {1: 10.0, 4: 4.0})
    assert verify(instance, PriceCertificate(2.0, 8.0)) == 8
    assert lagrange(instance).price == 2.0
    assert lagrange(instance).value == pytest.approx(8.0, rel=1e-12)


def test_a_given_price_is_used_and_checked():
    """Any price >= 0 makes a bound, also of an infeasible instance; others are misuse."""
    assert lagrange(example(), price=0.0).price == 0.0
    for price in (-1.0, float("nan"), float("inf")):
        with pytest.raises(UsageError, match="price"):
            lagrange(example(), price=price)


def test_infeasible_instances_have_no_best_bound():
    """Their dual is unbounded: misuse, not a number."""
    instance = build(1, {2: 1.0})
    for bound in (lagrange, relaxation):
        with pytest.raises(UsageError, match="infeasible"):
            bound(instance)


def test_values_are_plain_floats():
    """Not NumPy's: they travel in results."""
    assert type(lagrange(example()).value) is float
    assert type(lagrange(example(), price=1.0).value) is float
    assert type(relaxation(example()).value) is float


def test_costs_near_the_smallest_float():
    """0.6 x 5e-324 rounds up to 5e-324: the stated value may not exceed what is exactly true."""
    instance = build(1, {1: 0.6}, epochs=5e-324)
    certificate = lagrange(instance)
    assert Fraction(certificate.value) <= verify(instance, certificate)


def test_duals_of_laws_that_allow_more_counts_than_can_be_added_up():
    """16 / w on up to 2^53 GPUs: at a price of 1 and a choice of 8.5 counts 3 to 5 are below it, 8 + 8 + 8.2; free, all are."""
    law = {"theta": [1.0, 0.0, 0.0, 0.0], "samples": 16.0, "model_bytes": 0.0}
    instance = build(2**53, law)
    exact = verify(instance, DualsCertificate("milp", {"capacity": -1.0, "choice_a": 8.5}, 0.0))
    below = sum(Fraction(16, w) + w - Fraction(17, 2) for w in (3, 4, 5))
    assert exact == Fraction(17, 2) - 2**53 + below
    with pytest.raises(ValueError, match="too many to add up"):
        verify(instance, DualsCertificate("milp", {"choice_a": 8.5}, 0.0))
