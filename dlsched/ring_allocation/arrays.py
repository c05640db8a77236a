"""The jobs of an instance as flat arrays, without a Python object for each pair of job and count.

=====================  =================================================================================================
code                   mathematics
=====================  =================================================================================================
``epochs``             Q_j; shape (J,), like all but those of tables and laws
``weights``            omega_j
``restarts_s``         rho_j, 0 where the job does not run
``current``            w^0_j, 0 where the job does not run
``least``, ``largest`` smallest and largest allowed count
``tables``, ``laws``   positions of the jobs with a table, shape (T,), and with a law, shape (L,)
``starts``             pairs of table k are starts[k] .. starts[k + 1] - 1; shape (T + 1,)
``counts``             W_j of all tables, ascending; shape (P,)
``times_s``            tau_j of all tables; shape (P,)
``terms``              theta_0 m, theta_1, theta_2, theta_3, n of every law; shape (5, L)
=====================  =================================================================================================
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Self

import numpy as np

from dlsched.cluster.speeds import SpeedLaw
from dlsched.cluster.training_job import TrainingJob
from dlsched.core.arrays import FloatArray, IntArray
from dlsched.core.result import FrozenMapping

TimesLeft = tuple[IntArray, FloatArray]
"""Count of every job, and its remaining seconds on that count; shape (J,)."""


@dataclass(frozen=True, eq=False)
class JobArrays:
    """Arrays of all data of the jobs that costs depend on."""

    ids: tuple[str, ...]
    epochs: FloatArray
    weights: FloatArray
    restarts_s: FloatArray
    current: IntArray
    least: IntArray
    largest: IntArray
    tables: IntArray
    laws: IntArray
    starts: IntArray
    counts: IntArray
    times_s: FloatArray
    terms: FloatArray
    _latest: dict[int, tuple[Mapping[str, int], TimesLeft | None]] = field(default_factory=dict, repr=False)

    @classmethod
    def of(
        cls, jobs: Sequence[TrainingJob], weights: Sequence[float], running: Mapping[int, tuple[int, float]], gpus: int
    ) -> Self:
        """Read the jobs of a cluster of that many GPUs; ``running``: current count and restart of jobs by position."""
        # jobs with a table, and those with a law; the pairs of all tables stand one after the other
        speeds = [job.epoch_time_s for job in jobs]
        tables = [table for table in speeds if table is not None]
        at = np.array([index for index, table in enumerate(speeds) if table is not None], dtype=np.int64)
        without = [index for index, table in enumerate(speeds) if table is None]
        laws = {index: law for index in without if (law := jobs[index].speed_law) is not None}
        starts = np.cumsum([0, *[len(table.counts) for table in tables]], dtype=np.int64)
        least, largest = np.ones((2, len(jobs)), dtype=np.int64)
        largest[at] = [table.counts[-1] for table in tables]
        largest[list(laws)] = [jobs[index].max_gpus or gpus for index in laws]
        # counts of one table after the other; the same ones of many tables, which are one tuple, are converted once
        own = {id(table.counts): table.counts for table in tables}
        known = {key: np.array(each, dtype=np.int64) for key, each in own.items()}
        counts = np.concatenate([np.empty(0, dtype=np.int64), *(known[id(table.counts)] for table in tables)])
        least[at] = counts[starts[:-1]]
        # jobs that run: any other count costs a restart
        current, restarts_s = np.zeros(len(jobs), dtype=np.int64), np.zeros(len(jobs))
        for index, (count, restart_s) in running.items():
            current[index], restarts_s[index] = count, restart_s
        return cls(
            ids=tuple([job.id for job in jobs]),
            epochs=np.array([job.epochs for job in jobs]),
            weights=np.array(weights),
            restarts_s=restarts_s,
            current=current,
            least=least,
            largest=largest,
            tables=at,
            laws=np.array(list(laws), dtype=np.int64),
            starts=starts,
            counts=counts,
            times_s=np.frombuffer(b"".join([table.packed for table in tables])),
            terms=np.array([_terms(law) for law in laws.values()]).reshape(-1, 5).T,
        )

    @cached_property
    def costs(self) -> FloatArray:
        """cost_j of every count of every table, shape (P,)."""
        return self.costs_of(self.tables, np.diff(self.starts), self.counts, self.times_s)

    def costs_of(self, jobs: IntArray, lengths: IntArray, counts: IntArray, times_s: FloatArray) -> FloatArray:
        """Return weight (epochs tau + restart) of the next lengths[k] counts and times for each job k; shape of ``counts``."""
        costs = np.repeat(self.epochs[jobs], lengths)
        costs *= times_s
        restarts_s = self.restarts_s[jobs]
        if restarts_s.any():
            costs += np.repeat(restarts_s, lengths) * (counts != np.repeat(self.current[jobs], lengths))
        weights = self.weights[jobs]
        if (weights != 1.0).any():
            costs *= np.repeat(weights, lengths)
        return costs

    def law_times_s(self, laws: IntArray, counts: IntArray) -> FloatArray:
        """Seconds per epoch by the law at each of these positions among the laws, on each of these counts."""
        w = counts.astype(np.float64)
        compute, theta1, theta2, theta3, model_bytes = self.terms[:, laws]
        return np.asarray(compute / w + theta1 * (w - 1) + theta2 * ((w - 1) / w * model_bytes) + theta3)

    def seconds_left(self, gpus: Mapping[str, int]) -> TimesLeft | None:
        """Count and remaining seconds of every job, remembered for the latest immutable counts; None: no allocation."""
        if not isinstance(gpus, FrozenMapping):
            return self._seconds_left(gpus)
        latest, times = self._latest.get(0, (None, None))
        if latest is not gpus:
            times = self._seconds_left(gpus)
            self._latest[0] = gpus, times
        return times

    def _seconds_left(self, gpus: Mapping[str, int]) -> TimesLeft | None:
        counts = self._plain(gpus)
        if counts is None or len(gpus) != len(counts) or not ((self.least <= counts) & (counts <= self.largest)).all():
            return None
        # a count of a table is allowed if it is the largest up to itself
        wanted = counts[self.tables]
        pairs = self._last_at_most(wanted)
        if not (self.counts[pairs] == wanted).all():
            return None
        times_s = np.empty(len(counts))
        times_s[self.tables] = self.times_s[pairs]
        times_s[self.laws] = self.law_times_s(np.arange(len(self.laws)), counts[self.laws])
        return counts, self.epochs * times_s + np.where(counts != self.current, self.restarts_s, 0.0)

    def fastest_s(self, most: int) -> FloatArray:
        """Seconds per epoch on every table's fastest count up to max(``most``, its smallest); shape (T,)."""
        fitting = self._last_at_most(np.maximum(self.counts[self.starts[:-1]], most)) + 1
        # minima over the pairs from starts to fitting, and between tables; only the former count
        ends = np.column_stack((self.starts[:-1], fitting)).ravel()
        inside = ends[: np.searchsorted(ends, len(self.times_s))]
        return np.asarray(np.minimum.reduceat(self.times_s, inside)[::2])

    def _plain(self, gpus: Mapping[str, int]) -> IntArray | None:
        """Counts in the order of the jobs, if all are there and integers."""
        in_order = tuple(gpus) == self.ids
        counts = list(gpus.values() if in_order else map(dict(gpus).get, self.ids))
        if set(map(type, counts)) != {int}:
            return None
        try:
            return np.array(counts, dtype=np.int64)
        except OverflowError:
            return None

    def _last_at_most(self, wanted: IntArray) -> IntArray:
        """Last pair of every table with at most the count wanted, not below the smallest; by halving, as counts ascend."""
        low, high = self.starts[:-1], np.minimum(self.starts[:-1] + wanted, self.starts[1:]) - 1
        if (self.counts[high] <= wanted).all():
            return np.asarray(high)
        while (low < high).any():
            middle = (low + high + 1) // 2
            fits = self.counts[middle] <= wanted
            low, high = np.where(fits, middle, low), np.where(fits, high, middle - 1)
        return low


def _terms(law: SpeedLaw) -> tuple[float, ...]:
    """A column of ``JobArrays.terms``."""
    theta0, theta1, theta2, theta3 = law.theta
    return theta0 * law.samples, theta1, theta2, theta3, law.model_bytes
