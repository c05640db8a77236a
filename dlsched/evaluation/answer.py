"""Sentences of the answer: what switching saves, distance to the best possible, sufficient cluster sizes.

Names of policies are between backticks.
"""

import math
from collections.abc import Sequence

import numpy as np

from dlsched.core.messages import several
from dlsched.core.quantities import duration, percent
from dlsched.evaluation.clusters import HAPPENED, MOST_OUTSIDE, Cluster, in_common
from dlsched.statistics.inference import Estimate

NEGLIGIBLE = 0.01
"""Share of the mean flow time below which a difference counts as none."""


def from_to(before_s: float, after_s: float, beside: float = 0.0) -> str:
    """Write a change.

    >>> from_to(21780.0, 1440.0), from_to(1440.0, 60.0, beside=21780.0)
    ('from 6.05 h to 0.4 h', 'from 0.4 h to 60 s')
    """
    longest_s = max(before_s, after_s, beside)
    return f"from {duration(before_s, longest_s)} to {duration(after_s, longest_s)}"


def saving(cluster: Cluster) -> str:
    """Write what switching from the baseline to the best policy would save, and what that leaves out."""
    base, best = cluster.baseline, cluster.best
    if base is None or best is None:
        return f"On {several(cluster.gpus, 'GPU')} no policy has an answer."
    return " ".join([_saving(cluster, base, best), *_left_out(cluster), *_parts(cluster), *_tasks(cluster)])


def _left_out(cluster: Cluster) -> list[str]:
    """Name jobs that held GPUs and are left out, if they held much or are on parts of GPUs."""
    if cluster.outside > MOST_OUTSIDE:
        among, share = _not_looked_at(cluster)
        return [f"Jobs that are not looked at{among and f'{among},'} {share}; here they take none."]
    if cluster.left_out:
        verb = "is" if cluster.left_out == 1 else "are"
        return [f"{several(cluster.left_out, 'job')} on parts of GPUs {verb} left out, and take none here."]
    return []


def _not_looked_at(cluster: Cluster) -> tuple[str, str]:
    """Write which jobs are left out, and their share of the GPU time."""
    among = f", {several(cluster.left_out, 'job')} on parts of GPUs among them" if cluster.left_out else ""
    return among, f"held {percent(cluster.outside)} of the GPU time that {several(cluster.gpus, 'GPU')} have"


def _parts(cluster: Cluster) -> list[str]:
    """Name jobs that get whole GPUs instead of parts."""
    if not cluster.whole:
        return []
    verb = "has" if cluster.whole == 1 else "have"
    return [
        f"{several(cluster.whole, 'job')} on parts of GPUs {verb} a whole one for every part here, which takes more of them."
    ]


def _tasks(cluster: Cluster) -> list[str]:
    """Name tasks that may run at once here, but could not in the trace."""
    if not cluster.tasks:
        return []
    return [
        f"Arrays of which only so many tasks might run at once have no such limit here: {several(cluster.tasks, 'task')}."
    ]


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
    least = duration(least_s, of_base_s)
    if flow_s <= least_s * (1 + 1e-6):
        return f"That cannot be improved: no schedule{which} takes less than {least} a job, which is proven."
    return (
        f"No schedule{which} takes less than {least} a job, which is proven, so `{best}` is at most "
        f"{percent(flow_s / least_s - 1)} above the best possible."
    )


def why_baseline(cluster: Cluster) -> str:
    """Name the baseline, if that is not what happened."""
    base = cluster.baseline
    if base is None or base == HAPPENED:
        return ""
    if HAPPENED in cluster.fates:
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
        answer = f"{today_waits}; no policy keeps it as short on any of these clusters."
        return " ".join([answer, *_no_room(today)])
    best, cluster = enough[min(enough)]
    answer = f"{today_waits}; the smallest of these clusters on which a policy keeps it as short has "
    return " ".join([f"{answer}{several(cluster.gpus, 'GPU')}, with `{best}`.", *_no_room(cluster)])


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
    names = sorted({user for user in cluster.jobs.users if user})
    if base is None or best is None or base == best or not names:
        return "" if names else "The trace names no users."
    place = {name: index for index, name in enumerate(names)}
    user = np.array([place.get(name, -1) for name in cluster.jobs.users])
    known = user >= 0
    before = np.bincount(user[known], weights=cluster.fates[base].flow_s[known])
    after = np.bincount(user[known], weights=cluster.fates[best].flow_s[known])
    gain = int(np.sum(after < (1 - NEGLIGIBLE) * before))
    lose = int(np.sum(after > (1 + NEGLIGIBLE) * before))
    return (
        f"Of {len(names):,} users, switching from `{base}` to `{best}` shortens the mean time from submission to end of "
        f"{gain:,} and lengthens that of {lose:,}, each by more than {percent(NEGLIGIBLE)}."
    )
