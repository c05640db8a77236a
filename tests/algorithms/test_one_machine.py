"""Single-machine scheduling: order of release, preemptive SRPT, and valid inequalities."""

import itertools
import math
import subprocess
import sys
import time
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ortools.sat.python import cp_model

from dlsched.algorithms import one_machine
from dlsched.algorithms.one_machine import sorted_stably, srpt_completions, srpt_schedule
from dlsched.certificates import srpt_value
from dlsched.core import imports as compiled_module
from dlsched.core.imports import compiled

JOBS = st.lists(st.tuples(st.integers(0, 8), st.integers(0, 4)), min_size=1, max_size=4)
NUMBERS = st.one_of(st.integers(0, 6).map(float), st.floats(0, 10), st.floats(0, 1e-9), st.floats(0, 1e9))
FLOATS = st.lists(st.tuples(NUMBERS, NUMBERS), max_size=12)


def least_sum(jobs):
    """Least sum of completion times by memoised search: at every second, any released job may be served."""

    @cache
    def after(now, left):
        if not any(left):
            return 0
        released = [n for n, (release, _) in enumerate(jobs) if release <= now and left[n] > 0]
        if not released:
            return after(now + 1, left)
        best = []
        for n in released:
            rest = (*left[:n], left[n] - 1, *left[n + 1 :])
            best.append(after(now + 1, rest) + (now + 1 if rest[n] == 0 else 0))
        return min(best)

    return after(0, tuple(size for _, size in jobs)) + sum(release for release, size in jobs if size == 0)


def cpsat_sum(jobs):
    """The same by CP-SAT: when each second of each job's work begins, no two at once."""
    model, seconds, completions = cp_model.CpModel(), [], []
    for release, size in jobs:
        begins = [model.new_int_var(release, horizon_of(jobs) - 1, "") for _ in range(size)]
        for before, after in itertools.pairwise(begins):
            model.add(before < after)
        seconds += begins
        completions.append(begins[-1] + 1 if begins else release)
    model.add_all_different(seconds)
    model.minimize(sum(completions))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    assert solver.solve(model) == cp_model.OPTIMAL
    return round(solver.objective_value)


def horizon_of(jobs):
    """No schedule without avoidable idle time is longer."""
    return max(release for release, _ in jobs) + sum(size for _, size in jobs)


def arrays(jobs):
    """Releases and sizes."""
    return tuple(np.array(jobs, dtype=float).reshape(-1, 2).T)


def drawn(seed):
    """One to five small jobs, releases in any order; with few different numbers, so that ties and gaps are common."""
    random = np.random.default_rng(seed)
    jobs, last, largest = random.integers(1, 6), random.choice([0, 4, 12]), random.choice([1, 4])
    return [(int(random.integers(0, last + 1)), int(random.integers(0, largest + 1))) for _ in range(jobs)]


def mismatches(seeds, oracles):
    """Drawn instances on which an oracle says another sum than the completions."""
    wrong = []
    for seed in seeds:
        jobs = drawn(seed)
        mine = srpt_completions(*arrays(jobs)).sum()
        wrong += [(oracle.__name__, jobs) for oracle in oracles if oracle(jobs) != mine]
    return wrong


def exact_sum(jobs):
    """SRPT in integers, by the certificate's own loop."""
    return srpt_value(*(column.tolist() for column in arrays(jobs)))


@settings(max_examples=40, derandomize=True, deadline=None, database=None)
@given(JOBS)
def test_the_sum_is_the_least_possible(jobs):
    """Completions add up to the optimum of the search; the exact value is the same number."""
    releases, sizes = arrays(jobs)
    completions = srpt_completions(releases, sizes)
    assert completions.sum() == least_sum(jobs) == srpt_value(releases.tolist(), sizes.tolist())
    assert np.all(completions >= releases + sizes)


def test_sample_of_the_campaign():
    """Ten drawn instances: search, CP-SAT and exact arithmetic find the same sum."""
    assert mismatches(range(10), [least_sum, cpsat_sum, exact_sum]) == []


@pytest.mark.long
@pytest.mark.parametrize(("oracles", "seconds"), [((least_sum, exact_sum), math.inf), ((cpsat_sum,), 150)])
def test_campaign_of_1000(oracles, seconds, capsys):
    """A thousand instances by search and exact arithmetic, and as many as fit in their time by CP-SAT."""
    wrong, tried, until = [], 0, time.monotonic() + seconds
    while tried < 1000 and time.monotonic() < until:
        wrong += mismatches([tried], oracles)
        tried += 1
    with capsys.disabled():
        names = " and ".join(oracle.__name__ for oracle in oracles)
        print(f"\nsrpt_completions against {names}: {tried} instances, {len(wrong)} mismatches")
    assert tried > 0
    assert not wrong, wrong[:20]


