"""The search over orders of completion: by hand, against brute force over all orders, and what it refuses or leaves open."""

import random
from pathlib import Path

import pytest
from conftest import profile
from hypothesis import given

import dlsched
from dlsched import Limits
from dlsched.core.limits import no_tick
from dlsched.elastic_stream import Instance, check, objective, solve
from dlsched.elastic_stream.any_time.completions import MOST_JOBS, refusal, search_completions
from dlsched.elastic_stream.bounds import quick_stream
from dlsched.elastic_stream.certificate import completions_value
from dlsched.elastic_stream.exact import COMPLETIONS
from dlsched.testing import elastic_stream_instances

from .orders import Orders
from .streams import stream

FOLDER = Path(__file__).parents[2] / "instances" / "elastic_stream"


def drawn(seed, jobs, units, *, weighted=False, alike=False):
    """A stream of Amdahl's speeds whose jobs wait for each other; ``alike``: some jobs have the same table."""
    generator = random.Random(seed)
    tables, records, clock = [], [], 0.0
    for number in range(jobs):
        serial, base = generator.uniform(0.05, 0.5), generator.uniform(50, 600)
        table = {units: round(base * (serial + (1 - serial) / units), 3) for units in range(1, units + 1)}
        if generator.random() < 0.25:
            table = {count: table[count] for count in sorted(generator.sample(sorted(table), min(2, units)))}
        tables.append(generator.choice(tables) if alike and tables and generator.random() < 0.5 else table)
        weight = generator.choice([1.0, 2.0, 3.0]) if weighted else 1.0
        records.append(
            {"id": f"j{number}", "arrival_s": round(clock, 1), "epochs": generator.choice([1.0, 1.5])}
            | {"epoch_time_s": tables[-1], "weight": weight}
        )
        if generator.random() < 0.8:
            clock += generator.expovariate(units / 200)
    return Instance(name="drawn", units=units, jobs=records)


def best(instance):
    """Hold ``exact`` to brute force over orders, and return its result."""
    result = solve(instance)
    assert (str(result.status), check(instance, result.solution)) == ("optimal", [])
    assert result.objective == pytest.approx(Orders(instance).least() / instance.total_weight, rel=1e-8)
    assert result.objective * (1 - 2e-9) <= result.bound <= result.objective * (1 + 1e-12)
    return result


def searched(instance):
    """Hold the search alone, which begins from a quick stream, to brute force over orders."""
    weight, streams, bounds = instance.total_weight, [quick_stream(instance)], [0.0]

    def found(candidate):
        assert check(instance, candidate) == []
        streams.append(candidate)
        return True

    known = objective(instance, streams[0]) * weight
    ended = search_completions(instance, known, found, bounds.append, no_tick)
    assert ended.closed
    assert completions_value(instance, ended.tree) == pytest.approx(bounds[-1] / weight, rel=1e-9)
    least = min(objective(instance, each) for each in streams) * weight
    assert least == pytest.approx(Orders(instance, least * (1 + 1e-7)).least(), rel=2e-8)
    assert least * (1 - 2e-9) <= bounds[-1] <= least * (1 + 1e-12)


def without_restarts(instance):
    """The instance, with jobs that restart at once."""
    jobs = tuple(job.model_copy(update={"restart_s": 0.0}) for job in instance.jobs)
    return instance.model_copy(update={"jobs": jobs})


def test_a_mix_of_two_divisions_by_hand():
    """Only three of the four ways to start make a b wait; on 3 units a takes 2 and b 1, then a has all.

    a: 30 s on 1, 16 s on 2, 12 s on 3; b: 10 s on 1, 8 s on 2. a 2 and b 1: b ends at 10, a has 6/16 left, 4.5 s on 3: 24.5.
    b 2, a 1: b ends at 8, a has 22/30 left, 8.8 s: 24.8. b first on 2 with nothing beside it, a on 3 after it: worse.
    """
    result = best(stream((0.0, 1.0, {1: 30.0, 2: 16.0, 3: 12.0}), (0.0, 1.0, {1: 10.0, 2: 8.0}), units=3))
    assert result.objective == pytest.approx((10 + 14.5) / 2)


def test_units_are_whole():
    """Two jobs that run on 2 units only take turns on 3: 10 and 20; three halves of the speed for both would end at 13.3."""
    result = best(stream((0.0, 1.0, {2: 10.0}), (0.0, 1.0, {2: 10.0}), units=3))
    assert result.objective == pytest.approx(15.0)


