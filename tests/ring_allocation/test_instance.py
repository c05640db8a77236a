"""Instances: what they accept, how messages locate what they refuse, what they write and how they hash."""

import hashlib
import json

import pytest

from dlsched.core.errors import InstanceError
from dlsched.families import instance_from
from dlsched.ring_allocation import Instance, Job

LAW = {"theta": [1.0, 0.01, 1e-9, 0.2], "samples": 50000, "model_bytes": 1.0e8}
TABLE = {"1": 138.0, "2": 81.9, "4": 47.25, "8": 29.6}
FILE = {
    "format": "dlsched/ring_allocation/1",
    "name": "two-jobs",
    "gpus": 6,
    "jobs": [
        {"id": "a", "epochs": 160, "epoch_time_s": TABLE, "weight": 1.0, "current_gpus": 4, "restart_s": 10.0},
        {"id": "b", "epochs": 90.5, "max_gpus": 16, "speed_law": LAW},
    ],
}


def read(**changes):
    """The file of formats.md, with changes at the top."""
    return instance_from(FILE | changes, "file.json")


def with_job(**changes):
    """One job with a table, changed; None leaves a field out."""
    job = {"id": "a", "epochs": 1, "epoch_time_s": {"1": 2.0}} | changes
    return read(jobs=[{key: value for key, value in job.items() if value is not None}])


def test_the_example_of_the_format():
    """Both ways to give speeds, with the figures in their units: seconds an epoch, epochs, GPUs."""
    instance = read()
    first, second = instance.jobs
    assert (instance.gpus, first.epochs, second.epochs) == (6, 160.0, 90.5)
    assert instance.counts(0) == (1, 2, 4, 8)
    assert instance.counts(1) == range(1, 17)
    assert first.speed.epoch_time_s(4) == 47.25
    assert second.speed.epoch_time_s(2) == pytest.approx(25000 + 0.01 + 1e-9 * 1e8 / 2 + 0.2)
    assert (first.weight, first.current_gpus, first.restart_s) == (1.0, 4, 10.0)
    assert (second.weight, second.current_gpus, second.restart_s) == (1.0, None, 0.0)
    assert instance.minimum_gpus == 2
    assert instance.index == {"a": 0, "b": 1}


def test_a_law_without_a_largest_count_allows_the_whole_cluster():
    """``max_gpus`` defaults to the GPUs of the cluster."""
    assert with_job(epoch_time_s=None, speed_law=LAW).counts(0) == range(1, 7)


def test_fewer_gpus_than_needed_is_a_valid_file():
    """Infeasible demands are an answer, not a malformed file."""
    assert with_job(epoch_time_s={"64": 1.0}).minimum_gpus == 64


