"""Complete models of the families without time, with side constraints and other objectives, against all solutions."""

import random
from itertools import product
from math import fsum, log

import pytest

from dlsched import async_sgd, matching_placement, ring_allocation
from dlsched.async_sgd.formulations import build_milp as build_async
from dlsched.core.status import Sense
from dlsched.matching_placement.formulations.assignment import build_assignment
from dlsched.matching_placement.formulations.milp import build_milp as build_counts
from dlsched.ring_allocation.formulations import build_milp as build_ring
from dlsched.testing.async_sgd import exact_throughput

from .sides import assert_agrees, drawn, seeds, weighted


def counted(times, capacity):
    """All choices of one count a job within a capacity, with the sum of their costs."""
    for counts in product(*(row for row in times.values())):
        if sum(counts) <= capacity:
            chosen = dict(zip(times, counts, strict=True))
            cost = fsum(times[job][n] for job, n in chosen.items())
            yield {(job, n): 1.0 for job, n in chosen.items()}, cost


def held_against_counts(numbers, formulation, kind, times, capacity, decided):
    """Compare a model of counts with all allocations."""
    keys = [(job, n) for job, row in times.items() for n in row] or [("j0", 1)]  # of tables beyond the cluster
    users = [numbers.sample(list(times), numbers.randint(1, len(times))) for _ in range(2)]
    quotas = [{(job, n): float(n) for job, n in keys if job in user} for user in users]
    fitting = set(formulation.variables[kind])
    solutions = list(counted(times, capacity))
    sides = drawn(numbers, keys, quotas, solutions)
    weights = weighted(numbers, sorted(fitting))
    assert_agrees(formulation, kind, sides, solutions, decided, Sense.MINIMIZE, weights=weights)


def ring_times(instance):
    """Costs of every allowed count that the cluster has, from the definition: weight (epochs tau(n) + restart)."""
    times = {}
    for job in instance.jobs:
        row = {}
        for n in range(1, instance.gpus + 1):
            if job.speed_law is not None:
                if n > job.max_gpus:
                    continue
                law = job.speed_law
                a, b, c, d = law.theta
                epoch_s = a * law.samples / n + b * (n - 1) + c * law.model_bytes * (n - 1) / n + d
            elif n in job.epoch_time_s:
                epoch_s = job.epoch_time_s[n]
            else:
                continue
            restart_s = job.restart_s if job.current_gpus not in (None, n) else 0.0
            row[n] = job.weight * (job.epochs * epoch_s + restart_s)
        times[job.id] = row
    return times


def ring_instance(numbers):
    """Two or three jobs: tables that rise and fall, and laws whose speed falls beyond a few GPUs."""
    gpus, jobs = numbers.randint(3, 7), []
    for index in range(numbers.randint(2, 3)):
        job = {"id": f"j{index}", "epochs": float(numbers.randint(1, 5)), "weight": float(numbers.choice([1, 1, 2]))}
        if numbers.random() < 0.5:
            theta = [float(numbers.randint(1, 9)), float(numbers.choice([0, 1, 5])), 1.0, 1.0]
            job["speed_law"] = {"theta": theta, "samples": float(numbers.randint(1, 9)), "model_bytes": 1.0}
            job["max_gpus"] = numbers.randint(1, 8)
        else:
            counts = numbers.sample(range(1, 6), numbers.randint(1, 4))
            job["epoch_time_s"] = {n: float(numbers.randint(1, 30)) for n in counts}
        if numbers.random() < 0.3:
            job |= {"current_gpus": numbers.randint(1, 3), "restart_s": float(numbers.randint(1, 20))}
        jobs.append(job)
    return ring_allocation.Instance(name=f"drawn-{gpus}", gpus=gpus, jobs=jobs)


@pytest.mark.parametrize("seed", seeds(pytest.mark.long))
def test_ring_allocation(seed):
    """All allocations, laws and tables."""
    numbers = random.Random(seed)
    instance = ring_instance(numbers)
    held_against_counts(
        numbers,
        build_ring(instance, complete=True),
        "gpus",
        ring_times(instance),
        instance.gpus,
        lambda solution: {(job, n): 1.0 for job, n in solution.gpus.items()},
    )


@pytest.mark.parametrize("seed", seeds(pytest.mark.long))
def test_async_sgd(seed):
    """All allocations; the throughputs of brute force come from the product form in exact arithmetic."""
    numbers = random.Random(seed)
    nodes = numbers.randint(2, 6)
    jobs = [
        {
            "id": f"j{index}",
            "epochs": float(numbers.randint(0, 3)),
            "dataset_examples": 100.0,
            "batch_examples": 10.0,
            "parameter_bytes": float(numbers.choice([1, 8, 64])),
            "bandwidth_bytes_per_s": float(numbers.choice([4, 64])),
            "compute_s": float(numbers.choice([0.25, 1, 4])),
            "update_s": float(numbers.choice([0, 0.5])),
            **({"max_nodes": numbers.randint(1, 5)} if numbers.random() < 0.5 else {}),
        }
        for index in range(numbers.randint(1, 3))
    ]
    instance = async_sgd.Instance(name="drawn", nodes=nodes, jobs=jobs)
    times = {
        job.id: {n: float(job.exact_batches / exact_throughput(job, n)) for n in range(1, (job.max_nodes or nodes) + 1)}
        for job in instance.jobs
    }
    held_against_counts(
        numbers,
        build_async(instance, complete=True),
        "nodes",
        times,
        nodes,
        lambda solution: {(job, n): 1.0 for job, n in solution.nodes.items()},
    )


