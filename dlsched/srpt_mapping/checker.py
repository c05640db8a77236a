"""The meaning of srpt_mapping: when the jobs of a schedule end, and which rules it breaks.

minimise sum_i c_i,   c_i = start_i + n_i alpha_i(x_i)

    alpha_i(x) = max over used (s, m) of  p_s + transfer_s,m + 2 (k_s - 1)/k_s h_s / band_s
    band_s     = b_in if stage s sits on one server, else min over its servers m of b_out / g^m
    transfer   = sum over v in {s-1, s+1} of  2 O_sv / k_s (phi / b_in + (1 - phi) g^m / b_out),  phi = x_v,m / k_v

``served``    every job starts, once; no others do
``gang``      sum_m x_s,m = k_s for every stage of the job
``gpus``      at no time do the jobs that run use more than g^m GPUs of a server
``release``   start_i >= r_i
``begun``     of a job that runs when the clock starts: start_i = r_i, and x is where it runs
``pool``      a job with a pool uses servers of that pool only
``limit``     at no time do more than ``limit`` jobs of a group run
``consolidated``  only if ``placement`` is: a job that has not begun is on as few servers as its pool needs when empty

Where some job takes a slice, servers whose ``slicing`` is not none are looked at GPU by GPU, in place of ``gpus``:

``share``     at no time do the jobs that run take more than a GPU of any GPU; jobs with a share are on servers of shares; each
              job names the GPUs that it takes, one or several, all different
``profile``   at no time do two jobs take one slot; a job with a profile begins at one of the profile's starts

A job may start before its release, or before the job whose GPUs it takes has ended, by 1e-9 of its own length or of that
job's, and by the rounding of times on the clock of the file, which is coarse if the clock is late.
The checker computes all figures from the definitions, by code of its own.
"""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from weakref import ReferenceType, ref

import numpy as np

from dlsched.core.errors import UsageError
from dlsched.core.gap import rounding, tolerance
from dlsched.core.result import Violation
from dlsched.srpt_mapping.instance import Instance, Job, Server, Stage
from dlsched.srpt_mapping.solution import Schedule, Share, Start, parts_of, units_of

_LATEST_S = 1e101  # times of instances are at most 1e100
_THOUSANDTHS = 1000  # of a GPU
_FULL = {
    "gpus": "{used} of {most} GPUs are used",
    "limit": "{used} jobs run, not {most},",
    "share": "{used} of {most} thousandths are taken",
    "profile": "{used} jobs take the slot",
}
"""Rules that hold at any time, and what is said where more is taken than there is."""
Times = dict[str, tuple[float, float]]  # start and seconds of jobs
Taken = tuple[float, float, str, int]  # from when and until when, of which server or group, GPUs or jobs
# time, kind (0: given back, 1: used for no time, 2: taken), server or group, GPUs or jobs
Event = tuple[float, int, str, int]


def objective(instance: Instance, schedule: Schedule) -> float:
    """Sum of the completion times in seconds, rounded once.

    Raises
    ------
    UsageError
        A job does not start, or its placement does not hold it: then there is no time.
    """
    return math.fsum(time_s for times in _placed_times(instance, schedule).values() for time_s in times)


def constant(instance: Instance) -> float:
    """Sum of the releases, the part of the objective that no schedule changes."""
    return math.fsum(job.release_s for job in instance.jobs)


def flow_times(instance: Instance, schedule: Schedule) -> list[float]:
    """Seconds from the release of every job to its end, in the order of the jobs; errors as ``objective``."""
    times = _placed_times(instance, schedule)
    return [math.fsum((*times[job.id], -job.release_s)) for job in instance.jobs]


def completion_times(instance: Instance, schedule: Schedule) -> dict[str, float]:
    """Seconds at which every job ends, by its id; errors as ``objective``."""
    return {name: sum(times) for name, times in _placed_times(instance, schedule).items()}


