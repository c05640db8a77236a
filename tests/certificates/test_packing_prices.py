"""Bounds from rates of single jobs and windows: by hand, by every start, against every schedule, and what is refused."""

import math
import random
from fractions import Fraction
from itertools import combinations, pairwise, permutations

import pytest

from dlsched.algorithms.serial_schedule import earliest_starts
from dlsched.certificates.packing_prices import PackedJob, PricedWindow, packing_value


def job(release, length, units, part=0, begun=False):
    return PackedJob(float(release), float(length), units, part, begun)


def test_rates_by_hand():
    """Jobs of 2 s on one and on both of two units: at a rate of 1 for both in the first 2 s each costs 4, now or later."""
    jobs = [job(0, 2, 1), job(0, 2, 2)]
    assert packing_value(jobs, [2], [0.0, 2.0], {0: [1.0], 1: [1.0]}, []) == 4 + 4 - 2
    # they fit together on three units, and bring twice as much
    assert packing_value(jobs, [3], [0.0, 2.0], {0: [1.0], 1: [1.0]}, []) == 4 + 4 - 4
    # so they do in two parts
    assert packing_value([jobs[0], job(0, 2, 2, 1)], [2, 2], [0.0, 2.0], {0: [1.0], 1: [1.0]}, []) == 4 + 4 - 4
    assert packing_value(jobs, [2], [], {}, []) == 4


def test_windows_by_hand():
    """A job of 4 s in (1, 3) throughout if it starts before 1 s, and one of 1 s that touches it until 3 s."""
    jobs = [job(0, 4, 1), job(0, 1, 2)]
    window = PricedWindow(1.0, 3.0, 1, {0: 5.0, 1: 2.0})
    # the first waits until 1 s, when it no longer runs throughout; the second ends as the window begins
    assert packing_value(jobs, [2], [], {}, [window]) == 5 + 1 - 5
    late = [job(0.5, 4, 1), job(0.5, 1, 2)]
    assert packing_value(late, [2], [], {}, [window]) == 5 + min(1.5 + 2, 4) - 5
    assert packing_value(late, [3], [], {}, [window]) == 5 + 3.5 - 7
    # a job that has begun cannot wait
    assert packing_value([job(0.5, 4, 1, 0, True), late[1]], [2], [], {}, [window]) == 4.5 + 5 + 3.5 - 5


def drawn(seed):
    """Up to four jobs on three units, up to four rates a job, and up to three windows, in eighths."""
    rng = random.Random(seed)
    jobs = [job(rng.randint(0, 12) / 8, rng.randint(1, 16) / 8, rng.randint(1, 3)) for _ in range(rng.randint(1, 4))]
    times = sorted(rng.sample([number / 8 for number in range(-4, 40)], rng.randint(1, 5)))
    rates = {
        index: [rng.choice([0.0, 0.5, 1.0, 2.0]) for _ in times[1:]] for index in range(len(jobs)) if rng.random() < 0.8
    }
    windows = []
    for _ in range(rng.randint(0, 3)):
        begin, end = sorted(rng.randint(0, 30) / 8 for _ in range(2))
        charges = {index: rng.randint(0, 4) / 4 for index in range(len(jobs)) if rng.random() < 0.8}
        windows.append(PricedWindow(begin, end, rng.randrange(len(jobs)), charges))
    return jobs, times, rates, windows


def packings(jobs, total):
    for count in range(len(jobs) + 1):
        for chosen in combinations(range(len(jobs)), count):
            if sum(jobs[index].units for index in chosen) <= total:
                yield chosen


def charged(jobs, index, start, times, rates, windows):
    """What a job pays from a start on, by the definition."""
    end = start + Fraction(jobs[index].length)
    pieces = zip(times, times[1:], rates.get(index, []), strict=False)
    paid = sum(Fraction(rate) * max(0, min(end, Fraction(b)) - max(start, Fraction(a))) for a, b, rate in pieces)
    for begin, close, touching, charges in windows:
        inside = start < close and end > begin if index == touching else start < begin and end > close
        paid += Fraction(charges.get(index, 0.0)) if inside else 0
    return paid


@pytest.mark.parametrize("seed", range(150))
def test_by_every_start_and_packing(seed):
    """All starts in sixteenths, at which and between which the cost changes its slope, and all packings."""
    jobs, times, rates, windows = drawn(seed)
    expected = Fraction(0)
    for index, each in enumerate(jobs):
        starts = [Fraction(each.release) + Fraction(step, 16) for step in range(16 * 8)]
        expected += min(s + Fraction(each.length) + charged(jobs, index, s, times, rates, windows) for s in starts)
    for number, (a, b) in enumerate(pairwise(times)):
        most = max(sum(rates[index][number] for index in chosen if index in rates) for chosen in packings(jobs, 3))
        expected -= Fraction(most) * (Fraction(b) - Fraction(a))
    for window in windows:
        expected -= Fraction(max(sum(window.charges.get(i, 0.0) for i in chosen) for chosen in packings(jobs, 3)))
    assert packing_value(jobs, [3], times, rates, windows) == expected


@pytest.mark.parametrize("seed", range(150))
def test_no_schedule_does_better(seed):
    """Some serial schedule is optimal: the best of all orders, starts as early as units are free."""
    jobs, times, rates, windows = drawn(seed)
    takes = [(each.release, each.length, [each.units]) for each in jobs]
    best = min(
        sum(start + each[1] for start, each in zip(earliest_starts([3], order), order, strict=True))
        for order in permutations(takes)
    )
    assert packing_value(jobs, [3], times, rates, windows) <= Fraction(best)


@pytest.mark.parametrize(
    ("times", "rates", "windows", "words"),
    [
        ([0.0, 1.0], {0: [-1.0]}, [], "rates must be numbers >= 0"),
        ([0.0, 1.0], {0: [math.nan]}, [], "rates must be numbers >= 0"),
        ([0.0, 1.0], {0: [math.inf]}, [], "rates must be numbers >= 0"),
        ([1.0, 1.0], {0: [1.0]}, [], "breakpoints must ascend"),
        ([0.0, math.inf], {0: [1.0]}, [], "breakpoints must ascend"),
        ([0.0, 1.0], {0: []}, [], "2 breakpoints have 1 rates between them, found 0"),
        ([], {0: [1.0]}, [], "0 breakpoints have 0 rates between them, found 1"),
        ([], {}, [PricedWindow(1.0, 0.0, 0, {})], "a window must not end before it begins"),
        ([], {}, [PricedWindow(math.nan, 0.0, 0, {})], "a window must not end before it begins"),
        ([], {}, [PricedWindow(0.0, 1.0, 0, {0: -1.0})], "charges must be numbers >= 0"),
        ([], {}, [PricedWindow(0.0, 1.0, 0, {0: math.inf})], "charges must be numbers >= 0"),
    ],
)
def test_what_are_no_rates_is_refused(times, rates, windows, words):
    """Negative, endless or no numbers, times out of order, and too few or too many."""
    with pytest.raises(ValueError, match=words):
        packing_value([job(0, 1, 1)], [1], times, rates, windows)


def test_what_takes_too_long_is_refused_first():
    """Packings of two jobs on 10^9 units, in a piece."""
    jobs = [job(0, 1, 10**9), job(0, 1, 10**9)]
    with pytest.raises(
        ValueError, match="packings of 2 rates and charges on 1,000,000,000 units are too many to verify"
    ):
        packing_value(jobs, [10**9], [0.0, 1.0], {0: [1.0], 1: [1.0]}, [])
