"""Configurations priced and covered, against the list of all; thresholds against the dynamic program."""

import itertools

import numpy as np
import pytest

import dlsched
from dlsched import TerminationStatus
from dlsched.columns.generation import generate
from dlsched.core.limits import TooMany
from dlsched.matching_placement.arrays import arrays, counts_of
from dlsched.matching_placement.checker import utility
from dlsched.matching_placement.configurations import pricing, thresholds
from dlsched.matching_placement.configurations.pricing import Pricing, first_pool, first_prices
from dlsched.matching_placement.configurations.thresholds import (
    alone,
    bound_by_thresholds,
    by_beam,
    choice_within,
    covers,
    level_at,
    lower,
    some_price,
)
from dlsched.matching_placement.exact import solve_by_states
from dlsched.matching_placement.formulations.milp import configurations
from dlsched.matching_placement.heuristics import best_local
from dlsched.matching_placement.instance import equal_share_time

from .draw import draw


def everything(data, job):
    """Every configuration of a job by itertools, and its time from the formula written out."""
    rows, times = [], []
    for counts in itertools.product(*(range(int(stock) + 1) for stock in data.stock)):
        size = sum(counts)
        if not max(1, data.least[job]) <= size <= data.most[job]:
            continue
        if any(count and not rate for count, rate in zip(counts, data.rates[job], strict=True)):
            continue
        rate = sum(count * each for count, each in zip(counts, data.rates[job], strict=True))
        slowest = min(width for count, width in zip(counts, data.bandwidth, strict=True) if count)
        rows.append(counts)
        times.append(data.work[job] / rate + data.traffic[job] * (size - 1) / size / slowest)
    return np.array(rows), np.array(times)


def prices_for(data, rng):
    """Prices from nothing to a job's price, some of them 0."""
    scale = float(np.mean(data.work / data.rates.max(axis=1)))
    return rng.uniform(0, rng.choice([0.01, 0.3, 1.0]), data.types) * scale * (rng.random(data.types) < 0.8)


@pytest.mark.parametrize("seed", range(60))
def test_cheap_lists_all_and_only_what_is_cheap(seed):
    """Against all vectors, at thresholds from the least value to all of them; of a job without a threshold nothing."""
    rng = np.random.default_rng(seed)
    most = None if seed % 3 else int(rng.integers(1, 6))
    shape = {"types": int(rng.integers(1, 5)), "each": int(rng.integers(1, 5))}
    data = arrays(draw(seed, **shape, jobs=2, exchange=seed % 4 > 0, most=most))
    prices = prices_for(data, rng)
    every = [everything(data, job) for job in range(data.jobs)]
    values = [times + rows @ prices for rows, times in every]
    for part in (0.0, 0.1, 0.5, 1.0):
        thresholds = np.array([np.quantile(each, part) for each in values])
        listed = Pricing(data).cheap(prices, thresholds)
        for found, (rows, _), value, most in zip(listed, every, values, thresholds.tolist(), strict=True):
            names = set(map(tuple, found.counts.tolist()))
            assert len(names) == len(found.counts)
            assert names >= set(map(tuple, rows[value < most * (1 - 1e-9)].tolist()))
            assert names <= set(map(tuple, rows[value < most * (1 + 1e-9)].tolist()))
            assert found.values == pytest.approx([value[(rows == row).all(axis=1)][0] for row in found.counts])
            assert (np.diff(found.values) >= 0).all()
    one = Pricing(data).cheap(prices, np.array([-1.0, values[1].max()]))
    assert len(one[0].values) == 0
    assert len(one[1].values) == len(values[1])


@pytest.mark.parametrize("seed", range(10))
def test_prices_far_below_the_thresholds(seed):
    """At 1e-30 of the usual prices, which buy more workers than integers count: every configuration, and none below nothing."""
    rng = np.random.default_rng(seed)
    data = arrays(draw(seed, types=3, each=4, jobs=2, exchange=seed % 2 > 0))
    times = [everything(data, job)[1] for job in range(data.jobs)]
    listed = Pricing(data).cheap(1e-30 * (1 + rng.random(data.types)), np.array([2 * times[0].max(), -1.0]))
    assert [len(each.values) for each in listed] == [len(times[0]), 0]


@pytest.mark.parametrize("seed", range(30))
def test_guesses_bound_the_least_value(seed):
    """From below, and from above by configurations that can be had at that price, none dearer than what was known."""
    rng = np.random.default_rng(seed)
    data = arrays(draw(seed, types=3, each=4, jobs=2, exchange=seed % 2 > 0))
    prices = prices_for(data, rng)
    every = [everything(data, job) for job in range(data.jobs)]
    values = [times + rows @ prices for rows, times in every]
    known = np.array([np.quantile(each, 0.5) for each in values])
    found = Pricing(data).guess(prices, known)
    least = np.array([each.min() for each in values])
    assert (found.floor <= least * (1 + 1e-12)).all()
    assert (found.floor >= 0.9 * least).all()
    assert (found.known >= least * (1 - 1e-12)).all()
    assert (found.known <= 1.02 * least).all()
    for job, value, counts in zip(found.group.tolist(), found.values.tolist(), found.counts, strict=True):
        rows = every[job][0]
        assert float(values[job][(rows == counts).all(axis=1)][0]) * (1 - 1e-12) <= value <= known[job]


def test_too_many_labels_are_refused(monkeypatch):
    """Labels are counted before they are made; only the job that has too many goes without."""
    data = arrays(draw(1, types=3, each=4, jobs=2))
    few = Pricing(data).cheap(np.zeros(3), np.array([-1.0, 1e12]), cells=100)
    assert len(few[0].values) == 0
    assert few[1] is None
    monkeypatch.setattr(pricing, "CELLS", 100)
    assert Pricing(data).cheap(np.zeros(3), np.full(2, 1e12)) == [None, None]


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
    start = best_local(data)
    bound = generate(first_pool(data, start), guess=first_prices(data, data.total(start))).bound
    assert 0.9 * optimum <= bound <= optimum * (1 + 1e-12)


