"""The fit of the speed law: recovery, what can and cannot be identified, and refusals."""

import csv
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlsched.cluster import NotIdentifiable, SpeedLaw, fit_speed_law

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


def test_two_counts_are_enough_for_four_jobs():
    """Jobs that differ in m and n identify theta on the counts 1 and 2 alone: four independent equations by hand."""
    theta = (2.0, 1.0, 3.0, 5.0)
    counts, samples, model_bytes = [1, 1, 2, 2], [1.0, 4.0, 1.0, 1.0], [1.0, 1.0, 1.0, 2.0]
    fit = fit_speed_law(counts, [7.0, 13.0, 8.5, 10.0], samples=samples, model_bytes=model_bytes)
    assert fit.theta_identified
    assert fit.thetas == pytest.approx(theta, rel=1e-9)


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


@pytest.mark.parametrize("counts", [[1], [4, 4, 4], [1, 2], [1, 8, 1, 8]])
def test_fewer_than_three_counts_of_one_job_are_refused(counts):
    """One or two distinct counts cannot tell a curve, however often they are measured."""
    with pytest.raises(NotIdentifiable, match="3 distinct counts"):
        fit_speed_law(counts, [10.0 / w for w in counts], samples=10, model_bytes=10)


def test_a_second_job_on_one_count_of_three_measurements_is_refused():
    """Three rows of two jobs leave both curves open, though three counts were measured."""
    with pytest.raises(NotIdentifiable, match="2 job"):
        fit_speed_law([1, 2, 4], [10.0, 6.0, 5.0], samples=[10, 10, 20], model_bytes=[1, 1, 7])


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
