"""Predictions of a figure of recurring jobs, such as how long each runs, from the jobs known before it starts.

At the release of a job the jobs that could have ended by then are *known*. Predictions depend only on known
jobs.

===============  ====================================================================================================
``by``           prediction
===============  ====================================================================================================
``mean``         mean of the known jobs of the group
``last``         the known job of the group whose earliest end is latest
``forest``       random forest on features of the job, and mean, last and count of the known jobs of the group
===============  ====================================================================================================

If the group has no known jobs, those of the next wider group count, and so on; else a prior.

The forest is Breiman's, Machine Learning 45, 2001. It learns the logarithm, so that it predicts a geometric mean; leaves
have at least 5 jobs, and splits try half of the features. Each known job is learnt from with the features that it had at
its own release.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from dlsched.core.arrays import FloatArray, IntArray
from dlsched.core.elementary import exp, log
from dlsched.core.errors import UsageError
from dlsched.core.imports import needing

FIRST_TRAINING = 64
"""Number of known jobs from which a forest predicts; with fewer, the mean does."""


@dataclass(frozen=True, slots=True, eq=False)
class Recurring:
    """Jobs that recur, in any order; ``releases``, earliest possible ``ends`` and ``figures`` to predict have shape (J,).

    ``groups`` of every job, the narrowest first, None if it has none of that width; ``features``: a row for each job.
    """

    releases: FloatArray
    ends: FloatArray
    figures: FloatArray
    groups: Sequence[tuple[Hashable | None, ...]]
    features: Sequence[Sequence[float]]

    def known(self) -> tuple[IntArray, IntArray]:
        """Jobs in the order of their earliest end, and how many of them are known at the release of each job."""
        # a job ends after its release, even if rounding swallows its length
        ends = np.maximum(self.ends, np.nextafter(self.releases, np.inf))
        ended = np.argsort(ends, kind="stable")
        return ended, np.searchsorted(ends[ended], self.releases, side="right")

    def keys(self, job: int) -> list[tuple[int, Hashable]]:
        """Return the groups of a job, each with its width."""
        return [(width, group) for width, group in enumerate(self.groups[job]) if group is not None]


@dataclass(frozen=True, slots=True)
class PredictionErrors:
    """Errors of predictions n~ of true figures n: means and factors.

    ``eta1`` and ``eta2``: least factors >= 1 with n <= eta1 n~ and n~ <= eta2 n for every job; ``mean_absolute_log``:
    mean of abs(ln(n~ / n)); ``median_relative``: median of abs(n~ - n) / n.
    """

    eta1: float
    eta2: float
    mean_absolute_log: float
    median_relative: float

    @classmethod
    def of(cls, figures: Sequence[float], predicted: Sequence[float]) -> Self:
        """Compare predictions with the truth."""
        true, found = np.array(figures), np.array(predicted)
        return cls(
            max(1.0, float(np.max(true / found))),
            max(1.0, float(np.max(found / true))),
            float(np.mean(np.abs(log(found / true)))),
            float(np.median(np.abs(found - true) / true)),
        )


def predictions(jobs: Recurring, *, by: str, seed: int, trees: int, retrain: float, prior: float) -> FloatArray:
    """Predict the figure of every job, shape (J,); ``by`` is ``mean``, ``last`` or ``forest``.

    The forest of ``trees`` trees is trained anew whenever ``retrain`` (> 1) times as many jobs are known as at the last
    training; ``prior`` is the prediction from nothing. ``UsageError``: the forest needs scikit-learn.
    """
    if by == "forest":
        with needing("predictions by forest need scikit-learn", "predict", UsageError):
            from sklearn.ensemble import RandomForestRegressor
    ended, known = jobs.known()
    order = np.argsort(known, kind="stable")
    means, lasts, counts = _summaries(jobs, ended, known, order, prior)
    if by != "forest":
        return means if by == "mean" else lasts
    features = np.column_stack([np.array(jobs.features), log(means), log(lasts), counts])
    logs = log(jobs.figures)
    predicted, counted = means, known[order]
    # Batches of jobs between two trainings: each is predicted by the forest trained at its begin.
    begin = int(np.searchsorted(counted, FIRST_TRAINING))
    while begin < len(order):
        end = int(np.searchsorted(counted, retrain * float(counted[begin])))
        past, batch = ended[: counted[begin]], order[begin:end]
        forest = RandomForestRegressor(trees, min_samples_leaf=5, max_features=0.5, random_state=seed, n_jobs=1)
        forest.fit(features[past], logs[past])
        predicted[batch] = exp(forest.predict(features[batch]))
        begin = end
    return predicted


def codes(words: Sequence[Hashable], releases: FloatArray) -> list[int]:
    """Number words in order of first appearance, by release."""
    order = np.argsort(releases, kind="stable").tolist()
    code_of = {word: code for code, word in enumerate(dict.fromkeys(words[job] for job in order))}
    return [code_of[word] for word in words]


@dataclass(slots=True)
class _Past:
    """Known jobs of a group."""

    count: int = 0
    total: float = 0.0
    last: float = 0.0


def _summaries(
    jobs: Recurring, ended: IntArray, known: IntArray, order: IntArray, prior: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Mean and last known figure at each job's release, and how many of its narrowest group are known."""
    past, figures = ended.tolist(), jobs.figures.tolist()
    pasts: dict[tuple[int, Hashable], _Past] = {}
    nothing = _Past(1, prior, prior)
    rows = np.empty((3, len(past)))
    done = 0
    for job in order.tolist():
        # ``past`` is in order of earliest end, so the jobs known at this release are a prefix of it.
        for before in past[done : known[job]]:
            for key in jobs.keys(before):
                group = pasts.setdefault(key, _Past())
                group.count += 1
                group.total += figures[before]
                group.last = figures[before]
        done = int(known[job])
        used = next((pasts[key] for key in jobs.keys(job) if key in pasts), nothing)
        rows[:, job] = used.total / used.count, used.last, pasts.get((0, jobs.groups[job][0]), _Past()).count
    return rows[0], rows[1], rows[2]
