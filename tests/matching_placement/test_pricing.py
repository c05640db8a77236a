"""The pricing problem lists exactly the cheap configurations, and its guesses are configurations."""

import itertools

import numpy as np
import pytest

from dlsched.core.budget import TooMany
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
    """Against all vectors, at thresholds from the least value to all of them."""
    rng = np.random.default_rng(seed)
    most = None if seed % 3 else int(rng.integers(1, 6))
    shape = {"types": int(rng.integers(1, 5)), "each": int(rng.integers(1, 5))}
    data = arrays(draw(seed, **shape, jobs=2, exchange=seed % 4 > 0, most=most))
    prices = prices_for(data, rng)
    for job in range(data.jobs):
        rows, times = everything(data, job)
        values = times + rows @ prices
        for part in (0.0, 0.1, 0.5, 1.0):
            threshold = float(np.quantile(values, part))
            found = Pricing(data, job).cheap(prices, threshold)
            listed = set(map(tuple, found.counts.tolist()))
            assert len(listed) == len(found.counts)
            assert listed >= set(map(tuple, rows[values < threshold * (1 - 1e-9)].tolist()))
            assert listed <= set(map(tuple, rows[values < threshold * (1 + 1e-9)].tolist()))
            assert found.values == pytest.approx([values[(rows == row).all(axis=1)][0] for row in found.counts])
            assert (np.diff(found.values) >= 0).all()


@pytest.mark.parametrize("seed", range(30))
def test_guesses_are_configurations_with_their_values(seed):
    """What ``guess`` returns can be had at that price, cheapest first; it is often the best there is."""
    rng = np.random.default_rng(seed)
    data = arrays(draw(seed, types=3, each=4, jobs=1, exchange=seed % 2 > 0))
    prices = prices_for(data, rng)
    found = Pricing(data, 0).guess(prices)
    rows, times = everything(data, 0)
    known = {tuple(row): value for row, value in zip(rows.tolist(), times + rows @ prices, strict=True)}
    assert found.values == pytest.approx([known[tuple(row)] for row in found.counts.tolist()])
    assert (np.diff(found.values) >= 0).all()
    assert found.values[0] <= 1.2 * min(known.values())


def test_too_many_labels_are_refused(monkeypatch):
    """Labels are counted before they are made."""
    monkeypatch.setattr(pricing, "CELLS", 100)
    data = arrays(draw(1, types=3, each=4, jobs=1))
    with pytest.raises(TooMany):
        Pricing(data, 0).cheap(np.zeros(3), 1e12)
