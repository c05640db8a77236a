"""Heuristics by hand, their promises, and that each step of local search is the best there is."""

import itertools

import numpy as np
import pytest

import dlsched
from dlsched.core.limits import Limits
from dlsched.core.status import TerminationStatus
from dlsched.matching_placement import beam, equal, fastest_first, local_search, marginal
from dlsched.matching_placement.arrays import arrays
from dlsched.matching_placement.exact import solve_by_states
from dlsched.matching_placement.heuristics import MARGINAL, greedy, improve, initial

from .draw import draw, entry, made


def plain(types, jobs):
    """Workers by type and rate; jobs by work; no communication."""
    workers = {f"{kind}{k}": kind for kind, (number, _) in types.items() for k in range(number)}
    rates = {kind: rate for kind, (_, rate) in types.items()}
    return made(workers, *(entry(rates, work) for work in jobs))


def test_equal_by_hand():
    """Three fast and two slow workers, two jobs: dealt out in turn, so two fast and a slow one, a fast and a slow one."""
    placement = equal(plain({"f": (3, 4.0), "s": (2, 1.0)}, [8, 8]))
    assert placement.workers == {"a": ("f0", "f1", "s0"), "b": ("f2", "s1")}


def test_fastest_first_by_hand():
    """Two workers each (5 // 2): the first job takes two fast ones, the second the last fast one and a slow one."""
    placement = fastest_first(plain({"s": (2, 1.0), "f": (3, 4.0)}, [8, 8]))
    assert placement.workers == {"a": ("f0", "f1"), "b": ("s0", "f2")}


def test_marginal_by_hand():
    """Seeds minimise 90 / rate + 10 / rate': rates 9 and 5, 12 s; the worker of rate 1 then saves 1 s or 1/3 s.

    90 / 9 - 90 / 10 = 1 for the long job, 10 / 5 - 10 / 6 = 1/3 for the short one.
    """
    placement = marginal(plain({"a": (1, 9.0), "b": (1, 1.0), "c": (1, 5.0)}, [90, 10]))
    assert placement.workers == {"a": ("a0", "b0"), "b": ("c0",)}


def test_a_heuristic_may_find_nothing():
    """The first job takes what the second one needs: no placement, though there is one."""
    instance = made({"x": "x", "y": "y"}, entry({"x": 2.0, "y": 1.0}), entry({"x": 1.0}))
    assert fastest_first(instance) is None
    assert dlsched.solve(instance, method="fastest-first").status == "no_solution"
    assert marginal(instance).workers == {"a": ("y",), "b": ("x",)}


@pytest.mark.parametrize("seed", range(20))
def test_initial_workers_are_the_cheapest_of_their_kind(seed):
    """Against every assignment of one worker a job, by trying all."""
    data = arrays(draw(seed, types=4, each=1, jobs=3))
    best = min(
        sum(data.work[job] / data.rates[job, kind] for job, kind in enumerate(chosen))
        for chosen in itertools.permutations(range(4), 3)
        if all(data.rates[job, kind] > 0 for job, kind in enumerate(chosen))
    )
    found = initial(data)
    assert (found.sum(axis=1) == 1).all()
    assert sum(data.work / (found * data.rates).sum(axis=1)) == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize("seed", range(25))
def test_greedy_saves_half_of_what_any_completion_saves(seed):
    """Without communication: the saving against the best completion of the same initial workers, found by trying every worker."""
    rng = np.random.default_rng(seed)
    data = arrays(draw(seed, types=int(rng.integers(3, 7)), each=1, jobs=int(rng.integers(2, 4)), exchange=False))
    start = initial(data)
    idle = np.flatnonzero(data.stock - start.sum(axis=0))
    best = data.total(start)
    for owners in itertools.product(range(-1, data.jobs), repeat=len(idle)):
        if all(job < 0 or data.rates[job, kind] > 0 for job, kind in zip(owners, idle, strict=True)):
            trial = start.copy()
            for job, kind in zip(owners, idle, strict=True):
                if job >= 0:
                    trial[job, kind] += 1
            best = min(best, data.total(trial))
    saved, possible = data.total(start) - data.total(greedy(data, start)), data.total(start) - best
    assert saved >= possible / 2 - 1e-9 * data.total(start)


def test_the_promise_knows_where_it_holds():
    """Communication, a minimum of two, a maximum or too many workers: no promise."""
    promised = draw(0, types=3, each=1, jobs=2, exchange=False)
    assert MARGINAL.holds_for(promised)
    assert not MARGINAL.holds_for(draw(0, types=3, each=1, jobs=2))
    assert not MARGINAL.holds_for(draw(0, types=3, each=1, jobs=2, exchange=False, most=2))
    assert not MARGINAL.holds_for(draw(0, types=3, each=10, jobs=2, exchange=False))


