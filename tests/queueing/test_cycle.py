"""The stages of a mini-batch."""

import pytest

from dlsched.async_sgd.instance import Job
from dlsched.core.errors import UsageError
from dlsched.queueing.cycle import MOST_SHARDS, Stage, cycle_of
from dlsched.queueing.network import network_of


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
    assert [(stage.work, stage.station) for stage in stages] == [
        ("transfer", 0),
        ("transfer", 1),
        ("compute", 2),
        ("transfer", 0),
        ("transfer", 1),
    ]


def test_the_updates_may_share():
    """The discipline of the updates is the caller's."""
    assert cycle_of(job(), discipline="sharing")[-1] == Stage(3, "sharing", 0.01, "update")


def test_what_takes_no_time_is_left_out():
    """Without bytes and updates only the computation remains."""
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
