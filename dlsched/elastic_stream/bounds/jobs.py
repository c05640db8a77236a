"""The jobs of a stream as arrays, for the search for prices."""

import numpy as np

from dlsched.algorithms.utility_tables import upper_hull
from dlsched.columns.malleable import Jobs
from dlsched.core.elementary import geometric
from dlsched.elastic_stream.instance import Instance

_MOST_CORNERS = 16
"""Largest number of corners of a job's speed hull for which its pauses are counted."""
MOST_LOOKED_AT = 256
"""Largest number of a law's useful counts that are examined; the first one skipped after an examined one takes
the time of the next examined one."""


def jobs_of(instance: Instance) -> Jobs:
    """The jobs with work as arrays."""
    index = [number for number, job in enumerate(instance.jobs) if job.work]
    rows, pauses = [], []
    known: dict[tuple[object, ...], list[tuple[float, float]]] = {}
    for number in index:
        job = instance.jobs[number]
        key = job.speed, job.work, job.max_gpus
        if key not in known:
            known[key] = _speeds(instance, number)
        rows.append(known[key])
        pauses.append(job.restart_s if _counts_pauses(instance, number, len(known[key])) else 0.0)
    most = max(map(len, rows), default=1)
    padded = np.array([row + row[-1:] * (most - len(row)) for row in rows]).reshape(len(rows), most, 2)
    return Jobs(
        np.array(index, dtype=np.int64),
        np.array([float(instance.release_s(number)) for number in index]),
        1 / padded[:, -1, 1],
        np.array(pauses),
        np.array([instance.jobs[number].weight for number in index]),
        padded[:, :, 0],
        padded[:, :, 1],
    )


def _speeds(instance: Instance, number: int) -> list[tuple[float, float]]:
    """Units and speeds of a job at the corners of the upper hull; between them a period gains no more, as gain is linear."""
    job = instance.jobs[number]
    useful = job.useful_counts(instance.units)
    if job.speed_law is None or len(useful) <= MOST_LOOKED_AT:
        times_s = job.useful_times_s(instance.units)
        return upper_hull((float(count), 1 / (job.work * time_s)) for count, time_s in times_s.items())
    # Of a long law some counts are examined; those in between get the time of the next, which is never slower.
    ends = np.unique(geometric(1, len(useful), MOST_LOOKED_AT).astype(np.int64)).tolist()
    starts = [1, *(end + 1 for end in ends[:-1])]
    times = [job.speed.epoch_time_s(end) for end in ends]
    return upper_hull((float(start), 1 / (job.work * time_s)) for start, time_s in zip(starts, times, strict=True))


def _counts_pauses(instance: Instance, number: int, corners: int) -> bool:
    """Whether the pauses of a job count here: only where the verifier, with its larger limits, counts them too."""
    few = len(instance.jobs[number].useful_counts(instance.units)) <= MOST_LOOKED_AT
    return few and corners <= _MOST_CORNERS
