"""Prices by tatonnement and rounding: single steps against all changes listed, what they prove against the optimum."""

from itertools import product

import numpy as np
import pytest

import dlsched
from dlsched import matching_placement
from dlsched.core.status import Sense, TerminationStatus
from dlsched.matching_placement import exact, heuristics, lagrange
from dlsched.matching_placement.arrays import arrays, placement
from dlsched.matching_placement.certificate import verify
from dlsched.matching_placement.configurations import least_value
from dlsched.matching_placement.heuristics import soon_counts
from dlsched.matching_placement.objectives import objective_of
from dlsched.matching_placement.rounding import best_changes, rounded, tatonnement

from .draw import draw, entry, made
from .test_configurations import prices_for

AIMS = ({}, {"objective": "alpha_fair", "alpha": 1}, {"objective": "alpha_fair", "alpha": 2})


def every_change(data, job, counts, *, out, into, whole):
    """All counts that a job can change to, one worker at a time or all of one type, by the rules written out."""
    kinds = data.types
    listed = []
    for given, received in product([*range(kinds), None], repeat=2):
        changed = counts.copy()
        if given is not None:
            changed[given] -= 1
        if received is not None:
            changed[received] += 1
        if (
            given != received
            and out[kinds if given is None else given]
            and into[kinds if received is None else received]
        ):
            listed.append(changed)
    for kind, change in product(range(kinds), (-1, 0, 1)):
        if whole:
            listed.append(np.eye(kinds, dtype=np.int64)[kind] * (counts.sum() + change))
    return [
        each
        for each in listed
        if (each >= 0).all()
        and (each <= data.stock).all()
        and max(1, data.least[job]) <= each.sum() <= data.most[job]
        and not each[data.rates[job] == 0].any()
    ]


@pytest.mark.parametrize("seed", range(20))
def test_the_best_change_against_all(seed):
    """Of every job, with some types closed: the rise is that of the best in the list, and applying it gives its counts."""
    rng = np.random.default_rng(seed)
    instance = draw(seed, types=4, each=3, jobs=5, exchange=seed % 3 > 0, most=3 if seed % 2 else None)
    data, prices = arrays(instance), prices_for(arrays(instance), rng)
    counts = soon_counts(data)
    out, into = (np.append(rng.random(4) < 0.7, rng.random() < 0.7) for _ in range(2))
    changes = best_changes(data, np.arange(5), counts, prices, out, into, whole=seed % 2 > 0)
    for job in range(5):
        now = float(data.cost(job, counts[job]) + counts[job] @ prices)
        listed = every_change(data, job, counts[job], out=out, into=into, whole=seed % 2 > 0)
        if not listed:
            assert changes.rise[job] == np.inf
            continue
        least = min(float(data.cost(job, each) + each @ prices) for each in listed)
        assert changes.rise[job] == pytest.approx(least - now, rel=1e-9, abs=1e-9 * now)
        changed = counts.copy()
        changes.apply(changed, np.array([job]))
        assert float(data.cost(job, changed[job]) + changed[job] @ prices) == pytest.approx(least, rel=1e-9)


@pytest.mark.parametrize("aim", AIMS, ids=str)
@pytest.mark.parametrize("seed", range(4))
def test_bound_and_placement_enclose_the_optimum(seed, aim):
    """On small instances, and the certificate proves its own value."""
    instance = draw(seed, types=3, each=4, jobs=4, exchange=seed % 2 > 0).model_copy(update=aim)
    optimum = dlsched.solve(instance, method="dp").objective
    certificate = lagrange(instance)
    data, start = arrays(instance), soon_counts(arrays(instance))
    answer = placement(instance, rounded(data, start, *tatonnement(data, start)[1:]))
    assert matching_placement.check(instance, answer) == []
    low, high = certificate.value, matching_placement.objective(instance, answer)
    if objective_of(instance).sense is Sense.MAXIMIZE:
        low, high = high, low
    assert low <= optimum + 1e-9 * abs(optimum)
    assert high >= optimum - 1e-9 * abs(optimum)
    assert certificate.value == pytest.approx(float(verify(instance, certificate)), rel=1e-15)


def test_the_largest_ratio_is_rounded_and_has_no_such_bound():
    """The placement keeps the rules; the bound is refused in words."""
    instance = draw(1, types=3, each=4, jobs=4).model_copy(update={"objective": "max_rho"})
    data, start = arrays(instance), soon_counts(arrays(instance))
    counts = rounded(data, start, *tatonnement(data, start)[1:])
    assert matching_placement.check(instance, placement(instance, counts)) == []
    assert data.total(counts) <= data.total(start)
    with pytest.raises(dlsched.UsageError, match="max_rho"):
        lagrange(instance)


def test_where_no_exchange_is_left_the_start_is_improved():
    """Two jobs must have the only worker that serves a; both prefer it, and b can have the other."""
    fast = entry({"V": 8.0, "T": 1.0}, 8)
    instance = made("VT", entry({"V": 8.0}, 8), fast)
    data = arrays(instance)
    start = np.array([[1, 0], [0, 1]])
    both = np.array([[1, 0], [1, 0]])
    assert rounded(data, start, np.zeros(2), both).tolist() == start.tolist()
    tight = made("VV", entry({"V": 1.0}, 8, min_workers=1), entry({"V": 1.0}, 8, min_workers=1))
    counts = rounded(arrays(tight), np.array([[1], [1]]), np.zeros(1), np.array([[2], [1]]))
    assert counts.tolist() == [[1], [1]]


def test_large_instances_begin_with_prices(monkeypatch):
    """With both limits lowered: a gap within 2 % and a certificate, no column generation; status and note say so."""
    instance = matching_placement.generate(preset="many-types", jobs=150, gpus=300, types=12, seed=0)
    monkeypatch.setattr(heuristics, "MANY_PAIRS", 1000)
    monkeypatch.setattr(exact, "MANY_PAIRS", 1000)
    monkeypatch.setattr(exact, "MOST_PAIRS", 1000)
    result = dlsched.solve(instance)
    assert result.status is TerminationStatus.FEASIBLE
    assert "too many for column generation" in result.message
    assert result.gap < 0.02
    assert verify(instance, result.certificate) >= result.bound
    monkeypatch.undo()
    columns = dlsched.solve(instance, method="configuration-lp")
    assert result.bound <= columns.bound <= result.objective


def test_vectors_in_small_blocks_have_the_same_values(monkeypatch):
    """Blocks are halved down to single jobs."""
    instance = draw(3, types=4, each=4, jobs=9)
    data, prices = arrays(instance), prices_for(arrays(instance), np.random.default_rng(3))
    together = least_value.least_values(data, prices)
    monkeypatch.setattr(least_value, "_VECTORS", 5)
    assert least_value.least_values(data, prices).tolist() == together.tolist()
