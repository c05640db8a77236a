"""Clusters on which a recorded queue was run: what each policy makes of them, job by job, and what waiting is due to."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

import numpy as np

from dlsched.core.arrays import BoolArray, FloatArray, IntArray
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
from dlsched.srpt_mapping.solution import compact
from dlsched.statistics.inference import Estimate
from dlsched.study.rows import Row
from dlsched.study.study import Study

HAPPENED = "what happened"
MOST_OUTSIDE = 0.05
"""Share of GPU time held by other jobs from which what happened is no baseline, since it waited for them."""
UNEXPLAINED = 0.1  # part of the waiting from which the usual policy does not reproduce what happened
NEGLIGIBLE = 0.01  # share of the mean flow time below which a difference counts as none
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
    users_s: FloatArray
    """Of the waiting, what its user's own limits asked for: before the job was ready, or with its group at its limit."""
    parts: Mapping[str, Part] = field(default_factory=dict)
    """What is left of GPUs, by figure, over the pools and windows in which jobs take slices."""

    @property
    def own_flow_s(self) -> FloatArray:
        """Flow times without what users' own limits asked for."""
        return self.flow_s - self.users_s


@dataclass(frozen=True, slots=True)
class Shares:
    """What the mean waiting of a job is due to, seconds.

    ``waited_s``: what happened, or the usual policy where that is not known. ``users_s``: what users' own limits asked for, of
    which ``dependencies_s`` and ``begin_s`` before a job was ready, the rest as its array was at its limit.
    ``unexplained_s``: recorded waiting beyond that, less the usual policy's in the model; None: it is not known.
    ``order_s``: the usual policy less the best one tried, both beyond what users' own limits ask for.
    ``rest_s``: what the best one waits beyond them.
    """

    waited_s: float
    users_s: float
    dependencies_s: float
    begin_s: float
    unexplained_s: float | None
    order_s: float
    rest_s: float

    @property
    def arrays_s(self) -> float:
        """What limits of arrays asked for."""
        return self.users_s - self.dependencies_s - self.begin_s


@dataclass(frozen=True, slots=True)
class Cluster:
    """A size of the cluster, all windows and pools together.

    ``jobs`` are of all windows, ``keys`` tell one job from the same in another window. ``unit`` is the index of each job's
    window or stretch, over which intervals are drawn, ``units`` their name; empty: too few. ``fates`` are results by policy,
    what happened first, only of policies with an answer on every window; ``unanswered`` the reasons of the others.
    ``least_flow_s``: lower bound on the mean flow time of all schedules; None: not proven for every window. ``outside``: share
    of the GPU time in all windows that other jobs held. ``left_out``, ``whole``, ``tasks`` and ``silent`` count the jobs that
    ``Piece`` lists; ``pools``: by name the GPUs, and which jobs are of it, shape (I,).
    ``usual``: the policy with which others are compared; empty: the first. ``preemptive``: policies may stop and
    resize jobs. ``inferred``: when jobs were ready is inferred, as the record does not state it.
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
    pools: Mapping[str, tuple[int, BoolArray]] = field(default_factory=dict)
    usual: str = ""
    preemptive: bool = False
    inferred: bool = False

    @property
    def baseline(self) -> str | None:
        """The usual policy, with which others are compared in the same model."""
        if self.usual in self.fates:
            return self.usual
        return next((name for name in self.fates if name != HAPPENED), None)

    @property
    def record(self) -> Fate | None:
        """What happened, where it is known and did not wait for jobs that are not looked at."""
        return self.fates.get(HAPPENED) if self.outside <= MOST_OUTSIDE else None

    @property
    def best(self) -> str | None:
        """The policy with the least mean flow time beyond users' limits; what happened does not count as a policy."""
        names = [name for name in self.fates if name != HAPPENED]
        return min(names, key=lambda name: float(self.fates[name].own_flow_s.mean()), default=None)

    def mean_s(self, name: str) -> float:
        """Mean waiting time under a policy, seconds."""
        return float(self.fates[name].waiting_s.mean())

    def flow_s(self, name: str) -> float:
        """Mean flow time under a policy, seconds."""
        return float(self.fates[name].flow_s.mean())

    @property
    def shares(self) -> "Shares | None":
        """What the waiting is due to; None without any policy's answer."""
        return self.shares_of(slice(None))

    def shares_of(self, of: BoolArray | slice) -> "Shares | None":
        """What the waiting of some jobs is due to; their flow time where policies may stop and resize jobs."""
        base, best = self.baseline, self.best
        if base is None or best is None:
            return None

        def mean_s(fate: Fate) -> float:
            return float((fate.flow_s if self.preemptive else fate.waiting_s)[of].mean())

        usual, new, record = self.fates[base], self.fates[best], self.record
        first = usual if record is None else record
        users_s = float(first.users_s[of].mean())
        net_s, best_s = (mean_s(fate) - float(fate.users_s[of].mean()) for fate in (usual, new))
        before_s, dependent = (self.jobs.ready_s - self.jobs.submit_s)[of], self.jobs.dependent[of]
        dependencies_s, begin_s = (float((before_s * which).mean()) for which in (dependent, ~dependent))
        unexplained_s = None if record is None else mean_s(record) - users_s - net_s
        return Shares(mean_s(first), users_s, dependencies_s, begin_s, unexplained_s, net_s - best_s, best_s)

    @property
    def classes(self) -> dict[str, BoolArray]:
        """Which jobs are of each class, shape (I,), by its name; none where there is one class only."""
        own, names = np.array(self.jobs.classes), sorted({*self.jobs.classes})
        return {name: own == name for name in names} if len(names) > 1 else {}

    @property
    def off(self) -> dict[str, Shares]:
        """Pools of which more than a tenth of the waiting is not explained, by name; all together without any."""
        whole = self.shares
        if whole is None or whole.unexplained_s is None or self.preemptive:
            return {}
        least_s = NEGLIGIBLE * whole.waited_s * len(self.jobs.ids)
        found = {}
        for name, (_, of) in self.pools.items():
            shares = self.shares_of(of)
            assert shares is not None and shares.unexplained_s is not None
            if abs(shares.unexplained_s) > max(UNEXPLAINED * shares.waited_s, least_s / of.sum()):
                found[name] = shares
        return found or ({"": whole} if abs(whole.unexplained_s) > UNEXPLAINED * whole.waited_s else {})

    def change(self, name: str, against: str) -> Estimate:
        """Mean difference of flow times beyond users' limits, seconds a job, with its interval; below 0 the first is better."""
        return mean_of_jobs(self.fates[name].own_flow_s - self.fates[against].own_flow_s, self.unit)