def test_a_job_waits_for_one_that_is_to_come():
    """On one unit the job of 10 s stops at 4 s for one of 2 s: (2 + 12) / 2; the other way round (10 + 8) / 2."""
    result = best(stream((0.0, 1.0, {1: 10.0}), (4.0, 1.0, {1: 2.0}), units=1))
    assert result.objective == pytest.approx(7.0)


def test_weights_turn_an_order_round():
    """Smith's rule on one unit: 20 s of weight 4 before 10 s of weight 1: (4 * 20 + 30) / 5."""
    jobs = (0.0, 1.0, {1: 10.0}), (0.0, 1.0, {1: 20.0}, {"weight": 4.0})
    assert best(stream(*jobs, units=1)).objective == pytest.approx(22.0)


@pytest.mark.parametrize("seed", range(12))
def test_drawn_streams_agree_with_brute_force(seed):
    """Up to four jobs, with weights, gaps in the counts and equal tables."""
    best(drawn(seed, 2 + seed % 3, 1 + seed % 4, weighted=seed % 2 == 1, alike=seed % 3 == 0))


@profile(25)
@given(elastic_stream_instances(ticked=False, feasible=True))
def test_streams_with_ties_agree_with_brute_force(instance):
    """Whole numbers, early ends and jobs without work, without their restarts."""
    best(without_restarts(instance))


@pytest.mark.long
@profile(500)
@given(elastic_stream_instances(ticked=False, feasible=True, max_jobs=4, max_units=4, weighted=True))
def test_many_streams_with_ties_agree_with_brute_force(instance):
    """As above, with weights, on more units."""
    instance = without_restarts(instance)
    if any(job.work for job in instance.jobs):
        searched(instance)


def test_the_tree_proves_what_the_search_does():
    """The search scales multipliers of one branch down for a state that the verifier drops; larger ones would prove less."""
    searched(drawn(136, 3, 1))


@pytest.mark.long
@pytest.mark.parametrize("part", range(20))
def test_small_streams_agree_with_brute_force(part):
    """Two to four jobs on one to four units: 2,000 in all."""
    for seed in range(100 * part, 100 * part + 100):
        searched(drawn(seed, 2 + seed % 3, 1 + seed % 4, weighted=seed % 2 == 1, alike=seed % 3 == 0))


@pytest.mark.long
@pytest.mark.parametrize("part", range(20))
def test_six_jobs_agree_with_brute_force(part):
    """Six jobs on four units: 200 in all."""
    for seed in range(10 * part, 10 * part + 10):
        searched(drawn(seed, 6, 4, weighted=seed % 2 == 1, alike=seed % 4 == 0))


@pytest.mark.long
@pytest.mark.parametrize("path", sorted(FOLDER.glob("worst-*.json")), ids=lambda path: path.stem)
def test_worst_instances_without_ticks(path):
    """Worst instances of policies, decided at any time, are proven optimal."""
    best(dlsched.read(path).model_copy(update={"tick_s": None}))


def test_late_clocks():
    """At Unix times the optimum is that of the same stream at 0, but for the clock's digits."""
    early = drawn(3, 4, 3)
    jobs = [job.model_copy(update={"arrival_s": job.arrival_s + 2.0**30}) for job in early.jobs]
    late = solve(early.model_copy(update={"jobs": tuple(jobs)}))
    assert str(late.status) == "optimal"
    assert late.objective == pytest.approx(solve(early).objective, rel=1e-8)


def test_a_limit_keeps_stream_and_bound():
    """After few programs the result is a stream and a bound below the optimum."""
    instance = drawn(0, 6, 4)
    full = solve(instance)
    known = objective(instance, full.solution) * instance.total_weight * 1.5
    bounds, streams, programs = [], [], []

    def tick():
        programs.append(1)
        if len(programs) > 100:
            raise StopIteration

    def found(candidate):
        streams.append(candidate)
        return not check(instance, candidate)

    with pytest.raises(StopIteration):
        search_completions(instance, known, found, bounds.append, tick)
    assert bounds == sorted(bounds)
    assert 0 < bounds[-1] <= full.objective * instance.total_weight
    assert streams
    limited = solve(instance, limits=Limits(nodes=3))
    assert limited.solution is not None
    assert limited.bound <= full.objective * (1 + 1e-12)


def test_what_is_refused():
    """Many jobs; ``exact`` says so, and keeps a stream and a bound."""
    many = stream(*((float(number), 1.0, {1: 10.0}) for number in range(MOST_JOBS + 1)), units=2)
    assert f"{MOST_JOBS + 1} jobs" in refusal(many)
    assert refusal(drawn(1, 6, 4)) is None
    result = solve(many)
    assert result.bound_source != COMPLETIONS
    assert str(result.status) == "optimal" or "no proven optimum" in result.message
