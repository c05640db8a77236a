"""Spaces, places in data, and moves: copies change, keep to ranges, and reach what they should; shrinking."""

import inspect
from dataclasses import replace
from importlib import import_module
from typing import get_args

import numpy as np
import pytest

from dlsched import FAMILIES
from dlsched.catalogue.families import space
from dlsched.families import instance_from
from dlsched.worst.judge import Judge
from dlsched.worst.moves import CHANGES, moved, shrunk, simpler_values
from dlsched.worst.spaces import (
    SHARED,
    Data,
    Number,
    Space,
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
from tests.worst.conftest import judge, ring

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
    drawn = space_of("ring_allocation", jobs=2, gpus=9, preset=None, tables="any").draw(np.random.default_rng(0))
    assert (len(drawn["jobs"]), drawn["gpus"]) == (2, 9)


START = ring({"1": 30.0, "2": 20.0}, {"1": 9.0, "2": 7.0}, gpus=4)


def neighbours(space: Space, start: Data, count: int) -> list[Data]:
    """What so many moves lead to."""
    generator = np.random.default_rng(1)
    return [found for _ in range(count) if (found := moved(space, start, generator)) is not None]


def times(data: Data) -> list[float]:
    """All times."""
    return [time for job in data["jobs"] for time in job["epoch_time_s"].values()]


def test_moves_keep_to_the_space_and_leave_the_start_alone(space: Space) -> None:
    """Another instance that is valid, of 1 to 3 jobs with ids of their own, times from 1 to 100."""
    before = copied(START)
    found = neighbours(space, START, 500)
    assert before == START
    assert len(found) > 400
    for data in found:
        assert data != START
        assert 1 <= len(data["jobs"]) <= 3
        assert all(1 <= time <= 100 for time in times(data))
        assert instance_from(data, "moved").name == "by hand"


def test_moves_reach_what_they_should(space: Space) -> None:
    """Jobs come and go, ties arise, ends of the range are met, jobs change places, a table is scaled as a whole."""
    found = neighbours(space, START, 2000)
    assert {len(data["jobs"]) for data in found} == {1, 2, 3}
    assert any(len(set(times(data))) < len(times(data)) for data in found)
    assert {1.0, 100.0} <= {time for data in found for time in times(data)}
    assert any(times(data) == [9.0, 7.0, 30.0, 20.0] for data in found)
    assert any(times(data) == [9.0, 7.0, 9.0, 7.0] for data in found)
    assert any(times(data) == [60.0, 40.0, 9.0, 7.0] for data in found)


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_each_move_says_whether_it_did_something(change: object, space: Space) -> None:
    """False leaves the data as they were; of two jobs each changes something now and then."""
    generator = np.random.default_rng(2)
    differs = 0
    for _ in range(50):
        data = copied(START)
        said = change(space, data, generator)  # type: ignore[operator]
        assert said or data == START
        differs += data != START
    assert differs > 10


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_where_there_is_nothing_to_change(change: object, space: Space) -> None:
    """Without numbers, and without entries that may come or go, nothing happens."""
    fixed = replace(space, numbers=[], members=[("others", 0, 0)])
    data = copied(START)
    assert change(fixed, data, np.random.default_rng(0)) is False  # type: ignore[operator]
    assert data == START


def test_whole_numbers_move_by_one_at_least(space: Space) -> None:
    """A factor near 1 would leave 4 where it is."""
    whole = replace(space, numbers=[Number("gpus", 1, 9, whole=True)], members=[])
    found = {data["gpus"] for data in neighbours(whole, START, 200)}
    assert {3, 5, 1, 9} <= found <= set(range(1, 10))
    assert all(isinstance(each, int) for each in found)


def test_zero_is_left_where_the_range_holds_it(space: Space) -> None:
    """A factor alone never would; and it is reached as an end."""
    zero = replace(space, numbers=[Number("jobs[].epochs", 0.0, 10.0)], members=[])
    start = copied(START)
    for job in start["jobs"]:
        job["epochs"] = 0.0
    found = neighbours(zero, start, 200)
    assert all(0 <= job["epochs"] <= 10 for data in found for job in data["jobs"])
    assert any(0 < data["jobs"][0]["epochs"] < 10 for data in found)


def test_what_repair_refuses_is_no_move(space: Space) -> None:
    """Neither a move nor a step of shrinking."""
    nowhere = replace(space, repair=lambda data: None)
    assert neighbours(nowhere, START, 20) == []
    assert shrink(nowhere, ring({"1": 90.0, "2": 1.2}))[1] == []


ROUGH = ring({"1": 97.31, "2": 1.1234}, {"1": 51.7, "2": 48.23}, {"1": 2.345, "2": 2.344}, gpus=6)


def shrink(space: Space, data: Data, until: int = 1000, share: float = 0.01) -> tuple[Judge, list[Data]]:
    """All steps of shrinking some data."""
    ours = judge()
    found = ours.judge(data)
    assert found is not None
    return ours, [step.data for step in shrunk(ours, space, found, until, share)]


def test_an_instance_becomes_readable(space: Space) -> None:
    """The jobs that matter least go, and of the other one two round numbers stay, 100 times apart at the most."""
    ours, steps = shrink(space, ROUGH)
    (job,) = steps[-1]["jobs"]
    times = list(job["epoch_time_s"].values())
    assert all(digits_of(time) == 1 for time in times)
    assert ours.worst is not None
    assert times[0] / times[1] >= 0.99 * ours.worst.ratio
    assert ours.evaluations <= 1000


@pytest.mark.parametrize("share", [0.0, 0.01, 0.3])
def test_the_ratio_is_kept(share: float, space: Space) -> None:
    """Every step keeps it within the share of the worst found until then, not of the step before."""
    ours = judge()
    start = ours.judge(ROUGH)
    assert start is not None
    worst = start.ratio
    for step in shrunk(ours, space, start, 1000, share):
        assert step.ratio >= (1 - share) * worst
        worst = max(worst, step.ratio)


def test_the_budget_ends_it(space: Space) -> None:
    """What was reached by then is kept."""
    ours, steps = shrink(space, ROUGH, until=3)
    assert ours.evaluations == 3
    assert len(steps) <= 2


def test_no_fewer_entries_than_the_space_allows(space: Space) -> None:
    """Two at least."""
    _, steps = shrink(replace(space, members=[("jobs", 2, 3)]), ROUGH)
    assert len(steps[-1]["jobs"]) == 2


def test_what_cannot_be_simpler_stays(space: Space) -> None:
    """100 and 1: no candidate is accepted."""
    assert shrink(space, ring({"1": 100.0, "2": 1.0}))[1] == []


@pytest.mark.parametrize(
    ("value", "others", "simpler"),
    [
        (3.7, [], [5.0, 2.0, 4.0]),
        (3.74, [3.74, 3.1], [5.0, 2.0, 3.1, 4.0, 3.7]),
        (0.87654321, [], [1.0, 0.5, 0.9, 0.88, 0.877, 0.8765, 0.876543]),
        (20.0, [1.0, 5.0, 35.0], [10.0, 50.0, 5.0]),
        (0.0, [0.0], []),
    ],
)
def test_simpler_values(value: float, others: list[float], simpler: list[float]) -> None:
    """Round ones near by, those of others, fewer digits; never one that looks more complicated, nor itself."""
    assert simpler_values(Number("x", 0.5, 50), value, sorted({value, *others})) == simpler
