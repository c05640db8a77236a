"""The checker: flow times and finish-time fairness by hand, and every rule broken once with its name and amount."""

import math

import pytest
from hypothesis import given, settings

from dlsched.core.errors import UsageError
from dlsched.elastic_stream import (
    Stream,
    check,
    example,
    figures,
    flow_times,
    generate,
    infeasible,
    objective,
    ordered,
    simulate,
    solve,
)
from dlsched.elastic_stream.checker import first_excess
from dlsched.elastic_stream.policies import EqualShare
from dlsched.testing import elastic_stream_instances

from .streams import stream


def test_what_is_released_is_there_for_others():
    """Two after two on two units fit; with one more in between three are held."""
    after = [(0.0, 2, 0.0), (1.0, -2, 1.0), (1.0, 2, 1.0), (2.0, -2, 2.0)]
    assert first_excess(after, 2) is None
    between = sorted([*after, (0.5, 1, 0.5), (0.75, -1, 0.75)])
    assert first_excess(between, 2) == (3, 0.5, 0.75)


TIMES = {1: 100.0, 2: 60.0, 4: 40.0}
ONE = stream((10.0, 1.0, TIMES, {"restart_s": 5.0}))
GOOD = {"j0": [(10.0, 40.0, 1), (40.0, 73.0, 4)]}  # .3 on 1; pause to 45; .7 takes 28 s on 4


def broken(instance, periods):
    """Rules, places and amounts of the violations."""
    return [(v.rule, v.where, v.amount and round(v.amount, 6)) for v in check(instance, Stream(periods))]


def test_flow_times_by_hand():
    """30 s on one unit, a pause of 5 s, 28 s on four: ends at 73, flow 63; alone at its fastest it takes 40."""
    made = Stream(GOOD)
    assert check(ONE, made) == [] and flow_times(ONE, made) == [63.0] and objective(ONE, made) == 63.0
    assert figures(ONE, made) == {
        "max_flow_s": 63.0,
        "p95_flow_s": 63.0,
        "p99_flow_s": 63.0,
        "slowdown": 63.0 / 40.0,
        "utilisation": (30 + 33 * 4) / (4 * 63),
        "restarts": 1.0,
        "max_rho": 63.0 / 40.0,
        "mean_rho": 63.0 / 40.0,
        "jain_index": 1.0,
    }


def test_percentiles_and_mean_by_hand():
    """Three 10 s jobs one after another on one unit: flows 10, 20, 30."""
    instance = stream(*[(0.0, 1.0, {1: 10.0})] * 3, units=1)
    made = Stream({f"j{n}": [(10.0 * n, 10.0 * n + 10, 1)] for n in range(3)})
    assert objective(instance, made) == 20.0
    assert figures(instance, made)["p95_flow_s"] == pytest.approx(29.0)
    assert figures(instance, made)["utilisation"] == 1.0


@pytest.mark.parametrize(
    ("periods", "expected"),
    [
        ({}, [("work", "j0", None)]),
        ({"j0": [(9.0, 39.0, 1), (40.0, 73.0, 4)]}, [("arrival", "j0", 1.0)]),
        ({"j0": [(10.0, 40.0, 3), (40.0, 73.0, 4)]}, [("choice", "j0", None)]),
        ({"j0": [(10.0, 40.0, 0), (40.0, 73.0, 4)]}, [("choice", "j0", None)]),
        ({"j0": [(10.0, 40.0, -1), (40.0, 73.0, 4)]}, [("choice", "j0", None)]),
        ({"j0": [(10.0, 40.0, 1), (39.0, 73.0, 4)]}, [("order", "j0", 1.0)]),
        ({"j0": [(40.0, 73.0, 4), (10.0, 40.0, 1)]}, [("order", "j0", 63.0)]),
        ({"j0": [(10.0, 10.0, 1), (10.0, 50.0, 4)]}, [("order", "j0", None)]),
        ({"j0": [(10.0, 40.0, 1), (40.0, 120.0, 1)]}, [("order", "j0", None)]),
        ({"j0": [(10.0, 40.0, 1), (40.0, 72.0, 4)]}, [("work", "j0", None)]),
        ({"j0": [(10.0, 50.0, 4), (60.0, 61.0, 1)]}, [("work", "j0", None)]),
        ({**GOOD, "who": [(0.0, 1.0, 1)]}, [("choice", "who", None)]),
    ],
)
def test_each_broken_rule_is_named(periods, expected):
    """One thing wrong, one violation, with its rule, its place and by how much."""
    found = broken(ONE, periods)
    assert found[: len(expected)] == expected and {rule for rule, *_ in found} <= {rule for rule, *_ in expected} | {
        "capacity"
    }