def iteration_time(instance: Instance, job: Job, placement: tuple[Share, ...]) -> float:
    """alpha_i(x): seconds of one iteration of a job whose replicas are all placed."""
    if len(job.stages) == len(placement) == 1:  # one stage, whose ring stays within a server
        return job.stages[0].compute_s + _ring_s(job.stages[0], instance.intra_bandwidth_bytes_per_s)
    replicas_of: dict[int, dict[str, int]] = defaultdict(dict)  # by stage and server
    for share in placement:
        replicas_of[share.stage][share.server] = share.replicas
    slowest_s = 0.0
    # every server of every stage: its computation, its exchange with both neighbours, and the stage's ring
    for number, stage in enumerate(job.stages):
        shared = {
            server: instance.nic_bandwidth_bytes_per_s / _server(instance, server).gpus
            for server in replicas_of[number]
        }
        band = instance.intra_bandwidth_bytes_per_s if len(shared) == 1 else min(shared.values())
        ring_s = _ring_s(stage, band)
        for server in replicas_of[number]:
            transfer_s = 0.0
            for other in (number - 1, number + 1):
                if not 0 <= other < len(job.stages):
                    continue
                exchanged = job.stages[min(number, other)].output_bytes
                near = replicas_of[other].get(server, 0) / job.stages[other].replicas
                inverse = near / instance.intra_bandwidth_bytes_per_s + (1 - near) / shared[server]
                transfer_s += 2 * exchanged / stage.replicas * inverse
            slowest_s = max(slowest_s, stage.compute_s + transfer_s + ring_s)
    return slowest_s


def _ring_s(stage: Stage, band: float) -> float:
    """Seconds in which the ring of a stage sums up its gradients, over links of so many bytes per second."""
    return 2 * (stage.replicas - 1) / stage.replicas * stage.parameter_bytes / band


def check(instance: Instance, schedule: Schedule) -> list[Violation]:
    """Return every broken rule; an empty list means feasible."""
    unplaced, times = _read(instance, schedule)
    broken = list(unplaced)
    for job in (job for job in instance.jobs if job.id in times):
        start_s, length_s = times[job.id]
        early = job.release_s - start_s
        if early > 0 and early > tolerance(length_s) + rounding(job.release_s, start_s):
            message = f"it starts at {start_s!r} s, it is released at {job.release_s!r} s"
            broken.append(Violation("release", job.id, early, message))
        if job.begun is not None:
            allowed_s = tolerance(length_s) + rounding(job.release_s, start_s)
            broken += _elsewhere(job, schedule.jobs[job.id], allowed_s, on_gpus=instance.sliced)
        if job.pool is not None:
            broken += _outside(instance, job, schedule.jobs[job.id].placement)
        if instance.sliced:
            broken += _wrong_slices(instance, job, schedule.jobs[job.id].placement)
        if instance.placement == "consolidated" and job.begun is None:
            broken += _scattered(instance, job, schedule.jobs[job.id].placement)
    return broken + _overfull(instance, schedule, times)


def infeasible(instance: Instance) -> str | None:
    """Return a sentence that proves that no schedule exists, or None: then every job can run alone."""
    kinds: dict[tuple[object, ...], Job] = {}
    for job in instance.jobs:
        kinds.setdefault((job.gpus, job.slice, job.pool), job)
    for job in kinds.values():
        if job.gpus > instance.total_gpus:
            return f"job {job.id!r} takes {job.gpus} GPUs, all servers together have {instance.total_gpus}"
        if job.slice is not None:
            able = [each for each in instance.servers if job.pool is None or job.pool in each.pools]
            if not any(_has_slice(each, job) for each in able):
                return f"job {job.id!r} takes {_slice_in_words(job)}, and no server that it may use has such slices"
        if job.pool is not None:
            gpus = sum(server.gpus for server in instance.servers if job.pool in server.pools)
            if job.gpus > gpus:
                return (
                    f"job {job.id!r} takes {job.gpus} GPUs, all servers of its pool {job.pool!r} together have {gpus}"
                )
    return None


def figures(instance: Instance, schedule: Schedule) -> dict[str, float]:
    """Further figures of a feasible schedule: mean flow time and mean wait, and when the last job ends; seconds.

    Where jobs take slices, also the share of all GPUs that jobs have when the last one is released, and those of ``parts_of``.
    """
    count, ends_s = len(instance.jobs), completion_times(instance, schedule)
    found = {
        "mean_flow_s": math.fsum(flow_times(instance, schedule)) / count,
        "mean_wait_s": math.fsum(schedule.jobs[job.id].start_s - job.release_s for job in instance.jobs) / count,
        "makespan_s": max(ends_s.values()),
    }
    if instance.sliced:
        last_s = max(job.release_s for job in instance.jobs)
        running = [job for job in instance.jobs if schedule.jobs[job.id].start_s <= last_s < ends_s[job.id]]
        held = (units_of(instance, job, share) for job in running for share in schedule.jobs[job.id].placement)
        found["allocated_at_last_release"] = sum(held) / instance.total_units
        parts = parts_of(instance, schedule, ends_s)
        found |= {name: part if name[:4] == "gpus" else part / whole for name, (part, whole) in parts.items() if whole}
        found["lost_gpu_s"] = parts["lost"][0]
    return found


