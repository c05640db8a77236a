"""The answer to a question about a recorded queue in words; names of policies are between backticks."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from dlsched.core.messages import several
from dlsched.core.quantities import percent, rounded, short, time_unit
from dlsched.evaluation.clusters import HAPPENED, MOST_OUTSIDE, NEGLIGIBLE, Cluster, Shares, in_common
from dlsched.evaluation.measures import means_by, sizes_of
from dlsched.statistics.inference import Estimate

MUCH_LONGER, STARVING = 1.5, 3.0  # factors of a wait from which that is said
WITHOUT = "so savings are not those of the whole cluster"
FEWEST_OF_CLASS = 20  # jobs of a class whose mean wait is looked at


class Unit(NamedTuple):
    """The unit of the times of a sentence, a column or a page, and its seconds."""

    name: str
    seconds: float

    @classmethod
    def of(cls, longest_s: float) -> "Unit":
        """The unit in which so long a time is written."""
        return cls(*time_unit(longest_s))

    def text(self, seconds: float) -> str:
        """Write a time without its unit, in three digits."""
        value = seconds / self.seconds
        return "< 0.001" if 0 < abs(value) < 0.001 else rounded(value)

    def words(self, seconds: float) -> str:
        """Write a time with its unit."""
        value = seconds / self.seconds
        return f"{'< 0.001' if 0 < abs(value) < 0.001 else short(value)} {self.name}"


def from_to(before_s: float, after_s: float, unit: Unit) -> str:
    """Write a change, such as ``from 6.05 h to 0.4 h``."""
    return f"from {unit.words(before_s)} to {unit.words(after_s)}"


def unit_of(cluster: Cluster) -> Unit:
    """The unit of the mean flow time under the usual policy."""
    return Unit.of(cluster.flow_s(cluster.baseline) if cluster.baseline else 0.0)


def due(cluster: Cluster) -> str:
    """Write what the waiting was due to: limits of users, what the model lacks, the order of jobs, and the rest."""
    shares, base, best, unit = cluster.shares, cluster.baseline, cluster.best, unit_of(cluster)
    if shares is None or base is None or best is None:
        return ""
    head = f"On {several(cluster.gpus, 'GPU')}"
    if cluster.preemptive:
        names = dict.fromkeys([*([HAPPENED] if cluster.record else []), base, best])
        took = [f"{unit.words(cluster.flow_s(name))} {_under(name)}" for name in names]
        return (
            f"{head} jobs take {' and '.join(filter(None, [', '.join(took[:-1]), took[-1]]))} from submission to end on average; "
            "as policies may stop jobs and resize them at no cost, their waiting is not parted."
        )
    verb, under = ("waited", "") if cluster.record else ("wait", f" under `{base}`")
    text = f"{head} jobs {verb} {unit.words(shares.waited_s)} on average{under}"
    if shares.waited_s <= 0:
        return f"{text}."

    def part(seconds: float) -> str:
        return f"{unit.words(seconds)} ({percent(seconds / shares.waited_s)})"

    causes = {"dependencies": shares.dependencies_s, "begin times": shares.begin_s, "arrays": shares.arrays_s}
    limits = ", ".join(
        f"{cause} {unit.words(seconds)}" if shares.users_s > 0 else cause for cause, seconds in causes.items()
    )
    how = ", as far as the record lets them be inferred" if cluster.inferred and shares.users_s > 0 else ""
    text += f". Of that, {part(shares.users_s)} is due to limits that users set themselves ({limits}{how}), "
    text += f"{part(shares.order_s)} to the order in which jobs were served, and {part(shares.rest_s)} the best policy keeps"
    if shares.unexplained_s is None:
        return f"{text}."
    text += f"; {part(shares.unexplained_s)} is not explained: what happened less `{base}` in the model, beyond users' limits."
    return " ".join(filter(None, [_lacking(cluster, base, unit), text]))


def _under(name: str) -> str:
    return "as it happened" if name == HAPPENED else f"under `{name}`"


def _lacking(cluster: Cluster, base: str, unit: Unit) -> str:
    """Say in which pools what happened is off the usual policy, by how much, in which direction, and what it may be."""
    causes = {
        "longer": "reservations, quotas, drained nodes or the packing of nodes may make it longer",
        "shorter": f"a scheduler that orders jobs better or otherwise than `{base}` may make it shorter",
    }
    found, seen = list[str](), list[str]()
    for name, shares in cluster.off.items():
        off_s = shares.unexplained_s or 0.0
        seen.append("longer" if off_s > 0 else "shorter")
        amount = f"{unit.words(abs(off_s))} ({percent(abs(off_s) / shares.waited_s)}) {seen[-1]}"
        than = "" if found else f" than `{base}` in the model"
        found.append(f"{amount}{than}{name and f' in pool {name}'}")
    why = "; ".join(causes[each] for each in dict.fromkeys(seen))
    return f"The model lacks something: what happened waited {', '.join(found)}; {why}." if found else ""


def starvation(cluster: Cluster) -> str:
    """Say who waits much longer under the best policy: the longest wait, the 99th percentile or a class of jobs, by a half."""
    base, best = cluster.baseline, cluster.best
    if base is None or best is None or base == best:
        return ""
    before_s, after_s = cluster.fates[base].waiting_s, cluster.fates[best].waiting_s
    tails = [
        (words, float(np.percentile(before_s, rank)), float(np.percentile(after_s, rank)))
        for words, rank in (("the longest wait", 100), ("the 99th percentile", 99))
    ]
    index, names = sizes_of(cluster.jobs.gpus)
    counts = np.bincount(index, minlength=len(names))
    olds, news = (means_by(each, index, len(names)).tolist() for each in (before_s, after_s))
    classes = [
        (f"the mean of jobs of {name}", old, new)
        for name, count, old, new in zip(names, counts, olds, news, strict=True)
        if count >= FEWEST_OF_CLASS
    ]
    least_s = NEGLIGIBLE * cluster.flow_s(base)
    grown = [each for each in classes if each[2] > max(MUCH_LONGER * each[1], each[1] + least_s)]
    if not grown and all(new <= MUCH_LONGER * old for _, old, new in tails):
        return ""
    unit = Unit.of(tails[0][2])
    longer = after_s > before_s + NEGLIGIBLE * tails[0][2]
    by = unit.words(float((after_s - before_s)[longer].mean())) if longer.any() else unit.words(0.0)
    verb = "lets some jobs starve" if tails[0][2] >= STARVING * tails[0][1] else "has some jobs wait much longer"
    changes = ", ".join(f"{words} {from_to(old, new, unit)}" for words, old, new in (*tails, *grown))
    return f"But `{best}` {verb}: {changes}; {several(int(longer.sum()), 'job')} would wait longer, by {by} on average."


def saving(cluster: Cluster) -> str:
    """Write what switching from the baseline to the best policy would save, and what that leaves out."""
    base, best = cluster.baseline, cluster.best
    if base is None or best is None:
        return f"On {several(cluster.gpus, 'GPU')} no policy has an answer."
    sentences = [_saving(cluster, base, best)]
    # Jobs that held GPUs and are left out, if they held much or are on parts of GPUs.
    if cluster.outside > MOST_OUTSIDE:
        among, share = _not_looked_at(cluster)
        sentences.append(f"Jobs outside the comparison{among and f'{among},'} {share}; here they use none, {WITHOUT}.")
    elif cluster.left_out:
        verb = "is" if cluster.left_out == 1 else "are"
        sentences.append(f"{several(cluster.left_out, 'job')} on parts of GPUs {verb} left out, and take none here.")
    sentences += _parts(cluster)
    if cluster.tasks:
        tasks = several(cluster.tasks, "task")
        sentences.append(f"Concurrency limits of arrays are not modelled: {tasks}.")
    return " ".join(sentences)


def _not_looked_at(cluster: Cluster) -> tuple[str, str]:
    """Write which jobs are left out, and their share of the GPU time."""
    among = f", {several(cluster.left_out, 'job')} on parts of GPUs among them" if cluster.left_out else ""
    return among, f"used {percent(cluster.outside)} of the GPU time of {several(cluster.gpus, 'GPU')}"


def _parts(cluster: Cluster) -> list[str]:
    """Name jobs that get whole GPUs instead of parts."""
    have = f"{several(cluster.whole, 'job')} on parts of GPUs {'has' if cluster.whole == 1 else 'have'}"
    return [f"{have} a whole one for every part here, which takes more of them."] if cluster.whole else []


def _saving(cluster: Cluster, base: str, best: str) -> str:
    jobs, unit = several(len(cluster.jobs.ids), "job"), unit_of(cluster)
    before, after = cluster.fates[base], cluster.fates[best]
    flow_s, new_s = cluster.flow_s(base), cluster.flow_s(best)
    head = f"On {several(cluster.gpus, 'GPU')}"
    took = f"under which the {jobs} took {unit.words(flow_s)} on average"
    if base == best:
        return f"{head}, no other policy would have beaten `{base}`, {took}."
    change = cluster.change(best, base)
    # what waits for users' limits changes too: tasks of arrays and dependents are ready when others end
    less_s = flow_s - new_s
    within_s = less_s + change.value
    alike = abs(within_s) <= NEGLIGIBLE * max(abs(less_s), abs(change.value))
    beyond = "" if alike else " beyond users' limits"
    if change.value > 0:
        added = _of_a_job(change, cluster, flow_s)
        return f"{head}, no policy would have beaten `{base}`, {took}; the best, `{best}`, would have added {added}{beyond}."
    waits = f"the mean waiting time {from_to(float(before.waiting_s.mean()), float(after.waiting_s.mean()), unit)}"
    flows = f"the mean time from submission to end {from_to(flow_s, new_s, unit)}"
    if -change.value < NEGLIGIBLE * flow_s:
        return (
            f"{head}, switching from `{base}` to the best policy, `{best}`, would have saved next to nothing{beyond}: "
            f"{percent(-change.value / flow_s)} of the mean time from submission to end, {unit.words(flow_s)}, of the {jobs}."
        )
    if change.high is not None and change.high >= 0:
        changes = f"{head}, the best policy, `{best}`, changes {flows} against `{base}`"
        return f"{changes}, {_of_a_job(change, cluster, flow_s)}{beyond}, which is not statistically significant."
    verb = "cut" if after.waiting_s.mean() <= before.waiting_s.mean() else "changed"
    both = flows if cluster.preemptive else f"{waits} and {flows}"
    text = f"{head}, switching from `{base}` to `{best}` would have {verb} {both} for the {jobs}"
    if alike:
        return f"{text}: it saves {_of_a_job(change, cluster, flow_s)}."
    longest_s = max(abs(less_s), abs(change.low or 0.0), abs(change.value))
    amount, unit = _of_a_job(change, cluster, longest_s), Unit.of(longest_s)
    if within_s > 0:
        rest = f"of which {amount}{beyond}; the rest is tasks and dependents whose predecessors end sooner"
        return f"{text}. That is {unit.words(less_s)} less, {rest}."
    return f"{text}. It saves {amount}{beyond}, but {unit.words(-within_s)} is lost as predecessors end later."


def _of_a_job(change: Estimate, cluster: Cluster, beside: float = 0.0) -> str:
    """Write the time that a job gains or loses, with the interval in the same unit, that of a time ``beside`` them if longer."""
    ends = [each for each in (change.low, change.high) if each is not None]
    unit = Unit.of(max(beside, *map(abs, (change.value, *ends))))
    amount = f"{unit.words(abs(change.value))} a job"
    if len(ends) < 2:
        return f"{amount} (too few jobs for an interval)"
    low, high = map(unit.words, sorted(map(abs, ends)))
    between = f"{low} to {high}"
    if ends[0] < 0 < ends[1]:
        between = f"{unit.words(-ends[0])} saved to {unit.words(ends[1])} lost"
    return f"{amount} (95 % interval: {between}; {cluster.units})"


def distance(cluster: Cluster) -> str:
    """Write how far the best policy is from the lower bound of all schedules."""
    best, least_s = cluster.best, cluster.least_flow_s
    if best is None:
        return ""
    if least_s is None:
        return "No bound was proven within the limits, so how much better a schedule could be is unknown."
    flow_s, unit = cluster.flow_s(best), unit_of(cluster)
    which = " that gives every part of a GPU a whole one" if cluster.whole else ""
    # the bound rests on what the record says or shows of walls
    if len(cluster.pools) > 1 or bool((cluster.jobs.ready_s > cluster.jobs.submit_s).any()):
        which += f"{' and' if which else ' that'} keeps jobs in their pools and waits for their users' conditions"
    runs = "" if cluster.preemptive else f", of which {unit.words(float(cluster.jobs.run_s.mean()))} is running"
    least = f"{unit.words(least_s)} a job from submission to end{runs}"
    if flow_s <= least_s * (1 + 1e-6):
        return f"That cannot be improved: no schedule{which} takes less than {least}, which is proven."
    return (
        f"No schedule{which} takes less than {least}, which is proven, so `{best}` is at most "
        f"{percent(flow_s / least_s - 1)} above the best possible."
    )


def lost(cluster: Cluster) -> str:
    """Write how much GPU time lay in free parts of GPUs that no waiting job could use; empty where no job takes a slice."""
    names = dict.fromkeys(name for name in (cluster.baseline, cluster.best) if name and cluster.fates[name].parts)
    shares = [f"{percent(cluster.fates[name].parts['lost'].share)} under `{name}`" for name in names]
    return (
        f"Of the GPU time, {' and '.join(shares)} lay in free parts of GPUs that no waiting job could use."
        if names
        else ""
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
            f"What really happened includes waiting for jobs outside the comparison; as these used more than "
            f"{percent(MOST_OUTSIDE)}, the comparison is with `{base}`."
        )
    return f"What really happened is unknown on this cluster (the audit says why), so the comparison is with `{base}`."


def known(estimates: bool, silent: int = 0) -> str:
    """Write what policies know of the lengths of jobs; ``silent`` jobs had no estimate."""
    if estimates:
        knowledge = "Policies know the run time that a job's user requested"
        if not silent:
            return f"{knowledge}."
        return (
            f"{knowledge}; for {several(silent, 'job')} without a request, the median request of the same partition, or else "
            "of the file."
        )
    return "Policies know how long every job really runs, which no scheduler does; --estimates shows them the requested ones."


def size_in_words(cluster: Cluster, today: Cluster, unit: str = "") -> str:
    """Write the GPUs of a cluster, and those of its pools that are not as today where others are."""
    changed = [
        f"{name}: {gpus:,}" for name, (gpus, _) in cluster.pools.items() if gpus != today.pools.get(name, (gpus,))[0]
    ]
    whole = several(cluster.gpus, unit) if unit else f"{cluster.gpus:,}"
    return f"{whole} ({', '.join(changed)})" if 0 < len(changed) < len(cluster.pools) else whole


def smallest(clusters: Sequence[Cluster]) -> str:
    """Say how long jobs wait on larger clusters, and on which smaller one no longer than on the first, today's."""
    today, base = clusters[0], clusters[0].baseline
    if len(clusters) < 2 or base is None:
        return ""
    unit, waiting_s = unit_of(today), today.mean_s(base)
    larger, enough = [], list[tuple[str, Cluster]]()
    # Waits are compared over the jobs of today's cluster, all of which the other must hold.
    for cluster in clusters[1:]:
        index = in_common((today, cluster))[1]
        if len(index) < len(today.jobs.ids):
            continue  # this cluster cannot hold all jobs
        waits = {name: float(fate.waiting_s[index].mean()) for name, fate in cluster.fates.items() if name != HAPPENED}
        if cluster.gpus >= today.gpus:
            larger += [f"{unit.words(waits[base])} on {size_in_words(cluster, today)}"] if base in waits else []
            continue
        best = min(waits, key=lambda name: waits[name], default=None)
        if best is not None and (waits[best] <= waiting_s or math.isclose(waits[best], waiting_s)):
            enough.append((best, cluster))
    here = f"{unit.words(waiting_s)} on average"
    text = ", ".join([f"Waiting under `{base}` on {several(today.gpus, 'GPU')} is {here}", *larger])
    if all(cluster.gpus >= today.gpus for cluster in clusters):
        return " ".join([f"{text}.", *_no_room(today)])
    if not enough:
        return " ".join([f"{text}; no policy keeps it as short on any of the smaller clusters.", *_no_room(today)])
    best, cluster = min(enough, key=lambda each: each[1].gpus)
    text += "; the smallest of these clusters on which a policy keeps it as short "
    text += f"has {size_in_words(cluster, today, 'GPU')}, with `{best}`"
    # a mean over all pools hides those that lose
    least_s = NEGLIGIBLE * today.flow_s(base)
    for name, (_, of) in today.pools.items():
        before_s = float(today.fates[base].waiting_s[of].mean())
        after_s = float(cluster.fates[best].waiting_s[cluster.pools[name][1]].mean())
        if len(today.pools) > 1 and after_s > before_s + least_s:
            text += f", but in pool {name} waiting goes {from_to(before_s, after_s, unit)}"
    # no invitation to remove GPUs where that is hard on someone, or the model is off
    was_s, longest_s = (float(each.fates[name].waiting_s.max()) for each, name in ((today, base), (cluster, best)))
    if longest_s > was_s or today.off:
        unit = Unit.of(max(was_s, longest_s))
        off: Mapping[str, Shares | None] = today.off or {"": today.shares}
        parts = [
            f"{unit.words(abs(shares.unexplained_s or 0.0) if shares else 0.0)}{name and f' in pool {name}'}"
            for name, shares in off.items()
        ]
        longest = [f"there the longest wait goes {from_to(was_s, longest_s, unit)}"] * (longest_s != was_s)
        unexplained = f"{' and '.join(parts)} of today's mean waiting is not explained by the model"
        text += f", but {', and '.join([*longest, unexplained])}"
    return " ".join([f"{text}.", *_no_room(cluster)])


def _no_room(cluster: Cluster) -> list[str]:
    """Name jobs that a size of the cluster leaves out, if they held much or are on parts of GPUs."""
    if cluster.outside > MOST_OUTSIDE:
        among, share = _not_looked_at(cluster)
        return [f"No GPUs are reserved for the jobs outside the comparison{among}, which {share}."]
    if cluster.left_out:
        return [f"No GPUs are reserved for {several(cluster.left_out, 'job')} on parts of GPUs, left out here."]
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
