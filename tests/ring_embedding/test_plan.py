"""The plan: feasible whatever it follows, its bookkeeping; and heuristics where energy has a price."""

import random

import numpy as np
import pytest
from conftest import profile
from hypothesis import given
from hypothesis import strategies as st

from dlsched.algorithms.utility_tables import UtilityTable
from dlsched.ring_embedding import solve
from dlsched.ring_embedding.checker import check, objective, slots_on, worker_slots
from dlsched.ring_embedding.heuristics.baselines import density, drf, fifo, las, quick
from dlsched.ring_embedding.heuristics.plan import Plan, ascend, merge, plan, whole_totals
from dlsched.ring_embedding.heuristics.plan import plan as plan_of
from dlsched.ring_embedding.heuristics.slot_greedy import applies, gadget, slot_greedy
from dlsched.ring_embedding.instance import Instance
from dlsched.ring_embedding.rings.network import Network
from dlsched.ring_embedding.rings.placing import Slot, embedding
from dlsched.ring_embedding.rings.rows import epochs
from dlsched.ring_embedding.slot.slot_program import emptied, fill, opened, switched
from dlsched.ring_embedding.solution import Embedding
from dlsched.testing.ring_embedding import brute_force_ring, ring_embedding_instances

from .small_networks import charged, draw, racks, switches
from .test_brute_force import job, made


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


NOTHING = Embedding({})


def filled(network, jobs, gains):
    del jobs
    slot = Slot(network)
    fill(slot, gains)
    return slot


NEVER_BELOW = {
    "density": density,
    "quick": quick,
    "plan": plan,
    "gadget": lambda instance: gadget(instance, np.random.default_rng(1)),
    "slot-greedy": lambda instance: slot_greedy(instance, filled),
}
OTHERS = {"fifo": fifo, "las": las, "drf": drf}


def priced(instance, seed, dear=4):
    """The instance with servers that cost 0 to ``dear`` a slot, and workers 0 to 1."""
    rng = np.random.default_rng(seed)
    on = rng.integers(0, 2 * dear + 1, len(instance.servers)) / 2
    return charged(instance, on, rng.integers(0, 5, len(instance.jobs)) / 4)


def all_hold(instance):
    best, nothing = brute_force_ring(instance)[0], objective(instance, NOTHING)
    slack = 1e-9 * (1 + abs(best))
    for name, heuristic in (NEVER_BELOW | OTHERS).items():
        found = heuristic(instance)
        assert check(instance, found) == [], name
        assert objective(instance, found) <= best + slack, name
        assert name in OTHERS or objective(instance, found) >= nothing - slack, name


@profile(15)
@given(ring_embedding_instances(objectives="sum"))
def test_between_nothing_and_the_optimum(instance):
    """Of every awkward kind."""
    all_hold(instance)


@pytest.mark.parametrize("made_of", [racks, switches])
@pytest.mark.parametrize("seed", range(12))
def test_between_nothing_and_the_optimum_with_a_price(made_of, seed):
    """Cheap and dear energy, any utility."""
    all_hold(priced(made_of(7000 + seed, servers=3, count=3, slots=2), seed, dear=4 + 8 * (seed % 2)))


@pytest.mark.parametrize("made_of", [racks, switches])
@pytest.mark.parametrize("seed", range(8))
def test_plans_keep_their_books_and_never_get_worse(made_of, seed):
    """What a plan says that it gains is what the checker says; filling, merging and ascent do not lower it."""
    instance = priced(made_of(7100 + seed, servers=5, count=5, slots=4), seed)
    nothing, found = objective(instance, NOTHING), Plan(Network(instance))
    spans = enumerate(epochs(instance))
    wishes = {(i, e): 2.0 * span.slots for e, span in spans for i in range(5)}
    late = {(i, e) for i, e in wishes if instance.jobs[i].arrival_slot > epochs(instance)[e].first}
    found.follow({key: each for key, each in wishes.items() if key not in late}, found.network.total.tolist())
    worth = -np.inf
    for step in (lambda: None, found.fill, lambda: merge(found), lambda: ascend(found)):
        step()
        held = found.embedding()
        assert check(instance, held) == []
        assert list(worker_slots(instance, held).values()) == found.spent
        assert found.gain() == pytest.approx(objective(instance, held) - nothing, rel=1e-9, abs=1e-9)
        assert found.gain() >= worth - 1e-9
        worth = found.gain()


def two_jobs(on, gpus=(2,), slots=1, **more):
    """Jobs a and b of at most one worker, each worth 1, on servers that cost ``on``."""
    worth_one = {"kind": "capped", "slope": 1.0, "cap": 1.0}
    jobs = [job(name, workers=1, load=0.0, utility=worth_one, **more) for name in "ab"]
    links = [("s0", f"s{n}", 1.0) for n in range(1, len(gpus))]
    return charged(made(list(gpus), links, *jobs, slots=slots), on, (0, 0))


