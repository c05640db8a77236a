"""GADGET and the slot greedy: feasible, between nothing and the optimum, and the theorem where it applies."""

import sys

import numpy as np
import pytest

from dlsched.cluster.network import Node
from dlsched.cluster.utility import Capped, Sigmoid
from dlsched.ring_embedding.checker import check, objective, worker_slots, worth
from dlsched.ring_embedding.heuristics.slot_greedy import Progress, gadget, slot_greedy
from dlsched.ring_embedding.instance import Instance, Job
from dlsched.ring_embedding.rings.network import Network
from tests.ring_embedding.small_networks import Asked, best_slot, concave, racks, slots_of, switches

TINY = {"servers": 3, "count": 2, "slots": 2}


def optimum(instance):
    """The largest total utility, from all sums of worker counts that the slots allow."""
    network = Network(instance)
    reached = {(0,) * len(instance.jobs)}
    for slot in range(1, instance.slots + 1):
        sizes = {index: int(network.most[index]) for index, job in enumerate(instance.jobs) if job.arrival_slot <= slot}
        counts = set()
        for rings in slots_of(network, sizes):
            counts.add(tuple(sum(rings[p][0].values()) if p in rings else 0 for p in range(len(instance.jobs))))
        sums = {tuple(a + b for a, b in zip(held, more, strict=True)) for held in reached for more in counts}
        reached = {held for held in sums if all(a <= b for a, b in zip(held, network.total, strict=True))}
    return max(sum(worth(job, count) for job, count in zip(instance.jobs, held, strict=True)) for held in reached)


@pytest.mark.parametrize("made", [racks, switches])
@pytest.mark.parametrize("seed", range(10))
def test_gadget_is_feasible_and_below_the_optimum(made, seed):
    instance = made(700 + seed, **TINY)
    embedding = gadget(instance, np.random.default_rng(seed))
    assert check(instance, embedding) == []
    nothing = sum(worth(job, 0) for job in instance.jobs)
    assert nothing <= objective(instance, embedding) <= optimum(instance) * (1 + 1e-9)


@pytest.mark.parametrize("made", [racks, switches])
@pytest.mark.parametrize("seed", range(3))
def test_gadget_on_more_jobs_and_slots(made, seed):
    instance = made(800 + seed, servers=7, count=9, slots=6, most=4)
    embedding = gadget(instance, np.random.default_rng(seed))
    assert check(instance, embedding) == []
    assert gadget(instance, np.random.default_rng(seed)) == embedding


@pytest.mark.parametrize("made", [racks, switches])
@pytest.mark.parametrize("seed", range(3))
def test_the_papers_form_breaks_at_most_what_is_shared(made, seed):
    """Arrivals, budgets and numbers of workers hold; servers and links may be overused, by listed paths a ring may return."""
    instance = made(900 + seed, servers=6, count=8, slots=4)
    embedding = gadget(instance, np.random.default_rng(seed), repair=False)
    assert {violation.rule for violation in check(instance, embedding)} <= {"capacity", "bandwidth", "ring"}
    assert gadget(instance, np.random.default_rng(seed), repair=False) == embedding


@pytest.mark.parametrize("seed", range(25))
def test_the_slot_greedy_has_half_of_the_optimum_in_a_forest_with_concave_utilities(seed):
    instance = racks(1000 + seed, utility=concave, **TINY)
    embedding = slot_greedy(instance, best_slot)
    assert check(instance, embedding) == []
    assert optimum(instance) / 2 <= objective(instance, embedding) * (1 + 1e-9)


