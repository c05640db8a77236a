"""How many iterations a recurring job will run, predicted before it starts.

At the release r_i of a job, job j is *known* if r_j + n_j alpha_j^low <= r_i, alpha^low = ``graph.uniform_s`` at the
largest bandwidth: under no schedule can others have ended by then. No prediction depends on more than that. A real
schedule would know fewer, as jobs queue and run slower; and short jobs become known before long ones of their age.

===============  ====================================================================================================
``by``           prediction n~_i
===============  ====================================================================================================
``perfect``      n_i; the instance has no ``predicted_iterations``
``mean``         mean of the known jobs of the group
``last``         of the known jobs of the group, that whose earliest end is last
``forest``       random forest on group, user, model, GPUs, hour of the release, and mean, last and count of the known
===============  ====================================================================================================

Without known jobs in the group those of the user with as many GPUs count, else all known, else ``prior_iterations``. A
job without a group, or without a user, skips that step.

Source: Luo, Liu, Lee, Shroff, INFOCOM 2025 (arXiv 2501.05563, abstract) predict recurring jobs by a random forest;
features, training and fallbacks are our reconstruction. The forest is Breiman's, Machine Learning 45, 2001.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dlsched.core.arrays import FloatArray, IntArray
from dlsched.core.errors import UsageError
from dlsched.srpt_mapping.heuristics import lowest_s
from dlsched.srpt_mapping.instance import Instance, Job

WAYS = ("perfect", "mean", "last", "forest")
FIRST_TRAINING = 64
"""Known jobs from which on there is a forest; before, the mean predicts."""
_LONGEST_S = 1e99  # an instance refuses predictions of more than 1e100 s
_HOUR_S = 3600.0


@dataclass(frozen=True, slots=True)
class PredictionErrors:
    """How far the predictions of an instance are from the truth.

    Parameters
    ----------
    eta1, eta2
        Least factors >= 1 with n_i <= eta1 n~_i and n~_i <= eta2 n_i for every job.
    mean_absolute_log
        Mean of abs(ln(n~_i / n_i)).
    median_relative
        Median of abs(n~_i - n_i) / n_i.
    """

    eta1: float
    eta2: float
    mean_absolute_log: float
    median_relative: float


def predict(
    instance: Instance,
    *,
    by: str,
    seed: int = 0,
    trees: int = 50,
    retrain: float = 2.0,
    prior_iterations: float = 1000.0,
) -> Instance:
    """Return the instance with predictions, each at least 1; see the module for what they know.

    The forest learns ln n_i, so that it predicts a geometric mean; leaves have at least 5 jobs, and splits try half of the
    features. Each known job is learnt from with the features that it had at its own release. Equal arguments give equal
    predictions with one version of scikit-learn.

    Parameters
    ----------
    instance
        Servers and jobs; predictions that they carry are not used.
    by
        ``perfect``, ``mean``, ``last`` or ``forest``.
    seed, trees
        Of the forest: its random state, and how many trees.
    retrain
        The forest is trained anew whenever so many times as many jobs are known as at the last training, > 1.
    prior_iterations
        The prediction when nothing is known, >= 1.

    Cost: O(I log I); the forest O(``trees`` I log^2 I).

    Raises
    ------
    UsageError
        An unknown word, a number out of range, or scikit-learn is not installed.
    """
    if by not in WAYS:
        raise UsageError(f"by: found {by!r}, allowed: {', '.join(WAYS)}")
    if not 0 <= seed < 2**32 or trees < 1:
        raise UsageError(f"seed, trees: found {seed}, {trees}, allowed: integers from 0 to {2**32 - 1} and >= 1")
    if not 1 < retrain < math.inf or not 1 <= prior_iterations < math.inf:
        raise UsageError(f"retrain, prior_iterations: found {retrain}, {prior_iterations}, allowed: > 1 and >= 1")
    if by == "perfect":
        return _carrying(instance, [None] * len(instance.jobs))
    regressor = _regressor() if by == "forest" else None
    ended, known = _history(instance)
    means, lasts, counts = _summaries(instance, ended, known, prior_iterations)
    if regressor is None:
        return _clipped(instance, means if by == "mean" else lasts)

    features = np.column_stack([*_static_features(instance), np.log(means), np.log(lasts), counts])
    logs = np.log([job.iterations for job in instance.jobs])
    predictions = means
    order = np.argsort(known, kind="stable")
    counted = known[order]
    begin = int(np.searchsorted(counted, FIRST_TRAINING))
    while begin < len(order):
        end = int(np.searchsorted(counted, retrain * float(counted[begin])))
        past, batch = ended[: counted[begin]], order[begin:end]
        forest = regressor(trees, min_samples_leaf=5, max_features=0.5, random_state=seed, n_jobs=1)
        forest.fit(features[past], logs[past])
        predictions[batch] = np.exp(forest.predict(features[batch]))
        begin = end
    return _clipped(instance, predictions)


def with_error(instance: Instance, *, sigma: float, seed: int) -> Instance:
    """Return the instance with n~_i = max(1, n_i exp(sigma Z_i)), Z_i standard normal from NumPy's ``default_rng(seed)``.

    With ``sigma`` 0 policies see the truth, as by ``perfect``.

    Raises
    ------
    UsageError
        A number out of range.
    """
    if not 0 <= sigma < math.inf:
        raise UsageError(f"sigma: found {sigma}, allowed: a number >= 0")
    if seed < 0:
        raise UsageError(f"seed: found {seed}, allowed: an integer >= 0")
    if sigma == 0:
        return predict(instance, by="perfect")
    normal = np.random.default_rng(seed).standard_normal(len(instance.jobs))
    with np.errstate(over="ignore"):  # clipped below
        return _clipped(instance, np.array([job.iterations for job in instance.jobs]) * np.exp(sigma * normal))


def errors(instance: Instance) -> PredictionErrors:
    """Compare the predictions that the jobs carry with the truth.

    >>> from dlsched.srpt_mapping.instance import Server, Stage
    >>> stages = [Stage(replicas=1, compute_s=1, output_bytes=0, parameter_bytes=0)]
    >>> job = Job(id="a", release_s=0, iterations=10, predicted_iterations=20, stages=stages)
    >>> servers = [Server(id="s0", gpus=1)]
    >>> found = errors(
    ...     Instance(name="one", intra_bandwidth_bytes_per_s=1, nic_bandwidth_bytes_per_s=1, servers=servers, jobs=[job])
    ... )
    >>> found.eta1, found.eta2, found.median_relative
    (1.0, 2.0, 1.0)
    """
    true = np.array([job.iterations for job in instance.jobs])
    predicted = np.array([job.predicted for job in instance.jobs])
    return PredictionErrors(
        max(1.0, float(np.max(true / predicted))),
        max(1.0, float(np.max(predicted / true))),
        float(np.mean(np.abs(np.log(predicted / true)))),
        float(np.median(np.abs(predicted - true) / true)),
    )


def _history(instance: Instance) -> tuple[IntArray, IntArray]:
    """Jobs in the order of their earliest end, and how many of them are known at the release of each job."""
    releases_s = np.array([job.release_s for job in instance.jobs])
    lengths_s = np.array([job.iterations for job in instance.jobs]) * lowest_s(instance)
    # a job ends after its release, even where rounding swallows its length
    ends_s = np.maximum(releases_s + lengths_s, np.nextafter(releases_s, np.inf))
    ended = np.argsort(ends_s, kind="stable")
    return ended, np.searchsorted(ends_s[ended], releases_s, side="right")


@dataclass(slots=True)
class _Past:
    """Known jobs that recur."""

    count: int = 0
    total: float = 0.0
    last: float = 0.0


def _summaries(
    instance: Instance, ended: IntArray, known: IntArray, prior_iterations: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Mean and last of what is known at the release of each job, after the fallbacks; and the count of its group."""
    past = ended.tolist()
    pasts: dict[tuple[Any, ...], _Past] = {}
    nothing = _Past(1, prior_iterations, prior_iterations)
    rows = np.empty((3, len(past)))
    done = 0
    for place in np.argsort(known, kind="stable").tolist():
        for number in past[done : known[place]]:
            job = instance.jobs[number]
            for key in _keys(job):
                of_key = pasts.setdefault(key, _Past())
                of_key.count += 1
                of_key.total += job.iterations
                of_key.last = job.iterations
        done = int(known[place])
        job = instance.jobs[place]
        used = next((pasts[key] for key in _keys(job) if key in pasts), nothing)
        rows[:, place] = used.total / used.count, used.last, pasts.get(("group", job.group), _Past()).count
    return rows[0], rows[1], rows[2]


