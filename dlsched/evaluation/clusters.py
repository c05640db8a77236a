"""Results of every policy on each size of the cluster, job by job, so that figures are of the same jobs."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from dlsched.core.arrays import FloatArray, IntArray
from dlsched.core.instance import InstanceFile
from dlsched.evaluation.measures import (
    Jobs,
    JobTimes,
    Part,
    bounded_slowdown,
    fragmentation,
    mean_of_jobs,
    stretches,
    times_of,
    together,
    utilisation,
)
from dlsched.evaluation.question import BOUND, Piece
from dlsched.families import FAMILIES
from dlsched.statistics.inference import Estimate
from dlsched.study.rows import Row
from dlsched.study.study import Study

HAPPENED = "what happened"
MOST_OUTSIDE = 0.05
"""Share of GPU time held by other jobs from which what happened is no baseline, since it waited for them."""
FEWEST_UNITS = 6
"""Least number of units for intervals: windows if there are as many, else stretches of equally many jobs."""


@dataclass(frozen=True, slots=True)
class Fate:
    """Results of a policy on a cluster: times by job, in seconds, and shares of the GPU time."""

    waiting_s: FloatArray
    flow_s: FloatArray
    slowdown: FloatArray
    used: Part
    scattered: Part | None


@dataclass(frozen=True, slots=True)
class Cluster:
    """A size of the cluster, all windows together.

    ``jobs`` are of all windows, ``keys`` tell one job from the same in another window. ``unit`` is the index of each job's
    window or stretch, over which intervals are drawn, ``units`` their name; empty: too few. ``fates`` are results by policy,
    what happened first, only of policies with an answer on every window; ``unanswered`` the reasons of the others.
    ``least_flow_s``: lower bound on the mean flow time of all schedules; None: not proven for every window. ``outside``: share
    of the GPU time in all windows that other jobs held. ``left_out``, ``whole``, ``tasks`` and ``silent`` count the jobs that
    ``Piece`` lists.
    """

    gpus: int
    jobs: Jobs
    keys: tuple[tuple[str, str], ...]
    unit: IntArray
    units: str
    fates: dict[str, Fate]
    unanswered: dict[str, str]
    least_flow_s: float | None
    outside: float
    left_out: int = 0
    whole: int = 0
    tasks: int = 0
    silent: int = 0

    @property
    def baseline(self) -> str | None:
        """The baseline: what happened, if known and not delayed by other jobs; else the first policy."""
        if HAPPENED in self.fates and self.outside <= MOST_OUTSIDE:
            return HAPPENED
        return next((name for name in self.fates if name != HAPPENED), None)

    @property
    def best(self) -> str | None:
        """The policy with the least mean flow time; what happened does not count as a policy."""
        names = [name for name in self.fates if name != HAPPENED]
        return min(names, key=lambda name: float(self.fates[name].flow_s.mean()), default=None)

    def change(self, name: str, against: str) -> Estimate:
        """Mean difference of flow times, seconds a job, with its interval; below 0 the first is better."""
        return mean_of_jobs(self.fates[name].flow_s - self.fates[against].flow_s, self.unit)


def clusters_of(study: Study, pieces: Sequence[Piece], policies: Sequence[str]) -> list[Cluster]:
    """Read the store of a study of pieces: one cluster a size, in their order."""
    rows = {(row.source, row.method): row for row in study.each_row()}
    sizes = list(dict.fromkeys(piece.gpus for piece in pieces))
    return [_cluster(study, [piece for piece in pieces if piece.gpus == gpus], policies, rows) for gpus in sizes]


def _cluster(
    study: Study, pieces: Sequence[Piece], policies: Sequence[str], rows: dict[tuple[str, str], Row]
) -> Cluster:
    times: dict[str, list[JobTimes]] = {name: [] for name in (HAPPENED, *policies)}
    unanswered: dict[str, str] = {}
    least_s: list[float | None] = []
    # A policy needs an answer on every window: means over different jobs would not compare.
    for piece in pieces:
        instance = piece.recipe.make()
        if piece.happened is not None:
            times[HAPPENED].append(piece.happened)
        for name in policies:
            row = rows[piece.recipe.source, name]
            data = study.solution(row.key)
            if row.status in ("feasible", "optimal") and data is not None:
                solution = FAMILIES[instance.family].read_solution(data, instance)
                times[name].append(times_of(instance, solution))
            else:
                words = f"{row.status}: {row.message}" if row.message else row.status
                unanswered.setdefault(name, f"{piece.name}: {words}" if piece.name else words)
        least_s.append(_least_s(instance, rows[piece.recipe.source, BOUND].bound))
    # The jobs of all windows as one population, in the order of the windows.
    jobs = Jobs(
        tuple(chain.from_iterable(piece.jobs.ids for piece in pieces)),
        tuple(chain.from_iterable(piece.jobs.users for piece in pieces)),
        *(np.concatenate([getattr(piece.jobs, name) for piece in pieces]) for name in ("submit_s", "run_s", "gpus")),
    )
    # Intervals draw windows; of too few, stretches of the one queue.
    if len(pieces) >= FEWEST_UNITS:
        unit, units = np.repeat(np.arange(len(pieces)), [len(piece.jobs.ids) for piece in pieces]), "windows"
    else:
        unit, units = stretches(len(jobs.ids)), "stretches of equally many jobs"
    known = [each for each in least_s if each is not None]
    return Cluster(
        pieces[0].gpus,
        jobs,
        tuple((piece.name, name) for piece in pieces for name in piece.jobs.ids),
        unit,
        f"{count} {units}" if (count := len(np.unique(unit))) >= FEWEST_UNITS else "",
        {name: _fate(name, each, pieces, jobs) for name, each in times.items() if len(each) == len(pieces)},
        unanswered,
        sum(known) / len(jobs.ids) if len(known) == len(pieces) else None,
        together([piece.outside for piece in pieces]).share or 0.0,
        *(
            len(frozenset().union(*(getattr(piece, name) for piece in pieces)))
            for name in ("left_out", "whole", "tasks", "silent")
        ),
    )


def _least_s(instance: InstanceFile, bound: float | None) -> float | None:
    """Lower bound on the sum of flow times of all schedules."""
    if bound is None:
        return None
    record = FAMILIES[instance.family]
    if instance.family == "srpt_mapping":  # its objective is the sum of the ends
        return bound - record.constant(instance)
    return bound * len(getattr(instance, "jobs", ()))


def _fate(name: str, times: Sequence[JobTimes], pieces: Sequence[Piece], jobs: Jobs) -> Fate:
    submits = [piece.jobs.submit_s for piece in pieces]
    flow_s = np.concatenate([each.end_s - submit_s for each, submit_s in zip(times, submits, strict=True)])
    waiting_s = np.concatenate([each.start_s - submit_s for each, submit_s in zip(times, submits, strict=True)])
    spans = [(float(submit_s.min()), float(each.end_s.max())) for each, submit_s in zip(times, submits, strict=True)]
    parts = list(zip(times, pieces, spans, strict=True))
    placed = all(piece.nodes and (name != HAPPENED or piece.placed) for piece in pieces)
    return Fate(
        waiting_s,
        flow_s,
        bounded_slowdown(flow_s, jobs.run_s),
        together([utilisation(each.held, piece.gpus, *span) for each, piece, span in parts]),
        together([fragmentation(each.held, piece.nodes, *span) for each, piece, span in parts]) if placed else None,
    )


def in_common(clusters: Iterable[Cluster]) -> list[IntArray]:
    """Return each cluster's indices of the jobs that all have, in one order: small ones lack large jobs."""
    places = [{key: index for index, key in enumerate(cluster.keys)} for cluster in clusters]
    shared = [key for key in places[0] if all(key in others for others in places)]
    return [np.array([of[key] for key in shared], dtype=np.int64) for of in places]
