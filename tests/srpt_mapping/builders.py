"""Instances of srpt_mapping for tests, and closed forms of the family, written once more."""

import math
from fractions import Fraction

from dlsched.srpt_mapping.instance import Instance


def stage(replicas=1, compute_s=1.0, output_bytes=0.0, parameter_bytes=0.0):
    """A stage as files hold it."""
    names = "replicas", "compute_s", "output_bytes", "parameter_bytes"
    return dict(zip(names, (replicas, compute_s, output_bytes, parameter_bytes), strict=True))


def gang(release_s, iterations, gpus=1, ring=0.0, predicted=None, *, stages=None, **more):
    """A job as files hold it: one stage of a second that all-reduces ``ring`` bytes, or ``stages``, tuples for ``stage``."""
    chain = [stage(*each) for each in stages or [(gpus, 1.0, 0.0, ring)]]
    job = {"release_s": release_s, "iterations": iterations, "stages": chain, **more}
    return job if predicted is None else job | {"predicted_iterations": predicted}


def made(sizes, *jobs, ring=0.0, inside=8.0, nic=2.0):
    """Servers s0, s1 .. of these sizes; jobs a, b .. (more than eight: j0, j1 ..), as files hold them or as for ``gang``."""
    entries = [job if isinstance(job, dict) else gang(*job) if len(job) > 3 else gang(*job, ring=ring) for job in jobs]
    names = "abcdefgh" if len(jobs) <= 8 else [f"j{index}" for index in range(len(jobs))]
    return Instance(
        name="made",
        intra_bandwidth_bytes_per_s=inside,
        nic_bandwidth_bytes_per_s=nic,
        servers=[{"id": f"s{index}", "gpus": size} for index, size in enumerate(sizes)],
        jobs=[{"id": name} | entry for name, entry in zip(names, entries, strict=False)],
    )


def fields_of(instance):
    """The fields of an instance as a file holds them, to be changed."""
    return {name: value for name, value in instance.as_data().items() if name != "format"}


def ends_of_bandwidth(instance):
    """The lowest and the highest bandwidth between two GPUs."""
    every = [instance.intra_bandwidth_bytes_per_s, *instance.shares]
    return min(every), max(every)


def uniform_s(job, bandwidth):
    """The closed form of section 4 at one bandwidth, exactly."""
    seconds = []
    for number, each in enumerate(job.stages):
        sent = Fraction(each.output_bytes) + (Fraction(job.stages[number - 1].output_bytes) if number else 0)
        ring = Fraction(2 * (each.replicas - 1), each.replicas) * Fraction(each.parameter_bytes)
        seconds.append(Fraction(each.compute_s) + (2 * sent / each.replicas + ring) / Fraction(bandwidth))
    return max(seconds)


def low_s(instance):
    """alpha^low of every job."""
    return [float(uniform_s(job, ends_of_bandwidth(instance)[1])) for job in instance.jobs]


def virtual_ends(instance, seconds):
    """Completions, by job, of preemptive SRPT of n~ g alpha / G, simulated from event to event."""
    jobs = instance.jobs
    left = {
        job.id: job.predicted * job.gpus * alpha / instance.total_gpus for job, alpha in zip(jobs, seconds, strict=True)
    }
    releases = {job.id: job.release_s for job in jobs}
    ends, now = {}, 0.0
    while left:
        there = [name for name in left if releases[name] <= now]
        later = min((releases[name] for name in left if releases[name] > now), default=math.inf)
        if not there:
            now = later
            continue
        name = min(there, key=lambda each: (left[each], releases[each]))
        if now + left[name] <= later:
            now += left.pop(name)
            ends[name] = now
        else:
            left[name] -= later - now
            now = later
    return ends
