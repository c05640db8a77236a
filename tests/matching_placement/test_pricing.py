"""The pricing problem lists exactly the cheap configurations, and its guesses are configurations."""

import itertools

import numpy as np
import pytest

from dlsched.matching_placement.arrays import arrays
from dlsched.matching_placement.configurations import pricing
from dlsched.matching_placement.configurations.pricing import Pricing

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
