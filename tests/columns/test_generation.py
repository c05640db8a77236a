"""Column generation for programs in which each group takes one vector of counts: the master, smoothed prices, and the loop."""

import numpy as np
import pytest
from scipy.optimize import linprog

from dlsched.columns.generation import Master, Pool, Smoothing, generate
from dlsched.columns.slack import Listed, Priced
from dlsched.core.arrays import dot
from dlsched.core.status import Sense


def tried(smoothing, prices):
    """All trials as lists."""
    return [trial.tolist() for trial in smoothing.trials(np.array(prices))]


def test_without_a_center_prices_themselves():
    """Nothing to be smoothed towards."""
    assert tried(Smoothing(), [4.0, 2.0]) == [[4.0, 2.0]]


def test_a_guess_comes_first_and_once():
    """Then what lies between, then the prices."""
    smoothing = Smoothing(guess=np.array([2.0]))
    assert tried(smoothing, [4.0]) == [[2.0], [3.0], [4.0]]
    assert tried(smoothing, [4.0]) == [[3.0], [4.0]]


def test_the_best_bound_is_the_center():
    """The largest of a program that is minimised, the least of one that is maximised; a tie keeps the first."""
    for sense, better, worse in ((Sense.MINIMIZE, 5.0, 4.0), (Sense.MAXIMIZE, 4.0, 5.0)):
        smoothing = Smoothing(sense, part=0.75)
        assert smoothing.keep(np.array([0.0]), better)
        assert not smoothing.keep(np.array([9.0]), worse)
        assert not smoothing.keep(np.array([9.0]), better)
        assert smoothing.bound == better
        assert smoothing.between(np.array([4.0])).tolist() == [1.0]


# a cutting-stock program: rolls of 10, pieces of 3, 4 and 5; columns are patterns
DEMAND = [7.0, 5.0, 3.0]
PATTERNS = [(3, 0, 0), (0, 2, 0), (0, 0, 2), (2, 1, 0), (1, 0, 1)]


def cutting(unit=1.0):
    """The master of the patterns; a row ``-cut <= -demand`` for every piece."""
    master = Master([-need for need in DEMAND], unit=unit)
    for pattern in PATTERNS:
        rows = [row for row, count in enumerate(pattern) if count]
        assert master.add(pattern, 1.0, rows, [-float(pattern[row]) for row in rows])
    return master


@pytest.mark.parametrize("unit", [1.0, 8.0, 1e-6])
def test_strong_duality(unit):
    """The prices pay for the demand exactly the value; every column costs at least what its pieces earn."""
    master = cutting(unit)
    optimum = master.solve()
    assert optimum.value == pytest.approx(optimum.weights.sum())
    assert optimum.prices @ DEMAND == pytest.approx(optimum.value)
    assert (np.array(PATTERNS) @ optimum.prices <= 1 + 1e-9).all()
    assert (np.array(PATTERNS).T @ optimum.weights >= np.array(DEMAND) - 1e-9).all()


def test_a_column_is_held_once():
    """By its key; the program stays as it is."""
    master = cutting()
    value = master.solve().value
    assert not master.add(PATTERNS[0], 0.0, [0], [-3.0])
    assert PATTERNS[0] in master
    assert len(master) == len(PATTERNS)
    assert master.solve().value == value


def test_rows_at_most_and_exactly():
    """One of two choices for each of two groups, one resource: duals of groups, and a price of what is scarce."""
    master = Master([1.0], [1.0, 1.0])
    for group, cost, taken in ((0, 3.0, 0), (0, 1.0, 1), (1, 2.0, 0), (1, 1.0, 1)):
        master.add((group, taken), cost, [0, 1 + group] if taken else [1 + group], [1.0, 1.0] if taken else [1.0])
    optimum = master.solve()
    assert optimum.value == pytest.approx(3.0)
    assert optimum.duals.sum() - optimum.prices.sum() == pytest.approx(3.0)
    assert 1.0 <= optimum.prices[0] <= 2.0
    assert optimum.weights == pytest.approx([0, 1, 1, 0])


