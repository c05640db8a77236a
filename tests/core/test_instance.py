"""The base of the families' instances: how one is validated, read from a DataFrame, written and hashed."""

import math

import numpy as np
import pytest

from dlsched import FAMILIES, InstanceError, matching_placement
from dlsched.ring_allocation import Instance

pandas = pytest.importorskip("pandas")

LAW = {"theta": [1e-3, 0.01, 1e-9, 0.2], "samples": 50_000, "model_bytes": 1e8}
FRAME = pandas.DataFrame(
    {
        "id": ["a", "b", "c"],
        "epochs": [3, 4.5, 5],
        "epoch_time_s": [{1: 9.0, 2: 5.0}, {"1": 8.0}, None],
        "speed_law": [None, math.nan, LAW],
        "max_gpus": [math.nan, math.nan, 4],
        "current_gpus": [1, None, None],
    }
)
EXPECTED = Instance(
    name="frame",
    gpus=6,
    jobs=[
        {"id": "a", "epochs": 3, "epoch_time_s": {1: 9.0, 2: 5.0}, "current_gpus": 1},
        {"id": "b", "epochs": 4.5, "epoch_time_s": {1: 8.0}},
        {"id": "c", "epochs": 5, "speed_law": LAW, "max_gpus": 4},
    ],
)


class Table:
    """A frame of another library: columns by name, and no index."""

    def __init__(self, columns):
        self._columns = columns
        self.columns = list(columns)

    def __getitem__(self, name):
        return self._columns[name]


@pytest.mark.parametrize(
    "frame",
    [
        FRAME,
        FRAME.convert_dtypes(),
        FRAME.set_index("id"),
        FRAME.rename(index={0: "x", 1: "x"}),
        Table({name: list(FRAME[name]) for name in FRAME.columns}),
    ],
)
def test_rows_are_jobs(frame):
    """Whole numbers that pandas keeps as floats are integers; the index may be the ids."""
    assert Instance.from_frame(frame, gpus=np.int64(6)) == EXPECTED


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_has_frames(family):
    """Its lists of objects as plain data, and as frames."""
    example = FAMILIES[family].example()
    data = {key: value for key, value in example.as_data().items() if key not in ("format", "name")}
    jobs = pandas.DataFrame(data.pop("jobs"))
    frames = {key: pandas.DataFrame(value) if isinstance(value, list) else value for key, value in data.items()}
    assert type(example).from_frame(jobs, example.name, **data) == example
    assert type(example).from_frame(jobs, name=example.name, **frames) == example


def without(column, row):
    frame = FRAME.copy()
    frame.loc[row, column] = math.nan
    return frame


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (without("epochs", 1), "row 1, epochs: found nan, allowed: this field is required"),
        (FRAME.assign(epochs=[3, -1, 2]), "row 1, epochs: found -1, allowed: a number >= 0"),
        (FRAME.assign(epochs=["3", 4, 5]), 'row 0, epochs: found "3", allowed: a number'),
        (FRAME.assign(current_gpus=[1.5, 1, 1]), "row 0, current_gpus: found 1.5, allowed: an integer"),
        (FRAME.assign(id=[1, 2, 3]), "row 0, id: found 1, allowed: a string (and 2 more)"),
        (FRAME[::-1].assign(weight=[1, 1, 0]), "row 0, weight: found 0, allowed: a number > 0"),
        (FRAME.set_axis(["x", "y", "z"]).assign(weight=[1, 0, 1]), "row y, weight: found 0, allowed: a number > 0"),
        (FRAME.assign(epoch_time_s=None), "row 0: found neither epoch_time_s nor speed_law, allowed: one of the two"),
        (
            FRAME.assign(epoch_time_s=[{1: 1.0, 2: -5.0}, {1: 2.0}, None]),
            "row 0, epoch_time_s.2: found -5.0, allowed: a",
        ),
        (FRAME.drop(columns="epochs"), "column epochs: found nothing, allowed: this column is required"),
        (FRAME.assign(epoch=3), "column epoch: found an unknown field, allowed: id, epochs, epoch_time_s"),
        (FRAME.rename(columns={"max_gpus": "id"}), "column id: found 2 columns of this name, allowed: one"),
        (FRAME[:0], "jobs: found an empty list, allowed: a list with at least 1 entries"),
        ([{"id": "a"}], "frame: found a list, allowed: a DataFrame"),
    ],
)
def test_errors_name_row_and_column(frame, message):
    """The row as the frame calls it."""
    with pytest.raises(InstanceError) as refused:
        Instance.from_frame(frame, gpus=6)
    assert str(refused.value).startswith(message)


def test_errors_of_further_frames_name_them():
    """The workers of a matching_placement."""
    data = matching_placement.example().as_data()
    jobs, workers = pandas.DataFrame(data["jobs"]), pandas.DataFrame(data["workers"])
    for wrong, message in (
        (workers.assign(bandwidth_bytes_per_s=[1, 1, 0, 1.0]), "row 2 of workers, bandwidth_bytes_per_s: found 0.0"),
        (workers.drop(columns="type"), "workers: column type: found nothing, allowed: this column is required"),
    ):
        with pytest.raises(InstanceError, match=f"^{message}"):
            matching_placement.Instance.from_frame(jobs, workers=wrong)
    with pytest.raises(InstanceError, match=r"^alpha: found a frame, allowed: a frame only for workers, jobs"):
        matching_placement.Instance.from_frame(jobs, workers=workers, alpha=workers)
    with pytest.raises(InstanceError, match=r"^workers: found nothing, allowed: this field is required"):
        matching_placement.Instance.from_frame(jobs)


def test_a_frame_in_a_field_names_from_frame() -> None:
    """An instance is made of lists; the message says what takes frames."""
    workers = pandas.DataFrame({"id": ["v0"], "type": ["v100"]})
    with pytest.raises(
        InstanceError, match=r"^workers: found a frame, allowed: a list of objects; Instance\.from_frame"
    ):
        matching_placement.Instance(name="a", workers=workers, jobs=[])  # type: ignore[arg-type]
