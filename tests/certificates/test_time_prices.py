"""Bounds from prices over time: the form of the prices, and least costs of rigid and of malleable jobs."""

import math
import random
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from elastic_stream.lone_jobs import cost_in_steps

from dlsched.algorithms.serial_schedule import earliest_starts
from dlsched.certificates.time_prices import Window, least_costs, rigid_value


def paid(time, breakpoints, prices):
    """The integral of the prices until a time, piece by piece."""
    pieces = zip(breakpoints, breakpoints[1:], prices, strict=False)
    return sum(
        (Fraction(p) * max(Fraction(0), min(time, Fraction(b)) - Fraction(a)) for a, b, p in pieces), Fraction(0)
    )


def value(releases, lengths, units, total, breakpoints, prices):
    """The bound, by every start at which the cost of a job can change its slope."""
    found = -total * paid(Fraction(breakpoints[-1]), breakpoints, prices)
    for release, length, held in zip(map(Fraction, releases), map(Fraction, lengths), units, strict=True):
        moments = [Fraction(time) - before for time in breakpoints for before in (0, length)]
        found += min(
            start + length + held * (paid(start + length, breakpoints, prices) - paid(start, breakpoints, prices))
            for start in (release, *(moment for moment in moments if moment > release))
        )
    return found


def drawn(seed):
    """Up to five jobs on four units, and up to five prices, also before all releases and after all ends."""
    rng = random.Random(seed)
    count, pieces = rng.randint(1, 5), rng.randint(0, 5)
    releases = [rng.randint(0, 8) / 4 + rng.random() * rng.randint(0, 1) for _ in range(count)]
    lengths = [rng.choice([0.0, rng.random() * 3, rng.randint(0, 8) / 4]) for _ in releases]
    units = [rng.randint(1, 4) for _ in releases]
    breakpoints = sorted(rng.sample([number / 8 for number in range(-8, 60)], pieces + 1))
    prices = [rng.choice([0.0, rng.random(), rng.randint(0, 4) / 2]) for _ in range(pieces)]
    return releases, lengths, units, 4, breakpoints, prices


def test_by_hand():
    """Two jobs of a second on one unit: at a price of 1 in the first second both cost 2, now or later, less that second."""
    assert rigid_value([0.0, 0.0], [1.0, 1.0], [1, 1], 1, [0.0, 1.0], [1.0]) == 2 + 2 - 1
    assert rigid_value([0.0, 0.0], [1.0, 1.0], [1, 1], 1, [0.0, 1.0], [0.5]) == 1.5 + 1.5 - 0.5
    assert rigid_value([0.0, 0.0], [1.0, 1.0], [1, 1], 1, [0.0], []) == 2
    assert rigid_value([0.0], [2.0], [3], 4, [5.0, 6.0], [9.0]) == 2 - 4 * 9


@pytest.mark.parametrize("seed", range(300))
def test_by_every_start(seed):
    """Exactly, with prices before, between and after."""
    assert rigid_value(*drawn(seed)) == value(*drawn(seed))


@pytest.mark.parametrize("seed", range(100))
def test_no_schedule_does_better(seed):
    """Some serial schedule is optimal: the best of all orders, starts as early as units are free."""
    releases, lengths, units, total, breakpoints, prices = drawn(seed)
    jobs = [(release, length, [held]) for release, length, held in zip(releases, lengths, units, strict=True)]
    best = min(
        sum(start + job[1] for start, job in zip(earliest_starts([total], order), order, strict=True))
        for order in permutations(jobs)
    )
    assert rigid_value(releases, lengths, units, total, breakpoints, prices) <= Fraction(best) + Fraction(1, 10**9)


@pytest.mark.parametrize(
    ("breakpoints", "prices", "words"),
    [
        ([0.0, 1.0], [-1.0], "prices must be numbers >= 0"),
        ([0.0, 1.0], [math.nan], "prices must be numbers >= 0"),
        ([0.0, 1.0], [math.inf], "prices must be numbers >= 0"),
        ([1.0, 1.0], [1.0], "breakpoints must ascend"),
        ([1.0, 0.0], [1.0], "breakpoints must ascend"),
        ([0.0, math.inf], [1.0], "breakpoints must ascend"),
        ([0.0, math.nan], [1.0], "breakpoints must ascend"),
        ([0.0, 1.0], [], "one more than prices"),
        ([], [], "one more than prices"),
    ],
)
def test_what_are_no_prices_is_refused(breakpoints, prices, words):
    """Negative, endless or no numbers, breakpoints out of order, and too few or too many."""
    with pytest.raises(ValueError, match=words):
        rigid_value([0.0], [1.0], [1], 1, breakpoints, prices)


ABOVE = 1 + 2.0**-47
"""By which speeds must be larger than they are."""


def drawn_of_malleable(generator, ugly):
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
        window = drawn_of_malleable(np.random.default_rng(seed), ugly)
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
