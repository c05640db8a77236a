"""Of many errors ten are said, and not many more are ever made."""

from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from dlsched import InstanceError, ring_allocation, srpt_mapping
from dlsched.core.part import STRICT
from dlsched.core.sparing import sparing

GOOD = {"id": "a", "epochs": 1, "epoch_time_s": {1: 2.0}}


def said(jobs: list[Any], **fields: Any) -> list[str]:
    """Lines of the message about these jobs."""
    with pytest.raises(InstanceError) as refused:
        ring_allocation.Instance(**{"name": "some", "gpus": 4} | fields, jobs=jobs)
    return str(refused.value).split("\n  ")


def wrong(index: int) -> dict[str, Any]:
    """A job whose epochs are negative."""
    return GOOD | {"id": f"j{index}", "epochs": -1.0 - index}


def test_each_error_has_a_line() -> None:
    """The first says how many there are; places are those of the file."""
    jobs = [GOOD, wrong(1), GOOD | {"id": "b"}, wrong(3)]
    assert said(jobs, gpus=0) == [
        "gpus: found 0, allowed: a number >= 1 (and 2 more)",
        "jobs[1].epochs: found -2.0, allowed: a number >= 0",
        "jobs[3].epochs: found -4.0, allowed: a number >= 0",
    ]
    assert said([GOOD, wrong(1)]) == ["jobs[1].epochs: found -2.0, allowed: a number >= 0"]


@pytest.mark.parametrize(("count", "more"), [(10, "9"), (11, "at least 10"), (50_000, "at least 10")])
def test_ten_of_many_are_said(count: int, more: str) -> None:
    """With 50,000 wrong jobs after a right one too."""
    lines = said([GOOD, *map(wrong, range(1, count + 1))])
    assert lines[0] == f"jobs[1].epochs: found -2.0, allowed: a number >= 0 (and {more} more)"
    assert lines[1:] == [f"jobs[{i}].epochs: found {-1.0 - i}, allowed: a number >= 0" for i in range(2, 11)]


def test_a_list_in_a_list_is_left_at_its_first_error() -> None:
    """Two wrong stages of one job: the second is not looked at, and the count says that it may be one of more."""
    data = srpt_mapping.example().model_dump()
    stage = dict(data["jobs"][0]["stages"][0])
    data["jobs"][0]["stages"] = [stage | {"replicas": 0}] * 2
    with pytest.raises(InstanceError) as refused:
        srpt_mapping.Instance(**data | {"name": ""})
    name, stages = str(refused.value).split("\n  ")
    assert name.endswith("(and at least 1 more)")
    assert stages.startswith("jobs[0].stages[0].replicas: found 0")


class Model(BaseModel):
    """All that may hold many errors."""

    model_config = STRICT
    numbers: list[int] = []
    words: dict[str, str] = {}


@pytest.mark.parametrize(
    ("data", "most"),
    [
        ({"numbers": ["x"] * 5000}, 1),
        ({"words": {str(key): key for key in range(5000)}}, 100),
        ({f"field{key}": 0 for key in range(5000)}, 11),
    ],
)
def test_few_errors_are_made(data: dict[str, Any], most: int) -> None:
    """Of thousands; Pydantic's own validator makes them all."""
    with pytest.raises(ValidationError) as all_errors:
        Model(**data)
    assert all_errors.value.error_count() == 5000
    with pytest.raises(ValidationError) as errors:
        sparing(Model).validate_python(data)
    assert errors.value.error_count() == most


def test_what_is_right_is_taken_as_it_is() -> None:
    """Long lists and objects too."""
    data = {"numbers": list(range(1000)), "words": {str(key): str(key) for key in range(1000)}}
    assert sparing(Model).validate_python(data) == Model(**data)
