"""Fits of measured epoch times by the speed law, and of the training loss by a curve."""

import csv
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import least_squares

from dlsched.cluster import LossCurve, NotIdentifiable, SpeedLaw, fit_loss_curve, fit_speed_law

SPEEDUPS = Path(__file__).resolve().parents[2] / ".." / "shared" / "data" / "dnn_speedups.csv"
SAMPLES, MODEL_BYTES = 50_000.0, 1e8


def time_s(theta, gpus, samples, model_bytes):
    """Seconds per epoch, written out once more."""
    return theta[0] * samples / gpus + theta[1] * (gpus - 1) + theta[2] * (gpus - 1) / gpus * model_bytes + theta[3]


coefficients = st.tuples(
    *(st.one_of(st.just(0.0), st.floats(0.1 * size, 10 * size)) for size in (1e-3, 0.1, 1e-7, 1.0))
).filter(lambda theta: theta[0] + theta[3] > 0)
count_sets = st.lists(st.integers(1, 64), min_size=3, max_size=8, unique=True)


@given(coefficients, count_sets)
@settings(derandomize=True, deadline=None)
def test_one_job_gives_its_curve_but_not_theta(theta, counts):
    """Exact times on 3 or more counts give all other times back, with one of theta0 and theta2 at 0."""
    times = [time_s(theta, w, SAMPLES, MODEL_BYTES) for w in counts]
    fit = fit_speed_law(counts, times, samples=SAMPLES, model_bytes=MODEL_BYTES)
    law = fit.law(SAMPLES, MODEL_BYTES)
    for w in range(min(counts), max(counts) + 1):
        assert law.epoch_time_s(w) == pytest.approx(time_s(theta, w, SAMPLES, MODEL_BYTES), rel=1e-6)
    assert not fit.theta_identified
    assert min(fit.thetas) >= 0
    assert min(fit.thetas[0], fit.thetas[2]) == 0
    assert fit.rms_relative_residual < 1e-9


@given(coefficients, count_sets)
@settings(derandomize=True, deadline=None)
def test_the_smallest_theta2_is_returned(theta, counts):
    """The fitted theta2 is max(0, theta2 - theta0 m/n): as far as the kernel's direction leads with theta0 >= 0."""
    counts = [1, *(w + 1 for w in counts)]
    times = [time_s(theta, w, SAMPLES, MODEL_BYTES) for w in counts]
    fit = fit_speed_law(counts, times, samples=SAMPLES, model_bytes=MODEL_BYTES)
    smallest = max(0.0, theta[2] - theta[0] * SAMPLES / MODEL_BYTES)
    assert fit.thetas[2] == pytest.approx(smallest, rel=1e-6, abs=1e-9 * max(times) / MODEL_BYTES)


def test_the_kernel_by_hand():
    """For m = 10, n = 5, theta (1, 1, 1, 3) and (.5, 1, 0, 8) have the same times; the second is returned."""
    counts = [1, 2, 5, 10]
    times = [13.0, 5 + 1 + 2.5 + 3, 2 + 4 + 4 + 3, 1 + 9 + 4.5 + 3]
    fit = fit_speed_law(counts, times, samples=10, model_bytes=5)
    assert fit.thetas == pytest.approx((0.5, 1.0, 0.0, 8.0), abs=1e-9)
    assert fit.residuals_s == pytest.approx((0, 0, 0, 0), abs=1e-9)
    assert not fit.theta_identified


@given(coefficients)
@settings(derandomize=True, deadline=None)
def test_several_model_sizes_identify_theta(theta):
    """Two jobs with other model sizes make the matrix rank 4, and exact times give theta itself back."""
    counts = np.array([1, 2, 4, 8, 1, 2, 4, 8])
    samples = np.array([5e4] * 4 + [2e4] * 4)
    model_bytes = np.array([1e8] * 4 + [4e7] * 4)
    times = time_s(theta, counts, samples, model_bytes)
    fit = fit_speed_law(counts, times, samples=samples, model_bytes=model_bytes)
    assert fit.theta_identified
    share = np.array([samples.max(), 1.0, model_bytes.max(), 1.0]) / times.max()
    assert np.array(fit.thetas) * share == pytest.approx(np.array(theta) * share, rel=1e-6, abs=1e-9)
    assert fit.law(3e4, 2e8).epoch_time_s(16) == pytest.approx(time_s(theta, 16, 3e4, 2e8), rel=1e-5, abs=1e-7)


