"""Instances and solutions: what they accept, how messages locate what they refuse, defaults, hash, null ticks."""

import copy
import json
import pickle

import pytest

from dlsched.core.errors import InputError, InstanceError
from dlsched.elastic_stream import Instance, Stream, example
from dlsched.elastic_stream.solution import read_solution
from dlsched.families import instance_from

TABLE = {"1": 138.0, "2": 81.9, "4": 47.25, "8": 29.6}
FILE = {
    "format": "dlsched/elastic_stream/1",
    "name": "burst",
    "units": 64,
    "tick_s": None,
    "jobs": [
        {
            "id": "j0",
            "arrival_s": 0.0,
            "epochs": 160,
            "epoch_time_s": TABLE,
            "restart_s": 10.0,
            "stops_at": 1.0,
            "early_stop": [{"fraction": 0.4, "probability": 0.3}],
        }
    ],
}
LAW = {"theta": [1.0, 0.01, 1e-9, 0.2], "samples": 500.0, "model_bytes": 1e8}


def read(**changes):
    """The file of the format, with changes at the top."""
    return instance_from(FILE | changes, "file.json")


def with_job(**changes):
    """Its job, changed; None leaves a field out."""
    job = {key: value for key, value in (FILE["jobs"][0] | changes).items() if value is not None}
    return read(jobs=[job])


def test_the_example_of_the_format():
    """The file of the contract reads, with null ticks; what is written leaves defaults out and reads back the same."""
    instance = read()
    assert instance.tick_s is None and instance.jobs[0].early_stop[0].fraction == 0.4
    data = instance.as_data()
    assert "tick_s" not in data and "stops_at" not in data["jobs"][0]
    assert instance_from(json.loads(json.dumps(data)), "again") == instance
    assert pickle.loads(pickle.dumps(instance)) == copy.deepcopy(instance) == instance


def test_defaults_do_not_change_the_hash():
    """Fields at their default, a null tick and max_gpus equal to units count as not given."""
    bare = {"id": "j0", "arrival_s": 0.0, "epochs": 1, "speed_law": LAW}
    full = bare | {"restart_s": 0.0, "stops_at": 1.0, "early_stop": [], "max_gpus": 64}
    assert read(jobs=[bare]).sha256 == read(jobs=[full]).sha256 == read(jobs=[bare], source="x").sha256
    assert read(jobs=[bare]).sha256 != read(jobs=[bare], tick_s=1.0).sha256


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: read(units=0), "units: found 0, allowed: a number >= 1"),
        (lambda: read(units=None), "units: found null"),
        (lambda: read(tick_s=0.0), "tick_s: found 0.0, allowed: a number > 0"),
        (lambda: read(tick_s="1"), 'tick_s: found "1", allowed: a number'),
        (lambda: read(gpus=4), "gpus: found an unknown field"),
        (lambda: read(jobs=None), "jobs: found null"),
        (lambda: read(jobs=[]), "jobs: found an empty list"),
        (lambda: read(jobs=FILE["jobs"] * 2), r"jobs\[1\].id: found 'j0', the id of jobs\[0\] too"),
        (lambda: with_job(arrival_s=None), r"jobs\[0\].arrival_s: found nothing, allowed: this field is required"),
        (lambda: with_job(arrival_s=-1.0), r"jobs\[0\].arrival_s: found -1.0, allowed: a number >= 0"),
        (lambda: with_job(epochs=-1.0), r"jobs\[0\].epochs: found -1.0"),
        (lambda: with_job(restart_s=-0.1), r"jobs\[0\].restart_s: found -0.1"),
        (lambda: with_job(stops_at=0.0), r"jobs\[0\].stops_at: found 0.0, allowed: a number > 0"),
        (lambda: with_job(stops_at=1.5), r"jobs\[0\].stops_at: found 1.5, allowed: a number <= 1"),
        (lambda: with_job(weights=2.0), r"jobs\[0\].weights: found an unknown field"),
        (
            lambda: with_job(epochs=1e300, epoch_time_s={"1": 1e300}),
            r"jobs\[0\]: found 1e\+300 epochs, allowed: epochs, s",
        ),
        (
            lambda: with_job(epoch_time_s={"1": 1e-150}),
            r"jobs\[0\]: found 1e-150 s per epoch, allowed: epochs, seconds",
        ),
        (lambda: with_job(epochs=1e-60, epoch_time_s={"1": 1e-60}), r"jobs\[0\]: found 1e-120 s of work, allowed"),
        (lambda: with_job(epochs=1e-99, stops_at=1e-9), r"jobs\[0\]: found 1e-108 epochs, allowed"),
        (lambda: with_job(arrival_s=1e101), r"jobs\[0\].arrival_s: found 1e\+101, allowed: at most 1e100 s"),
        (lambda: with_job(restart_s=1e101), r"jobs\[0\].restart_s: found 1e\+101, allowed: at most 1e100 s"),
        (
            lambda: read(tick_s=1e-8),
            r"tick_s: found 1e-08, allowed: at least 1e-9 of the work of jobs\[0\] on its fastest count, 4736.0 s",
        ),
        (lambda: with_job(early_stop=[{"fraction": 1.0, "probability": 0.3}]), r"early_stop\[0\].fraction: found 1.0"),
        (
            lambda: with_job(early_stop=[{"fraction": 0.5, "probability": 0.0}]),
            r"early_stop\[0\].probability: found 0.0",
        ),
        (
            lambda: with_job(early_stop=[{"fraction": f, "probability": 0.6} for f in (0.2, 0.4)]),
            r"jobs\[0\].early_stop: found probabilities that add up to more than 1",
        ),
        (lambda: read(jobs=[FILE["jobs"][0] | {"stops_at": None}]), r"jobs\[0\].stops_at: found null"),
    ],
)
def test_refusals_name_the_field(make, message):
    """Path of the field, what was found, what is allowed."""
    with pytest.raises(InstanceError, match=message):
        make()


