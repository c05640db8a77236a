"""The best price of a unit: the Lagrangian (= linear programming) optimum of a cost table, from the jobs' demand."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlsched.allocation import lagrange
from dlsched.allocation.cost_table import CostTable
from dlsched.allocation.lagrange import Demand, best_price
from dlsched.allocation.methods import solve_by_states
from dlsched.core.limits import no_tick
from dlsched.testing import cost_tables

from .naive import dual_value, rows_of


def square(jobs):
    """Jobs with cost a^2 / count: at price p each takes about a / sqrt(p)."""
    sizes = np.random.default_rng(0).integers(10, 60, jobs)
    return CostTable.from_rows([{w: float(a * a / w) for w in range(1, 120)} for a in sizes.tolist()])


def taken_at(table, price):
    """Units by definition: every job's first cheapest count."""
    return sum(min(row, key=lambda w, row=row: row[w] + price * w) for row in rows_of(table))


@pytest.mark.parametrize("share", [1.5, 3.0, 10.0, 40.0])
def test_the_price_at_which_units_are_taken(share):
    """Within what is asked for, in a few points; and the units said are those taken."""
    table, asked = square(80), []
    price, taken = Demand(table).price_for(80 * share, 8.0, lambda: asked.append(1))
    assert abs(taken - 80 * share) <= 8
    assert taken == taken_at(table, price)
    assert len(asked) <= 6


def test_room_for_all():
    """Units are worth nothing then."""
    assert Demand(square(5)).price_for(5 * 119, 1.0, no_tick) == (0.0, 5 * 119)


def test_points_are_kept():
    """A second question next to the first takes fewer points."""
    curve, asked = Demand(square(80)), []
    curve.price_for(400.0, 8.0, no_tick)
    curve.price_for(404.0, 8.0, lambda: asked.append(1))
    assert len(asked) <= 2


def test_steps_end_it():
    """Where all take 1 or 9 at once, no price gives 5 each: the best of a few tries."""
    curve, asked = Demand(CostTable.from_rows([{1: 9.0, 9: 1.0}] * 4)), []
    price, taken = curve.price_for(20.0, 1.0, lambda: asked.append(1))
    assert (taken, len(asked)) in {(4, lagrange._ASKED), (36, lagrange._ASKED)}
    assert price >= 1.0 if taken == 4 else price <= 1.0


SETTINGS = settings(max_examples=40, derandomize=True, deadline=None, database=None)


def exact_dual(table, capacity, price):
    """L(price) in rational arithmetic, pair by pair."""
    price = Fraction(price)
    return sum(min(Fraction(cost) + price * w for w, cost in row.items()) for row in rows_of(table)) - price * capacity


def candidate_prices(table):
    """0 and every price at which two pairs of one job cost the same: L is linear in between."""
    prices = {Fraction(0)}
    for row in rows_of(table):
        pairs = [(w, Fraction(cost)) for w, cost in row.items()]
        prices |= {(c - d) / (w - v) for v, c in pairs for w, d in pairs if w > v and c > d}
    return prices


@SETTINGS
@given(cost_tables(), st.integers(0, 60))
def test_the_price_found_is_the_best_of_all(table, capacity):
    """L at the price equals the largest L over every breakpoint, where the maximum of a concave function lies."""
    frontier = best_price(table, capacity)
    if table.minimum_units > capacity:
        assert frontier is None
        return
    assert frontier.price >= 0
    best = max(exact_dual(table, capacity, price) for price in candidate_prices(table))
    assert float(exact_dual(table, capacity, frontier.price)) == pytest.approx(float(best), rel=1e-12, abs=1e-9)


@SETTINGS
@given(cost_tables(), st.integers(0, 60))
def test_both_choices_of_the_frontier_attain_the_minima(table, capacity):
    """Both minimise cost + price x count for every job; one fits, and unless the price is 0 the other does not."""
    frontier = best_price(table, capacity)
    if frontier is not None:
        attains_the_minima(table, capacity, frontier)


def attains_the_minima(table, capacity, frontier):
    """As it says of a frontier."""
    values = table.costs + frontier.price * table.counts
    lowest = np.minimum.reduceat(values, table.first)
    for chosen in (frontier.fits, frontier.exceeds):
        assert np.allclose(values[chosen], lowest, rtol=1e-12, atol=1e-9)
        assert np.all((table.first <= chosen) & (chosen <= table.last))
    assert table.counts[frontier.fits].sum() <= capacity
    assert (table.counts[frontier.exceeds].sum() > capacity) == (frontier.price > 0)


@SETTINGS
@given(cost_tables(), st.integers(0, 60), st.floats(0, 100))
def test_every_price_bounds_the_optimum(table, capacity, price):
    """L(price) in floats equals the exact value and is no more than the cheapest feasible choice."""
    exact = exact_dual(table, capacity, price)
    assert dual_value(table, capacity, price) == pytest.approx(float(exact), rel=1e-12, abs=1e-8)
    optimum = solve_by_states(table, capacity)
    if optimum is not None:
        assert float(exact) <= table.total_cost(optimum) + 1e-9


@pytest.mark.parametrize("spare", [0, 1, 40, 400, 900, 10**6])
@pytest.mark.parametrize("seed", range(4))
def test_prices_of_a_sample_lead_to_the_same_price(seed, spare, monkeypatch):
    """Many jobs, a few looked at first: the best price of all is what it is without, and both choices attain the minima."""
    rng = np.random.default_rng(seed)
    rows = [
        {w: round(50 / w + float(rng.random()) * 9, 3) for w in range(1, int(rng.integers(2, 14)))} for _ in range(200)
    ]
    table = CostTable.from_rows(rows)
    capacity = table.minimum_units + spare
    plain = best_price(table, capacity)
    monkeypatch.setattr(lagrange, "_SAMPLE", 64)
    frontier = best_price(table, capacity)
    assert frontier.price == pytest.approx(plain.price, rel=1e-12)
    attains_the_minima(table, capacity, frontier)


def test_price_by_hand():
    """One job, costs 10 on 1 and 4 on 4 units, capacity 2: the line falls by 2 a unit, so L = 10 + 2 - 4 = 8 at price 2."""
    table = CostTable.from_rows([{1: 10.0, 4: 4.0}])
    frontier = best_price(table, 2)
    assert frontier.price == 2.0
    assert dual_value(table, 2, 2.0) == 8.0
    assert (frontier.fits.tolist(), frontier.exceeds.tolist()) == ([0], [1])


def test_price_is_zero_when_everything_fits():
    """With room for every least cost a unit is worth nothing, and of equal costs the smaller count is meant."""
    frontier = best_price(CostTable.from_rows([{1: 3.0, 2: 1.0, 9: 1.0}]), 2)
    assert frontier.price == 0.0
    assert frontier.fits.tolist() == [1]
