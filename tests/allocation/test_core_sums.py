"""Sums on two sides against all pairs of them, and the order of jobs."""

import numpy as np
import pytest

from dlsched.algorithms.sums import States
from dlsched.allocation.core_pairs import Core
from dlsched.allocation.core_sums import combine, in_turn, least_pair
from dlsched.allocation.cost_table import CostTable
from dlsched.allocation.knapsack import solve_knapsack


def sums(rng, number):
    """Sums whose regret less the shift falls along the shifts, as the states of a trail do."""
    shifts = np.sort(rng.choice(np.arange(-40, 60), number, replace=False))
    cost = -np.sort(rng.random(number) * 50)
    return States(shifts, cost - cost.min() + shifts - shifts.min())


@pytest.mark.parametrize("sizes", [(1, 20), (20, 1), (15, 30), (30, 15)])
@pytest.mark.parametrize("seed", range(8))
def test_the_best_pair_of_sums_is_the_best_of_all_pairs(seed, sizes):
    """Excess and indices, whichever side is longer."""
    rng = np.random.default_rng(seed)
    first, second = sums(rng, sizes[0]), sums(rng, sizes[1])
    slack = int(rng.integers(-50, 90))
    excess, (one, other) = least_pair(first, second, 1.0, slack)
    unused = slack - first.shifts[:, None] - second.shifts
    every = np.where(unused >= 0, first.regrets[:, None] + second.regrets + unused, np.inf)
    assert excess == pytest.approx(float(every.min()), abs=1e-12)
    if excess < np.inf:
        assert every[one, other] == pytest.approx(excess, abs=1e-12)


def core_of(rng, jobs):
    """A core of costs of no pattern around the cheapest choice at a price of 1, the least counts held."""
    counts = np.cumsum(rng.integers(1, 40, (jobs, 4)), axis=1)
    costs = 100.0 - counts + rng.random((jobs, 4)) * 6
    table = CostTable(np.arange(0, 4 * jobs + 1, 4), counts.ravel(), costs.ravel())
    base = table.first + np.argmin(costs + counts, axis=1)
    capacity = int(table.counts[base].sum()) + 25
    near = np.arange(4 * jobs), np.repeat(np.arange(jobs), 4)
    return Core.around(table, capacity, 1.0, base, base.copy(), 25.0, near), table, capacity


@pytest.mark.parametrize("seed", range(12))
def test_one_side_and_two_sides_find_the_same(seed):
    """The same best choice, whole; and it is what the knapsack finds."""
    held = []
    for sides in (1, 2):
        core, table, capacity = core_of(np.random.default_rng(seed), 10)
        found = []
        whole = combine(core, np.arange(len(core.pairs)), lambda: None, lambda: None, found.append, sides=sides)
        assert whole
        assert found[-1].tolist() == core.chosen.tolist()
        held.append((core.best, core.chosen.tolist()))
    assert held[0][1] == held[1][1]
    assert held[0][0] == pytest.approx(held[1][0], abs=1e-12)
    expected = table.total_cost(solve_knapsack(table, capacity).pairs)
    assert table.total_cost(core.chosen) == pytest.approx(expected, abs=1e-9)


def test_a_few_states_say_that_there_may_be_more():
    """With two states a side something is left out; with thousands nothing is."""
    for most, whole in ((2, False), (10**4, True)):
        core, _, _ = core_of(np.random.default_rng(1), 12)
        near = np.arange(len(core.pairs))
        assert combine(core, near, lambda: None, lambda: None, lambda pairs: None, most=most) is whole


def test_jobs_that_grow_and_jobs_that_shrink_take_turns():
    """Jobs 0 and 1 can grow, 2 and 3 only shrink: least regret first within each kind, one of each by turns."""
    core, _, _ = core_of(np.random.default_rng(0), 2)
    core.jobs = np.array([0, 1, 1, 2, 3])
    core.shifts = np.array([5, -1, 3, -2, -4])
    core.regrets = np.array([2.0, 1.0, 4.0, 7.0, 3.0])
    assert in_turn(core, np.arange(5)).tolist() == [4, 1, 2, 3, 0]
