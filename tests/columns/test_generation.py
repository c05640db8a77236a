"""Column generation ends at the value of the program over all columns, and every bound on the way is one."""

import numpy as np
import pytest
from scipy.optimize import linprog

from dlsched.columns.generation import Pool, generate
from dlsched.columns.pricing import Priced
from dlsched.columns.slack import Listed
from dlsched.core.arrays import dot


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
    prices = generate(pool, held=rough, proven=lambda each: bounds.append(each.bound))
    assert prices.bound == pytest.approx(value, rel=1e-8)
    assert max(bounds) <= value * (1 + 1e-9)
    held = pool.listed(prices)
    assert all(len(each.values) for each in held)
    assert all((np.diff(each.values) >= 0).all() for each in held)
