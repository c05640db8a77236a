"""Heuristics slot by slot and steady rings: by hand, by the DRF paper, feasible on random networks, and a theorem."""

import numpy as np
import pytest

from dlsched import ring_embedding
from dlsched.cluster.network import Link, Node
from dlsched.cluster.utility import Capped, Sigmoid, Sqrt
from dlsched.core.errors import UsageError
from dlsched.core.limits import Budget, Stopped
from dlsched.core.status import TerminationStatus
from dlsched.ring_embedding import exact, solve
from dlsched.ring_embedding.checker import check, objective, worker_slots, worth
from dlsched.ring_embedding.heuristics import slot_greedy as steady_rings
from dlsched.ring_embedding.heuristics.baselines import density, drf, fifo, las
from dlsched.ring_embedding.heuristics.slot_greedy import Progress, gadget, rings_wanted, slot_greedy, steady
from dlsched.ring_embedding.instance import Instance, Job
from dlsched.ring_embedding.rings.network import Network
from dlsched.testing.ring_embedding import brute_force_ring

from .small_networks import Asked, best_slot, racks, switches
from .test_brute_force import job, made

BASELINES = {
    "fifo": fifo,
    "fifo, one worker": lambda instance: fifo(instance, workers=1),
    "fifo, backfilling": lambda instance: fifo(instance, backfill=True),
    "las": las,
    "las, two queues": lambda instance: las(instance, threshold=0.5),
    "drf": drf,
    "density": density,
}


def gpu_job(name, workers=1, *, arrival=1, budget=None, demand=None, load=0, utility=None):
    return Job(
        id=name,
        arrival_slot=arrival,
        max_workers=workers,
        demand=demand or {"gpu": 1},
        budget={} if budget is None else {"gpu": budget},
        bandwidth_bytes_per_s=load,
        rate=1,
        utility=utility or Sqrt(scale=1),
    )


def one_server(slots, capacity, *jobs):
    capacity = capacity if isinstance(capacity, dict) else {"gpu": capacity}
    return Instance(name="one", slots=slots, nodes=[Node(id="s", capacity=capacity)], links=[], jobs=jobs)


def counts(embedding):
    """Workers by job in every slot that has any."""
    return {
        slot: {name: sum(ring.workers.values()) for name, ring in rings.items()}
        for slot, rings in embedding.slots.items()
    }


def test_fifo_waits_behind_the_head():
    """On 2 GPUs a runs with 2 in slot 1, then b with 1 in slots 2 to 4; c wants 2 and waits, and d behind it."""
    jobs = (
        gpu_job("a", 2, budget=2),
        gpu_job("b", budget=3),
        gpu_job("c", 2, arrival=2, budget=2),
        gpu_job("d", arrival=3),
    )
    instance = one_server(6, 2, *jobs)
    alone = {"b": 1}
    assert counts(fifo(instance)) == {1: {"a": 2}, 2: alone, 3: alone, 4: alone, 5: {"c": 2}, 6: {"d": 1}}
    passing = fifo(instance, backfill=True)
    both = {"b": 1, "d": 1}
    assert counts(passing) == {1: {"a": 2}, 2: alone, 3: both, 4: both, 5: {"d": 1}, 6: {"d": 1}}


def test_fifo_in_the_order_of_arrival_and_with_fewer_workers_at_the_end():
    """Job b came first and has 3 worker-slots to spend, 2 in slot 1 and 1 in slot 2; then a is not held up."""
    instance = one_server(3, 2, gpu_job("a", 2, arrival=2), gpu_job("b", 2, budget=3))
    assert counts(fifo(instance)) == {1: {"b": 2}, 2: {"b": 1}, 3: {"a": 2}}
    assert counts(fifo(instance, workers=1)) == {1: {"b": 1}, 2: {"b": 1, "a": 1}, 3: {"b": 1, "a": 1}}