def test_matrix_and_costs():
    """As they were added."""
    master = cutting(2.0)
    assert (-master.matrix().toarray().T == PATTERNS).all()
    assert (master.costs == 0.5).all()


class Given:
    """Pricing problems whose columns are all listed; a guess knows the least value only up to some part of it."""

    def __init__(self, counts, costs, part):
        self.counts, self.cost, self.part = counts, costs, part
        self.groups = len(counts)

    def costs(self, group, counts):
        """Looked up."""
        return np.array(
            [
                self.cost[i][(self.counts[i] == row).all(axis=1)][0]
                for i, row in zip(group.tolist(), counts, strict=True)
            ]
        )

    def guess(self, prices, known, tick=None):
        """Any column that is not dearer than what is known, and a bound below the least."""
        values = [cost + dot(counts, prices) for cost, counts in zip(self.cost, self.counts, strict=True)]
        least = np.array([each.min() for each in values])
        first = [int(np.flatnonzero(each <= most)[0]) for each, most in zip(values, known.tolist(), strict=True)]
        found = np.array([each[at] for each, at in zip(values, first, strict=True)])
        rows = np.array([counts[at] for counts, at in zip(self.counts, first, strict=True)])
        return Priced(self.part * least, np.minimum(known, found), np.arange(self.groups), found, rows)

    def cheap(self, prices, thresholds, *, cells=None, tick=None):
        """Those up to the thresholds."""
        listed = []
        for counts, cost, most in zip(self.counts, self.cost, thresholds.tolist(), strict=True):
            values = cost + dot(counts, prices)
            order = np.argsort(values)
            order = order[values[order] <= most]
            listed.append(Listed(counts[order], values[order]))
        return listed


def program(counts, costs, stock):
    """Value of the linear program over all columns, by SciPy."""
    group = np.repeat(np.arange(len(counts)), [len(each) for each in counts])
    choice = (group == np.arange(len(counts))[:, None]).astype(float)
    answer = linprog(np.concatenate(costs), np.concatenate(counts).T, stock, choice, np.ones(len(counts)))
    return answer.fun if answer.status == 0 else np.inf


@pytest.mark.parametrize("part", [1.0, 0.9])
@pytest.mark.parametrize("seed", range(20))
def test_the_programs_value_is_reached(seed, part):
    """From the smallest columns, with and without prices to begin with, at once and in two steps."""
    rng = np.random.default_rng(seed)
    kinds, groups = int(rng.integers(1, 4)), int(rng.integers(2, 6))
    stock = rng.integers(2, 4, kinds) * groups
    counts = [np.unique(rng.integers(1, 6, (8, kinds)), axis=0) for _ in range(groups)]
    counts = [np.vstack((np.ones(kinds, dtype=np.int64), each[each.sum(axis=1) > kinds])) for each in counts]
    costs = [rng.uniform(5, 10) / each.sum(axis=1) ** rng.uniform(0.3, 1) for each in counts]
    value, bounds = program(counts, costs, stock), []
    start = np.ones((groups, kinds), dtype=np.int64)
    upper = sum(float(cost[0]) for cost in costs)
    for guess in (None, np.ones(kinds)):
        pool = Pool(Given(counts, costs, part), stock, start, upper)
        prices = generate(pool, guess=guess, proven=lambda each: bounds.append(each.bound))
        assert prices.bound == pytest.approx(value, rel=1e-8)
    pool = Pool(Given(counts, costs, part), stock, start, upper)
    rough = generate(pool, close=0.5)
    assert rough.bound >= 0.5 * value * (1 - 1e-9)
    prices = generate(pool, known=rough, proven=lambda each: bounds.append(each.bound))
    assert prices.bound == pytest.approx(value, rel=1e-8)
    assert max(bounds) <= value * (1 + 1e-9)
    held = pool.listed(prices)
    assert all(len(each.values) for each in held)
    assert all((np.diff(each.values) >= 0).all() for each in held)