@pytest.mark.parametrize(
    ("build", "where", "found"),
    [
        (lambda: read(gpus=0), "gpus", "found 0, allowed: a number >= 1"),
        (lambda: read(gpus=6.0), "gpus", "found 6.0, allowed: an integer"),
        (lambda: read(gpus=True), "gpus", "found true"),
        (lambda: read(gpus=10**400), "gpus", "found 1000"),
        (lambda: read(name=""), "name", 'found ""'),
        (lambda: read(jobs=[]), "jobs", "found an empty list"),
        (lambda: read(jobs={}), "jobs", "allowed: a list"),
        (lambda: read(jobs=[None]), "jobs[0]", "found null, allowed: a value"),
        (lambda: read(extra=1), "extra", "found an unknown field"),
        (lambda: read(self=1), "self", "found an unknown field"),
        (lambda: read(family="x"), "family", "found an unknown field"),
        (lambda: read(known={"optimum": 1.0}), "known.proof", "found nothing"),
        (lambda: read(known={"lower": 2.0, "upper": 1.0, "proof": "x"}), "known", "lower 2.0 above upper 1.0"),
        (lambda: read(known={"proof": "x"}), "known", "both or neither"),
        (lambda: with_job(id=""), "jobs[0].id", 'found ""'),
        (lambda: with_job(id=3), "jobs[0].id", "found 3, allowed: a string"),
        (lambda: with_job(epochs=-1), "jobs[0].epochs", "found -1, allowed: a number >= 0"),
        (lambda: with_job(epochs=float("nan")), "jobs[0].epochs", "found nan"),
        (lambda: with_job(epochs=float("inf")), "jobs[0].epochs", "found inf"),
        (lambda: with_job(epochs="1"), "jobs[0].epochs", 'found "1", allowed: a number'),
        (lambda: with_job(epochs=True), "jobs[0].epochs", "found true, allowed: a number"),
        (lambda: with_job(epochs=10**400), "jobs[0].epochs", "found 1000"),
        (lambda: with_job(epochs=None), "jobs[0].epochs", "found nothing, allowed: this field is required"),
        (lambda: with_job(weight=0), "jobs[0].weight", "found 0, allowed: a number > 0"),
        (lambda: with_job(restart_s=-0.5), "jobs[0].restart_s", "found -0.5"),
        (lambda: with_job(current_gpus=0), "jobs[0].current_gpus", "found 0"),
        (lambda: with_job(epoch_time_s={}), "jobs[0].epoch_time_s", "found an empty object"),
        (lambda: with_job(epoch_time_s=[1]), "jobs[0].epoch_time_s", "found a list"),
        (lambda: with_job(epoch_time_s={"0": 1.0}), "jobs[0].epoch_time_s.0", "found the count '0'"),
        (lambda: with_job(epoch_time_s={"01": 1.0}), "jobs[0].epoch_time_s.01", "found the count '01'"),
        (lambda: with_job(epoch_time_s={"1.0": 1.0}), "jobs[0].epoch_time_s.1.0", "found the count '1.0'"),
        (lambda: with_job(epoch_time_s={"１": 1.0}), "jobs[0].epoch_time_s", "found the count"),
        (lambda: with_job(epoch_time_s={"1": 0}), "jobs[0].epoch_time_s.1", "found 0, allowed: a number > 0"),
        (lambda: with_job(epoch_time_s={"1": None}), "jobs[0].epoch_time_s.1", "found null"),
        (lambda: with_job(epoch_time_s={"1": True}), "jobs[0].epoch_time_s.1", "found true"),
        (lambda: with_job(epoch_time_s={"1": float("inf")}), "jobs[0].epoch_time_s.1", "found inf"),
        (lambda: with_job(epoch_time_s={"1": 10**400}), "jobs[0].epoch_time_s.1", "found 1000"),
        (lambda: with_job(max_gpus=3), "jobs[0].max_gpus", "found a number beside epoch_time_s"),
        (lambda: with_job(speed_law=LAW), "jobs[0]", "found epoch_time_s and speed_law, allowed: one of the two"),
        (lambda: with_job(epoch_time_s=None), "jobs[0]", "found neither epoch_time_s nor speed_law"),
        (lambda: with_job(epoch_time_s=None, speed_law=LAW | {"theta": [1, 1, 1]}), "jobs[0].speed_law.theta", ""),
        (
            lambda: with_job(epoch_time_s=None, speed_law=LAW | {"theta": [0, 1, 1, 0]}),
            "jobs[0].speed_law.theta",
            "tau(1) > 0",
        ),
        (lambda: with_job(epoch_time_s=None, speed_law=LAW | {"samples": 0}), "jobs[0].speed_law.samples", "found 0"),
        (lambda: with_job(epochs=1e300, epoch_time_s={"1": 1e300}), "jobs[0]", "found times that overflow"),
        (lambda: read(jobs=[FILE["jobs"][0]] * 2), "jobs[1].id", "found 'a', the id of jobs[0] too"),
    ],
)
def test_malformed_instances_name_the_field(build, where, found):
    """The message holds the file, the path of the field, what was found and what is allowed."""
    with pytest.raises(InstanceError) as caught:
        build()
    assert str(caught.value).startswith(f"file.json: {where}")
    assert found in str(caught.value)
    assert "allowed: " in str(caught.value)


@pytest.mark.parametrize("data", [[], 1, None, {}, {"format": "dlsched/other/1"}, {"format": ["x"]}])
def test_other_files_are_refused(data):
    """No object, no format, another format: the formats that exist are listed."""
    with pytest.raises(InstanceError, match="allowed: "):
        instance_from(data, "file.json")


def canonical(data):
    """The hash as formats.md states it, by the standard library alone."""
    text = json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def test_hash_by_hand():
    """Floats as repr, defaults left out, ``known`` and ``source`` not covered."""
    job = {"id": "a", "epochs": 160.0, "epoch_time_s": {"1": 2.0, "10": 1.0, "2": 1.5}}
    expected = canonical({"format": "dlsched/ring_allocation/1", "name": "n", "gpus": 4, "jobs": [job]})
    plain = {"name": "n", "gpus": 4, "jobs": [job]}
    known = {"optimum": 320.0, "proof": "by hand"}
    variants = [
        Instance(**plain),
        Instance(**plain, source="here", known=known),
        Instance(name="n", gpus=4, jobs=[job | {"epochs": 160, "epoch_time_s": {"10": 1, "2": 1.5, "1": 2}}]),
        Instance(name="n", gpus=4, jobs=[job | {"weight": 1.0, "restart_s": 0.0, "current_gpus": None}]),
        Instance(name="n", gpus=4, jobs=[job | {"weight": 1, "restart_s": -0.0}]),
        Instance(name="n", gpus=4, jobs=[Job(id="a", epochs=160, epoch_time_s={1: 2.0, 2: 1.5, 10: 1})]),
    ]
    assert {instance.sha256 for instance in variants} == {expected}