@pytest.mark.parametrize("seed", range(20))
def test_no_move_or_swap_improves_a_local_optimum(seed):
    """Every move and swap of single workers, tried one by one; the end is no worse than the start."""
    instance = draw(seed, types=3, each=3, jobs=3, most=4 if seed % 2 else None)
    data = arrays(instance)
    start = greedy(data, initial(data))
    found = improve(data, start)
    total = data.total(found)
    assert total <= data.total(start) * (1 + 1e-12)
    kinds = range(data.types)
    idle = data.jobs
    everyone = np.vstack((found, data.stock - found.sum(axis=0)))
    for giver, taker in itertools.permutations(range(data.jobs + 1), 2):
        for given, back in itertools.product(kinds, (*kinds, None)):
            trial = everyone.copy()
            trial[giver, given] -= 1
            trial[taker, given] += 1
            if back is not None:
                trial[giver, back] += 1
                trial[taker, back] -= 1
            rows = trial[:idle]
            size = rows.sum(axis=1)
            fits = (trial >= 0).all() and (size >= data.least).all() and (size <= data.most).all()
            if fits and not ((rows > 0) & (data.rates == 0)).any():
                assert data.total(rows) >= total * (1 - 1e-9)


@pytest.mark.parametrize("seed", range(12))
def test_the_better_heuristics_are_no_worse(seed):
    """The beam <= local_search <= marginal, and none below the optimum."""
    instance = draw(seed, types=3, each=5, jobs=5)
    data = arrays(instance)
    optimum = data.total(solve_by_states(data)) / data.jobs
    values = [dlsched.matching_placement.objective(instance, each(instance)) for each in (beam, local_search, marginal)]
    assert values == sorted(values)
    assert values[0] >= optimum * (1 - 1e-12)
    assert values[0] <= optimum * 1.01


def test_a_narrow_beam_is_refused():
    """At least one label."""
    with pytest.raises(dlsched.UsageError, match="width: found 0"):
        beam(draw(0, types=2, each=2, jobs=2), width=0)


def test_identical_workers_and_jobs_get_alike():
    """Six alike workers, three alike jobs: two each is optimal, so all times are equal and Jain's index is 1."""
    instance = plain({"a": (6, 2.0)}, [8, 8, 8])
    result = dlsched.solve(instance)
    assert result.objective == pytest.approx(2.0)
    assert {len(held) for held in result.solution.workers.values()} == {2}
    alike = {"mean_completion_s": 2.0, "max_rho": 1.0, "jain_index": 1.0, "idle_workers": 0.0}
    assert result.figures == pytest.approx(alike)


def interrupted_at(doing):
    """A progress callback that is Ctrl-C once something is found by ``doing``."""

    def progress(found):
        if found.doing == doing:
            raise KeyboardInterrupt

    return progress


@pytest.mark.parametrize("limits", [Limits(time_s=0), Limits(nodes=0), Limits(time_s=1e-9)])
def test_a_stopped_beam_keeps_the_start(limits):
    """A start that is better than what is found at once stays; one that is worse does not."""
    instance = draw(3, types=3, each=5, jobs=5)
    quick, good = dlsched.solve(instance, method="fastest-first"), dlsched.solve(instance, method="local-search")
    assert good.objective < quick.objective * 0.99
    stopped = dlsched.solve(instance, method="beam", start=good.solution, limits=limits)
    assert (stopped.objective, stopped.solution) == (good.objective, good.solution)
    idle = dlsched.solve(instance, method="equal")
    worse = idle if idle.objective > quick.objective else quick
    stopped = dlsched.solve(instance, method="beam", start=worse.solution, limits=limits)
    assert stopped.objective <= quick.objective


@pytest.mark.parametrize("aim", ["mean", "max_rho"])
def test_an_interrupted_beam_keeps_what_it_began_with(aim):
    """Its own start is the answer of ``local-search``, which no faster rule replaces."""
    instance = draw(3, types=3, each=5, jobs=5).model_copy(update={"objective": aim})
    quick, local = dlsched.solve(instance, method="fastest-first"), dlsched.solve(instance, method="local-search")
    assert local.objective < quick.objective
    stopped = dlsched.solve(instance, method="beam", progress=interrupted_at("beam"))
    assert stopped.status is TerminationStatus.INTERRUPTED
    assert stopped.objective == local.objective
    assert "beam was stopped" in stopped.message
