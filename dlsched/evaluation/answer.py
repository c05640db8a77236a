"""The answer to a question about a recorded queue: clusters that would have had to be, and what each policy makes of them.

Results are job by job, so that figures are of the same jobs. In sentences names of policies are between backticks.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

import numpy as np

from dlsched.core.arrays import BoolArray, FloatArray, IntArray
from dlsched.core.instance import InstanceFile
from dlsched.core.messages import several
from dlsched.core.quantities import duration, percent
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
UNEXPLAINED = 0.1  # part of the waiting from which the usual policy does not reproduce what happened
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

    @property
    def own_flow_s(self) -> FloatArray:
        """Flow times without what users' own limits asked for."""
        return self.flow_s - self.users_s


@dataclass(frozen=True, slots=True)
class Shares:
    """What the mean waiting of a job is due to, seconds.

    ``waited_s``: what happened, or the usual policy where that is not known. ``users_s``: what users' own limits asked for.
    ``unexplained_s``: what happened beyond that, less the same of the usual policy in the model; None: it is not known.
    ``order_s``: the usual policy less the best one tried, both beyond what users' own limits ask for.
    """

    waited_s: float
    users_s: float
    unexplained_s: float | None
    order_s: float


@dataclass(frozen=True, slots=True)
class Cluster:
    """A size of the cluster, all windows and pools together.

    ``jobs`` are of all windows, ``keys`` tell one job from the same in another window. ``unit`` is the index of each job's
    window or stretch, over which intervals are drawn, ``units`` their name; empty: too few. ``fates`` are results by policy,
    what happened first, only of policies with an answer on every window; ``unanswered`` the reasons of the others.
    ``least_flow_s``: lower bound on the mean flow time of all schedules; None: not proven for every window. ``outside``: share
    of the GPU time in all windows that other jobs held. ``left_out``, ``whole``, ``tasks`` and ``silent`` count the jobs that
    ``Piece`` lists; ``pools``: by name the GPUs, and which jobs are of it, shape (I,).
    ``usual``: the policy with which others are compared; empty: the first.
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

    @property
    def shares(self) -> "Shares | None":
        """What the waiting is due to; None without any policy's answer."""
        base, best = self.baseline, self.best
        if base is None or best is None:
            return None
        usual, new = self.fates[base], self.fates[best]
        record = self.record
        users_s = float((usual if record is None else record).users_s.mean())
        net_s, best_s = (float((fate.waiting_s - fate.users_s).mean()) for fate in (usual, new))
        unexplained_s = None if record is None else self.mean_s(HAPPENED) - users_s - net_s
        waited_s = self.mean_s(base if record is None else HAPPENED)
        return Shares(waited_s, users_s, unexplained_s, net_s - best_s)

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
            data = study.solution(row.key)
            if row.status in ("feasible", "optimal") and data is not None:
                solution = FAMILIES[instance.family].read_solution(data, instance)
                times[name].append(times_of(instance, solution))
            else:
                words = f"{row.status}: {row.message}" if row.message else row.status
                unanswered.setdefault(name, f"{piece.name}: {words}" if piece.name else words)
        least_s.append(_least_s(instance, rows[piece.recipe.source, BOUND].bound, piece.jobs))
    # The jobs of all windows as one population, in the order of the windows.
    jobs = Jobs(
        tuple(chain.from_iterable(piece.jobs.ids for piece in pieces)),
        tuple(chain.from_iterable(piece.jobs.users for piece in pieces)),
        *(np.concatenate([getattr(piece.jobs, name) for piece in pieces]) for name in Jobs._fields[2:]),
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
        whole=len({job.id for each in imported for job in each.jobs if job.share < 1}),
        tasks=len(frozenset().union(*(each.tasks for each in imported))),
        silent=len(frozenset().union(*(each.silent for each in imported))),
        pools=pools,
    )


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
    )


def in_common(clusters: Iterable[Cluster]) -> list[IntArray]:
    """Return each cluster's indices of the jobs that all have, in one order: small ones lack large jobs."""
    places = [{key: index for index, key in enumerate(cluster.keys)} for cluster in clusters]
    shared = [key for key in places[0] if all(key in others for others in places)]
    return [np.array([of[key] for key in shared], dtype=np.int64) for of in places]


