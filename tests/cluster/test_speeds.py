"""Speeds of a ring all-reduce job: the speed law, and tables of measured seconds per epoch."""

import math
import struct
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from dlsched import InstanceError
from dlsched.cluster import SpeedLaw
from dlsched.cluster.speeds import SpeedTable, smallest_minimiser
from dlsched.core.messages import Refused

coefficients = st.one_of(st.just(0.0), st.floats(1e-6, 10.0))


@st.composite
def laws(draw):
    """Laws of all shapes: convex, increasing, flat, without a linear or a model term."""
    theta = tuple(draw(coefficients) for _ in range(4))
    assume(theta[0] + theta[3] > 0)
    return SpeedLaw(theta=theta, samples=draw(st.floats(1.0, 1e4)), model_bytes=draw(st.floats(0.0, 1e4)))


def test_epoch_time_by_hand():
    """For theta (1, 2, 3, 4), m = 60, n = 5 on 3 GPUs: 20 + 4 + 10 + 4 seconds; on 1 GPU 60 + 4."""
    law = SpeedLaw(theta=(1.0, 2.0, 3.0, 4.0), samples=60, model_bytes=5)
    assert law.epoch_time_s(3) == 38.0
    assert law.epoch_time_s(1) == 64.0
    assert law.exact_epoch_time_s(3) == 38


@given(laws(), st.integers(1, 10_000))
@settings(derandomize=True, deadline=None)
def test_exact_and_floating_times_agree(law, gpus):
    """The floating-point time is the rational one up to rounding, and the rational one has the documented shape."""
    exact = law.exact_epoch_time_s(gpus)
    theta0, theta1, theta2, theta3 = map(Fraction, law.theta)
    samples, model_bytes = Fraction(law.samples), Fraction(law.model_bytes)
    hyperbolic, constant = theta0 * samples - theta2 * model_bytes, theta2 * model_bytes + theta3 - theta1
    assert exact == hyperbolic / gpus + theta1 * gpus + constant
    assert law.epoch_time_s(gpus) == pytest.approx(float(exact), rel=1e-12)


@given(laws(), st.integers(1, 200))
@settings(derandomize=True, deadline=None, max_examples=120)
def test_largest_useful_count_is_the_first_of_the_fastest(law, most):
    """Brute force over all counts in rational arithmetic finds the same first fastest count."""
    times = [law.exact_epoch_time_s(gpus) for gpus in range(1, most + 1)]
    assert law.largest_useful_count(most) == 1 + times.index(min(times))


@given(laws())
@settings(derandomize=True, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
def test_no_count_beyond_the_root_is_faster(law):
    """The documented end of the useful counts, sqrt(hyperbolic / linear) rounded up, holds."""
    hyperbolic = law.theta[0] * law.samples - law.theta[2] * law.model_bytes
    assume(law.theta[1] > 0 and hyperbolic > 0)
    assert law.largest_useful_count(10**9) <= math.ceil(math.sqrt(hyperbolic / law.theta[1]) * (1 + 1e-12))


@given(st.fractions(-5, 500, max_denominator=20), st.fractions(0, 5, max_denominator=20), st.integers(1, 60))
@settings(derandomize=True, deadline=None, max_examples=120)
def test_smallest_minimiser_is_exact_on_ties(hyperbolic, linear, most):
    """On small fractions, where two counts often tie, the smaller one is returned: of 100/w + 5 w, 45 at 4 and 5, 4."""
    assert smallest_minimiser(Fraction(100), Fraction(5), 64) == 4
    values = [hyperbolic / w + linear * w for w in range(1, most + 1)]
    assert smallest_minimiser(hyperbolic, linear, most) == 1 + values.index(min(values))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("theta", (1.0, -0.1, 0.0, 0.0)),
        ("theta", (1.0, math.inf, 0.0, 0.0)),
        ("theta", (1.0, 0.0, 0.0)),
        ("theta", (0.0, 1.0, 1.0, 0.0)),  # no time on one GPU
        ("samples", 0.0),
        ("model_bytes", -1.0),
    ],
)
def test_wrong_fields_are_refused_by_name(field, value):
    """Negative, infinite, missing and zero values are refused, naming the field."""
    fields = {"theta": (1.0, 0.0, 0.0, 0.0), "samples": 1.0, "model_bytes": 0.0, field: value}
    with pytest.raises(InstanceError, match=field):
        SpeedLaw(**fields)


def test_times_as_doubles():
    """In the order of the counts, whole numbers included."""
    table = SpeedTable({"4": 1, "1": 9.5, "2": 0.1})
    assert table.times_s == (9.5, 0.1, 1.0)
    assert struct.unpack("3d", table.packed) == (9.5, 0.1, 1.0)


@pytest.mark.parametrize("keys", [("1", "2"), (1, 2), ("1", 2), (np.int64(1), np.int32(2))])
def test_keys_are_text_or_integers(keys):
    """Whichever was met first."""
    for _ in range(2):
        assert SpeedTable(dict(zip(keys, (3.0, 2.0), strict=True))).counts == (1, 2)
        assert SpeedTable({"1": 3.0, "2": 2.0}).counts == (1, 2)


@pytest.mark.parametrize("keys", [(1.0, 2), (True, 2), ("1", 1), (None, "2"), ((1,), "2")])
def test_other_keys_are_refused(keys):
    """Also where equal ones were taken before."""
    SpeedTable({1: 3.0, 2: 2.0})
    SpeedTable({"1": 3.0, "2": 2.0})
    with pytest.raises(Refused):
        SpeedTable(dict(zip(keys, (3.0, 2.0), strict=True)))
