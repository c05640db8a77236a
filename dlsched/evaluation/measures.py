"""Measures of a schedule: waiting, flow, slowdown, utilisation, fragmentation.

=================  ================================================================================================
figure             definition
=================  ================================================================================================
waiting time       start - submission
flow time          end - submission
bounded slowdown   max(1, flow / max(run, 10 s)), run: what the job ran in the trace; Feitelson and Rudolph, "Metrics
                   and Benchmarking for Parallel Job Scheduling" (JSSPP 1998)
utilisation        GPU-seconds held / (GPUs x seconds from the first submission to the last end)
fragmentation      of the GPU-seconds that were free in that time, the part on nodes of which another GPU was in use
=================  ================================================================================================

Times are seconds, arrays of shape (I,) have an entry a job.
"""

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np

from dlsched import elastic_stream, srpt_mapping
from dlsched.core.arrays import BoolArray, FloatArray, IntArray
from dlsched.core.instance import InstanceFile
from dlsched.core.result import Solution
from dlsched.srpt_mapping.solution import parts_of, units_of
from dlsched.statistics.inference import Estimate, bootstrap_mean
from dlsched.traces.queue import QueuedJob

THRESHOLD_S = 10.0  # shorter jobs count as this long, so that their slowdowns do not dominate the mean


class Held(NamedTuple):
    """Parts of GPUs, of which ``units`` make one, held from a time to a time: arrays of one shape; ``node``: index, -1: none."""

    start_s: FloatArray
    end_s: FloatArray
    gpus: IntArray
    node: IntArray
    units: int = 1


class Part(NamedTuple):
    """A part of a whole, such as GPU-seconds held of those available; parts of several stretches add up."""

    part: float
    whole: float

    @property
    def share(self) -> float | None:
        """The part over the whole; None of nothing."""
        return self.part / self.whole if self.whole > 0 else None


def together(parts: Sequence[Part]) -> Part:
    """Add up parts and wholes."""
    return Part(sum(each.part for each in parts), sum(each.whole for each in parts))


def bounded_slowdown(flow_s: FloatArray, run_s: FloatArray) -> FloatArray:
    """Flow time over running time, the latter at least the threshold, and no less than 1."""
    return np.maximum(1.0, flow_s / np.maximum(run_s, THRESHOLD_S))


def utilisation(held: Held, gpus: int, first_s: float, last_s: float) -> Part:
    """GPU-seconds held of all there were from ``first_s`` to ``last_s``."""
    return Part(float(((held.end_s - held.start_s) * held.gpus).sum()) / held.units, gpus * (last_s - first_s))


def fragmentation(held: Held, sizes: Sequence[int], first_s: float, last_s: float) -> Part:
    """Free GPU-seconds on nodes partly in use, of all that were free from ``first_s`` to ``last_s``; ``sizes``: of the nodes.

    A node of which no GPU is in use has room for any job that fits on a node; one partly in use may not.
    """
    size = np.array(sizes) * held.units
    # Moments at which GPUs are freed or taken; those of a job that ends are free for a job that begins then.
    times = np.concatenate([held.end_s, held.start_s])
    order = np.argsort(times, kind="stable")
    node, change = np.tile(held.node, 2)[order], np.concatenate([-held.gpus, held.gpus])[order]
    # Node by node, each from 0 to 0: GPUs in use after every moment, what is left of the node if it is partly in use, and by
    # how much that changed.
    by_node = np.argsort(node, kind="stable")
    used, of = np.cumsum(change[by_node]), size[node[by_node]]
    left = np.where((used > 0) & (used < of), of - used, 0)
    changed = np.empty_like(left)
    changed[by_node] = np.diff(left, prepend=0)
    # Free GPUs between two moments, times how long that lasted.
    lasted_s = np.diff(times[order], prepend=first_s, append=last_s)
    partly, free = (np.concatenate([[0], np.cumsum(each)]) for each in (changed, -change))
    on_partly_s, free_s = (float(np.cumsum(each * lasted_s)[-1]) for each in (partly, free + size.sum()))
    return Part(on_partly_s / held.units, free_s / held.units)