def _placed_times(instance: Instance, schedule: Schedule) -> Times:
    """Times of all jobs; UsageError if one is not placed."""
    broken, times = _read(instance, schedule)
    if broken:
        raise UsageError(f"no objective: {broken[0]}")
    return times


# arguments and answer of the last call of ``_read``, as ``check`` and ``objective`` follow each other, while the schedule lives
_last: list[tuple[Instance, ReferenceType[Schedule], list[Violation], Times]] = []


def _read(instance: Instance, schedule: Schedule) -> tuple[list[Violation], Times]:
    """Violations of placements, and times of the jobs placed correctly; the last answer is remembered."""
    for known_instance, known_schedule, broken, times in _last:
        if known_instance is instance and known_schedule() is schedule:
            return broken, times
    starts, times = dict(schedule.jobs.items()), Times()
    broken = [
        Violation("served", name, message="there is no such job") for name in starts if name not in instance.index
    ]
    for job in instance.jobs:
        start = starts.get(job.id)
        wrong = _broken_placement(instance, job, start)
        broken += wrong
        if start is not None and not wrong:
            times[job.id] = start.start_s, job.iterations * iteration_time(instance, job, start.placement)
    _last[:] = [(instance, ref(schedule, lambda gone: _last.clear()), broken, times)]
    return broken, times


def _broken_placement(instance: Instance, job: Job, start: Start | None) -> list[Violation]:
    """Violations of ``served`` and ``gang`` by one job, and a start that is no time."""
    if start is None:
        return [Violation("served", job.id, 1.0, "it never starts")]
    broken = _broken_gang(instance, job, start.placement)
    if type(start.start_s) not in (int, float) or not abs(start.start_s) <= _LATEST_S:
        message = f"it starts at {start.start_s!r}, which is not a time"
        broken.insert(0, Violation("release", job.id, message=message))
    return broken


def _broken_gang(instance: Instance, job: Job, placement: tuple[Share, ...]) -> list[Violation]:
    """Violations of ``gang`` by one job."""
    wrong, placed, seen = [], [0] * len(job.stages), set()
    for stage, server, replicas in placement:
        if type(stage) is not int or not 0 <= stage < len(job.stages):
            wrong.append(f"there is no stage {stage!r}")
        elif type(server) is not str or server not in instance.server_index:
            wrong.append(f"there is no server {server!r}")
        elif type(replicas) is not int or replicas < 1:
            wrong.append(f"stage {stage} has {replicas!r} replicas on {server!r}")
        elif (stage, server) in seen:
            wrong.append(f"stage {stage} is placed on {server!r} twice")
        else:
            placed[stage] += replicas
            seen.add((stage, server))
    if wrong:
        return [Violation("gang", job.id, message=message) for message in wrong]
    for number, (count, needed) in enumerate(zip(placed, job.stages, strict=True)):
        if count != needed.replicas:
            message = f"stage {number} has {count} replicas, it needs {needed.replicas}"
            return [Violation("gang", job.id, float(abs(count - needed.replicas)), message)]
    return []


def _outside(instance: Instance, job: Job, placement: tuple[Share, ...]) -> list[Violation]:
    """Violation by a job that uses GPUs of servers outside its pool."""
    outside = [
        share for share in placement if job.pool not in instance.servers[instance.server_index[share.server]].pools
    ]
    if not outside:
        return []
    amount = float(sum(share.replicas for share in outside))
    return [Violation("pool", job.id, amount, f"server {outside[0].server!r} is not in its pool {job.pool!r}")]


