"""Instances of async_sgd as streams: speeds, load and early ends by hand and exactly, and the grid of orders and sizings."""

import json
import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings

from dlsched import elastic_stream, read, write
from dlsched.async_sgd import Instance, draw_stops, generate, network_of, random_stream, throughputs, to_stream
from dlsched.async_sgd.streams import LARGEST_TABLES
from dlsched.core.errors import InstanceError, UsageError
from dlsched.elastic_stream import check, flow_times, infeasible, objective, ordered
from dlsched.elastic_stream.heuristics import SIZINGS
from dlsched.elastic_stream.policies import ORDERS
from dlsched.testing.async_sgd import async_sgd_instances, exact_throughput

SETTINGS = settings(max_examples=30, derandomize=True, deadline=None, database=None)
LINEAR = {"parameter_bytes": 0.0, "bandwidth_bytes_per_s": 1.0, "compute_s": 1.0}
LINKS = {"parameter_bytes": 1.0, "bandwidth_bytes_per_s": 1.0, "compute_s": 1.0}
SEARCH = ((0.05, 0.5), (0.25, 0.3))
"""Half of the jobs stop at 5 % of their work, three in ten at 25 %."""


def made(*jobs, nodes=2):
    """An instance of jobs with 60 mini-batches an epoch, each its epochs and further fields."""
    fields = {"dataset_examples": 600.0, "batch_examples": 10.0}
    records = [{"id": f"j{n}", "epochs": epochs, **fields, **more} for n, (epochs, more) in enumerate(jobs)]
    return Instance(name="by hand", source="a test", nodes=nodes, jobs=records)


def times(stream, job=0):
    """Seconds of an epoch on 1, 2, ... nodes."""
    table = stream.jobs[job].epoch_time_s
    assert list(table) == list(range(1, len(table) + 1))
    return list(table.values())


def drawn(jobs=40, nodes=8, load=1.1, seed=2, **arguments):
    """A stream of published jobs."""
    instance = generate(jobs=jobs, nodes=nodes, seed=seed)
    return random_stream(instance, load=load, generator=np.random.default_rng(seed), **arguments)


def test_speeds_by_hand():
    """Z = 1 s. Nobody waits: X(n) = n. Two links of 1 s: X = 1/3, 6/11, 33/49. One link of 2 s: X(2) = 2 / (1 + 10/3)."""
    instance = made((1.0, LINEAR), (1.0, LINKS), (1.0, LINKS | {"duplex": "half", "max_nodes": 2}), nodes=3)
    stream = to_stream(instance, [0.0, 0.0, 0.0])
    assert times(stream) == pytest.approx([60.0, 30.0, 20.0], rel=1e-15)
    assert times(stream, 1) == pytest.approx([180.0, 110.0, 60 * 49 / 33], rel=1e-15)
    assert times(stream, 2) == pytest.approx([180.0, 130.0], rel=1e-15)


@SETTINGS
@given(async_sgd_instances(max_nodes=12))
def test_speeds_are_the_throughputs(instance):
    """Every job may have 1 .. max_nodes of the nodes there are; an epoch takes dataset / (batch X(n)), X(n) by convolution."""
    stream = to_stream(instance, [0.0] * len(instance.jobs))
    assert stream.units == instance.nodes
    for index, job in enumerate(instance.jobs):
        assert list(stream.counts(index)) == list(range(1, min(job.max_nodes or instance.nodes, instance.nodes) + 1))
        for nodes, time_s in enumerate(times(stream, index), start=1):
            rate = job.batch_examples * float(exact_throughput(job, nodes))
            assert time_s == pytest.approx(job.dataset_examples / rate, rel=1e-12)


@SETTINGS
@given(async_sgd_instances(max_jobs=2, max_nodes=40))
def test_more_nodes_are_never_slower(instance):
    """X grows with n; where the links are full the growth is less than rounding, which must not turn it round."""
    stream = to_stream(instance, [0.0] * len(instance.jobs))
    for index in range(len(instance.jobs)):
        assert all(first >= second for first, second in pairwise(times(stream, index)))