NEGLIGIBLE = 0.01  # share of the mean flow time below which a difference counts as none


def from_to(before_s: float, after_s: float, beside: float = 0.0) -> str:
    """Write a change, such as ``from 6.05 h to 0.4 h``; both in the unit of the longest, that of ``beside`` included."""
    longest_s = max(before_s, after_s, beside)
    return f"from {duration(before_s, longest_s)} to {duration(after_s, longest_s)}"


def due(cluster: Cluster) -> str:
    """Write what the waiting was due to: limits of users, what the model lacks, the order of jobs, and the rest."""
    shares, base = cluster.shares, cluster.baseline
    if shares is None or base is None:
        return ""
    longest_s, known = shares.waited_s, shares.unexplained_s is not None
    verb, under = ("waited", "") if known else ("wait", f" under `{base}`")
    head = f"On {several(cluster.gpus, 'GPU')} jobs {verb} {duration(longest_s)} on average{under}"
    if longest_s <= 0:
        return f"{head}."

    def part(seconds: float) -> str:
        return f"{duration(max(seconds, 0.0), longest_s)} ({percent(max(seconds, 0.0) / longest_s)})"

    causes = [f"{part(shares.users_s)} is due to limits that users set themselves (dependencies, begin times, arrays)"]
    causes.append(f"{part(shares.order_s)} to the order in which jobs were served")
    text = f"{head}. Of that, {' and '.join(causes)}"
    if shares.unexplained_s is None:
        return f"{text}."
    if abs(shares.unexplained_s) <= UNEXPLAINED * longest_s:
        return f"{text}; the rest is waiting for free GPUs, as under `{base}`."
    less = "longer" if shares.unexplained_s > 0 else "shorter"
    amount = f"{duration(abs(shares.unexplained_s), longest_s)} ({percent(abs(shares.unexplained_s) / longest_s)})"
    return (
        f"The model lacks something: what happened waited {amount} {less} than `{base}` in the model, and that is not due to the "
        f"order of jobs; it may be reservations, quotas, drained nodes, shapes of nodes, or another policy than `{base}`. {text}."
    )


def starvation(cluster: Cluster) -> str:
    """Say who waits longer under the best policy, where the longest wait grows by a half."""
    base, best = cluster.baseline, cluster.best
    if base is None or best is None or base == best:
        return ""
    before_s, after_s = cluster.fates[base].waiting_s, cluster.fates[best].waiting_s
    longest_s = float(after_s.max())
    if longest_s <= 1.5 * float(before_s.max()):
        return ""
    longer = after_s > before_s + NEGLIGIBLE * longest_s
    most = f"the longest wait {from_to(float(before_s.max()), longest_s)}"
    tail_s = [float(np.percentile(each, 99)) for each in (before_s, after_s)]
    tail = f"the 99th percentile {from_to(tail_s[0], tail_s[1], longest_s)}"
    by = duration(float((after_s - before_s)[longer].mean()), longest_s)
    return (
        f"But `{best}` lets some jobs starve: {most}, {tail}; {several(int(longer.sum()), 'job')} would wait longer, by {by} on "
        "average."
    )


def saving(cluster: Cluster) -> str:
    """Write what switching from the baseline to the best policy would save, and what that leaves out."""
    base, best = cluster.baseline, cluster.best
    if base is None or best is None:
        return f"On {several(cluster.gpus, 'GPU')} no policy has an answer."
    sentences = [_saving(cluster, base, best)]
    # Jobs that held GPUs and are left out, if they held much or are on parts of GPUs.
    if cluster.outside > MOST_OUTSIDE:
        among, share = _not_looked_at(cluster)
        sentences.append(f"Jobs that are not looked at{among and f'{among},'} {share}; here they take none.")
    elif cluster.left_out:
        verb = "is" if cluster.left_out == 1 else "are"
        sentences.append(f"{several(cluster.left_out, 'job')} on parts of GPUs {verb} left out, and take none here.")
    sentences += _parts(cluster)
    if cluster.tasks:
        tasks = several(cluster.tasks, "task")
        sentences.append(f"Arrays of which only so many tasks might run at once have no such limit here: {tasks}.")
    return " ".join(sentences)