def test_noisy_times_give_nearly_the_law():
    """With 1 % noise on three jobs, the residual is about 1 % and predictions at new counts are within 3 %."""
    random = np.random.default_rng(7)
    theta = (1e-3, 0.4, 1e-7, 2.0)
    counts = np.tile([1, 2, 3, 4, 6, 8, 12, 16], 3)
    samples, model_bytes = np.repeat([5e4, 2e4, 8e4], 8), np.repeat([1e8, 4e7, 5e8], 8)
    times = time_s(theta, counts, samples, model_bytes) * (1 + 0.01 * random.standard_normal(24))
    fit = fit_speed_law(counts, times, samples=samples, model_bytes=model_bytes)
    assert fit.theta_identified
    assert 0.005 < fit.rms_relative_residual < 0.02
    for w in (5, 10, 20):
        assert fit.law(5e4, 1e8).epoch_time_s(w) == pytest.approx(time_s(theta, w, 5e4, 1e8), rel=0.03)


@given(st.lists(st.floats(1.0, 4.0), min_size=5, max_size=5))
@settings(derandomize=True, deadline=None)
def test_the_fit_is_the_closest_law(times):
    """Karush-Kuhn-Tucker: every column's product with the residuals is <= 0, and 0 where its coefficient is > 0."""
    counts = np.array([1, 2, 4, 8, 16])
    fit = fit_speed_law(counts, times, samples=100.0, model_bytes=100.0)
    columns = [100.0 / counts, counts - 1.0, (counts - 1) / counts * 100.0, np.ones(5)]
    for theta, column in zip(fit.thetas, columns, strict=True):
        product = column @ np.array(fit.residuals_s) / np.linalg.norm(column)
        assert product <= 1e-7
        assert theta == 0 or product >= -1e-7


def test_residuals_by_hand():
    """Times 8/w, but 1 and 3 in two runs on 4 GPUs: residuals -1 and 1, measured minus fitted."""
    fit = fit_speed_law([1, 2, 4, 4], [8.0, 4.0, 1.0, 3.0], samples=8, model_bytes=0)
    assert fit.thetas == pytest.approx((1.0, 0.0, 0.0, 0.0), abs=1e-9)
    assert fit.residuals_s == pytest.approx((0.0, 0.0, -1.0, 1.0), abs=1e-9)
    assert fit.rms_relative_residual == pytest.approx(math.sqrt((1 + 1 / 9) / 4))


def test_two_jobs_of_too_few_counts_are_refused():
    """Three rows of two jobs leave both curves open, though three counts were measured."""
    with pytest.raises(NotIdentifiable, match="2 job"):
        fit_speed_law([1, 2, 4], [10.0, 6.0, 5.0], samples=[10, 10, 20], model_bytes=[1, 1, 7])


@pytest.mark.parametrize("counts", [[1], [4, 4, 4], [1, 2], [1, 8, 1, 8]])
def test_fewer_than_three_counts_of_one_job_are_refused(counts):
    """One or two distinct counts cannot tell a curve, however often they are measured."""
    with pytest.raises(NotIdentifiable, match="3 distinct counts"):
        fit_speed_law(counts, [10.0 / w for w in counts], samples=10, model_bytes=10)


