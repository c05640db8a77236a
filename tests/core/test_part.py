"""Of many errors ten are said, and not many more are ever made."""

from typing import Any

import numpy as np
import pytest
from pydantic import BaseModel, ValidationError

import dlsched
from dlsched import (
    FAMILIES,
    InstanceError,
    async_sgd,
    matching_placement,
    ring_allocation,
    ring_embedding,
    srpt_mapping,
)
from dlsched.cluster import SpeedLaw
from dlsched.core.part import STRICT, sparing

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


JOB = ring_allocation.Job(id="a", epochs=3, epoch_time_s={1: 9.0})


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: ring_allocation.Job(**{"epoch": 3}),
            "id: found nothing, allowed: this field is required (and 2 more)",
        ),
        (
            lambda: ring_allocation.Job(id="a", epochs=-1, epoch_time_s={1: 9.0}),
            "epochs: found -1, allowed: a number >= 0",
        ),
        (
            lambda: ring_allocation.Job(id="a", epochs=1, epoch_time_s={1: -9.0}),
            "epoch_time_s.1: found -9.0, allowed: a number",
        ),
        (
            lambda: SpeedLaw(theta=(1.0, 0.0, 0.0), samples=1.0, model_bytes=0.0),
            "theta[3]: found nothing, allowed: this field",
        ),
        (lambda: ring_embedding.Node(id=""), 'id: found "", allowed: a non-empty string'),
        (
            lambda: matching_placement.Worker(id="w", type="t", bandwidth_bytes_per_s=0),
            "bandwidth_bytes_per_s: found 0",
        ),
        (
            lambda: ring_embedding.Job(
                id="a",
                max_workers=1,
                demand={"g": 1},
                bandwidth_bytes_per_s=0,
                rate=1,
                utility={"kind": "sqrt", "scale": 0},
            ),
            "utility.scale: found 0, allowed: a number > 0",
        ),
        (lambda: JOB.model_copy(update={"epochs": -1.0}), "epochs: found -1.0, allowed: a number >= 0"),
        (lambda: setattr(JOB, "epochs", 4.0), "epochs: Job is immutable"),
        (lambda: delattr(JOB, "epochs"), "epochs: Job is immutable"),
        (lambda: setattr(ring_allocation.example(), "gpus", 4), "gpus: Instance is immutable"),
    ],
)
def test_wrong_parts_are_refused_in_words(make, message):
    """What was found and what is allowed, without a word of the library that validates."""
    with pytest.raises(InstanceError) as refused:
        make()
    assert str(refused.value).startswith(message)
    assert "pydantic" not in str(refused.value) and "http" not in str(refused.value)
    assert refused.value.__suppress_context__ or refused.value.__context__ is None


def test_every_wrong_field_has_a_sentence():
    """The missing ones, and the unknown one."""
    with pytest.raises(InstanceError) as refused:
        ring_allocation.Job(**{"epoch": 3})
    assert list(refused.value.more) == [
        "epochs: found nothing, allowed: this field is required",
        "epoch: found an unknown field, allowed: only the fields of the format",
    ]


def test_a_copy_does_not_keep_what_was_computed():
    """Twice the epochs are twice the batches, also where those of the first job were asked for before."""
    job = async_sgd.example().jobs[0]
    batches = job.batches
    assert job.model_copy(update={"epochs": 2 * job.epochs}).batches == 2 * batches


def test_numbers_of_numpy_are_numbers():
    """As counts, seconds, keys and lists."""
    given = ring_allocation.Instance(
        name="n",
        gpus=np.int64(4),
        jobs=[
            {
                "id": "a",
                "epochs": np.float32(3),
                "epoch_time_s": {np.int64(1): np.float32(2)},
                "current_gpus": np.int8(1),
            },
            {
                "id": "b",
                "epochs": 1,
                "speed_law": {"theta": np.array([1e-3, 0, 0, 0.5]), "samples": 10, "model_bytes": 0},
            },
        ],
    )
    plain = ring_allocation.Instance(
        name="n",
        gpus=4,
        jobs=[
            {"id": "a", "epochs": 3.0, "epoch_time_s": {1: 2.0}, "current_gpus": 1},
            {"id": "b", "epochs": 1, "speed_law": {"theta": [1e-3, 0, 0, 0.5], "samples": 10, "model_bytes": 0}},
        ],
    )
    assert given == plain and given.sha256 == plain.sha256
    with pytest.raises(InstanceError, match=r"^gpus: found 0, allowed: a number >= 1$"):
        ring_allocation.Instance(name="n", gpus=np.int64(0), jobs=[JOB])


@pytest.mark.parametrize("family", FAMILIES)
def test_fields_of_a_job_make_the_same_job(family):
    """What is read from a job is accepted where it was given."""
    for job in FAMILIES[family].example().jobs:
        fields = {name: getattr(job, name) for name in type(job).model_fields}
        assert type(job)(**fields) == job
    instance = dlsched.FAMILIES[family].example()
    fields = {name: getattr(instance, name) for name in type(instance).model_fields}
    assert type(instance)(**fields) == instance


@pytest.mark.parametrize("family", FAMILIES)
def test_dir_lists_what_is_ours(family: str) -> None:
    """Fields, methods and properties of dlsched; none of Pydantic's 28 public names but the copy, which is ours."""
    instance = FAMILIES[family].example()
    for part in (instance, instance.jobs[0]):
        names = dir(part)
        assert {*type(part).model_fields, "model_copy"} <= {*names} and names == sorted(names)
        assert [name for name in names if name.startswith("_") or name in dir(BaseModel)] == ["model_copy"]
        assert all(hasattr(part, name) for name in names)
    assert {"as_data", "from_frame", "sha256", "name"} <= {*dir(instance)}
