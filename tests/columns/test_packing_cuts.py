"""Weights that no packing exceeds; prices of single jobs by hand, ever better ones, and against the best schedule."""

import random
from itertools import combinations, pairwise, permutations

import numpy as np
import pytest

from dlsched.algorithms.serial_schedule import earliest_starts
from dlsched.columns.packing_cuts import Part, best_packing_prices, broken_weights
from dlsched.columns.price_ascent import RigidJobs

NONE_BEGUN = np.zeros(20, dtype=bool)


def packings(units, total):
    """All sets of jobs that fit together."""
    for count in range(len(units) + 1):
        for chosen in combinations(range(len(units)), count):
            if sum(units[job] for job in chosen) <= total:
                yield list(chosen)


@pytest.mark.parametrize("seed", range(60))
def test_no_packing_weighs_more_than_one(seed):
    """Weights of random shares: 0, or more than 1 on these; means of packings have none."""
    generator = np.random.default_rng(seed)
    number, total = int(generator.integers(2, 9)), int(generator.integers(2, 9))
    units = generator.integers(1, total + 1, number).astype(float)
    part = Part(np.arange(number), total)
    known = list(packings(units, total))
    mean = np.zeros(number)
    for chosen in generator.choice(len(known), 4):
        mean[known[chosen]] += 0.25
    shares = np.array([generator.random(number), generator.random(number) * 0.6, mean])
    weights = broken_weights(part, units, shares)
    assert not weights[2].any()
    for own, row in zip(weights, shares, strict=True):
        assert max(own[chosen].sum() for chosen in known) <= 1 + 1e-9
        assert not own.any() or float((own * row).sum()) > 1


def test_weights_by_hand():
    """Half of a job of all units and all of one of a single unit: never both. A third of one unit gets as much weight."""
    weights = broken_weights(Part(np.arange(3), 8), np.array([8.0, 1.0, 1.0]), np.array([[0.5, 1.0, 0.0]]))
    assert weights.tolist() == [[1.0, 1.0, 0.0]]


def drawn(seed):
    """Five jobs on four units, in eighths."""
    rng = random.Random(seed)
    releases = np.array([rng.randint(0, 8) / 8 for _ in range(5)])
    lengths = np.array([rng.randint(1, 24) / 8 for _ in releases])
    return RigidJobs(releases, lengths, np.array([float(rng.randint(1, 4)) for _ in releases]), 4)


@pytest.mark.parametrize("seed", range(12))
def test_prices_rise_to_the_best_schedule(seed):
    """Never beyond the best of all orders, and mostly to it."""
    jobs = drawn(seed)
    takes = list(zip(jobs.release_s.tolist(), jobs.length_s.tolist(), [[int(g)] for g in jobs.units], strict=True))
    best = min(
        (sum(start + each[1] - each[0] for start, each in zip(starts, order, strict=True)), order, starts)
        for order in permutations(takes)
        for starts in [earliest_starts([4], order)]
    )
    known = np.array([best[2][best[1].index(each)] for each in takes])
    parts = [Part(np.arange(5), 4)]
    values = [each.flow_s for each in best_packing_prices(jobs, parts, NONE_BEGUN[:5], known, 12)]
    assert all(after >= before * (1 - 1e-9) for before, after in pairwise(values))
    assert best[0] * 0.9 <= values[-1] <= best[0] * (1 + 1e-9)


def test_parts_share_nothing():
    """Two jobs of both units that come together: one waits on a common part, none on two parts."""
    jobs = RigidJobs(np.zeros(2), np.ones(2), np.full(2, 2.0), 4)
    together, apart = [Part(np.arange(2), 2)], [Part(np.array([0]), 2), Part(np.array([1]), 2)]
    for parts, flow in ((together, 3.0), (apart, 2.0)):
        *_, last = best_packing_prices(jobs, parts, NONE_BEGUN[:2], np.array([0.0, 1.0]), 8)
        assert last.flow_s == pytest.approx(flow, rel=1e-9)


def test_what_has_begun_does_not_wait():
    """A job of 3 s that runs, and one of 1 s behind it: 3 + 4, and not 1 + 4."""
    jobs = RigidJobs(np.zeros(2), np.array([3.0, 1.0]), np.ones(2), 1)
    *_, last = best_packing_prices(jobs, [Part(np.arange(2), 1)], np.array([True, False]), np.array([0.0, 3.0]), 8)
    assert last.flow_s == pytest.approx(7.0, rel=1e-9)
