"""Places in data, and spaces by name or by the caller."""

import inspect
from importlib import import_module
from typing import get_args

import pytest

from dlsched import FAMILIES, UsageError
from dlsched.catalogue.families import space
from dlsched.worst.space import (
    SHARED,
    Data,
    Number,
    copied,
    digits_of,
    lists_at,
    numbers_at,
    places,
    put,
    rounded,
    space_of,
    value_at,
    within,
)

DATA: Data = {
    "name": "x",
    "gpus": 4,
    "jobs": [
        {"id": "a", "times": {"1": 3.0, "2": 1.5}, "stages": [[1, 2], [3]]},
        {"id": "b", "times": {"1": 7.0}, "pinned": True, "weight": None},
    ],
}


@pytest.mark.parametrize(
    ("path", "values"),
    [
        ("gpus", [4]),
        ("jobs[].times{}", [3.0, 1.5, 7.0]),
        ("jobs[].stages[][]", [1, 2, 3]),
        ("jobs[].id", ["a", "b"]),
        ("jobs[].pinned", [True]),
        ("jobs{}", []),
        ("gpus[]", []),
        ("gpus.more", []),
        ("none[].such", []),
    ],
)
def test_paths(path: str, values: list[object]) -> None:
    """Values stand in the order of the data; what is not there is passed over."""
    assert [value_at(place) for place in places(DATA, path)] == values


def test_numbers_are_numbers() -> None:
    """Truth values, null and words are none."""
    for path in ("jobs[].pinned", "jobs[].weight", "jobs[].id"):
        assert numbers_at(DATA, Number(path, 1, 2)) == []
    assert [value for _, value in numbers_at(DATA, Number("jobs[].times{}", 1, 9))] == [3.0, 1.5, 7.0]


def test_lists() -> None:
    """A path without brackets at its end leads to lists themselves."""
    assert [len(found) for found in lists_at(DATA, "jobs")] == [2]
    assert lists_at(DATA, "jobs[].stages[]") == [[1, 2], [3]]
    assert lists_at(DATA, "gpus") == []


def test_a_copy_shares_nothing() -> None:
    """What is written into a copy is not seen in what it was copied from."""
    copy = copied(DATA)
    assert copy == DATA
    for place in places(copy, "jobs[].times{}"):
        put(place, 0.0)
    lists_at(copy, "jobs[].stages[]")[0].append(9)
    assert [value_at(place) for place in places(DATA, "jobs[].times{}")] == [3.0, 1.5, 7.0]
    assert lists_at(DATA, "jobs[].stages[]")[0] == [1, 2]


@pytest.mark.parametrize(
    ("number", "value", "inside"),
    [
        (Number("x", 1, 10), 0.5, 1.0),
        (Number("x", 1, 10), 20, 10.0),
        (Number("x", 1, 10), 2.4, 2.4),
        (Number("x", 1, 10, whole=True), 2.4, 2),
        (Number("x", 1.5, 10.5, whole=True), 0.0, 2),
        (Number("x", 1.5, 10.5, whole=True), 99.0, 10),
    ],
)
def test_ranges(number: Number, value: float, inside: float) -> None:
    """The nearest number of the range, whole where it must be."""
    found = within(number, value)
    assert (found, type(found)) == (inside, int if number.whole else float)


@pytest.mark.parametrize(
    ("value", "digits"),
    [(0, 1), (7, 1), (10, 1), (1200.0, 2), (0.305, 3), (1e-3, 1), (1e22, 1), (123456.0, 6), (-0.25, 2)],
)
def test_digits(value: float, digits: int) -> None:
    """Zeros at both ends do not count; rounding to as many digits changes nothing, to one less something."""
    assert digits_of(value) == digits
    assert rounded(value, digits) == value
    assert digits == 1 or rounded(value, digits - 1) != value


@pytest.mark.parametrize("family", FAMILIES)
def test_every_option_is_a_keyword_of_the_space(family: str) -> None:
    """And every keyword an option, of its type and with words that a command line can offer."""
    maker = import_module(f"dlsched.worst.spaces.{family}").space_of
    keywords = {name: each for name, each in inspect.signature(maker, eval_str=True).parameters.items()}
    own = space(family)
    assert all(each.kind is each.KEYWORD_ONLY for each in keywords.values())
    assert own is not None and [*keywords] == [*SHARED, *own]
    for name, option in own.items():
        assert option.kind in (get_args(keywords[name].annotation) or (keywords[name].annotation,))
        assert len(option.words) > 10


def test_a_space_is_made_of_what_is_given() -> None:
    """None is not given; a draw has the sizes that were asked for."""
    import numpy as np

    drawn = space_of("ring_allocation", jobs=2, gpus=9, preset=None, tables="any").draw(np.random.default_rng(0))
    assert (len(drawn["jobs"]), drawn["gpus"]) == (2, 9)
    with pytest.raises(UsageError, match="slots: found 2, allowed: no such option for ring_allocation"):
        space_of("ring_allocation", slots=2)
