"""The lattice of changes against enumeration, and the bound from it against brute force."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlsched.allocation.lattice import Changes, Lattice, lattice, least_excess, whole_changes

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