def test_times_that_vanish_on_one_gpu_are_refused():
    """Times w - 1 on 2, 3, 4 GPUs have the closest law theta1 (w - 1), which is no law on one GPU."""
    with pytest.raises(NotIdentifiable, match="no time on one GPU"):
        fit_speed_law([2, 3, 4], [1.0, 2.0, 3.0], samples=10, model_bytes=10)


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        ({"gpus": [1, 2, 0]}, "gpus"),
        ({"gpus": [1, 2, 2.5]}, "gpus"),
        ({"gpus": []}, "gpus"),
        ({"gpus": 3}, "gpus"),
        ({"epoch_time_s": [1.0, 2.0]}, "epoch_time_s has shape"),
        ({"epoch_time_s": [1.0, 2.0, 0.0]}, "epoch_time_s"),
        ({"epoch_time_s": [1.0, 2.0, math.nan]}, "epoch_time_s"),
        ({"samples": 0}, "samples"),
        ({"samples": [1.0, 2.0]}, "samples has shape"),
        ({"model_bytes": -1}, "model_bytes"),
        ({"model_bytes": math.inf}, "model_bytes"),
    ],
)
def test_wrong_inputs_are_refused_by_name(wrong, match):
    """Wrong shapes, counts and numbers are refused, naming the argument, and not as a lack of data."""
    inputs = {"gpus": [1, 2, 4], "epoch_time_s": [4.0, 3.0, 2.0], "samples": 10, "model_bytes": 10, **wrong}
    with pytest.raises(ValueError, match=match) as refusal:
        fit_speed_law(**inputs)
    assert not isinstance(refusal.value, NotIdentifiable)


def test_importing_the_package_leaves_scipy_out():
    """`import dlsched.cluster` in a fresh interpreter loads no SciPy."""
    code = "import sys, dlsched.cluster; sys.exit(any(name.split('.')[0] == 'scipy' for name in sys.modules))"
    root = Path(__file__).resolve().parents[2]
    assert subprocess.run([sys.executable, "-c", code], cwd=root, check=False).returncode == 0


@pytest.mark.skipif(not SPEEDUPS.exists(), reason="the public data is not beside the repository")
def test_resnet50_as_measured():
    """The six measured iteration times of ResNet-50 (batch 128) fit within 3 % root mean square."""
    rows = csv.DictReader(SPEEDUPS.read_text().splitlines())
    measured = {int(r["gpus"]): int(r["us_per_iter"]) * 1e-6 for r in rows if r["model"] == "Resnet50Model128"}
    counts = [1, 2, 4, 8, 16, 28]
    fit = fit_speed_law(counts, [measured[w] for w in counts], samples=128, model_bytes=102e6)
    assert fit.rms_relative_residual < 0.03
    assert isinstance(fit.law(128, 102e6), SpeedLaw)


curves = st.tuples(st.floats(0.02, 2.0), st.floats(0.1, 2.0), st.one_of(st.just(0.0), st.floats(0.01, 2.0)))


def losses_of(curve, epochs):
    """1 / (b0 e + b1) + b2, written out once more."""
    return [1 / (curve[0] * e + curve[1]) + curve[2] for e in epochs]


def test_loss_by_hand():
    """With b = (0.5, 1, 0.25): 1.25, 0.75 and 0.5 after 0, 2 and 6 epochs; infinite at 0 where b1 = 0."""
    curve = LossCurve(0.5, 1.0, 0.25)
    assert [curve.loss(epochs) for epochs in (0, 2, 6)] == [1.25, 0.75, 0.5]
    assert LossCurve(1.0, 0.0, 0.0).loss(0) == math.inf


@pytest.mark.parametrize(
    ("curve", "target", "done", "left"),
    [
        *(((0.5, 1.0, 0.25), 0.5, done, left) for done, left in ((0, 6.0), (2, 4.0), (6, 0.0), (7, 0.0))),
        # the floor, what is below it, and any target below a constant loss are never reached
        *(((0.5, 1.0, 0.25), 0.25, 0, None), ((0.5, 1.0, 0.25), 0.1, 0, None), ((0.0, 1.0, 0.25), 1.0, 0, None)),
        # a constant loss of 1.25 has reached 1.25 and 2; so near the floor the epochs overflow
        *(((0.0, 1.0, 0.25), 1.25, 0, 0.0), ((0.0, 1.0, 0.25), 2.0, 0, 0.0), ((1e-300, 1.0, 0.0), 1e-300, 0, None)),
    ],
)
def test_epochs_left_by_hand(curve, target, done, left):
    """A fraction, none where the target is reached, None where it never is."""
    assert LossCurve(*curve).epochs_left(target, done) == left


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
def test_wrong_inputs_are_refused_by_name_of_loss_curve(epochs, losses, match):
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
