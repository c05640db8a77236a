"""Bounds where energy has a price: by hand, any prices against brute force, in their order; and the slot's best rings."""

import numpy as np
import pytest
from conftest import profile
from hypothesis import given

from dlsched.ring_embedding import solve
from dlsched.ring_embedding.bounds import slot_gains
from dlsched.ring_embedding.checker import worth
from dlsched.ring_embedding.relaxation import aggregated, horizon, relax
from dlsched.ring_embedding.rings.network import Network
from dlsched.ring_embedding.rings.placing import Slot
from dlsched.ring_embedding.rings.rows import classes
from dlsched.ring_embedding.slot import slot_program
from dlsched.ring_embedding.slot.exact_slot import best_slot
from dlsched.ring_embedding.slot.mapping_program import MappingProgram
from dlsched.ring_embedding.slot.slot_program import close_slot, fill_slot
from dlsched.testing.ring_embedding import brute_force_ring, ring_embedding_instances

from .small_networks import charged
from .test_brute_force import TRIANGLE, job, made
from .test_certificate import LOOSE, proven
from .test_horizon import by_totals, capped

pytestmark = pytest.mark.usefixtures("in_process")

SOLVED = 1e-6


PAIR = charged(made([2, 2], [("s0", "s1", 1.0)], job(workers=3), slots=2), [1, 1], 0.25)
"""A worker-slot is worth 3/4 beyond its energy. A slot: two on one server 1.5 - 1, three on both 2.25 - 2."""
UNEQUAL = charged(made([2, 2], [("s0", "s1", 1.0)], job(workers=3), slots=2), [1, 0.2], 0.25)
"""A slot: two on s1 1.5 - 0.2; in parts a third on half of s0, 0.75 - 0.5 more."""


def test_the_optimum_by_hand():
    """What the bounds below are above."""
    assert brute_force_ring(PAIR)[0] == pytest.approx(1.0, rel=1e-12)
    assert brute_force_ring(UNEQUAL)[0] == pytest.approx(2.6, rel=1e-12)


@pytest.mark.parametrize(
    ("prices", "expected"),
    [
        ({}, 6 * 0.75),
        ({"pool_gpu": 0.5}, 6 * 0.25),
        ({"pool_gpu": 0.75}, 4 * 0.5),
        ({"pool_gpu": 0.6}, 6 * 0.15 + 4 * 0.2),
    ],
)
def test_aggregated_by_hand(prices, expected):
    """Six worker-slots at what they are worth above price and energy; four times a server's two GPUs above its power."""
    assert proven(PAIR, "aggregated", prices) == pytest.approx(expected, rel=LOOSE)
    assert aggregated(PAIR).value == pytest.approx(1.5, rel=LOOSE)
    at_half = 6 * 0.25 + 2 * 0.8  # below 0.5 only s1 offers its GPUs
    assert aggregated(UNEQUAL).value == pytest.approx(at_half, rel=LOOSE)


@pytest.mark.parametrize("formulation", ["horizon", "columns"])
@pytest.mark.parametrize(
    ("prices", "expected"),
    [
        ({}, 6),  # pi = 0: its energy does not make a worker-slot worth less
        ({"total_a": 1.0}, 2 * 2.25),
        ({"total_a": 1.0, "pool_1_gpu_c0": 0.5}, 2 * 0.75),
        ({"total_a": 1.0, "pool_1_gpu_c0": 0.75}, 2 * 2 * 0.5),
        ({"total_a": 1.0, "pool_1_gpu_c0": 0.5, "bandwidth_1_l0": 0.125}, 2 * (0.75 - 0.125 + 0.125)),
        ({"total_a": 1.0, "pool_1_gpu_c0": 0.5, "bandwidth_1_l0": 1.0}, 2 * (0.5 + 1)),
        (
            {"total_a": 1.0, "capacity_1_gpu_s0": 0.75},
            2 * (1.5 + 0.5),
        ),  # none on s0, two on s1, nothing else pays power
        ({"total_a": 0.5, "pool_1_gpu_c0": 0.25}, 6 * 0.5),
    ],
)
def test_horizon_and_columns_by_hand(formulation, prices, expected):
    """The best ring beyond its prices and its energy, and what servers get beyond their power."""
    assert proven(PAIR, formulation, prices) == pytest.approx(expected, rel=LOOSE)