def test_rounding_makes_no_node_harmful():
    """The recursion falls by a hair on jobs whose link one worker fills; the table of the stream does not."""
    full = [{"compute_s": 1e-3 * n, "parameter_bytes": 1.0, "bandwidth_bytes_per_s": 3.0} for n in range(1, 41)]
    instance = made(*((1.0, fields | {"duplex": "half"}) for fields in full), nodes=40)
    stream = to_stream(instance, [0.0] * 40)
    assert all(first >= second for job in range(40) for first, second in pairwise(times(stream, job)))
    falls = [
        any(first > second for first, second in pairwise(throughputs([network_of(job)], 40)[:, 0]))
        for job in instance.jobs
    ]
    assert any(falls), "else this test is empty"


def test_what_is_given_reaches_the_stream():
    """Arrivals, epochs, restart, tick, known and real ends; the name, and a source that says what it was made of."""
    instance = made((3.0, LINEAR), (0.0, LINKS), nodes=5)
    stream = to_stream(instance, [7, 2.5], restart_s=4.0, early_stop=SEARCH, stops_at=[0.25, 1.0], tick_s=30.0)
    first, second = stream.jobs
    assert (stream.family, stream.units, stream.tick_s, stream.name) == ("elastic_stream", 5, 30.0, "by hand")
    assert [(job.id, job.arrival_s, job.epochs, job.restart_s) for job in stream.jobs] == [
        ("j0", 7.0, 3.0, 4.0),
        ("j1", 2.5, 0.0, 4.0),
    ]
    assert (first.stops_at, first.work, second.stops_at) == (0.25, 0.75, 1.0)
    assert [(stop.fraction, stop.probability) for stop in first.early_stop] == list(SEARCH)
    assert stream.source.splitlines() == ["by hand of async_sgd, speeds by mean value analysis", "a test"]
    plain = to_stream(instance, [0.0, 0.0])
    assert [(job.restart_s, job.early_stop, job.stops_at) for job in plain.jobs] == [(0.0, (), 1.0)] * 2
    assert plain.tick_s is None


def test_flow_of_one_job_by_hand():
    """Three epochs of 110 s on two nodes, from 7 s on: 330 s; half of that if it stops at .5; restarts cost it nothing."""
    instance = made((3.0, LINKS))
    for stops_at, flow_s in ((1.0, 330.0), (0.5, 165.0)):
        stream = to_stream(instance, [7.0], restart_s=1000.0, stops_at=[stops_at])
        (period,) = ordered(stream, "fifo", "fastest").periods["j0"]
        assert (period.start_s, period.units, period.end_s) == (7.0, 2, pytest.approx(7.0 + flow_s))


def test_two_jobs_in_equal_shares_by_hand():
    """60 s / n each, two nodes, the other 10 s later, restarts of 5 s: 2/3 of the first are left at 10 s, it ends at 55 s.

    The other has 1/4 left then: 55 + 5 + 7.5 = 67.5 s. With ticks of 20 s 1/3 is left at 20 s: the first ends at 20 + 5 + 20
    = 45 s; the other's 1/3 left at 60 s: 60 + 5 + 10.
    """
    for tick_s, flows_s in ((None, [55.0, 57.5]), (20.0, [45.0, 65.0])):
        stream = to_stream(made((1.0, LINEAR), (1.0, LINEAR)), [0.0, 10.0], restart_s=5.0, tick_s=tick_s)
        assert flow_times(stream, ordered(stream, "fifo", "equal")) == pytest.approx(flows_s)