def matching_instance(numbers, objective):
    """Two jobs and three or four workers of one to three types; some types cannot serve a job."""
    types = {f"t{kind}": float(numbers.choice([1, 2, 8])) for kind in range(numbers.randint(1, 3))}
    names = [numbers.choice(list(types)) for _ in range(numbers.randint(3, 4))]
    workers = [{"id": f"w{k}", "type": kind, "bandwidth_bytes_per_s": types[kind]} for k, kind in enumerate(names)]
    jobs = []
    for index in range(2):
        able = numbers.sample(list(types), numbers.randint(1, len(types)))
        least = numbers.choice([1, 1, 1, 2])
        jobs.append(
            {
                "id": f"j{index}",
                "iterations": float(numbers.randint(1, 4)),
                "batch_samples": float(numbers.randint(1, 4)),
                "gradient_bytes": float(numbers.choice([0, 1, 4])),
                "samples_per_s": {kind: float(numbers.randint(1, 4)) for kind in able},
                "min_workers": least,
                "max_workers": least + numbers.randint(0, 2),
            }
        )
    more = {"alpha": float(numbers.choice([0, 1, 2]))} if objective == "alpha_fair" else {}
    return matching_placement.Instance(name="drawn", workers=workers, jobs=jobs, objective=objective, **more)


def completion_s(instance, job, given):
    """Seconds on given workers, from the definition; None where a rule forbids them."""
    if not job.min_workers <= len(given) <= job.max_workers or any(k.type not in job.samples_per_s for k in given):
        return None
    n, slowest = len(given), min(k.bandwidth_bytes_per_s for k in given)
    rate = sum(job.samples_per_s[k.type] for k in given)
    return job.iterations * (job.batch_samples / rate + 2 * (n - 1) * job.gradient_bytes / (n * slowest))


def placements(instance):
    """All placements, as the job or none of every worker, with their objectives."""
    for owners in product(range(-1, len(instance.jobs)), repeat=len(instance.workers)):
        times = []
        for index, job in enumerate(instance.jobs):
            given = [worker for worker, owner in zip(instance.workers, owners, strict=True) if owner == index]
            times.append(completion_s(instance, job, given))
        if None in times:
            continue
        equal = [matching_placement.instance.equal_share_time(instance, job) for job in instance.jobs]
        ratios = [time / share for time, share in zip(times, equal, strict=True)]
        if instance.objective == "mean":
            value = fsum(times) / len(times)
        elif instance.objective == "max_rho":
            value = max(ratios)
        else:
            alpha = instance.alpha
            value = fsum(-log(y) if alpha == 1 else y ** (alpha - 1) / (1 - alpha) for y in ratios)
        yield (
            [
                (instance.jobs[owner], worker)
                for worker, owner in zip(instance.workers, owners, strict=True)
                if owner >= 0
            ],
            value,
        )


@pytest.mark.parametrize("seed", seeds(pytest.mark.long))
def test_matching_placement_by_worker(seed):
    """All placements, worker by worker, of equal workers too."""
    numbers = random.Random(seed)
    instance = matching_instance(numbers, numbers.choice(["mean", "mean", "max_rho"]))
    solutions = [({(job.id, worker.id): 1.0 for job, worker in given}, value) for given, value in placements(instance)]
    keys = [(job.id, worker.id) for job in instance.jobs for worker in instance.workers]
    quotas = [{key: 1.0 for key in keys if key[0] == job.id} for job in instance.jobs]
    formulation = build_assignment(instance, complete=True)
    assert_agrees(
        formulation,
        "workers",
        drawn(numbers, keys, quotas, solutions),
        solutions,
        lambda placement: {(job, worker): 1.0 for job, given in placement.workers.items() for worker in given},
        Sense.MINIMIZE,
        weights=weighted(numbers, list(formulation.variables.workers)),
    )


@pytest.mark.parametrize("seed", seeds(pytest.mark.long))
def test_matching_placement_by_counts(seed):
    """All counts of workers by type, of all objectives."""
    numbers = random.Random(seed)
    instance = matching_instance(numbers, numbers.choice(["mean", "max_rho", "alpha_fair"]))

    def tally(pairs):
        found = {}
        for job, kind in pairs:
            found[job, kind] = found.get((job, kind), 0.0) + 1.0
        return found

    kinds = {worker.id: worker.type for worker in instance.workers}
    solutions = [
        (tally((job.id, worker.type) for job, worker in given), value) for given, value in placements(instance)
    ]
    keys = [(job.id, kind) for job in instance.jobs for kind in instance.types]
    quotas = [{key: 1.0 for key in keys if key[0] == job.id} for job in instance.jobs]
    formulation = build_counts(instance, complete=True)
    assert_agrees(
        formulation,
        "counts",
        drawn(numbers, keys, quotas, solutions),
        solutions,
        lambda placement: tally((job, kinds[k]) for job, given in placement.workers.items() for k in given),
        Sense.MAXIMIZE if instance.objective == "alpha_fair" else Sense.MINIMIZE,
        weights=weighted(numbers, keys),
    )