def clusters_of(
    study: Study, pieces: Sequence[Piece], policies: Sequence[str], usual: tuple[str, ...] = ()
) -> list[Cluster]:
    """Read the store of a study of pieces: one cluster a size, in their order."""
    rows = {(row.source, row.method): row for row in study.each_row()}
    sizes = dict.fromkeys(piece.size for piece in pieces)
    clusters = [_cluster(study, [each for each in pieces if each.size == size], policies, rows) for size in sizes]
    return [replace(each, usual=_reproducing(clusters[0], usual)) for each in clusters]


def _reproducing(today: Cluster, usual: Sequence[str]) -> str:
    """The first policy; if it is off what happened by more than a tenth, the one of ``usual`` that is off the least."""
    first, names = today.baseline, [name for name in usual if name in today.fates]
    if today.record is None or first not in names:
        return ""
    happened_s = float(today.record.waiting_s.mean())
    off_s = {name: abs(today.mean_s(name) - happened_s) for name in names}
    return first if off_s[first] <= UNEXPLAINED * happened_s else min(names, key=off_s.__getitem__)


def _cluster(
    study: Study, pieces: Sequence[Piece], policies: Sequence[str], rows: dict[tuple[str, str], Row]
) -> Cluster:
    times: dict[str, list[JobTimes]] = {name: [] for name in (HAPPENED, *policies)}
    unanswered: dict[str, str] = {}
    least_s: list[float | None] = []
    # A policy needs an answer on every window: means over different jobs would not compare.
    for piece in pieces:
        instance = piece.imported.instance
        if piece.happened is not None:
            times[HAPPENED].append(piece.happened)
        for name in policies:
            row = rows[piece.recipe.source, name]
            found = _times(study, row, instance)
            if found is not None:
                times[name].append(found)
            else:
                words = f"{row.status}: {row.message}" if row.message else row.status
                unanswered.setdefault(name, f"{piece.name}: {words}" if piece.name else words)
        least_s.append(_least_s(instance, rows[piece.recipe.source, BOUND].bound, piece.jobs))
    # The jobs of all windows as one population, in the order of the windows.
    jobs = Jobs(
        tuple(chain.from_iterable(piece.jobs.ids for piece in pieces)),
        tuple(chain.from_iterable(piece.jobs.users for piece in pieces)),
        tuple(chain.from_iterable(piece.jobs.classes for piece in pieces)),
        *(np.concatenate([getattr(piece.jobs, name) for piece in pieces]) for name in Jobs._fields[3:]),
    )
    of_pool = np.repeat([piece.pool for piece in pieces], [len(piece.jobs.ids) for piece in pieces])
    pools = {piece.pool: (piece.gpus, of_pool == piece.pool) for piece in pieces}
    # Intervals draw windows; of too few, stretches of the one queue.
    if len(pieces) >= FEWEST_UNITS * len(pools):
        unit, units = np.repeat(np.arange(len(pieces)), [len(piece.jobs.ids) for piece in pieces]), "windows"
    else:
        unit, units = stretches(len(jobs.ids)), "stretches of equally many jobs"
    known = [each for each in least_s if each is not None]
    imported = [piece.imported for piece in pieces]
    unsliced = [each for each in imported if not getattr(each.instance, "sliced", 0)]
    return Cluster(
        sum(gpus for gpus, _ in pools.values()),
        jobs,
        tuple((f"{piece.pool}:{piece.name}", name) for piece in pieces for name in piece.jobs.ids),
        unit,
        f"{count} {units}" if (count := len(np.unique(unit))) >= FEWEST_UNITS else "",
        {name: _fate(name, each, pieces, jobs) for name, each in times.items() if len(each) == len(pieces)},
        unanswered,
        sum(known) / len(jobs.ids) if len(known) == len(pieces) else None,
        together([Part(*each.outside) for each in imported]).share or 0.0,
        left_out=len(frozenset().union(*(each.slices for each in imported))),
        whole=len({job.id for each in unsliced for job in each.jobs if job.share < 1}),
        tasks=len(frozenset().union(*(each.tasks for each in imported))),
        silent=len(frozenset().union(*(each.silent for each in imported))),
        pools=pools,
        preemptive=instance.family == "elastic_stream",
        inferred=all(job.eligible_s is None for each in imported for job in each.jobs),
    )


