"""Certificates of suprema: true ones hold, and nothing that is changed in them does."""

import copy
import json
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import pytest

from dlsched.core.errors import InputError
from dlsched.worst.proving import prove, verification, verify
from tests.worst.conftest import changed

TRUE = {
    "attained": ("doubling", 2, 9, "convex", "powers"),
    "approached": ("hull", 2, 9, "sublinear", "powers"),
    "unbounded": ("marginal", 2, 5, "monotone", "all"),
    "three": ("doubling", 3, 7, "convex", "powers"),
    "stalls": ("marginal", 2, 6, "sublinear", "all"),
    "anything": ("hull", 2, 4, "any", "all"),
    "small": ("doubling", 2, 4, "any", "powers"),
    "chain": ("doubling", 2, 6, "sublinear", "all"),
}


@pytest.fixture(scope="module")
def true() -> dict[str, dict[str, Any]]:
    """One certificate of each kind, as a file holds it."""
    found = {}
    for name, (method, jobs, gpus, tables, counts) in TRUE.items():
        proven = prove("ring_allocation", method, jobs=jobs, gpus=gpus, tables=tables, counts=counts)
        found[name] = json.loads(json.dumps(proven.as_data()))
    return found


@pytest.mark.parametrize("name", TRUE)
def test_true_certificates_hold(name: str, true: dict[str, dict[str, Any]]) -> None:
    """Verified as they say."""
    data = true[name]
    found = verify(data)
    assert (None if found.supremum is None else str(found.supremum)) == data["supremum"]
    assert str(found.ratio) == data["ratio"]
    assert ("limit" in data) == (data["ratio"] != data["supremum"])


