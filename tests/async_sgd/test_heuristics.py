"""The heuristics of async_sgd: by hand, and marginal gain against every exact way there is."""

import math

import pytest
from hypothesis import given, settings

from dlsched.async_sgd import (
    Instance,
    Job,
    costs,
    equal,
    fixed,
    generate,
    knee,
    lagrange,
    marginal,
    objective,
    proportional,
    solve,
)
from dlsched.core.errors import UsageError
from dlsched.core.gap import meets
from dlsched.testing.async_sgd import async_sgd_instances, brute_force_async, exact_throughput

SETTINGS = settings(max_examples=25, derandomize=True, deadline=None, database=None)


def job(name, **fields):
    """A job that computes 12 batches of a second and does nothing else, unless told otherwise."""
    usual = {"epochs": 1, "dataset_examples": 12, "batch_examples": 1, "parameter_bytes": 0, "bandwidth_bytes_per_s": 1}
    return Job(id=name, **(usual | {"compute_s": 1.0} | fields))


def instance(nodes, *jobs):
    """Some jobs on some nodes."""
    return Instance(name="made", nodes=nodes, jobs=list(jobs))


def nodes_of(allocation):
    """Counts in the order of the jobs."""
    return list(allocation.nodes.values())


def test_marginal_gain_by_hand():
    """Linear speed-up, 12 and 48 s: of 5 further nodes the long job wants 24, 8, 4, the short one 6, then 2.4 against 2."""
    # savings: long 24, 8, 4, 2.4, 1.6; short 6, 2. The five largest: 24, 8, 6, 4, 2.4.
    assert nodes_of(marginal(instance(7, job("short"), job("long", epochs=4)))) == [2, 5]


def test_marginal_gain_breaks_ties_by_position_and_stops_at_max_nodes():
    """Equal jobs: the odd node goes to the first; nodes that nobody may have stay idle."""
    assert nodes_of(marginal(instance(5, job("a"), job("b")))) == [3, 2]
    assert nodes_of(marginal(instance(9, job("a", max_nodes=2), job("b", max_nodes=3)))) == [2, 3]
    assert nodes_of(marginal(instance(6, job("a", epochs=0), job("b")))) == [
        1,
        5,
    ]  # no work: the one node that all have


@pytest.mark.parametrize("block", [1, costs._BLOCK])
def test_marginal_gain_is_optimal(monkeypatch, block):
    """Against all allocations, whose times another method computes; counts looked at one by one, or many together."""
    monkeypatch.setattr(costs, "_BLOCK", block)

    @SETTINGS
    @given(async_sgd_instances(feasible=True))
    def optimal(drawn):
        best, _ = brute_force_async(drawn)
        assert meets(objective(drawn, marginal(drawn)), best)

    optimal()


def test_many_blocks_and_a_price_that_rises_lose_nothing():
    """600 jobs on 6,000 nodes: marginal gain meets the bound, which looks at every count."""
    drawn = generate(preset="mixed", jobs=600, nodes=6000, seed=1)
    assert objective(drawn, marginal(drawn)) == pytest.approx(lagrange(drawn).value, rel=1e-9)


def test_marginal_knapsack_and_program_agree_on_a_sample():
    """A sample of the long campaign below."""
    agree(range(6))


@pytest.mark.long
def test_marginal_knapsack_and_program_agree():
    """A thousand random instances of 2 to 30 jobs: marginal gain, our knapsack algorithm and HiGHS find one optimum."""
    agree(range(1000))
    print("\nmarginal gain = knapsack = milp by HiGHS on 1,000 instances: 0 mismatches")


def agree(seeds):
    """Solve one instance a seed three ways."""
    presets = ("mixed", "published", "network", "update", "compute", "equal")
    for seed in seeds:
        jobs = 2 + seed % 29
        drawn = generate(preset=presets[seed % 6], jobs=jobs, nodes=jobs * (1 + seed % 9) + seed % 7, seed=seed)
        found = objective(drawn, marginal(drawn))
        for method in ("exact", "knapsack", "milp"):
            result = solve(drawn, method=method)
            assert str(result.status) == "optimal", (drawn.name, method)
            assert math.isclose(result.objective, found, rel_tol=1e-9), (drawn.name, method, result.objective, found)


