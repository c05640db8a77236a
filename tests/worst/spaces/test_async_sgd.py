"""The space of async_sgd: numbers that a person can read, and worst instances known by hand."""

import pytest

from dlsched import async_sgd
from dlsched.families import instance_from
from dlsched.solving import solve
from dlsched.worst.search import find_worst
from dlsched.worst.spaces import async_sgd as space
from tests.worst.conftest import walk

PERFECT = {"dataset_examples": 1000.0, "compute_s": 1.0, "update_s": 0.0, "parameter_bytes": 0.0}
SHORT = {"dataset_examples": 1.0, "compute_s": 0.1, "update_s": 0.0, "parameter_bytes": 0.0}


@pytest.mark.parametrize("preset", [None, "published", "mixed"])
def test_a_walk_stays_in_the_space(preset: str | None) -> None:
    """Whole batches, times in their range or 0, one server of full-duplex links; the walk comes about."""
    met = walk(space.space_of(jobs=3, gpus=8, preset=preset), 60)
    for _, instance in met:
        assert isinstance(instance, async_sgd.Instance)
        assert instance.nodes == 8
        assert 1 <= len(instance.jobs) <= 3
        for job in instance.jobs:
            assert job.batches == round(job.batches) <= 1000
            assert 0.1 <= job.compute_s <= 10
            assert all(seconds == 0 or 0.01 <= seconds <= 10 for seconds in (job.update_s, job.transfer_s))
            assert (job.shards, job.duplex, job.max_nodes) == (1, "full", None)
    assert len({repr(data) for data, _ in met}) > 20


def test_an_equal_share_is_bad_for_one_long_job() -> None:
    """Four jobs on 16 nodes, one of 1000 s with perfect speed, three of .1 s: 250 + .075 s against 1000 / 13 + .3 s."""
    data = space.space_of().repair({"jobs": [PERFECT, SHORT, SHORT, SHORT]})
    assert data is not None
    instance = instance_from(data, "known")
    objectives = [solve(instance, method=method).objective for method in ("equal", "knee", "exact")]
    assert objectives == pytest.approx([250.075, 250.075, 1000 / 13 + 0.3], rel=1e-12)


def test_a_short_search_finds_as_much() -> None:
    """At least 95 % of that ratio, 3.238, which is below (N - J + 1) / floor(N / J) = 13/4."""
    worst = find_worst("async_sgd", "equal", jobs=4, budget=250, seed=0)
    assert worst.ratio is not None
    assert 0.95 * 3.238 < worst.ratio <= 3.25


def test_marginal_gain_is_never_beaten() -> None:
    """It is optimal (Fox 1966)."""
    worst = find_worst("async_sgd", "marginal", budget=100, seed=0)
    assert worst.ratio == 1
    assert not worst.failures
