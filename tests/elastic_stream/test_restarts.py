"""The search with restarts: by hand, against brute force over orders and divisions, and what it refuses or leaves open."""

import random

import pytest
from conftest import profile
from hypothesis import given

from dlsched.core.limits import no_tick
from dlsched.elastic_stream import Instance, check, objective, solve
from dlsched.elastic_stream.any_time.restarts import MOST_JOBS, refusal, search_restarts
from dlsched.elastic_stream.bounds import quick_stream
from dlsched.elastic_stream.exact import RESTARTS
from dlsched.testing import elastic_stream_instances

from .pauses import Divisions
from .streams import stream


def drawn(seed, jobs, units, *, alike=False):
    """A stream of Amdahl's speeds, with weights and restarts of up to a tenth of the work; ``alike``: two jobs are."""
    generator = random.Random(seed)
    records, clock = [], 0.0
    for number in range(jobs):
        serial, base = generator.uniform(0.05, 0.5), generator.uniform(5, 60)
        record = {
            "arrival_s": round(clock, 1),
            "epochs": 1.0,
            "restart_s": round(generator.choice([0.5, 1, 2, 4]) * generator.uniform(0.5, 1.5), 2),
            "weight": generator.choice([1.0, 2.0]),
            "epoch_time_s": {n: round(base * (serial + (1 - serial) / n), 3) for n in range(1, units + 1)},
        }
        records.append((records[0] if alike and number == 1 else record) | {"id": f"j{number}"})
        if generator.random() < 0.8:
            clock += generator.expovariate(units / 20)
    return Instance(name="drawn", units=units, jobs=records)


def searched(instance, most=None):
    """Hold the search alone, which begins from a quick stream, to brute force; return the least weighted flow times."""
    streams, bounds = [quick_stream(instance)], [0.0]

    def found(candidate):
        assert check(instance, candidate) == []
        streams.append(candidate)
        return True

    weight = instance.total_weight
    assert search_restarts(instance, objective(instance, streams[0]) * weight, found, bounds.append, no_tick)
    least = min(objective(instance, each) for each in streams) * weight
    assert least == pytest.approx(Divisions(instance, least * (1 + 1e-6), most).least(), rel=2e-8)
    assert bounds == sorted(bounds)
    assert least * (1 - 2e-9) <= bounds[-1] <= least
    return least


def test_a_pause_is_worth_it_or_not():
    """On one unit a job of 10 s stops at 4 s for one of 2 s: (2 + 12 + pause) / 2, or has its 10 s: (10 + 8) / 2."""
    for pause, best in ((3.0, 8.5), (5.0, 9.0)):
        result = solve(stream((0.0, 1.0, {1: 10.0}, {"restart_s": pause}), (4.0, 1.0, {1: 2.0}), units=1))
        assert (result.objective, str(result.status)) == (pytest.approx(best), "optimal")
    assert result.bound == pytest.approx(9.0, rel=2e-9)


def test_units_that_are_left_are_not_worth_a_pause():
    """Two jobs of 10 s, 6 s on 2 units, at once on 2 units: side by side 10 and 10; one after the other 6 and 12.

    Beside one another to the end is as good as 6, 12 wherever a change pauses; a third way, 1 and 1 and then 2, needs one that
    is done sooner. With weights of 3 and 1 the heavier goes first: (3 * 6 + 12) / 4.
    """
    job = (0.0, 1.0, {1: 10.0, 2: 6.0})
    jobs = (*job, {"restart_s": 1.0, "weight": 3.0}), (*job, {"restart_s": 1.0})
    assert searched(stream(*jobs, units=2)) == pytest.approx(30.0)


@pytest.mark.parametrize("seed", range(12))
def test_two_jobs_agree_with_brute_force(seed):
    """Also with an interval more than the lemma allows."""
    instance = drawn(seed, 2, 1 + seed % 2, alike=seed % 4 == 3)
    searched(instance, most=2 + len({job.arrival_s for job in instance.jobs}))


@pytest.mark.parametrize("seed", [0, 2, 3, 4, 8, 10])
def test_three_jobs_agree_with_brute_force(seed):
    """On one to three units."""
    searched(drawn(seed, 3, 1 + seed % 3, alike=seed % 2 == 1))


@profile(20)
@given(elastic_stream_instances(ticked=False, feasible=True, max_jobs=2, weighted=True))
def test_streams_with_ties_agree_with_brute_force(instance):
    """Whole numbers, early ends, restarts longer than jobs, and jobs without work."""
    if any(job.work for job in instance.jobs):
        searched(instance)


@pytest.mark.long
@profile(300)
@given(elastic_stream_instances(ticked=False, feasible=True, max_jobs=3, max_units=3, weighted=True))
def test_many_streams_with_ties_agree_with_brute_force(instance):
    """As above, of up to three jobs."""
    if any(job.work for job in instance.jobs):
        searched(instance)


@pytest.mark.long
@pytest.mark.parametrize("part", range(20))
def test_small_streams_agree_with_brute_force(part):
    """Two and three jobs on one to three units: 500 in all."""
    for seed in range(25 * part, 25 * part + 25):
        searched(drawn(seed, 2 + seed % 2, 1 + seed % 3, alike=seed % 5 == 4))


def test_late_clocks():
    """At Unix times the optimum is that of the same stream at 0, but for the clock's digits."""
    early = drawn(3, 3, 2)
    jobs = [job.model_copy(update={"arrival_s": job.arrival_s + 2.0**30}) for job in early.jobs]
    results = [solve(each) for each in (early, early.model_copy(update={"jobs": tuple(jobs)}))]
    assert [str(result.status) for result in results] == ["optimal", "optimal"]
    assert results[1].objective == pytest.approx(results[0].objective, rel=1e-8)


def test_a_limit_keeps_stream_and_bound():
    """After few programs the bounds so far are below the optimum."""
    instance = drawn(5, 4, 3)
    known = objective(instance, quick_stream(instance)) * instance.total_weight
    bounds, costs, programs = [], [], []

    def tick():
        programs.append(1)
        if len(programs) > most:
            raise StopIteration

    def found(candidate):
        assert check(instance, candidate) == []
        costs.append(objective(instance, candidate))
        return True

    most = 10**9
    assert search_restarts(instance, known, found, bounds.append, tick)
    least, most = bounds[-1], len(programs) // 2
    bounds.clear()
    programs.clear()
    with pytest.raises(StopIteration):
        search_restarts(instance, known, found, bounds.append, tick)
    assert 0 < bounds[-1] <= least
    assert costs


def test_what_is_refused():
    """Many jobs and many divisions; ``exact`` says so, and keeps a stream and a bound."""
    jobs = [(float(n), 1.0, {1: 10.0, 2: 7.0}, {"restart_s": 1.0}) for n in range(MOST_JOBS + 1)]
    many = stream(*jobs, units=2)
    assert f"{MOST_JOBS + 1} jobs" in refusal(many)
    assert refusal(drawn(1, 5, 4)) is None
    wide = stream(*((0.0, 1.0, {n: 10.0 / n for n in range(1, 31)}) for _ in range(4)), units=30)
    assert "divisions" in refusal(wide)
    result = solve(many)
    assert result.bound_source != RESTARTS
    assert str(result.status) == "optimal" or "leaves pauses out" in result.message
