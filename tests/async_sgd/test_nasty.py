"""Numbers that break arithmetic, and clusters of all sizes: proven, held without any time, or refused at once."""

import numpy as np
import pytest

import dlsched
from dlsched import Limits, TerminationStatus
from dlsched.async_sgd import Instance, batches_per_s, check
from dlsched.async_sgd.methods import METHODS
from dlsched.core.errors import UsageError

from .nasty import nasty

JOB = {
    "epochs": 2.0,
    "dataset_examples": 1000.0,
    "batch_examples": 10.0,
    "parameter_bytes": 3e7,
    "bandwidth_bytes_per_s": 1e9,
    "compute_s": 0.5,
}


def made(nodes, *jobs):
    """Jobs, changed."""
    return Instance(name="made", nodes=nodes, jobs=[JOB | {"id": f"j{index}"} | job for index, job in enumerate(jobs)])


def test_a_cost_of_next_to_nothing_is_proven():
    """Two equal jobs of 3e-9 batches, one of which has the third node: 3e-9 s x 0.5 and x 0.25 without anything to send."""
    tiny = {"epochs": 3e-11, "parameter_bytes": 0.0, "dataset_examples": 1000.0}
    instance = made(3, tiny, tiny)
    for method in ("milp", "lp"):
        result = dlsched.solve(instance, method=method)
        assert result.bound == pytest.approx(2.25e-9, rel=1e-6)
    assert dlsched.solve(instance, method="milp").objective == pytest.approx(2.25e-9, rel=1e-12)


def test_a_cost_beyond_all_others_is_proven():
    """One job of 1e20 s on three nodes: HiGHS sees parts of its largest time."""
    instance = made(3, {"epochs": 1e18, "shards": 5, "update_s": 9.0})
    for method in ("lp", "milp"):
        result = dlsched.solve(instance, method=method)
        assert result.bound == pytest.approx(dlsched.solve(instance).objective, rel=1e-6)


@pytest.mark.parametrize("method", [name for name, method in METHODS.items() if method.kind != "bound"])
def test_without_any_time_an_answer_is_held(method):
    """Stopped at the first tick: equal shares, by every method."""
    instance = made(20, {}, {"compute_s": 3.0})
    result = dlsched.solve(instance, method=method, limits=Limits(time_s=0.0))
    assert result.status is TerminationStatus.TIME_LIMIT
    assert check(instance, result.solution) == []


@pytest.mark.parametrize("method", ["exact", "marginal", "knee", "lagrange"])
def test_jobs_that_nobody_slows_down_on_vast_clusters_are_refused_at_once(method):
    """Every one of 2^53 nodes would save something: nothing is tabulated."""
    alone = {"parameter_bytes": 0.0}
    with pytest.raises(UsageError, match="more than 16777216 pairs"):
        dlsched.solve(made(2**53, alone, alone), method=method)


def test_throughputs_of_vast_numbers_are_refused_or_known_at_once():
    """Two equal links are never busy all the time; one that is a billion times too fast neither; a single slow one soon is."""
    for job in ({}, {"parameter_bytes": 1e-3, "duplex": "half"}):
        with pytest.raises(UsageError, match="allowed: up to 16777216 of which each counts"):
            batches_per_s(made(1, job).jobs[0], 2**53)
    half = made(1, {"duplex": "half"}).jobs[0]
    assert batches_per_s(half, 2**53) == pytest.approx(1 / 0.06, rel=1e-12)


def test_two_kinds_of_stations_take_the_same_steps():
    """The loop for two kinds, which every job has, against the loop for any number."""
    from itertools import islice

    from dlsched.queueing.network import network_of
    from dlsched.queueing.throughput import _iterate, iterate

    for seed in range(20):
        network = network_of(nasty(np.random.default_rng(seed)).jobs[0])
        assert list(islice(iterate(network), 30)) == list(islice(_iterate(network), 30))