def test_fifo_is_not_blocked_by_a_ring_that_cannot_be_closed():
    """The ring of a needs more than the link has, so a runs with the 2 workers that one server holds, beside b."""
    nodes = [Node(id="s", capacity={"gpu": 2}), Node(id="t", capacity={"gpu": 2})]
    links = [Link(ends=("s", "t"), bandwidth_bytes_per_s=1)]
    instance = Instance(name="two", slots=1, nodes=nodes, links=links, jobs=[gpu_job("a", 4, load=2), gpu_job("b", 2)])
    assert counts(fifo(instance)) == {1: {"a": 2, "b": 2}}


def test_fifo_keeps_a_ring_where_it_is():
    """In slot 1 a takes s and b takes t; when a is finished, b stays, though on empty servers it would take s."""
    nodes = [Node(id="s", capacity={"gpu": 2}), Node(id="t", capacity={"gpu": 2})]
    instance = Instance(name="two", slots=2, nodes=nodes, links=[], jobs=[gpu_job("a", 2, budget=2), gpu_job("b", 2)])
    embedding = fifo(instance)
    assert set(embedding.slots[1]["a"].workers) == {"s"}
    assert set(embedding.slots[1]["b"].workers) == set(embedding.slots[2]["b"].workers) == {"t"}
    assert set(density(instance).slots[2]["b"].workers) == {"s"}


def test_a_job_that_gains_nothing_any_more_is_finished():
    """Job a is worth 2 from two worker-slots on, so that b has the server from slot 3 on."""
    instance = one_server(4, 1, gpu_job("a", utility=Capped(slope=1, cap=2)), gpu_job("b"))
    assert counts(fifo(instance)) == {1: {"a": 1}, 2: {"a": 1}, 3: {"b": 1}, 4: {"b": 1}}


def test_las_takes_turns():
    """Whoever was served the least runs: a, b, a, b; with two queues a has two slots of the cluster first."""
    instance = one_server(4, 1, gpu_job("a"), gpu_job("b"))
    assert counts(las(instance)) == {1: {"a": 1}, 2: {"b": 1}, 3: {"a": 1}, 4: {"b": 1}}
    queues = las(instance, threshold=2.0)
    assert counts(queues) == {1: {"a": 1}, 2: {"a": 1}, 3: {"b": 1}, 4: {"b": 1}}


def test_las_counts_service_and_not_slots():
    """Of 3 GPUs a takes 2 in slot 1, b 2 in slot 2; c comes with no service and takes 1 a slot beside them."""
    instance = one_server(5, 3, gpu_job("a", 2), gpu_job("b", 2), gpu_job("c", arrival=3))
    found = counts(las(instance))
    assert found == {1: {"a": 2}, 2: {"b": 2}, 3: {"c": 1, "a": 2}, 4: {"c": 1, "b": 2}, 5: {"c": 1, "a": 2}}


def test_drf_divides_as_in_the_paper_that_proposed_it():
    """Ghodsi et al., NSDI 2011, section 4.1: 9 CPUs, 18 GB; A <1, 4> has 3 tasks and B <3, 1> has 2."""
    tasks = [gpu_job("A", 9, demand={"cpu": 1, "memory": 4}), gpu_job("B", 9, demand={"cpu": 3, "memory": 1})]
    assert counts(drf(one_server(1, {"cpu": 9, "memory": 18}, *tasks))) == {1: {"A": 3, "B": 2}}


def test_drf_gives_what_one_cannot_use_to_the_other():
    """Job a wants one GPU of 4, b has the other three."""
    assert counts(drf(one_server(1, 4, gpu_job("a"), gpu_job("b", 4)))) == {1: {"a": 1, "b": 3}}


