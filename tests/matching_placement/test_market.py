"""The market: an optimal assignment of values that add up, at the least prices that clear, whatever the multiplicities."""

from itertools import product

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from dlsched.algorithms.resource_market import ascending_market
from dlsched.algorithms.time_costs import Costs
from dlsched.core.errors import UsageError
from dlsched.matching_placement.arrays import Arrays, arrays
from dlsched.matching_placement.exact import solve_by_states
from dlsched.matching_placement.markets import categories, linear_values, market, market_placement

from .draw import entry, made


def drawn_markets(number, jobs=5, kinds=4, most=4, seed=0):
    """Random integer values with ties, forbidden pairs, sizes and stocks; some cannot be served."""
    generator = np.random.default_rng(seed)
    for _ in range(number):
        shape = int(generator.integers(1, jobs + 1)), int(generator.integers(1, kinds + 1))
        values = generator.integers(-2, int(generator.choice([2, 5, 1000])), shape)
        allowed = generator.random(shape) < generator.choice([0.6, 0.9, 1.0])
        yield values, allowed, generator.integers(1, most, shape[0]), generator.integers(1, most + 1, shape[1])


def best_total(values, allowed, sizes, stock):
    """The largest total of an assignment of units to workers, or None when there is none."""
    units = np.repeat(np.repeat(np.where(allowed, values.astype(float), -1e9), sizes, axis=0), stock, axis=1)
    if units.shape[0] > units.shape[1]:
        return None
    total = units[linear_sum_assignment(units, maximize=True)].sum()
    return None if total < -1e8 else total


def test_the_market_finds_the_optimal_assignment_at_prices_that_clear():
    """Total as linear_sum_assignment on units; every unit in its demand set; a positive price only where all are used."""
    served = 0
    for values, allowed, sizes, stock in drawn_markets(800):
        outcome = ascending_market(values, allowed, sizes, stock)
        expected = best_total(values, allowed, sizes, stock)
        if outcome is None:
            assert expected is None
            continue
        served += 1
        assert (outcome.counts * values).sum() == expected
        assert (outcome.counts >= 0).all() and not outcome.counts[~allowed].any()
        used, prices = outcome.counts.sum(axis=0), np.array(outcome.prices)
        assert (outcome.counts.sum(axis=1) == sizes).all() and (used <= stock).all()
        assert (prices >= 0).all() and (used == stock)[prices > 0].all()
        surplus = np.where(allowed, values - prices, -1e9)
        assert (surplus == surplus.max(axis=1, keepdims=True))[outcome.counts > 0].all()
    assert served > 300


def raised_by_one(values, allowed, sizes, stock):
    """The market unit by unit, as it is described: one buyer, one path, all reachable workers dearer by 1."""
    buyers = np.repeat(np.arange(len(sizes)), sizes).tolist()
    workers = np.repeat(np.arange(len(stock)), stock).tolist()
    prices, owner = [0] * len(workers), {}
    while True:
        lone = next((buyer for buyer in range(len(buyers)) if buyer not in owner.values()), None)
        if lone is None:
            return prices
        reached, via, free = [lone], {}, None
        for buyer in reached:
            job = buyers[buyer]
            worth = {w: values[job, g] - prices[w] for w, g in enumerate(workers) if allowed[job, g]}
            for worker in (w for w, value in worth.items() if value == max(worth.values()) and w not in via):
                via[worker] = buyer
                if worker in owner:
                    reached.append(owner[worker])
                else:
                    free = worker
        if free is None:
            usable = {w for buyer in reached for w, g in enumerate(workers) if allowed[buyers[buyer], g]}
            if usable <= set(via):
                return None
            for worker in via:
                prices[worker] += 1
            continue
        held = {buyer: worker for worker, buyer in owner.items()}
        while free is not None:
            buyer = via[free]
            owner[free], free = buyer, held.get(buyer)


def test_many_raises_at_once_and_types_with_multiplicities_end_at_the_same_prices():
    """Against raising unit by unit and by 1: equal workers end equal, and prices and refusals are the same."""
    served = 0
    for values, allowed, sizes, stock in drawn_markets(200, jobs=4, kinds=3, most=3, seed=1):
        small = values % 12
        outcome, expected = ascending_market(small, allowed, sizes, stock), raised_by_one(small, allowed, sizes, stock)
        if outcome is None:
            assert expected is None
            continue
        served += 1
        assert expected == np.repeat(outcome.prices, stock).tolist()
    assert served > 80


def clears(prices, values, allowed, sizes, stock):
    """Whether every unit buyer can have a worker of its demand set at these prices, whoever is left over."""
    surplus = np.where(allowed, values - np.array(prices), -1e9)
    demanded = allowed & (surplus == surplus.max(axis=1, keepdims=True))
    return best_total(np.zeros_like(values), demanded, sizes, stock) is not None


def test_prices_are_the_least_that_clear():
    """By brute force over all prices up to those of the market."""
    tried = 0
    for values, allowed, sizes, stock in drawn_markets(150, jobs=3, kinds=3, most=3, seed=2):
        small = values % 5
        outcome = ascending_market(small, allowed, sizes, stock)
        if outcome is None or max(outcome.prices) > 6:
            continue
        tried += max(outcome.prices) > 0
        top = range(max(outcome.prices) + 1)
        clearing = [p for p in product(top, repeat=len(stock)) if clears(p, small, allowed, sizes, stock)]
        assert tuple(np.min(clearing, axis=0).tolist()) == outcome.prices
    assert tried > 20


def ask(values, sizes, stock):
    """Run the market with every type allowed."""
    values = np.array(values)
    return ascending_market(values, np.ones(values.shape, dtype=bool), np.array(sizes), np.array(stock))


