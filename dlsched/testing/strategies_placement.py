"""Hypothesis strategies of matching_placement: instances with what breaks placements, small enough for brute force.

Ties, whole numbers and powers of two, identical jobs, identical workers, types that cannot serve a job, rates for types
that no worker has, jobs that compete for one worker, one worker a job, smallest sizes above 1, largest sizes, nothing to
exchange, and types with a bandwidth that is best left idle.
"""

from typing import Any

from hypothesis import strategies as st

from dlsched.matching_placement.feasibility import infeasible
from dlsched.matching_placement.instance import Instance

Data = dict[str, Any]

_ODD = st.floats(0.5, 60, allow_subnormal=False).map(lambda value: float(f"{value:.6g}"))
_RATES = st.one_of(st.sampled_from([1.0, 2.0, 3.0, 4.0]), st.sampled_from([0.5, 1.0, 8.0, 100.0]), _ODD)
_BANDWIDTHS = st.one_of(st.sampled_from([4.0, 4.0, 8.0]), st.sampled_from([0.125, 1.0, 64.0]), _ODD)


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
    """
    if not 1 <= max_jobs <= max_workers or max_types < 1:
        raise ValueError("max_jobs must be from 1 to max_workers, and max_types at least 1")
    number = draw(st.integers(1, max_jobs))
    types = [f"g{place}" for place in range(draw(st.integers(1, max_types)))]
    few = not feasible and number > 1 and draw(st.integers(0, 15)) == 0
    size = draw(st.one_of(st.just(number), st.integers(number, max_workers), st.just(max_workers)))
    alike = draw(st.booleans())
    bandwidths = [draw(_BANDWIDTHS)] * len(types) if alike else [draw(_BANDWIDTHS) for _ in types]
    kinds = draw(st.lists(st.integers(0, len(types) - 1), min_size=size, max_size=size))[: number - 1 if few else size]
    workers = [
        {"id": f"w{place}", "type": types[kind], "bandwidth_bytes_per_s": bandwidths[kind]}
        for place, kind in enumerate(kinds)
    ]
    job = _jobs(types, max_workers, exchange, sizes)
    identical = draw(st.integers(0, 5)) == 0
    jobs = [draw(job)] * number if identical else [draw(job) for _ in range(number)]
    instance = _instance(workers, jobs)
    if not few and infeasible(instance) and (feasible or draw(st.integers(0, 4)) > 0):
        return _instance(workers, [_served_by_all(each, types) for each in jobs])
    return instance


def _instance(workers: list[Data], jobs: list[Data]) -> Instance:
    return Instance(
        name="drawn", workers=workers, jobs=[{"id": f"j{place}", **each} for place, each in enumerate(jobs)]
    )


def _served_by_all(job: Data, types: list[str]) -> Data:
    """The job, content with any one worker."""
    return job | {"min_workers": 1, "samples_per_s": dict.fromkeys(types, 1.0) | job["samples_per_s"]}


@st.composite
def _jobs(draw: st.DrawFn, types: list[str], max_workers: int, exchange: bool | None, sizes: bool) -> Data:
    job: Data = {
        "iterations": draw(st.one_of(st.sampled_from([1.0, 2.0, 10.0]), _ODD)),
        "batch_samples": draw(st.one_of(st.sampled_from([8.0, 12.0, 64.0]), _ODD)),
        "gradient_bytes": 0.0,
    }
    if exchange is not False and (exchange or draw(st.integers(0, 3)) > 0):
        job["gradient_bytes"] = draw(st.one_of(st.sampled_from([1.0, 8.0, 32.0]), _ODD))
    rated = types + ["nowhere"] * draw(st.booleans())
    if draw(st.booleans()):
        rated = draw(st.lists(st.sampled_from(rated), min_size=1, unique=True))
    job["samples_per_s"] = {kind: draw(_RATES) for kind in rated}
    if sizes and draw(st.integers(0, 3)) == 0:
        job["min_workers"] = draw(st.integers(1, 3))
    if sizes and draw(st.integers(0, 2)) == 0:
        job["max_workers"] = draw(st.integers(job.get("min_workers", 1), max_workers))
    return job
