"""The meaning of matching_placement: how long a placement takes, and which rules it breaks.

minimise (1/S) sum_i J_i,   J_i = T_i (max_{k in K_i} pi_ik / rho_ik + 2 (n_i - 1) D_i / (n_i min_{k in K_i} r_k))

``one_job``   every worker serves at most one job, once
``served``    min_i <= n_i <= max_i for every job
``able``      a worker serves only jobs that its type has a rate for
``batch``     sum_k pi_ik = Pi_i: the checker splits the batch itself, in proportion to the rates

Proportional split (theorem A): sum_k pi_ik = Pi_i and pi_ik <= l rho_ik for all k give l >= Pi_i / sum_k rho_ik, and
pi_ik = Pi_i rho_ik / sum_k rho_ik attains it.
"""

import math
from collections.abc import Sequence

from dlsched.core.errors import UsageError
from dlsched.core.violation import Violation
from dlsched.matching_placement.instance import Instance, Job, Worker
from dlsched.matching_placement.solution import Placement


def objective(instance: Instance, placement: Placement) -> float:
    """Mean completion time of the jobs in seconds.

    Raises
    ------
    UsageError
        A job has no worker, or one that does not exist, cannot serve it or serves another too: then there is no time.
    """
    return math.fsum(completion_times(instance, placement).values()) / len(instance.jobs)


def completion_times(instance: Instance, placement: Placement) -> dict[str, float]:
    """Seconds that every job takes, by its id; errors as ``objective``."""
    broken = _broken_choices(instance, placement)
    if broken:
        raise UsageError(f"no objective: {broken[0]}")
    return {
        job.id: job_time(job, [instance.workers[instance.worker_index[name]] for name in placement.workers[job.id]])
        for job in instance.jobs
    }


def batch_split(job: Job, workers: Sequence[Worker]) -> list[float]:
    """Samples of one iteration that each of the job's workers trains, pi_ik; in proportion to their rates."""
    rates = [job.samples_per_s[worker.type] for worker in workers]
    together = math.fsum(rates)
    return [job.batch_samples * (rate / together) for rate in rates]


def job_time(job: Job, workers: Sequence[Worker]) -> float:
    """Seconds that a job takes on some workers: of each iteration the slowest worker's share, then the ring all-reduce."""
    split = batch_split(job, workers)
    slowest_s = max(part / job.samples_per_s[worker.type] for part, worker in zip(split, workers, strict=True))
    bandwidth = min(worker.bandwidth_bytes_per_s for worker in workers)
    exchange_s = 2 * (len(workers) - 1) / len(workers) * job.gradient_bytes / bandwidth
    return job.iterations * (slowest_s + exchange_s)


def check(instance: Instance, placement: Placement) -> list[Violation]:
    """Return every broken rule; an empty list means feasible."""
    violations = _broken_choices(instance, placement)
    for job in instance.jobs:
        count = len(placement.workers.get(job.id, ()))
        if 0 < count < job.min_workers:
            message = f"the job has {count} workers, it needs at least {job.min_workers}"
            violations.append(Violation("served", job.id, float(job.min_workers - count), message))
        if job.max_workers is not None and count > job.max_workers:
            message = f"the job has {count} workers, it takes at most {job.max_workers}"
            violations.append(Violation("served", job.id, float(count - job.max_workers), message))
    return violations


def _broken_choices(instance: Instance, placement: Placement) -> list[Violation]:
    violations = []
    serves: dict[str, str] = {}
    for name, workers in placement.workers.items():
        index = instance.index.get(name)
        if index is None:
            violations.append(Violation("served", name, message="there is no such job"))
            continue
        for worker in workers:
            if worker not in instance.worker_index:
                violations.append(Violation("one_job", worker, message="there is no such worker"))
                continue
            kind = instance.workers[instance.worker_index[worker]].type
            if kind not in instance.jobs[index].samples_per_s:
                message = f"worker {worker} of type {kind} has no rate for the job"
                violations.append(Violation("able", name, message=message))
            if worker in serves:
                message = f"the worker serves {serves[worker]} and {name}"
                violations.append(Violation("one_job", worker, 1.0, message))
            serves[worker] = name
    for job in instance.jobs:
        if not placement.workers.get(job.id):
            message = f"the job has no worker, it needs at least {job.min_workers}"
            violations.append(Violation("served", job.id, float(job.min_workers), message))
    return violations


def jain_index(instance: Instance, placement: Placement) -> float:
    """Jain's fairness index of J_i / J_i(equal share), in [1/S, 1]; 1: all jobs gain or lose alike.

    Equal share: a fluid 1/S of every worker, so R_i = sum_k rho_ik / S (0 for those that cannot serve i), on
    n = max(1, K/S) workers; the ring carries what the slowest that can serve i carries.
    """
    ratios = [
        time / equal_share_time(instance, job)
        for job, time in zip(instance.jobs, completion_times(instance, placement).values(), strict=True)
    ]
    largest = max(ratios)
    parts = [ratio / largest for ratio in ratios]
    return math.fsum(parts) ** 2 / (len(parts) * math.fsum(part * part for part in parts))


def equal_share_time(instance: Instance, job: Job) -> float:
    """J_i(equal share) in seconds, as ``jain_index`` uses it."""
    able = [(kind, held) for kind, held in instance.types.items() if kind in job.samples_per_s]
    share = len(instance.jobs)
    rate = math.fsum(job.samples_per_s[kind] * len(held) for kind, held in able) / share
    count = max(1.0, len(instance.workers) / share)
    bandwidth = min(instance.workers[held[0]].bandwidth_bytes_per_s for _, held in able)
    exchange_s = 2 * (count - 1) / count * job.gradient_bytes / bandwidth
    return job.iterations * (job.batch_samples / rate + exchange_s)


def figures(instance: Instance, placement: Placement) -> dict[str, float]:
    """Further figures of a feasible placement: Jain's index, and the number of idle workers."""
    used = sum(map(len, placement.workers.values()))
    return {"jain_index": jain_index(instance, placement), "idle_workers": float(len(instance.workers) - used)}