def _not_looked_at(cluster: Cluster) -> tuple[str, str]:
    """Write which jobs are left out, and their share of the GPU time."""
    among = f", {several(cluster.left_out, 'job')} on parts of GPUs among them" if cluster.left_out else ""
    return among, f"held {percent(cluster.outside)} of the GPU time that {several(cluster.gpus, 'GPU')} have"


def _parts(cluster: Cluster) -> list[str]:
    """Name jobs that get whole GPUs instead of parts."""
    have = f"{several(cluster.whole, 'job')} on parts of GPUs {'has' if cluster.whole == 1 else 'have'}"
    return [f"{have} a whole one for every part here, which takes more of them."] if cluster.whole else []


def _saving(cluster: Cluster, base: str, best: str) -> str:
    jobs = several(len(cluster.jobs.ids), "job")
    before, after = cluster.fates[base], cluster.fates[best]
    flow_s = float(before.flow_s.mean())
    head = f"On {several(cluster.gpus, 'GPU')}"
    if base == best:
        return f"{head}, no other policy would have beaten `{base}`, under which the {jobs} took {duration(flow_s)} on average."
    change = cluster.change(best, base)
    if change.value > 0:
        return (
            f"{head}, no policy would have beaten `{base}`, under which the {jobs} took {duration(flow_s)} on average; the best, "
            f"`{best}`, would have added {_of_a_job(change, cluster)}."
        )
    waits = f"the mean waiting time {from_to(float(before.waiting_s.mean()), float(after.waiting_s.mean()), flow_s)}"
    flows = f"the mean time from submission to end {from_to(flow_s, float(after.flow_s.mean()))}"
    if -change.value < NEGLIGIBLE * flow_s:
        amount = _of_a_job(change, cluster)
        return (
            f"{head}, switching from `{base}` would have saved next to nothing: with the best policy, `{best}`, {amount}, of "
            f"{duration(flow_s)} from submission to end, for the {jobs}."
        )
    amount = _of_a_job(change, cluster, flow_s)
    if change.high is not None and change.high >= 0:
        changes = f"{head}, the best policy, `{best}`, changes {flows} against `{base}`"
        return f"{changes}, {amount}, which is not statistically significant."
    verb = "cut" if after.waiting_s.mean() <= before.waiting_s.mean() else "changed"
    return f"{head}, switching from `{base}` to `{best}` would have {verb} {waits} and {flows} for the {jobs}: it saves {amount}."


def _of_a_job(change: Estimate, cluster: Cluster, beside: float = 0.0) -> str:
    """Write the time that a job gains or loses, with the interval in the same unit, that of a time ``beside`` them if longer."""
    if change.low is None or change.high is None:
        return f"{duration(abs(change.value), beside)} a job (too few jobs for an interval)"
    low, high = sorted((abs(change.low), abs(change.high)))
    longest_s = max(high, beside)
    between = f"{duration(low, longest_s)} to {duration(high, longest_s)}"
    if change.low < 0 < change.high:
        between = f"{duration(-change.low, longest_s)} saved to {duration(change.high, longest_s)} lost"
    return f"{duration(abs(change.value), longest_s)} a job (95 % interval: {between}; {cluster.units})"


def distance(cluster: Cluster) -> str:
    """Write how far the best policy is from the lower bound of all schedules."""
    best, least_s = cluster.best, cluster.least_flow_s
    if best is None:
        return ""
    if least_s is None:
        return "No bound was proven within the limits, so how much better a schedule could be is not known."
    flow_s, of_base_s = (float(cluster.fates[name].flow_s.mean()) for name in (best, cluster.baseline or best))
    which = " that gives every part of a GPU a whole one" if cluster.whole else ""
    # the bound rests on what the record says or shows of walls
    if len(cluster.pools) > 1 or bool((cluster.jobs.ready_s > cluster.jobs.submit_s).any()):
        which += f"{' and' if which else ' that'} keeps jobs in their pools and waits for their users' conditions"
    least = duration(least_s, of_base_s)
    if flow_s <= least_s * (1 + 1e-6):
        return f"That cannot be improved: no schedule{which} takes less than {least} a job, which is proven."
    return (
        f"No schedule{which} takes less than {least} a job, which is proven, so `{best}` is at most "
        f"{percent(flow_s / least_s - 1)} above the best possible."
    )


