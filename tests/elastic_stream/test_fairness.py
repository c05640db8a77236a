"""Finish-time fairness of streams: by hand, against sums over all pairs of jobs, and at the edges of the clock."""

import math

import pytest
from hypothesis import given, settings

from dlsched.elastic_stream import Stream, example, figures, flow_times, generate, ordered, simulate, solve
from dlsched.elastic_stream.policies import EqualShare
from dlsched.testing import elastic_stream_instances

from .streams import stream


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