def slot_of(instance, rings):
    """A slot with rings on one server each, and its gains."""
    network = Network(instance)
    slot = Slot(network)
    for index, server in rings.items():
        slot.put(index, ({server: 1}, (server,), []))
    return slot, {index: network.gains(index, 0, 1) for index in range(len(instance.jobs))}


def test_no_ring_pays_for_a_server_alone_but_two_do():
    """Two rings worth 1 each on a server that costs 1.5: filling leaves it off, switching turns it on."""
    slot, gains = slot_of(two_jobs([1.5]), {})
    fill(slot, gains)
    assert slot.rings == {} and slot.worth(gains) == 0
    found = switched(slot, gains)
    assert sorted(found.rings) == [0, 1] and found.worth(gains) == 0.5
    assert slot.rings == {} and slot.used.tolist() == [0]


def test_two_rings_do_not_pay_for_a_server_that_costs_what_they_gain():
    """At a price of 2 it stays off."""
    slot, gains = slot_of(two_jobs([2]), {})
    assert opened(slot, gains).rings == {}


def test_a_server_is_emptied_onto_one_that_is_on():
    """Each on a server of its own: one of the two is enough, and the dearer one goes off."""
    slot, gains = slot_of(two_jobs([0.5, 0.25], gpus=(2, 2)), {0: 0, 1: 1})
    found = emptied(slot, gains)
    assert found.on == {1} and found.worth(gains) == 1.75
    assert slot.on == {0, 1}


def test_what_gains_less_than_its_server_costs_is_dropped():
    """No other server has room: the ring that does not pay goes."""
    slot, gains = slot_of(two_jobs([0.5, 1.5], gpus=(1, 1)), {0: 0, 1: 1})
    assert emptied(slot, gains).rings.keys() == {0}


def test_rings_go_where_servers_are_on_and_else_where_they_cost_least_for_what_they_hold():
    """Four GPUs for 2 are cheaper than one for 1; a second ring joins the first, though a smaller server has less room."""
    slot, _ = slot_of(two_jobs([1, 2, 0.9], gpus=(1, 4, 1)), {})
    assert slot.resize(0, 1) and slot.on == {1}
    assert slot.resize(1, 1) and slot.on == {1}
    assert slot.on_price == 2
    assert slot.resize(0, 0) and slot.resize(1, 0) and slot.on == set() and slot.on_price == 0


def test_a_ring_that_needs_two_servers_joins_one_that_is_on():
    """Two workers, one GPU left on the server that is on: the other goes on the cheaper of two."""
    jobs = [job("a", workers=1, load=0.0), job("b", workers=2, load=0.0)]
    instance = charged(made([1, 2, 1], [("s0", "s1", 1.0), ("s1", "s2", 1.0)], *jobs), (1, 9, 0.5), (0, 0))
    slot = Slot(Network(instance))
    slot.put(0, ({1: 1}, (1,), []))
    assert slot.resize(1, 2)
    assert slot.rings[1][0] == {1: 1, 2: 1}


def test_a_plan_brings_slots_together():
    """A worker-slot of a in slot 1 and one of b in slot 2, on two GPUs that cost .75 a slot: one slot holds both."""
    found = Plan(Network(two_jobs([0.75], slots=2)))
    assert found.resize(0, 1, 1) and found.resize(1, 2, 1)
    assert found.gain() == 0.5
    merge(found)
    assert found.gain() == 1.25 and sorted(slot.count(0) for slot in found.slots.values()) == [0, 1]


def test_workers_that_do_not_gain_their_energy_do_not_run():
    """A utility of 3 sqrt(z): the fourth worker-slot gains .8, the third .95, and each costs .9."""
    root = {"kind": "sqrt", "scale": 3.0}
    instance = charged(made([1], [], job("a", workers=1, utility=root), slots=9), (0,), (0.9,))
    for name, heuristic in (NEVER_BELOW | OTHERS).items():
        assert worker_slots(instance, heuristic(instance)) == {"a": 3}, name


def test_baselines_do_not_ask_what_servers_cost():
    """A server that costs 9 a slot for a job worth 1: worse than running nothing, by 8; the others run nothing."""
    instance = two_jobs([9], gpus=(1,))
    for heuristic in OTHERS.values():
        found = heuristic(instance)
        assert objective(instance, found) == -8 and slots_on(instance, found) == {"s0": 1}
    for heuristic in NEVER_BELOW.values():
        assert heuristic(instance) == NOTHING


def test_the_papers_form_counts_energy_too():
    """Without repair nothing is drawn that would not be worth its power."""
    instance = two_jobs([9], gpus=(1,))
    assert gadget(instance, np.random.default_rng(0), repair=False) == NOTHING


def test_half_is_not_promised_with_energy():
    """Nor of the least utility."""
    plain = two_jobs([0])
    assert applies(plain) and not applies(two_jobs([1]))
    assert not applies(charged(plain, (0,), (0, 1)))
    assert not applies(Instance(**plain.model_dump() | {"energy_price_per_kwh": 0.0, "objective": "max_min"}))
