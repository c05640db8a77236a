"""Prices over time of rigid jobs: by hand, by trying every start, and below every schedule; what are no prices is refused."""

import math
import random
from fractions import Fraction
from itertools import permutations

import pytest

from dlsched.algorithms.serial_schedule import earliest_starts
from dlsched.certificates.rigid import rigid_value


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