def test_density_looks_ahead_where_the_slot_greedy_does_not():
    """A logistic of 10, steep about 5.5, is worth 9.93 after 6 worker-slots, 1.66 each; b earns 0.1 by each from the first.

    After one slot of 2 the logistic is worth 10 / (1 + exp(10 * 3.5)) < 1e-14, so the slot greedy runs b alone.
    """
    jobs = [
        gpu_job("a", 2, utility=Sigmoid(height=10, steepness=10, midpoint=5.5)),
        gpu_job("b", 2, utility=Capped(slope=0.1, cap=9)),
    ]
    instance = one_server(3, 2, *jobs)
    ahead = density(instance)
    assert worker_slots(instance, ahead) == {"a": 6, "b": 0}
    assert objective(instance, ahead) == pytest.approx(9.9331, abs=1e-4)
    greedy = slot_greedy(instance, best_slot)
    assert worker_slots(instance, greedy) == {"a": 0, "b": 6}
    assert objective(instance, greedy) == pytest.approx(0.6, abs=1e-9)
    short = one_server(2, 2, *jobs)  # with 2 slots the logistic reaches 4 worker-slots, where it is worth nothing yet
    assert worker_slots(short, density(short)) == {"a": 0, "b": 4}


@pytest.mark.parametrize("name", BASELINES)
@pytest.mark.parametrize("made", [racks, switches])
@pytest.mark.parametrize("seed", range(8))
def test_baselines_are_feasible_and_never_below_running_nothing(name, made, seed):
    instance = made(500 + seed, servers=6, count=6, slots=5)
    embedding = BASELINES[name](instance)
    assert check(instance, embedding) == []
    assert objective(instance, embedding) >= sum(worth(each, 0) for each in instance.jobs)
    assert BASELINES[name](instance) == embedding


@pytest.mark.parametrize("name", BASELINES)
@pytest.mark.parametrize("seed", range(8))
def test_no_baseline_lets_all_wait_while_a_worker_is_of_use(name, seed):
    """In the last slot some job runs if any has arrived and is not finished."""
    instance = racks(600 + seed, servers=4, count=4, slots=3)
    embedding = BASELINES[name](instance)
    if not embedding.slots.get(3):
        network = Network(instance)
        held = worker_slots(instance, embedding)
        for index, each in enumerate(instance.jobs):
            total = int(network.total[index])
            assert max(worth(each, count) for count in range(held[each.id], total + 1)) == worth(each, held[each.id])


@pytest.mark.parametrize("baseline", [fifo, las])
def test_numbers_of_workers_below_one_are_refused(baseline):
    with pytest.raises(UsageError, match="workers: found 0"):
        baseline(one_server(1, 1, gpu_job("a")), workers=0)
    with pytest.raises(UsageError, match="threshold: found -1"):
        las(one_server(1, 1, gpu_job("a")), threshold=-1)


@pytest.mark.parametrize("baseline", [fifo, las, drf, density])
def test_stopped_in_any_tick_it_hands_over_the_slots_before(baseline):
    """Three slots: in the end all of them; stopped before, the first ones, a feasible embedding."""
    instance = one_server(3, 1, gpu_job("a"))
    whole, heard = baseline(instance), []
    for last in range(100):
        calls = iter(range(last))
        try:
            found = baseline(instance, budget=Asked(lambda calls=calls: next(calls)), keep=heard.append)
            break
        except StopIteration:
            assert check(instance, heard[-1]) == []
            assert heard[-1].slots.items() <= whole.slots.items()
    assert (found, len(heard[0].slots)) == (whole, 0)
    assert {len(each.slots) for each in heard} >= {0, 1, 2}


TINY = {"servers": 3, "count": 2, "slots": 2}


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


def test_the_half_does_not_hold_for_a_sigmoid():
    """Three slots of two GPUs: the logistic is worth 9.93 in the end, and next to nothing in each slot before the last."""
    jobs = [
        gpu_job("a", 2, utility=Sigmoid(height=10, steepness=10, midpoint=5.5)),
        gpu_job("b", 2, utility=Capped(slope=0.01, cap=9)),
    ]
    instance = one_server(3, 2, *jobs)
    assert brute_force_ring(instance)[0] == pytest.approx(9.9331, abs=1e-4)
    for embedding in (slot_greedy(instance, best_slot), gadget(instance, np.random.default_rng(0))):
        assert worker_slots(instance, embedding) == {"a": 0, "b": 6}
        assert objective(instance, embedding) == pytest.approx(0.06, abs=1e-6)