@pytest.mark.parametrize("load", [0.4, 0.9, 1.3])
@pytest.mark.parametrize("largest", [1, 20, 2**30])
def test_thousands_of_jobs_against_exact_arithmetic(load, largest):
    """Integers as floats, in any order, from all ties to nearly none: sums are exact, so they are the same number."""
    random = np.random.default_rng(largest)
    sizes = random.integers(0, largest + 1, 3000).astype(float)
    releases = random.integers(0, int(sizes.sum() / load), 3000).astype(float)
    assert srpt_completions(releases, sizes).sum() == srpt_value(releases.tolist(), sizes.tolist())


@settings(max_examples=40, derandomize=True, deadline=None, database=None)
@given(FLOATS)
def test_any_floats_are_near_exact_arithmetic(jobs):
    """Of any magnitudes: the sum is the exact one up to rounding of the largest completion time."""
    releases, sizes = arrays(jobs)
    completions = srpt_completions(releases, sizes)
    exact = float(srpt_value(releases.tolist(), sizes.tolist()))
    assert math.fsum(completions) == pytest.approx(exact, rel=1e-14 * (1 + len(jobs)), abs=1e-300)


@pytest.mark.parametrize(
    ("jobs", "completions"),
    [
        ([], []),
        ([(0, 5), (1.5, 1), (7, 0.25)], [6, 2.5, 7.25]),  # interrupted at 1.5; idle from 6 to 7
        ([(3, 2)], [5]),
        ([(0, 0), (0, 0)], [0, 0]),
        ([(1, 4), (1, 2), (1, 4), (1, 0)], [7, 3, 11, 1]),  # all at once: shortest first, of equal ones as they stand
        ([(2, 3), (0, 5)], [8, 5]),  # at 2 both have 3 left: the one released first is served, though it stands second
        ([(0, 9), (1, 2), (1, 2), (2, 1)], [14, 3, 6, 4]),  # at 2 the running job has 1 left as well, and goes on
        ([(0, 4), (1, 3), (2, 3)], [4, 7, 10]),  # equal when it is released: no interruption
        ([(0, 5), (3, 0), (9, 1), (20, 2)], [5, 3, 10, 22]),  # a job of size 0 costs nobody anything; idle gaps
        ([(-4, 1), (-2.5, 1)], [-3, -1.5]),
    ],
)
def test_by_hand(jobs, completions):
    """Empty, one, ties of all kinds, gaps, negative times; the schedule says the same."""
    assert srpt_completions(*arrays(jobs)).tolist() == completions
    holds(*arrays(jobs), exact=True)


def holds(releases, sizes, exact):
    """Pieces in order, without overlap, as long as can be, after releases, adding up to sizes, ending at completions."""
    job, start, end = srpt_schedule(releases, sizes)
    completions = srpt_completions(releases, sizes)
    assert job.dtype == np.int64
    assert job.shape == start.shape == end.shape
    assert len(job) < 2 * len(sizes) or not len(sizes)
    assert np.all(start <= end)
    assert np.all(end[:-1] <= start[1:])
    assert np.all(job[:-1] != job[1:])
    assert np.all(start >= releases[job])
    served = np.bincount(job, end - start, minlength=len(sizes))
    if exact:
        assert np.array_equal(served, sizes)
        assert np.all((start < end) | (sizes[job] == 0))
    else:
        assert np.allclose(served, sizes, rtol=1e-12, atol=1e-14 * max(completions, default=0.0))
    last = np.full(len(sizes), np.nan)
    for piece, ending in zip(job.tolist(), end.tolist(), strict=True):
        last[piece] = ending
    assert np.array_equal(last, completions)
    idle = start[1:] > end[:-1]
    for since, until in zip(end[:-1][idle], start[1:][idle], strict=True):
        assert not np.any((releases < until) & (completions > since))


@settings(max_examples=80, derandomize=True, deadline=None, database=None)
@given(st.one_of(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 6)), max_size=10), FLOATS))
def test_the_schedule_and_the_completions(jobs):
    """Ends are completions in the same bits; each job gets its size, of integers exactly, else up to rounding."""
    holds(*arrays(jobs), exact=all(isinstance(number, int) for pair in jobs for number in pair))


def test_the_schedule_by_hand():
    """The 5 s job is served in two pieces; a job of size 0 parts the last one."""
    job, start, end = srpt_schedule(np.array([7.0, 0.0, 1.5, 7.5]), np.array([1.0, 5.0, 1.0, 0.0]))
    assert job.tolist() == [1, 2, 1, 0, 3, 0]
    assert start.tolist() == [0.0, 1.5, 2.5, 7.0, 7.5, 7.5]
    assert end.tolist() == [1.5, 2.5, 6.0, 7.5, 7.5, 8.0]


def test_arguments_stay_as_they_are():
    """Read-only arrays are taken, lists as well."""
    releases, sizes = np.array([0.0, 1.0]), np.array([5.0, 1.0])
    releases.flags.writeable = sizes.flags.writeable = False
    assert srpt_completions(releases, sizes).tolist() == srpt_completions([0, 1], [5, 1]).tolist() == [6.0, 2.0]


