"""Drawn arrivals have the gaps, the bursts and the days that their names say."""

import numpy as np
import pytest

from dlsched.cluster.arrivals import burst_arrivals, daynight_arrivals, poisson_arrivals


def test_arrival_patterns():
    """Mean gaps as asked; bursts come together; more arrivals by day than by night."""
    for arrive in (poisson_arrivals, burst_arrivals, daynight_arrivals):
        times = arrive(np.random.default_rng(0), 20_000, 20_000 * 300.0)
        assert len(times) == 20_000 and np.all(np.diff(times) >= 0)
        assert times[-1] / 20_000 == pytest.approx(300.0, rel=0.1)
    bursts = burst_arrivals(np.random.default_rng(0), 20_000, 1e6)
    assert 20_000 / len(np.unique(bursts)) == pytest.approx(8.0, rel=0.1)
    times = daynight_arrivals(np.random.default_rng(0), 20_000, 20 * 86400.0)
    day = (times % 86400) < 43200
    assert day.mean() == pytest.approx(0.5 + 0.9 / np.pi, abs=0.03)