def test_capacity_is_swept():
    """Three units are held from 5 s to 10 s on two; the message says when and how many."""
    instance = stream((0.0, 1.0, {2: 10.0}), (0.0, 1.0, {1: 10.0}), units=2)
    found = check(instance, Stream({"j0": [(0.0, 10.0, 2)], "j1": [(5.0, 15.0, 1)]}))
    assert [(v.rule, v.where, v.amount) for v in found] == [("capacity", "", 1.0)]
    assert "3 units are held from 5.0 s to 10.0 s, the cluster has 2" in found[0].message
    assert broken(instance, {"j0": [(0.0, 10.0, 2)], "j1": [(10.0, 20.0, 1)]}) == []


def test_rounding_is_no_violation():
    """Periods that miss each other, or their job's end, by 1e-9 of what they last are taken; by 1e-7 they are not."""
    instance = stream((0.0, 1.0, {2: 10.0}), (0.0, 1.0, {1: 10.0}), units=2)
    near = 10.0 + 1e-9
    assert broken(instance, {"j0": [(0.0, near, 2)], "j1": [(10.0, 20.0 - 1e-9, 1)]}) == []
    assert broken(instance, {"j0": [(0.0, 10.0, 2)], "j1": [(10.0 - 1e-7, 20.0 - 1e-7, 1)]}) == [("capacity", "", 1.0)]
    assert broken(instance, {"j0": [(0.0, near + 1e-7, 2)], "j1": [(11.0, 21.0, 1)]}) == [("work", "j0", 0.0)]


@pytest.mark.parametrize("scale", [2.0**-30, 1.0, 2.0**30])
def test_tolerances_are_of_durations(scale):
    """The same jobs in other seconds break the same rules: a hundredth too long, too early, too short, at once."""
    instance = stream((scale, 1.0, {2: 10.0 * scale}), (scale, 1.0, {1: 10.0 * scale}), units=2)

    def rules(first, second):
        periods = {name: [(a * scale, b * scale, units)] for name, a, b, units in (("j0", *first), ("j1", *second))}
        return {violation.rule for violation in check(instance, Stream(periods))}

    assert rules((1, 11, 2), (11, 21, 1)) == set()
    assert rules((1, 11.01, 2), (12, 22, 1)) == rules((1, 10.99, 2), (12, 22, 1)) == {"work"}
    assert rules((0.99, 10.99, 2), (12, 22, 1)) == {"arrival"}
    assert rules((1, 11, 2), (10.99, 20.99, 1)) == {"capacity"}


def test_late_jobs_get_no_work_for_free():
    """At 1.5e9 s, as of Unix clocks, a second of work still takes a second."""
    instance = stream((1.5e9, 1.0, {1: 1.0}))
    assert broken(instance, {"j0": [(1.5e9, 1.5e9 + 1e-3, 1)]}) == [("work", "j0", None)]
    assert broken(instance, {"j0": [(1.5e9, 1.5e9 + 1.0, 1)]}) == []


def test_many_short_excesses_are_one_long_one():
    """Beside a job that holds the only unit, 2,000 others touch end to end, each for less than the tolerance at 1e6 s."""
    base, step, number = 1e6, 0.9e-3, 2000
    others = [(base, 1.0, {1: step})] * number
    instance = stream((base, 1.0, {1: 1.8}), *others, units=1)
    periods = {f"j{n + 1}": [(base + n * step, base + (n + 1) * step, 1)] for n in range(number)}
    found = broken(instance, {"j0": [(base, base + 1.8, 1)], **periods})
    assert ("capacity", "", 1.0) in found