def test_slot_by_hand():
    """Utilities stay in the slot, less energy."""
    one = charged(made([2, 2], [("s0", "s1", 1.0)], job(workers=3)), [1, 1], 0.25)
    for prices, expected in (({}, 2.25), ({"pool_1_gpu_c0": 0.5}, 0.75), ({"capacity_1_gpu_s0": 1.0}, 1.5 + 1)):
        assert proven(one, "slot", prices) == pytest.approx(expected, rel=LOOSE)


def test_classes_by_hand():
    """Equal servers of unequal power have prices of their own; half of s0 is on in the relaxation."""
    assert classes(UNEQUAL) == ([[0], [1]], [0, 1])
    assert classes(PAIR)[0] == [[0, 1]]
    prices = {"total_a": 1.0, "pool_1_gpu_c0": 0.5, "pool_1_gpu_c1": 0.1}
    assert proven(UNEQUAL, "horizon", prices) == pytest.approx(2 * (2 * 0.65 + 0.25), rel=LOOSE)
    relaxed = relax(UNEQUAL)
    assert relaxed.certificate.value == pytest.approx(3.1, rel=LOOSE)
    assert relaxed.totals == pytest.approx([6.0], rel=SOLVED)
    assert relax(PAIR).certificate.value == pytest.approx(1.5, rel=LOOSE)


def test_classes_that_share_a_row_are_paid_by_their_own_power():
    """A worker of two GPUs: the classes of three and of two are apart, and the price of each is its own."""
    instance = charged(made([3, 2], [("s0", "s1", 1.0)], job(workers=2, demand={"gpu": 2.0})), [0.5, 0.25], 0.5)
    assert brute_force_ring(instance)[0] == pytest.approx(0.25, rel=1e-12)  # on both 1 - 0.75, on one of them 0.25 or 0
    assert horizon(instance).value == pytest.approx(0.25, rel=LOOSE)


@pytest.mark.parametrize("price", [1e90, 1e6])
def test_what_is_never_worth_its_power_is_never_on(price):
    """However much it costs: nothing runs, and the utility of nothing is proven."""
    utility = {"kind": "sigmoid", "height": 2.0, "steepness": 1.0, "midpoint": 0.0}
    dear = charged(made([2, 2], [("s0", "s1", 1.0)], job(), job("b", utility=utility), slots=2), [price, price], 0.25)
    for method in ("aggregated", "horizon", "columns", "exact"):
        assert solve(dear, method=method).bound == pytest.approx(1.0, rel=LOOSE), method
    dear = charged(made([2, 2], [("s0", "s1", 1.0)], job(utility=utility), slots=1), [0, price], price)
    for method in ("aggregated", "horizon", "columns", "exact"):
        assert solve(dear, method=method).bound == pytest.approx(1.0, rel=LOOSE), method


def test_the_least_prices_change_hardly_anything():
    """1e-90 a slot."""
    for bound in (aggregated, horizon):
        cheap = charged(made([2, 2], [("s0", "s1", 1.0)], job(workers=3), slots=2), [1e-90, 0], 1e-90)
        assert bound(cheap).value == pytest.approx(6.0, rel=LOOSE)


def test_a_small_utility_is_no_rounding():
    """One GPU, whose power costs 1/2: b is worth 8. Beside that a solver's tolerance hides a's 4e-6, but there is no room."""
    small, large = job(utility=capped(4e-6, 4e-6)), job("b", utility=capped(8.0, 8.0))
    assert by_totals(charged(made([1], [], small, large), [0.5], 0)) == pytest.approx(7.5, rel=1e-9)


