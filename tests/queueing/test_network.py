"""Networks of jobs, one and many as arrays, by hand and against each other."""

import math
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from dlsched.async_sgd import Instance, generate
from dlsched.async_sgd.instance import Job
from dlsched.core.errors import UsageError
from dlsched.queueing.network import Network, Networks, PlainJob, Station, network_of, networks_of
from dlsched.queueing.throughput import throughputs

JOB = {
    "id": "a",
    "epochs": 1,
    "dataset_examples": 1,
    "batch_examples": 1,
    "parameter_bytes": 96.0,
    "bandwidth_bytes_per_s": 4.0,
    "compute_s": 5.0,
    "update_s": 12.0,
}


@pytest.mark.parametrize(
    ("duplex", "shards", "stations"),
    [
        # 96 bytes at 4 bytes/s are 24 s one way
        ("full", 1, [(24.0, 2), (12.0, 1)]),
        ("full", 3, [(8.0, 6), (4.0, 3)]),
        ("half", 1, [(48.0, 1), (12.0, 1)]),
        ("half", 3, [(16.0, 3), (4.0, 3)]),
    ],
)
def test_the_stations_of_a_job(duplex, shards, stations):
    """3 P stations with full duplex, 2 P with half; a shard has a P-th of the bytes and of the update."""
    network = network_of(Job(**JOB, duplex=duplex, shards=shards))
    assert network.delay_s == 5.0
    assert sorted(network.stations) == sorted(stations)


@pytest.mark.parametrize("duplex", ["full", "half"])
@pytest.mark.parametrize("shards", [1, 2, 3, 7])
def test_a_worker_that_is_alone_takes_the_same_time_with_every_layout(duplex, shards):
    """24 + 5 + 24 + 12 s, as nobody waits: with as many shards as one likes, and links of either kind."""
    job = Job(**JOB, duplex=duplex, shards=shards)
    assert job.cycle_s == 65.0
    assert network_of(job).cycle_s == pytest.approx(65.0, rel=1e-15)


def test_figures_by_hand():
    """Totals count the copies, the largest demand is one station's; without stations nobody waits, some time is enough."""
    for network, figures in (
        (Network(0.5, ((2.0, 3), (4.0, 1), (0.0, 9))), (10.0, 4.0, 10.5)),
        (Network(0.5, ()), (0.0, 0.0, 0.5)),
        (Network(0.0, ((2.0, 3), (0.0, 1))), (6.0, 2.0, 6.0)),
    ):
        assert (network.total_s, network.largest_s, network.cycle_s) == figures


def test_pairs_and_demands_alone_are_stations():
    """A pair is a station, one copy is the default; a list becomes a tuple, so networks are hashable."""
    network = Network(0.5, [(2.0, 3), Station(4.0)])
    assert network.stations == (Station(2.0, 3), Station(4.0, 1))
    assert hash(network) == hash(Network(0.5, network.stations))
    with pytest.raises(FrozenInstanceError):
        network.delay_s = 1.0


TIMES = "delay_s: found .*, allowed: a number >= 0"
STATION = "stations: found .*, allowed: a demand >= 0 and at least one copy"


@pytest.mark.parametrize(
    ("delay_s", "stations", "said"),
    [
        *((delay_s, ((1.0, 1),), TIMES) for delay_s in (-1.0, math.inf, math.nan)),
        *((1.0, ((1.0, 1), bad), STATION) for bad in ((-1.0, 1), (math.inf, 1), (math.nan, 1), (1.0, 0))),
        *((0.0, idle, "stations: found a cycle of 0.0 s, allowed: a finite one > 0") for idle in ((), ((0.0, 3),))),
        (1e308, ((1e308, 1),), "stations: found a cycle of inf s, allowed: a finite one > 0"),
    ],
)
def test_networks_that_are_refused(delay_s, stations, said):
    """Times are finite and not negative, a station is there at least once, some time passes and adds up to a number."""
    with pytest.raises(UsageError, match=f"^{said}$"):
        Network(delay_s, stations)


JOBS = [
    PlainJob(0.25, 0.08, 0.01),
    PlainJob(0.1, 0.3, 0.7, 3),
    PlainJob(0.3, 0.1, 0.2, 7, "half"),
    PlainJob(1.0),
]


def test_the_same_floats_as_one_by_one():
    """Shards, half duplex, no transfers: what ``network_of`` says, in every bit."""
    networks = networks_of(JOBS)
    assert [networks[index] for index in range(len(networks))] == [network_of(job) for job in JOBS]


def test_networks_of_an_instance():
    """An instance makes them of its columns."""
    drawn = generate(preset="mixed", jobs=50, nodes=60, seed=0)
    jobs = [
        job.model_dump() | {"shards": 1 + i % 5, "duplex": ["full", "half"][i % 2]} for i, job in enumerate(drawn.jobs)
    ]
    instance = Instance(name="mixed", nodes=60, jobs=jobs)
    networks = instance.networks
    assert [networks[index] for index in range(50)] == [network_of(job) for job in instance.jobs]


def test_fewer_kinds_have_demands_of_nothing():
    """By hand: no station, and two kinds."""
    networks = Networks.of([Network(2.0, ()), Network(0.0, (Station(1.0, 3), Station(0.5)))])
    assert networks.delays.tolist() == [2.0, 0.0]
    assert networks.demands.tolist() == [[0.0, 1.0], [0.0, 0.5]]
    assert networks.copies.tolist() == [[1.0, 3.0], [1.0, 1.0]]
    assert throughputs(networks, 1).tolist() == [[0.5, 1 / 3.5]]


def test_some_of_them():
    """In their order."""
    kept = networks_of(JOBS).keep(np.array([False, True, False, True]))
    assert [kept[0], kept[1]] == [network_of(JOBS[1]), network_of(JOBS[3])]


@pytest.mark.parametrize(
    ("delays", "demands", "copies", "message"),
    [
        ([1.0], [[1.0, 2.0]], [[1.0, 1.0]], "allowed: delays of shape"),
        ([1.0, 1.0], [[1.0, 2.0]], [[1.0], [1.0]], "allowed: delays of shape"),
        ([1.0, -1.0], [[1.0, 2.0]], [[1.0, 1.0]], r"networks\[1\]"),
        ([1.0], [[-1.0]], [[1.0]], r"networks\[0\]"),
        ([1.0], [[1.0]], [[0.0]], r"networks\[0\]"),
        ([0.0], [[0.0]], [[1.0]], r"networks\[0\]"),
        ([1.0], [[np.inf]], [[1.0]], r"networks\[0\]"),
        ([np.nan], [[1.0]], [[1.0]], r"networks\[0\]"),
    ],
)
def test_refusals(delays, demands, copies, message):
    """What ``Network`` refuses is refused here."""
    with pytest.raises(UsageError, match=message):
        Networks(np.array(delays), np.array(demands), np.array(copies))