@pytest.mark.parametrize("tick_s", [None, 1e-5])
@pytest.mark.parametrize("period", [(0.0, 1e308, 1), (-1e308, 5.0, 1), (1e308, 1.5e308, 1)])
def test_no_clock_goes_so_far(tick_s, period):
    """Times whose sums no float holds are refused, whatever they are multiples of."""
    (found,) = check(stream((0.0, 1.0, {1: 5.0}), units=1, tick_s=tick_s), Stream({"j0": [period]}))
    assert found.rule == "order" and "allowed: up to 1e110 s" in str(found)


def test_units_are_held_until_the_work_is_done_and_no_longer():
    """10 s of work: its last period may not last 25 s, by which its units would count as used."""
    instance = stream((3.0, 1.0, {1: 10.0}))
    (found,) = check(instance, Stream({"j0": [(3.0, 28.0, 1)]}))
    assert (found.rule, found.where, found.amount) == ("work", "j0", 15.0)
    assert "its units are held to 28.0 s, it is done at 13.0 s" in str(found)


def test_with_ticks_units_may_be_held_to_the_end_of_the_last_one():
    """14 s of work in ticks of 10 s, from 10 s on: to 24 s or to 30 s, not to 40 s nor to 25 s; 10 s of work: to 20 s."""
    instance = stream((0.0, 1.0, {1: 14.0}), units=1, tick_s=10.0)
    for end_s, expected in ((24.0, []), (30.0, []), (40.0, [("work", "j0", 10.0)])):
        assert broken(instance, {"j0": [(10.0, end_s, 1)]}) == expected
    assert broken(instance, {"j0": [(10.0, 25.0, 1)]}) == [("work", "j0", 1.0), ("tick", "j0", None)]
    whole = stream((0.0, 1.0, {1: 10.0}), units=1, tick_s=10.0)
    assert broken(whole, {"j0": [(10.0, 20.0, 1)]}) == []
    assert broken(whole, {"j0": [(10.0, 30.0, 1)]}) == [("work", "j0", 10.0)]


def test_flow_times_of_late_jobs_keep_their_digits():
    """At 1.7e9 s the clock resolves 2.4e-7 s; a job that starts when it arrives takes what it takes."""
    first = stream((1.7e9 + 0.3, 1.0, {1: 20.7, 2: 11.1}))
    made = Stream({"j0": [(1.7e9 + 0.3, 1.7e9 + 11.4, 2)]})
    assert check(first, made) == [] and objective(first, made) == 11.1
    ticked = stream((1.7e9 + 0.3, 1.0, {1: 0.25}), units=1, tick_s=10.0)
    made = Stream({"j0": [(1.7e9 + 10.0, 1.7e9 + 10.25, 1)]})
    assert check(ticked, made) == []
    assert objective(ticked, made) == pytest.approx(10.25 - (1.7e9 + 0.3 - 1.7e9), rel=1e-15)


def test_ticks():
    """Starts on ticks; ends on ticks or with the job; units of a slot are held to its end."""
    instance = stream((0.0, 1.0, {1: 14.0}), (0.0, 1.0, {1: 5.0}), units=1, tick_s=10.0)
    assert broken(instance, {"j0": [(0.0, 14.0, 1)], "j1": [(20.0, 25.0, 1)]}) == []
    assert broken(instance, {"j0": [(1.0, 15.0, 1)], "j1": [(20.0, 25.0, 1)]}) == [("tick", "j0", None)]
    assert broken(instance, {"j0": [(0.0, 14.0, 1)], "j1": [(14.0, 19.0, 1)]}) == [
        ("tick", "j1", None),
        ("capacity", "", 1.0),
    ]
    assert broken(instance, {"j0": [(0.0, 5.0, 1), (20.0, 29.0, 1)], "j1": [(10.0, 15.0, 1)]}) == [("tick", "j0", None)]


def test_a_stream_that_does_not_end_has_no_objective():
    """Asking for it is misuse."""
    with pytest.raises(UsageError, match="no objective: job 'j0' does not do its work"):
        objective(ONE, Stream({}))


def test_a_job_larger_than_the_cluster_proves_infeasibility():
    """Unless it has no work, in which case it ends when it arrives."""
    assert infeasible(stream((0.0, 1.0, {5: 1.0}))) == "job 'j0' needs at least 5 units, the cluster has 4"
    assert infeasible(stream((0.0, 0.0, {5: 1.0}))) is None
    assert flow_times(stream((0.0, 0.0, {5: 1.0})), Stream({})) == [0.0]