def means_by(values: FloatArray, group: IntArray, groups: int) -> FloatArray:
    """Mean of the values of every group, shape (groups,); nan of groups without any."""
    counts = np.bincount(group, minlength=groups)
    sums = np.bincount(group, weights=values, minlength=groups)
    return np.asarray(np.divide(sums, counts, out=np.full(groups, np.nan), where=counts > 0))


def sizes_of(gpus: IntArray) -> tuple[IntArray, list[str]]:
    """Class of every job by its GPUs, up to a power of two each, and the names of the classes."""
    powers = 2 ** np.arange(int(gpus.max(initial=1)).bit_length() + 1)
    index = np.searchsorted(powers, gpus)
    highs = powers[: index.max(initial=0) + 1].tolist()
    names = ["1 GPU", "2 GPUs", *(f"{high // 2 + 1}–{high} GPUs" for high in highs[2:])]
    return index, names[: len(highs)]


def mean_of_jobs(values: FloatArray, unit: IntArray) -> Estimate:
    """Mean over all jobs, with its 95 % interval by bootstrap over units, such as windows of time; none of fewer than 6.

    Jobs of a unit are not independent, so the bootstrap draws units; ``unit`` is the index of each job's. As these hold unequal
    numbers of jobs, the mean is a ratio of sums, S / N; the bootstrap draws its linear part, S / N + W / N (s_w - S / N n_w) of
    each of W units (Cochran, *Sampling Techniques*, section 6.3, a ratio of means).
    """
    mean = float(values.mean())
    # The linear part of S / N by unit: its mean over units is the mean over jobs.
    _, index, counts = np.unique(unit, return_inverse=True, return_counts=True)
    sums = np.bincount(index, weights=values)
    interval = bootstrap_mean((mean + len(counts) / len(values) * (sums - mean * counts)).tolist())
    assert interval is not None  # there are values
    return Estimate(mean, interval.low, interval.high)


