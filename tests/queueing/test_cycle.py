"""The cycle of a job by hand; its Markov chain by hand and against the mean value analysis."""

import math

import numpy as np
import pytest

from dlsched.async_sgd.instance import Job
from dlsched.core.errors import UsageError
from dlsched.queueing.cycle import MOST_SHARDS, Stage, chain_throughput, cycle_of
from dlsched.queueing.network import network_of
from dlsched.queueing.throughput import mean_values


def job(**fields):
    """A job of 8 MB over 100 MB/s, 0.25 s and 0.01 s, but for the given fields."""
    data = {"id": "a", "epochs": 1, "dataset_examples": 100, "batch_examples": 10, "parameter_bytes": 8e6}
    return Job(**(data | {"bandwidth_bytes_per_s": 1e8, "compute_s": 0.25, "update_s": 0.01} | fields))


def test_two_shards_in_turn():
    """Both pulls come before the computation; after it each push is followed by its update."""
    assert cycle_of(job(shards=2)) == (
        Stage(0, "sharing", 0.04, "transfer"),
        Stage(1, "sharing", 0.04, "transfer"),
        Stage(2, "delay", 0.25, "compute"),
        Stage(3, "sharing", 0.04, "transfer"),
        Stage(4, "queue", 0.005, "update"),
        Stage(5, "sharing", 0.04, "transfer"),
        Stage(6, "queue", 0.005, "update"),
    )


def test_half_duplex_shares_a_link():
    """A shard's pull and push meet at one station."""
    stages = cycle_of(job(shards=2, duplex="half", update_s=0.0))
    assert [stage.work for stage in stages] == ["transfer", "transfer", "compute", "transfer", "transfer"]
    assert [stage.station for stage in stages] == [0, 1, 2, 0, 1]


def test_the_updates_may_share_and_what_takes_no_time_is_left_out():
    """The discipline of the updates is the caller's; without bytes and updates only the computation remains."""
    assert cycle_of(job(), discipline="sharing")[-1] == Stage(3, "sharing", 0.01, "update")
    assert cycle_of(job(parameter_bytes=0, update_s=0.0)) == (Stage(0, "delay", 0.25, "compute"),)


@pytest.mark.parametrize("duplex", ["full", "half"])
def test_demands_are_those_of_the_network(duplex):
    """Seconds added up by station are the demands that the mean value analysis is given."""
    some = job(shards=3, duplex=duplex)
    demands: dict[int, float] = {}
    for stage in cycle_of(some):
        if stage.discipline != "delay":
            demands[stage.station] = demands.get(stage.station, 0.0) + stage.mean_s
    expected = [station.demand_s for station in network_of(some).stations for _ in range(station.copies)]
    assert sorted(demands.values()) == pytest.approx(sorted(expected))


def test_too_many_shards_are_refused():
    """A number of shards that no memory holds is an error at once."""
    with pytest.raises(UsageError, match=r"shards: found 9007199254740991, allowed: at most 10000"):
        cycle_of(job(shards=2**53 - 1))
    assert len(cycle_of(job(shards=MOST_SHARDS))) == 3 * MOST_SHARDS + 1


def small_network(generator):
    """A job with times over four orders of magnitude, and workers, of at most 130 states."""
    while True:
        compute_s, transfer_s, update_s = (float(10 ** generator.uniform(-3, 1)) for _ in range(3))
        some = job(
            compute_s=compute_s,
            parameter_bytes=0.0 if generator.random() < 0.15 else 1e8 * transfer_s,
            update_s=0.0 if generator.random() < 0.2 else update_s,
            shards=int(generator.integers(1, 4)),
            duplex=str(generator.choice(["full", "half"])),
        )
        workers = int(generator.integers(1, 8))
        if math.comb(workers + len(cycle_of(some)) - 1, workers) <= 130:
            return some, workers


@pytest.mark.parametrize(("networks", "seed"), [(200, 6), pytest.param(2000, 7, marks=pytest.mark.long)])
def test_chain_and_mean_value_analysis_agree(networks, seed):
    """Two methods that share no code give one throughput: shards, half duplex, no updates, no transfers."""
    generator = np.random.default_rng(seed)
    kinds = set()
    for _ in range(networks):
        some, workers = small_network(generator)
        expected = mean_values(network_of(some), workers).throughput
        assert chain_throughput(some, workers) == pytest.approx(expected, rel=1e-9), (some, workers)
        kinds.add((some.shards > 1, some.duplex, some.update_s > 0, some.parameter_bytes > 0, workers > 2))
    for index, values in enumerate(((True, False), ("full", "half"), (True, False), (True, False), (True, False))):
        assert {kind[index] for kind in kinds} == set(values)


def test_two_workers_by_hand():
    """After an update the other worker waits with probability u / (c + u); else both compute for c / 2 in the mean."""
    expected = 1 / (0.1 + (0.25 / 0.35) * 0.25 / 2)
    assert chain_throughput(job(parameter_bytes=0, update_s=0.1), 2) == pytest.approx(expected, rel=1e-12)
    assert expected == pytest.approx(5.283, abs=5e-4)


def test_extreme_times():
    """Probabilities far below the smallest float do no harm."""
    some = job(compute_s=1e4, parameter_bytes=1e-3, update_s=1e-7)
    assert chain_throughput(some, 12) == pytest.approx(12 / (1e4 + 2e-11 + 1e-7), rel=1e-12)


def test_refusals():
    """Too many states, too many stages and no worker are errors that say what is allowed."""
    with pytest.raises(UsageError, match=r"8 workers on 13 stages: 125970 states, allowed: at most 10000"):
        chain_throughput(job(shards=4), 8)
    with pytest.raises(UsageError, match=r"4 workers on 4 stages: 35 states, allowed: at most 34"):
        chain_throughput(job(), 4, most_states=34)
    with pytest.raises(UsageError, match=r"301 stages, allowed: at most 100"):
        chain_throughput(job(shards=100), 1)
    with pytest.raises(UsageError, match=r"workers: found 0"):
        chain_throughput(job(), 0)
