"""The largest ratio: covers against all configurations, and thresholds that can be kept against the dynamic program."""

import numpy as np
import pytest

import dlsched
from dlsched import TerminationStatus
from dlsched.core.limits import TooMany
from dlsched.matching_placement.arrays import arrays, counts_of
from dlsched.matching_placement.configurations import thresholds
from dlsched.matching_placement.configurations.thresholds import (
    alone,
    bound_by_prices,
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

from .draw import draw


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
    low, _ = bound_by_prices(data, data.total(best_local(data)))
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
