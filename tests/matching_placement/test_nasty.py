"""Every method on nasty instances: results that pass ``check``, at the optimum by brute force, with bounds that hold."""

import pytest
from nasty import campaign

import dlsched
from dlsched import Limits, TerminationStatus
from dlsched.matching_placement import check
from dlsched.matching_placement.methods import METHODS
from dlsched.testing import brute_force_placement

from .draw import draw, entry, made
from .nasty import nasty

PROGRAMS = ("milp", "assignment", "minlp")


def test_programs_on_a_sample():
    """The solvers' answers, on instances of which each once was called infeasible or given a wrong bound."""
    own = set(METHODS) - set(PROGRAMS)
    for seed in (379, 397, 1107):
        seen = campaign(nasty, brute_force_placement, range(seed, seed + 1), skip=own)
        assert all(seen[f"{name} optimal"] == 1 for name in PROGRAMS)


@pytest.mark.long
def test_programs():
    """A thousand instances by solvers."""
    print(f"\n{dict(campaign(nasty, brute_force_placement, range(1000), skip=set(METHODS) - set(PROGRAMS)))}")


def test_a_cost_of_next_to_nothing_is_proven():
    """Two fast workers: 2e-9 x 8 / 2e9 of computing and 2 x 2e-9 x 3e-7 / 2 / 0.25 of exchange, 2.408e-15 s."""
    sizes = {"min_workers": 2, "max_workers": 2}
    short = entry({"slow": 1e-9, "fast": 1e9}, 8.0, iterations=2e-9, gradient=3e-7, **sizes)
    instance = made(["slow", *["fast"] * 3], short, bandwidth={"slow": 4.0, "fast": 0.25})
    for method in ("columns", "milp", "assignment"):
        result = dlsched.solve(instance, method=method)
        assert result.status is TerminationStatus.OPTIMAL
        assert result.objective == pytest.approx(2.408e-15, rel=1e-12)
        assert result.bound == pytest.approx(2.408e-15, rel=1e-6)


def test_jobs_a_quadrillion_apart_are_proven():
    """The long job has both workers of its type, 5e9 / 2 s; the short one keeps the third, 1e-6 s."""
    long, short = entry({"u": 1.0, "v": 1e-9}, iterations=5e9), entry({"u": 1e-9, "v": 1.0}, iterations=1e-6)
    instance = made("uuv", long, short)
    for method in ("exact", "columns", "relaxation", "configuration-lp"):
        result = dlsched.solve(instance, method=method)
        assert result.bound == pytest.approx(1.25e9, rel=1e-9 if method != "relaxation" else 1e-4)


@pytest.mark.parametrize("method", [name for name, method in METHODS.items() if method.kind != "bound"])
def test_without_any_time_an_answer_is_held(method):
    """Stopped at the first tick: what a quick rule finds, by every method (one that is quick anyway ends)."""
    instance = draw(2, types=3, each=3, jobs=4)
    result = dlsched.solve(instance, method=method, limits=Limits(time_s=0.0))
    assert result.status is (TerminationStatus.FEASIBLE if method == "fastest-first" else TerminationStatus.TIME_LIMIT)
    assert check(instance, result.solution) == []


def test_what_is_vast_is_refused():
    """300 jobs on 3 x 200 workers: far too many rows for programs worker by worker, and columns for one by configurations."""
    instance = draw(1, types=3, each=200, jobs=300)
    for method, words in (("milp", "columns or more"), ("assignment", "coefficients"), ("minlp", "terms")):
        with pytest.raises(dlsched.UsageError, match=words):
            dlsched.solve(instance, method=method)


def test_initial_workers_of_many_are_quickly_chosen(monkeypatch):
    """Beyond the assignment's size: the job with most samples takes its fastest; where that starves another, a flow."""
    from dlsched.matching_placement import heuristics
    from dlsched.matching_placement.arrays import arrays

    monkeypatch.setattr(heuristics, "LARGEST", 0)
    small, large = (entry({"u": 3.0, "v": 1.0}, iterations=iterations) for iterations in (1.0, 2.0))
    only = entry({"u": 1.0})
    assert heuristics.initial(arrays(made("uv", small, large))).tolist() == [[0, 1], [1, 0]]
    assert heuristics.initial(arrays(made("uv", only, large))).tolist() == [[1, 0], [0, 1]]
