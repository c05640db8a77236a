"""The optimum of a tiny instance by trying everything: independent of every algorithm, it knows the checker only."""

import math
from collections.abc import Iterator, Sequence

from dlsched.ring_allocation import Allocation, Instance
from dlsched.ring_allocation.checker import check, job_cost, objective

LARGEST = 1_000_000
"""Allocations that fit, beyond which ``brute_force`` refuses."""


def brute_force(instance: Instance) -> tuple[float, Allocation] | None:
    """Return the least objective and the first allocation that attains it, or None when none is feasible.

    Tries every allocation within the capacity, in lexicographic order of the counts. Cost: some microseconds for each.

    Raises
    ------
    ValueError
        More than ``LARGEST`` allocations fit.
    """
    ids = [job.id for job in instance.jobs]
    allowed = [instance.counts(place) for place in range(len(ids))]
    known: list[dict[int, float]] = [{} for _ in ids]
    best: tuple[float, tuple[int, ...]] | None = None
    for tried, counts in enumerate(_fitting(allowed, instance.gpus)):
        if tried == LARGEST:
            raise ValueError(f"more than {LARGEST} allocations fit: too many to try")
        for job, costs, count in zip(instance.jobs, known, counts, strict=True):
            if count not in costs:
                costs[count] = job_cost(job, count)
        total = math.fsum(costs[count] for costs, count in zip(known, counts, strict=True))
        if best is None or total < best[0]:
            best = total, counts
    if best is None:
        return None
    allocation = Allocation(dict(zip(ids, best[1], strict=True)))
    assert not check(instance, allocation) and objective(instance, allocation) == best[0]
    return best[0], allocation


def _fitting(allowed: Sequence[Sequence[int]], capacity: int) -> Iterator[tuple[int, ...]]:
    """Every choice of one count a job within the capacity; prefixes with no room for the rest are dropped."""
    if not allowed:
        yield ()
        return
    reserve = sum(counts[0] for counts in allowed[1:])
    for count in allowed[0]:
        if count + reserve > capacity:
            return
        for rest in _fitting(allowed[1:], capacity - count):
            yield count, *rest