def test_the_program_over_mappings_by_hand():
    """In parts 2.25 - 1.5, by the servers' rows; whole 1.5 - 1. Gains that fall are gains."""
    one = charged(made([2, 2], [("s0", "s1", 1.0)], job(workers=3)), [1, 1], 0.25)
    network = Network(one)
    gains = slot_gains(network)
    assert gains[0] == pytest.approx([0, 0.75, 1.5, 2.25])
    found = MappingProgram(network).solve(gains, {})
    assert (found.value, found.on_price) == (pytest.approx(0.75), pytest.approx(1.5))
    assert found.bound == pytest.approx(0.75, rel=SOLVED)
    best = best_slot(network, gains, np.random.default_rng(0))
    assert (best.gain, best.bound, best.proven) == (pytest.approx(0.5), pytest.approx(0.5), True)
    flat = charged(made([2, 2], [("s0", "s1", 1.0)], job(workers=3, utility=capped(1.0, 1.0))), [0.5, 1], 0.25)
    falling = slot_gains(Network(flat))
    assert falling[0] == pytest.approx([0, 0.75, 0.5, 0.25])
    best = best_slot(Network(flat), falling, np.random.default_rng(0))
    assert (best.gain, best.slot.rings[0][0]) == (pytest.approx(0.25), {0: 1})


def test_a_start_that_loses_is_given_up():
    """Rings that are worth less than the power of their servers: nothing is better."""
    network = Network(charged(made([2], [], job()), [9], 0.25))
    gains = slot_gains(network)
    start = {0: ({0: 2}, (0,), [])}
    slot = Slot(network)
    slot.put(0, start[0])
    assert slot.worth(gains) == pytest.approx(2 * 0.75 - 9)
    found = fill_slot(network, gains, MappingProgram(network), start=start)
    assert (found.gain, found.slot.rings) == (0.0, {})
    assert close_slot(network, gains, found).proven


def test_servers_that_are_on_cost_no_more():
    """When a ring is placed anew beside one that stays, their server's power is paid already."""
    network = Network(charged(made([2, 2], [], job("a", workers=1), job("b", workers=1)), [1, 1], 0.5))
    gains = slot_gains(network)
    slot = Slot(network)
    slot.put(0, ({0: 1}, (0,), []))
    found = slot_program._anew(network, gains, slot, set())
    assert {each: placed[0] for each, placed in found.rings.items()} == {0: {0: 1}, 1: {0: 1}}
    assert found.worth(gains) == pytest.approx(0.0)
    assert slot_program._anew(network, gains, slot, {0}).rings in ({}, found.rings)


@profile(8)
@given(
    ring_embedding_instances(objectives="sum", max_slots=1).filter(
        lambda instance: instance.charges and any(instance.on_prices)
    )
)
def test_the_best_slot_is_the_optimum(instance):
    """Proven, in forests and by listed paths."""
    best = brute_force_ring(instance)[0] - sum(worth(each, 0) for each in instance.jobs)
    network = Network(instance)
    gains = slot_gains(network)
    filled = fill_slot(network, gains, MappingProgram(network))
    size = SOLVED * max(1.0, sum(float(gain.max()) for gain in gains.values()))
    assert filled.gain <= best + size
    assert filled.bound >= best - size
    found = best_slot(network, gains, np.random.default_rng(0))
    assert found.gain == pytest.approx(best, abs=size)
    assert best - size <= found.bound <= best + size


def test_a_cycle_by_hand():
    """By listed paths: around the triangle three servers are worth their power, 6 - 0.75 - 3, or none of them."""
    steep = {"kind": "table", "progress": [0, 2, 3], "worth": [0, 1, 6]}
    for on, expected in ((1, 2.25), (2, 0.0)):
        plain = made([1, 1, 1], TRIANGLE, job(utility=steep), paths=["s0 s1", "s1 s2", "s2 s0"])
        instance = charged(plain, [on] * 3, 0.25)
        assert brute_force_ring(instance)[0] == pytest.approx(expected)
        result = solve(instance)
        assert (result.objective, result.bound) == (pytest.approx(expected), pytest.approx(expected, abs=SOLVED))