def _keys(job: Job) -> list[tuple[Any, ...]]:
    """What a job recurs by, best first."""
    group = [] if job.group is None else [("group", job.group)]
    user = [] if job.user is None else [("user", job.user, job.gpus)]
    return [*group, *user, ("all",)]


def _static_features(instance: Instance) -> list[Sequence[float]]:
    """Group, user and model, numbered as they first appear; GPUs; hour of the day, were time 0 midnight."""
    jobs = instance.jobs
    order = sorted(range(len(jobs)), key=lambda place: jobs[place].release_s)
    columns: list[Sequence[float]] = [[job.gpus for job in jobs], [job.release_s / _HOUR_S % 24 for job in jobs]]
    for word in ("group", "user", "model"):
        codes = {name: code for code, name in enumerate(dict.fromkeys(getattr(jobs[place], word) for place in order))}
        columns.append([codes[getattr(job, word)] for job in jobs])
    return columns


def _regressor() -> Any:
    try:
        from sklearn.ensemble import RandomForestRegressor
    except ImportError:
        raise UsageError("predictions by forest need scikit-learn: pip install 'dlsched[predict]'") from None
    return RandomForestRegressor


def _clipped(instance: Instance, predictions: FloatArray) -> Instance:
    """The instance with predictions of at least 1, and no more than an instance allows."""
    slowest = min(instance.intra_bandwidth_bytes_per_s, *instance.shares)
    most = np.array([_LONGEST_S / job.graph.uniform_s(slowest) for job in instance.jobs])
    return _carrying(instance, np.maximum(1.0, np.minimum(predictions, most)).tolist())


def _carrying(instance: Instance, predictions: Sequence[float | None]) -> Instance:
    kept = [name for name in Job.model_fields if name != "predicted_iterations"]
    jobs = [
        Job(predicted_iterations=predicted, **{name: getattr(job, name) for name in kept})
        for job, predicted in zip(instance.jobs, predictions, strict=True)
    ]
    return instance.model_copy(update={"jobs": jobs})
