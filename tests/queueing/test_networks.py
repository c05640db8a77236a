"""Networks as arrays: the same as one by one."""

import numpy as np
import pytest

from dlsched.async_sgd import Instance, generate
from dlsched.core.errors import UsageError
from dlsched.queueing.network import Network, PlainJob, Station, network_of
from dlsched.queueing.networks import Networks, networks_of
from dlsched.queueing.throughput import throughputs

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


def test_throughputs_of_arrays():
    """Arrays and objects give the same bits."""
    several = [network_of(job) for job in JOBS]
    assert np.array_equal(throughputs(networks_of(JOBS), 30), throughputs(several, 30))


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
