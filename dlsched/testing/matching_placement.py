"""matching_placement for tests: instances with edge cases of placements, and optima by brute force.

Among them are types that cannot serve a job, rates for types that no worker has, and types with a bandwidth that is best left
idle. Brute force knows the checker only.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import product
from typing import Any

from hypothesis import strategies as st

from dlsched.matching_placement.arrays import infeasible
from dlsched.matching_placement.checker import check, job_time, objective
from dlsched.matching_placement.instance import RANGES, Instance, Job
from dlsched.matching_placement.solution import Placement
from dlsched.testing.cases import Case, Data, fitting, named, several, values, whole_numbers

LARGEST = 1_000_000
"""Placements that differ in more than the names of identical workers, beyond which ``brute_force_placement`` refuses."""


def brute_force_placement(instance: Instance) -> tuple[float, Placement] | None:
    """Return the best objective and the first placement that attains it, or None when none is feasible.

    Gives the workers of every type in every way to the jobs that it can serve, or to none; workers of one type are alike,
    so only their numbers are tried. Cost: some microseconds for each way; a ``ValueError`` says that more than ``LARGEST`` exist.
    """
    jobs = instance.jobs
    able = {kind: [index for index, job in enumerate(jobs) if kind in job.samples_per_s] for kind in instance.types}
    tries = math.prod(math.comb(len(held) + len(able[kind]), len(held)) for kind, held in instance.types.items())
    if tries > LARGEST:
        raise ValueError(f"more than {LARGEST} placements: {tries} are too many to try")
    ways = [
        [_row(counts, able[kind], len(jobs)) for counts in fitting([range(len(held) + 1)] * len(able[kind]), len(held))]
        for kind, held in instance.types.items()
    ]
    known: list[dict[tuple[int, ...], float]] = [{} for _ in jobs]
    worth = _worth(instance)
    best: tuple[float, tuple[tuple[int, ...], ...]] | None = None
    for by_type in product(*ways):
        by_job = tuple(zip(*by_type, strict=True))
        times = []
        for job, times_of, counts in zip(jobs, known, by_job, strict=True):
            if counts not in times_of:
                times_of[counts] = _time(instance, job, counts)
            times.append(times_of[counts])
        total = worth(times) if max(times) < math.inf else math.inf
        if total < math.inf and (best is None or total < best[0]):
            best = total, by_job
    if best is None:
        return None
    placement = _placement(instance, best[1])
    value = objective(instance, placement)
    assert not check(instance, placement)
    return value, placement


def _worth(instance: Instance) -> Callable[[list[float]], float]:
    """Return the minimised function of the times of all jobs."""
    if instance.objective == "mean":
        return math.fsum
    equal = [_equal_share(instance, job) for job in instance.jobs]
    if instance.alpha is None:
        return lambda times: max(time / share for time, share in zip(times, equal, strict=True))
    power = 1 - instance.alpha

    def lost(times: list[float]) -> float:
        speeds = [share / time for time, share in zip(times, equal, strict=True)]
        return -math.fsum(math.log(speed) if power == 0 else speed**power / power for speed in speeds)

    return lost


def _equal_share(instance: Instance, job: Job) -> float:
    """Return seconds on a part 1/S of every worker; an arbitrary number if no worker can serve the job."""
    able = [worker for worker in instance.workers if worker.type in job.samples_per_s]
    if not able:
        return 1.0
    rate = sum(job.samples_per_s[worker.type] for worker in able) / len(instance.jobs)
    size = max(1.0, len(instance.workers) / len(instance.jobs))
    slowest = min(worker.bandwidth_bytes_per_s for worker in able)
    return job.iterations * (job.batch_samples / rate + 2 * job.gradient_bytes * (1 - 1 / size) / slowest)


def _row(counts: tuple[int, ...], able: list[int], jobs: int) -> list[int]:
    """Counts of one type for all jobs."""
    row = [0] * jobs
    for index, count in zip(able, counts, strict=True):
        row[index] = count
    return row


def _time(instance: Instance, job: Job, counts: tuple[int, ...]) -> float:
    """Seconds of one job on ``counts`` workers of each type; infinite where that is not allowed."""
    size = sum(counts)
    if size < job.min_workers or (job.max_workers is not None and size > job.max_workers):
        return math.inf
    held = zip(instance.types.values(), counts, strict=True)
    return job_time(job, [instance.workers[index] for indices, count in held for index in indices[:count]])


def _placement(instance: Instance, by_job: tuple[tuple[int, ...], ...]) -> Placement:
    """Give out the workers of every type in order of the file."""
    remaining = {kind: iter(indices) for kind, indices in instance.types.items()}
    return Placement(
        {
            job.id: [
                instance.workers[next(remaining[kind])].id
                for kind, count in zip(instance.types, counts, strict=True)
                for _ in range(count)
            ]
            for job, counts in zip(instance.jobs, by_job, strict=True)
        }
    )


_BANDWIDTHS = values(RANGES["workers[].bandwidth_bytes_per_s"])
_RATES, _ITERATIONS, _BATCHES, _BYTES = (
    values(RANGES[f"jobs[].{name}"]) for name in ("samples_per_s{}", "iterations", "batch_samples", "gradient_bytes")
)


@st.composite
def matching_placement_instances(
    draw: st.DrawFn,
    *,
    max_jobs: int = 3,
    max_workers: int = 6,
    max_types: int = 4,
    feasible: bool = False,
    exchange: bool | None = None,
    sizes: bool = True,
    objectives: Sequence[Mapping[str, object]] = ({},),
) -> Instance:
    """Instances of matching_placement of every awkward kind.

    Parameters
    ----------
    max_jobs, max_workers, max_types
        The most of each; up to one more type may have rates but no workers.
    feasible
        Only such; otherwise mostly, else jobs that need more workers than can serve them.
    exchange
        Whether jobs have bytes to all-reduce; None: either.
    sizes
        Whether jobs may have a smallest size above 1 and a largest.
    objectives
        The fields that say what is optimised: one of these.
    """
    aim = draw(st.sampled_from(objectives))
    if not 1 <= max_jobs <= max_workers or max_types < 1:
        raise ValueError("max_jobs must be from 1 to max_workers, and max_types at least 1")
    number = draw(st.integers(1, max_jobs))
    types = [f"g{index}" for index in range(draw(st.integers(1, max_types)))]
    # Sometimes fewer workers than jobs: then there is no solution.
    few = not feasible and number > 1 and draw(st.integers(0, 15)) == 0
    size = draw(st.one_of(st.just(number), st.integers(number, max_workers), st.just(max_workers)))
    # Types of one bandwidth make ties; unequal ones make the slowest link count.
    alike = draw(st.booleans())
    bandwidths = [draw(_BANDWIDTHS)] * len(types) if alike else [draw(_BANDWIDTHS) for _ in types]
    kinds = draw(st.lists(st.integers(0, len(types) - 1), min_size=size, max_size=size))[: number - 1 if few else size]
    workers = [
        {"id": f"w{index}", "type": types[kind], "bandwidth_bytes_per_s": bandwidths[kind]}
        for index, kind in enumerate(kinds)
    ]
    job = _jobs(types, max_workers, exchange, sizes)
    jobs = several(draw, job, number)
    instance = _instance(workers, jobs, aim)
    # Most instances are to have a solution: every job can then run on every type.
    if not few and infeasible(instance) and (feasible or draw(st.integers(0, 4)) > 0):
        return _instance(workers, [_served_by_all(each, types) for each in jobs], aim)
    return instance


def _instance(workers: list[Data], jobs: list[Data], aim: Mapping[str, Any]) -> Instance:
    return Instance(name="drawn", workers=workers, jobs=named(jobs), **aim)


def _served_by_all(job: Data, types: list[str]) -> Data:
    """Return the job changed so that any single worker can serve it."""
    return job | {"min_workers": 1, "samples_per_s": dict.fromkeys(types, 1.0) | job["samples_per_s"]}


@st.composite
def _jobs(draw: st.DrawFn, types: list[str], max_workers: int, exchange: bool | None, sizes: bool) -> Data:
    job: Data = {
        "iterations": draw(_ITERATIONS),
        "batch_samples": draw(_BATCHES),
        "gradient_bytes": 0.0,
    }
    if exchange is not False and (exchange or draw(st.integers(0, 3)) > 0):
        job["gradient_bytes"] = draw(_BYTES)
    # A type that no worker has must not matter.
    rated = types + ["nowhere"] * draw(st.booleans())
    if draw(st.booleans()):
        rated = draw(st.lists(st.sampled_from(rated), min_size=1, unique=True))
    job["samples_per_s"] = {kind: draw(_RATES) for kind in rated}
    if sizes and draw(st.integers(0, 3)) == 0:
        job["min_workers"] = draw(whole_numbers(RANGES["jobs[].min_workers"]))
    if sizes and draw(st.integers(0, 2)) == 0:
        job["max_workers"] = draw(st.integers(job.get("min_workers", 1), max_workers))
    return job


FAIR: tuple[dict[str, object], ...] = (
    {"objective": "max_rho"},
    *({"objective": "alpha_fair", "alpha": alpha} for alpha in RANGES["alpha"].ties),
)
"""Objectives other than the mean."""
_REFUSED = {"minlp": FAIR, "relaxation": FAIR, "assignment": FAIR[1:], "lagrange": FAIR[:1]}
"""Methods that do not serve some objectives."""


def _refuses(method: str, instance: Instance) -> bool:
    refused = instance.objective in {aim["objective"] for aim in _REFUSED.get(method, ())}
    return refused and infeasible(instance) is None


CASE = Case(
    instances=partial(matching_placement_instances, objectives=({}, {}, *FAIR)),
    brute_force=brute_force_placement,
    refuses=_refuses,
)
