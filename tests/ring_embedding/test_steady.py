"""Steady rings: by hand, feasible wherever they are drawn; and large searches, which begin with them."""

import pytest

from dlsched import ring_embedding
from dlsched.core.limits import Budget, Stopped
from dlsched.core.status import TerminationStatus
from dlsched.ring_embedding import check, exact, objective, solve
from dlsched.ring_embedding.heuristics import slot_greedy as steady_rings
from dlsched.ring_embedding.heuristics.slot_greedy import rings_wanted, steady
from dlsched.ring_embedding.rings.network import Network

from .small_networks import Asked, racks, switches
from .test_brute_force import job, made

TWICE = {"kind": "capped", "slope": 2.0, "cap": 200.0}


def by_slot(embedding):
    return {
        number: {name: sum(ring.workers.values()) for name, ring in held.items()}
        for number, held in embedding.slots.items()
    }


def test_stretches_by_hand(monkeypatch):
    """Four slots in two stretches: a comes in slot 2 and waits for slot 3, where it is worth more than b."""
    instance = made([2], [], job("b", workers=2), job("a", workers=2, utility=TWICE, arrival_slot=2), slots=4)
    monkeypatch.setattr(steady_rings, "STRETCHES", 2)
    assert by_slot(steady(Network(instance))) == {1: {"b": 2}, 2: {"b": 2}, 3: {"a": 2}, 4: {"a": 2}}


def test_a_budget_is_kept(monkeypatch):
    """Seven worker-slots in stretches of three: two workers in the first, none in the others, which would need three more."""
    instance = made([3], [], job(workers=3, budget={"gpu": 7.0}), slots=9)
    monkeypatch.setattr(steady_rings, "STRETCHES", 3)
    assert by_slot(steady(Network(instance))) == {number: {"a": 2} for number in (1, 2, 3)}


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