def _scattered(instance: Instance, job: Job, placement: tuple[Share, ...]) -> list[Violation]:
    """Violation by a job on more servers than the largest ones of its pool that hold it."""
    sizes = sorted(each.gpus for each in instance.servers if job.pool is None or job.pool in each.pools)
    fewest, missing = 0, job.gpus
    while missing > 0 and sizes:
        missing -= sizes.pop()
        fewest += 1
    used = len({share.server for share in placement})
    if used <= fewest or missing > 0:
        return []
    message = f"it uses {used} servers, {fewest} hold it when they are empty"
    return [Violation("consolidated", job.id, float(used - fewest), message)]


def _elsewhere(job: Job, start: Start, allowed_s: float, *, on_gpus: bool) -> list[Violation]:
    """Violations by a job that has begun: it starts at another time than its release, or elsewhere."""
    off_s = abs(start.start_s - job.release_s)
    if off_s > allowed_s:
        message = f"it runs at {job.release_s!r} s, and is to start at {start.start_s!r} s"
        return [Violation("begun", job.id, off_s, message)]
    runs: dict[tuple[int, str], tuple[object, ...]] = {}
    for part in job.begun or ():
        runs[part.stage, part.server] = part.replicas, *(({*map(repr, part.numbers)}, part.slot) if on_gpus else ())
    for share in start.placement:
        placed = share.replicas, *(({*map(repr, share.gpus or ())}, share.slot) if on_gpus else ())
        if runs.pop((share.stage, share.server), None) != placed:
            return [Violation("begun", job.id, message="it is not where it runs already")]
    if runs:
        return [Violation("begun", job.id, message="it is not where it runs already")]
    return []


def _overfull(instance: Instance, schedule: Schedule, times: Times) -> list[Violation]:
    """The first moment at which each server is overfull, or each group beyond its limit; a very short run is a moment."""
    taken: dict[str, list[Taken]] = {rule: [] for rule in _FULL}
    most: dict[str, Mapping[str, int]] = {
        "gpus": {server.id: server.gpus for server in instance.servers},
        "limit": {group.id: group.limit for group in instance.groups},
        "share": defaultdict(lambda: _THOUSANDTHS),
        "profile": defaultdict(lambda: 1),
    }
    starts = dict(schedule.jobs.items())
    for job in (job for job in instance.jobs if job.id in times):
        start_s, length_s = times[job.id]
        # GPUs are free again a tolerance before the end
        freed_s = (end_s := start_s + length_s) - tolerance(length_s) - rounding(end_s)
        used: dict[str, int] = {}
        for share in starts[job.id].placement:
            if instance.sliced and (server := _server(instance, share.server)).slicing != "none":
                for rule, where, count in _taken(job, server, share):
                    taken[rule].append((start_s, freed_s, where, count))
            else:
                used[share.server] = used.get(share.server, 0) + share.replicas
        taken["gpus"] += [(start_s, freed_s, where, count) for where, count in used.items()]
        if job.group is not None and job.group in most["limit"]:
            taken["limit"].append((start_s, freed_s, job.group, 1))
    return [broken for rule in _FULL for broken in _too_many(rule, most[rule], taken[rule])]


def _too_many(rule: str, most: Mapping[str, int], taken: Sequence[Taken]) -> list[Violation]:
    """A violation for each server or group, at the first event that takes more GPUs than it has, or starts too many jobs."""
    if not taken or _fit(most, taken):
        return []
    # a moment must not lie within runs on the same GPUs
    moments = [(start_s, 1, where, count) for start_s, freed_s, where, count in taken if freed_s <= start_s]
    events = [
        event
        for start_s, freed_s, where, count in taken
        if freed_s > start_s
        for event in ((start_s, 2, where, count), (freed_s, 0, where, -count))
    ]
    later = [(at_s + rounding(at_s) if kind else at_s, kind, where, count) for at_s, kind, where, count in events]
    return list((_first(rule, most, [*later, *moments] if moments else []) | _first(rule, most, events)).values())