def why_baseline(cluster: Cluster) -> str:
    """Say why what happened is not compared with the model, if so."""
    base = cluster.baseline
    if base is None:
        return ""
    if HAPPENED in cluster.fates:
        if cluster.outside <= MOST_OUTSIDE:
            return ""
        return (
            f"What happened waited for the jobs that are not looked at too; as they held more than {percent(MOST_OUTSIDE)}, the "
            f"comparison is with `{base}`, not with what happened."
        )
    return (
        f"What really happened is not known on this cluster (the audit says why), so the comparison is with `{base}`."
    )


def known(estimates: bool, silent: int = 0) -> str:
    """Write what policies know of the lengths of jobs; ``silent`` jobs had no estimate."""
    if estimates:
        knowledge = "Policies know of a job's length what its user said"
        if not silent:
            return f"{knowledge}."
        return (
            f"{knowledge}; of {several(silent, 'job')} whose users said nothing, the median of what was said in the same "
            "partition, or else in the file."
        )
    return (
        "Policies know how long every job really runs, which no scheduler does; --estimates tells them what users said."
    )


def smallest(clusters: Sequence[Cluster]) -> str:
    """Name the clusters on which waiting is no longer than on the first, today's."""
    today = clusters[0]
    base = today.baseline
    if len(clusters) < 2 or base is None:
        return ""
    waiting_s = float(today.fates[base].waiting_s.mean())
    enough: dict[int, tuple[str, Cluster]] = {}
    # Waits are compared over the jobs of today's cluster, all of which the other must hold.
    for cluster in clusters:
        index = in_common((today, cluster))[1]
        if len(index) < len(today.jobs.ids):
            continue  # this cluster cannot hold all jobs
        waits = {name: float(fate.waiting_s[index].mean()) for name, fate in cluster.fates.items() if name != HAPPENED}
        best = min(waits, key=lambda name: waits[name], default=None)
        if best is not None and (waits[best] <= waiting_s or math.isclose(waits[best], waiting_s)):
            enough[cluster.gpus] = best, cluster
    waiting = duration(waiting_s, float(today.fates[base].flow_s.mean()))
    today_waits = f"Waiting under `{base}` on {several(today.gpus, 'GPU')} is {waiting} on average"
    if not enough:
        return " ".join([f"{today_waits}; no policy keeps it as short on any of these clusters.", *_no_room(today)])
    best, cluster = enough[min(enough)]
    smallest = f"{several(cluster.gpus, 'GPU')}, with `{best}`"
    answer = f"{today_waits}; the smallest of these clusters on which a policy keeps it as short has {smallest}."
    return " ".join([answer, *_no_room(cluster)])


def _no_room(cluster: Cluster) -> list[str]:
    """Name jobs that a size of the cluster leaves out, if they held much or are on parts of GPUs."""
    if cluster.outside > MOST_OUTSIDE:
        among, share = _not_looked_at(cluster)
        return [f"No room is kept for the jobs that are not looked at{among}, which {share}."]
    if cluster.left_out:
        return [f"No room is kept for {several(cluster.left_out, 'job')} on parts of GPUs, left out here."]
    return _parts(cluster)


def winners(cluster: Cluster) -> str:
    """Say how many users gain and lose by switching to the best policy."""
    base, best = cluster.baseline, cluster.best
    user, names = cluster.jobs.by_users()
    if base is None or best is None or base == best or not names:
        return "" if names else "The trace names no users."
    known = user >= 0
    before = np.bincount(user[known], weights=cluster.fates[base].flow_s[known])
    after = np.bincount(user[known], weights=cluster.fates[best].flow_s[known])
    gain = int(np.sum(after < (1 - NEGLIGIBLE) * before))
    lose = int(np.sum(after > (1 + NEGLIGIBLE) * before))
    return (
        f"Of {len(names):,} users, switching from `{base}` to `{best}` shortens the mean time from submission to end of "
        f"{gain:,} and lengthens that of {lose:,}, each by more than {percent(NEGLIGIBLE)}."
    )
