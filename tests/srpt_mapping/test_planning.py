"""Plans and the search over orders: by hand, feasible, never worse than their start, repeatable, stopped by limits."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings

from dlsched import Limits, TerminationStatus, srpt_mapping
from dlsched.core.errors import UsageError
from dlsched.srpt_mapping import anneal, check, fifo, objective
from dlsched.srpt_mapping import planning as planning
from dlsched.srpt_mapping.dispatching import schedule_of
from dlsched.srpt_mapping.heuristics import POLICIES
from dlsched.srpt_mapping.planning import Serial, plan
from dlsched.testing import srpt_mapping_instances

from . import builders

gangs = partial(builders.made, inside=100.0, nic=8.0)


def test_a_later_job_runs_in_front():
    """Two GPUs: j0 on one until 4, j1 on both from 4; j2 and j3 have the GPU beside j0, one after the other."""
    instance = gangs([2], (0, 4, 1), (0, 2, 2), (1, 1, 1), (0, 2, 1))
    ran = Serial(instance, [4.0, 2.0, 1.0, 2.0]).run([0, 1, 2, 3])
    assert [each.start_s for each in ran] == [0.0, 4.0, 1.0, 2.0]


def test_none_runs_across_a_job_whose_length_vanishes_beside_its_start():
    """One second at 1e18, where floats are 128 apart, on the only GPU: what is longer comes after it, what ends then before."""
    instance = gangs([1], (1e18, 1, 1), (0, 2e18, 1), (0, 1e18, 1), (1e18, 1, 1))
    ran = Serial(instance, [1.0, 2e18, 1e18, 1.0]).run([0, 1, 2, 3])
    assert [each.start_s for each in ran] == [1e18, 1e18, 0.0, 1e18 + 2e18]
    result = srpt_mapping.solve(instance, method="plan")
    assert result.status in ("feasible", "optimal") and not check(instance, result.solution)


def test_it_waits_where_that_ends_sooner():
    """A ring of 2 GPUs takes 1.08 s on a server, 3 s on two: after 1 s it still ends sooner than at once."""
    instance = gangs([2, 2], (0, 1, 1), (0, 1, 1), (0, 1, 2), ring=8.0)
    serial = Serial(instance, [1.0, 1.0, 1.08])
    start_s, length_s, placement = serial.run([0, 1, 2])[2]
    assert (start_s, length_s) == (0.0, pytest.approx(1.08))  # compact put both others on one server
    blocked = gangs([2, 2], (0, 1, 1), (0, 1, 2), (0, 1, 1), ring=8.0)
    start_s, length_s, placement = Serial(blocked, [1.0, 1.08, 1.0]).run([0, 2, 1])[1]
    assert (start_s, length_s, len(placement)) == (0.0, pytest.approx(1.08), 1)
    full = gangs([1, 1, 2], (0, 1, 2), (0, 1, 2), ring=8.0)
    start_s, length_s, placement = Serial(full, [1.08, 1.08]).run([0, 1])[1]
    assert (start_s, length_s, len(placement)) == (
        0.0,
        pytest.approx(2.0),
        2,
    )  # 8 bytes at 8 B/s each, ends at 2 < 2.16


def test_small_servers_share_their_cards_with_fewer():
    """Four GPUs of (3, 1, 1, 1, 1): a ring on the small ones runs at 8 B/s, with the large one at 8 / 3."""
    instance = gangs([3, 1, 1, 1, 1], (0, 1, 4), ring=8.0)
    ((start_s, length_s, placement),) = Serial(instance, [1.0]).run([0])
    assert (start_s, length_s) == (0.0, 1.0 + 12.0 / 8.0)
    assert {share.server for share in placement} == {"s1", "s2", "s3", "s4"}


@settings(max_examples=20, derandomize=True, deadline=None, database=None)
@given(srpt_mapping_instances(feasible=True, max_jobs=7))
def test_every_order_is_feasible(instance):
    """Placed in the order of the file and backwards, by the checker."""
    own = instance.on_own_clock()
    least_s = [job.iterations * job.graph.uniform_s(own.fastest) * 0.5 for job in own.jobs]
    serial = Serial(own, least_s)
    count = len(own.jobs)
    for order in (range(count), range(count - 1, -1, -1)):
        assert check(own, schedule_of(own, serial.run(list(order)))) == []


@settings(max_examples=20, derandomize=True, deadline=None, database=None)
@given(srpt_mapping_instances(feasible=True))
def test_never_worse_than_its_start(instance):
    """Every schedule that it reports is feasible and better than those before; the last one is returned."""
    heard = [fifo(instance)]
    best = plan(instance, heard[:1], np.random.default_rng(1), orders=10, better=heard.append)
    sums = [objective(instance, schedule) for schedule in heard]
    assert sums == sorted(sums, reverse=True) and len(set(sums)) == len(sums)
    assert not any(check(instance, schedule) for schedule in heard)
    assert best == heard[-1]


def test_the_method_is_repeatable_and_better_than_every_policy():
    """One seed, one answer, between the bound and the policies."""
    instance = srpt_mapping.generate(preset="communication-heavy", jobs=12, gpus=16, seed=1)
    first, second = (srpt_mapping.solve(instance, method="plan", seed=3) for _ in range(2))
    assert first.solution == second.solution
    assert srpt_mapping.bound(instance).value <= first.objective
    assert all(first.objective < objective(instance, policy(instance)) for policy in POLICIES.values())


def test_limits_stop_it():
    """An order is a node; what is held then is a policy's answer or better."""
    instance = srpt_mapping.generate(preset="mixed", jobs=20, gpus=16, seed=1)
    result = srpt_mapping.solve(instance, method="plan", limits=Limits(nodes=3))
    assert result.status == "node_limit"
    assert result.objective <= min(objective(instance, policy(instance)) for policy in POLICIES.values())


def test_too_many_jobs_are_refused(monkeypatch):
    """The number allowed is named."""
    monkeypatch.setattr(planning, "LARGEST", 2)
    instance = gangs([2], (0, 1, 1), (0, 1, 1), (0, 1, 1))
    with pytest.raises(UsageError, match="plan: found 3 jobs, allowed: 2"):
        plan(instance, [fifo(instance)], np.random.default_rng(0))


def queue(*lengths):
    """Jobs of these lengths, in seconds, on one GPU, all released at 0."""
    return builders.made([1], *((0.0, float(length), 1) for length in lengths))


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
def test_annealing_is_never_worse_than_its_start(instance):
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
