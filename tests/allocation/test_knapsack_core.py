"""The core of a knapsack: the pairs that may improve on a base, their sums, and the search among them; see ``knapsack``."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlsched.algorithms.sums import States
from dlsched.allocation import knapsack_core
from dlsched.allocation.cost_table import CostTable
from dlsched.allocation.knapsack import solve_knapsack
from dlsched.allocation.knapsack_core import (
    Changes,
    Core,
    Lattice,
    combine,
    in_turn,
    lattice,
    least_excess,
    least_pair,
    whole_changes,
)

from .test_knapsack import by_states, check

SETTINGS = settings(max_examples=40, derandomize=True, deadline=None, database=None)
PAIRS = st.lists(st.tuples(st.integers(-6, 6), st.integers(-12, 12)), min_size=1, max_size=4)


def spanned(pairs):
    """The points (0 .. 6, -12 .. 12) that are sums of the pairs, each up to 12 times either way, wandering in a box."""
    steps = [*pairs, *((-count, -cost) for count, cost in pairs)]
    reached, fresh = {(0, 0)}, {(0, 0)}
    while fresh:
        moved = {(w + dw, c + dc) for (w, c), (dw, dc) in itertools.product(fresh, steps)}
        fresh = {(w, c) for w, c in moved if abs(w) <= 30 and abs(c) <= 90} - reached
        reached |= fresh
    return {(w, c) for w, c in reached if 0 <= w <= 6 and abs(c) <= 12}


@SETTINGS
@given(PAIRS)
def test_the_lattice_holds_what_sums_reach(pairs):
    """a, b and d describe the sums of the changes, nothing more and nothing less; None only where d is the grain or 0."""
    counts, costs = np.array([w for w, _ in pairs]), np.array([c for _, c in pairs])
    grain = int(np.gcd.reduce(costs))
    found = lattice(counts, costs, grain)
    reached = spanned(pairs)
    if found is None:
        upright = [c for w, c in reached if w == 0 and c]
        assert not counts.any() or not upright or min(map(abs, upright)) == grain or grain == 0
        return
    described = {
        (w, c)
        for w in range(7)
        for c in range(-12, 13)
        if w % found.count == 0 and (c - w // found.count * found.cost) % found.period == 0
    }
    assert reached == described


def test_strongly_correlated_by_hand():
    """Costs fall by the count and 10 a step: a = 1, d = 10, and b = -1, which is 9."""
    counts, costs = np.array([7, 12, 20, -4]), -np.array([17, 32, 40, -14])
    assert lattice(counts, costs, 1) == Lattice(1, 9, 10)


@pytest.mark.parametrize(
    ("price", "slack", "expected"),
    [
        (1.125, 40, 5.0),  # (1.125 - 1) x 40
        (1.125, 100, 2.5),  # 12.5 less 10
        (1.125, 80, 0.0),  # 10: the bound is attained
        (0.875, 40, 0.0),  # m = 1 is above the price, m = -9 below 0
        (11.125, 40, 5.0),  # m = 11 does as well
    ],
)
def test_what_every_choice_exceeds_the_bound_by(price, slack, expected):
    """With the lattice (1, -1), (0, 10): the remainder of (price - m) slack."""
    changes = Changes(np.array([7, 12, 20, -4]), np.array([-17, -32, -40, 14]), Fraction(1), 1)
    assert least_excess(changes, price, slack, 1e-9)[0] == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("unit", [1.0, 0.125, 1024.0])
@pytest.mark.parametrize("seed", range(30))
def test_no_choice_exceeds_the_bound_by_less(seed, unit):
    """All choices of six jobs with strongly correlated costs, at a price where the base of every job is the best of it."""
    rng = np.random.default_rng(seed)
    price = (1.0 + float(rng.integers(1, 40)) / 64) * unit
    rows = []
    for _ in range(6):
        counts = np.cumsum(rng.integers(1, 30, 3))
        costs = unit * (200.0 - counts - 10 * np.arange(3))
        base = int(np.argmin(costs + price * counts))
        rows.append((counts - counts[base], costs, costs[base]))
    shifts = np.concatenate([row[0] for row in rows])
    changes = whole_changes(shifts, np.concatenate([row[1] for row in rows]), np.repeat([row[2] for row in rows], 3))
    slack = int(rng.integers(0, 60))
    excess, period = least_excess(changes, price, slack, 1e-9)
    regrets = [(row[1] - row[2] + price * row[0], row[0]) for row in rows]
    for chosen in itertools.product(range(3), repeat=6):
        spent = sum(float(r[i]) for (r, _), i in zip(regrets, chosen, strict=True))
        unused = slack - sum(int(s[i]) for (_, s), i in zip(regrets, chosen, strict=True))
        if unused >= 0:
            assert spent + price * unused >= excess - 1e-7
            if period < math.inf and spent > excess + 1e-6:  # level 0 has regrets up to the remainder only
                assert spent + price * unused >= excess + period - 1e-6


def test_costs_of_many_digits_have_no_common_unit():
    """1e30 and 1e-30 span 200 binary digits; 0.75 and 2.5 are 3 and 10 quarters."""
    assert whole_changes(np.array([1]), np.array([1e30]), np.array([1e-30])) is None
    changes = whole_changes(np.array([1, 2]), np.array([0.75, 2.5]), np.array([0.0, 0.75]))
    assert changes.unit == Fraction(1, 4)
    assert changes.costs.tolist() == [3, 7]
    assert changes.grain == 1


def test_numbers_too_large_tell_nothing():
    """A lattice whose numbers would leave 64 bits is none."""
    changes = whole_changes(np.array([3, 2**40]), np.array([2.0**55, 2.0**56]), np.array([0.0, 2.0**50]))
    assert lattice(changes.counts, changes.costs * 3, 1) is None


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


@pytest.mark.parametrize("states", [1, 3, 20])
@pytest.mark.parametrize("seed", range(12))
def test_looks_at_some_states_first(seed, states, monkeypatch):
    """Whatever few states are looked at first, the optimum is dynamic programming's: ties, correlated and subset-sum costs."""
    monkeypatch.setattr(knapsack_core, "_STATES", states)
    monkeypatch.setattr(knapsack_core, "_FIRST_CORE", 4)
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(12):
        counts = np.sort(rng.choice(np.arange(2, 90), size=8, replace=False)).tolist()
        rows.append({1: 100.0} | {w: 100.0 - w - (0.0, 5.0, float(rng.integers(0, 4)))[seed % 3] for w in counts})
    table = CostTable.from_rows(rows)
    capacity = int(table.minimum_units + rng.integers(0, 500))
    check(table, capacity, by_states(table, capacity))


