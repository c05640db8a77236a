"""Fits of measured epoch times by the speed law, and of the training loss by a curve.

*The speed law* is fitted by non-negative least squares in seconds: theta >= 0 minimises sum_i (t_i - tau_i(w_i; theta))^2
over measurements of t_i seconds per epoch on w_i GPUs, of jobs of m_i samples per epoch and n_i bytes of gradients.

Identifiability. Row i of the matrix is (m/w, w-1, (w-1) n/w, 1). Within one job, m and n fixed, the third
column is n - n/w: a combination of the first and the last. So the matrix has rank 3, and any three distinct
counts determine the curve tau(w) = hyperbolic / w + linear w + constant, but theta + t (n/m, 0, 1, -n) gives
the same curve for every t. Jobs of other m or n, n > 0, break the tie (rank 4).

*The training loss* after e epochs is loss(e) = 1 / (b0 e + b1) + b2, b >= 0, with a floor b2 that it never reaches; it tells
the remaining epochs to a target. For a fixed b2 below every measured loss l, with y = l - b2, the reciprocal
1/y = b0 e + b1 is a non-negative least-squares problem. An error of the reciprocal is an error of the loss times y f,
f = 1 / (b0 e + b1) being the fitted value: f - y = y f (1/y - 1/f). So row i is weighted by y_i f_i, with y_i for the
unknown f_i in the first pass and the first pass' f_i in the second: nearly the least squares of the loss. b2 is then
chosen by the loss itself, the smallest sum_i (l_i - loss(e_i))^2: a grid, finer near the smallest loss, then golden
sections around its best point.
"""

import math
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dlsched.cluster.speeds import SpeedLaw
from dlsched.core.elementary import geometric

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
        ``SpeedLaw.theta``, all >= 0. If ``theta_identified`` is false, those with the smallest theta2 among all that give the
        same times.
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


GRID = geometric(1e-9, 1, 91)
"""Trial distances of b2 below the smallest loss, as shares of it; the last one is b2 = 0."""
GOLDEN = (math.sqrt(5) - 1) / 2
SECTIONS = 75
"""Golden sections after the grid: the bracket shrinks by GOLDEN^75 = 2e-16, to rounding."""
PASSES = 2
"""Weighted fits per trial b2; more change little."""
SMALLEST_FALL = 1e-6
"""A fall below this share of the loss does not count; nor does the rest of a fall after its first step."""


@dataclass(frozen=True, slots=True)
class LossCurve:
    """loss(e) = 1 / (b0 e + b1) + b2; immutable.

    ``b0``: how fast the reciprocal grows, per epoch and unit of loss. ``b1``: reciprocal of loss(0) - b2; with b1 = 0 the loss is
    infinite before the first epoch. ``b2``: the floor, in units of the loss. ValueError: a field is negative or not finite, or
    b0 and b1 are both 0. Source: Optimus (EuroSys 2018).

    >>> LossCurve(b0=0.5, b1=1.0, b2=0.25).epochs_left(0.5, epochs_done=2)
    4.0
    """

    b0: float
    b1: float
    b2: float

    def __post_init__(self) -> None:
        for field in fields(self):
            finite_array(field.name, getattr(self, field.name), (), positive=False)
        if self.b0 == self.b1 == 0:
            raise ValueError("b0 and b1 are both 0: the loss would be infinite at every epoch")

    def loss(self, epochs: float) -> float:
        """Loss after ``epochs`` >= 0 epochs, fractions allowed."""
        reciprocal = self.b0 * epochs + self.b1
        return 1 / reciprocal + self.b2 if reciprocal > 0 else math.inf

    def epochs_left(self, target: float, epochs_done: float = 0) -> float | None:
        """Epochs from ``epochs_done`` until the loss is at most ``target``, a fraction; 0.0 when it is so already.

        ``None`` when it never is: the target is not above b2, or b0 is 0. ValueError: ``target`` is not finite, or
        ``epochs_done`` is negative or not finite.
        """
        finite_array("epochs_done", epochs_done, (), positive=False)
        if not math.isfinite(target):
            raise ValueError(f"target is {target}, must be finite")
        if self.loss(epochs_done) <= target:
            return 0.0
        if target <= self.b2 or self.b0 == 0:
            return None
        remaining = (1 / (target - self.b2) - self.b1) / self.b0 - epochs_done
        return max(0.0, remaining) if math.isfinite(remaining) else None