def test_progress_counts_what_is_of_use():
    """Worth 1 a worker-slot up to 3, budget 5, one slot gone with 2 workers: 1 more is of use."""
    jobs = [
        gpu_job("a", 2, utility=Capped(slope=1, cap=3), budget=5),
        gpu_job("b", 2, utility=Capped(slope=1, cap=9), arrival=2),
    ]
    network = Network(one_server(3, 2, *jobs))
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


TWICE = {"kind": "capped", "slope": 2.0, "cap": 200.0}


def test_stretches_by_hand(monkeypatch):
    """Four slots in two stretches: a comes in slot 2 and waits for slot 3, where it is worth more than b."""
    instance = made([2], [], job("b", workers=2), job("a", workers=2, utility=TWICE, arrival_slot=2), slots=4)
    monkeypatch.setattr(steady_rings, "STRETCHES", 2)
    assert counts(steady(Network(instance))) == {1: {"b": 2}, 2: {"b": 2}, 3: {"a": 2}, 4: {"a": 2}}


def test_a_budget_is_kept(monkeypatch):
    """Seven worker-slots in stretches of three: two workers in the first, none in the others, which would need three more."""
    instance = made([3], [], job(workers=3, budget={"gpu": 7.0}), slots=9)
    monkeypatch.setattr(steady_rings, "STRETCHES", 3)
    assert counts(steady(Network(instance))) == {number: {"a": 2} for number in (1, 2, 3)}


@pytest.mark.parametrize("made_of", [racks, switches])
def test_steady_rings_are_feasible(made_of, monkeypatch):
    monkeypatch.setattr(steady_rings, "STRETCHES", 3)
    run = 0
    for seed in range(8):
        instance = made_of(9700 + seed, servers=4, count=5, slots=7)
        found = steady(Network(instance))
        assert check(instance, found) == []
        run += bool(found.slots)
    assert run >= 4


def test_what_is_filled_is_kept_when_it_stops():
    heard, asked = [], []

    def stop():
        asked.append(1)
        if len(asked) > 60:
            raise Stopped(TerminationStatus.TIME_LIMIT)

    instance = ring_embedding.generate(preset="paper-sqrt", jobs=8, servers=4, slots=20, seed=1)
    with pytest.raises(Stopped):
        steady(Network(instance, Asked(stop)), heard.append)
    (kept,) = heard
    assert check(instance, kept) == [] and 0 < len(kept.slots) < 20


def test_rings_wanted_by_hand():
    """a: 3 of 4 slots for its budget of 5 with two workers each; b comes in slot 3 and can use both that are left."""
    jobs = [job("a", workers=2, budget={"gpu": 5.0}), job("b", workers=1, arrival_slot=3)]
    assert rings_wanted(Network(made([3], [], *jobs, slots=4), Budget())) == 5


@pytest.mark.parametrize("method", ["exact", "plan"])
def test_large_searches_prove_the_same(method, monkeypatch):
    """Whatever comes first: the same bound, and answers as good; every answer and bound on the way is heard."""
    for seed in range(3):
        instance = ring_embedding.generate(preset="paper-sqrt", jobs=8, servers=3, slots=12, seed=seed)
        plain = solve(instance, method=method)
        monkeypatch.setattr(exact, "LARGE", 0)
        monkeypatch.setattr(exact, "FEW", 0)
        heard = []
        result = solve(instance, method=method, progress=lambda step, heard=heard: heard.append(step.doing))
        monkeypatch.undo()
        assert heard.index("quick") < heard.index("steady")
        assert result.bound == pytest.approx(plain.bound, rel=1e-6)
        assert result.objective >= plain.objective * (1 - 1e-3)
        assert objective(instance, result.solution) == result.objective