def test_counts_are_those_the_cluster_has():
    """A table is cut at the units, a law at units and its own maximum."""
    instance = Instance(
        name="cut",
        units=3,
        jobs=[
            {"id": "a", "arrival_s": 0, "epochs": 1, "epoch_time_s": TABLE},
            {"id": "b", "arrival_s": 0, "epochs": 1, "speed_law": LAW},
            {"id": "c", "arrival_s": 0, "epochs": 1, "speed_law": LAW, "max_gpus": 2},
            {"id": "d", "arrival_s": 0, "epochs": 1, "epoch_time_s": {"8": 1.0}},
        ],
    )
    assert [tuple(instance.counts(index)) for index in range(4)] == [(1, 2), (1, 2, 3), (1, 2), ()]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([], "solution.periods: found no object"),
        ({"periods": []}, "solution.periods: found no object"),
        ({"periods": {}, "gpus": {}}, "solution.gpus: found an unknown field, allowed: only periods"),
        ({"periods": {"a": 3}}, "solution.periods.a: found 3, allowed: a list of periods"),
        ({"periods": {"a": [3]}}, r"solution.periods.a\[0\]: found 3, allowed: an object"),
        (
            {"periods": {"a": [{"start_s": 0, "end_s": 1, "units": 1.0}]}},
            r"a\[0\].units: found 1.0, allowed: an integer",
        ),
        ({"periods": {"a": [{"start_s": 0, "end_s": 1, "units": True}]}}, r"a\[0\].units: found true"),
        (
            {"periods": {"a": [{"start_s": 0, "end_s": "1", "units": 1}]}},
            r'a\[0\].end_s: found "1", allowed: a finite number',
        ),
        ({"periods": {"a": [{"end_s": 1, "units": 1}]}}, r"a\[0\].start_s: found null, allowed: a finite number"),
        ({"periods": {"a": [{"start_s": float("nan"), "end_s": 1, "units": 1}]}}, r"a\[0\].start_s"),
        ({"periods": {"a": [{"start_s": 10**400, "end_s": 1, "units": 1}]}}, r"a\[0\].start_s"),
        ({"periods": {"a": [{"start_s": 0, "end_s": 1, "units": 1, "x": 1}]}}, r"a\[0\].x: found an unknown field"),
    ],
)
def test_solutions_that_cannot_be_read_are_located(data, message):
    """InputError with the path of the entry."""
    with pytest.raises(InputError, match=message):
        read_solution(data, example())


def test_streams_are_data_and_immutable():
    """Equal by value, hashable, picklable; jobs without periods are left out; nobody changes one."""
    made = Stream({"a": [(0, 5.0, 2)], "b": []})
    assert made == Stream({"a": ((0.0, 5.0, 2),)}) and hash(made) == hash(Stream({"a": [(0.0, 5.0, 2)]}))
    assert pickle.loads(pickle.dumps(made)) == made == read_solution(made.as_data(), example())
    with pytest.raises(AttributeError):
        made.periods = {}
    with pytest.raises(TypeError):
        made.periods["c"] = ()