@dataclass(frozen=True, slots=True)
class LossFit:
    """The curve, and ``residuals``: measured minus fitted loss in the order of the measurements; immutable."""

    curve: LossCurve
    residuals: tuple[float, ...]


def fit_loss_curve(epochs: ArrayLike, losses: ArrayLike) -> LossFit:
    """Fit the loss curve to measured losses; b2 is searched in [0, smallest loss).

    Parameters
    ----------
    epochs
        Shape (k,), >= 0, in any order; an epoch may be measured more than once.
    losses
        Shape (k,), > 0.

    Returns
    -------
    LossFit
        Exact losses give their curve back, to better than 1e-6 relative. Noisy ones give nearly the
        least squares of the loss among the curves whose floor is below every measured loss: on 12 random curves of
        30 epochs with 3 % noise the residual was at most 1.1 % longer, with 10 % noise at most 16 %.

    Raises
    ------
    NotIdentifiable
        Fewer than 3 distinct epochs; losses whose closest curve does not fall (flat or rising); or losses that are at
        their floor from the second epoch on, so that any steep enough curve fits.
    ValueError
        Shapes differ, a number is out of range or not finite.

    Source: Optimus (EuroSys 2018) for the curve; the search is ours.

    >>> curve = fit_loss_curve([0, 2, 6], [1.25, 0.75, 0.5]).curve
    >>> round(curve.b0, 9), round(curve.b1, 9), round(curve.b2, 9)
    (0.5, 1.0, 0.25)
    """
    at = finite_array("epochs", epochs, np.shape(epochs), positive=False)
    if at.ndim != 1:
        raise ValueError(f"epochs must be a sequence of numbers, found {epochs!r}")
    measured = finite_array("losses", losses, at.shape, positive=True)
    distinct = np.unique(at)
    if distinct.size < 3:
        raise NotIdentifiable(f"a loss curve needs at least 3 distinct epochs, found {distinct.tolist()}")

    # Grid over b2, then golden sections between the neighbours of its best point.
    trials = measured.min() * (1 - GRID)
    errors = [_fit_above(at, measured, floor)[0] for floor in trials]
    best = int(np.argmin(errors))
    low, high = trials[min(best + 1, len(trials) - 1)], trials[max(best - 1, 0)]
    for _ in range(SECTIONS):
        below, above = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
        if _fit_above(at, measured, below)[0] <= _fit_above(at, measured, above)[0]:
            high = above
        else:
            low = below
    error, curve = min((_fit_above(at, measured, floor) for floor in (trials[best], low, high)), key=lambda fit: fit[0])

    first, second, last = (curve.loss(float(epoch)) for epoch in distinct[[0, 1, -1]])
    if not math.isfinite(error) or first - last <= SMALLEST_FALL * measured.min():
        raise NotIdentifiable("the losses do not fall: no curve that falls is closest to them")
    if second - curve.b2 <= SMALLEST_FALL * (first - curve.b2):
        raise NotIdentifiable("the losses are at their floor from the second epoch on: measure earlier epochs")
    return LossFit(
        curve, tuple(float(loss) - curve.loss(float(epoch)) for epoch, loss in zip(at, measured, strict=True))
    )


def _fit_above(epochs: Vector, losses: Vector, floor: float) -> tuple[float, LossCurve]:
    """Sum of squared residuals of the loss, and the curve, for b2 = ``floor`` below every loss."""
    from scipy.optimize import nnls

    above = losses - floor
    fitted = above
    for _ in range(PASSES):
        # Rows weighted by y f turn errors of the reciprocal into errors of the loss; columns scaled to 1 for ``nnls``.
        columns = np.column_stack([epochs, np.ones_like(epochs)]) * (fitted * above)[:, np.newaxis]
        scale = columns.max(axis=0)
        b0, b1 = nnls(columns / scale, fitted)[0] / scale
        reciprocal = b0 * epochs + b1
        if not reciprocal.min() > 0:  # an infinite loss at epoch 0
            return math.inf, LossCurve(float(b0), float(b1), float(floor))
        fitted = 1 / reciprocal
    return float(np.sum((above - fitted) ** 2)), LossCurve(float(b0), float(b1), float(floor))
