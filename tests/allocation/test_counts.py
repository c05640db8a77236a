"""One count for every job: reading, rules, and what is refused."""

import numpy as np
import pytest

from dlsched.allocation.counts import (
    broken_rules,
    ids,
    is_allowed,
    is_whole,
    plain_counts,
    read_counts,
    require_choices,
)
from dlsched.core.errors import InputError, UsageError
from dlsched.core.files import read_integer

from .toy import TOY


@pytest.mark.parametrize("allowed", [range(1, 9), (1, 2, 4, 8), [3]])
def test_a_count_is_allowed_where_it_stands(allowed):
    """Of ranges and of lists."""
    assert [count for count in range(-1, 12) if is_allowed(count, allowed)] == list(allowed)


def test_truth_values_and_floats_are_no_counts():
    """Only integers of Python's are; those of NumPy become them."""
    assert [is_whole(value) for value in (1, -1, True, 1.0, "1", None, np.int64(1))] == [True, True] + [False] * 5
    assert [type(n) for n in plain_counts({"a": np.int64(3), "b": True, "c": 1.5}).values()] == [int, bool, float]


def test_every_rule_in_words():
    """A count that is not allowed, none, an unknown job, and too many in all."""
    assert [str(broken) for broken in broken_rules(TOY, {"a": 3, "c": 9}, "cores")] == [
        "choice[a]: 3 cores is no allowed count",
        "choice[b]: the job has no count",
        "choice[c]: there is no such job",
        "capacity: 12 cores are given, the cluster has 5",
    ]
    assert broken_rules(TOY, {"a": 4, "b": 1}, "cores") == []
    assert [broken.amount for broken in broken_rules(TOY, {"a": 4, "b": 3}, "cores")] == [2.0]


def test_an_excess_that_no_float_holds():
    """Is cut off."""
    (_, capacity) = broken_rules(TOY, {"a": 10**400, "b": 1}, "cores")
    assert capacity.amount == 2.0**1000


def test_no_objective_without_counts():
    """Too many units have one all the same."""
    require_choices(TOY, {"a": 4, "b": 3}, "cores")
    with pytest.raises(UsageError, match=r"no objective: choice\[b\]"):
        require_choices(TOY, {"a": 4}, "cores")


def test_reading_numbers_of_any_size():
    """Where that is asked for: the checker judges them."""
    huge = {"cores": {"a": 10**400, "b": -(10**400)}}
    assert read_counts(huge, "cores", read_integer) == huge["cores"]
    with pytest.raises(InputError, match=r"^solution.cores.a: found .*, allowed: an integer up to 2\*\*53$"):
        read_counts(huge, "cores")
    with pytest.raises(InputError, match=r"^solution.cores.a: found 1.5, allowed: an integer$"):
        read_counts({"cores": {"a": 1.5}}, "cores", read_integer)


def test_reading():
    """What is read is what was written; anything else is located."""
    assert ids(TOY) == ["a", "b"]
    assert read_counts({"cores": {"a": 4, "b": -1}}, "cores") == {"a": 4, "b": -1}
    for data, message in (
        (None, "solution: found null, allowed: an object"),
        ({"cores": []}, "solution.cores: found an empty list, allowed: an object"),
        ({"cores": {"a": True}}, "solution.cores.a: found true, allowed: an integer"),
        ({"cores": {}, "x": 1}, "solution.x: found an unknown field, allowed: only cores"),
    ):
        with pytest.raises(InputError, match=f"^{message}$"):
            read_counts(data, "cores")
