"""The meaning of matching_placement: how long a placement takes, and which rules it breaks.

J_i = T_i (max_{k in K_i} pi_ik / rho_ik + 2 (n_i - 1) D_i / (n_i min_{k in K_i} r_k)),   x_i = J_i(equal share) / J_i

``mean``         minimise (1/S) sum_i J_i
``max_rho``      minimise max_i rho_i,  rho_i = 1 / x_i
``alpha_fair``   maximise sum_i U(x_i),  U(x) = x^(1 - alpha) / (1 - alpha), ln x for alpha = 1

``one_job``   every worker serves at most one job, once
``served``    min_i <= n_i <= max_i for every job
``able``      a worker serves only jobs that its type has a rate for
``batch``     sum_k pi_ik = Pi_i: the checker splits the batch itself, in proportion to the rates

Proportional split (theorem A): sum_k pi_ik = Pi_i and pi_ik <= l rho_ik for all k give l >= Pi_i / sum_k rho_ik, and
pi_ik = Pi_i rho_ik / sum_k rho_ik attains it.
"""

import math
from collections.abc import Sequence

from dlsched.core.elementary import float_power, log
from dlsched.core.errors import UsageError
from dlsched.core.result import Violation
from dlsched.matching_placement.instance import Instance, Job, Worker, equal_share_time
from dlsched.matching_placement.objectives import objective_of
from dlsched.matching_placement.solution import Placement


def objective(instance: Instance, placement: Placement) -> float:
    """Objective of the instance: by default the mean completion time of the jobs in seconds.

    Raises
    ------
    UsageError
        A job has no worker, or one that does not exist, cannot serve it or serves another too: then there is no time.
    """
    return objective_of(instance).value(instance, placement)


def mean_completion(instance: Instance, placement: Placement) -> float:
    """Mean completion time of the jobs in seconds; errors as ``objective``."""
    return math.fsum(completion_times(instance, placement).values()) / len(instance.jobs)


def largest_ratio(instance: Instance, placement: Placement) -> float:
    """The largest of the ``ratios``; errors as ``objective``."""
    return max(ratios(instance, placement))


def total_utility(instance: Instance, placement: Placement) -> float:
    """The sum of alpha-fair utilities; errors as ``objective``."""
    assert instance.alpha is not None
    return math.fsum(utility(1 / ratio, instance.alpha) for ratio in ratios(instance, placement))


def utility(speed: float, alpha: float) -> float:
    """Alpha-fair utility U(x) of a job; x is its speed relative to that of an equal share."""
    return log(speed) if alpha == 1 else float_power(speed, 1 - alpha) / (1 - alpha)


def ratios(instance: Instance, placement: Placement) -> list[float]:
    """rho_i = J_i / J_i(equal share) of every job, in order of the file; errors as ``objective``."""
    times_s = completion_times(instance, placement)
    return [time / equal_share_time(instance, job) for job, time in zip(instance.jobs, times_s.values(), strict=True)]


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
    """Violations of ``one_job`` and ``able``, and jobs without workers: with any of these there is no completion time."""
    violations = []
    job_of: dict[str, str] = {}
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
            if worker in job_of:
                message = f"the worker serves {job_of[worker]} and {name}"
                violations.append(Violation("one_job", worker, 1.0, message))
            job_of[worker] = name
    for job in instance.jobs:
        if not placement.workers.get(job.id):
            message = f"the job has no worker, it needs at least {job.min_workers}"
            violations.append(Violation("served", job.id, float(job.min_workers), message))
    return violations


def jain_index(instance: Instance, placement: Placement) -> float:
    """Jain's fairness index of the ``ratios``, in [1/S, 1]; 1: all jobs gain or lose alike."""
    values = ratios(instance, placement)
    largest = max(values)
    # the index is scale-free; ratios of at most 1 have squares that do not overflow
    parts = [ratio / largest for ratio in values]
    return float_power(math.fsum(parts), 2) / (len(parts) * math.fsum(part * part for part in parts))


def figures(instance: Instance, placement: Placement) -> dict[str, float]:
    """Further figures of a feasible placement: mean completion time, largest ratio, Jain's index, number of idle workers."""
    used = sum(map(len, placement.workers.values()))
    return {
        "mean_completion_s": mean_completion(instance, placement),
        "max_rho": largest_ratio(instance, placement),
        "jain_index": jain_index(instance, placement),
        "idle_workers": float(len(instance.workers) - used),
    }
