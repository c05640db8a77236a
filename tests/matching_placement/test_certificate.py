"""Certificates: what prices prove, against listing and rational arithmetic; what is no certificate is refused."""

from fractions import Fraction

import numpy as np
import pytest

import dlsched
from dlsched.certificates import DualsCertificate, PriceCertificate
from dlsched.matching_placement import configuration_lp, relaxation
from dlsched.matching_placement.arrays import arrays
from dlsched.matching_placement.certificate import least_values, relaxed_value, verify
from dlsched.matching_placement.exact import solve_by_states

from .draw import draw, entry, made
from .test_configurations import everything, prices_for

JOB = entry({"V": 1.0}, 6, iterations=2, gradient=2)
ONE = made("VVV", JOB, bandwidth={"V": 4.0})
"""J(1) = 12, J(2) = 6 + 1 = 7, J(3) = 4 + 4/3 = 16/3: work 12, all-reduce 2 x 2 x 2 (n - 1) / (n 4) = 2 (n - 1) / n."""


def test_the_least_value_by_hand():
    """Prices 0, 2, 7: the least of 12 + p, 7 + 2 p, 16/3 + 3 p."""
    instance = ONE
    for price, least in ((0.0, 16 / 3), (2.0, 11.0), (7.0, 19.0)):
        assert least_values(arrays(instance), np.array([price]))[0] == pytest.approx(least, rel=1e-12)
        proven = verify(instance, DualsCertificate("milp", {"stock_V": -price} if price else {}, 0.0))
        assert float(proven) == pytest.approx(least - 3 * price, rel=1e-11)
        assert proven < Fraction(least) - 3 * Fraction(price)


def test_the_relaxed_value_by_hand():
    """Chord of 2 (1 - 1/n) on [1, 3]: 2 (1 - 1 - 1/3 + n/3) = (2 n - 2) / 3; with lambda 3: 2 sqrt(36) = 12."""
    instance = ONE
    # p = 5: least of (5 - 3 + 2/3) c, c in [1, 3] is 8/3, less 2/3, plus 12
    assert float(relaxed_value(instance, instance.jobs[0], {"V": 5.0}, 3.0)) == pytest.approx(14.0, rel=1e-15)
    # p = 1: (1 - 3 + 2/3) c is least at c = 3: -4
    assert float(relaxed_value(instance, instance.jobs[0], {"V": 1.0}, 3.0)) == pytest.approx(22 / 3, rel=1e-15)


@pytest.mark.parametrize("seed", range(30))
def test_least_values_against_all_configurations(seed):
    """The verifier's minimum is that of the list, whatever the prices."""
    rng = np.random.default_rng(seed)
    most = None if seed % 3 else int(rng.integers(1, 6))
    shape = {"types": int(rng.integers(1, 5)), "each": int(rng.integers(1, 5))}
    instance = draw(seed, **shape, jobs=2, exchange=seed % 4 > 0, most=most)
    data = arrays(instance)
    prices = prices_for(data, rng)
    for job, least in enumerate(least_values(data, prices).tolist()):
        rows, times = everything(data, job)
        assert least == pytest.approx(float((times + rows @ prices).min()), rel=1e-12)


@pytest.mark.parametrize("seed", range(12))
def test_any_prices_prove_a_bound(seed):
    """Good or bad multipliers of either program: what they prove is no more than the optimum."""
    rng = np.random.default_rng(seed)
    instance = draw(seed, types=3, each=3, jobs=3, exchange=seed % 2 > 0)
    data = arrays(instance)
    optimum = data.total(solve_by_states(data)) / data.jobs
    for certificate in (configuration_lp(instance), relaxation(instance)):
        proven = verify(instance, certificate)
        assert Fraction(certificate.value) <= proven
        assert float(proven) <= optimum * (1 + 1e-12)
        for factor in (0.0, 0.5, 1.1, 3.0):
            rows = {name: value * factor * rng.uniform(0.5, 1.5) for name, value in certificate.rows.items()}
            other = verify(instance, DualsCertificate(certificate.formulation, rows, 0.0))
            assert float(other) <= optimum * (1 + 1e-12)
    assert relaxation(instance).value <= configuration_lp(instance).value * (1 + 1e-6)


@pytest.mark.parametrize(
    ("certificate", "words"),
    [
        (PriceCertificate(1.0, 1.0), "no certificates of kind 'price'"),
        (DualsCertificate("assignment", {}, 1.0), "no duals of a formulation 'assignment'"),
        (DualsCertificate("milp", {"stock_X": -1.0}, 1.0), "no row 'stock_X'"),
        (DualsCertificate("milp", {"rate_a": -1.0}, 1.0), "no row 'rate_a'"),
        (DualsCertificate("milp", {"stock_V": 1.0}, 1.0), "wrong sign"),
        (DualsCertificate("relaxation", {"rate_a": float("nan")}, 1.0), "not finite"),
        (DualsCertificate("relaxation", {"rate_a": -1e308}, 1.0), "is below -1e"),
    ],
)
def test_what_is_no_certificate_is_refused(certificate, words):
    """With the reason."""
    with pytest.raises(ValueError, match=words):
        verify(ONE, certificate)


def test_bounds_refuse_the_infeasible():
    """The sentence that proves it is in the message."""
    spoiled = made("VVV", JOB | {"min_workers": 4})
    for bound in (configuration_lp, relaxation):
        with pytest.raises(dlsched.UsageError, match="job a needs at least 4 workers"):
            bound(spoiled)