def test_policies_do_not_see_real_ends():
    """One node, 60 s against 120 s that stop at .05: by the nominal work the first goes first, and the 6 s wait for it."""
    stream = to_stream(made((1.0, LINEAR), (2.0, LINEAR), nodes=1), [0.0, 0.0], early_stop=SEARCH, stops_at=[1.0, 0.05])

    class Look:
        clairvoyant, seen = False, None

        def decide(self, view):
            if self.seen is None:
                self.seen = [(view.left(job), view.early_stop(job)) for job in view]
            return {job: 1 for job in list(view)[:1]}

    look = Look()
    elastic_stream.simulate(stream, look)
    known = tuple(elastic_stream.EarlyStop(fraction=at, probability=chance) for at, chance in SEARCH)
    assert look.seen == [(1.0, known), (2.0, known)]
    for order in ("srpt", "sjf"):
        assert flow_times(stream, ordered(stream, order, "fixed")) == [60.0, 66.0]


def test_jobs_that_have_no_node_each_wait():
    """Three jobs on one node are no allocation, but a stream: one after the other."""
    stream = to_stream(made(*[(1.0, LINEAR)] * 3, nodes=1), [0.0, 0.0, 0.0])
    assert infeasible(stream) is None
    assert flow_times(stream, ordered(stream, "fifo", "fixed")) == [60.0, 120.0, 180.0]


def test_the_load_is_the_work_on_one_node():
    """2000 jobs of 60 s on four nodes at load .5: one every 60 / (4 x .5) = 30 s, exponential gaps, within five sigma."""
    instance = made(*[(1.0, LINEAR)] * 2000, nodes=4)
    stream = random_stream(instance, load=0.5, generator=np.random.default_rng(1))
    gaps = np.diff([0.0, *(job.arrival_s for job in stream.jobs)])
    assert gaps.min() > 0
    assert gaps.mean() == pytest.approx(30.0, abs=5 * 30 / math.sqrt(2000))
    assert (gaps > 30.0).mean() == pytest.approx(math.exp(-1), abs=5 * math.sqrt(0.2325 / 2000))


@pytest.mark.parametrize(
    ("fields", "arguments", "factor"),
    [
        (LINEAR, {"load": 1.0}, 0.5),
        (LINEAR, {"load": 0.5, "early_stop": [(0.5, 1.0)]}, 0.5),
        (LINKS, {"load": 0.5}, 3.0),
        (LINEAR, {"load": 0.5, "restart_s": 10.0, "tick_s": 5.0}, 1.0),
    ],
)
def test_arrivals_scale_with_work_over_load(fields, arguments, factor):
    """The same draws at twice the load, half the work really done, three times the seconds on one node, or with restarts."""
    one, other = (
        random_stream(made(*[(1.0, kind)] * 9, nodes=4), generator=np.random.default_rng(5), **given)
        for kind, given in ((LINEAR, {"load": 0.5}), (fields, arguments))
    )
    scaled = [factor * job.arrival_s for job in one.jobs]
    assert [job.arrival_s for job in other.jobs] == pytest.approx(scaled, rel=1e-12)


def test_loads_and_stops_share_arrivals():
    """With one seed, arrivals of any load, with early stops and without, are the same up to a factor."""
    shapes = []
    for load, stops in ((0.5, ()), (0.8, ()), (0.5, SEARCH), (1.1, SEARCH)):
        stream = drawn(load=load, early_stop=stops)
        arrivals = np.array([job.arrival_s for job in stream.jobs])
        shapes.append(arrivals / arrivals[-1])
    for shape in shapes[1:]:
        assert shape == pytest.approx(shapes[0], rel=1e-12)


def test_early_stops_come_from_the_distribution():
    """Of 20,000 jobs half stop at .05, three in ten at .25, the others run to the end: each share within five sigma."""
    stops = draw_stops(SEARCH, 20_000, np.random.default_rng(3))
    assert stops.shape == (20_000,)
    for at, chance in (*SEARCH, (1.0, 0.2)):
        assert (stops == at).mean() == pytest.approx(chance, abs=5 * math.sqrt(chance * (1 - chance) / 20_000))
    assert set(draw_stops((), 50, np.random.default_rng(3))) == {1.0}
    assert set(draw_stops(((0.5, 0.7), (0.1, 0.3)), 50, np.random.default_rng(3))) == {0.5, 0.1}


