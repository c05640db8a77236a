"""Allocations as data: what a result file may hold, how messages locate what it may not, immutability."""

import pickle
import re

import numpy as np
import pytest

from dlsched.async_sgd.instance import Instance
from dlsched.async_sgd.solution import Allocation, read_solution
from dlsched.core.errors import InputError

JOB = {
    "epochs": 1,
    "dataset_examples": 10,
    "batch_examples": 1,
    "parameter_bytes": 1,
    "bandwidth_bytes_per_s": 1,
    "compute_s": 1,
}
INSTANCE = Instance(name="two", nodes=4, jobs=[{"id": "a", **JOB}, {"id": "b", **JOB}])


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (None, "solution: found null, allowed: an object"),
        ([], "solution: found an empty list, allowed: an object"),
        ({}, "solution.nodes: found null, allowed: an object"),
        ({"nodes": [1]}, "solution.nodes: found a list, allowed: an object"),
        ({"nodes": {}, "gpus": {}}, "solution.gpus: found an unknown field, allowed: only nodes"),
        ({"nodes": {"a": 1.0}}, "solution.nodes.a: found 1.0, allowed: an integer"),
        ({"nodes": {"a": 1, "b": True}}, "solution.nodes.b: found true, allowed: an integer"),
        ({"nodes": {"a": "1"}}, 'solution.nodes.a: found "1", allowed: an integer'),
        ({"nodes": {"a": None}}, "solution.nodes.a: found null, allowed: an integer"),
        ({"nodes": {"a": 2**53 + 1}}, "solution.nodes.a: found 9007199254740993, allowed: an integer up to 2**53"),
    ],
)
def test_malformed_solutions_are_refused(data, message):
    """The message holds the path, what was found and what is allowed."""
    with pytest.raises(InputError, match=f"^{re.escape(message)}$"):
        read_solution(data, INSTANCE)


@pytest.mark.parametrize("nodes", [{"a": 1, "b": 3}, {}, {"c": -7}, {"a": 2**53}])
def test_whether_it_is_feasible_is_not_asked(nodes):
    """Counts too many, too few, or of other jobs are read: the checker judges them."""
    assert dict(read_solution({"nodes": nodes}, INSTANCE).nodes) == nodes


def test_solutions_read_back():
    """What is written is read again, and is hashable and equal; pickled too."""
    allocation = Allocation({"a": 1, "b": 3})
    again = read_solution(allocation.as_data(), INSTANCE)
    assert allocation.as_data() == {"nodes": {"a": 1, "b": 3}}
    assert again == allocation
    assert hash(again) == hash(allocation)
    assert pickle.loads(pickle.dumps(allocation)) == allocation


def test_allocations_are_immutable():
    """Neither the mapping can be changed nor the one it was made of matters later."""
    given = {"a": 1}
    allocation = Allocation(given)
    given["a"] = 2
    assert allocation.nodes["a"] == 1
    with pytest.raises(TypeError):
        allocation.nodes["a"] = 2
    with pytest.raises(AttributeError):
        allocation.nodes = {}


def test_integers_of_numpy_are_integers():
    """They become Python's, so that JSON can hold them; other values stay as they are."""
    nodes = Allocation({"a": np.int64(3), "b": np.float64(3.0), "c": True}).nodes
    assert [type(nodes[name]) for name in "abc"] == [int, np.float64, bool]