@pytest.mark.parametrize("made", [racks, switches])
@pytest.mark.parametrize("seed", range(10))
def test_every_slot_gets_the_largest_increase(made, seed):
    """No slot of the slot greedy could add more to what stood before it; here said of the first and of the last."""
    instance = made(1100 + seed, **TINY)
    embedding = slot_greedy(instance, best_slot)
    assert check(instance, embedding) == []
    network = Network(instance)
    held = {job.id: 0 for job in instance.jobs}
    for slot in range(1, instance.slots + 1):
        sizes = {
            index: min(int(network.most[index]), int(network.total[index]) - held[job.id])
            for index, job in enumerate(instance.jobs)
            if job.arrival_slot <= slot
        }
        before = sum(worth(job, held[job.id]) for job in instance.jobs)
        best = before
        for rings in slots_of(network, sizes):
            counts = {instance.jobs[index].id: sum(ring[0].values()) for index, ring in rings.items()}
            best = max(best, sum(worth(job, held[job.id] + counts.get(job.id, 0)) for job in instance.jobs))
        for name, ring in embedding.slots.get(slot, {}).items():
            held[name] += sum(ring.workers.values())
        assert sum(worth(job, held[job.id]) for job in instance.jobs) == pytest.approx(best)


def job(name, utility, **more):
    return Job(id=name, max_workers=2, demand={"gpu": 1}, bandwidth_bytes_per_s=0, rate=1, utility=utility, **more)


def test_the_half_does_not_hold_for_a_sigmoid():
    """Three slots of two GPUs: the logistic is worth 9.93 in the end, and next to nothing in each slot before the last."""
    jobs = [job("a", Sigmoid(height=10, steepness=10, midpoint=5.5)), job("b", Capped(slope=0.01, cap=9))]
    instance = Instance(name="one", slots=3, nodes=[Node(id="s", capacity={"gpu": 2})], links=[], jobs=jobs)
    assert optimum(instance) == pytest.approx(9.9331, abs=1e-4)
    for embedding in (slot_greedy(instance, best_slot), gadget(instance, np.random.default_rng(0))):
        assert worker_slots(instance, embedding) == {"a": 0, "b": 6}
        assert objective(instance, embedding) == pytest.approx(0.06, abs=1e-6)


def test_progress_counts_what_is_of_use():
    """Worth 1 a worker-slot up to 3, budget 5, one slot gone with 2 workers: 1 more is of use."""
    jobs = [job("a", Capped(slope=1, cap=3), budget={"gpu": 5}), job("b", Capped(slope=1, cap=9), arrival_slot=2)]
    network = Network(Instance(name="one", slots=3, nodes=[Node(id="s", capacity={"gpu": 2})], links=[], jobs=jobs))
    progress = Progress(network)
    assert progress.available(1) == [0] and progress.available(2) == [0, 1]
    assert progress.gains(0).tolist() == [0.0, 1.0, 2.0]
    progress.add(best_slot(network, [0], {0: progress.gains(0)}))
    assert progress.gains(0).tolist() == [0.0, 1.0]
    progress.add(best_slot(network, [0], {0: progress.gains(0)}))
    assert progress.available(3) == [1]


def test_every_slot_ticks():
    instance = racks(3, **TINY)
    ticks = []
    slot_greedy(instance, best_slot, Asked(lambda: ticks.append("slot")))
    assert len(ticks) == instance.slots
    gadget(instance, np.random.default_rng(0), budget=Asked(lambda: ticks.append("round")))
    assert len(ticks) > 2 * instance.slots


@pytest.mark.long
@pytest.mark.parametrize("made", [racks, switches])
@pytest.mark.parametrize("seed", range(60))
def test_gadget_on_many_networks(made, seed, monkeypatch):
    """Feasible, and in every slot the bound is not passed."""
    found = []

    def recorded(*arguments, **options):
        found.append(g_vne(*arguments, **options))
        return found[-1]

    module = sys.modules["dlsched.ring_embedding.heuristics.slot_greedy"]  # the package has a function of that name
    g_vne = module.g_vne
    monkeypatch.setattr(module, "g_vne", recorded)
    instance = made(2000 + seed, servers=10, count=20, slots=6, most=5)
    assert check(instance, gadget(instance, np.random.default_rng(seed))) == []
    assert all(slot.gain <= slot.bound * (1 + 1e-9) for slot in found)
