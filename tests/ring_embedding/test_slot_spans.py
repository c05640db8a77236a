"""One slot closed by CP-SAT on spans: against enumeration, whatever the gains; with energy; what it leaves alone."""

import numpy as np
import pytest
from hypothesis import given

from dlsched import ring_embedding
from dlsched.core.limits import Limits
from dlsched.core.status import TerminationStatus
from dlsched.ring_embedding.checker import worth
from dlsched.ring_embedding.horizon.columns import slot_gains
from dlsched.ring_embedding.rings.network import Network
from dlsched.ring_embedding.rings.placing import Slot
from dlsched.ring_embedding.slot import exact_slot
from dlsched.ring_embedding.slot.exact_slot import close_by_spans
from dlsched.ring_embedding.slot.mapping_program import MappingProgram
from dlsched.ring_embedding.slot.slot_program import Filled, fill_slot, gained
from dlsched.testing.ring_embedding import brute_force_ring, ring_embedding_instances

from .small_networks import best_slot as enumerated
from .small_networks import racks
from .test_brute_force import job, made, profile
from .test_campaign import draw
from .test_slot_program import fits, gains_of

SOLVED = 1e-6
KINDS = "concave", "step", "convex", "any"


def closed(network, gains, *, limits=None, better=lambda slot: None):
    """From an empty slot and the bound that all jobs have what they gain most from."""
    relaxation = MappingProgram(network).solve(gains, {})
    most = sum(float(gain.max()) for gain in gains.values())
    begin = Filled(Slot(network), 0.0, most, relaxation)
    return close_by_spans(network, gains, begin, limits or Limits(), better)


def forests():
    yield from (racks(7000 + seed, servers=4, count=4, slots=1, most=4) for seed in range(6))
    yield from (instance for instance in map(draw, range(600, 608)) if instance.paths is None)


def test_it_is_the_best_of_all():
    """Proven, and a slot that fits; it hears of every better one."""
    heard, waste = [], 0
    for number, instance in enumerate(forests()):
        network, rng = Network(instance), np.random.default_rng(number)
        gains = gains_of(network, rng, KINDS[number % 4])
        best = gained(enumerated(network, None, gains), gains)
        found = closed(network, gains, better=heard.append)
        fits(network, found.slot)
        size = SOLVED * max(1.0, best)
        assert found.gain == pytest.approx(best, abs=size), number
        assert best - size <= found.bound <= best + size, number
        waste += found.gain < sum(float(gain.max()) for gain in gains.values()) - size
    assert heard and waste >= 2


@profile(15)
@given(ring_embedding_instances(objectives="sum", max_slots=1).filter(lambda instance: instance.paths is None))
def test_gains_that_fall_and_servers_that_cost(instance):
    """Against brute force of the whole instance, energy or not."""
    best = brute_force_ring(instance)[0] - sum(worth(each, 0) for each in instance.jobs)
    network = Network(instance)
    gains = slot_gains(network)
    if not any(gain.max() > 0 for gain in gains.values()):
        return
    found = closed(network, gains)
    size = SOLVED * max(1.0, sum(float(np.abs(gain).max()) for gain in gains.values()))
    assert found.gain == pytest.approx(best, abs=size)
    assert best - size <= found.bound <= best + size


def test_rings_by_hand():
    """Of servers of one GPU: a link of 3 holds one ring of 2, so one of two jobs has two workers; an isle is no help."""
    two = [job("a", load=2.0, workers=2), job("b", load=2.0, workers=2)]
    gains = {0: np.array([0.0, 1.0, 3.0]), 1: np.array([0.0, 1.0, 3.0])}
    ends = [("s0", "s1", 3.0), ("s1", "s2", 3.0)]
    for capacity, expected in (([1, 1, 1], 4.0), ([2, 1, 1], 6.0), ([1, 2, 1], 6.0), ([1, 1, 1, 1], 4.0)):
        network = Network(made(capacity, ends, *two))
        found = closed(network, gains)
        assert (found.gain, found.bound) == (pytest.approx(expected), pytest.approx(expected, abs=SOLVED)), capacity
    apart = Network(made([1, 1], [], *two))
    assert closed(apart, gains).gain == pytest.approx(2.0)
    narrow = Network(made([1, 1], [("s0", "s1", 1.0)], *two))
    assert closed(narrow, gains).gain == pytest.approx(2.0)


def test_what_is_too_large_or_has_no_unit_is_left_as_it_was(monkeypatch):
    loads = [job(name, load=load, workers=2) for name, load in zip("abc", (1.0, np.pi, np.e), strict=True)]
    network = Network(made([1, 1, 1], [("s0", "s1", 3.5), ("s1", "s2", 3.5)], *loads))
    gains = {index: np.array([0.0, 1.0, 3.0]) for index in range(3)}
    monkeypatch.setattr(exact_slot, "_whole", lambda *row: None)
    found = fill_slot(network, gains, MappingProgram(network))
    assert close_by_spans(network, gains, found, Limits(), pytest.fail) is found
    monkeypatch.undo()
    monkeypatch.setattr(exact_slot, "LARGEST", 0)
    assert close_by_spans(network, gains, found, Limits(), pytest.fail) is found


def test_a_limit_leaves_a_bound():
    """Without conflicts and time: what was held, and no bound that is too low."""
    instance = ring_embedding.generate(preset="slot", jobs=8, servers=8, seed=3)
    network = Network(instance)
    gains = slot_gains(network)
    best = ring_embedding.solve(instance)
    assert best.status is TerminationStatus.OPTIMAL
    nothing = sum(worth(each, 0) for each in instance.jobs)
    for limits in (Limits(nodes=1), Limits(time_s=0)):
        found = closed(network, gains, limits=limits)
        assert nothing + found.gain <= best.objective + SOLVED <= nothing + found.bound + 2 * SOLVED
        fits(network, found.slot)


def test_a_slot_that_gave_up_is_proven():
    """32 jobs on 32 servers with the optimum at the bound without rings, which no sampling of rings had found."""
    result = ring_embedding.solve(ring_embedding.generate(preset="slot", jobs=32, servers=32, seed=0))
    assert result.status is TerminationStatus.OPTIMAL
    assert result.objective == pytest.approx(1141.9625245, rel=1e-9)


def test_an_optimum_that_presolve_of_cp_sat_lost():
    """Three workers for ``a``; CP-SAT 9.15 proved two, and one for ``c``, until it no longer looked for rows in rows."""

    def sigmoid(name, workers, height, midpoint):
        return job(
            name, workers, 0.0, utility={"kind": "sigmoid", "height": height, "steepness": 4.0, "midpoint": midpoint}
        )

    jobs = sigmoid("a", 4, 7.525, 1.12), sigmoid("b", 1, 1.213, 5.5), sigmoid("c", 4, 1.213, 1.5)
    links = [(f"s{n}", "switch", 1.0) for n in range(3)]
    found = ring_embedding.solve(made([1.0] * 3, links, *jobs, switches=["switch"]))
    worth_of = [7.525 / (1 + np.exp(-4 * (3 - 1.12))), 1.213 / (1 + np.exp(4 * 5.5)), 1.213 / (1 + np.exp(4 * 1.5))]
    assert (found.status, found.objective) == (TerminationStatus.OPTIMAL, pytest.approx(sum(worth_of), rel=1e-9))
