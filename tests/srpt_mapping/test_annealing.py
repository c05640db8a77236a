"""The search over orders: never worse than its start, repeatable, stopped by limits, and better where order matters."""

import numpy as np
import pytest
from hypothesis import given, settings

from dlsched import Limits, TerminationStatus, srpt_mapping
from dlsched.srpt_mapping import anneal, check, fifo, objective
from dlsched.srpt_mapping.heuristics import POLICIES
from dlsched.testing import srpt_mapping_instances

STAGE = {"replicas": 1, "compute_s": 1.0, "output_bytes": 0.0, "parameter_bytes": 0.0}


def queue(*lengths):
    """Jobs of these lengths, in seconds, on one GPU, all released at 0."""
    return srpt_mapping.Instance(
        name="queue",
        intra_bandwidth_bytes_per_s=1.0,
        nic_bandwidth_bytes_per_s=1.0,
        servers=[{"id": "s0", "gpus": 1}],
        jobs=[
            {"id": f"j{index}", "release_s": 0.0, "iterations": float(length), "stages": [STAGE]}
            for index, length in enumerate(lengths)
        ],
    )


def test_one_machine_is_sorted():
    """On one GPU the shortest first is best: from the longest first it gets there, by the sums of sums."""
    lengths = range(9, 0, -1)
    instance = queue(*lengths)
    start = fifo(instance)
    assert objective(instance, start) == sum(np.cumsum(list(lengths)))
    best = anneal(instance, start, np.random.default_rng(0), orders=1000)
    assert objective(instance, best) == sum(np.cumsum(sorted(lengths)))


@settings(max_examples=15, derandomize=True, deadline=None, database=None)
@given(srpt_mapping_instances(feasible=True))
def test_never_worse_than_its_start(instance):
    """Every schedule that it reports is feasible and better than those before; the last one is returned."""
    start = fifo(instance)
    heard = [start]
    best = anneal(instance, start, np.random.default_rng(1), orders=20, better=heard.append)
    sums = [objective(instance, schedule) for schedule in heard]
    assert sums == sorted(sums, reverse=True) and len(set(sums)) == len(sums)
    assert not any(check(instance, schedule) for schedule in heard)
    assert best == heard[-1]


def test_the_method_is_repeatable_and_at_least_as_good_as_every_policy():
    """One seed, one answer; no policy does better."""
    instance = srpt_mapping.generate(preset="communication-heavy", jobs=20, gpus=16, seed=1)
    first, second = (srpt_mapping.solve(instance, method="annealing", seed=3) for _ in range(2))
    assert first.solution == second.solution
    assert all(first.objective <= objective(instance, policy(instance)) for policy in POLICIES.values())


def test_a_node_limit_counts_orders():
    """Five orders, then the best so far, and so it is said."""
    instance = srpt_mapping.generate(preset="mixed", jobs=20, gpus=16, seed=1)
    result = srpt_mapping.solve(instance, method="annealing", limits=Limits(nodes=5))
    assert result.status is TerminationStatus.NODE_LIMIT
    assert result.solution is not None


@pytest.mark.parametrize("orders", [1, 2])
def test_few_orders(orders):
    """One job and few orders: nothing to move, nothing lost."""
    instance = queue(4)
    assert objective(instance, anneal(instance, fifo(instance), np.random.default_rng(0), orders=orders)) == 4.0
