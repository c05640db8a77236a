"""Brute force by hand, its throughputs against a Markov chain, and what the strategies draw."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from conftest import profile
from hypothesis import given

from dlsched.async_sgd.checker import check, infeasible, objective
from dlsched.async_sgd.instance import Instance, Job
from dlsched.async_sgd.solution import Allocation
from dlsched.testing.async_sgd import (
    async_sgd_instances,
    brute_force_async,
    convolution,
    demands,
    exact_throughput,
    networks,
)

BASE = {
    "epochs": 1,
    "dataset_examples": 60,
    "batch_examples": 1,
    "parameter_bytes": 0.0,
    "bandwidth_bytes_per_s": 1.0,
    "compute_s": 1.0,
}


def made(nodes, *jobs):
    """Jobs of 60 batches of a second where nobody waits, changed."""
    return Instance(name="made", nodes=nodes, jobs=[BASE | {"id": f"j{n}"} | job for n, job in enumerate(jobs)])


@pytest.mark.parametrize(
    ("instance", "expected", "nodes"),
    [
        (made(4, {}), 15.0, (4,)),
        (made(4, {"max_nodes": 3}), 20.0, (3,)),
        (made(4, {"max_nodes": 100}), 15.0, (4,)),
        (made(4, {}, {}), 60.0, (2, 2)),
        (made(3, {}, {}), 90.0, (1, 2)),  # a tie: the first in lexicographic order
        (made(5, {}, {"epochs": 4}), 30 + 80.0, (2, 3)),  # 60 + 60, 30 + 80, 20 + 120
        (made(3, {"epochs": 0}, {}), 30.0, (1, 2)),
        # updates of a second: X(1) = 1/2, X(2) = 4/5, so a second node saves 120 - 75 there and 60 - 30 beside
        (made(3, {"update_s": 1.0}, {}), 75 + 60.0, (2, 1)),
        # two shards of half a second of updates: X(2) = 2 / (1 + 2 (1/2) (1 + 1/4)) = 8/9
        (made(2, {"update_s": 1.0, "shards": 2}), 67.5, (2,)),
        # one second up and one down: X(2) = 2 / (1 + 2 (1 + 1/3)) = 6/11; both in one: 2 / (1 + 2 (1 + 2/3)) = 6/13
        (made(2, {"parameter_bytes": 1.0}), 110.0, (2,)),
        (made(2, {"parameter_bytes": 1.0, "duplex": "half"}), 130.0, (2,)),
    ],
)
def test_optima_by_hand(instance, expected, nodes):
    """One job alone, shares, ties, limits, stations at which workers wait."""
    found, allocation = brute_force_async(instance)
    assert found == pytest.approx(expected, rel=1e-15)
    assert tuple(allocation.nodes.values()) == nodes


def test_infeasible_by_hand():
    """Three jobs on two nodes."""
    assert brute_force_async(made(2, {}, {}, {})) is None


def test_too_much_to_try_is_refused(monkeypatch):
    """Four jobs on 8 nodes have 8! / (4! 4!) = 70 allocations: a limit of 70 allows them, 69 does not."""
    instance = made(8, {}, {}, {}, {})
    monkeypatch.setitem(brute_force_async.__globals__, "LARGEST", 70)
    assert brute_force_async(instance)[0] == 120.0
    monkeypatch.setitem(brute_force_async.__globals__, "LARGEST", 69)
    with pytest.raises(ValueError, match="more than 69 allocations fit"):
        brute_force_async(instance)


@profile(60)
@given(async_sgd_instances(max_jobs=3, max_nodes=6))
def test_it_is_the_best_by_the_checker(instance):
    """Of all products of counts, those that the checker passes; its objective is compared."""
    ids = [job.id for job in instance.jobs]
    ways = itertools.product(range(1, instance.nodes + 1), repeat=len(ids))
    allocations = (Allocation(dict(zip(ids, way, strict=True))) for way in ways)
    objectives = [objective(instance, each) for each in allocations if not check(instance, each)]
    found = brute_force_async(instance)
    assert (found is None) == (not objectives) == (infeasible(instance) is not None)
    if found is not None:
        assert found[0] == pytest.approx(min(objectives), rel=1e-13)
        assert check(instance, found[1]) == []
        assert objective(instance, found[1]) == pytest.approx(found[0], rel=1e-13)


def chain(delay_s, demands_s, customers):
    """Throughput of a Markov chain: stations in a ring, one server each, exponential times; every state is written down."""
    places = len(demands_s) + 1  # the delay is place 0
    states = [state for state in itertools.product(range(customers + 1), repeat=places) if sum(state) == customers]
    index = {state: row for row, state in enumerate(states)}
    rates = np.zeros((len(states), len(states)))
    for state, row in index.items():
        for place, present in enumerate(state):
            if present:
                moved = list(state)
                moved[place] -= 1
                moved[(place + 1) % places] += 1
                rates[row, index[tuple(moved)]] += present / delay_s if place == 0 else 1 / demands_s[place - 1]
    balance = (rates - np.diag(rates.sum(axis=1))).T
    balance[0] = 1.0  # one equation is redundant; the shares add up to 1
    shares = np.linalg.solve(balance, np.eye(len(states))[0])
    return sum(share * state[0] for state, share in zip(states, shares, strict=True)) / delay_s


@pytest.mark.parametrize(
    ("delay_s", "demands_s"),
    [(1.0, [1.0]), (0.25, [0.1]), (0.25, [0.08, 0.08, 0.01]), (2.0, [0.5, 3.0]), (0.1, [1.0] * 3)],
)
def test_convolution_is_the_markov_chain(delay_s, demands_s):
    """Exponential times, first come, first served: the balance equations of all states give the same throughput."""
    expected = convolution(Fraction(delay_s), list(map(Fraction, demands_s)), 4)
    for customers, value in enumerate(expected, start=1):
        assert chain(delay_s, demands_s, customers) == pytest.approx(float(value), rel=1e-10)


def test_throughput_of_a_job_by_hand():
    """Z = 1, updates of 1 s: 1/2, 4/5, 15/16, exactly; three shards are spelled out as nine stations, or six with half duplex."""
    job = Job(**BASE | {"id": "a", "update_s": 1.0})
    assert [exact_throughput(job, nodes) for nodes in (1, 2, 3)] == [Fraction(1, 2), Fraction(4, 5), Fraction(15, 16)]
    job = Job(**BASE | {"id": "a", "parameter_bytes": 2.0, "update_s": 5.0, "shards": 3})
    assert sorted(demands(job)) == [Fraction(2, 3)] * 6 + [Fraction(5, 3)] * 3
    half = job.model_copy(update={"duplex": "half"})
    assert sorted(demands(half)) == [Fraction(4, 3)] * 3 + [Fraction(5, 3)] * 3


@profile(40)
@given(async_sgd_instances(feasible=True, max_jobs=2, max_nodes=3))
def test_strategies_keep_their_promises(instance):
    """As many jobs and nodes as asked for at most, and feasible."""
    assert infeasible(instance) is None
    assert (len(instance.jobs) <= 2, instance.nodes <= 3) == (True, True)


@profile(40)
@given(async_sgd_instances(feasible=False))
def test_strategies_draw_infeasible_ones_when_asked(instance):
    """Every one has more jobs than nodes."""
    assert infeasible(instance) is not None


def test_strategies_draw_the_awkward_cases():
    """Among 200 instances each of them is there."""
    seen = set()

    @profile(200)
    @given(async_sgd_instances())
    def look(instance):
        jobs, nodes = instance.jobs, instance.nodes
        alike = len({job.model_copy(update={"id": "any"}) for job in jobs}) == 1
        slowest = [max(demands(job)) / Fraction(job.compute_s) for job in jobs]
        cases = {
            "infeasible": infeasible(instance) is not None,
            "one node a job": len(jobs) == nodes > 1,
            "nodes to spare": nodes >= 2 * len(jobs),
            "one node": nodes == 1,
            "one job": len(jobs) == 1,
            "four jobs": len(jobs) == 4,
            "equal jobs": len(jobs) > 1 and alike,
            "no update": any(job.update_s == 0 for job in jobs),
            "nothing to send": any(job.parameter_bytes == 0 for job in jobs),
            "nobody waits": any(job.update_s == job.parameter_bytes == 0 for job in jobs),
            "nothing left": any(job.epochs == 0 for job in jobs),
            "half": any(job.duplex == "half" for job in jobs),
            "three shards": any(job.shards == 3 for job in jobs),
            "no limit": any(job.max_nodes is None for job in jobs),
            "limit of 1": any(job.max_nodes == 1 < nodes for job in jobs),
            "limit that may bind": any(job.max_nodes is not None and 1 < job.max_nodes < nodes for job in jobs),
            "limit above": any((job.max_nodes or 0) > nodes for job in jobs),
            "limits leave nodes over": sum(min(job.max_nodes or nodes, nodes) for job in jobs) < nodes,
            "hardly slowed down": any(0 < ratio < 1e-3 for ratio in slowest),
            "slowed down a lot": any(ratio > 100 for ratio in slowest),
        }
        seen.update(name for name, holds in cases.items() if holds)

    look()
    assert len(seen) == 20, sorted(seen)


def test_strategies_draw_the_awkward_networks():
    """No station, copies, demands of 0, equal demands of two kinds, no delay, large ratios: each among 200 networks."""
    seen = set()

    @profile(200)
    @given(networks())
    def look(network):
        demands_s = [station.demand_s for station in network.stations]
        cases = {
            "none": not demands_s,
            "copies": any(station.copies > 1 for station in network.stations),
            "zero": 0.0 in demands_s,
            "equal": len(set(demands_s)) < len(demands_s) and max(demands_s) > 0,
            "no delay": network.delay_s == 0,
            "large": network.largest_s > 1e6 * network.delay_s > 0,
            "small": 0 < network.largest_s < 1e-6 * network.delay_s,
        }
        seen.update(name for name, holds in cases.items() if holds)

    look()
    assert len(seen) == 7, sorted(seen)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_jobs": 0}, "must be at least 1"),
        ({"max_nodes": 0}, "must be at least 1"),
        ({"max_jobs": 1, "feasible": False}, "2"),
    ],
)
def test_strategies_refuse_what_cannot_be_drawn(options, message):
    """No jobs, no nodes, one job that is infeasible."""

    @profile(1)
    @given(async_sgd_instances(**options))
    def look(instance):
        raise AssertionError

    with pytest.raises(ValueError, match=message):
        look()