def stretches(count: int, most: int = 20, fewest: int = 5) -> IntArray:
    """Cut jobs in order of submission into stretches of equal numbers, ``most`` at most, of at least ``fewest``."""
    pieces = max(1, min(most, count // fewest))
    return np.asarray(np.arange(count) * pieces // max(count, 1))


class Jobs(NamedTuple):
    """Jobs as the trace has them, in the order of the instance: ids and users as text, figures of shape (I,), seconds.

    ``ready_s``: from when on its user's own conditions let a job start, at or after ``submit_s``; ``dependent``: whether that was
    the end of an earlier job. ``classes``: as the source names them.
    """

    ids: tuple[str, ...]
    users: tuple[str, ...]
    classes: tuple[str, ...]
    submit_s: FloatArray
    run_s: FloatArray
    gpus: IntArray
    ready_s: FloatArray
    dependent: BoolArray

    def by_users(self) -> tuple[IntArray, list[str]]:
        """User of every job, -1 where none is named, and the users, that of the most GPU time first."""
        held_s: dict[str, float] = {}
        for name, seconds in zip(self.users, (self.gpus * self.run_s).tolist(), strict=True):
            held_s[name] = held_s.get(name, 0.0) + seconds
        names = sorted(filter(None, held_s), key=lambda name: -held_s[name])
        place = {name: index for index, name in enumerate(names)}
        return np.array([place.get(name, -1) for name in self.users], dtype=np.int64), names


class JobTimes(NamedTuple):
    """When every job started and ended, shape (I,), seconds on the clock of the instance; and what was held.

    ``limited_s``: seconds of its waiting in which as many jobs of its group ran as may at once. ``parts``: what is left of
    GPUs, by figure, where jobs take slices.
    """

    start_s: FloatArray
    end_s: FloatArray
    held: Held
    limited_s: FloatArray
    parts: Mapping[str, Part]


def jobs_of(instance: InstanceFile, recorded: Sequence[QueuedJob]) -> Jobs:
    """Put the jobs of an instance into arrays; running times and GPUs are those of the trace."""
    if isinstance(instance, srpt_mapping.Instance):
        ready_s = np.array([job.release_s for job in instance.jobs])
    else:
        assert isinstance(instance, elastic_stream.Instance)
        ready_s = np.array([job.arrival_s for job in instance.jobs])
    before_s = np.array([0.0 if job.wall is None else max(0.0, job.wall.ready_s - job.submit_s) for job in recorded])
    return Jobs(
        tuple(job.id for job in recorded),
        tuple(job.user for job in recorded),
        tuple(job.qos for job in recorded),
        ready_s - before_s,
        np.array([job.duration_s for job in recorded], dtype=np.float64),
        np.array([job.gpus for job in recorded], dtype=np.int64),
        ready_s,
        np.array([job.wall is not None and job.wall.dependent for job in recorded], dtype=np.bool_),
    )


def times_of(instance: InstanceFile, solution: Solution) -> JobTimes:
    """Return the times of the jobs of a solution that passed the checker."""
    if isinstance(instance, srpt_mapping.Instance):
        assert isinstance(solution, srpt_mapping.Schedule)
        return _gangs(instance, solution)
    assert isinstance(instance, elastic_stream.Instance) and isinstance(solution, elastic_stream.Stream)
    return _stream(instance, solution)


def _gangs(instance: srpt_mapping.Instance, schedule: srpt_mapping.Schedule) -> JobTimes:
    ends = srpt_mapping.completion_times(instance, schedule)
    order = [job.id for job in instance.jobs]
    starts = [schedule.jobs[name] for name in order]
    start_s = np.array([start.start_s for start in starts])
    end_s = np.array([ends[name] for name in order])
    # One entry for each server of a placement: the job's times are repeated for each.
    owner = np.repeat(np.arange(len(order)), [len(start.placement) for start in starts])
    shares = list(chain.from_iterable(start.placement for start in starts))
    node = np.array([instance.server_index[share.server] for share in shares], dtype=np.int64)
    taken = [share.replicas for share in shares]
    if instance.sliced:
        taken = [units_of(instance, instance.jobs[job], each) for job, each in zip(owner.tolist(), shares, strict=True)]
    held = Held(start_s[owner], end_s[owner], np.array(taken), node, instance.units)
    parts = parts_of(instance, schedule, ends) if instance.sliced else {}
    left = {name: Part(*part) for name, part in parts.items()}
    return JobTimes(start_s, end_s, held, limited(instance, start_s, end_s), left)


def limited(instance: srpt_mapping.Instance, start_s: FloatArray, end_s: FloatArray) -> FloatArray:
    """Seconds between release and start of every job in which as many jobs of its group ran as may at once; shape (I,)."""
    waited_s = np.zeros(len(instance.jobs))
    for group in instance.groups:
        members = [index for index, job in enumerate(instance.jobs) if job.group == group.id]
        times_s = np.concatenate([end_s[members], start_s[members]])
        changes = np.repeat([-1, 1], len(members))
        order = np.lexsort((changes, times_s))  # who ends at a time makes room for who starts then
        times_s, running = times_s[order], np.cumsum(changes[order])
        # seconds at the limit, from the first time on, up to each of the times
        full_s = np.concatenate([[0.0], np.cumsum(np.diff(times_s) * (running[:-1] >= group.limit))])
        released_s = np.array([instance.jobs[index].release_s for index in members])
        waited_s[members] = np.interp(start_s[members], times_s, full_s) - np.interp(released_s, times_s, full_s)
    return waited_s


def _stream(instance: elastic_stream.Instance, stream: elastic_stream.Stream) -> JobTimes:
    arrivals_s = [job.arrival_s for job in instance.jobs]
    ran = [stream.periods.get(job.id, ()) for job in instance.jobs]
    flows_s = elastic_stream.flow_times(instance, stream)
    periods_of_all = list(chain.from_iterable(ran))
    starts_s = [periods[0].start_s if periods else at_s for periods, at_s in zip(ran, arrivals_s, strict=True)]
    return JobTimes(
        np.array(starts_s),
        np.array(arrivals_s) + np.array(flows_s),
        Held(
            np.array([period.start_s for period in periods_of_all]),
            np.array([period.end_s for period in periods_of_all]),
            np.array([period.units for period in periods_of_all], dtype=np.int64),
            np.full(len(periods_of_all), -1),
        ),
        np.zeros(len(ran)),
        {},
    )
