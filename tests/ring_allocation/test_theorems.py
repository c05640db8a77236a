"""The theorems of formulations.md and the promises of heuristics, each as a property with its assumptions as the strategy."""

import math
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlsched import ring_allocation
from dlsched.allocation.cost_table import largest_hull_step
from dlsched.core.status import TerminationStatus
from dlsched.ring_allocation import Instance, doubling, hull, marginal, objective, solve
from dlsched.ring_allocation.costs import cost_table
from dlsched.ring_allocation.heuristics import (
    DOUBLING,
    HULL,
    MARGINAL,
    convex,
    doubling_loss,
    factor,
    falling_doublings,
)
from dlsched.ring_allocation.methods import METHODS
from dlsched.testing import brute_force, convex_instances, doubling_instances, ring_allocation_instances

from .jobs import build

SETTINGS = settings(max_examples=20, derandomize=True, deadline=None, database=None)
HEURISTICS = ("doubling", "marginal", "fixed", "equal", "hull")


def changed(instance, jobs=None, gpus=None):
    """The instance with other jobs (as dictionaries) or another number of GPUs."""
    data = instance.as_data()
    del data["format"]
    return Instance(**(data | ({} if jobs is None else {"jobs": jobs}) | ({} if gpus is None else {"gpus": gpus})))


@SETTINGS
@given(ring_allocation_instances(feasible=True))
def test_t2_hull_is_within_one_step(instance):
    """T2: hull <= LP bound + the largest single hull step (LP: over the counts that fit)."""
    value = objective(instance, hull(instance))
    optimum, _ = brute_force(instance)
    assert value <= optimum + largest_hull_step(cost_table(instance)) + 1e-9 * max(1.0, value)
    assert HULL.holds_for(instance)


@SETTINGS
@given(convex_instances())
def test_t3_marginal_and_hull_are_optimal_on_convex_costs(instance):
    """T3 (Fox 1966): convex costs on consecutive counts, whole numbers so that sums are exact."""
    assert convex(instance)
    optimum, _ = brute_force(instance)
    for heuristic, promise in ((marginal, MARGINAL), (hull, HULL)):
        assert objective(instance, heuristic(instance)) == optimum
        assert promise.holds_for(instance)
        assert promise.worst(instance, optimum) <= optimum * (1 + 1e-8)


@SETTINGS
@given(doubling_instances())
def test_t4_doubling_loses_at_most_one_step(instance):
    """T4: falling savings per added GPU on powers of two: at most the first doubling that did not fit is lost."""
    assert falling_doublings(instance)
    value, (optimum, _) = objective(instance, doubling(instance)), brute_force(instance)
    assert optimum <= value <= optimum + doubling_loss(instance)
    assert value <= DOUBLING.worst(instance, optimum) <= optimum + doubling_loss(instance)


@SETTINGS
@given(ring_allocation_instances(), st.integers(1, 10))
def test_t6_more_gpus_never_hurt(instance, more):
    """T6: the optimum does not rise with C, and a feasible instance stays so."""
    smaller, larger = solve(instance), solve(changed(instance, gpus=instance.gpus + more))
    if smaller.objective is not None:
        assert larger.status is TerminationStatus.OPTIMAL
        assert larger.objective <= smaller.objective * (1 + 1e-12)


@SETTINGS
@given(ring_allocation_instances(), st.randoms(use_true_random=False))
def test_t6_the_order_of_jobs_does_not_matter(instance, random):
    """Relabelling: shuffled jobs under other names have the same optimum and the same bound."""
    jobs = list(instance.as_data()["jobs"])
    random.shuffle(jobs)
    shuffled = changed(instance, jobs=[job | {"id": f"other {index}"} for index, job in enumerate(jobs)])
    first, second = solve(instance), solve(shuffled)
    assert first.status == second.status
    if first.objective is not None:
        assert second.objective == pytest.approx(first.objective, rel=1e-12, abs=1e-12)
        assert second.certificate.value == pytest.approx(first.certificate.value, rel=1e-9, abs=1e-9)


