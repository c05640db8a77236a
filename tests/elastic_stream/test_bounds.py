"""Bounds: by hand, below every policy and the optimum, with certificates that verify and claims that do not."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlsched.certificates import LengthsCertificate, PriceCertificate, SrptCertificate
from dlsched.core.errors import UsageError
from dlsched.elastic_stream import Instance, area, bound, length, objective, simulate
from dlsched.elastic_stream.certificate import verify
from dlsched.testing import brute_force_stream, elastic_stream_instances

from .streams import POLICIES, stream

LAW = {"theta": [8.0, 0.5, 0.0, 0.0], "samples": 1.0, "model_bytes": 0.0}


def profile(examples):
    """Deterministic, without a clock."""
    return settings(max_examples=examples, derandomize=True, deadline=None, database=None)


def test_area_by_hand():
    """Areas 10 (at one unit) and 24 (at two, 12 each) on 2 units: 5 s and 12 s; SRPT from 0 and 1 s ends at 5 and 17."""
    instance = stream((0.0, 1.0, {1: 10.0, 2: 6.0}), (1.0, 1.0, {1: 30.0, 2: 12.0}), units=2)
    assert area(instance) == SrptCertificate({"j0": 5.0, "j1": 12.0}, (5 + 17 - 1) / 2)
    assert length(instance) == LengthsCertificate({"j0": 6.0, "j1": 12.0}, 9.0)
    # On two units one after the other the jobs take 6 and 17 s: that is the best.
    assert bound(instance).value == pytest.approx(11.5, rel=5e-3)


def test_counts_beyond_the_cluster_do_not_help():
    """A job that would be fastest, and most efficient, on more units than there are."""
    instance = stream((0.0, 1.0, {1: 10.0, 8: 1.0}), units=2)
    assert area(instance).sizes == {"j0": 5.0} and length(instance).lengths == {"j0": 10.0}


def test_ticks_delay_the_release():
    """A job that arrives at 3 s starts at 10 s at the earliest; one without work ends when it arrives."""
    instance = stream((3.0, 1.0, {1: 4.0}), (3.0, 0.0, {1: 4.0}), units=1, tick_s=10.0)
    assert area(instance) == SrptCertificate({"j0": 4.0, "j1": 0.0}, (7 + 4) / 2)
    assert length(instance) == LengthsCertificate({"j0": 11.0, "j1": 0.0}, 5.5)


def test_early_ends_are_in_the_bounds():
    """A 10 s job that stops at .4 has flow 4, and a bound of 4."""
    instance = stream((0.0, 1.0, {1: 10.0}, {"stops_at": 0.4}), units=1)
    assert bound(instance).value == 4.0


@pytest.mark.parametrize("units", [1, 2, 3, 4, 5, 40])
@pytest.mark.parametrize(
    "theta",
    [[8.0, 0.5, 0.0, 0.0], [8.0, 0.0, 0.0, 0.0], [8.0, 3.0, 0.0, 1.0], [1.0, 6.0, 0.0, 0.5], [0.0, 0.0, 0.0, 1.0]],
)
def test_a_law_is_its_table(units, theta):
    """Sizes and lengths of a law are those of a table of all its counts, the exact values of the formula."""
    job = {"id": "j", "arrival_s": 0.0, "epochs": 1.0, "speed_law": LAW | {"theta": theta}}
    instance = Instance(name="law", units=units, jobs=[job])
    exact = {w: Fraction(theta[0]) / w + Fraction(theta[1]) * (w - 1) + Fraction(theta[3]) for w in range(1, units + 1)}
    least_area, least_time = min(w * time for w, time in exact.items()) / units, min(exact.values())
    assert Fraction(area(instance).sizes["j"]) <= least_area == pytest.approx(area(instance).sizes["j"])
    assert Fraction(length(instance).lengths["j"]) <= least_time == pytest.approx(length(instance).lengths["j"])


@profile(12)
@given(
    st.one_of(
        elastic_stream_instances(feasible=True),
        elastic_stream_instances(feasible=True, max_jobs=6, max_units=6, ticked=False),
    )
)
def test_bounds_hold_below_every_policy_and_the_optimum(instance):
    """Bound <= optimum by brute force <= policy; certificates verify in exact arithmetic."""
    proven = bound(instance)
    for certificate in (area(instance), length(instance)):
        assert Fraction(certificate.value) <= verify(instance, certificate)
        assert certificate.value <= proven.value
    least = min(objective(instance, simulate(instance, policy())) for policy in POLICIES.values())
    if instance.tick_s is not None:
        optimum, _ = brute_force_stream(instance)
        assert optimum <= least * (1 + 1e-12)
        least = optimum
    assert proven.value <= least * (1 + 1e-12)


def test_false_claims_are_refused():
    """More than a job needs, less than nothing, a job that is none, another family's certificate."""
    instance = stream((0.0, 1.0, {1: 10.0}), units=2)
    assert verify(instance, SrptCertificate({}, 0.0)) == 0
    assert verify(instance, SrptCertificate({"j0": 4.0}, 0.0)) == 4
    for certificate, message in (
        (SrptCertificate({"j0": 5.000001}, 0.0), "5.000001 s is claimed of job 'j0', it needs 5.0 s"),
        (SrptCertificate({"j0": -1.0}, 0.0), "-1.0 s is claimed"),
        (SrptCertificate({"j0": float("nan")}, 0.0), "nan s is claimed"),
        (LengthsCertificate({"j0": 10.1}, 0.0), "10.1 s is claimed of job 'j0', it needs 10.0 s"),
        (LengthsCertificate({"who": 1.0}, 0.0), "there is no job 'who'"),
        (PriceCertificate(1.0, 0.0), "no certificates of kind 'price'"),
    ):
        with pytest.raises(ValueError, match=message):
            verify(instance, certificate)


def test_an_infeasible_stream_has_no_best_bound():
    """Every bound holds."""
    instance = stream((0.0, 1.0, {5: 1.0}))
    for function in (area, length, bound):
        with pytest.raises(UsageError, match="the instance is infeasible: every bound holds"):
            function(instance)
