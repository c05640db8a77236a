"""The bundle ascent reaches optima known by hand, at any scale; prices of rigid jobs are verified by exact code."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from scipy.sparse import csr_array

from dlsched.certificates.time_prices import rigid_value
from dlsched.columns import price_ascent
from dlsched.columns.price_ascent import (
    Ascent,
    Cheapest,
    RigidJobs,
    best_prices,
    cheapest_starts,
    pooled_starts,
    usage,
    waiting_prices,
)
from dlsched.core.arrays import FloatArray

OWN = np.array([[0.0, 1.0], [0.0, 3.0]])  # of two participants: with the supply, and without
USAGE = np.array([1.0, 0.0])


def ascent(scale: float, groups: list[int] | None) -> Ascent:
    """Each takes one unit of the one supply, or does without at a cost; the unit goes to the second, the first pays 1."""

    def price(at: FloatArray) -> Cheapest:
        costs = scale * OWN + USAGE * at[0]
        best = costs.argmin(axis=1)
        rows = np.arange(2)
        return Cheapest(float(costs.min(axis=1).sum()), scale * OWN[rows, best], csr_array(USAGE[best].reshape(2, 1)))

    which = None if groups is None else np.array(groups)
    return Ascent(price, np.array([1.0]), np.array([0.01 * scale]), which)


@pytest.mark.parametrize("scale", [1.0, 2.0**-300, 2.0**300])
@pytest.mark.parametrize("groups", [None, [0, 0]])
def test_it_reaches_the_optimum(scale: float, groups: list[int] | None) -> None:
    """Prices from 1 to 3 let one take the unit: least is 1 + price, less the price is 1."""
    found = ascent(scale, groups)
    for _ in range(60):
        found.step()
        assert found.value <= scale * (1 + 1e-9)
        if found.closed:
            break
    assert found.value == pytest.approx(scale)
    assert scale * (1 - 1e-6) <= found.best[0] <= 3 * scale * (1 + 1e-6)


def drawn(seed, count=8):
    """Jobs on six units, ascending times, and prices between them."""
    rng = np.random.default_rng(seed)
    jobs = RigidJobs(rng.uniform(0, 5, count), rng.uniform(0.1, 4, count), rng.integers(1, 5, count).astype(float), 6)
    times = np.sort(rng.uniform(-1, 12, 7))
    return jobs, times, rng.uniform(0, 2, 6) * rng.integers(0, 2, 6)


def test_cheapest_starts_by_hand():
    """A price of 2 from 1 to 3: a unit job of 1 s released at 1 pays 2 now, or waits until 3; released at .5 it waits too."""
    jobs = RigidJobs(np.array([1.0, 0.5, 0.0]), np.ones(3), np.array([1.0, 2.0, 1.0]), 2)
    found = cheapest_starts(jobs, np.array([1.0, 3.0]), np.array([2.0]))
    assert found.least_s.tolist() == [3.0, 3.0, 1.0]  # 1 + 2 now or 2 + 1 later; 1 + .5 * 2 * 2; before it begins
    assert found.start_s.tolist()[1:] == [0.5, 0.0]


@pytest.mark.parametrize("at_once", [3, 1_000_000])
@pytest.mark.parametrize("seed", range(20))
def test_they_prove_what_the_verifier_says(seed, at_once, monkeypatch):
    """The sum over the jobs is that of exact code, also when few starts are priced in one go; each start costs what is said."""
    monkeypatch.setattr(price_ascent, "_AT_ONCE", at_once)
    jobs, times, prices = drawn(seed)
    found = cheapest_starts(jobs, times, prices)
    exact = rigid_value(
        jobs.release_s.tolist(),
        jobs.length_s.tolist(),
        jobs.units.astype(int).tolist(),
        6,
        times.tolist(),
        prices.tolist(),
    )
    value = found.least_s.sum() + jobs.release_s.sum() - 6 * (np.diff(times) @ prices)
    assert value == pytest.approx(float(exact), abs=1e-9)
    held = usage(jobs, found.start_s, times)
    costs = found.start_s + jobs.length_s - jobs.release_s + held @ prices
    assert np.allclose(costs, found.least_s)
    assert (found.start_s >= jobs.release_s).all()


def test_usage_by_hand():
    """Three units from 1 to 4: a second of the first piece, two of the next, none of the last."""
    jobs = RigidJobs(np.zeros(1), np.array([3.0]), np.array([3.0]), 3)
    assert usage(jobs, np.array([1.0]), np.array([0.0, 2.0, 5.0, 6.0])).toarray().tolist() == [[3.0, 6.0, 0.0]]


def test_the_pool_by_hand():
    """Two units: the least work first, 1 s of 2; then 2 s of 1 and, since it waits for two, 3 s of 2; prices count who waits."""
    jobs = RigidJobs(np.zeros(3), np.array([3.0, 2.0, 0.5]), np.array([2.0, 1.0, 2.0]), 2)
    starts_s = pooled_starts(jobs)
    assert starts_s.tolist() == [2.5, 0.5, 0.0]
    times, prices = waiting_prices(jobs, starts_s)
    assert times.tolist() == [0.0, 0.5, 2.5]
    assert prices.tolist() == [1.0, 0.5]


def test_few_breakpoints_are_kept():
    """Of many, as many as allowed, the first and the last among them."""
    rng = np.random.default_rng(0)
    jobs = RigidJobs(np.sort(rng.uniform(0, 10, 200)), rng.uniform(0, 2, 200), np.ones(200), 8)
    starts_s = pooled_starts(jobs)
    all_times, _ = waiting_prices(jobs, starts_s)
    times, prices = waiting_prices(jobs, starts_s, 20)
    assert len(times) <= 20 < len(all_times) and len(prices) == len(times) - 1
    assert times[0] == all_times[0] and times[-1] == all_times[-1] and (np.diff(times) > 0).all()


@pytest.mark.parametrize("count", [8, 250])
def test_units_jobs_are_proven_optimal(count):
    """Jobs of a second on one unit of two, all there: the relaxation is exact, 1 + 1 + 2 + 2 ..; each yield proves more."""
    jobs = RigidJobs(np.zeros(count), np.ones(count), np.ones(count), 2)
    values = [
        rigid_value([0.0] * count, [1.0] * count, [1] * count, 2, times.tolist(), prices.tolist())
        for times, prices in best_prices(jobs, 40)
    ]
    optimum = 2 * sum(range(1, count // 2 + 1))
    assert all(first < second for first, second in pairwise(values))
    assert Fraction(optimum) * Fraction(999, 1000) <= values[-1] <= optimum


def test_prices_of_a_sample_are_nearly_as_good(monkeypatch):
    """Of 300 jobs 100, and fewer breakpoints: prices per unit of the whole pool, proven on all jobs."""
    rng = np.random.default_rng(0)
    jobs = RigidJobs(np.zeros(300), rng.uniform(1, 9, 300), rng.integers(1, 5, 300).astype(float), 40)

    def proven() -> tuple[float, int]:
        *_, (times, prices) = best_prices(jobs, 30)
        paid = 40 * float(np.diff(times) @ prices)
        return float(cheapest_starts(jobs, times, prices).least_s.sum()) - paid, len(times)

    whole, many = proven()
    monkeypatch.setattr(price_ascent, "_SAMPLE", 100)
    monkeypatch.setattr(price_ascent, "_FEW", 50)
    monkeypatch.setattr(price_ascent, "_PASSED", 20)
    found, few = proven()
    assert 0.97 * whole < found <= 1.001 * whole and few < many / 2


def test_a_sample_has_jobs_of_all_sizes_by_hand(monkeypatch):
    """Rows of two out of four jobs by release: the first gives its smaller ones, the second its larger ones."""
    monkeypatch.setattr(price_ascent, "_ROW", 2)
    release_s, areas = np.arange(8.0)[::-1], np.array([8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0])
    # by release the indices are 7, 6, 5, 4 (areas 1 to 4) and 3, 2, 1, 0 (5 to 8); pairs by area; row 1 turns by 1.236
    assert price_ascent.sample(release_s, areas, 2).tolist() == [0, 2, 5, 7]


def test_nothing_to_do_where_none_waits():
    """Enough units: prices of 0 only."""
    jobs = RigidJobs(np.array([0.0, 0.0]), np.ones(2), np.ones(2), 2)
    (only,) = best_prices(jobs, 40)
    assert not only[1].any()


@pytest.mark.parametrize("calls", [3, 13])
def test_ticks_may_stop_it(calls):
    """It is called for each of the 8 jobs in the pool, 5 times to begin with, and in every round."""

    def tick():
        nonlocal calls
        calls -= 1
        if calls < 0:
            raise TimeoutError

    jobs = RigidJobs(np.zeros(8), np.ones(8), np.ones(8), 1)
    with pytest.raises(TimeoutError):
        list(best_prices(jobs, 1000, tick))