def test_two_equal_jobs_end():
    """Raising every worker that is wanted twice need not end; the reachable ones, of which one buyer is too many, do."""
    outcome = ask([[7, 7], [7, 7]], [1, 1], [1, 1])
    assert outcome.prices == (0, 0)
    outcome = ask([[7, 3], [7, 3]], [1, 1], [1, 1])
    assert outcome.prices == (4, 0)


def test_a_clearing_assignment_need_not_be_optimal_but_this_one_is():
    """At prices 0, 0, 1, 0 workers 1 and 2 clear, with 3 + 3; that the third has a price and is used makes it 7."""
    values = np.array([[3, 2, 4, 2], [3, 3, 4, 3]])
    outcome = ask(values, [1, 1], [1, 1, 1, 1])
    assert (outcome.counts * values).sum() == 7
    assert outcome.prices == (0, 0, 1, 0)
    surplus = values - np.array(outcome.prices)
    assert surplus[0, 0] == surplus[0].max() and surplus[1, 1] == surplus[1].max()
    assert values[0, 0] + values[1, 1] == 6


def test_what_cannot_be_served_is_none():
    """Too few workers, a job that no type serves, and two jobs for the one worker that they can use."""
    assert ask([[1, 1]], [3], [1, 1]) is None
    assert ascending_market(np.ones((1, 1)), np.zeros((1, 1), dtype=bool), (1,), np.array([5])) is None
    allowed = np.array([[True, False], [True, False]])
    assert ascending_market(np.array([[5, 0], [9, 0]]), allowed, (1, 1), np.array([1, 9])) is None


def build(rates, least, most, *, types=None, gradient=0.0):
    """Jobs of one sample on workers of the given rates, a list for each job."""
    types = types or [f"t{index}" for index in range(len(rates[0]))]
    jobs = [{kind: rate for kind, rate in zip(types, row, strict=True) if rate} for row in rates]
    return made(types, *(entry(row, gradient=gradient, min_workers=least, max_workers=most) for row in jobs))


def test_inside_a_category_the_objective_is_no_sum_of_values():
    """Speeds 4, 3, 2, 1, two equal jobs of two: each split has the same sum of rates, the times span 0.400 .. 0.476."""
    data = arrays(build([[4.0, 3.0, 2.0, 1.0]] * 2, 2, 2))
    splits = [np.array([row, 1 - row]) for row in map(np.array, product((0, 1), repeat=4)) if row.sum() == 2]
    assert {float((split * data.rates).sum()) for split in splits} == {10.0}
    times = [data.total(split) for split in splits]
    assert min(times) == pytest.approx(1 / 5 + 1 / 5)
    assert max(times) == pytest.approx(1 / 7 + 1 / 3)
    values = linear_values(data, np.array([2, 2]), np.array([5.0, 5.0]))
    assert [(split * values).sum() for split in splits] == pytest.approx([values.sum() / 2] * 6)


def test_values_are_the_slope_of_the_times():
    """The difference of two values is that of the derivatives w rho / R^2, and of the ring's share at each bandwidth."""
    data = Arrays(
        stock=np.array([3, 3]),
        bandwidth=np.array([4.0, 1.0]),
        rates=np.array([[2.0, 5.0], [1.0, 0.0]]),
        work=np.array([60.0, 8.0]),
        traffic=np.array([9.0, 0.0]),
        least=np.array([1, 1]),
        most=np.array([6, 3]),
        costs=Costs(np.ones(2)),
    )
    values = linear_values(data, np.array([3, 1]), np.array([10.0, 1.0]))
    unit = 9.0  # the largest time: the ring's, at the lower bandwidth
    compute, ring = 60 * 3 / 100, 9 * 2 / 9 * (1 / 4 - 1)
    assert values * unit == pytest.approx(np.array([[0.0, compute + ring], [0.0, 0.0]]))


def test_the_best_of_more_rounds_is_never_worse():
    """Rounds only add placements; the prices stay those of the first market."""
    generator = np.random.default_rng(3)
    better = 0
    for _ in range(100):
        data = arrays(
            build(generator.uniform(1, 9, (3, 8)).tolist(), 1, None, gradient=float(generator.choice([0, 1])))
        )
        sizes = tuple(generator.integers(1, 3, 3).tolist())
        once, more = market_placement(data, sizes, rounds=0), market_placement(data, sizes)
        assert once[1] == more[1]
        assert (more[0].sum(axis=1) == sizes).all()
        assert data.total(more[0]) <= data.total(once[0])
        better += data.total(more[0]) < data.total(once[0])
    assert better > 5
    assert market_placement(data, (1, 1, 9)) is None


def test_all_categories_of_identical_workers_hold_the_optimum():
    """Then a category is a placement, so the best category is optimal."""
    for gradient in (0.0, 0.5, 3.0):
        instance = build([[1.0] * 6, [2.0] * 6, [3.0] * 6], 1, None, types=["t"] * 6, gradient=gradient)
        data, found = arrays(instance), market(instance)
        optimum = solve_by_states(data)
        counts = np.array([[len(held)] for held in found.workers.values()])
        assert data.total(counts) == pytest.approx(data.total(optimum))


def test_a_market_of_too_many_categories_is_refused():
    """And an infeasible instance has none."""
    large = build([[1.0] * 40] * 6, 1, None, types=["t"] * 40)
    with pytest.raises(UsageError, match=r"^more than 20,000 categories, allowed: up to 20,000; use sampled-market$"):
        market(large)
    assert market(build([[1.0]] * 2, 1, None)) is None
    assert list(categories(arrays(build([[1.0]] * 2, 1, None)))) == []