@SETTINGS
@given(ring_allocation_instances(laws=False), st.sampled_from([-20, -3, 1, 10]))
def test_t6_the_unit_of_time_does_not_matter(instance, power):
    """Times and restarts times a power of two: the same allocations, objectives and bounds times that power."""
    unit = 2.0**power
    jobs = [
        job
        | {"epoch_time_s": {w: t * unit for w, t in job["epoch_time_s"].items()}}
        | ({"restart_s": job["restart_s"] * unit} if "restart_s" in job else {})
        for job in instance.as_data()["jobs"]
    ]
    scaled = changed(instance, jobs=jobs)
    for method in ("exact", *HEURISTICS):
        first, second = solve(instance, method=method), solve(scaled, method=method)
        assert first.status == second.status
        if first.objective is not None:
            assert second.objective == first.objective * unit
            assert second.solution == first.solution


@SETTINGS
@given(ring_allocation_instances(laws=False, restarts=False), st.sampled_from([2, 4, 1024]))
def test_t6_the_unit_of_gpus_does_not_matter(instance, factor):
    """All counts and the capacity times a factor: the same choices, the same objective."""
    jobs = [
        job | {"epoch_time_s": {str(int(w) * factor): t for w, t in job["epoch_time_s"].items()}}
        for job in instance.as_data()["jobs"]
    ]
    first, second = solve(instance), solve(changed(instance, jobs=jobs, gpus=instance.gpus * factor))
    assert first.status == second.status
    if first.objective is not None:
        assert second.objective == pytest.approx(first.objective, rel=1e-12)


@SETTINGS
@given(ring_allocation_instances(feasible=True, restarts=False), st.floats(0, 1e4))
def test_running_jobs_are_never_worse_off(instance, restart_s):
    """When jobs already run on a feasible allocation, the optimum is between that without restarts and staying put."""
    running = hull(instance)
    fields = {name: {"current_gpus": count, "restart_s": restart_s} for name, count in running.gpus.items()}
    optimum = solve(changed(instance, jobs=[job | fields[job["id"]] for job in instance.as_data()["jobs"]])).objective
    slack = 1e-9 * max(1.0, optimum)
    assert solve(instance).objective - slack <= optimum <= objective(instance, running) + slack


MANY = settings(max_examples=60, derandomize=True, deadline=None, database=None)


@st.composite
def tables(draw, counts, falling):
    """Whole times that do not fall faster than 1 / count; falling: nor is a saving per added GPU above the one before."""
    times, rate = [draw(st.sampled_from([24.0, 60.0, 120.0]))], math.inf
    for before, count in pairwise(counts):
        most = times[-1] * (count - before) / count
        saved = min(most, rate * (count - before)) if falling else most
        saved = float(draw(st.sampled_from([0, math.floor(saved), math.floor(saved / 2)])))
        times.append(times[-1] - saved)
        rate = saved / (count - before)
    return {str(count): time for count, time in zip(counts, times, strict=True)}


@st.composite
def instances(draw):
    """Jobs on powers of two or on consecutive counts, some with nothing left."""
    powers, falling = draw(st.booleans()), draw(st.booleans())
    jobs = []
    for index in range(draw(st.integers(1, 4))):
        longest = draw(st.integers(1, 4 if powers else 9))
        counts = [2**power for power in range(longest)] if powers else list(range(1, longest + 1))
        epochs = draw(st.sampled_from([0.0, 1.0, 1.0, 1.0]))
        jobs.append({"id": f"j{index}", "epochs": epochs, "epoch_time_s": draw(tables(counts, falling))})
    return Instance(name="drawn", gpus=draw(st.integers(len(jobs), 16)), jobs=jobs)


@MANY
@pytest.mark.parametrize("method", HEURISTICS)
@given(instance=instances())
def test_factors(method, instance):
    """Every one of the promises is made, and kept."""
    run = getattr(ring_allocation, method)
    most, found, (optimum, _) = factor(method, instance), run(instance), brute_force(instance)
    assert METHODS[method].guarantee.holds_for(instance)
    assert 1 <= most < math.inf
    if found is not None:
        assert objective(instance, found) <= most * optimum * (1 + 1e-9)
        assert objective(instance, found) <= METHODS[method].guarantee.worst(instance, optimum) + 1e-9


def test_nothing_is_promised_of_super_linear_speed():
    """Four GPUs are a hundred times as fast as two, which are as fast as one: no factor, except the widest step of the hull."""
    instance = build(4, {1: 100.0, 2: 100.0, 4: 1.0})
    kept = {name: METHODS[name].guarantee.holds_for(instance) for name in HEURISTICS}
    assert kept == {"doubling": False, "marginal": False, "hull": True, "equal": False, "fixed": False}
    assert factor("hull", instance) == 3
