"""The optimum of a tiny instance of async_sgd by trying everything; it knows neither the recursion nor the checker.

Throughputs come from the product form itself, by convolution (Buzen, Communications of the ACM 16, 1973), in exact
arithmetic on the instance's floats:

    G_0(n) = Z^n / n!;   G_k(n) = G_{k-1}(n) + D_k G_k(n - 1);   X(n) = G_K(n - 1) / G_K(n)

Stations are taken one by one, K of them: those of every shard are spelled out.
"""

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction

from dlsched.async_sgd.instance import Instance, Job
from dlsched.async_sgd.solution import Allocation

LARGEST = 1_000_000
"""Allocations that fit, beyond which ``brute_force_async`` refuses."""


def brute_force_async(instance: Instance) -> tuple[float, Allocation] | None:
    """Return the least objective and the first allocation that attains it, or None when none is feasible.

    Tries every allocation within the nodes, in lexicographic order of the counts. Objectives are compared exactly, and the
    one returned is rounded once. Cost: some microseconds for each, more where numbers have many digits.

    Raises
    ------
    ValueError
        More than ``LARGEST`` allocations fit.
    """
    times = _job_times(instance)
    scale = math.lcm(*(time.denominator for row in times for time in row))
    whole = [[int(time * scale) for time in row] for row in times]  # integers add and compare faster than fractions
    best: tuple[int, tuple[int, ...]] | None = None
    for tried, counts in enumerate(_fitting(list(map(len, times)), instance.nodes)):
        if tried == LARGEST:
            raise ValueError(f"more than {LARGEST} allocations fit: too many to try")
        total = sum(row[count - 1] for row, count in zip(whole, counts, strict=True))
        if best is None or total < best[0]:
            best = total, counts
    if best is None:
        return None
    ids = [job.id for job in instance.jobs]
    return float(Fraction(best[0], scale)), Allocation(dict(zip(ids, best[1], strict=True)))


def exact_throughput(job: Job, nodes: int) -> Fraction:
    """Mini-batches a second of a job on that many nodes, >= 1."""
    return convolution(Fraction(job.compute_s), demands(job), nodes)[-1]


def convolution(delay_s: Fraction, demands_s: Sequence[Fraction], most: int) -> list[Fraction]:
    """Cycles a second X(1) .. X(most) of a closed network.

    Parameters
    ----------
    delay_s
        Z >= 0, seconds of a cycle in which nobody waits; > 0 if no demand is.
    demands_s
        D_k >= 0, seconds of a cycle, one entry a station.
    most
        Customers, >= 0.
    """
    constants = [Fraction(1)]
    for customers in range(1, most + 1):
        constants.append(constants[-1] * delay_s / customers)
    for demand in demands_s:
        for customers in range(1, most + 1):
            constants[customers] += demand * constants[customers - 1]
    return [constants[customers - 1] / constants[customers] for customers in range(1, most + 1)]


def demands(job: Job) -> list[Fraction]:
    """Seconds of a cycle at each station of a job, one entry a station: a shard's down- and uplink, and its updates."""
    one_way = Fraction(job.parameter_bytes) / Fraction(job.bandwidth_bytes_per_s) / job.shards
    links = [one_way, one_way] if job.duplex == "full" else [2 * one_way]
    return [*links, Fraction(job.update_s) / job.shards] * job.shards


def _job_times(instance: Instance) -> list[list[Fraction]]:
    """Seconds of every job on 1, 2, ... nodes, as many as the others leave it; equal jobs are timed once."""
    fitting = max(0, instance.nodes - len(instance.jobs) + 1)
    known: dict[Job, list[Fraction]] = {}
    times = []
    for job in instance.jobs:
        same = job.model_copy(update={"id": ""})
        if same not in known:
            most = min(fitting, job.max_nodes or fitting)
            batches = Fraction(job.epochs) * Fraction(job.dataset_examples) / Fraction(job.batch_examples)
            known[same] = [batches / value for value in convolution(Fraction(job.compute_s), demands(job), most)]
        times.append(known[same])
    return times


def _fitting(most: Sequence[int], nodes: int) -> Iterator[tuple[int, ...]]:
    """Every choice of a count from 1 to the most of each job within the nodes."""
    if not most:
        yield ()
        return
    for count in range(1, min(most[0], nodes - len(most) + 1) + 1):
        for rest in _fitting(most[1:], nodes - count):
            yield count, *rest
