"""Clocks: methods count from the first release, files and results from zero.

At Unix times a float holds no less than .24 microseconds, and a difference of two times no better. So nothing is subtracted
on the clock of the file: releases are taken relative to a first one once, and what was found is put back once.
"""

from collections.abc import Sequence

from dlsched.srpt_mapping.instance import Instance
from dlsched.srpt_mapping.solution import Schedule, Start


def on_own_clock(instance: Instance, indices: Sequence[int] | None = None) -> Instance:
    """Return an instance with some of the jobs (None: all), in this order, the first of which is released at 0."""
    if indices is None and instance.first_release_s == 0:
        return instance
    jobs = instance.jobs if indices is None else [instance.jobs[index] for index in indices]
    first_s = min(job.release_s for job in jobs)
    return Instance.model_construct(
        name=instance.name,
        intra_bandwidth_bytes_per_s=instance.intra_bandwidth_bytes_per_s,
        nic_bandwidth_bytes_per_s=instance.nic_bandwidth_bytes_per_s,
        servers=instance.servers,
        jobs=tuple(job.model_copy(update={"release_s": job.release_s - first_s}) for job in jobs),
    )


def on_clock_of(instance: Instance, own: Instance, schedule: Schedule) -> dict[str, Start]:
    """Return the starts of a schedule of ``own``, jobs of the instance on their own clock, on the clock of the instance.

    A job that starts at its release there does so here. Other starts are rounded to the clock.
    """
    if own is instance:
        return dict(schedule.jobs)
    released = [instance.jobs[instance.index[job.id]].release_s for job in own.jobs]
    first_s = min(released)
    starts = {}
    for job, release_s in zip(own.jobs, released, strict=True):
        start_s, placement = schedule.jobs[job.id]
        at_s = release_s if start_s <= job.release_s else max(release_s, first_s + start_s)
        starts[job.id] = Start(at_s, placement)
    return starts