def _fit(most: Mapping[str, int], taken: Sequence[Taken]) -> bool:
    """Whether all that is taken fits at any time; False where that has to be looked at event by event."""
    starts_s, ends_s, names, amounts = zip(*taken, strict=True)
    start_s, freed_s, counts = np.array(starts_s, dtype=np.float64), np.array(ends_s), np.array(amounts)
    if not (freed_s > start_s).all() or counts.sum(dtype=np.float64) >= 2.0**62:
        return False
    number: dict[str, int] = {}
    where = np.array([number.setdefault(name, len(number)) for name in names])
    # Server by server in the order of time, and what ends at a time before what starts then: all that a server has taken it
    # has given back at the end, so that the sum begins at 0 for the next one.
    order = np.lexsort((np.concatenate([freed_s, start_s]), np.tile(where, 2)))
    used = np.cumsum(np.concatenate([-counts, counts])[order])
    limits = np.array([most[name] for name in number])
    return bool((used <= limits[np.tile(where, 2)[order]]).all())


def _first(rule: str, most: Mapping[str, int], events: Sequence[Event]) -> dict[str, Violation]:
    """By server or group, the violation of its first event that takes too much."""
    busy: dict[str, int] = defaultdict(int)
    broken: dict[str, Violation] = {}
    for time_s, kind, where, count in sorted(events):
        used = busy[where] + count
        if kind != 1:
            busy[where] = used
        if used > most[where] and where not in broken:
            what = _FULL[rule].format(used=used, most=most[where])
            broken[where] = Violation(rule, where, float(used - most[where]), f"{what} from {time_s!r} s on")
    return broken


def _has_slice(server: Server, job: Job) -> bool:
    """Whether a server is cut into slices of which a job may take one."""
    if job.profile is not None:
        return server.geometry is not None and job.profile in server.geometry.profiles
    return server.slicing == "shares"


def _slice_in_words(job: Job) -> str:
    return f"{job.gpu_share} of a GPU" if job.profile is None else f"a slice {job.profile!r}"


def _wrong_slices(instance: Instance, job: Job, placement: tuple[Share, ...]) -> list[Violation]:
    """Violation by a job that names no GPUs, others than there are, or a slice that they do not have."""
    seen: set[tuple[str, int]] = set()
    rule = "share" if job.profile is None else "profile"
    for share in placement:
        server = _server(instance, share.server)
        wrong = None
        if job.slice is not None and not _has_slice(server, job):
            wrong = f"it takes {_slice_in_words(job)}, which server {server.id!r} does not have"
        elif server.slicing == "none":
            wrong = f"GPUs of server {server.id!r}, which has no slices, have no numbers" if share.gpus else None
        elif type(share.gpus) is not tuple or len(share.gpus) != share.replicas:
            wrong = f"it names GPUs {share.gpus!r} of {server.id!r}, for {share.replicas} replicas"
        elif not all(type(gpu) is int and 0 <= gpu < server.gpus for gpu in share.gpus):
            wrong = f"it names GPUs {share.gpus!r} of {server.id!r}, which has {server.gpus}, counted from 0"
        elif len(set(share.gpus)) < len(share.gpus) or seen & {(server.id, gpu) for gpu in share.gpus}:
            wrong = f"it names a GPU of {server.id!r} twice"
        if wrong is None and job.profile is not None and server.geometry is not None:
            starts = server.geometry.profiles[job.profile].starts
            if type(share.slot) is not int or share.slot not in starts:
                wrong = (
                    f"it begins at slot {share.slot!r}, {job.profile!r} begins at {', '.join(map(str, sorted(starts)))}"
                )
        elif wrong is None and share.slot is not None:
            wrong = f"it names slot {share.slot!r}, but takes no profile"
        if wrong is not None:
            return [Violation(rule, job.id, message=wrong)]
        seen |= {(server.id, gpu) for gpu in share.gpus}
    return []


def _taken(job: Job, server: Server, share: Share) -> list[tuple[str, str, int]]:
    """What a share takes of the GPUs of a server with slices: thousandths of each GPU, or its slots."""
    shape = server.geometry
    if type(share.gpus) is not tuple:
        return []
    if shape is None:
        count = round(_THOUSANDTHS * job.gpu_share)
        return [("share", f"{server.id}/{gpu}", count) for gpu in share.gpus]
    if job.profile is None:
        slots = range(shape.slots)
    elif job.profile in shape.profiles and type(share.slot) is int:
        slots = range(share.slot, share.slot + shape.profiles[job.profile].size)
    else:
        return []
    return [("profile", f"{server.id}/{gpu}/{slot}", 1) for gpu in share.gpus for slot in slots]


def _server(instance: Instance, server: str) -> Server:
    return instance.servers[instance.server_index[server]]