@pytest.mark.parametrize("call", [srpt_completions, srpt_schedule])
@pytest.mark.parametrize(
    ("releases", "sizes", "message"),
    [
        ([0.0], [-1.0], "sizes must be finite and >= 0"),
        ([0.0], [math.nan], "sizes must be finite and >= 0"),
        ([0.0], [math.inf], "sizes must be finite and >= 0"),
        ([math.nan], [1.0], "a release is not finite"),
        ([-math.inf], [1.0], "a release is not finite"),
        ([0.0, 1.0], [1.0], r"releases of shape \(2,\) and sizes of shape \(1,\)"),
        ([[0.0]], [[1.0]], r"releases of shape \(1, 1\)"),
    ],
)
def test_numbers_that_are_none_are_refused_here(call, releases, sizes, message):
    """ValueError for what has no schedule."""
    with pytest.raises(ValueError, match=message):
        call(np.array(releases), np.array(sizes))


@settings(max_examples=40, derandomize=True, deadline=None, database=None)
@given(st.lists(st.one_of(st.sampled_from([-1.0, -0.0, 0.0, 2.0]), st.floats(-5, 5)), max_size=40))
def test_the_stable_sort_is_numpys(numbers):
    """With ties or without, zeros of both signs are equal and stay in their places."""
    order, ordered = sorted_stably(np.array(numbers))
    assert np.array_equal(order, np.argsort(numbers, kind="stable"))
    assert bits(ordered) == bits(np.array(numbers)[order])


def streams(jobs, seed):
    """Releases and sizes at a load of .95: tenths with many ties, any order, or floats of all magnitudes."""
    random = np.random.default_rng(seed)
    sizes = random.pareto(1.3, jobs)
    releases = random.random(jobs) * sizes.sum() / 0.95
    if seed % 3 == 0:
        return releases.round(1), sizes.round(1)
    if seed % 3 == 1:
        return np.sort(releases), sizes * 2.0 ** random.integers(-60, 2, jobs)
    return releases, sizes


def bits(numbers):
    """What two arrays share only if they are the same in every bit."""
    return numbers.view(np.int64).tolist()


def test_compiled_and_interpreted_loop_give_the_same_bits(monkeypatch):
    """A hundred streams through both loops, neither of which can have stood in for the other."""
    pytest.importorskip("numba")
    instances = [streams(1 + seed, seed) for seed in range(100)]
    interpreted = [bits(srpt_completions(*instance)) for instance in instances]
    loop = compiled(one_machine._serve)
    assert loop is not None
    monkeypatch.setattr(one_machine, "_COMPILED_FROM", 0)
    monkeypatch.setattr(one_machine, "compiled", lambda _: loop)
    monkeypatch.setattr(one_machine, "_serve", None)
    assert [bits(srpt_completions(*instance)) for instance in instances] == interpreted


def test_many_jobs_with_and_without_numba(monkeypatch):
    """From 100,000 jobs on Numba is looked for; where there is none the answer has the same bits."""
    instance = streams(100_000, 0)
    found = bits(srpt_completions(*instance))
    asked = []
    monkeypatch.setitem(sys.modules, "numba", None)
    without = compiled_module._compiled.__wrapped__
    monkeypatch.setattr(one_machine, "compiled", lambda loop: asked.append(without(loop)))
    assert bits(srpt_completions(*instance)) == found
    assert asked == [None]


def test_compiled_without_a_folder_for_the_result(monkeypatch):
    """Where Numba can write nowhere it compiles all the same."""
    caching = pytest.importorskip("numba.core.caching")
    monkeypatch.setattr(caching.FunctionCache._impl_class, "_locator_classes", [])
    loop = compiled_module._compiled.__wrapped__(one_machine._serve)
    monkeypatch.setattr(one_machine, "compiled", lambda _: loop)
    monkeypatch.setattr(one_machine, "_COMPILED_FROM", 0)
    assert srpt_completions(np.array([0.0, 1.0]), np.array([5.0, 1.0])).tolist() == [6.0, 2.0]
    assert loop.stats.cache_path is None


def test_numba_is_not_imported_without_need():
    """Not by the package, nor by the module, nor for a few jobs, nor for many at once."""
    program = (
        "import sys, dlsched, numpy; from dlsched.algorithms.one_machine import srpt_completions;"
        "srpt_completions(numpy.arange(99_999.0), numpy.ones(99_999));"
        "srpt_completions(numpy.zeros(200_000), numpy.ones(200_000)); sys.exit('numba' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_exact_values_are_exact():
    """Sizes so different that a float sum would lose the small one: it ends first, and delays the large one."""
    assert srpt_value([0.0, 0.0], [2.0**-60, 2.0**60]) == 2 * Fraction(1, 2**60) + 2**60


@pytest.mark.parametrize("size", [-1.0, float("nan"), float("inf")])
def test_sizes_that_are_none_are_refused(size):
    """ValueError for anything but numbers >= 0."""
    with pytest.raises(ValueError, match="sizes must be numbers >= 0"):
        srpt_value([0.0], [size])
