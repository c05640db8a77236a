"""The loss curve: values by hand, recovery from exact and noisy losses, and refusals."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import least_squares

from dlsched.cluster import LossCurve, NotIdentifiable, fit_loss_curve

curves = st.tuples(st.floats(0.02, 2.0), st.floats(0.1, 2.0), st.one_of(st.just(0.0), st.floats(0.01, 2.0)))


def losses_of(curve, epochs):
    """1 / (b0 e + b1) + b2, written out once more."""
    return [1 / (curve[0] * e + curve[1]) + curve[2] for e in epochs]


def test_loss_by_hand():
    """With b = (0.5, 1, 0.25): 1.25, 0.75 and 0.5 after 0, 2 and 6 epochs; infinite at 0 where b1 = 0."""
    curve = LossCurve(0.5, 1.0, 0.25)
    assert [curve.loss(epochs) for epochs in (0, 2, 6)] == [1.25, 0.75, 0.5]
    assert LossCurve(1.0, 0.0, 0.0).loss(0) == math.inf


def test_epochs_left_by_hand():
    """To 0.5 from the start 6 epochs, from the second 4, from the sixth and later none."""
    curve = LossCurve(0.5, 1.0, 0.25)
    assert [curve.epochs_left(0.5, done) for done in (0, 2, 6, 7)] == [6.0, 4.0, 0.0, 0.0]


def test_targets_that_are_never_reached():
    """The floor, what is under it, and any target under a constant loss have no answer."""
    curve = LossCurve(0.5, 1.0, 0.25)
    assert curve.epochs_left(0.25) is None
    assert curve.epochs_left(0.1) is None
    assert LossCurve(0.0, 1.0, 0.25).epochs_left(1.0) is None


def test_targets_reached_already_need_no_epochs():
    """A constant loss of 1.25 has reached 1.25 and 2."""
    assert LossCurve(0.0, 1.0, 0.25).epochs_left(1.25) == 0.0
    assert LossCurve(0.0, 1.0, 0.25).epochs_left(2.0) == 0.0


def test_a_target_beyond_all_numbers_is_unknown():
    """A target so near the floor that the epochs overflow is no infinity but None."""
    assert LossCurve(1e-300, 1.0, 0.0).epochs_left(1e-300) is None


@given(curves, st.floats(0, 50), st.floats(0, 100))
@settings(derandomize=True, deadline=None)
def test_epochs_left_inverts_the_loss(curve, done, more):
    """The loss of epoch done + more is reached after `more` epochs, or at once."""
    law = LossCurve(*curve)
    left = law.epochs_left(1 / (curve[0] * (done + more) + curve[1]) + curve[2], done)
    assert left == pytest.approx(more, rel=1e-6, abs=1e-6)


@given(curves, st.lists(st.integers(0, 100), min_size=5, max_size=30, unique=True))
@settings(max_examples=25, derandomize=True, deadline=None)
def test_exact_losses_give_the_curve_back(curve, epochs):
    """Losses of a curve on 5 or more epochs, in any order, recover b0, b1 and b2."""
    fit = fit_loss_curve(epochs, losses_of(curve, epochs))
    assert (fit.curve.b0, fit.curve.b1, fit.curve.b2) == pytest.approx(curve, rel=1e-6, abs=1e-8)
    assert max(map(abs, fit.residuals)) < 1e-9


@pytest.mark.parametrize("exponent", [-12, 0, 12])
def test_three_epochs_are_enough_at_any_scale(exponent):
    """1.25, 0.75, 0.5 after 0, 2, 6 epochs is the curve (0.5, 1, 0.25), scaled with the losses' unit."""
    unit = 2.0**exponent
    curve = fit_loss_curve([0, 2, 6], [1.25 * unit, 0.75 * unit, 0.5 * unit]).curve
    assert (curve.b0 * unit, curve.b1 * unit, curve.b2 / unit) == pytest.approx((0.5, 1.0, 0.25), rel=1e-9)


def test_a_straight_fall_has_floor_zero():
    """Losses that fall in a straight line bend less than any curve: the floor goes to its bound 0."""
    assert fit_loss_curve([0, 1, 2, 3], [4.0, 3.0, 2.0, 1.0]).curve.b2 == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("seed", range(8))
def test_noisy_losses_are_fitted_nearly_as_well_as_by_direct_least_squares(seed):
    """With 1 % noise the residual is within 0.5 % of the best a general solver finds from the true curve."""
    random = np.random.default_rng(seed)
    truth, epochs = np.array([0.3, 0.4, 0.2]), np.arange(40.0)
    losses = np.array(losses_of(truth, epochs)) * (1 + 0.01 * random.standard_normal(40))
    fit = fit_loss_curve(epochs, losses)
    best = least_squares(lambda b: 1 / (b[0] * epochs + b[1]) + b[2] - losses, truth, bounds=(0, np.inf))
    assert np.linalg.norm(fit.residuals) <= 1.005 * np.linalg.norm(best.fun)
    assert fit.curve.loss(60) == pytest.approx(losses_of(truth, [60])[0], rel=0.05)


@pytest.mark.parametrize(
    ("epochs", "losses", "match"),
    [
        ([], [], "3 distinct"),
        ([0, 5, 5, 5], [3.0, 2.0, 2.1, 1.9], "3 distinct"),
        ([0, 1, 2, 3], [2.0, 2.0, 2.0, 2.0], "do not fall"),
        ([0, 1, 2, 3], [1.0, 2.0, 3.0, 4.0], "do not fall"),
        ([1, 2, 3, 4], [1.0, 1.3, 0.9, 1.4], "do not fall"),
        ([0, 1, 2, 3], [1.0, 0.5, 0.5, 0.5], "second epoch"),
    ],
)
def test_losses_that_tell_no_curve_are_refused(epochs, losses, match):
    """Too few epochs, flat and rising losses, and a fall that is over at once have no single curve."""
    with pytest.raises(NotIdentifiable, match=match):
        fit_loss_curve(epochs, losses)


@pytest.mark.parametrize(
    ("epochs", "losses", "match"),
    [
        ([0, 1, -2], [3.0, 2.0, 1.0], "epochs"),
        ([0, 1, math.nan], [3.0, 2.0, 1.0], "epochs"),
        (1, 2.0, "epochs"),
        ([0, 1, 2], [3.0, 2.0], "losses has shape"),
        ([0, 1, 2], [3.0, 2.0, 0.0], "losses"),
        ([0, 1, 2], [3.0, 2.0, math.inf], "losses"),
    ],
)
def test_wrong_inputs_are_refused_by_name(epochs, losses, match):
    """Wrong shapes and numbers are refused, naming the argument."""
    with pytest.raises(ValueError, match=match):
        fit_loss_curve(epochs, losses)


def test_wrong_curves_and_questions_are_refused():
    """Negative coefficients, an infinite loss everywhere, a negative epoch and a target that is not a number."""
    with pytest.raises(ValueError, match="b1"):
        LossCurve(1.0, -1.0, 0.0)
    with pytest.raises(ValueError, match="b0 and b1"):
        LossCurve(0.0, 0.0, 1.0)
    with pytest.raises(ValueError, match="epochs_done"):
        LossCurve(1.0, 1.0, 0.0).epochs_left(0.5, -1)
    with pytest.raises(ValueError, match="target"):
        LossCurve(1.0, 1.0, 0.0).epochs_left(math.nan)
