"""Moves of all families: they change copies, keep to ranges and sizes, and reach what they should."""

from dataclasses import replace

import numpy as np
import pytest

from dlsched.families import instance_from
from dlsched.worst.moves import CHANGES, moved
from dlsched.worst.places import copied
from dlsched.worst.space import Data, Number, Space

from .conftest import ring

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


def test_the_familys_own_moves_are_made_too(space: Space) -> None:
    """Beside those of all families; what its repair refuses is none."""
    own = replace(space, moves=[lambda data, generator: data | {"name": "moved"}])
    named = [data["name"] == "moved" for data in neighbours(own, START, 300)]
    assert any(named) and not all(named)
    assert neighbours(replace(space, repair=lambda data: None), START, 20) == []