def test_equal_and_fixed_by_hand():
    """floor(7 / 2) = 3 each, as far as allowed; eight each unless these do not fit."""
    assert nodes_of(equal(instance(7, job("a"), job("b", max_nodes=2)))) == [3, 2]
    assert nodes_of(fixed(instance(16, job("a"), job("b", max_nodes=2)))) == [8, 2]
    assert fixed(instance(15, job("a"), job("b"))) is None
    assert nodes_of(fixed(instance(15, job("a"), job("b")), nodes_per_job=7)) == [7, 7]


def test_proportional_by_hand():
    """12, 24 and 60 s on one node share 16 further nodes 2 : 4 : 10; what a cap leaves goes to the others."""
    jobs = [job("a"), job("b", epochs=2), job("c", epochs=5)]
    assert nodes_of(proportional(instance(19, *jobs))) == [3, 5, 11]
    jobs[2] = job("c", epochs=5, max_nodes=2)  # one more node: 15 are left for a and b, 5 and 10
    assert nodes_of(proportional(instance(19, *jobs))) == [6, 11, 2]


def test_proportional_shares_what_rounding_leaves_one_by_one():
    """Of 2 nodes for three equal jobs every share is less than one: the first two get them; idle jobs get none."""
    assert nodes_of(proportional(instance(5, job("a"), job("b"), job("c")))) == [2, 2, 1]
    assert nodes_of(proportional(instance(5, job("a", epochs=0), job("b", epochs=0)))) == [1, 1]


def test_knee_by_hand():
    """A lone bottleneck of 1 s and 1 s of computing: X = 1/2, 4/5 (mean queue 1/2 first): e = 1, .8, ... falls below .7."""
    # Q(1) = 1/2, R(2) = 1.5, X(2) = 2 / 2.5 = .8, e(2) = .8 / (2 x .5) = .8; Q(2) = 1.2, R(3) = 2.2, X(3) = 3 / 3.2, e(3) = .625
    slow = job("a", update_s=1.0)
    assert nodes_of(knee(instance(9, slow), theta=0.7)) == [2]
    assert nodes_of(knee(instance(9, slow), theta=0.6)) == [3]
    assert nodes_of(knee(instance(9, job("b", compute_s=0.3), slow), theta=1.0)) == [8, 1]  # linear: e(n) = 1 for all n


def test_knees_that_do_not_fit_are_filled_in_turn():
    """The slow job's knee is 3 (see above); the linear job takes what is beyond, the first in the file an odd node."""
    slow, linear = job("b", update_s=1.0), job("a")
    assert nodes_of(knee(instance(9, linear, slow), theta=0.6)) == [6, 3]
    assert nodes_of(knee(instance(5, linear, slow), theta=0.6)) == [3, 2]
    assert nodes_of(knee(instance(5, slow, linear), theta=0.6)) == [3, 2]
    assert nodes_of(knee(instance(9, job("c", max_nodes=2), slow, linear), theta=0.6)) == [2, 3, 4]


@SETTINGS
@given(async_sgd_instances())
def test_knee_keeps_its_efficiency(drawn):
    """No job above one node is less efficient than theta, and where nodes are left no job could have one more."""
    found = knee(drawn, theta=0.5)
    if found is None:
        assert drawn.nodes < len(drawn.jobs)
        return
    left = drawn.nodes - sum(found.nodes.values())
    for index, record in enumerate(drawn.jobs):
        n = found.nodes[record.id]
        single = exact_throughput(record, 1)
        assert n == 1 or exact_throughput(record, n) / (n * single) >= 0.5 - 1e-12
        if left and n < drawn.counts(index)[-1]:
            assert exact_throughput(record, n + 1) / ((n + 1) * single) <= 0.5 + 1e-12


def test_arguments_out_of_range():
    """Located errors."""
    for theta in (0, 1.5, math.nan):
        with pytest.raises(UsageError, match=r"theta: found .*, allowed: a number in \(0, 1\]"):
            knee(instance(2, job("a")), theta=theta)
    with pytest.raises(UsageError, match="nodes_per_job: found 0, allowed: an integer >= 1"):
        fixed(instance(2, job("a")), nodes_per_job=0)
