"""Limits of time and memory, vast numbers, and magnitudes: something is held, refused with the reason, or as exact as ever."""

import numpy as np
import pytest

from dlsched.certificates import DualsCertificate
from dlsched.core.errors import UsageError
from dlsched.core.status import TerminationStatus
from dlsched.ring_embedding import aggregated, relaxation, solve
from dlsched.ring_embedding.certificate import verify
from dlsched.ring_embedding.checker import check
from dlsched.ring_embedding.heuristics.baselines import quick
from dlsched.ring_embedding.heuristics.plan import Plan
from dlsched.ring_embedding.instance import Instance
from dlsched.ring_embedding.methods import METHODS
from dlsched.ring_embedding.rings import network
from dlsched.ring_embedding.rings.network import Network
from dlsched.ring_embedding.rings.placing import Slot
from dlsched.testing.ring_embedding import brute_force_ring

from .small_networks import Asked, racks, switches
from .test_brute_force import job, made


def test_what_is_quick_by_hand():
    """Two servers of 3 and 1, two jobs of up to 2 workers in 2 slots: a, worth twice as much and 6 at most, then b beside it."""
    worth_two = {"kind": "capped", "slope": 2.0, "cap": 6.0}
    instance = made([3, 1], [], job("b", workers=2), job("a", workers=2, utility=worth_two), slots=2)
    assert quick(instance).as_data()["slots"] == [
        {
            "slot": 1,
            "rings": {"b": {"workers": {"s0": 1}, "order": ["s0"]}, "a": {"workers": {"s0": 2}, "order": ["s0"]}},
        },
        {"slot": 2, "rings": {"b": {"workers": {"s0": 1}, "order": ["s0"]}}},
    ]


@pytest.mark.parametrize("made_of", [racks, switches])
def test_what_is_quick_is_feasible(made_of):
    for seed in range(6):
        instance = made_of(9300 + seed, servers=5, count=6, slots=4)
        assert check(instance, quick(instance)) == []


def test_a_billion_slots():
    """Methods that look at each refuse them, and say how many there may be; one pool bounds them: 5 worker-slots of budget."""
    instance = made([2], [], job(budget={"gpu": 5.0}), slots=10**9)
    for method in ("exact", "plan", "density", "milp", "circuit"):
        with pytest.raises(UsageError, match="slots: found 1000000000 from the first arrival on, allowed: up to"):
            solve(instance, method=method)
    assert aggregated(instance).value == pytest.approx(5, rel=1e-8)


@pytest.mark.parametrize("workers", [20_000_000, 2**53])
def test_millions_of_workers(workers):
    """Tables of their utility would take gigabytes."""
    instance = made([workers], [], job(workers=workers))
    for method in METHODS:
        with pytest.raises(UsageError, match="worker-slots or more in all, allowed: up to 8388608"):
            solve(instance, method=method)


def test_memory(monkeypatch):
    """What would need too much is not begun: the answer of a greedy and the bound of one pool are held."""
    instance = made([1, 1], [("s0", "s1", 1.0)], job("a", workers=2), job("b", workers=2), slots=3)
    monkeypatch.setattr(relaxation, "LARGEST", 1)
    result = solve(instance, method="horizon")
    assert (result.status, result.bound) == (TerminationStatus.MEMORY_LIMIT, None)
    monkeypatch.undo()
    monkeypatch.setattr(network, "LARGEST_PRICES", 1)
    result = solve(instance, method="columns")
    assert result.status is TerminationStatus.MEMORY_LIMIT
    assert result.bound >= brute_force_ring(instance)[0]


def test_classes_are_one_where_they_would_be_too_many(monkeypatch):
    """Two jobs of 2 GPUs and half a disk, which one of two servers of 2 GPUs has: one runs; of all in one pool, both."""
    demand = {"gpu": 2.0, "disk": 0.5}
    instance = Instance(
        name="two",
        slots=1,
        nodes=[{"id": "s0", "capacity": {"gpu": 2.0}}, {"id": "s1", "capacity": {"gpu": 2.0, "disk": 1.0}}],
        links=[],
        jobs=[job("a", workers=1, demand=demand), job("b", workers=1, demand=demand)],
    )
    assert relaxation.horizon(instance).value == pytest.approx(1, rel=1e-8)
    monkeypatch.setattr(relaxation, "LARGEST", 2)
    assert relaxation.horizon(instance).value == pytest.approx(2, rel=1e-8)