def ratio(seed, **changes):
    """Three jobs on nine workers of three types."""
    shape = {"types": 3, "each": 3, "jobs": 3, "exchange": seed % 3 > 0, "most": None if seed % 2 else 4}
    return draw(seed, **shape).model_copy(update={"objective": "max_rho", **changes})


@pytest.mark.parametrize("seed", range(10))
def test_covers_are_below_all_that_is_soon_enough(seed):
    """Each is soon enough; for each configuration that is, one has no more workers of any type; none has one too many."""
    data = arrays(ratio(seed))
    for job in range(data.jobs):
        every = configurations(data, job)
        times = data.times(job, every)
        for share in (0.0, 0.1, 0.5, 1.0):
            most_s = float(np.quantile(times, share)) * (1 + 1e-6)
            listed = covers(data, job, most_s)
            assert (data.times(job, listed) <= most_s).all()
            below = (listed[:, None, :] <= every[None, times <= most_s]).all(axis=2)
            assert below.any(axis=0).all()
            assert len(np.unique(listed, axis=0)) == len(listed)


@pytest.mark.parametrize("seed", range(10))
def test_covers_by_their_price(seed):
    """Those up to a limit are those of the whole list; the cheapest is among the few that are asked for alone."""
    data, rng = arrays(ratio(seed)), np.random.default_rng(seed)
    prices = rng.uniform(0, 1, data.types)
    for job in range(data.jobs):
        most_s = float(np.quantile(data.times(job, configurations(data, job)), 0.3))
        every = covers(data, job, most_s)
        paid = every @ prices
        limit = float(np.quantile(paid, 0.5))
        few = covers(data, job, most_s, prices=prices, limit=limit)
        assert {tuple(row) for row in few.tolist()} == {tuple(row) for row in every[paid <= limit].tolist()}
        cheapest = covers(data, job, most_s, prices=prices, limit=some_price(data, job, most_s, prices), cheapest=True)
        assert (cheapest @ prices).min() == pytest.approx(paid.min(), rel=1e-12)
        assert some_price(data, job, most_s, prices) >= paid.min() * (1 - 1e-12)


def test_there_is_no_cover_below_what_a_job_takes_alone():
    """Nor a price."""
    data = arrays(ratio(1))
    most_s = float(data.times(0, configurations(data, 0)).min()) * (1 - 1e-6)
    assert len(covers(data, 0, most_s)) == 0
    assert some_price(data, 0, most_s, np.ones(3)) == np.inf


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("seed", range(8))
def test_thresholds_against_the_dynamic_program(seed, whole, monkeypatch):
    """Prices never refute what can be kept; the search finds what can be, and only that; with lists and without."""
    if not whole:
        monkeypatch.setattr(thresholds, "_FEW", 0)
    data = arrays(ratio(seed))
    optimum = data.total(solve_by_states(data))
    for rho in (optimum * 0.5, optimum * (1 - 1e-9), optimum * (1 + 1e-9), optimum * 1.5):
        level = level_at(data, rho, 1 / data.stock)
        found = choice_within(data, level)
        assert not (level.refuted and rho > optimum)
        assert (found is not None) == (rho > optimum)
        if found is not None:
            assert (found.sum(axis=0) <= data.stock).all()
            assert data.total(found) <= rho
    low, _ = bound_by_thresholds(data, data.total(best_local(data)))
    assert alone(data) <= low <= optimum
    best = lower(data, best_local(data), low, lambda level: choice_within(data, level))
    assert data.total(best) == pytest.approx(optimum, rel=1e-9)
    assert data.total(lower(data, best_local(data), low, by_beam(data))) <= data.total(best_local(data))


@pytest.mark.parametrize("seed", range(4))
def test_highs_chooses_where_labels_are_too_many(seed, monkeypatch):
    """The same optimum as the dynamic program."""
    instance = ratio(seed)

    def too_many(*args, **kwargs):
        raise TooMany

    monkeypatch.setattr(thresholds, "cheapest_within", too_many)
    monkeypatch.setattr("dlsched.matching_placement.exact.by_beam", lambda data, tick: lambda level: None)
    result = dlsched.solve(instance, method="columns")
    assert result.status is TerminationStatus.OPTIMAL
    data = arrays(instance)
    assert data.total(counts_of(instance, result.solution)) == pytest.approx(
        data.total(solve_by_states(data)), rel=1e-9
    )


def test_too_many_covers_leave_a_bound(monkeypatch):
    """What a job takes alone, with a certificate; the bound method refuses, and the beam keeps its first answer."""
    monkeypatch.setattr(thresholds, "_FEW", 0)
    monkeypatch.setattr(thresholds, "covers", lambda *args, **kwargs: (_ for _ in ()).throw(TooMany))
    instance = ratio(1)
    result = dlsched.solve(instance, method="columns")
    assert (result.status, result.bound_source) == (TerminationStatus.FEASIBLE, "certificate")
    assert result.bound == pytest.approx(alone(arrays(instance)), rel=1e-9)
    with pytest.raises(dlsched.UsageError, match="too many configurations"):
        dlsched.solve(instance, method="configuration-lp")
    beam, first = (dlsched.solve(instance, method=name) for name in ("beam", "local-search"))
    assert beam.objective == first.objective


def test_labels_are_limited(monkeypatch):
    """Covers of more numbers than allowed are not listed."""
    with pytest.raises(TooMany):
        covers(arrays(ratio(1)), 0, 1e9, cells=0)