def test_a_subset_sum_that_comes_out_is_proven_by_a_look():
    """200 jobs of 50 counts up to a million, all worth what they need: a few states fill the capacity, in a few steps."""
    rng = np.random.default_rng(0)
    rows = []
    for _ in range(200):
        counts = np.unique(rng.integers(1, 10**6, 50)).tolist()
        rows.append({w: float(10**6 - w) for w in counts})
    table = CostTable.from_rows(rows)
    capacity = int(table.counts[table.first].sum() + table.counts[table.last].sum()) // 2
    steps = []
    choice = solve_knapsack(table, capacity, step=lambda: steps.append(None))
    assert table.total_cost(choice.pairs) == 200 * 10**6 - capacity
    assert len(steps) < 100


@pytest.mark.parametrize("states", [5, 2**13])
@pytest.mark.parametrize("seed", range(40))
def test_savings_of_units_and_steps(seed, states, monkeypatch):
    """Savings of m a unit and d a step, which lie on a lattice: level by level the optimum is dynamic programming's."""
    monkeypatch.setattr(knapsack_core, "_STATES", states)
    rng = np.random.default_rng(seed)
    unit, step = float(rng.choice([0.5, 1, 3])), float(rng.choice([2, 5.5, 10, 40]))
    rows = []
    for _ in range(int(rng.integers(3, 20))):
        counts = np.unique(np.append(1, rng.integers(2, 300, 6))).tolist()
        steps = range(len(counts)) if seed % 2 else rng.integers(0, 4, len(counts)).tolist()
        rows.append({w: 5000.0 - unit * w - step * k for w, k in zip(counts, steps, strict=True)})
    table = CostTable.from_rows(rows)
    capacity = int(rng.integers(table.minimum_units, int(table.counts[table.last].sum())))
    check(table, capacity, by_states(table, capacity))


def test_strongly_correlated_costs_of_a_million_units_are_proven_in_few_steps():
    """A choice of as many steps as the Lagrangian bound allows, rounded down, that fills the capacity: nothing is better."""
    rng = np.random.default_rng(0)
    steps = np.sort(rng.integers(1, 200_000, (300, 10)), axis=1)
    counts = np.cumsum(steps, axis=1)
    costs = counts[:, -1:] - counts + 10.0 * np.arange(9, -1, -1)
    table = CostTable(np.arange(0, 3001, 10), counts.ravel(), costs.ravel())
    capacity = int(counts[:, 0].sum() + counts[:, -1].sum()) // 2
    least = np.sort(steps[:, 1:].ravel())  # the most steps beyond the first ones take the smallest
    most = int(np.searchsorted(np.cumsum(least), capacity - counts[:, 0].sum(), side="right"))
    taken = []
    choice = solve_knapsack(table, capacity, step=lambda: taken.append(None))
    dearest = float(costs[:, 0].sum() + counts[:, 0].sum())
    assert table.total_cost(choice.pairs) == dearest - capacity - 10.0 * most
    assert len(taken) < 1000