def test_same_seed_same_stream():
    """Equal seeds, equal streams; another seed moves arrivals and ends."""
    instance = generate(jobs=30, nodes=8, seed=1)
    first, again, other = (
        random_stream(instance, load=0.8, generator=np.random.default_rng(seed), early_stop=SEARCH)
        for seed in (4, 4, 5)
    )
    assert first == again
    assert [job.arrival_s for job in first.jobs] != [job.arrival_s for job in other.jobs]
    assert [job.stops_at for job in first.jobs] != [job.stops_at for job in other.jobs]
    assert [job.epoch_time_s for job in first.jobs] == [job.epoch_time_s for job in other.jobs]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"load": 0.0}, "load: found 0.0, allowed: a number > 0"),
        ({"load": math.nan}, "load: found nan"),
        ({"load": 1e-320}, "load: found 1e-320, allowed: one at which arrivals span a finite time > 0"),
        ({"tick_s": 0.0}, "tick: found 0.0, allowed: a number > 0"),
        ({"restart_s": math.inf}, "restart: found inf"),
        ({"early_stop": [(0.5, 0.7), (0.1, 0.4)]}, "probabilities .*, allowed: numbers > 0 that add up to at"),
        ({"early_stop": [(0.5, 0.0)]}, r"early_stop: found probabilities \[0.0\]"),
        ({"early_stop": [(0.5, math.nan)]}, r"early_stop: found probabilities \[nan\]"),
        ({"early_stop": [(1.0, 0.5)]}, r"early_stop: found fractions \[1.0\], allowed: numbers > 0 and < 1"),
        ({"early_stop": [(math.nan, 0.5)]}, r"early_stop: found fractions \[nan\]"),
    ],
)
def test_arguments_out_of_range_are_misuse(arguments, message):
    """Each is named, with what was found and what is allowed."""
    instance = made((1.0, LINEAR))
    with pytest.raises(UsageError, match=message):
        random_stream(instance, **{"load": 0.8, "generator": np.random.default_rng(0)} | arguments)


def test_probabilities_that_fill_one_may_round():
    """.1 ten times adds up to a hair less or more than 1, and nobody runs to the end but by chance of rounding."""
    early = [(0.05 * index, 0.1) for index in range(1, 11)]
    stops = draw_stops(early, 1000, np.random.default_rng(0))
    assert stops.max() <= 0.5
    assert len(to_stream(made((1.0, LINEAR)), [0.0], early_stop=early).jobs[0].early_stop) == 10


def test_jobs_without_work_have_no_load():
    """Nothing to do has no rate of arrivals; beside other jobs it is a job like any."""
    with pytest.raises(UsageError, match="allowed: one at which arrivals span a finite time > 0"):
        random_stream(made((0.0, LINEAR)), load=0.8, generator=np.random.default_rng(0))
    stream = random_stream(made((0.0, LINEAR), (1.0, LINEAR)), load=0.8, generator=np.random.default_rng(0))
    assert flow_times(stream, ordered(stream, "fifo", "fixed")) == [0.0, pytest.approx(30.0)]


@pytest.mark.parametrize(
    ("error", "arguments", "message"),
    [
        (UsageError, {"arrivals_s": [0.0] * 2}, "arrivals_s: found 2 numbers, allowed: one for each of the 1 jobs"),
        (UsageError, {"arrivals_s": []}, "arrivals_s: found 0 numbers"),
        (UsageError, {"stops_at": [1.0, 1.0]}, "stops_at: found 2 numbers, allowed: one for each of the 1 jobs"),
        (InstanceError, {"arrivals_s": [-1.0]}, r"jobs\[0\].arrival_s: found -1.0"),
        (InstanceError, {"stops_at": [1.5]}, r"jobs\[0\].stops_at: found 1.5"),
        (InstanceError, {"restart_s": -1.0}, r"jobs\[0\].restart_s: found -1.0"),
        (InstanceError, {"early_stop": [(1.5, 0.1)]}, r"jobs\[0\].early_stop\[0\].fraction: found 1.5"),
    ],
)
def test_wrong_numbers_are_named(error, arguments, message):
    """One arrival and one end a job; what the stream's own validation refuses, it names."""
    with pytest.raises(error, match=message):
        to_stream(made((1.0, LINEAR)), **{"arrivals_s": [0.0]} | arguments)