def test_hash_of_a_law_by_hand():
    """``max_gpus`` equal to ``gpus`` is the default and left out, a smaller one is not."""
    law = {"theta": [1.0, 0.01, 0.0, 0.2], "samples": 5.0, "model_bytes": 1e8}
    job = {"id": "é", "epochs": 1.5, "speed_law": law}
    head = {"format": "dlsched/ring_allocation/1", "name": "n", "gpus": 4}
    assert Instance(name="n", gpus=4, jobs=[job]).sha256 == canonical(head | {"jobs": [job]})
    assert Instance(name="n", gpus=4, jobs=[job | {"max_gpus": 4}]).sha256 == canonical(head | {"jobs": [job]})
    small = job | {"max_gpus": 3}
    assert Instance(name="n", gpus=4, jobs=[small]).sha256 == canonical(head | {"jobs": [small]})


@pytest.mark.parametrize(
    "change",
    [
        {"name": "m"},
        {"gpus": 5},
        {"jobs": [{"id": "a", "epochs": 2.0, "epoch_time_s": {"1": 2.0}}]},
        {"jobs": [{"id": "a", "epochs": 1.0, "epoch_time_s": {"1": 2.0}, "weight": 2.0}]},
        {"jobs": [{"id": "a", "epochs": 1.0, "epoch_time_s": {"1": 2.0}, "current_gpus": 1}]},
    ],
)
def test_everything_that_matters_changes_the_hash(change):
    """Name, GPUs, epochs, weight, current count."""
    plain = {"name": "n", "gpus": 4, "jobs": [{"id": "a", "epochs": 1.0, "epoch_time_s": {"1": 2.0}}]}
    assert Instance(**plain).sha256 != Instance(**(plain | change)).sha256


def test_max_gpus_equal_to_gpus_reads_back_equal():
    """A default that was written out is the same instance after a round trip."""
    job = {
        "id": "a",
        "epochs": 1.0,
        "max_gpus": 4,
        "speed_law": {"theta": [1, 0, 0, 0], "samples": 1, "model_bytes": 0},
    }
    instance = Instance(name="n", gpus=4, jobs=[job])
    assert instance_from(instance.as_data(), "f") == instance


@pytest.mark.parametrize("keys", [{1.0: 2.0}, {True: 2.0}])
def test_counts_are_refused_whatever_was_read_before(keys):
    """1.0 and True are no counts, also after a table with the count 1 was made."""
    Job(id="a", epochs=1.0, epoch_time_s={1: 2.0})
    with pytest.raises(ValueError, match="count"):
        Job(id="a", epochs=1.0, epoch_time_s=keys)


def test_a_count_given_twice_is_refused():
    """1 and "1" are one count."""
    with pytest.raises(ValueError, match="1"):
        Job(id="a", epochs=1.0, epoch_time_s={1: 2.0, "1": 3.0})


def test_counts_in_any_order_after_others_were_read():
    """Counts that earlier tables had, and new ones, in an order of their own, each with its time."""
    Job(id="a", epochs=1.0, epoch_time_s={"3": 9.0, "700": 2.0})
    job = Job(id="b", epochs=1.0, epoch_time_s={"700": 1.0, "12": 3.0, "3": 8.0})
    again = Job(id="c", epochs=1.0, epoch_time_s={"12": 3.0, "700": 1.0, "3": 8.0})
    assert job.epoch_time_s.counts == again.epoch_time_s.counts == (3, 12, 700)
    assert job.epoch_time_s.times_s == again.epoch_time_s.times_s == (8.0, 3.0, 1.0)
    for wrong in ("012", "+3", str(2**53 + 1), "7 "):
        with pytest.raises(ValueError, match="count"):
            Job(id="d", epochs=1.0, epoch_time_s={"3": 1.0, wrong: 1.0})


def test_times_whose_sum_overflows_are_taken():
    """Only the slowest time counts, not the sum of a table: 1e308 and 1e308 are two times."""
    table = {"1": 1e308, "2": 1e308}
    assert (
        Instance(name="a", gpus=2, jobs=[{"id": "a", "epochs": 1.0, "epoch_time_s": table}]).jobs[0].epoch_time_s[2]
        == 1e308
    )
    assert Instance(name="a", gpus=2, jobs=[{"id": "a", "epochs": 0.0, "epoch_time_s": table}]).jobs[0].epochs == 0.0
    with pytest.raises(InstanceError, match=r"jobs\[1\]: found times that overflow"):
        Instance(name="a", gpus=2, jobs=[{"id": name, "epochs": 1.0, "epoch_time_s": table} for name in "ab"])


def test_speed_tables_are_immutable():
    """Neither the counts nor a time of a table can be changed."""
    job = Job(id="a", epochs=1.0, epoch_time_s={"1": 3.0, "2": 2.0})
    for change in (
        lambda: setattr(job.epoch_time_s, "counts", ()),
        lambda: job.epoch_time_s.__setitem__(1, 2.0),
    ):
        with pytest.raises((AttributeError, TypeError)):
            change()
    assert dict(zip(job.epoch_time_s.counts, job.epoch_time_s.times_s, strict=True)) == {1: 3.0, 2: 2.0}
