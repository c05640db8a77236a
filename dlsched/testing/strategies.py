"""Hypothesis strategies: instances with what breaks heuristics, and those that fulfil a theorem's assumptions.

Ties, whole numbers, times that rise and fall, one count only, counts without 1, counts larger than the cluster, laws
without one of their terms, jobs with no epochs left, identical jobs, current counts that are not allowed, one GPU a
job, capacities that just fit or just do not.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st

from dlsched.allocation.cost_table import CostTable
from dlsched.elastic_stream import Instance as StreamInstance
from dlsched.ring_allocation import Instance
from dlsched.testing.strategies_async import async_sgd_instances
from dlsched.testing.strategies_placement import matching_placement_instances
from dlsched.testing.strategies_ring import ring_embedding_instances
from dlsched.testing.strategies_srpt import srpt_mapping_instances

Data = dict[str, Any]


def _numbers(low: int, high: int, whole: bool | None) -> st.SearchStrategy[float]:
    """Numbers with many ties when whole; floats in between else; None: either."""
    integers = st.integers(low, high).map(float)
    floats = st.floats(low, high, allow_subnormal=False).map(lambda value: float(f"{value:.6g}"))
    if whole is not None:
        return integers if whole else floats
    few = st.integers(low, min(high, low + 3)).map(float)
    return st.one_of(few, integers, floats)


@st.composite
def _counts(draw: st.DrawFn, most: int) -> list[int]:
    kind = draw(st.sampled_from(["powers", "consecutive", "any", "single"]))
    if kind == "powers":
        return [2**power for power in range(draw(st.integers(0, most.bit_length() - 1)) + 1)]
    if kind == "consecutive":
        first = draw(st.integers(1, min(3, most)))
        return list(range(first, draw(st.integers(first, most)) + 1))
    size = 1 if kind == "single" else 6
    return sorted(draw(st.sets(st.integers(1, most), min_size=1, max_size=size)))


@st.composite
def _tables(draw: st.DrawFn, most: int, whole: bool | None) -> dict[str, float]:
    """Times that mean nothing, or a share of the work, an overhead for each GPU and some noise."""
    counts = draw(_counts(most))
    if draw(st.booleans()):
        times = draw(st.lists(_numbers(1, 400, whole), min_size=len(counts), max_size=len(counts)))
    else:
        work, overhead = draw(_numbers(1, 400, whole)), draw(_numbers(0, 9, whole))
        times = [work / w + overhead * (w - 1) + draw(st.sampled_from([0.0, 0.0, 5.0])) for w in counts]
        times = [max(1.0, float(round(time))) for time in times] if whole else times
    return {str(count): time for count, time in zip(counts, times, strict=True)}


@st.composite
def _laws(draw: st.DrawFn, whole: bool | None) -> Data:
    """Laws of every shape, terms missing included; tau(1) > 0."""
    term = st.one_of(st.just(0.0), _numbers(1, 9, whole))
    theta = [draw(term), draw(term), draw(term), draw(term)]
    if theta[0] + theta[3] == 0:
        theta[draw(st.sampled_from([0, 3]))] = 1.0
    return {"theta": theta, "samples": draw(_numbers(1, 300, whole)), "model_bytes": draw(_numbers(0, 40, whole))}


@st.composite
def _jobs(draw: st.DrawFn, most: int, laws: bool, restarts: bool, whole: bool | None) -> Data:
    job: Data = {"epochs": draw(st.one_of(st.sampled_from([0.0, 1.0]), _numbers(1, 200, whole)))}
    if laws and not whole and draw(st.integers(0, 3)) == 0:
        job["speed_law"] = draw(_laws(whole))
        if draw(st.booleans()):
            job["max_gpus"] = draw(st.integers(1, most))
        allowed = list(range(1, most + 1))
    else:
        job["epoch_time_s"] = draw(_tables(most, whole))
        allowed = list(map(int, job["epoch_time_s"]))
    if draw(st.integers(0, 2)) == 0:
        job["weight"] = draw(st.sampled_from([0.25, 0.5, 2.0, 3.0, 8.0] if whole is not True else [2.0, 3.0]))
    if restarts and draw(st.booleans()):
        job["current_gpus"] = draw(st.one_of(st.sampled_from(allowed), st.integers(1, 2 * most)))
        job["restart_s"] = draw(_numbers(0, 100, whole))
    return job


@st.composite
def ring_allocation_instances(
    draw: st.DrawFn,
    *,
    max_jobs: int = 6,
    max_gpus: int = 24,
    feasible: bool | None = None,
    laws: bool = True,
    restarts: bool = True,
    integer_costs: bool | None = None,
) -> Instance:
    """Instances of ring_allocation of every awkward kind.

    Parameters
    ----------
    max_jobs, max_gpus
        Most jobs, and the largest capacity (tables may allow up to a third more).
    feasible
        True or False: only such; None: both, mostly feasible.
    laws, restarts
        Whether speeds may be laws, and whether changing the current count may cost time.
    integer_costs
        True: all costs are whole numbers, so that sums are exact and ties many (no laws); False: floats; None: both.
    """
    if max_jobs < 1 or max_gpus < 2:
        raise ValueError("max_jobs must be at least 1 and max_gpus at least 2")
    number = draw(st.integers(1, min(max_jobs, max_gpus)))
    most = max_gpus + max_gpus // 3
    kind = _jobs(most, laws, restarts, integer_costs)
    identical = draw(st.integers(0, 5)) == 0
    jobs = [draw(kind)] * number if identical else [draw(kind) for _ in range(number)]
    smallest = [1 if "speed_law" in job else min(map(int, job["epoch_time_s"])) for job in jobs]
    if feasible is False and sum(smallest) < 2:
        jobs[0] = _with_table(jobs[0], {"2": 1.0})
        smallest[0] = 2
    for place in range(number):  # what must fit is made to fit
        if feasible is not False and sum(smallest) > max_gpus:
            jobs[place], smallest[place] = _with_table(jobs[place], {"1": 3.0, "2": 1.0}), 1
    least = sum(smallest)
    if feasible is False or (feasible is None and least > 1 and draw(st.integers(0, 7)) == 0):
        gpus = draw(st.integers(1, min(least - 1, max_gpus)))
    else:
        gpus = draw(st.one_of(st.just(least), st.integers(least, max_gpus), st.just(max(least, number))))
    return Instance(name="drawn", gpus=gpus, jobs=[{"id": f"j{place}", **job} for place, job in enumerate(jobs)])


def _with_table(job: Data, table: dict[str, float]) -> Data:
    kept = {key: value for key, value in job.items() if key not in ("speed_law", "max_gpus")}
    return kept | {"epoch_time_s": table}


@st.composite
def convex_instances(draw: st.DrawFn, *, max_jobs: int = 5, max_gpus: int = 16) -> Instance:
    """Feasible instances of Fox's theorem: consecutive counts, costs exactly convex on them (whole numbers)."""
    jobs = []
    for place in range(draw(st.integers(1, min(max_jobs, max_gpus // 3)))):
        first = draw(st.integers(1, 3))
        savings = sorted(draw(st.lists(st.integers(-5, 30), max_size=8)), reverse=True)
        jobs.append(_falling(draw, place, range(first, first + len(savings) + 1), savings))
    return _fitting(draw, jobs, max_gpus)


@st.composite
def doubling_instances(draw: st.DrawFn, *, max_jobs: int = 5, max_gpus: int = 24) -> Instance:
    """Feasible instances where doubling has a guarantee: W_j = {1, 2, 4, ...}, falling saving per added GPU."""
    jobs = []
    for place in range(draw(st.integers(1, min(max_jobs, max_gpus)))):
        rates = sorted(draw(st.sets(st.integers(-3, 30), max_size=5)), reverse=True)
        counts = [2**power for power in range(len(rates) + 1)]
        jobs.append(_falling(draw, place, counts, [rate * count for rate, count in zip(rates, counts, strict=False)]))
    return _fitting(draw, jobs, max_gpus)


def _falling(draw: st.DrawFn, place: int, counts: Any, savings: list[int]) -> Data:
    """Table of times that fall by the savings and end, at their lowest, at 1 or more."""
    falls = np.cumsum([0, *savings]).tolist()
    start = max(falls) + draw(st.integers(1, 20))
    times = {str(count): float(start - fall) for count, fall in zip(counts, falls, strict=True)}
    epochs, weight = float(draw(st.integers(1, 9))), draw(st.sampled_from([0.5, 1.0, 4.0]))
    return {"id": f"j{place}", "epochs": epochs, "epoch_time_s": times, "weight": weight}


def _fitting(draw: st.DrawFn, jobs: list[Data], max_gpus: int) -> Instance:
    least = sum(min(map(int, job["epoch_time_s"])) for job in jobs)
    return Instance(name="drawn", gpus=draw(st.integers(least, max(least, max_gpus))), jobs=jobs)


@st.composite
def cost_tables(
    draw: st.DrawFn, *, max_jobs: int = 5, max_pairs: int = 6, max_count: int = 12, whole: bool | None = None
) -> CostTable:
    """Cost tables for ``dlsched.algorithms``: any counts, costs of either sign, ties, identical jobs.

    ``whole``: True for whole-numbered costs, False for floats, None for both.
    """
    cost = _numbers(-9, 60, whole)
    rows = [
        draw(st.dictionaries(st.integers(1, max_count), cost, min_size=1, max_size=max_pairs))
        for _ in range(draw(st.integers(1, max_jobs)))
    ]
    if draw(st.integers(0, 4)) == 0:
        rows = rows[:1] * len(rows)
    return CostTable.from_rows(rows)


@st.composite
def elastic_stream_instances(
    draw: st.DrawFn, *, max_jobs: int = 3, max_units: int = 3, ticked: bool = True, feasible: bool | None = None
) -> StreamInstance:
    """Streams of every awkward kind; with ticks small enough for brute force.

    All numbers are whole or have few binary digits, so that ties are real and sums exact: arrivals together and on
    ticks, work that just fills slots, pauses as long as ticks allow, jobs without work, early ends, counts that are
    slower than smaller ones, counts beyond the cluster, identical jobs.

    Parameters
    ----------
    max_jobs, max_units
        Most jobs and units.
    ticked
        Whether decisions are made at ticks only; restarts are shorter then.
    feasible
        True: only such; None: mostly, else a job larger than the cluster.
    """
    units = draw(st.integers(1, max_units))
    tick = float(draw(st.sampled_from([8, 10, 16])))
    number = draw(st.integers(1, max_jobs))
    kind = _stream_jobs(units, tick, ticked)
    identical = draw(st.integers(0, 5)) == 0
    jobs = [draw(kind)] * number if identical else [draw(kind) for _ in range(number)]
    if feasible is None and draw(st.integers(0, 11)) == 0:
        jobs[-1] = _with_table(jobs[-1], {str(units + 1): 4.0}) | {"epochs": 1.0}
    arrivals = st.one_of(
        st.just(0.0), st.integers(0, int(4 * tick)).map(float), st.integers(0, 4).map(lambda n: n * tick)
    )
    return StreamInstance(
        name="drawn",
        units=units,
        tick_s=tick if ticked else None,
        jobs=[{"id": f"j{place}", "arrival_s": draw(arrivals), **job} for place, job in enumerate(jobs)],
    )


@st.composite
def _stream_jobs(draw: st.DrawFn, units: int, tick: float, ticked: bool) -> Data:
    job: Data = {"epochs": draw(st.sampled_from([0.0, 0.5, 1.0, 1.0, 2.0]))}
    if draw(st.integers(0, 4)) == 0:
        theta = [
            draw(st.sampled_from([0.0, 8.0, 20.0])),
            draw(st.sampled_from([0.0, 1.0, 4.0])),
            0.0,
            draw(st.sampled_from([1.0, 4.0])),
        ]
        job["speed_law"] = {"theta": theta, "samples": 1.0, "model_bytes": 0.0}
        if draw(st.booleans()):
            job["max_gpus"] = draw(st.integers(1, units + 1))
    else:
        counts = sorted(draw(st.sets(st.integers(1, units), min_size=1, max_size=3)))
        if draw(st.integers(0, 4)) == 0:
            counts.append(units + 1)
        job["epoch_time_s"] = {
            str(count): float(draw(st.sampled_from([2, 5, 8, 10, 12, 16, 24, 30, 45]))) for count in counts
        }
    restarts = [0.0, 1.0, 3.0, tick - 1.0] if ticked else [0.0, 1.0, 3.0, 20.0]
    job["restart_s"] = draw(st.sampled_from(restarts))
    if draw(st.integers(0, 3)) == 0:
        job["stops_at"] = draw(st.sampled_from([0.25, 0.5]))
        job["early_stop"] = [{"fraction": 0.5, "probability": 0.5}]
    return job


INSTANCES: dict[str, Callable[..., st.SearchStrategy[Any]]] = {
    "ring_allocation": ring_allocation_instances,
    "elastic_stream": elastic_stream_instances,
    "matching_placement": matching_placement_instances,
    "srpt_mapping": srpt_mapping_instances,
    "ring_embedding": ring_embedding_instances,
    "async_sgd": async_sgd_instances,
}
"""By family: the strategy of its instances, small enough for brute force."""
