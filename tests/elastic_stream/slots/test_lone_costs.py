"""Prices in the search over slots: the same optimum with fewer states, and bounds of states that hold."""

import math

import numpy as np
import pytest

from dlsched.columns.slot_costs import SlotPrices
from dlsched.core.limits import Budget, no_tick
from dlsched.elastic_stream import generate, solve
from dlsched.elastic_stream.bounds.ticks import slot_prices, ticked_prices
from dlsched.elastic_stream.slots import Layer, lone_costs, search_slots
from elastic_stream.streams import stream


def searched(instance, prices):
    """Least total that the search proves, and states that it follows."""
    budget, totals = Budget(), []
    search_slots(instance, math.inf, found=lambda plan: True, proven=totals.append, budget=budget, prices=prices)
    return totals[-1], budget.nodes


@pytest.mark.parametrize(("jobs", "seed", "units"), [(6, 0, 3), (5, 1, 4)])
def test_the_same_optimum_with_fewer_states(jobs, seed, units):
    """With the best prices and with poor ones, whatever is proven of states is true."""
    instance = generate(preset="slots", jobs=jobs, gpus=units, seed=seed)
    plain, followed = searched(instance, None)
    best = slot_prices(ticked_prices(instance))
    poor = SlotPrices(best.slots, best.sizes, best.prices[:, ::-1] * 1.5)
    for prices in (best, poor):
        total, fewer = searched(instance, lone_costs(instance, prices, no_tick))
        assert total == pytest.approx(plain, rel=1e-9)
        if prices is best:
            assert fewer < followed
    assert solve(instance).objective * jobs == pytest.approx(plain, rel=1e-9)


def test_costs_of_a_state_by_hand():
    """At 1 s a unit and second in slot 1; a ran on one unit in slot 0, b has not begun, c comes at 20 s.

    a has 5 s left on one unit: 5 and 10 to pay, or it waits for 10 s and pauses for 2 s: 15, 17. b has 4 s: 4 and 10, or 14.
    c takes 6 s from its arrival. Both units bring 20. Held on none, a pauses in slot 1 already: 2 and 15.
    """
    times = {1: 15.0}, {1: 4.0}, {1: 6.0}
    arrivals = 0.0, 0.0, 20.0
    jobs = [(at, 1.0, time, {"restart_s": 2.0}) for at, time in zip(arrivals, times, strict=True)]
    instance = stream(*jobs, units=2, tick_s=10.0)
    bound = lone_costs(instance, SlotPrices(np.array([1, 2]), (1,), np.array([[1.0]])), no_tick)
    left, started = np.array([[1 / 3, 1.0, 1.0]] * 2 + [[0.0, 1.0, 1.0]]), np.array([[True, False, False]] * 3)
    held, nothing = np.array([[1, 0, 0], [0, 0, 0], [0, 0, 0]]), np.zeros(3, dtype=np.int64)
    layer = Layer(left, held, started, np.zeros(3), nothing, held)
    come = np.array([True, True, False])
    assert bound.least(layer, come, 1) == pytest.approx([15 + 14 + 6 - 20, 17 + 14 + 6 - 20, 14 + 6 - 20], abs=0.02)
    assert bound.least(layer, come, 2) == pytest.approx([5 + 4 + 6, 7 + 4 + 6, 4 + 6], abs=0.02)


def test_too_many_costs_are_not_kept():
    """Prices far into the future would take too much memory: nothing is pruned then."""
    instance = stream((0.0, 1.0, {1: 15.0}, {"restart_s": 2.0}), tick_s=10.0)
    assert lone_costs(instance, SlotPrices(np.array([0, 10**6]), (1,), np.array([[1.0]])), no_tick) is None
