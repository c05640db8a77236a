"""Further figures of a stream, besides its mean flow time."""

import math

import numpy as np

from dlsched.core.arrays import FloatArray, distinct
from dlsched.core.gap import FEASIBLE
from dlsched.elastic_stream.checker import follow_all
from dlsched.elastic_stream.instance import Instance
from dlsched.elastic_stream.solution import Stream
from dlsched.statistics.samples import fairness


def figures(instance: Instance, stream: Stream) -> dict[str, float]:
    """Compute further figures of a feasible stream, in which every job ends.

    ``max_flow_s``, ``p95_flow_s``, ``p99_flow_s``: of the flow times, percentiles interpolated; ``slowdown``: mean of
    flow time over the job's fastest run on the cluster, jobs without work left out; ``utilisation``: unit-seconds held
    over C times the seconds from the first arrival to the last end; ``restarts``: pauses of all jobs; ``max_rho``, ``mean_rho``,
    ``jain_index``: of finish-time fairness, as ``rho`` has it.
    """
    ran = follow_all(instance, stream)
    flows = np.array([each.flow_s for each in ran], dtype=np.float64)
    fastest = np.array(list(map(instance.fastest_s, range(len(ran)))))
    first_s = min(job.arrival_s for job in instance.jobs)
    span_s = max(job.arrival_s - first_s + flow_s for job, flow_s in zip(instance.jobs, flows.tolist(), strict=True))
    busy = math.fsum(each.unit_seconds for each in ran)
    working = fastest > 0
    return {
        "max_flow_s": float(flows.max()),
        "p95_flow_s": float(np.percentile(flows, 95)),
        "p99_flow_s": float(np.percentile(flows, 99)),
        "slowdown": float(np.mean(flows[working] / fastest[working])) if working.any() else 1.0,
        "utilisation": min(1.0, busy / instance.units / span_s) if span_s > 0 else 0.0,  # more by rounding
        "restarts": float(sum(each.restarts for each in ran)),
    } | fairness(rho(instance, flows))


def rho(instance: Instance, flows: FloatArray) -> list[float]:
    """Finish-time fairness of jobs with work: flow time over the job's time alone on its fair share; cost O(J log J).

    With N_j the mean number of jobs present during its stay, its share is the fastest allowed count of at most max(its smallest,
    C / N_j), held for all of its work without a pause. Source: Mahajan et al., Themis, NSDI 2020.
    """
    shares = np.floor(np.minimum(1.0, (1 + FEASIBLE) / mean_present(instance, flows)) * instance.units)
    return [
        flow_s / (work * job.fair_time_s(share))
        for job, flow_s, share in zip(instance.jobs, flows.tolist(), shares.astype(int).tolist(), strict=True)
        if (work := job.work)
    ]


def mean_present(instance: Instance, flows: FloatArray) -> FloatArray:
    """Mean number of jobs present during each job's stay, shape (J,); a stay below the unit of time counts as alone."""
    arrivals = np.array([job.arrival_s for job in instance.jobs])
    arrivals -= arrivals.min()
    ends = arrivals + flows
    # Times in whole units, so that sums are exact; the unit matters only to stays of 2^-40 of the whole.
    digits = 62 - len(flows).bit_length()
    unit_s = float(ends.max()) / 2.0**digits or 1.0
    come, gone = (np.rint(each / unit_s).astype(np.int64) for each in (arrivals, ends))
    moments = distinct(np.concatenate([come, gone]))
    present = np.searchsorted(np.sort(come), moments, side="right") - np.searchsorted(
        np.sort(gone), moments, side="right"
    )
    sums = np.concatenate([[0], np.cumsum(present[:-1] * np.diff(moments))])
    shared = sums[np.searchsorted(moments, gone)] - sums[np.searchsorted(moments, come)]
    mean: FloatArray = shared / np.maximum(1, gone - come)
    return np.maximum(1.0, mean)
