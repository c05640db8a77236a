"""The plan: feasible whatever it follows, its bookkeeping, and what it makes of instances that a hand can check."""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlsched.algorithms.utility_tables import UtilityTable
from dlsched.ring_embedding import solve
from dlsched.ring_embedding.checker import check, objective, worker_slots
from dlsched.ring_embedding.heuristics.plan import Plan, ascend, whole_totals
from dlsched.ring_embedding.heuristics.plan import plan as plan_of
from dlsched.ring_embedding.rings.network import Network
from dlsched.ring_embedding.rings.placing import embedding
from dlsched.ring_embedding.rings.rows import epochs
from dlsched.testing.ring_embedding import brute_force_ring, ring_embedding_instances

from .small_networks import racks, switches
from .test_brute_force import job, made, profile
from .test_campaign import draw


def sound(plan):
    """Assert that the checker passes what stands in the slots, and that the plan's own figures are the checker's."""
    instance = plan.network.instance
    held = embedding(plan.network, plan.slots)
    assert check(instance, held) == []
    assert list(worker_slots(instance, held).values()) == plan.spent
    value = sum(float(table.values[count]) for table, count in zip(plan.tables, plan.spent, strict=True))
    assert value == pytest.approx(objective(instance, held), rel=1e-12, abs=1e-12)
    return objective(instance, held)


@profile(21)
@given(ring_embedding_instances(max_servers=4, max_workers=4), st.randoms(use_true_random=False))
def test_a_plan_is_feasible_whatever_it_follows(instance, rng):
    """Worker-slots out of the air, then filling, then ascent; total utility never falls."""
    plan = Plan(Network(instance))
    wishes = {
        (i, e): span.slots * rng.choice([0, 0.3, 1, 2.5, record.max_workers])
        for i, record in enumerate(instance.jobs)
        for e, span in enumerate(epochs(instance))
        if record.arrival_slot <= span.first
    }
    plan.follow(wishes, [min(int(total), rng.randint(0, 9)) for total in plan.network.total])
    before = sound(plan)
    plan.fill()
    after = sound(plan)
    assert after >= before * (1 - 1e-12)
    ascend(plan)
    assert sound(plan) >= after * (1 - 1e-12)


@profile(21)
@given(ring_embedding_instances(max_servers=4, max_workers=4))
def test_concentrating_is_feasible(instance):
    """Largest rings first."""
    plan = Plan(Network(instance))
    plan.concentrate()
    sound(plan)
    plan.fill()
    sound(plan)


def test_the_method_is_feasible_and_below_its_bound():
    """At the tolerances too; and no worse than the answer of the function of its name."""
    for seed in range(200, 220):
        instance = draw(seed)
        result = solve(instance, method="plan")
        assert result.status in ("optimal", "feasible"), result.message
        assert check(instance, result.solution) == []
        assert result.objective >= objective(instance, plan_of(instance))
        assert result.objective <= brute_force_ring(instance)[0] * (1 + 1e-9) <= result.bound * (1 + 2e-9)


@pytest.mark.parametrize("made_of", [racks, switches])
@pytest.mark.parametrize("seed", range(5))
def test_larger_plans_are_feasible(made_of, seed):
    """Seven servers, nine jobs, six slots."""
    instance = made_of(3000 + seed, servers=7, count=9, slots=6, most=4)
    result = solve(instance, method="plan")
    assert check(instance, result.solution) == []
    assert result.objective <= result.bound * (1 + 1e-9)


def test_by_hand():
    """Two GPUs and two slots for a, worth 3 up to two worker-slots, and b, worth 1: the optimum."""
    first = job("a", workers=2, utility={"kind": "capped", "slope": 3.0, "cap": 6.0})
    result = solve(made([2], [], first, job("b", workers=2), slots=2), method="plan")
    assert (result.status, result.objective) == ("optimal", 8.0)


def test_odd_worker_slots_go_round():
    """Three jobs of two worker-slots each in three slots of two GPUs: two in every slot."""
    jobs = [job(name, workers=2, utility={"kind": "capped", "slope": 1.0, "cap": 2.0}) for name in "abc"]
    instance = made([2], [], *jobs, slots=3)
    plan = Plan(Network(instance))
    plan.follow({(i, 0): 2.0 for i in range(3)}, [2, 2, 2])
    assert [sum(slot.count(i) for i in range(3)) for slot in plan.slots.values()] == [2, 2, 2]
    assert sound(plan) == 6


def test_an_s_shaped_job_gets_all_or_nothing():
    """Three slots of one GPU: two for a, and the last for b, which earns little; not one each."""
    steep = {"kind": "sigmoid", "height": 9.0, "steepness": 100.0, "midpoint": 1.5}
    small = {"kind": "capped", "slope": 0.1, "cap": 1.0}
    instance = made([1], [], job("a", utility=steep), job("b", utility=steep), job("c", utility=small), slots=3)
    result = solve(instance, method="plan")
    assert result.objective == pytest.approx(9.1, rel=1e-9)


def test_totals_between_corners_go_down():
    """Of an S-shape with corners 0, 4 and 5: 4.7 is 4, 3 is nothing, 5 is 5; a concave one keeps whole worker-slots."""
    values = np.array([0.0, 0, 0, 0, 8, 9])
    shaped, concave = UtilityTable(values, 0.0, False), UtilityTable(np.sqrt(np.arange(6.0)), 0.0, True)
    for total, expected in ((4.7, 4), (3.0, 0), (5.0, 5), (4 - 1e-7, 4), (0.2, 0), (5.5, 5)):
        assert whole_totals(np.array([total]), [shaped]) == [expected]
    assert whole_totals(np.array([3.7, 2 - 1e-7]), [concave, concave]) == [3, 2]


@pytest.mark.parametrize("made_of", [racks, switches])
def test_resizing_keeps_the_books(made_of):
    """Any sequence of sizes: what stands is feasible, and a refusal changes nothing."""
    rng = random.Random(5)
    for seed in range(8):
        instance = made_of(4000 + seed, servers=5, count=4, slots=2)
        plan = Plan(Network(instance))
        for _ in range(60):
            index, number = rng.randrange(4), rng.randint(1, 2)
            if instance.jobs[index].arrival_slot > number or number not in plan.slots:
                continue
            count = rng.randint(0, min(instance.jobs[index].max_workers, int(plan.network.total[index]) // 2))
            before, held = plan.slots[number].count(index), plan.spent[index]
            done = plan.resize(index, number, count)
            assert plan.slots[number].count(index) == (count if done else before)
            assert plan.spent[index] == (held - before + count if done else held)
            assert done or count > 0
        sound(plan)