def numbers(tree: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Paths of all multipliers."""
    for key, value in tree.items() if isinstance(tree, dict) else enumerate(tree):
        if "multipliers" in path:
            yield (*path, key)
        elif isinstance(value, dict | list):
            yield from numbers(value, (*path, key))


@pytest.mark.parametrize("name", TRUE)
@pytest.mark.parametrize(("value", "first"), [("-1/7", 0), ("1000000000", 1)])
def test_every_multiplier_counts(name: str, value: str, first: int, true: dict[str, dict[str, Any]]) -> None:
    """A negative one proves nothing, and a huge one leaves a cost that nothing outweighs; each is made one of the two."""
    paths = list(numbers(true[name]["proof"], ("proof",)))
    assert paths or true[name]["supremum"] is None or TRUE[name][2] == 4
    for path in paths[first::2]:
        with pytest.raises(ValueError, match="proof"):
            verify(changed(true[name], path, value))


@pytest.mark.parametrize("name", TRUE)
def test_no_end_and_no_step_may_be_left_out(name: str, true: dict[str, dict[str, Any]]) -> None:
    """Each tree and each branch of a tree is needed; one that is too many, or twice there, is refused."""
    data = true[name]
    for index, entry in enumerate(data["proof"]):
        with pytest.raises(ValueError, match="not covered"):
            verify(changed(data, ("proof", index), None))
        with pytest.raises(ValueError, match="twice"):
            verify(changed(data, ("proof",), [*data["proof"], entry]))
        for step in entry.get("before", {}):
            with pytest.raises(ValueError, match="the steps before"):
                verify(changed(data, ("proof", index, "before", step), None))
    with pytest.raises(ValueError, match="proof"):
        verify(changed(data, ("proof",), [*data["proof"], {"end": [[1, 0, 1]], "multipliers": {}}]))


@pytest.mark.parametrize("name", TRUE)
def test_another_supremum_is_refused(name: str, true: dict[str, dict[str, Any]]) -> None:
    """A little less is not proven, or broken by the instance; a little more is not reached; nothing is not without bound."""
    data = true[name]
    true_one = Fraction(data["supremum"] or 2)
    for wrong in (true_one * Fraction(999, 1000), true_one * Fraction(1001, 1000)):
        with pytest.raises(ValueError):
            verify(changed(data, ("supremum",), str(wrong)))
    if data["supremum"] is not None:
        with pytest.raises(ValueError):
            verify(data | {"supremum": None})
        with pytest.raises(ValueError):
            verify(data | {"supremum": None, "proof": []})
    with pytest.raises(ValueError, match="ratio"):
        verify(changed(data, ("ratio",), str(Fraction(data["ratio"]) + Fraction(1, 10**9))))


@pytest.mark.parametrize(
    ("field", "value"),
    [("gpus", 17), ("jobs", 3), ("tables", "sublinear"), ("counts", "all")],
)
def test_a_proof_of_something_else_is_refused(field: str, value: Any, true: dict[str, dict[str, Any]]) -> None:
    """Doubling, two jobs, 9 GPUs, convex, powers; and not another size or class."""
    with pytest.raises(ValueError):
        verify(true["attained"] | {field: value})


@pytest.mark.parametrize(("name", "method"), [("stalls", "hull"), ("approached", "marginal"), ("chain", "marginal")])
def test_a_proof_of_another_method_is_refused(name: str, method: str, true: dict[str, dict[str, Any]]) -> None:
    """On tables that are not convex they take other steps."""
    with pytest.raises(ValueError):
        verify(true[name] | {"method": method})


def test_on_convex_powers_of_two_the_methods_are_one(true: dict[str, dict[str, Any]]) -> None:
    """All counts that save lie on the hull, and the next one is the double: a proof of one is a proof of all."""
    for method in ("marginal", "hull"):
        assert verify(true["attained"] | {"method": method}).supremum == Fraction(3, 2)


def test_more_jobs_than_calls_can_be_nested_are_refused(true: dict[str, dict[str, Any]]) -> None:
    """With their number, and not by a crash."""
    with pytest.raises(InputError, match="jobs: found 2000, allowed: at most 100"):
        verify(true["attained"] | {"jobs": 2000, "gpus": 4096})


def test_the_instance_must_be_of_the_class_and_have_the_ratio(true: dict[str, dict[str, Any]]) -> None:
    """Its tables, its counts, its sizes and what its method makes of it."""
    data = true["attained"]
    instance = data["instance"]
    [first, second] = instance["jobs"]
    others = {
        "convex": {**first, "epoch_time_s": {"1": 9.0, "2": 8.0, "4": 1.5, "8": 1.5}},
        "counts": {**first, "epoch_time_s": {"1": 2.0, "2": 1.0}},
        "current": {**first, "current_gpus": 1, "restart_s": 1.0},
        "ratio": {**first, "epochs": 7.0},
    }
    for said, job in others.items():
        with pytest.raises(ValueError, match=said):
            verify(data | {"instance": instance | {"jobs": [job, second]}})
    with pytest.raises(ValueError, match="GPUs"):
        verify(data | {"instance": instance | {"gpus": 10}})
    with pytest.raises(ValueError, match="1 job on 9"):
        verify(data | {"instance": instance | {"jobs": [second]}})
    with pytest.raises(ValueError, match="ratio"):
        verify(data | {"instance": instance | {"jobs": [second, first]}})


@pytest.mark.parametrize("name", ["approached", "unbounded", "stalls"])
def test_the_limit_is_needed_and_must_be_one(name: str, true: dict[str, dict[str, Any]]) -> None:
    """Without it an instance short of the supremum shows nothing; every number of it is looked at."""
    data = true[name]
    with pytest.raises(ValueError, match="limit"):
        verify({key: value for key, value in data.items() if key != "limit"})
    limit = data["limit"]
    for table in ("limit", "inside"):
        for job, row in enumerate(limit[table]):
            for index in range(len(row)):
                with pytest.raises(ValueError, match=table):
                    verify(changed(data, ("limit", table, job, index), "-1"))
    with pytest.raises(ValueError, match="allocation"):
        verify(changed(data, ("limit", "best", 0), 3 if data["counts"] == "powers" else 99))
    wrong = {**limit, "limit": [["1"] * len(row) for row in limit["limit"]]}
    with pytest.raises(ValueError, match="limit"):
        verify(data | {"limit": wrong})
    short = {**limit, "inside": [row[:-1] for row in limit["inside"]]}
    with pytest.raises(ValueError, match="inside"):
        verify(data | {"limit": short})


def test_an_attained_supremum_has_no_limit(true: dict[str, dict[str, Any]]) -> None:
    """It would say nothing."""
    with pytest.raises(ValueError, match="limit"):
        verify(true["attained"] | {"limit": true["approached"]["limit"]})


UNREADABLE: dict[tuple[Any, ...], list[Any]] = {
    ("method",): [None],
    ("more",): [1],
    ("jobs",): [True],
    ("gpus",): [1, 10**9],
    ("tables",): ["all"],
    ("supremum",): [1.5, "1e5", "1/0"],
    ("instance",): [[], {}],
    ("proof",): [{}, [[]]],
    ("proof", 0, "end"): [[[1, 2]]],
    ("proof", 0, "more"): [[]],
    ("proof", 0): [{"end": [[1, 0, 1]]} | tree for tree in ({"multipliers": [1]}, {"before": {"a": {}}})]
    + [{"end": [[1, 0, 1]], "multipliers": {}, "before": {}}],
    ("limit",): [[]],
    ("family",): ["elastic_stream", "async_sgd"],
}


@pytest.mark.parametrize(("path", "value"), [(path, value) for path, values in UNREADABLE.items() for value in values])
def test_what_cannot_be_read_is_an_input_error(
    path: tuple[Any, ...], value: object, true: dict[str, dict[str, Any]]
) -> None:
    """Missing, unknown and wrong fields."""
    with pytest.raises(InputError):
        verify(changed(true["attained"], path, value))


@pytest.mark.parametrize(
    "name",
    [
        *("falls 0 8", "falls 2 1", "falls 0 3", "falls 0", "falls 0 1 2", "falls  1", "rises 0 1", "", "saves 0 1 2"),
        *("speed 1 8", "bends 0 4", "steep 0 1 2 4", "stuck 0 1 2", "turn 1 1", "turn 0 1", "falls 0 -1", "falls 0 ٤"),
    ],
)
def test_names_of_no_inequality_are_refused(name: str, true: dict[str, dict[str, Any]]) -> None:
    """Even with a multiplier of 0; at this end no step is known yet, no hull and no job that is stuck."""
    data = copy.deepcopy(true["attained"])
    leaf = next(entry for entry in data["proof"] if "multipliers" in entry)
    leaf["multipliers"][name] = "0"
    with pytest.raises(ValueError, match="is no inequality"):
        verify(data)


def test_a_size_that_would_take_for_ever_is_refused(
    true: dict[str, dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the file says."""
    monkeypatch.setattr(verification, "LARGEST", 1_000)
    with pytest.raises(InputError, match="too many ends"):
        verify(true["attained"] | {"jobs": 40, "gpus": 4000, "proof": []})
