"""The published speeds that dlsched carries."""

import dataclasses
import importlib.resources
import json
from typing import Any

import pytest

from dlsched.cluster.published import PublishedSpeed, published_speeds, speeds_json

SPEED = PublishedSpeed("ResNet-50", None, 64, None, 6400, (1, 2, 4), (9.0, 10.0, 3.5), "invented")


def test_the_file_is_read_whole_and_once() -> None:
    """Every record of the file is a valid speed, and the second call returns the same tuple."""
    speeds = published_speeds()
    assert 50 <= len(speeds) <= 90
    assert published_speeds() is speeds
    assert len({(speed.model, speed.gpu, speed.batch_samples) for speed in speeds}) == len(speeds)


def test_every_record_names_its_source_and_licence() -> None:
    """A figure without an origin and a licence does not enter the file."""
    for speed in published_speeds():
        assert any(licence in speed.source for licence in ("(MIT)", "(Apache-2.0)")), speed
        assert speed.source.endswith("."), speed


def test_figures_have_six_significant_digits() -> None:
    """The file holds figures rounded to 6 significant digits and at least two GPU counts a record."""
    for speed in published_speeds():
        assert len(speed.counts) >= 2
        assert speed.epoch_time_s == tuple(float(f"{time:.6g}") for time in speed.epoch_time_s)


def test_writing_what_was_read_gives_the_file_back() -> None:
    """`speeds_json` of the published speeds is the file, byte for byte, and stays below 60 kB."""
    content = (importlib.resources.files("dlsched.cluster") / "published_speeds.json").read_bytes()
    assert speeds_json(published_speeds()).encode() == content
    assert len(content) < 60_000


def test_speeds_json_is_plain_json() -> None:
    """A speed is written with its counts as keys and what is not known as null."""
    (record,) = json.loads(speeds_json([SPEED]))
    assert record["epoch_time_s"] == {"1": 9.0, "2": 10.0, "4": 3.5}
    assert record["gpu"] is None
    assert record["dataset"] is None


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("counts", ()),
        ("counts", (0, 1, 2)),
        ("counts", (2, 1, 4)),
        ("counts", (1, 1, 2)),
        ("epoch_time_s", (1.0, 2.0)),
        ("epoch_time_s", (1.0, 0.0, 2.0)),
        ("epoch_time_s", (1.0, float("nan"), 2.0)),
        ("epoch_time_s", (1.0, float("inf"), 2.0)),
        ("batch_samples", 0),
        ("epoch_samples", -1),
    ],
)
def test_a_wrong_speed_cannot_be_built(field: str, value: Any) -> None:
    """A speed refuses counts that do not increase and figures that are not positive, naming the field."""
    with pytest.raises(ValueError, match=field):
        dataclasses.replace(SPEED, **{field: value})