def test_the_example_by_hand():
    """Job a is there from 0 to 31.2 s, b from 10 to 18 s, on 2 units.

    While a is there, (31.2 + 8) / 31.2 = 1.26 jobs are in the mean: 2 / 1.26 units, so one, on which it takes 40 s. While b is
    there two are: one unit, 8 s.
    """
    found = figures(example(), solve(example()).solution)
    first, second = 31.2 / 40, 8 / 8
    assert found["max_rho"] == pytest.approx(1.0) and found["mean_rho"] == pytest.approx((first + second) / 2)
    assert found["jain_index"] == pytest.approx((first + second) ** 2 / (2 * (first**2 + second**2)))


def test_a_job_alone_has_the_cluster():
    """4 units that it all gets, or its smallest count where that is more than the share; pauses are its own loss."""
    alone = stream((0.0, 1.0, {1: 10.0, 4: 5.0}))
    assert figures(alone, solve(alone).solution)["max_rho"] == 1.0
    assert figures(alone, Stream({"j0": [(0.0, 10.0, 1)]}))["max_rho"] == 2.0
    three = stream(*[(0.0, 1.0, {4: 5.0, 3: 50.0})] * 3)
    made = Stream({f"j{n}": [(5.0 * n, 5.0 * (n + 1), 4)] for n in range(3)})
    assert figures(three, made)["max_rho"] == pytest.approx(15 / 50)


def test_jobs_without_work_are_left_out():
    """They have no time to be compared with; where there is no other job all is fair."""
    empty = (0.0, 0.0, {1: 9.0})
    made = figures(stream(empty), Stream({}))
    assert (made["max_rho"], made["mean_rho"], made["jain_index"]) == (1.0, 1.0, 1.0)
    both = stream(empty, (0.0, 1.0, {1: 10.0, 4: 5.0}))
    assert figures(both, Stream({"j1": [(0.0, 5.0, 4)]}))["mean_rho"] == 1.0


def test_equal_shares_that_divide_are_fair():
    """Four like jobs at once on 8 units, 2 each: rho is 1 for all, however late the clock."""
    for start in (0.0, 1.7e9, 0.1):
        instance = stream(*[(start, 3.0, {1: 20.0, 2: 11.1, 4: 7.0, 8: 5.0})] * 4, units=8)
        found = figures(instance, simulate(instance, EqualShare()))
        assert found["max_rho"] == pytest.approx(1.0, rel=1e-6) and found["jain_index"] == pytest.approx(1.0)


def pairwise_ratios(instance, made):
    """Rho from the overlaps of all pairs of stays."""
    flows = flow_times(instance, made)
    stays = [(job.arrival_s, job.arrival_s + flow) for job, flow in zip(instance.jobs, flows, strict=True)]
    ratios = []
    for index, (job, (begin, end)) in enumerate(zip(instance.jobs, stays, strict=True)):
        if job.work:
            shared = math.fsum(max(0.0, min(end, last) - max(begin, first)) for first, last in stays)
            most = max(instance.counts(index)[0], instance.units * (end - begin) / shared * (1 + 1e-6))
            times = [job.speed.epoch_time_s(count) for count in instance.counts(index) if count <= most]
            ratios.append(flows[index] / (job.work * min(times)))
    return ratios


@settings(max_examples=100, derandomize=True, deadline=None, database=None)
@given(elastic_stream_instances(feasible=True, max_jobs=7, max_units=7, ticked=False))
def test_overlaps_of_all_pairs(instance):
    """The same figures where the number of jobs present is summed up pair by pair."""
    made = ordered(instance, "srpt", "knee")
    found, ratios = figures(instance, made), pairwise_ratios(instance, made)
    if ratios:
        assert found["max_rho"] == pytest.approx(max(ratios), rel=1e-9)
        assert found["mean_rho"] == pytest.approx(sum(ratios) / len(ratios), rel=1e-9)


def test_generated_streams_are_those_of_all_pairs():
    """Three hundred published speeds, restarts, days of time."""
    instance = generate(jobs=300, gpus=32, load=1.1, seed=2)
    made = ordered(instance, "fifo", "knee")
    ratios = pairwise_ratios(instance, made)
    assert figures(instance, made)["mean_rho"] == pytest.approx(sum(ratios) / len(ratios), rel=1e-9)
