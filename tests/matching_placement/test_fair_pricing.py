"""Costs of utilities, and their pricing, against the list of all configurations."""

import numpy as np
import pytest

from dlsched.matching_placement.arrays import arrays
from dlsched.matching_placement.checker import utility
from dlsched.matching_placement.configurations.pricing import Pricing, generate_columns
from dlsched.matching_placement.exact import solve_by_states
from dlsched.matching_placement.formulations.milp import configurations
from dlsched.matching_placement.heuristics import best_local
from dlsched.matching_placement.instance import equal_share_time

from .draw import draw

ALPHAS = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 8.0)


def fair(seed, alpha):
    """Three jobs on nine workers of three types."""
    instance = draw(seed, types=3, each=3, jobs=3, exchange=seed % 3 > 0)
    return instance.model_copy(update={"objective": "alpha_fair", "alpha": alpha})


@pytest.mark.parametrize("alpha", ALPHAS)
def test_cost_and_utility_add_up_to_the_offset(alpha):
    """For every configuration; costs are above 0 and rise with the time."""
    instance = fair(1, alpha)
    data = arrays(instance)
    for index, job in enumerate(instance.jobs):
        counts = configurations(data, index)
        times, costs = data.times(index, counts), data.cost(index, counts)
        worth = np.array([utility(equal_share_time(instance, job) / time, alpha) for time in times.tolist()])
        assert (abs(worth + costs - data.costs.offset[index]) <= 1e-12 * (costs + abs(worth))).all()
        assert data.costs.utilities(index, times) == pytest.approx(worth, rel=1e-12)
        assert (costs > 0).all()
        assert (np.diff(costs[np.argsort(times, kind="stable")]) >= -1e-15 * costs.max()).all()


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("seed", range(6))
def test_everything_below_a_threshold_is_listed(alpha, seed):
    """At random prices, and thresholds that some configurations keep; the floor is below all."""
    data, rng = arrays(fair(seed, alpha)), np.random.default_rng(seed)
    pricing = Pricing(data)
    every = [configurations(data, job) for job in range(data.jobs)]
    costs = [data.cost(job, counts) for job, counts in enumerate(every)]
    prices = rng.uniform(0, 2 / 3, data.types) * min(each.min() for each in costs)
    values = [cost + counts @ prices for cost, counts in zip(costs, every, strict=True)]
    for part in (0, 0.05, 0.4):
        thresholds = np.array([np.quantile(each, part) for each in values])
        for listed, each, most in zip(pricing.cheap(prices, thresholds), values, thresholds.tolist(), strict=True):
            expected = np.sort(each[each <= most])
            assert listed.values[: len(expected)] == pytest.approx(expected, rel=1e-12)
    least = np.array([each.min() for each in values])
    found = pricing.guess(prices, np.array([each.max() for each in values]))
    assert (found.floor <= least * (1 + 1e-12)).all()
    assert (found.known >= least * (1 - 1e-12)).all()


@pytest.mark.parametrize("alpha", ALPHAS)
def test_prices_bound_the_optimum(alpha):
    """The linear program is below the dynamic program, and not far."""
    data = arrays(fair(4, alpha))
    optimum = data.total(solve_by_states(data))
    bound = generate_columns(data, best_local(data)).bound
    assert 0.9 * optimum <= bound <= optimum * (1 + 1e-12)
