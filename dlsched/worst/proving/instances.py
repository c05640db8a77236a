"""Instances made of tables, and how bad a method is on them, exactly."""

from fractions import Fraction
from math import gcd, lcm

from dlsched import async_sgd, ring_allocation
from dlsched.core.instance import InstanceFile
from dlsched.worst.proving.setting import Setting
from dlsched.worst.proving.showing import Table


def instance_of(setting: Setting, table: Table, order: tuple[int, ...]) -> ring_allocation.Instance:
    """Make an instance of a table scaled to whole numbers, with jobs in that order.

    Counts that cannot fit cost as much as the largest count that can.
    """
    scale = lcm(*(cost.denominator for cost in table.values()))
    whole = {place: int(cost * scale) for place, cost in table.items()}
    shared = gcd(*whole.values())
    last = setting.counts[-1]
    jobs = [
        ring_allocation.Job(
            id=f"job{position}",
            epochs=1.0,
            epoch_time_s={
                count: float(whole[job, min(count, last)] // shared) for count in setting.up_to(setting.gpus)
            },
        )
        for position, job in enumerate(order)
    ]
    name = f"worst-{setting.method}-{setting.jobs}-jobs-{setting.gpus}-gpus-{setting.tables}-{setting.offered}"
    return ring_allocation.Instance(name=name, gpus=setting.gpus, jobs=jobs)


def ratio_of(setting: Setting, instance: ring_allocation.Instance) -> Fraction:
    """Run the method, and divide the cost of its answer by the optimum, both in rationals."""
    allocation = getattr(ring_allocation, setting.method)(instance)
    held = sum(_cost(instance, job, allocation.gpus[each.id]) for job, each in enumerate(instance.jobs))
    least: dict[int, Fraction] = {0: Fraction(0)}
    for job in range(len(instance.jobs)):
        more: dict[int, Fraction] = {}
        for used, total in least.items():
            for count in instance.counts(job):
                if used + count <= instance.gpus:
                    cost = total + _cost(instance, job, count)
                    more[used + count] = min(cost, more.get(used + count, cost))
        least = more
    return Fraction(held) / min(least.values())


def equal_jobs(setting: Setting) -> InstanceFile:
    """Make an instance of ``async_sgd`` with equal jobs."""
    job = {"epochs": 1.0, "dataset_examples": 100.0, "batch_examples": 10.0, "parameter_bytes": 0.0}
    speed = {"bandwidth_bytes_per_s": 1.0, "compute_s": 1.0}
    jobs = [async_sgd.Job(id=f"job{k}", **job, **speed) for k in range(setting.jobs)]
    return async_sgd.Instance(name=f"equal-{setting.jobs}-jobs-{setting.gpus}-nodes", nodes=setting.gpus, jobs=jobs)


def _cost(instance: ring_allocation.Instance, job: int, count: int) -> Fraction:
    times = instance.jobs[job].epoch_time_s
    assert times is not None
    return Fraction(times[count])
