"""ring_allocation for tests: instances with edge cases of heuristics and of the theorems, and optima by brute force.

Among them are counts without 1, counts larger than the cluster, laws without one of their terms, current counts that are not
allowed, and capacities that just fit or just do not.
"""

import math
from collections.abc import Iterable

import numpy as np
from hypothesis import strategies as st

from dlsched.ring_allocation import Allocation, Instance
from dlsched.ring_allocation.checker import check, job_cost, objective
from dlsched.ring_allocation.instance import RANGES
from dlsched.testing.cases import Case, Data, fitting, named, numbers, several

LARGEST = 1_000_000
"""Allocations that fit, beyond which ``brute_force_allocation`` refuses."""

_EPOCHS, _TIMES_S, _WEIGHTS, _RESTARTS_S = (
    RANGES[f"jobs[].{name}"] for name in ("epochs", "epoch_time_s{}", "weight", "restart_s")
)
_THETA, _SAMPLES, _BYTES = (RANGES[f"jobs[].speed_law.{name}"] for name in ("theta[]", "samples", "model_bytes"))

_MINLP_PAIRS = 30  # SCIP takes minutes for the non-linear program of four jobs of 16 counts


def brute_force_allocation(instance: Instance) -> tuple[float, Allocation] | None:
    """Return the least objective and the first allocation that attains it, or None when none is feasible.

    Tries every allocation within the capacity, in lexicographic order of the counts; it knows the checker only. Cost: some
    microseconds for each; a ``ValueError`` says that more than ``LARGEST`` fit.
    """
    ids = [job.id for job in instance.jobs]
    known: list[dict[int, float]] = [{} for _ in ids]
    best: tuple[float, tuple[int, ...]] | None = None
    # Every allocation that fits; costs of a job at a count are computed once.
    for tried, counts in enumerate(fitting([instance.counts(index) for index in range(len(ids))], instance.gpus)):
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
        True: only feasible instances; False: only infeasible ones; None: both, mostly feasible.
    laws, restarts
        Whether speeds may be laws, and whether changing the current count may cost time.
    integer_costs
        True: all costs are whole numbers, so that sums are exact and ties many (no laws); False: floats; None: both.
    """
    if max_jobs < 1 or max_gpus < 2:
        raise ValueError("max_jobs must be at least 1 and max_gpus at least 2")
    number = draw(st.integers(1, min(max_jobs, max_gpus)))
    jobs = several(draw, _jobs(max_gpus + max_gpus // 3, laws, restarts, integer_costs), number)
    smallest = [1 if "speed_law" in job else min(map(int, job["epoch_time_s"])) for job in jobs]
    if feasible is False and sum(smallest) < 2:
        jobs[0] = _with_table(jobs[0], {"2": 1.0})
        smallest[0] = 2
    for index in range(number):  # what must fit is made to fit
        if feasible is not False and sum(smallest) > max_gpus:
            jobs[index], smallest[index] = _with_table(jobs[index], {"1": 3.0, "2": 1.0}), 1
    least = sum(smallest)
    if feasible is False or (feasible is None and least > 1 and draw(st.integers(0, 7)) == 0):
        gpus = draw(st.integers(1, min(least - 1, max_gpus)))
    else:
        gpus = draw(st.one_of(st.just(least), st.integers(least, max_gpus), st.just(max(least, number))))
    return Instance(name="drawn", gpus=gpus, jobs=named(jobs))


@st.composite
def _jobs(draw: st.DrawFn, most: int, laws: bool, restarts: bool, whole: bool | None) -> Data:
    job: Data = {"epochs": draw(st.one_of(st.sampled_from(_EPOCHS.ties), numbers(*_EPOCHS.tested, whole)))}
    # A quarter of the jobs has a law of speed, whose counts are all up to the most.
    if laws and not whole and draw(st.integers(0, 3)) == 0:
        job["speed_law"] = draw(_laws(whole))
        if draw(st.booleans()):
            job["max_gpus"] = draw(st.integers(1, most))
        allowed = list(range(1, most + 1))
    else:
        job["epoch_time_s"] = draw(_tables(most, whole))
        allowed = list(map(int, job["epoch_time_s"]))
    if draw(st.integers(0, 2)) == 0:
        job["weight"] = draw(st.sampled_from(_WEIGHTS.ties if whole is True else _WEIGHTS.edges))
    # A running job may hold a count that it may not have again.
    if restarts and draw(st.booleans()):
        job["current_gpus"] = draw(st.one_of(st.sampled_from(allowed), st.integers(1, 2 * most)))
        job["restart_s"] = draw(numbers(*_RESTARTS_S.tested, whole))
    return job


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
        times = draw(st.lists(numbers(*_TIMES_S.tested, whole), min_size=len(counts), max_size=len(counts)))
    else:
        work, overhead = draw(numbers(*_TIMES_S.tested, whole)), draw(numbers(0, 9, whole))
        times = [work / w + overhead * (w - 1) + draw(st.sampled_from([0.0, 0.0, 5.0])) for w in counts]
        times = [max(1.0, float(round(time))) for time in times] if whole else times
    return {str(count): time for count, time in zip(counts, times, strict=True)}


@st.composite
def _laws(draw: st.DrawFn, whole: bool | None) -> Data:
    """Laws of every shape, terms missing included; tau(1) > 0."""
    term = st.one_of(st.just(*_THETA.ties), numbers(*_THETA.tested, whole))
    theta = [draw(term), draw(term), draw(term), draw(term)]
    if theta[0] + theta[3] == 0:
        theta[draw(st.sampled_from([0, 3]))] = 1.0
    samples, model_bytes = (draw(numbers(*each.tested, whole)) for each in (_SAMPLES, _BYTES))
    return {"theta": theta, "samples": samples, "model_bytes": model_bytes}


def _with_table(job: Data, table: dict[str, float]) -> Data:
    kept = {key: value for key, value in job.items() if key not in ("speed_law", "max_gpus")}
    return kept | {"epoch_time_s": table}


@st.composite
def convex_instances(draw: st.DrawFn, *, max_jobs: int = 5, max_gpus: int = 16) -> Instance:
    """Feasible instances of Fox's theorem: consecutive counts, costs exactly convex on them (whole numbers)."""
    jobs = []
    for _ in range(draw(st.integers(1, min(max_jobs, max_gpus // 3)))):
        first = draw(st.integers(1, 3))
        savings = sorted(draw(st.lists(st.integers(-5, 30), max_size=8)), reverse=True)
        jobs.append(_falling(draw, range(first, first + len(savings) + 1), savings))
    return _just_feasible(draw, jobs, max_gpus)


@st.composite
def doubling_instances(draw: st.DrawFn, *, max_jobs: int = 5, max_gpus: int = 24) -> Instance:
    """Feasible instances where doubling has a guarantee: W_j = {1, 2, 4, ...}, falling saving per added GPU."""
    jobs = []
    for _ in range(draw(st.integers(1, min(max_jobs, max_gpus)))):
        rates = sorted(draw(st.sets(st.integers(-3, 30), max_size=5)), reverse=True)
        counts = [2**power for power in range(len(rates) + 1)]
        jobs.append(_falling(draw, counts, [rate * count for rate, count in zip(rates, counts, strict=False)]))
    return _just_feasible(draw, jobs, max_gpus)


def _falling(draw: st.DrawFn, counts: Iterable[int], savings: list[int]) -> Data:
    """Table of times that fall by the savings and end, at their lowest, at 1 or more."""
    falls = np.cumsum([0, *savings]).tolist()
    start = max(falls) + draw(st.integers(1, 20))
    times = {str(count): float(start - fall) for count, fall in zip(counts, falls, strict=True)}
    epochs, weight = float(draw(st.integers(1, 9))), draw(st.sampled_from([0.5, 1.0, 4.0]))
    return {"epochs": epochs, "epoch_time_s": times, "weight": weight}


def _just_feasible(draw: st.DrawFn, jobs: list[Data], max_gpus: int) -> Instance:
    least = sum(min(map(int, job["epoch_time_s"])) for job in jobs)
    return Instance(name="drawn", gpus=draw(st.integers(least, max(least, max_gpus))), jobs=named(jobs))


def _too_hard(method: str, instance: Instance) -> bool:
    pairs = sum(min(len(instance.counts(index)), instance.gpus) for index in range(len(instance.jobs)))
    return method == "minlp" and pairs > _MINLP_PAIRS


CASE = Case(instances=ring_allocation_instances, brute_force=brute_force_allocation, too_hard=_too_hard)
