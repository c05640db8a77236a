"""Further figures of a stream, besides its mean flow time."""

import math

import numpy as np

from dlsched.elastic_stream.checker import follow_all
from dlsched.elastic_stream.instance import Instance
from dlsched.elastic_stream.solution import Stream


def figures(instance: Instance, stream: Stream) -> dict[str, float]:
    """Further figures of a feasible stream, in which every job ends.

    ``max_flow_s``, ``p95_flow_s``, ``p99_flow_s``: of the flow times, percentiles interpolated; ``slowdown``: mean of
    flow time over the job's fastest run on the cluster, jobs without work left out; ``utilisation``: unit-seconds held
    over C times the seconds from the first arrival to the last end; ``restarts``: pauses of all jobs.
    """
    ran = follow_all(instance, stream)
    flows = np.array([each.flow_s for each in ran], dtype=np.float64)
    fastest = np.array(list(map(instance.fastest_s, range(len(ran)))))
    first_s = min(job.arrival_s for job in instance.jobs)
    span_s = max(job.arrival_s - first_s + flow_s for job, flow_s in zip(instance.jobs, flows.tolist(), strict=True))
    held = math.fsum(each.unit_seconds for each in ran)
    working = fastest > 0
    return {
        "max_flow_s": float(flows.max()),
        "p95_flow_s": float(np.percentile(flows, 95)),
        "p99_flow_s": float(np.percentile(flows, 99)),
        "slowdown": float(np.mean(flows[working] / fastest[working])) if working.any() else 1.0,
        "utilisation": min(1.0, held / instance.units / span_s) if span_s > 0 else 0.0,  # more by rounding
        "restarts": float(sum(each.restarts for each in ran)),
    }