def _times(study: Study, row: Row, instance: InstanceFile) -> JobTimes | None:
    """The times under a policy, whose schedule is then let go; None: it has no answer."""
    data = study.solution(row.key, compact() if instance.family == "srpt_mapping" else None)
    if row.status not in ("feasible", "optimal") or data is None:
        return None
    solution = FAMILIES[instance.family].read_solution(data, instance)
    del data
    return times_of(instance, solution)


def _least_s(instance: InstanceFile, bound: float | None, jobs: Jobs) -> float | None:
    """Lower bound on the sum of flow times of all schedules, from submission on."""
    if bound is None:
        return None
    if instance.family == "srpt_mapping":  # its objective is the sum of the ends
        return bound - math.fsum(jobs.submit_s.tolist())
    return bound * len(getattr(instance, "jobs", ()))


def _fate(name: str, times: Sequence[JobTimes], pieces: Sequence[Piece], jobs: Jobs) -> Fate:
    start_s, end_s, limited_s = (
        np.concatenate([getattr(each, field) for each in times]) for field in ("start_s", "end_s", "limited_s")
    )
    flow_s = end_s - jobs.submit_s
    spans = [
        (float(piece.jobs.submit_s.min()), float(each.end_s.max())) for each, piece in zip(times, pieces, strict=True)
    ]
    parts = list(zip(times, pieces, spans, strict=True))
    known = name != HAPPENED or all(any(job.nodes for job in piece.imported.jobs) for piece in pieces)
    return Fate(
        start_s - jobs.submit_s,
        flow_s,
        bounded_slowdown(flow_s, jobs.run_s),
        together([utilisation(each.held, piece.gpus, *span) for each, piece, span in parts]),
        together([fragmentation(each.held, piece.nodes, *span) for each, piece, span in parts])
        if known and all(piece.nodes for piece in pieces)
        else None,
        limited_s + (jobs.ready_s - jobs.submit_s),
        {
            figure: together([each.parts[figure] for each in times if figure in each.parts])
            for figure in dict.fromkeys(chain.from_iterable(each.parts for each in times))
        },
    )


def in_common(clusters: Iterable[Cluster]) -> list[IntArray]:
    """Return each cluster's indices of the jobs that all have, in one order: small ones lack large jobs."""
    places = [{key: index for index, key in enumerate(cluster.keys)} for cluster in clusters]
    shared = [key for key in places[0] if all(key in others for others in places)]
    return [np.array([of[key] for key in shared], dtype=np.int64) for of in places]
