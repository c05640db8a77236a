"""Streams of the trace as the benchmarks run them: the queue, what a run came to, prefixes, with and without Numba."""

import importlib.util
import math
from array import array
from typing import NamedTuple

import numpy as np

from dlsched import elastic_stream
from dlsched.elastic_stream import Instance, Policy
from dlsched.elastic_stream.policies import Fixed, Queue
from dlsched.elastic_stream.simulation import queue_stream

ALL_UNITS = Fixed(1024)
NUMBA = importlib.util.find_spec("numba") is not None


def whole_jobs() -> Policy:
    """Shortest remaining time first, every job on all the units it asked for."""
    return Queue("srpt", ALL_UNITS)


def compile_from(jobs: float) -> None:
    """Let Numba serve streams of so many jobs on."""
    queue_stream.COMPILED_FROM = jobs  # type: ignore[assignment]


class Stream(NamedTuple):
    """What a run came to: arrivals and ends, periods, most jobs present at once, the mean flow time."""

    events: int
    periods: int
    most: int
    flow_s: float

    def same(self, other: "Stream") -> bool:
        """Whether another run had the same events and flow times; periods are cut differently by different passes."""
        return self.events == other.events and math.isclose(self.flow_s, other.flow_s, rel_tol=1e-9)


def simulated(instance: Instance, policy: Policy) -> tuple[Instance, int, int, array]:
    """Run a stream: the instance, arrivals and ends, periods, and the last end of each job."""
    ends = array("d", bytes(8 * len(instance.jobs)))
    periods = 0

    def keep(job: int, start_s: float, end_s: float, units: int) -> None:
        nonlocal periods
        ends[job] = end_s
        periods += 1

    events = elastic_stream.run(instance, policy, keep)
    return instance, events, periods, ends


def summed_up(ran: tuple[Instance, int, int, array]) -> Stream:
    """What a run came to; off the clock."""
    instance, events, periods, ends = ran
    arrivals = np.array([job.arrival_s for job in instance.jobs])
    present = np.arange(1, len(ends) + 1) - np.searchsorted(np.sort(ends), np.sort(arrivals), "right")
    return Stream(events, periods, int(present.max()), float(np.mean(ends - arrivals)))


def first_jobs(trace: Instance, jobs: int, units: int, faster: int = 1) -> Instance:
    """A prefix of the stream on a cluster, with arrivals so many times as fast."""
    prefix = trace.jobs[:jobs]
    if faster > 1:
        prefix = [job.model_copy(update={"arrival_s": job.arrival_s / faster}) for job in prefix]
    return Instance(name=trace.name, units=units, jobs=prefix)
