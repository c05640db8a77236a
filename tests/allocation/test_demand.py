"""Prices from few points of the demand, against the demand itself."""

import numpy as np
import pytest

from dlsched.allocation import demand
from dlsched.allocation.cost_table import CostTable
from dlsched.allocation.demand import Demand
from dlsched.core.budget import no_tick


def square(jobs):
    """Jobs with cost a^2 / count: at price p each takes about a / sqrt(p)."""
    sizes = np.random.default_rng(0).integers(10, 60, jobs)
    return CostTable.from_rows([{w: float(a * a / w) for w in range(1, 120)} for a in sizes.tolist()])


def taken_at(table, price):
    """Units by definition: every job's first cheapest count."""
    total = 0
    for begin, end in zip(table.starts.tolist(), table.starts.tolist()[1:], strict=False):
        total += int(min(table.counts[begin:end], key=lambda w, b=begin: table.costs[b + w - 1] + price * w))
    return total


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
    assert (taken, len(asked)) in {(4, demand._ASKED), (36, demand._ASKED)}
    assert price >= 1.0 if taken == 4 else price <= 1.0
