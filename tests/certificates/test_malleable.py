"""What jobs cost by themselves: held to all ways to hold units, interval by interval, in rational arithmetic."""

from fractions import Fraction

import numpy as np
import pytest
from elastic_stream.lone_jobs import cost_in_steps

from dlsched.certificates.malleable import Window, least_costs

ABOVE = 1 + 2.0**-47
"""By which speeds must be larger than they are."""


def drawn(generator, ugly):
    """A window of three jobs: counts 1 and 3 or one of them, four intervals or fewer, zero prices and pauses among them."""
    jobs, intervals = 3, int(generator.integers(1, 5))
    digits = 16 if ugly else 2
    spans = np.round(
        generator.choice([0.05, 0.5, 3.0], size=(jobs, intervals)) + generator.random((jobs, intervals)), digits
    )
    prices = np.round(generator.choice([0.0, 0.1, 1.0, 30.0], size=(jobs, intervals)) * generator.random(), digits)
    seconds = np.sort(np.round(0.5 + generator.random((jobs, 2)) * generator.choice([0.4, 3.0]), digits))[:, ::-1]
    speeds = ABOVE / seconds
    speeds[generator.random(jobs) < 0.3, 0] = 0.0
    pauses = np.round(generator.choice([0.0, 0.2, 2.0]) * generator.random(jobs), digits)
    nodes = np.concatenate((np.zeros((jobs, 1)), np.cumsum(spans, axis=1)), axis=1)
    return Window(nodes, spans, prices, np.tile([1.0, 3.0], (jobs, 1)), speeds, pauses)


def expected(window, job):
    """By all paths, of speeds without what they are larger by."""
    speed = {
        int(count): Fraction(speed) / Fraction(ABOVE)
        for count, speed in zip(window.counts[job], window.speeds[job], strict=True)
        if speed
    }
    starts = np.concatenate(([0], np.cumsum([Fraction(span) for span in window.spans[job]])[:-1]))
    steps = [
        (start, Fraction(span), Fraction(price))
        for start, span, price in zip(starts, window.spans[job], window.prices[job], strict=True)
    ]
    return cost_in_steps(speed, Fraction(window.pauses[job]), steps)


@pytest.mark.parametrize("ugly", [False, True])
def test_the_least_cost_is_that_of_all_paths(ugly):
    """Never more, and by rounding less; 120 jobs."""
    for seed in range(40):
        window = drawn(np.random.default_rng(seed), ugly)
        for job, found in enumerate(least_costs(window)):
            exact = expected(window, job)
            assert exact * (1 - Fraction(1e-12)) <= Fraction(float(found)) <= exact, (seed, job, window)


@pytest.mark.parametrize(("intervals", "length"), [(96, 32), (400, 128), (1600, 512)])
def test_ends_that_are_equally_cheap_everywhere_by_hand(intervals, length):
    """Prices fall evenly by 1 within the seconds that the job takes: wherever it ends, it costs 1 s and what is paid first.

    It runs in the last second before its end, the cheapest, for T + sum of the prices of that second / ``length``; the end a
    step later costs 1 / ``length`` more in time and as much less in prices. The worth of its work is another at every end.
    """
    prices = np.maximum(0, np.arange(intervals - 1, -1 - length, -1))[None] / length
    spans = np.full_like(prices, 1 / length)
    nodes = np.concatenate(([[0.0]], np.cumsum(spans, axis=1)), axis=1)
    found = least_costs(Window(nodes, spans, prices, np.ones((1, 1)), np.full((1, 1), ABOVE), np.zeros(1)))
    exact = 1 + Fraction(sum(range(intervals - length, intervals)), length**2)
    assert exact * (1 - Fraction(1e-11)) <= Fraction(float(found[0])) <= exact