@pytest.mark.parametrize("formulation", ["aggregated", "horizon", "columns", "slot"])
@pytest.mark.parametrize("price", [1e308, 1.7e308])
def test_prices_beyond_all_numbers_are_refused_in_words(formulation, price):
    """Of a pool of 4 each."""
    instance = made([4], [], job(workers=4))
    row = {"aggregated": "pool_gpu", "horizon": "total_a", "columns": "total_a", "slot": "capacity_1_gpu_s0"}[
        formulation
    ]
    with pytest.raises(ValueError, match="so high that"):
        verify(instance, DualsCertificate(formulation, {row: price}, 1.0))


def test_utilities_far_below_one_are_told_apart():
    """Heights of 3e-8 and nearly flat: what is gained is a thousandth of that, and still proven."""
    flat = {"kind": "sigmoid", "height": 3e-8, "steepness": 1e-3, "midpoint": 2.0}
    steep = {"kind": "sigmoid", "height": 5e-8, "steepness": 2.0, "midpoint": 1.5}
    jobs = [job("a", utility=flat), job("b", utility=steep), job("c", utility=steep)]
    ends = [("s0", "s1", 1.0), ("s1", "s2", 1.0), ("s2", "s0", 1.0)]
    for instance in (made([2, 1, 1], ends, *jobs, paths=["s0 s1", "s1 s2"]), made([2, 1, 1], ends[:2], *jobs)):
        best = brute_force_ring(instance)[0]
        for method in ("exact", "milp", "arc", "circuit"):
            result = solve(instance, method=method)
            assert result.status is TerminationStatus.OPTIMAL, (method, result.message)
            assert result.objective == pytest.approx(best, rel=1e-9)
            assert result.bound == pytest.approx(best, rel=1e-6)


def test_a_jump_has_lines_of_every_steepness():
    """From 1e-280 to 1 in three worker-slots: HiGHS takes no such numbers together; 1 + 2 are worth 3 and the log of 3."""
    jump = {"kind": "sigmoid", "height": 3.0, "steepness": 2000.0, "midpoint": 0.75}
    jobs = [job("a", utility=jump, rate=0.5, demand={"gpu": 0.5}), job("b", utility={"kind": "log", "scale": 1.0})]
    instance = made([1, 1], [("s0", "s1", 9.0)], *jobs)
    assert relaxation.horizon(instance).value == pytest.approx(3 + np.log(2), rel=1e-6)
    assert solve(instance).objective == brute_force_ring(instance)[0]


def test_a_plan_never_passes_what_a_job_can_use():
    """However much a solver's tolerances let it have: 3 workers a slot, not 8."""
    instance = made([9], [], job(workers=3), slots=2)
    plan = Plan(Network(instance))
    plan.follow({(0, 0): 16.0}, [16])
    assert [slot.count(0) for slot in plan.slots.values()] == [3, 3]


def test_a_ring_that_does_not_fit_changes_no_digit():
    """Of 1e-3 B/s, by a ring of 1e9; and a search that is stopped leaves the ring where it was."""

    def stop():
        raise InterruptedError

    instance = made([1, 1], [("s0", "s1", 1e-3)], job("a", load=1e9), job("b", workers=2, load=1e-4))
    network = Network(instance)
    slot = Slot(network)
    (order,) = network.orders([0, 1])
    links = network.crossed(order)
    assert not slot.fit(0, ({0: 1, 1: 1}, order, links))
    assert (slot.spare == network.bandwidth).all() and (slot.free == network.capacity).all() and not slot.rings
    assert slot.fit(1, ({0: 1, 1: 1}, order, links))
    slot.network = Network(instance, Asked(stop))
    with pytest.raises(InterruptedError):
        slot.resize(1, 1)
    assert slot.count(1) == 2
    assert np.all(slot.free < network.capacity)
