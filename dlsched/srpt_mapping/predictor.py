"""Predictions, made before a job starts, of how many iterations a recurring job will run.

At the release r_i of a job, job j is *known* if r_j + n_j alpha_j^low <= r_i, alpha^low = ``JobGraph.uniform_s`` at the
largest bandwidth: under no schedule can others have ended by then. A real schedule would know fewer, as jobs queue and run
slower; and short jobs become known before long ones of their age.

A job recurs by its group, else by its user with as many GPUs, else all known jobs count, else ``prior_iterations``
(``dlsched.algorithms.recurrence``). The forest's features are group, user, model, GPUs and hour of the release.

Source: Luo, Liu, Lee, Shroff, INFOCOM 2025 (arXiv 2501.05563, abstract) predict recurring jobs by a random forest;
features, training and fallbacks are our reconstruction.
"""

import math
from collections.abc import Sequence

import numpy as np

from dlsched.algorithms.recurrence import PredictionErrors, Recurring, codes, predictions
from dlsched.core.arguments import require_seed
from dlsched.core.arrays import FloatArray
from dlsched.core.elementary import exp
from dlsched.core.errors import UsageError
from dlsched.srpt_mapping.instance import Instance, Job

WAYS = ("perfect", "mean", "last", "forest")
_LONGEST_S = 1e99  # an instance refuses predictions of more than 1e100 s


def predict(
    instance: Instance,
    *,
    by: str,
    seed: int = 0,
    trees: int = 50,
    retrain: float = 2.0,
    prior_iterations: float = 1000.0,
) -> Instance:
    """Return the instance with new predictions, each at least 1; existing predictions are not used.

    Equal arguments give equal predictions with one version of scikit-learn.

    Parameters
    ----------
    instance
        Servers and jobs.
    by
        ``perfect`` (n_i; the instance then has no ``predicted_iterations``), ``mean``, ``last`` or ``forest``.
    seed, trees, retrain
        Parameters of the forest, see ``dlsched.algorithms.recurrence.predictions``.
    prior_iterations
        The prediction when nothing is known, >= 1.

    Raises
    ------
    UsageError
        An unknown word, a number out of range, or scikit-learn is not installed.
    """
    if by not in WAYS:
        raise UsageError(where="by", found=repr(by), allowed=", ".join(WAYS))
    if not 0 <= seed < 2**32 or trees < 1:
        raise UsageError(
            where=("seed", "trees"), found=f"{seed}, {trees}", allowed=f"integers from 0 to {2**32 - 1} and >= 1"
        )
    if not 1 < retrain < math.inf or not 1 <= prior_iterations < math.inf:
        raise UsageError(
            where=("retrain", "prior_iterations"), found=f"{retrain}, {prior_iterations}", allowed="> 1 and >= 1"
        )
    if by == "perfect":
        return _carrying(instance, [None] * len(instance.jobs))
    predicted = predictions(recurring(instance), by=by, seed=seed, trees=trees, retrain=retrain, prior=prior_iterations)
    return _clipped(instance, predicted)


def recurring(instance: Instance) -> Recurring:
    """The jobs as columns; hours of the day count time 0 as midnight."""
    jobs = instance.jobs
    # known from the earliest end under any schedule on; recurs by the first key that known jobs share
    releases_s = np.array([job.release_s for job in jobs])
    iterations = np.array([job.iterations for job in jobs])
    words = [codes([getattr(job, word) for job in jobs], releases_s) for word in ("group", "user", "model")]
    return Recurring(
        releases_s,
        releases_s + iterations * [job.graph.uniform_s(instance.fastest) for job in jobs],
        iterations,
        [(job.group, None if job.user is None else (job.user, job.gpus), "all") for job in jobs],
        [(job.gpus, job.release_s / 3600.0 % 24, *each) for job, *each in zip(jobs, *words, strict=True)],
    )


def with_error(instance: Instance, *, sigma: float, seed: int) -> Instance:
    """Return the instance with n~_i = max(1, n_i exp(sigma Z_i)), Z_i standard normal from NumPy's ``default_rng(seed)``.

    With ``sigma`` 0 policies see the truth, as by ``perfect``.

    Raises
    ------
    UsageError
        A number out of range.
    """
    if not 0 <= sigma < math.inf:
        raise UsageError(where="sigma", found=sigma, allowed="a number >= 0")
    require_seed(seed)
    if sigma == 0:
        return predict(instance, by="perfect")
    normal = np.random.default_rng(seed).standard_normal(len(instance.jobs))
    with np.errstate(over="ignore"):  # clipped below
        return _clipped(instance, np.array([job.iterations for job in instance.jobs]) * exp(sigma * normal))


def errors(instance: Instance) -> PredictionErrors:
    """Compare the predictions that the jobs carry with the truth.

    >>> from dlsched.srpt_mapping import example
    >>> errors(example()).eta2
    1.5
    """
    return PredictionErrors.of([job.iterations for job in instance.jobs], [job.predicted for job in instance.jobs])


def _clipped(instance: Instance, predicted: FloatArray) -> Instance:
    """Return the instance with predictions clipped to at least 1 and at most what an instance allows."""
    most = np.array([_LONGEST_S / job.graph.uniform_s(instance.slowest) for job in instance.jobs])
    return _carrying(instance, np.maximum(1.0, np.minimum(predicted, most)).tolist())


def _carrying(instance: Instance, predicted: Sequence[float | None]) -> Instance:
    """The instance with these predictions; None: the truth."""
    fields = [name for name in Job.model_fields if name != "predicted_iterations"]
    jobs = [
        Job(predicted_iterations=each, **{name: getattr(job, name) for name in fields})
        for job, each in zip(instance.jobs, predicted, strict=True)
    ]
    return instance.model_copy(update={"jobs": jobs})
