"""Fit of the speed law to measured epoch times: non-negative least squares in seconds.

====================  ==============================================================
code                  mathematics
====================  ==============================================================
``gpus``              w_i, i = 1..k measurements
``epoch_time_s``      t_i, measured seconds per epoch
``samples``           m_i, samples of one epoch of the job measured
``model_bytes``       n_i, bytes of its gradients
``thetas``            theta >= 0 that minimises sum_i (t_i - tau_i(w_i; theta))^2
====================  ==============================================================

Identifiability. Row i of the matrix is (m/w, w-1, (w-1) n/w, 1). Within one job, m and n fixed, the third
column is n - n/w: a combination of the first and the last. So the matrix has rank 3, and any three distinct
counts determine the curve tau(w) = hyperbolic / w + linear w + constant, but theta + t (n/m, 0, 1, -n) gives
the same curve for every t. Jobs of other m or n, n > 0, break the tie (rank 4).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dlsched.cluster.speed_law import SpeedLaw

Vector = NDArray[np.float64]

RANK_TOLERANCE = 1e-10
"""Singular values below this share of the largest count as 0; columns are scaled to 1 before."""


class NotIdentifiable(ValueError):  # noqa: N818 - it names what is wrong with the data
    """The measurements are well-formed, but no single curve follows from them."""


@dataclass(frozen=True, slots=True)
class SpeedFit:
    """The fitted coefficients and how far the measurements are from them; immutable.

    Parameters
    ----------
    thetas
        theta0 .. theta3, all >= 0; ``SpeedLaw.theta``. If ``theta_identified`` is false, those with the
        smallest theta2 among all that give the same times.
    residuals_s
        Measured minus fitted seconds per epoch, in the order of the measurements.
    rms_relative_residual
        Root of the mean of (residual / measured time) squared; no unit.
    theta_identified
        Whether the measurements determine all four coefficients (rank 4). If not, only the measured jobs' own times are
        known, on any number of GPUs; a law for other ``samples`` or ``model_bytes`` is one guess among many.
    """

    thetas: tuple[float, float, float, float]
    residuals_s: tuple[float, ...]
    rms_relative_residual: float
    theta_identified: bool

    def law(self, samples: float, model_bytes: float) -> SpeedLaw:
        """Return the speed law of a job with ``samples`` per epoch and ``model_bytes`` of gradients."""
        return SpeedLaw(theta=self.thetas, samples=samples, model_bytes=model_bytes)


def fit_speed_law(gpus: ArrayLike, epoch_time_s: ArrayLike, *, samples: ArrayLike, model_bytes: ArrayLike) -> SpeedFit:
    """Fit the four coefficients of the speed law to measured times.

    Parameters
    ----------
    gpus
        Shape (k,), integers >= 1. A count may be measured more than once.
    epoch_time_s
        Shape (k,), seconds > 0.
    samples
        One number > 0, or shape (k,) where several jobs were measured.
    model_bytes
        One number >= 0, or shape (k,).

    Raises
    ------
    NotIdentifiable
        The measurements do not determine the curve of every job measured (with one job: fewer than 3 distinct counts),
        or the closest law takes no time on one GPU, as when the times grow like w - 1.
    ValueError
        Shapes differ, a count is not an integer >= 1, another number is out of range or not finite.

    Source: the law as in ``SpeedLaw``, its non-negative least squares as in Optimus (EuroSys 2018); the remark on
    identifiability is ours.

    >>> fit = fit_speed_law([1, 2, 5], [51.0, 26.5, 13.0], samples=50_000, model_bytes=0)
    >>> [round(theta, 9) for theta in fit.thetas], fit.theta_identified
    ([0.001, 0.5, 0.0, 1.0], False)
    """
    from scipy.optimize import nnls

    counts = np.asarray(gpus)
    if counts.ndim != 1 or not counts.size or counts.dtype.kind not in "iu" or counts.min() < 1:
        raise ValueError(f"gpus must be a non-empty sequence of integers >= 1, found {gpus!r}")
    times = finite_array("epoch_time_s", epoch_time_s, counts.shape, positive=True)
    jobs = np.empty((counts.size, 2))
    for column, (name, values) in enumerate({"samples": samples, "model_bytes": model_bytes}.items()):
        shape = counts.shape if np.ndim(values) else ()
        jobs[:, column] = finite_array(name, values, shape, positive=name == "samples")

    # Identifiability: whether rows of each measured job at counts 1, 2, 3, which determine its whole curve, add rank.
    matrix = _matrix(counts.astype(float), jobs)
    rank = _rank(matrix)
    distinct_jobs = np.unique(jobs, axis=0)
    whole_curves = _matrix(np.tile([1.0, 2.0, 3.0], len(distinct_jobs)), distinct_jobs.repeat(3, axis=0))
    if _rank(np.vstack([matrix, whole_curves])) > rank:
        raise NotIdentifiable(
            f"times of {len(distinct_jobs)} job(s) on the GPU counts {np.unique(counts).tolist()} do not determine how "
            "they depend on the count: measure one job on at least 3 distinct counts"
        )

    # In rank 3, hyperbolic = theta0 m - theta2 n has one sign: the smallest theta2 needs theta0 or theta2, never both.
    supports = [[0, 1, 2, 3]] if rank == 4 else [[0, 1, 3], [1, 2, 3]]
    scale, longest = _scale(matrix), times.max()
    fits = [nnls((matrix / scale)[:, support], times / longest) for support in supports]
    best = min(range(len(fits)), key=lambda i: round(float(fits[i][1]), 12))  # a tie up to rounding: without theta2
    theta = np.zeros(4)
    theta[supports[best]] = fits[best][0]
    theta *= longest / scale
    if theta[0] * jobs[:, 0].min() + theta[3] <= 1e-12 * longest:
        raise NotIdentifiable("the closest law takes no time on one GPU: measure on 1 GPU, or check the times")
    residuals = times - matrix @ theta
    return SpeedFit(
        thetas=(float(theta[0]), float(theta[1]), float(theta[2]), float(theta[3])),
        residuals_s=tuple(residuals.tolist()),
        rms_relative_residual=float(np.sqrt(np.mean((residuals / times) ** 2))),
        theta_identified=rank == 4,
    )


def finite_array(name: str, values: ArrayLike, shape: tuple[int, ...], *, positive: bool) -> Vector:
    """Return ``values`` as floats; ValueError: another shape, a value not finite, negative or (maybe) 0."""
    array = np.asarray(values, dtype=np.float64)
    if array.shape != shape:
        raise ValueError(f"{name} has shape {array.shape}, must have {shape}")
    if not np.all(np.isfinite(array) & (array > 0 if positive else array >= 0)):
        raise ValueError(f"{name} must be finite and {'> 0' if positive else '>= 0'}, found {values!r}")
    return array


def _matrix(counts: Vector, jobs: Vector) -> Vector:
    """One row (m/w, w-1, (w-1) n/w, 1) per measurement; ``jobs`` has the columns m, n."""
    samples, model_bytes = jobs.T
    return np.column_stack([samples / counts, counts - 1, (counts - 1) / counts * model_bytes, np.ones_like(counts)])


def _scale(matrix: Vector) -> Vector:
    """Largest entry of each column, 1 for a column of zeros (one GPU only, or no bytes)."""
    largest: Vector = matrix.max(axis=0)
    return np.where(largest > 0, largest, 1.0)


def _rank(matrix: Vector) -> int:
    return int(np.linalg.matrix_rank(matrix / _scale(matrix), rtol=RANK_TOLERANCE))
