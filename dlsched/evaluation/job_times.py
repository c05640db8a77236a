"""Times of jobs in a schedule of any family: submission, start, end, and the GPUs held."""

from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np

from dlsched import elastic_stream, srpt_mapping
from dlsched.core.arrays import FloatArray, IntArray
from dlsched.core.instance import InstanceFile
from dlsched.core.result import Solution
from dlsched.evaluation.figures import Held
from dlsched.traces.queue import QueuedJob


class Jobs(NamedTuple):
    """Jobs as the trace has them, in the order of the instance: ids and users as text, figures of shape (I,), seconds."""

    ids: tuple[str, ...]
    users: tuple[str, ...]
    submit_s: FloatArray
    run_s: FloatArray
    gpus: IntArray


class JobTimes(NamedTuple):
    """When every job started and ended, shape (I,), seconds on the clock of the instance; and what was held."""

    start_s: FloatArray
    end_s: FloatArray
    held: Held


def jobs_of(instance: InstanceFile, recorded: Sequence[QueuedJob]) -> Jobs:
    """Put the jobs of an instance into arrays; running times and GPUs are those of the trace."""
    if isinstance(instance, srpt_mapping.Instance):
        submits_s = [job.release_s for job in instance.jobs]
    else:
        assert isinstance(instance, elastic_stream.Instance)
        submits_s = [job.arrival_s for job in instance.jobs]
    return Jobs(
        tuple(job.id for job in recorded),
        tuple(job.user for job in recorded),
        np.array(submits_s),
        np.array([job.duration_s for job in recorded], dtype=np.float64),
        np.array([job.gpus for job in recorded], dtype=np.int64),
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
    owner = np.repeat(np.arange(len(order)), [len(start.placement) for start in starts])
    shares = list(chain.from_iterable(start.placement for start in starts))
    node = np.array([instance.server_index[share.server] for share in shares], dtype=np.int64)
    return JobTimes(
        start_s, end_s, Held(start_s[owner], end_s[owner], np.array([share.replicas for share in shares]), node)
    )


def _stream(instance: elastic_stream.Instance, stream: elastic_stream.Stream) -> JobTimes:
    arrivals_s = [job.arrival_s for job in instance.jobs]
    ran = [stream.periods.get(job.id, ()) for job in instance.jobs]
    flows_s = elastic_stream.flow_times(instance, stream)
    held = list(chain.from_iterable(ran))
    starts_s = [periods[0].start_s if periods else at_s for periods, at_s in zip(ran, arrivals_s, strict=True)]
    return JobTimes(
        np.array(starts_s),
        np.array(arrivals_s) + np.array(flows_s),
        Held(
            np.array([period.start_s for period in held]),
            np.array([period.end_s for period in held]),
            np.array([period.units for period in held], dtype=np.int64),
            np.full(len(held), -1),
        ),
    )
