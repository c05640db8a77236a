"""The checker by hand: how long an allocation takes, and every rule by its name and amount."""

import pytest

from dlsched.async_sgd.checker import check, figures, infeasible, job_time_s, objective
from dlsched.async_sgd.instance import Instance, Job
from dlsched.async_sgd.solution import Allocation
from dlsched.core.errors import UsageError

# a: Z = D = 1 (its update), 30 batches of 10 examples: X(1) = 1/2, X(2) = 2 / (1 + 1 (1 + 1/2)) = 4/5,
#    X(3) = 3 / (1 + 1 (1 + 4/5 x 3/2)) = 15/16.
# b: nobody waits, 8 batches of 5 examples of 2 s: X(n) = n / 2. c: nothing left to do; Z = 1, D = 1/2 twice: X(1) = 1/2.
BASE = {"parameter_bytes": 0.0, "bandwidth_bytes_per_s": 1.0}
INSTANCE = Instance(
    name="three",
    nodes=6,
    jobs=[
        BASE
        | {"id": "a", "epochs": 3, "dataset_examples": 100, "batch_examples": 10, "compute_s": 1.0, "update_s": 1.0},
        BASE | {"id": "b", "epochs": 1, "dataset_examples": 40, "batch_examples": 5, "compute_s": 2.0, "max_nodes": 4},
        BASE
        | {
            "id": "c",
            "epochs": 0,
            "dataset_examples": 1,
            "batch_examples": 1,
            "compute_s": 1.0,
            "parameter_bytes": 0.5,
        },
    ],
)


@pytest.mark.parametrize(
    ("a", "b", "c", "expected"),
    [
        (1, 1, 1, 60 + 16 + 0),
        (2, 1, 1, 37.5 + 16 + 0),
        (3, 1, 1, 32 + 16 + 0),
        (2, 3, 1, 37.5 + 16 / 3 + 0),
        (1, 4, 1, 60 + 4 + 0),
        (1, 1, 4, 60 + 16 + 0),
    ],
)
def test_objective_by_hand(a, b, c, expected):
    """Batches over batches a second, summed over the jobs."""
    allocation = Allocation({"a": a, "b": b, "c": c})
    assert objective(INSTANCE, allocation) == pytest.approx(expected, rel=1e-15)
    assert check(INSTANCE, allocation) == []


def test_times_of_jobs_by_hand():
    """The objective is the sum of them; capacity is another question than how long the jobs take."""
    assert [job_time_s(job, 2) for job in INSTANCE.jobs] == pytest.approx([37.5, 8.0, 0.0], rel=1e-15)
    assert objective(INSTANCE, Allocation({"a": 3, "b": 4, "c": 6})) == pytest.approx(32 + 4, rel=1e-15)


def test_figures_by_hand():
    """Nodes in use, and 10 x 4/5 + 5 x 3/2 + 1 x 1/2 examples a second."""
    assert figures(INSTANCE, Allocation({"a": 2, "b": 3, "c": 1})) == pytest.approx(
        {"nodes": 6.0, "examples_per_s": 16.0}
    )


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        ({"a": 4, "b": 3, "c": 1}, [("capacity", "", 2.0)]),
        ({"a": 0, "b": 1, "c": 1}, [("choice", "a", None)]),
        ({"a": 1.0, "b": 1, "c": 1}, [("choice", "a", None)]),
        ({"a": 1, "b": 5, "c": 1}, [("choice", "b", None), ("capacity", "", 1.0)]),
        ({"a": 7, "b": 1, "c": 1}, [("choice", "a", None), ("capacity", "", 3.0)]),
        ({"a": 1, "c": 1, "d": 1}, [("choice", "b", None), ("choice", "d", None)]),
    ],
)
def test_every_rule_by_name_and_amount(nodes, expected):
    """Capacity by how much; choice by job: not allowed, missing, or of no such job."""
    broken = check(INSTANCE, Allocation(nodes))
    assert [(violation.rule, violation.where, violation.amount) for violation in broken] == expected


def test_a_limit_beyond_the_cluster_breaks_capacity_only():
    """``max_nodes`` above ``nodes`` allows a count that the cluster has no room for."""
    job = BASE | {"id": "a", "epochs": 1, "dataset_examples": 1, "batch_examples": 1, "compute_s": 1.0, "max_nodes": 9}
    instance = Instance(name="one", nodes=4, jobs=[job])
    assert [str(each) for each in check(instance, Allocation({"a": 9}))] == [
        "capacity: 9 nodes are given, the cluster has 4"
    ]


@pytest.mark.parametrize("nodes", [{"a": 1, "b": 5, "c": 1}, {"a": 1, "b": 1}, {"a": 1, "b": 1, "c": 1, "d": 1}])
def test_no_objective_without_times(nodes):
    """A count that is not allowed, or missing, has no time; that is misuse."""
    with pytest.raises(UsageError, match=r"^no objective: choice"):
        objective(INSTANCE, Allocation(nodes))


def test_infeasible_by_counting():
    """Three jobs need a node each: two are too few, three are enough."""
    few = INSTANCE.model_copy(update={"nodes": 2})
    assert infeasible(few) == "3 jobs need a node each, the cluster has 2"
    assert infeasible(INSTANCE.model_copy(update={"nodes": 3})) is None
    assert [violation.rule for violation in check(few, Allocation({"a": 1, "b": 1, "c": 1}))] == ["capacity"]


def test_more_nodes_than_there_are_have_no_objective():
    """A count may be allowed and yet be more than can be added up: a capacity violation, and no time."""
    job = Job(
        id="a", epochs=1, dataset_examples=1, batch_examples=1, parameter_bytes=0, bandwidth_bytes_per_s=1, compute_s=1,
        max_nodes=2**53,
    )  # fmt: skip
    instance = Instance(name="one", nodes=4, jobs=[job])
    allocation = Allocation({"a": 2**53})
    assert [violation.rule for violation in check(instance, allocation)] == ["capacity"]
    with pytest.raises(UsageError, match="more nodes than the 4 there are"):
        objective(instance, allocation)


def test_huge_counts_end_where_a_station_is_busy():
    """No recursion to 2^53: an update of a second is busy with a few workers; without any station n workers do n / Z."""
    fields = {
        "epochs": 1,
        "dataset_examples": 16,
        "batch_examples": 1,
        "parameter_bytes": 0,
        "bandwidth_bytes_per_s": 1,
    }
    busy = Job(id="a", **fields, compute_s=1.0, update_s=1.0)
    free = Job(id="a", **fields, compute_s=0.5)
    assert job_time_s(busy, 2**53) == pytest.approx(16.0, rel=1e-12)
    assert job_time_s(free, 2**53) == 16 / 2**54
