"""Promises without super-linear speed, held to drawn instances; ``tests/worst/test_closed_forms.py`` shows them met."""

import math
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlsched import ring_allocation
from dlsched.ring_allocation import METHODS, Instance, objective
from dlsched.ring_allocation.heuristics import doubling_factor, equal_factor, fixed_factor, hull_factor, marginal_factor
from dlsched.testing import brute_force

SETTINGS = settings(max_examples=60, derandomize=True, deadline=None, database=None)
FACTORS = {
    "doubling": doubling_factor,
    "marginal": marginal_factor,
    "hull": hull_factor,
    "equal": equal_factor,
    "fixed": fixed_factor,
}


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


@SETTINGS
@pytest.mark.parametrize("method", FACTORS)
@given(instance=instances())
def test_factors(method, instance):
    """Every one of the promises is made, and kept."""
    run = getattr(ring_allocation, method)
    factor, found, (optimum, _) = FACTORS[method](instance), run(instance), brute_force(instance)
    assert METHODS[method].guarantee.holds_for(instance)
    assert 1 <= factor < math.inf
    if found is not None:
        assert objective(instance, found) <= factor * optimum * (1 + 1e-9)
        assert objective(instance, found) <= METHODS[method].guarantee.worst(instance, optimum) + 1e-9


def test_nothing_is_promised_of_super_linear_speed():
    """Four GPUs are a hundred times as fast as two, which are as fast as one: no factor, except the widest step of the hull."""
    job = {"id": "a", "epochs": 1.0, "epoch_time_s": {1: 100.0, 2: 100.0, 4: 1.0}}
    instance = Instance(name="cliff", gpus=4, jobs=[job])
    kept = {name: METHODS[name].guarantee.holds_for(instance) for name in FACTORS}
    assert kept == {"doubling": False, "marginal": False, "hull": True, "equal": False, "fixed": False}
    assert hull_factor(instance) == 3