def test_tables_too_large_are_refused_before_they_are_made():
    """2**53 nodes for a job end in a sentence; limited to two nodes it is a stream, whatever the cluster has."""
    with pytest.raises(UsageError, match=rf"found {2**53} pairs of job and count, allowed: {LARGEST_TABLES} \(limit"):
        to_stream(made((1.0, LINEAR), nodes=2**53), [0.0])
    stream = to_stream(made((1.0, LINEAR | {"max_nodes": 2}), nodes=2**53), [0.0])
    assert (stream.units, times(stream)) == (2**53, [60.0, 30.0])


def test_through_a_file_and_back(tmp_path):
    """Written and read, the same instance; the solution of a policy is feasible in what was read."""
    stream = drawn(jobs=12, restart_s=10.0, early_stop=SEARCH, tick_s=600.0)
    path = tmp_path / "stream.json"
    write(stream, path)
    again = read(path)
    assert json.loads(path.read_text())["format"] == "dlsched/elastic_stream/1"
    assert again == stream
    assert again.sha256 == stream.sha256
    assert check(again, ordered(stream, "srpt", "knee")) == []


@pytest.mark.parametrize("arguments", [{}, {"restart_s": 600.0, "early_stop": SEARCH}], ids=["plain", "early stops"])
def test_every_cell_of_the_grid_finishes(arguments):
    """Orders x sizings on published jobs: every rule is kept, nobody beats the bound, orders and sizings differ."""
    stream = drawn(nodes=12, load=2.0, **arguments)
    least = elastic_stream.bound(stream).value
    means = {}
    for order in ORDERS:
        for sizing in SIZINGS:
            played = ordered(stream, order, sizing)
            assert check(stream, played) == [], (order, sizing)
            means[order, sizing] = objective(stream, played)
    assert len(means) == 25
    assert min(means.values()) >= least > 0
    assert len({means["fifo", sizing] for sizing in SIZINGS}) == 5
    assert len({means[order, "knee"] for order in ORDERS}) == 5


@pytest.mark.parametrize("preset", ["published", "network", "update", "compute"])
def test_fastest_takes_all_the_nodes_it_may(preset):
    """X grows to max_nodes = 7, so that is what every job holds under ``fastest``, and what no fixed count beats alone."""
    instance = generate(preset=preset, jobs=6, nodes=16, max_nodes=7, seed=3)
    assert all(exact_throughput(job, 7) > exact_throughput(job, 6) * (1 + 1e-12) for job in instance.jobs)
    apart = to_stream(instance, [1e9 * index for index in range(6)])
    fastest = ordered(apart, "fifo", "fastest")
    assert {period.units for held in fastest.periods.values() for period in held} == {7}
    flows = [flow_times(apart, elastic_stream.fixed(apart, units_per_job=units)) for units in range(1, 8)]
    for fewer, more in pairwise(flows):
        assert all(first > second for first, second in zip(fewer, more, strict=True))
    assert flow_times(apart, fastest) == flows[-1]


def test_the_knee_by_hand():
    """Two links of 1 s and Z = 1 s: X(n) / (n X(1)) is 9/11, 33/49, 147/261, 783/1631 on 2 .. 5 nodes: four are efficient."""
    efficiency = [float(3 * exact_throughput(made((1.0, LINKS)).jobs[0], n) / n) for n in range(2, 6)]
    assert efficiency == pytest.approx([9 / 11, 33 / 49, 147 / 261, 783 / 1631])
    stream = to_stream(made((1.0, LINKS), nodes=9), [0.0])
    (period,) = ordered(stream, "fifo", "knee").periods["j0"]
    assert period.units == 4
